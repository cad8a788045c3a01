package sim

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// entry is a paper as a library has it.
type entry struct {
	paper
	i      uint32
	record record
	dated  civil                 // when it was published, perhaps without its day or month
	said   map[string][][]string // columns as words
}

func newEntry(seed uint64, i uint32, r *record) *entry {
	a := articles{seed}
	return &entry{
		paper: papers{seed: seed}.medlinePaper(a, i, r), i: i, record: *r, dated: a.facts(i, r.created).published, said: map[string][][]string{},
	}
}

// published is the date of publication as far as it is known.
func (e *entry) published() string {
	switch c := e.dated; {
	case c.month == 0:
		return strconv.Itoa(c.year)
	case c.day == 0:
		return e.date.String()[:len("2006-01")]
	}
	return e.date.String()
}

func (e *entry) plainTitle() string { return unmarked(e.title) }

func (e *entry) plainAbstract() string {
	var parts []string
	for _, part := range e.abstract {
		parts = append(parts, strings.TrimSpace(part.label+" "+unmarked(part.text)))
	}
	return strings.Join(parts, " ")
}

// names are the authors' names, the family's first or last.
func (e *entry) names(familyFirst bool) []string {
	var out []string
	for _, a := range e.authors {
		switch {
		case a.group != "":
			out = append(out, a.group)
		case familyFirst && a.given != "":
			out = append(out, a.family+", "+a.given)
		default:
			out = append(out, strings.TrimSpace(a.given+" "+a.family))
		}
	}
	return out
}

func (e *entry) each(of func(a paperAuthor) string) []string {
	var out []string
	for _, a := range e.authors {
		out = append(out, some(of(a))...)
	}
	return out
}

func (e *entry) orcids() []string { return e.each(func(a paperAuthor) string { return a.orcid }) }

func (e *entry) affiliations() []string {
	return e.each(func(a paperAuthor) string { return a.affiliation })
}

// container is the journal, nil if there is none.
func (e *entry) container() *journal {
	if e.journal < 0 {
		return nil
	}
	return &journals[e.journal]
}

func (e *entry) journalTitle() string {
	if j := e.container(); j != nil {
		return j.title.plain
	}
	return ""
}

// moment is when the version was made, in microseconds.
func (e *entry) moment() int64 { return moment(&e.record.version) }

// stamp is that instant in the layout.
func (e *entry) stamp(layout string) string {
	return time.UnixMicro(e.moment()).UTC().Format(layout)
}

// entry is a record as searches read it; s.mu is held.
func (l *library) entry(i uint32, r *record) *entry {
	if have, ok := l.entries[i]; ok && have.record.number == r.number {
		return have
	}
	if len(l.entries) >= mostRead {
		l.entries = map[uint32]*entry{}
	}
	l.entries[i] = newEntry(l.people.seed, i, r)
	return l.entries[i]
}

// analysis is how a service reads texts.
type analysis struct {
	stems   bool // words are found by their stems
	accents bool // é is not e
	slop    int  // how many words may stand between those of a phrase
	apart   bool // the words of a phrase may stand anywhere
}

func (a analysis) words(s string) []string {
	words := wordsOf(s)
	if a.accents {
		words = strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.Is(unicode.Mn, r) })
	}
	if !a.stems {
		return words
	}
	for k, word := range words {
		words[k] = stem(word)
	}
	return words
}

// stem cuts endings off, crudely.
func stem(word string) string {
	for _, ending := range []string{"ations", "ation", "ings", "ing", "ies", "es", "ed", "s", "y", "e"} {
		if cut, ok := strings.CutSuffix(word, ending); ok && len(cut) >= 4 {
			return cut
		}
	}
	return word
}

// holds says whether a text has the words of a phrase.
func (a analysis) holds(text, words []string, prefix bool) bool {
	switch {
	case len(words) == 0:
		return false
	case a.apart:
		return !slices.ContainsFunc(words, func(w string) bool { return !holds(text, []string{w}, prefix) })
	case a.slop == 0 || len(words) == 1:
		return holds(text, words, prefix)
	}
	for at, have := range text {
		if have == words[0] && a.follow(text[at+1:], words[1:]) {
			return true
		}
	}
	return false
}

