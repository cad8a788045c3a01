package sim

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// trialHabits: the register's own language (Essie), in which words bring their
// variants and a phrase its words in any order; an area that is not known is refused.
// The last page has no token, the first alone a total, and a page without studies may
// have a token.
func trialHabits() habits {
	h := habits{
		requests: 50, window: time.Minute, totals: true, cursors: true, analysis: analysis{stems: true, apart: true},
		class: func(path string) string { return only(path, "/studies") },
		write: writeTrial, ask: askTrials, broken: func() *reply { return plainError(http.StatusOK, "Service is not available") },
		expired: func() *reply { return plainError(http.StatusBadRequest, "`pageToken` parameter has incorrect format") },
		page: func(q *request, s slip) *reply {
			total := ""
			if q.get("countTotal") == "true" && !s.walking() {
				total = told("totalCount", s.total)
			}
			tail := "]"
			if s.more() && !s.counts {
				tail += `,"nextPageToken":` + quoted(cursorMark(s.next))
			}
			return s.around("{"+total+`"studies":[`, tail+"}")
		},
		order: func(i uint32, r *record) uint64 { return uint64(r.updated)<<32 | uint64(i) },
		unknown: func(_ *library, field string, _ termValue) (clause, error) {
			return clause{}, fmt.Errorf("unknown area name %s", field)
		},
		columns: map[string]column{
			"":                           {texts: func(e *entry) []string { return []string{strings.Join(everyText(e), " ")} }},
			"BriefTitle":                 {texts: func(e *entry) []string { return []string{trialBriefTitle(e)} }},
			"OfficialTitle":              {texts: func(e *entry) []string { return trialOfficialTitle(e) }},
			"BriefSummary":               {texts: func(e *entry) []string { return some(e.plainAbstract()) }},
			"OverallOfficialName":        {texts: func(e *entry) []string { return e.names(false) }},
			"OverallOfficialAffiliation": {texts: func(e *entry) []string { return e.affiliations() }},
			"Keyword":                    {texts: func(e *entry) []string { return e.keywords }},
			"Condition":                  {texts: func(e *entry) []string { return []string{fieldsOfStudy[e.i%16]} }},
			"ConditionMeshTerm":          {texts: func(e *entry) []string { return e.headings() }},
			"NCTId":                      {whole: func(e *entry) []string { return []string{trialID(e.i)} }},
			"StudyFirstPostDate":         {day: func(e *entry) string { return e.date.String() }},
			"LastUpdatePostDate":         {day: func(e *entry) string { return easternCivil(int64(e.record.updated)).String() }},
		},
	}
	h.id = func(b []byte, i uint32) []byte { return append(b, trialID(i)...) }
	h.index = func(id string) (uint32, bool) {
		n, err := strconv.Atoi(strings.TrimPrefix(id, "NCT"))
		return uint32(n), err == nil && n >= 0 && trialID(uint32(n)) == id
	}
	return h
}

func trialID(i uint32) string { return "NCT" + string(appendPadded(nil, int(i), 8)) }

// trialOfficialTitle is missing of one study in six.
func trialOfficialTitle(e *entry) []string {
	if e.i%6 == 0 {
		return nil
	}
	return []string{e.plainTitle()}
}

func trialBriefTitle(e *entry) string {
	if e.i%6 == 0 {
		return e.plainTitle()
	}
	return "Study " + strconv.Itoa(int(e.i)) + " of a trial"
}

func plainError(status int, message string) *reply {
	return &reply{status: status, kind: "text/plain", head: []byte(message)}
}

func askTrials(l *library, q *request) (a asking, refused *reply) {
	p := &essie{l: l, rest: q.get("filter.advanced")}
	c, err := p.either()
	if err == nil && strings.TrimSpace(p.rest) != "" {
		err = fmt.Errorf("extra input: %s", p.rest)
	}
	if err != nil {
		return a, plainError(http.StatusBadRequest, "`filter.advanced` parameter has incorrect format: "+err.Error())
	}
	a.match = c
	a.size = 10
	if n, err := strconv.Atoi(q.get("pageSize")); err == nil {
		a.size = min(n, 1000)
	}
	a.counts = q.get("fields") == "NCTId"
	if token := q.get("pageToken"); token != "" {
		after, ok := parseCursorMark(token)
		if !ok {
			return a, plainError(http.StatusBadRequest, "`pageToken` parameter has incorrect format")
		}
		a.mark, a.after = token, after
	}
	return a, nil
}

