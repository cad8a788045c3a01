package sim

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// scieloHabits: a list of whole articles by the day they were processed, by offset, at
// most 100 at once. Articles are bundles of ISIS tags. There is nothing to search by.
func scieloHabits() habits {
	h := habits{
		requests: 10, window: 5 * time.Second, totals: true,
		class: func(path string) string {
			switch path {
			case "/articles/", scieloCodes:
				return path
			}
			return ""
		},
		write: writeSciELO, ask: askSciELO,
		broken: func() *reply {
			return &reply{status: http.StatusOK, kind: jsonType, head: []byte(`{"error":"the database does not answer"}`)}
		},
		page: func(_ *request, s slip) *reply {
			return s.around(`{"meta":{`+told("total", s.total)+`"limit":`+strconv.Itoa(s.size)+`,"offset":`+strconv.Itoa(s.at)+`},"objects":[`, "]}")
		},
		order:   func(i uint32, r *record) uint64 { return uint64(moment(&r.version)/86_400_000_000)<<32 | uint64(i) },
		columns: map[string]column{"processed": {day: func(e *entry) string { return e.stamp(time.DateOnly) }}},
	}
	h.id = func(b []byte, i uint32) []byte { return append(b, scieloCollection(i)+"/"+scieloCode(i)...) }
	h.index = func(id string) (uint32, bool) {
		n, err := strconv.Atoi(id[max(0, len(id)-6):])
		return uint32(n), err == nil && string(h.id(nil, uint32(n))) == id
	}
	return h
}

const scieloCodes = "/article/identifiers/"

func scieloCollection(i uint32) string { return [3]string{"scl", "mex", "chl"}[i%3] }

func scieloCode(i uint32) string {
	return "S0034-89102026000" + string(appendPadded(nil, int(i), 6))
}

func askSciELO(l *library, q *request) (a asking, refused *reply) {
	days, err := l.leaf("processed", termValue{ranged: true, from: q.get("from"), to: q.get("until")})
	a.match = days.test
	a.size = 1000
	if limit := q.get("limit"); limit != "" && err == nil {
		a.size, err = strconv.Atoi(limit)
	}
	if offset := q.get("offset"); offset != "" && err == nil {
		a.at, err = strconv.Atoi(offset)
	}
	if err != nil || a.size < 0 || a.at < 0 {
		return a, gatewayPage(http.StatusBadRequest, "Bad Request")
	}
	a.counts = q.path == scieloCodes
	a.size = min(a.size, 100)
	return a, nil
}

// scieloDate is a date of eight digits, in which 00 is not known.
func scieloDate(e *entry) string {
	return (strings.ReplaceAll(e.published(), "-", "") + "0000")[:8]
}

func writeSciELO(b []byte, e *entry) []byte {
	o := &jsonObject{append(b, '{')}
	tag := func(name string, values ...[2]string) {
		o.objects(name, 1, func(int) {
			o.within("", func() {
				for _, v := range values {
					o.text(v[0], v[1])
				}
			})
		})
	}
	o.text("code", scieloCode(e.i))
	o.text("collection", scieloCollection(e.i))
	o.text("processing_date", e.stamp(time.DateOnly))
	o.text("doi", strings.ToUpper(ownDOI("10.99896", e.i)))
	o.text("license", "by/4.0")
	if j := e.container(); j != nil {
		o.strings("code_title", []string{j.issnPrint, j.issnOnline})
		o.within("title", func() {
			tag("v100", [2]string{"_", j.title.plain})
			tag("v480", [2]string{"_", j.publisher.plain})
		})
	}
	o.within("article", func() {
		tag("v12", [2]string{"_", e.plainTitle()}, [2]string{"l", twoLetters[e.language]})
		tag("v40", [2]string{"_", twoLetters[e.language]})
		if text := e.plainAbstract(); text != "" {
			tag("v83", [2]string{"a", text}, [2]string{"l", "en"})
		}
		o.objects("v10", len(e.authors), func(k int) {
			a := e.authors[k]
			o.within("", func() {
				o.text("s", a.family+a.group)
				o.text("n", a.given)
				o.text("_", "")
			})
		})
		tag("v31", [2]string{"_", e.volume})
		tag("v32", [2]string{"_", e.issue})
		tag("v65", [2]string{"_", scieloDate(e)})
		tag("v71", [2]string{"_", e.kind("ra", "oa")})
		o.objects("v85", len(e.keywords), func(k int) {
			o.within("", func() {
				o.text("k", e.keywords[k])
				o.text("l", "en")
			})
		})
	})
	return append(o.b, '}')
}
