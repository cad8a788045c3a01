package sim

import "strconv"

// jsonWriter appends JSON in one work's manner of escaping.
type jsonWriter struct {
	b       []byte
	escaped bool
}

func (j *jsonWriter) lit(s string) { j.b = append(j.b, s...) }
func (j *jsonWriter) int(n int)    { j.b = appendInt(j.b, n) }

// text writes prepared text, without quotes around it.
func (j *jsonWriter) text(t text) {
	if j.escaped {
		j.lit(t.json)
	} else {
		j.lit(t.plain)
	}
}

// path writes something with slashes in it.
func (j *jsonWriter) path(s string) {
	if !j.escaped {
		j.lit(s)
		return
	}
	for k := range len(s) {
		if s[k] == '/' {
			j.b = append(j.b, '\\')
		}
		j.b = append(j.b, s[k])
	}
}

// doi writes an identifier made by appendDOI, without quotes around it.
func (j *jsonWriter) doi(w works, i uint32) {
	from := len(j.b)
	j.b = w.appendDOI(j.b, i)
	if j.escaped {
		for k := from; k < len(j.b); k++ {
			if j.b[k] == '/' {
				j.b = append(j.b, 0)
				copy(j.b[k+1:], j.b[k:])
				j.b[k] = '\\'
				return
			}
		}
	}
}

func (j *jsonWriter) parts(c civil) {
	j.lit(`{"date-parts":[[`)
	if c.year == 0 {
		j.lit("null")
	} else {
		j.int(c.year)
		if c.month > 0 {
			j.lit(",")
			j.int(c.month)
			if c.day > 0 {
				j.lit(",")
				j.int(c.day)
			}
		}
	}
	j.lit("]]}")
}

func (j *jsonWriter) instant(unix uint32, micro uint32, tail string) {
	j.parts(civilOf(int(unix / 86400)))
	j.b = j.b[:len(j.b)-1]
	j.lit(`,"date-time":"`)
	j.b = appendInstant(j.b, unix, 0)
	j.lit(`","timestamp":`)
	j.b = strconv.AppendUint(j.b, uint64(unix)*1000+uint64(micro)/1000, 10)
	j.lit(tail)
	j.lit("}")
}

