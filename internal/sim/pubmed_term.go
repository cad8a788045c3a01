package sim

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"time"
)

// match says whether a record is among a query's hits.
type match func(i uint32, r *record) bool

// termResult is an Entrez query as understood.
type termResult struct {
	match       match // nil: nothing of it was understood
	translation string
	phrases     []string // not found, and dropped from the query
	fields      []string // not known, dropped with the words they were on
}

// fieldOf maps the tags PubMed knows to what this simulator does with them.
var fieldOf = map[string]string{
	"crdt": "crdt", "date - create": "crdt", "create date": "crdt",
	"edat": "edat", "date - entry": "edat", "entrez date": "edat", "entry date": "edat", "date - entrez": "edat",
	"mdat": "mdat", "lr": "mdat", "date - modification": "mdat", "modification date": "mdat", "date - modify": "mdat",
	"pdat": "pdat", "dp": "pdat", "date - publication": "pdat", "publication date": "pdat", "ppdt": "pdat", "epdt": "pdat",
	"uid": "uid", "pmid": "uid",
	"tiab": "tiab", "title/abstract": "tiab", "ti": "title", "titl": "title", "title": "title", "tw": "tiab", "text word": "tiab",
	"all": "all", "all fields": "all", "sb": "filter", "filter": "filter", "filt": "filter", "subset": "filter",
	"au": "author", "auth": "author", "author": "author", "full": "author", "full author name": "author", "1au": "author", "coln": "author",
	"ta": "journal", "jour": "journal", "journal": "journal", "is": "issn", "la": "language", "lang": "language", "language": "language",
	"pt": "type", "ptyp": "type", "publication type": "type", "mh": "mesh", "mesh": "mesh", "mesh terms": "mesh", "majr": "mesh",
	"mesh major topic": "mesh", "ad": "place", "affl": "place", "affiliation": "place", "auid": "person",
	"aid": "number", "lid": "number", "doi": "number", "ot": "keyword", "gr": "all", "grnt": "all",
}

// wordFields are what is searched by words, wholeFields what only as a whole.
var (
	wordFields = map[string]func(e *entry) []string{
		"title":   func(e *entry) []string { return []string{e.plainTitle()} },
		"tiab":    func(e *entry) []string { return append([]string{e.plainTitle(), e.plainAbstract()}, e.keywords...) },
		"place":   (*entry).affiliations,
		"keyword": func(e *entry) []string { return e.keywords },
		"author": func(e *entry) (out []string) {
			for _, a := range e.authors {
				out = append(out, a.family+" "+a.initials, a.family+" "+a.given, a.group)
			}
			return out
		},
	}
	wholeFields = map[string]func(e *entry) []string{
		"issn":     issnOf(true, true),
		"language": func(e *entry) []string { return []string{e.language} },
		"type":     func(e *entry) []string { return e.types },
		"mesh":     (*entry).headings,
		"person":   (*entry).orcids,
		"number":   func(e *entry) []string { return append(some(e.doi), some(e.pmcid)...) },
		"journal": func(e *entry) []string {
			if j := e.container(); j != nil {
				return []string{j.title.plain, j.abbrev.plain, j.issnPrint, j.issnOnline}
			}
			return nil
		},
	}
)

var fieldNames = map[string]string{
	"crdt": "Date - Create", "edat": "Date - Entry", "mdat": "Date - Modification", "pdat": "Date - Publication",
	"uid": "UID", "tiab": "Title/Abstract", "title": "Title", "all": "All Fields", "filter": "Filter",
	"author": "Author", "journal": "Journal", "issn": "ISSN", "language": "Language", "type": "Publication Type", "mesh": "MeSH Terms",
	"place": "Affiliation", "person": "Author - Identifier", "number": "Article Identifier", "keyword": "Other Term",
}

// termParser reads an Entrez query from left to right, without precedence, as
// PubMed does.
type termParser struct {
	pubmed *pubmed
	tokens []string
	pos    int
	out    termResult
	lookup func(key int) match // #n of the session
}

func (p *pubmed) parseTerm(term string, lookup func(int) match) termResult {
	tp := &termParser{pubmed: p, tokens: tokenize(term), lookup: lookup}
	var said strings.Builder
	tp.out.match = tp.expression(&said)
	tp.out.translation = said.String()
	return tp.out
}

// tokenize splits at blanks, brackets, colons and quotes. A tag keeps its opening
// bracket and a quoted phrase its opening quote, to tell them from words.
func tokenize(s string) []string {
	var out []string
	for k := 0; k < len(s); {
		switch c := s[k]; {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			k++
		case c == '(' || c == ')' || c == ':':
			out = append(out, s[k:k+1])
			k++
		case c == '[' || c == '"':
			closing := byte(']')
			if c == '"' {
				closing = '"'
			}
			end := strings.IndexByte(s[k+1:], closing)
			if end < 0 {
				end = len(s) - k - 1
			}
			out = append(out, s[k:k+1+end])
			k += end + 2
		default:
			end := k
			for end < len(s) && !strings.ContainsRune(" \t\r\n()[]:\"", rune(s[end])) {
				end++
			}
			if end == k { // a stray bracket
				end++
			}
			out = append(out, s[k:end])
			k = end
		}
	}
	return out
}

