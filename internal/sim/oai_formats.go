package sim

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// element writes <name>text</name>, nothing if there is no text. What is marked up
// stays so.
func (x *xmlWriter) element(name, marked string) {
	if marked == "" {
		return
	}
	tag, _, _ := strings.Cut(name, " ")
	x.lit("<" + name + ">" + marked + "</" + tag + ">")
}

// wordOf is a name or word within XML.
func wordOf(s string) string { return escaped(s) }

// ownDOI is the DOI of a record that no other upstream has, in the registrant of
// its repository.
func ownDOI(registrant string, i uint32) string { return registrant + "/sim." + strconv.Itoa(int(i)) }

// numberedID: ids stand behind a prefix, from a first number on.
func numberedID(prefix string, first int) (func([]byte, uint32) []byte, func(string) (uint32, bool)) {
	return func(b []byte, i uint32) []byte { return appendInt(append(b, prefix...), first+int(i)) },
		func(id string) (uint32, bool) {
			text, ok := strings.CutPrefix(id, prefix)
			n, err := strconv.Atoi(text)
			if !ok || err != nil || n < first || n-first > mostOwn || strconv.Itoa(n) != text {
				return 0, false
			}
			return uint32(n - first), true
		}
}

// pmcManners: front matter of articles, ten to a list, by days.
func pmcManners() manners {
	m := manners{
		name: "PubMed Central", path: "/api/oai/v1/mh/", prefix: "pmc_fm", size: 10, days: true, life: time.Hour,
		requests: 3, window: time.Second, sized: true, write: writeJATS,
	}
	m.id, m.index = numberedID("oai:pubmedcentral.nih.gov:", firstPMC)
	return m
}

func writeJATS(b []byte, i uint32, p paper) []byte {
	x := xmlWriter{b}
	kind := "research-article"
	if len(p.types) > 1 {
		kind = "review-article"
	}
	x.lit(`<article xmlns="https://jats.nlm.nih.gov/ns/archiving/1.4/" xmlns:xlink="http://www.w3.org/1999/xlink" article-type="` + kind + `" xml:lang="` +
		map[string]string{"eng": "en", "fre": "fr"}[p.language] + `"><front>`)
	if p.journal >= 0 {
		j := &journals[p.journal]
		x.lit(`<journal-meta>`)
		x.element(`journal-id journal-id-type="nlm-ta"`, j.abbrev.xml)
		x.lit(`<journal-title-group>`)
		x.element("journal-title", j.title.xml)
		x.lit(`</journal-title-group>`)
		x.element(`issn pub-type="ppub"`, j.issnPrint)
		x.element(`issn pub-type="epub"`, j.issnOnline)
		x.lit("<publisher>")
		x.element("publisher-name", j.publisher.xml)
		x.lit("</publisher></journal-meta>")
	}
	x.lit(`<article-meta>`)
	x.element(`article-id pub-id-type="pmcid"`, "PMC"+strconv.Itoa(firstPMC+int(i)))
	if i%3 != 0 {
		x.element(`article-id pub-id-type="doi"`, ownDOI("10.99888", i))
	}
	x.lit("<title-group>")
	x.element("article-title", p.title)
	x.lit("</title-group><contrib-group>")
	for _, a := range p.authors {
		x.lit(`<contrib contrib-type="author">`)
		x.element(`contrib-id contrib-id-type="orcid"`, a.orcid)
		if a.group != "" {
			x.element("collab", wordOf(a.group))
		} else {
			x.lit("<name>")
			x.element("surname", wordOf(a.family))
			x.element("given-names", wordOf(a.given))
			x.lit("</name>")
		}
		x.element("aff", wordOf(a.affiliation))
		x.lit("</contrib>")
	}
	x.lit(`</contrib-group><pub-date pub-type="epub">`)
	x.element("day", strconv.Itoa(p.date.day))
	x.element("month", strconv.Itoa(p.date.month))
	x.element("year", strconv.Itoa(p.date.year))
	x.lit("</pub-date>")
	x.element("volume", p.volume)
	x.element("issue", p.issue)
	first, last, _ := strings.Cut(p.pages, "-")
	x.element("fpage", first)
	x.element("lpage", last)
	x.lit(`<permissions><license xlink:href="https://creativecommons.org/licenses/by/4.0/"/></permissions>`)
	if len(p.abstract) > 0 {
		x.lit("<abstract>")
		for _, part := range p.abstract {
			x.lit("<sec>")
			x.element("title", part.label)
			x.element("p", part.text)
			x.lit("</sec>")
		}
		x.lit("</abstract>")
	}
	x.lit("<kwd-group>")
	for _, k := range p.keywords {
		x.element("kwd", wordOf(k))
	}
	x.lit("</kwd-group></article-meta></front></article>")
	return x.b
}