// append writes the item of a version. Volatile parts are `indexed`,
// `is-referenced-by-count` and `score`; they follow the version's number, all
// else follows its content.
func (w works) append(b []byte, i uint32, r *record) []byte {
	f := w.facts(i, r)
	d := roll(w.seed, 11, uint64(i))                    // what never changes
	c := roll(w.seed, 12, uint64(i), uint64(r.content)) // what changes with the content
	v := roll(w.seed, 13, uint64(i), uint64(r.number))  // what is volatile
	in := &journals[f.journal]
	inJournal := f.kind == "journal-article"
	j := jsonWriter{b: b, escaped: f.escaped}

	j.lit(`{"indexed":`)
	j.instant(r.updated, r.micro, `,"version":"3.49.0"`)
	w.posted(&j, r, f)
	j.lit(`,"reference-count":`)
	j.int(f.refs)
	j.lit(`,"publisher":"`)
	j.text(in.publisher)
	j.lit(`"`)
	issue := 1 + c.n(12)
	if inJournal && f.style&1 == 0 {
		j.lit(`,"issue":"`)
		j.int(issue)
		j.lit(`"`)
	}
	w.license(&j, r, f)
	j.lit(`,"content-domain":{"domain":[],"crossmark-restriction":false},"short-container-title":[`)
	if inJournal {
		j.lit(`"`)
		j.text(in.abbrev)
		j.lit(`"`)
	}
	j.lit(`]`)
	if f.issued.year > 0 && f.style>>5&1 == 0 {
		j.lit(`,"published-print":`)
		j.parts(f.issued)
	}
	if f.abstract {
		w.abstract(&j, f, &d, &c)
	}
	j.lit(`,"DOI":"`)
	j.doi(w, i)
	j.lit(`","type":"`)
	j.lit(f.kind)
	j.lit(`","created":`)
	j.instant(r.created, 0, "")
	if inJournal {
		first := c.between(1, 1800)
		j.lit(`,"page":"`)
		j.int(first)
		j.lit("-")
		j.int(first + c.between(1, 20))
		j.lit(`"`)
	}
	if r.notice && r.partner > 0 {
		w.update(&j, "update-to", r.partner-1, r.created)
	}
	j.lit(`,"source":"Crossref","is-referenced-by-count":`)
	j.int(d.n(90) + int(r.number) - 1)
	w.title(&j, r, f, &d)
	j.lit(`,"prefix":"`)
	j.lit(in.prefix)
	j.lit(`"`)
	if inJournal {
		j.lit(`,"volume":"`)
		j.int(1 + f.journal*3 + d.n(20))
		j.lit(`"`)
	}
	w.authors(&j, f, &d)
	j.lit(`,"member":"`)
	j.lit(in.member)
	j.lit(`"`)
	if f.issued.year > 0 && f.style>>5&1 == 1 {
		j.lit(`,"published-online":`)
		j.parts(f.issued)
	}
	w.references(&j, i, f, &c)
	w.container(&j, f)
	if f.style>>6&3 == 0 {
		j.lit(`,"original-title":[]`)
	}
	if f.style>>9&1 == 0 {
		j.lit(`,"language":"en"`)
	}
	j.lit(`,"link":[{"URL":"`)
	j.path("https://www.exampleton.test/fulltext/")
	j.int(int(i))
	j.lit(`","content-type":"unspecified","content-version":"vor","intended-application":"similarity-checking"}],"deposited":`)
	j.instant(r.deposited, 0, "")
	j.lit(`,"score":`)
	j.int(v.n(40))
	j.lit(".")
	j.b = appendPadded(j.b, v.n(1000000), 6)
	j.lit(`,"resource":{"primary":{"URL":"`)
	j.path("https://www.exampleton.test/article/")
	j.int(int(i))
	j.lit(`"}},"subtitle":[],"short-title":[],"issued":`)
	j.parts(f.issued)
	j.lit(`,"references-count":`)
	j.int(f.refs)
	if inJournal && f.style&1 == 0 {
		j.lit(`,"journal-issue":{"issue":"`)
		j.int(issue)
		j.lit(`"}`)
	}
	if r.retracted && r.partner > 0 {
		w.update(&j, "updated-by", r.partner-1, r.deposited)
	}
	j.lit(`,"URL":"`)
	j.path("https://doi.org/")
	j.doi(w, i)
	j.lit(`"`)
	w.relation(&j, i, f, &d)
	if inJournal {
		j.lit(`,"ISSN":["`)
		j.lit(in.issnPrint)
		j.lit(`","`)
		j.lit(in.issnOnline)
		j.lit(`"],"issn-type":[{"value":"`)
		j.lit(in.issnPrint)
		j.lit(`","type":"print"},{"value":"`)
		j.lit(in.issnOnline)
		j.lit(`","type":"electronic"}]`)
	}
	if f.issued.year > 0 {
		j.lit(`,"published":`)
		j.parts(f.issued)
	}
	j.lit("}")
	return j.b
}

// posted writes what only preprints have.
func (w works) posted(j *jsonWriter, r *record, f workFacts) {
	if f.kind != "posted-content" {
		return
	}
	j.lit(`,"institution":[{"name":"simRxiv"}],"posted":`)
	j.parts(civilOf(int(r.created / 86400)))
	j.lit(`,"group-title":"`)
	j.lit(fieldsOfStudy[f.style>>8&15])
	j.lit(`","subtype":"preprint"`)
}

// licenses are those that works are published under.
var licenses = []string{
	"https://creativecommons.org/licenses/by/4.0/",
	"http://creativecommons.org/licenses/by-nc-nd/4.0/",
	"https://www.exampleton.test/tdm",
}

func (w works) license(j *jsonWriter, r *record, f workFacts) {
	if f.style>>1&3 == 0 {
		return
	}
	j.lit(`,"license":[{"start":`)
	j.instant(r.created/86400*86400, 0, "")
	j.lit(`,"content-version":"vor","delay-in-days":0,"URL":"`)
	j.path(licenses[f.style>>3%3])
	j.lit(`"}]`)
}

// container writes what a work is part of.
func (w works) container(j *jsonWriter, f workFacts) {
	j.lit(`,"container-title":[`)
	switch f.kind {
	case "journal-article", "proceedings-article", "book-chapter":
		j.lit(`"`)
		j.text(journals[f.journal].title)
		j.lit(`"`)
	}
	j.lit(`]`)
}

