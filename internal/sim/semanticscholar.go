package sim

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// scholarHabits: the bulk search over title and abstract together, stemmed, with signs
// for operators and no fields. The total is an estimate, the last token null, and a
// result without hits has no list. Some abstracts are searched and not shown. Papers
// are found by their date of publication, which no change moves at the real service;
// here it is that of the version.
func scholarHabits() habits {
	h := habits{
		requests: 1, window: time.Second, totals: true, cursors: true, analysis: analysis{stems: true},
		class: func(path string) string { return only(path, "/paper/search/bulk") },
		write: writeScholar, ask: askScholar,
		broken:  func() *reply { return scholarError(http.StatusOK, "Internal server error") },
		expired: func() *reply { return scholarError(http.StatusBadRequest, "The continuation token is invalid") },
		page: func(_ *request, s slip) *reply {
			if s.total == 0 {
				return s.around(`{"total":0,"offset":0`, "}")
			}
			next := ""
			switch {
			case s.lost:
			case s.last:
				next = `,"token":null`
			default:
				next = `,"token":` + quoted(cursorMark(s.next))
			}
			if s.total > 0 {
				s.total += s.total / 10
			}
			return s.around("{"+told("total", s.total)+`"data":[`, "]"+next+"}")
		},
		columns: map[string]column{
			"":    {texts: func(e *entry) []string { return []string{e.plainTitle() + " " + e.plainAbstract()} }},
			"day": {day: func(e *entry) string { return scholarDate(e) }},
		},
	}
	h.id = func(b []byte, i uint32) []byte { return append(b, scholarID(i)...) }
	h.index = func(id string) (uint32, bool) {
		if len(id) != 40 {
			return 0, false
		}
		n, err := strconv.ParseUint(id[32:], 16, 32)
		return uint32(n), err == nil && scholarID(uint32(n)) == id
	}
	return h
}

// scholarID is 40 digits, the last eight of which tell the record.
func scholarID(i uint32) string { return "5eed5eed" + doajNumber(i) }

// scholarDate is the day of publication, of one paper in ten the year only, which
// counts as its first day.
func scholarDate(e *entry) string {
	day := e.stamp(time.DateOnly)
	if e.i%10 == 0 {
		return day[:4]
	}
	return day
}

func scholarError(status int, message string) *reply {
	return &reply{status: status, kind: jsonType, head: []byte(`{"error":` + quoted(message) + "}")}
}

func askScholar(l *library, q *request) (a asking, refused *reply) {
	from, to, ok := strings.Cut(q.get("publicationDateOrYear"), ":")
	days, err := l.leaf("day", termValue{ranged: true, from: from, to: to})
	if !ok || err != nil {
		return a, scholarError(http.StatusBadRequest, "Unacceptable query params: [publicationDateOrYear]")
	}
	tests := []paperTest{days.test}
	if text := q.get("query"); text != "" {
		p := &scholarQuery{l: l, rest: text}
		test, err := p.either()
		if err != nil {
			return a, scholarError(http.StatusBadRequest, err.Error())
		}
		tests = append(tests, test)
	}
	a.match = both(tests...)
	a.size = 1000
	if l.sim.cfg.ListSize > 0 {
		a.size = l.sim.cfg.ListSize
	}
	if token := q.get("token"); token != "" {
		after, ok := parseCursorMark(token)
		if !ok {
			return a, scholarError(http.StatusBadRequest, "The continuation token is invalid")
		}
		a.mark, a.after = token, after
	}
	return a, nil
}

// scholarQuery reads "words", + for and, | for or, - for not, and brackets.
type scholarQuery struct {
	l    *library
	rest string
}

func (p *scholarQuery) take(sign string) bool {
	rest, ok := strings.CutPrefix(strings.TrimLeft(p.rest, " "), sign)
	if ok {
		p.rest = rest
	}
	return ok
}

func (p *scholarQuery) either() (paperTest, error) {
	left, err := p.both()
	for err == nil && p.take("|") {
		before := left
		var right paperTest
		right, err = p.both()
		left = func(i uint32, r *record) bool { return before(i, r) || right(i, r) }
	}
	return left, err
}

func (p *scholarQuery) both() (paperTest, error) {
	left, err := p.operand()
	for err == nil && strings.TrimSpace(p.rest) != "" && !strings.HasPrefix(strings.TrimSpace(p.rest), "|") && !strings.HasPrefix(strings.TrimSpace(p.rest), ")") {
		p.take("+")
		before := left
		var right paperTest
		right, err = p.operand()
		left = func(i uint32, r *record) bool { return before(i, r) && right(i, r) }
	}
	return left, err
}

func (p *scholarQuery) operand() (paperTest, error) {
	switch {
	case p.take("-"):
		of, err := p.operand()
		return func(i uint32, r *record) bool { return !of(i, r) }, err
	case p.take("("):
		of, err := p.either()
		if err == nil && !p.take(")") {
			err = errors.New("a bracket is missing")
		}
		return of, err
	}
	q := &paperQuery{rest: strings.TrimLeft(p.rest, " ")}
	v, err := q.value()
	if err != nil {
		return nil, err
	}
	p.rest = q.rest
	c, err := p.l.leaf("", v)
	return c.test, err
}

func writeScholar(b []byte, e *entry) []byte {
	o := &jsonObject{append(b, '{')}
	o.text("paperId", scholarID(e.i))
	o.int("corpusId", int(e.i))
	o.within("externalIds", func() {
		if e.i%3 != 0 {
			o.text("DOI", ownDOI("10.99895", e.i))
		}
		o.text("CorpusId", strconv.Itoa(int(e.i)))
	})
	o.text("title", e.plainTitle())
	if e.i%4 == 0 {
		o.null("abstract")
	} else {
		o.text("abstract", e.plainAbstract())
	}
	day := scholarDate(e)
	year, _ := strconv.Atoi(day[:4])
	o.int("year", year)
	if len(day) > 4 {
		o.text("publicationDate", day)
	} else {
		o.null("publicationDate")
	}
	o.text("venue", e.journalTitle())
	o.strings("publicationTypes", []string{e.kind("Review", "JournalArticle")})
	names := e.names(false)
	o.objects("authors", len(names), func(k int) { o.within("", func() { o.text("name", names[k]) }) })
	return append(o.b, '}')
}