// doajManners: the directory's own format; what is younger than 30 days is withheld.
func doajManners() manners {
	return manners{
		name: "Directory of Open Access Journals", path: "/oai.article", prefix: "oai_doaj", size: 20, life: 24 * time.Hour,
		withheld: 30 * 24 * time.Hour, requests: 10, window: 5 * time.Second, sized: true, write: writeDOAJ,
		scheme: "oai:doaj.org/article:",
		id:     func(b []byte, i uint32) []byte { return append(b, doajNumber(i)...) },
		index: func(id string) (uint32, bool) {
			if len(id) != 32 {
				return 0, false
			}
			n, err := strconv.ParseUint(id[24:], 16, 32)
			return uint32(n), err == nil && doajNumber(uint32(n)) == id
		},
	}
}

// doajNumber is 32 digits, the last eight of which tell the record.
func doajNumber(i uint32) string {
	const digits = "0123456789abcdef"
	d := roll(50, uint64(i))
	var b []byte
	for range 24 {
		b = append(b, digits[d.n(16)])
	}
	for shift := 28; shift >= 0; shift -= 4 {
		b = append(b, digits[i>>shift&15])
	}
	return string(b)
}

func writeDOAJ(b []byte, i uint32, p paper) []byte {
	x := xmlWriter{b}
	put := func(name, marked string) { x.element("oai_doaj:"+name, marked) }
	x.lit(`<oai_doaj:doajArticle xmlns:oai_doaj="http://doaj.org/features/oai_doaj/1.0/">`)
	put("language", p.language)
	if p.journal >= 0 {
		j := &journals[p.journal]
		put("publisher", j.publisher.xml)
		put("journalTitle", j.title.xml)
		put("issn", j.issnPrint)
		put("eissn", j.issnOnline)
	}
	put("publicationDate", p.date.String())
	put("volume", p.volume)
	put("issue", p.issue)
	first, last, _ := strings.Cut(p.pages, "-")
	put("startPage", first)
	put("endPage", last)
	if i%4 != 0 {
		put("doi", ownDOI("10.99889", i))
	}
	put("title", wordOf(unmarked(p.title)))
	x.lit("<oai_doaj:authors>")
	for _, a := range p.authors {
		x.lit("<oai_doaj:author>")
		put("name", wordOf(strings.TrimSpace(a.given+" "+a.family+a.group)))
		x.lit("</oai_doaj:author>")
	}
	x.lit("</oai_doaj:authors>")
	put("abstract", wordOf(unmarked(abstractText(p.abstract))))
	put("fullTextUrl", "https://www.exampleton.test/doaj/"+strconv.Itoa(int(i)))
	x.lit("</oai_doaj:doajArticle>")
	return x.b
}

// zenodoManners: DataCite's format, fifty to a list, tokens of two minutes.
func zenodoManners() manners {
	m := manners{
		name: "Zenodo", path: "/oai2d", prefix: "oai_datacite", size: 50, life: 2 * time.Minute, expired: http.StatusUnprocessableEntity,
		requests: 30, window: time.Minute, sized: true, scheme: "oai:zenodo.org:",
		write: func(b []byte, i uint32, p paper) []byte {
			return writeDataCite(b, "10.5281/zenodo."+strconv.Itoa(1_000_000+int(i)), "Zenodo", i, p)
		},
	}
	m.id, m.index = numberedID("", 1_000_000)
	return m
}

// dataciteManners: DataCite's own service, whose records are named by their DOI. Lists say
// nothing about their length.
func dataciteManners() manners {
	return manners{
		name: "DataCite", path: "/oai", prefix: "oai_datacite", size: 50, life: time.Hour, requests: 500, window: 5 * time.Minute,
		id:    func(b []byte, i uint32) []byte { return append(b, "doi:"+ownDOI("10.99897", i)...) },
		index: func(id string) (uint32, bool) { return doiIndex("10.99897")(strings.TrimPrefix(id, "doi:")) },
		write: func(b []byte, i uint32, p paper) []byte {
			return writeDataCite(b, ownDOI("10.99897", i), "Sim Repository", i, p)
		},
	}
}