func (w works) abstract(j *jsonWriter, f workFacts, d, c *dice) {
	j.lit(`,"abstract":"`)
	end := func(tag string) {
		if j.escaped {
			j.lit(`<\/jats:` + tag + `>`)
		} else {
			j.lit(`</jats:` + tag + `>`)
		}
	}
	if f.style>>10&1 == 0 {
		j.lit(`<jats:title>Abstract`)
		end("title")
		j.lit(`\n                <jats:p>`)
	} else {
		j.lit(`<jats:p>`)
	}
	j.b = appendSentences(j.b, d, 3+int(f.style>>12&3))
	j.lit(` We used <jats:italic>in silico`)
	end("italic")
	j.lit(` samples of `)
	j.text(spices[d.n(len(spices))])
	j.lit(` (n &lt; 40). `)
	j.b = appendSentences(j.b, c, 2+int(f.style>>14&3))
	end("p")
	j.lit(`"`)
}

func (w works) title(j *jsonWriter, r *record, f workFacts, d *dice) {
	j.lit(`,"title":[`)
	if f.kind == "component" {
		j.lit(`]`)
		return
	}
	j.lit(`"`)
	if r.retracted {
		j.lit("RETRACTED: ")
	}
	if r.notice {
		j.lit("Retraction notice: ")
	}
	j.b = appendHeadline(j.b, d)
	switch f.style >> 16 & 7 {
	case 0:
		j.lit(" with <i>Escherichia coli<")
		j.path("/i>")
	case 1:
		j.lit(` R&amp;D in `)
		j.text(spices[d.n(len(spices))])
	case 2:
		j.lit(` for\n            `)
		j.text(spices[d.n(len(spices))])
	case 3:
		j.lit(`, the \"first\" report`)
	}
	if r.content > 0 {
		j.lit(" (revision ")
		j.int(int(r.content))
		j.lit(")")
	}
	j.lit(`"]`)
}

func (w works) authors(j *jsonWriter, f workFacts, d *dice) {
	n := d.n(8)
	if n == 0 || f.kind == "component" {
		return
	}
	j.lit(`,"author":[`)
	for k := range n {
		if k > 0 {
			j.lit(",")
		}
		x := d.next()
		sequence := `","sequence":"additional","affiliation":[`
		if k == 0 {
			sequence = `","sequence":"first","affiliation":[`
		}
		if x&31 == 0 {
			j.lit(`{"name":"`)
			j.text(groups[x>>8%uint64(len(groups))])
			j.lit(sequence)
			j.lit(`]}`)
			continue
		}
		j.lit(`{`)
		if x>>5&3 == 0 {
			j.lit(`"ORCID":"`)
			j.path("http://orcid.org/")
			j.b = appendORCID(j.b, d)
			j.lit(`","authenticated-orcid":false,`)
		}
		j.lit(`"given":"`)
		j.text(givens[x>>8%uint64(len(givens))])
		j.lit(`","family":"`)
		j.text(familyOf(x >> 20))
		j.lit(sequence)
		if x>>7&1 == 0 {
			j.lit(`{"name":"`)
			j.text(places[x>>32%uint64(len(places))])
			j.lit(`"}`)
		}
		j.lit(`]}`)
	}
	j.lit(`]`)
}

func (w works) references(j *jsonWriter, i uint32, f workFacts, c *dice) {
	if f.refs == 0 {
		return
	}
	j.lit(`,"reference":[`)
	for k := range f.refs {
		if k > 0 {
			j.lit(",")
		}
		j.lit(`{"key":"ref`)
		j.int(k + 1)
		if x := c.next(); x&1 == 0 {
			j.lit(`","doi-asserted-by":"publisher","DOI":"`)
			j.doi(w, uint32(x>>8%uint64(i+1)))
			j.lit(`"}`)
		} else {
			j.lit(`","unstructured":"`)
			j.text(families[x>>8%uint64(len(families))])
			j.lit(`. `)
			j.b = appendSentence(j.b, c)
			j.lit(` `)
			j.int(1990 + int(x>>20%34))
			j.lit(`"}`)
		}
	}
	j.lit(`]`)
}

func (w works) update(j *jsonWriter, name string, other uint32, at uint32) {
	j.lit(`,"`)
	j.lit(name)
	j.lit(`":[{"DOI":"`)
	j.doi(w, other)
	j.lit(`","type":"retraction","label":"Retraction","source":"publisher","updated":`)
	j.instant(at/86400*86400, 0, "")
	j.lit(`}]`)
}

func (w works) relation(j *jsonWriter, i uint32, f workFacts, d *dice) {
	j.lit(`,"relation":{`)
	if f.kind == "posted-content" && i > 0 {
		j.lit(`"is-preprint-of":[{"id-type":"doi","id":"`)
		j.doi(w, uint32(d.n(int(i))))
		j.lit(`","asserted-by":"subject"}]`)
	}
	j.lit(`}`)
}
