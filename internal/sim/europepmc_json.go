package sim

import (
	"strconv"
	"strings"
)

// jsonObject writes members with values that are not empty.
type jsonObject struct{ b []byte }

func (o *jsonObject) name(name string) {
	if last := o.b[len(o.b)-1]; last != '{' && last != '[' {
		o.b = append(o.b, ',')
	}
	if name != "" {
		o.b = append(o.b, quoted(name)+":"...)
	}
}

func (o *jsonObject) text(name, value string) {
	if value != "" {
		o.name(name)
		o.b = append(o.b, quoted(value)...)
	}
}

func (o *jsonObject) int(name string, n int) {
	o.name(name)
	o.b = appendInt(o.b, n)
}

func (o *jsonObject) yes(name string, is bool) {
	o.text(name, map[bool]string{true: "Y", false: "N"}[is])
}

// list writes {"outer":{"inner":[...]}}, nothing for an empty list.
func list[T any](o *jsonObject, outer, inner string, values []T, write func(o *jsonObject, v T)) {
	if len(values) == 0 {
		return
	}
	o.name(outer)
	o.b = append(o.b, "{"+quoted(inner)+":["...)
	for _, v := range values {
		write(o, v)
	}
	o.b = append(o.b, "]}"...)
}

func (o *jsonObject) within(name string, write func()) {
	o.name(name)
	o.b = append(o.b, '{')
	write()
	o.b = append(o.b, '}')
}

func plainItem(o *jsonObject, s string) {
	o.name("")
	o.b = append(o.b, quoted(s)...)
}

func (c civil) String() string {
	b := appendPadded(nil, c.year, 4)
	b = appendTwo(append(b, '-'), c.month)
	return string(appendTwo(append(b, '-'), c.day))
}

// append writes the core record of a version.
func (p papers) append(b []byte, i uint32, r *record) []byte { return p.write(b, i, r, true) }

// write leaves out the record's id if told so: the detail_bad_item fault.
func (p papers) write(b []byte, i uint32, r *record, named bool) []byte {
	in := p.paper(i, r)
	source, id := p.corpus(i)
	o := &jsonObject{append(b, '{')}
	if named {
		o.text("id", id)
	}
	o.text("source", source)
	o.text("pmid", in.pmid)
	o.text("pmcid", in.pmcid)
	o.text("doi", in.doi)
	o.text("title", in.title)
	p.authors(o, in.authors)
	if in.journal >= 0 {
		o.within("journalInfo", func() { p.journal(o, in) })
	}
	o.text("pubYear", strconv.Itoa(in.date.year))
	o.text("pageInfo", in.pages)
	o.text("abstractText", abstractText(in.abstract))
	o.text("publicationStatus", "ppublish")
	o.text("language", in.language)
	list(o, "pubTypeList", "pubType", in.types, plainItem)
	list(o, "meshHeadingList", "meshHeading", in.mesh, func(o *jsonObject, h meshEntry) {
		o.within("", func() {
			o.yes("majorTopic_YN", h.major)
			o.text("descriptorName", h.name)
			if h.qualifier != "" {
				list(o, "meshQualifierList", "meshQualifier", []string{h.qualifier}, func(o *jsonObject, q string) {
					o.within("", func() {
						o.text("qualifierName", q)
						o.yes("majorTopic_YN", false)
					})
				})
			}
		})
	})
	list(o, "keywordList", "keyword", in.keywords, plainItem)
	if in.doi != "" {
		list(o, "fullTextUrlList", "fullTextUrl", []string{"https://doi.org/" + in.doi}, func(o *jsonObject, u string) {
			o.within("", func() {
				o.text("availability", "Subscription required")
				o.text("documentStyle", "doi")
				o.text("site", "DOI")
				o.text("url", u)
			})
		})
	}
	list(o, "commentCorrectionList", "commentCorrection", in.links, func(o *jsonObject, l paperLink) {
		o.within("", func() {
			o.text("id", l.id)
			o.text("source", "MED")
			o.text("type", l.kind)
		})
	})
	o.yes("isOpenAccess", in.open)
	o.yes("inEPMC", in.pmcid != "")
	o.int("citedByCount", int(i%40)+int(r.number)-1)
	o.text("license", in.licence)
	created, revised := londonCivil(int64(r.created)).String(), londonCivil(int64(r.deposited)).String()
	o.text("dateOfCreation", created)
	o.text("firstIndexDate", created)
	o.text("dateOfRevision", revised)
	o.text("firstPublicationDate", in.date.String())
	return append(o.b, '}')
}

// brief writes what a list of ids and a lite result have in common.
func (p papers) brief(b []byte, i uint32) []byte {
	source, id := p.corpus(i)
	o := &jsonObject{append(b, '{')}
	o.text("id", id)
	o.text("source", source)
	if source == "MED" {
		o.text("pmid", id)
	}
	return append(o.b, '}')
}

func (p papers) authors(o *jsonObject, authors []paperAuthor) {
	var names []string
	for _, a := range authors {
		if a.group != "" {
			names = append(names, a.group)
		} else {
			names = append(names, a.family+" "+a.initials)
		}
	}
	if len(names) > 0 {
		o.text("authorString", strings.Join(names, ", ")+".")
	}
	list(o, "authorList", "author", authors, func(o *jsonObject, a paperAuthor) {
		o.within("", func() {
			if a.group != "" {
				o.text("collectiveName", a.group)
				return
			}
			o.text("fullName", a.family+" "+a.initials)
			o.text("firstName", a.given)
			o.text("lastName", a.family)
			o.text("initials", a.initials)
			if a.orcid != "" {
				o.within("authorId", func() {
					o.text("type", "ORCID")
					o.text("value", a.orcid)
				})
			}
			if a.affiliation != "" {
				list(o, "authorAffiliationDetailsList", "authorAffiliation", []string{a.affiliation}, func(o *jsonObject, s string) {
					o.within("", func() { o.text("affiliation", s) })
				})
			}
		})
	})
}

func (p papers) journal(o *jsonObject, in paper) {
	j := &journals[in.journal]
	o.text("issue", in.issue)
	o.text("volume", in.volume)
	o.text("dateOfPublication", strconv.Itoa(in.date.year)+" "+monthNames[in.date.month])
	o.int("yearOfPublication", in.date.year)
	o.text("printPublicationDate", in.date.String())
	o.within("journal", func() {
		o.text("title", j.title.plain)
		o.text("medlineAbbreviation", j.abbrev.plain)
		o.text("isoabbreviation", j.abbrev.plain)
		o.text("nlmid", j.nlm)
		o.text("issn", j.issnPrint)
		o.text("essn", j.issnOnline)
	})
}

// abstractText joins parts under their headings.
func abstractText(parts []abstractPart) string {
	var b strings.Builder
	for _, part := range parts {
		if part.label != "" {
			b.WriteString("<h4>" + part.label[:1] + strings.ToLower(part.label[1:]) + "</h4>")
		}
		b.WriteString(part.text)
	}
	return b.String()
}