// writeDataCite writes a record in the format of DataCite.
func writeDataCite(b []byte, doi, publisher string, i uint32, p paper) []byte {
	x := xmlWriter{b}
	x.lit(`<oai_datacite xmlns="http://schema.datacite.org/oai/oai-1.1/"><schemaVersion>4.3</schemaVersion><datacentreSymbol>CERN.ZENODO</datacentreSymbol>` +
		`<payload><resource xmlns="http://datacite.org/schema/kernel-4">`)
	x.element(`identifier identifierType="DOI"`, doi)
	x.lit("<creators>")
	for _, a := range p.authors {
		x.lit("<creator>")
		if a.group != "" {
			x.element(`creatorName nameType="Organizational"`, wordOf(a.group))
		} else {
			x.element(`creatorName nameType="Personal"`, wordOf(a.family+", "+a.given))
			x.element("givenName", wordOf(a.given))
			x.element("familyName", wordOf(a.family))
		}
		x.element(`nameIdentifier nameIdentifierScheme="ORCID"`, a.orcid)
		x.element("affiliation", wordOf(a.affiliation))
		x.lit("</creator>")
	}
	x.lit("</creators><titles>")
	x.element("title", wordOf(unmarked(p.title)))
	x.lit("</titles>")
	x.element("publisher", publisher)
	x.element("publicationYear", strconv.Itoa(p.date.year))
	x.lit("<dates>")
	x.element(`date dateType="Issued"`, p.date.String())
	x.lit(`</dates><resourceType resourceTypeGeneral="` + [2]string{"JournalArticle", "Dataset"}[i%2] + `"/><subjects>`)
	for _, k := range p.keywords {
		x.element("subject", wordOf(k))
	}
	x.lit(`</subjects><rightsList><rights rightsURI="https://creativecommons.org/licenses/by/4.0/legalcode">CC BY 4.0</rights></rightsList><descriptions>`)
	x.element(`description descriptionType="Abstract"`, wordOf(unmarked(abstractText(p.abstract))))
	x.lit("</descriptions></resource></payload></oai_datacite>")
	return x.b
}

// arxivManners: arXiv's own format, by days, without a word about how many there are;
// tokens live a day.
func arxivManners() manners {
	m := manners{
		name: "arXiv", path: "/oai", prefix: "arXiv", size: 1000, days: true, life: 24 * time.Hour, requests: 1, window: 3 * time.Second,
		write: writeArXiv,
	}
	m.id = func(b []byte, i uint32) []byte { return append(append(b, "oai:arXiv.org:"...), arxivNumber(i)...) }
	m.index = func(id string) (uint32, bool) {
		n, err := strconv.Atoi(strings.TrimPrefix(id, "oai:arXiv.org:2601."))
		return uint32(n), err == nil && n >= 0 && string(m.id(nil, uint32(n))) == id
	}
	return m
}

func arxivNumber(i uint32) string { return "2601." + string(appendPadded(nil, int(i), 7)) }

func writeArXiv(b []byte, i uint32, p paper) []byte {
	x := xmlWriter{b}
	x.lit(`<arXiv xmlns="http://arxiv.org/OAI/arXiv/">`)
	x.element("id", arxivNumber(i))
	x.element("created", p.date.String())
	x.lit("<authors>")
	for _, a := range p.authors {
		x.lit("<author>")
		x.element("keyname", wordOf(a.family+a.group))
		x.element("forenames", wordOf(a.given))
		x.element("affiliation", wordOf(a.affiliation))
		x.lit("</author>")
	}
	x.lit("</authors>")
	x.element("title", wordOf(unmarked(p.title)))
	x.element("categories", "q-bio.QM stat.AP")
	if p.journal >= 0 && i%3 == 0 {
		x.element("journal-ref", wordOf(journals[p.journal].title.plain+" "+p.volume))
	}
	if i%4 == 0 {
		x.element("doi", ownDOI("10.99896", i))
	}
	x.element("license", "http://creativecommons.org/licenses/by/4.0/")
	x.element("abstract", wordOf(unmarked(abstractText(p.abstract))))
	x.lit("</arXiv>")
	return x.b
}