// follow says whether the words come in their order with few others between them.
func (a analysis) follow(text, words []string) bool {
	left := a.slop
	for _, have := range text {
		switch {
		case len(words) == 0:
			return true
		case have == words[0]:
			words = words[1:]
		case left == 0:
			return false
		default:
			left--
		}
	}
	return len(words) == 0
}

// column is a field that a service can be searched by: words of texts, whole values,
// numbers, days or instants.
type column struct {
	texts   func(e *entry) []string
	whole   func(e *entry) []string
	cased   bool // whole values are compared letter by letter
	sorted  bool // whole values can be asked for by a range of their letters
	number  func(e *entry) int
	day     func(e *entry) string // perhaps without its day or month, which then counts as the first
	instant func(e *entry) int64
}

// leaf makes the test of one field.
func (l *library) leaf(field string, v termValue) (clause, error) {
	col, ok := l.columns[field]
	switch {
	case !ok && l.unknown != nil:
		return l.unknown(l, field, v)
	case !ok:
		return clause{test: func(uint32, *record) bool { return false }}, nil
	case col.number != nil:
		return l.between(v, strconv.Atoi, func(e *entry) int { return col.number(e) })
	case col.day != nil:
		return l.between(v, dayNumber, func(e *entry) int { n, _ := dayNumber(col.day(e)); return n })
	case col.instant != nil:
		return l.between(v, instantNumber, func(e *entry) int { return int(col.instant(e) / l.grain * l.grain) })
	case v.ranged && col.sorted:
		return l.test(func(e *entry) bool { return slices.ContainsFunc(col.whole(e), v.spans) }), nil
	case v.ranged:
		return clause{}, fmt.Errorf("%s has no ranges", field)
	case col.whole != nil:
		return l.test(func(e *entry) bool {
			return slices.ContainsFunc(col.whole(e), func(have string) bool {
				return have == v.text || !col.cased && strings.EqualFold(have, v.text)
			})
		}), nil
	}
	words := l.analysis.words(v.text)
	return l.test(func(e *entry) bool {
		if _, read := e.said[field]; !read {
			said := [][]string{}
			for _, text := range col.texts(e) {
				said = append(said, l.analysis.words(text))
			}
			e.said[field] = said
		}
		return slices.ContainsFunc(e.said[field], func(have []string) bool { return l.analysis.holds(have, words, v.prefix) })
	}), nil
}

func (l *library) test(of func(e *entry) bool) clause {
	return clause{dear: true, test: func(i uint32, r *record) bool { return of(l.entry(i, r)) }}
}

// between makes the test of a range, or of one value; * is no end.
func (l *library) between(v termValue, read func(string) (int, error), of func(e *entry) int) (clause, error) {
	if !v.ranged {
		v.from, v.to = v.text, v.text
	}
	from, to := 0, int(^uint(0)>>1)
	var err error
	if v.from != "*" {
		from, err = read(v.from)
		if v.above {
			from++
		}
	}
	if v.to != "*" && err == nil {
		to, err = read(v.to)
		if v.below {
			to--
		}
	}
	if err != nil {
		return clause{}, err
	}
	return l.test(func(e *entry) bool { n := of(e); return n >= from && n <= to }), nil
}

// spans says whether a text lies in a range, by its bytes.
func (v termValue) spans(text string) bool {
	isBehind := v.from == "*" || text > v.from || text == v.from && !v.above
	isBefore := v.to == "*" || text < v.to || text == v.to && !v.below
	return isBehind && isBefore
}

// dayNumber reads 2006, 2006-01 or 2006-01-02, with or without a time behind it.
func dayNumber(s string) (int, error) {
	s, _, _ = strings.Cut(s, "T")
	for _, layout := range []string{time.DateOnly, "2006-01", "2006"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.Year()*10000 + int(t.Month())*100 + t.Day(), nil
		}
	}
	return 0, fmt.Errorf("failed to parse date field [%s]", s)
}

// instantNumber reads an instant as microseconds.
func instantNumber(s string) (int, error) {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999"} {
		if t, err := time.Parse(layout, s); err == nil {
			return int(t.UnixMicro()), nil
		}
	}
	return 0, fmt.Errorf("failed to parse date field [%s]", s)
}

// both joins tests that must all hold; nil ones hold.
func both(tests ...paperTest) paperTest {
	return func(i uint32, r *record) bool {
		return !slices.ContainsFunc(tests, func(t paperTest) bool { return t != nil && !t(i, r) })
	}
}
