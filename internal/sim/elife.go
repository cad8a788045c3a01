package sim

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// elifeHabits: a list of all articles by the instant of their newest version, newest
// first, in numbered pages of at most 100. It can be turned round and not be asked for
// anything else. Behind the last page there is an empty one.
func elifeHabits() habits {
	h := habits{
		requests: 10, window: 5 * time.Second, grain: 1_000_000, steps: time.Second, totals: true, pages: true,
		class: func(path string) string { return only(path, "/articles") },
		write: writeELife, ask: askELife,
		broken: func() *reply { return elifeProblem(http.StatusInternalServerError, "Internal Server Error") },
		page: func(_ *request, s slip) *reply {
			return s.around(`{`+told("total", s.total)+`"items":[`, "]}")
		},
	}
	h.order = func(i uint32, r *record) uint64 {
		return math.MaxUint64 - (uint64(moment(&r.version)/h.grain)<<24 | uint64(i))
	}
	h.id, h.index = numberedID("", 10_000)
	return h
}

// elifeProblem is an error by the form of RFC 7807.
func elifeProblem(status int, title string) *reply {
	return &reply{status: status, kind: "application/problem+json", head: []byte(`{"title":` + quoted(title) + `}`)}
}

func askELife(_ *library, q *request) (a asking, refused *reply) {
	page := 1
	a.size = 20
	var err error
	if text := q.get("page"); text != "" {
		page, err = strconv.Atoi(text)
	}
	if text := q.get("per-page"); text != "" && err == nil {
		a.size, err = strconv.Atoi(text)
	}
	isKnown := strings.EqualFold(q.get("order"), "desc")
	if err != nil || page < 1 || a.size < 1 || a.size > 100 || !isKnown {
		return a, elifeProblem(http.StatusBadRequest, "bad request")
	}
	a.at = (page - 1) * a.size
	return a, nil
}

// elifeAuthors is the line of authors: two names, or the first of more.
func elifeAuthors(e *entry) string {
	names := e.names(false)
	if len(names) > 2 {
		return names[0] + " et al."
	}
	return strings.Join(names, ", ")
}

func writeELife(b []byte, e *entry) []byte {
	o := &jsonObject{append(b, '{')}
	id := strconv.Itoa(10_000 + int(e.i))
	o.text("status", "vor")
	o.text("id", id)
	o.int("version", int(e.record.number))
	o.text("type", e.kind("review-article", "research-article"))
	o.text("doi", "10.7554/eLife."+id)
	o.text("authorLine", elifeAuthors(e))
	o.text("title", e.title)
	o.text("stage", "published")
	o.text("published", e.date.String()+"T00:00:00Z")
	o.text("versionDate", e.stamp("2006-01-02T15:04:05Z"))
	o.text("statusDate", e.stamp("2006-01-02T15:04:05Z"))
	o.int("volume", e.date.year-2011)
	o.text("elocationId", "e"+id)
	o.objects("subjects", 1, func(int) {
		o.within("", func() {
			o.text("id", strings.ToLower(fieldsOfStudy[e.i%16]))
			o.text("name", fieldsOfStudy[e.i%16])
		})
	})
	return append(o.b, '}')
}