// essie reads AREA[Name]"words", AREA[Name]RANGE[a,b], "words", AND, OR, NOT and brackets.
type essie struct {
	l    *library
	rest string
}

func (p *essie) take(word string) bool {
	rest, ok := strings.CutPrefix(strings.TrimLeft(p.rest, " "), word)
	if ok {
		p.rest = rest
	}
	return ok
}

func (p *essie) either() (paperTest, error) {
	left, err := p.both()
	for err == nil && p.take("OR ") {
		before := left
		var right paperTest
		right, err = p.both()
		left = func(i uint32, r *record) bool { return before(i, r) || right(i, r) }
	}
	return left, err
}

func (p *essie) both() (paperTest, error) {
	left, err := p.operand()
	for err == nil && p.take("AND ") {
		before := left
		var right paperTest
		right, err = p.operand()
		left = func(i uint32, r *record) bool { return before(i, r) && right(i, r) }
	}
	return left, err
}

func (p *essie) operand() (paperTest, error) {
	switch {
	case p.take("NOT "):
		of, err := p.operand()
		return func(i uint32, r *record) bool { return !of(i, r) }, err
	case p.take("("):
		of, err := p.either()
		if err == nil && !p.take(")") {
			err = errors.New("a bracket is missing")
		}
		return of, err
	}
	field := ""
	if p.take("AREA[") {
		name, rest, ok := strings.Cut(p.rest, "]")
		if !ok {
			return nil, errors.New("a bracket is missing")
		}
		field = name
		p.rest = rest
	}
	v, err := p.value()
	if err != nil {
		return nil, err
	}
	c, err := p.l.leaf(field, v)
	return c.test, err
}

func (p *essie) value() (v termValue, err error) {
	if p.take("RANGE[") {
		inside, rest, ok := strings.Cut(p.rest, "]")
		from, to, two := strings.Cut(inside, ",")
		if !ok || !two {
			return v, errors.New("a range is not of the form RANGE[a,b]")
		}
		p.rest = rest
		v = termValue{ranged: true, from: strings.TrimSpace(from), to: strings.TrimSpace(to)}
		if v.from == "MIN" {
			v.from = "*"
		}
		if v.to == "MAX" {
			v.to = "*"
		}
		return v, nil
	}
	q := &paperQuery{rest: strings.TrimLeft(p.rest, " ")}
	if !strings.HasPrefix(q.rest, `"`) {
		return v, fmt.Errorf("unexpected %q", q.rest)
	}
	v, err = q.value()
	p.rest = q.rest
	return v, err
}

func writeTrial(b []byte, e *entry) []byte {
	o := &jsonObject{append(b, '{')}
	o.within("protocolSection", func() {
		o.within("identificationModule", func() {
			o.text("nctId", trialID(e.i))
			o.text("briefTitle", trialBriefTitle(e))
			for _, title := range trialOfficialTitle(e) {
				o.text("officialTitle", title)
			}
		})
		o.within("statusModule", func() {
			o.within("lastUpdatePostDateStruct", func() { o.text("date", easternCivil(int64(e.record.updated)).String()) })
			o.within("studyFirstPostDateStruct", func() { o.text("date", e.date.String()) })
		})
		o.within("sponsorCollaboratorsModule", func() { o.within("leadSponsor", func() { o.text("name", "Exampleton Hospital") }) })
		o.within("descriptionModule", func() { o.text("briefSummary", e.plainAbstract()) })
		o.within("conditionsModule", func() {
			o.strings("conditions", []string{fieldsOfStudy[e.i%16]})
			o.strings("keywords", e.keywords)
		})
		o.within("designModule", func() { o.text("studyType", e.kind("OBSERVATIONAL", "INTERVENTIONAL")) })
		names := e.names(false)
		o.within("contactsLocationsModule", func() {
			o.objects("overallOfficials", len(names), func(k int) {
				o.within("", func() {
					o.text("name", names[k])
					o.text("affiliation", e.authors[k].affiliation)
				})
			})
		})
	})
	o.within("derivedSection", func() {
		o.within("conditionBrowseModule", func() {
			terms := e.headings()
			o.objects("meshes", len(terms), func(k int) { o.within("", func() { o.text("term", terms[k]) }) })
		})
	})
	return append(o.b, '}')
}