func (tp *termParser) peek() string {
	if tp.pos < len(tp.tokens) {
		return tp.tokens[tp.pos]
	}
	return ""
}

func (tp *termParser) expression(said *strings.Builder) match {
	left := tp.operand(said)
	for {
		op := tp.peek()
		switch op {
		case "", ")":
			return left
		case "AND", "OR", "NOT":
			tp.pos++
			if next := tp.peek(); op == "AND" && next == "NOT" {
				op = "NOT"
				tp.pos++
			}
		default:
			op = "AND"
		}
		var part strings.Builder
		right := tp.operand(&part)
		if right == nil {
			continue
		}
		if left == nil {
			left = right
			said.Reset()
			said.WriteString(part.String())
			continue
		}
		said.WriteString(" " + op + " " + part.String())
		a, b := left, right
		switch op {
		case "AND":
			left = func(i uint32, r *record) bool { return a(i, r) && b(i, r) }
		case "OR":
			left = func(i uint32, r *record) bool { return a(i, r) || b(i, r) }
		case "NOT":
			left = func(i uint32, r *record) bool { return a(i, r) && !b(i, r) }
		}
	}
}

func (tp *termParser) operand(said *strings.Builder) match {
	if tp.peek() == "(" {
		tp.pos++
		var inner strings.Builder
		m := tp.expression(&inner)
		if tp.peek() == ")" {
			tp.pos++
		}
		if m != nil {
			said.WriteString("(" + inner.String() + ")")
		}
		return m
	}
	words, tag := tp.words()
	if tp.peek() == ":" && tag == "" && len(words) > 1 { // words before a range stand alone
		words = words[:len(words)-1]
		tp.pos--
	} else if tp.peek() == ":" {
		tp.pos++
		upper, tag2 := tp.words()
		if tag == "" {
			tag = tag2
		}
		return tp.atom(strings.Join(words, " "), strings.Join(upper, " "), tag, false, said)
	}
	if len(words) == 0 {
		tp.pos++ // a token that fits nowhere
		return nil
	}
	if tag == "" && len(words) > 1 { // untagged words are looked for one by one
		var all match
		for _, word := range words {
			var part strings.Builder
			if m := tp.atom(word, "", "", strings.HasPrefix(word, `"`), &part); m != nil {
				if before := all; before == nil {
					all = m
					said.WriteString(part.String())
				} else {
					all = func(i uint32, r *record) bool { return before(i, r) && m(i, r) }
					said.WriteString(" AND " + part.String())
				}
			}
		}
		return all
	}
	return tp.atom(strings.Join(words, " "), "", tag, strings.HasPrefix(words[0], `"`), said)
}

// words takes words up to and including a tag.
func (tp *termParser) words() (words []string, tag string) {
	for {
		t := tp.peek()
		switch {
		case t == "" || t == "(" || t == ")" || t == ":" || t == "AND" || t == "OR" || t == "NOT":
			return words, ""
		case strings.HasPrefix(t, "["):
			tp.pos++
			return words, strings.ToLower(strings.TrimSpace(t[1:]))
		}
		words = append(words, t)
		tp.pos++
	}
}

// atom is one word, phrase or range with its tag.
func (tp *termParser) atom(text, upper, tag string, quoted bool, said *strings.Builder) match {
	text, upper = strings.ReplaceAll(text, `"`, ""), strings.ReplaceAll(upper, `"`, "")
	if tag == "" && strings.HasPrefix(text, "#") && tp.lookup != nil {
		if n, err := strconv.Atoi(text[1:]); err == nil {
			said.WriteString(text)
			return tp.lookup(n)
		}
	}
	tag, near, _ := strings.Cut(tag, ":") // [tiab:~2] and the like
	field, known := fieldOf[tag]
	if tag == "" {
		field, known = "all", true
	}
	if !known {
		tp.out.fields = append(tp.out.fields, tag)
		return nil
	}
	var m match
	switch field {
	case "crdt", "edat", "mdat", "pdat":
		if upper == "" {
			upper = text
		}
		m = tp.pubmed.dated(field, text, upper)
	case "uid":
		m = tp.pubmed.numbered(text, upper)
	case "filter":
		m = func(uint32, *record) bool { return true } // all[sb], medline[sb] and so on
	default:
		if upper != "" {
			text += " " + upper
		}
		m = tp.pubmed.worded(field, text, strings.HasPrefix(near, "~"))
	}
	shown := text
	if upper != "" && fieldNames[field] != "" && field != "all" && wordFields[field] == nil && upper != text {
		shown += ":" + upper
	}
	if m == nil {
		if tag != "" {
			shown += "[" + tag + "]"
		}
		tp.out.phrases = append(tp.out.phrases, shown)
		return nil
	}
	if quoted || field == "tiab" || field == "title" || field == "all" {
		shown = `"` + shown + `"`
	}
	said.WriteString(shown + "[" + fieldNames[field] + "]")
	return m
}

// dated matches a range of days, both included; nil if it cannot be read.
func (p *pubmed) dated(field, from, to string) match {
	first, _, ok1 := parseDay(from)
	_, last, ok2 := parseDay(to)
	if !ok1 || !ok2 {
		return nil
	}
	if field == "pdat" {
		a, b := first.number(), last.number()
		return func(i uint32, r *record) bool {
			n := p.articles.facts(i, r.created).published.number()
			return n >= a && n <= b
		}
	}
	start := time.Date(first.year, time.Month(first.month), first.day, 0, 0, 0, 0, eastern).Unix()
	end := time.Date(last.year, time.Month(last.month), last.day+1, 0, 0, 0, 0, eastern).Unix()
	switch field {
	case "mdat":
		return func(_ uint32, r *record) bool { return int64(r.updated) >= start && int64(r.updated) < end }
	case "edat":
		a, b := first.number(), last.number()
		return func(i uint32, r *record) bool {
			if f := p.articles.facts(i, r.created); f.entered {
				return f.published.number() >= a && f.published.number() <= b
			}
			return int64(r.created) >= start && int64(r.created) < end
		}
	}
	return func(_ uint32, r *record) bool { return int64(r.created) >= start && int64(r.created) < end }
}

// parseDay reads YYYY, YYYY/MM or YYYY/MM/DD and returns its first and last day.
func parseDay(s string) (first, last civil, ok bool) {
	parts := strings.Split(strings.TrimSpace(s), "/")
	if len(parts) > 3 {
		return civil{}, civil{}, false
	}
	var n [3]int
	for k, part := range parts {
		var err error
		n[k], err = strconv.Atoi(part)
		if err != nil || n[k] < 1 {
			return civil{}, civil{}, false
		}
	}
	if n[0] < 1000 || n[0] > 9999 || n[1] > 12 || n[2] > 31 {
		return civil{}, civil{}, false
	}
	switch len(parts) {
	case 1:
		return civil{n[0], 1, 1}, civil{n[0], 12, 31}, true
	case 2:
		end := time.Date(n[0], time.Month(n[1])+1, 0, 0, 0, 0, 0, time.UTC)
		return civil{n[0], n[1], 1}, civil{n[0], n[1], end.Day()}, true
	}
	return civil{n[0], n[1], n[2]}, civil{n[0], n[1], n[2]}, true
}

// numbered matches one PMID or a range of them, both ends included.
func (p *pubmed) numbered(from, to string) match {
	if to == "" {
		to = from
	}
	a, err1 := strconv.Atoi(strings.TrimSpace(from))
	b, err2 := strconv.Atoi(strings.TrimSpace(to))
	if err1 != nil || err2 != nil {
		return nil
	}
	return func(i uint32, _ *record) bool {
		n := p.articles.pmid(i)
		return n >= a && n <= b
	}
}

// worded matches records that hold a phrase, or its words side by side in any order
// where they only have to be near; nil if none does. The hits are kept until the truth
// moves.
func (p *pubmed) worded(field, text string, near bool) match {
	key := field + "\x00" + text + "\x00" + strconv.FormatBool(near)
	if p.found == nil || p.foundAt != p.people.moved || len(p.found) > 64 {
		p.found, p.foundAt = map[string]map[uint32]bool{}, p.people.moved
	}
	hits, ok := p.found[key]
	if !ok {
		hits = map[uint32]bool{}
		test := p.wordTest(field, text, near)
		for _, k := range p.people.index() {
			if i := uint32(k); test(i, &p.people.records[i]) {
				hits[i] = true
			}
		}
		p.found[key] = hits
	}
	if len(hits) == 0 {
		return nil
	}
	return func(i uint32, _ *record) bool { return hits[i] }
}

// wordTest looks into one record. Accents and case do not matter.
func (p *pubmed) wordTest(field, text string, near bool) match {
	bare, prefix := strings.CutSuffix(text, "*")
	words := wordsOf(bare)
	entryOf := func(i uint32, r *record) *entry { return newEntry(p.articles.seed, i, r) }
	if values, ok := wholeFields[field]; ok {
		return func(i uint32, r *record) bool {
			return slices.ContainsFunc(values(entryOf(i, r)), func(have string) bool { return slices.Equal(wordsOf(have), words) })
		}
	}
	if texts, ok := wordFields[field]; ok {
		return func(i uint32, r *record) bool {
			return slices.ContainsFunc(texts(entryOf(i, r)), func(have string) bool {
				if near {
					return together(wordsOf(have), words)
				}
				return len(words) > 0 && holds(wordsOf(have), words, prefix)
			})
		}
	}
	phrase := []byte(strings.ToLower(bare))
	return func(i uint32, r *record) bool {
		return bytes.Contains(bytes.ToLower(p.articles.append(nil, i, r)), phrase)
	}
}

// together says whether words stand side by side in a text, in whatever order.
func together(text, words []string) bool {
	want := slices.Sorted(slices.Values(words))
	for at := 0; at+len(words) <= len(text); at++ {
		if slices.Equal(slices.Sorted(slices.Values(text[at:at+len(words)])), want) {
			return len(words) > 0
		}
	}
	return false
}
