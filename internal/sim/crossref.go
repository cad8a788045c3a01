package sim

import (
	"bytes"
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

const jsonType = "application/json"

// crossref simulates GET /works and /works/{doi} of the REST API.
type crossref struct {
	works
	people *population
	walks  *scrolls
	calls  uint64 // makes the order without a sort differ from call to call
}

func newCrossref(s *Sim, p *population) *crossref {
	return &crossref{works: works{p.seed}, people: p, walks: newScrolls(p.seed, s.cfg.CursorLife, s.cfg.CursorChars)}
}

func (c *crossref) appendID(b []byte, i uint32) []byte { return c.works.appendDOI(b, i) }

func (c *crossref) updatedAt(v version) time.Time { return time.Unix(int64(v.updated), 0).UTC() }

func (c *crossref) route(q *request) string {
	path := strings.TrimPrefix(q.path, "/v1")
	switch {
	case path == "/works" || path == "/works/":
		return "/works"
	case strings.HasPrefix(path, "/works/"):
		return "/works/{doi}"
	}
	return ""
}

func (c *crossref) polite(q *request) bool {
	return q.get("mailto") != "" || strings.Contains(q.http.UserAgent(), "mailto:")
}

func (c *crossref) allowance(q *request) allowance {
	a := allowance{pool: "public-array", requests: 1, concurrent: 1, window: time.Second}
	switch single, polite := q.route != "/works", c.polite(q); {
	case single && polite:
		a.pool = "polite-single"
		a.requests = 10
		a.concurrent = 3
	case polite:
		a.pool = "polite-array"
		a.requests = 3
		a.concurrent = 3
	case single:
		a.pool, a.requests = "public-single", 5
	}
	a.key = q.caller + " " + a.pool
	return a
}

func (c *crossref) limits(_ *request, rep *reply, a allowance, _ verdict) {
	rep.set("Server", "Jetty(9.4.40.v20210413)")
	rep.set("Access-Control-Allow-Origin", "*")
	rep.set("X-Api-Pool", a.pool)
	if a.requests > 0 {
		rep.set("X-Rate-Limit-Limit", strconv.Itoa(a.requests))
		rep.set("X-Rate-Limit-Interval", strconv.FormatFloat(a.window.Seconds(), 'f', -1, 64)+"s")
	}
	if a.concurrent > 0 {
		rep.set("X-Concurrency-Limit", strconv.Itoa(a.concurrent))
	}
}

// tooMany: no body, no limit headers and no Retry-After, as reported in 2026.
func (c *crossref) tooMany(*request, allowance, verdict) *reply {
	return &reply{status: http.StatusTooManyRequests}
}

func (c *crossref) failure(*request, Fault) *reply {
	return &reply{status: http.StatusOK, kind: jsonType, head: []byte(`{"status":"error","message-type":"exception","message-version":"1.0.0",` +
		`"message":{"name":"class clojure.lang.ExceptionInfo","description":"Response Exception","message":"Response Exception","stack":[]}}`)}
}

func (c *crossref) suits(q *request, f Fault) bool {
	if q.route != "/works" {
		return false
	}
	cursor := q.get("cursor")
	walking := cursor != "" && cursor != "*"
	switch f {
	case TotalWrong:
		return !walking
	case TotalDropped:
		return true
	case CursorExpired:
		return walking
	case TokenDropped, TokenDroppedShort:
		if cursor == "*" {
			return true
		}
		fallthrough
	case ShortPage, EmptyMiddlePage, RepeatedPage:
		if !walking {
			return false
		}
		sc := c.walks.find(cursor)
		wq, wrong := c.parse(q)
		return sc != nil && len(wrong) == 0 && sc.suits(f, wq.rows)
	}
	return false
}

func (c *crossref) answer(q *request) *reply {
	if q.route != "/works" {
		return c.single(q)
	}
	wq, wrong := c.parse(q)
	if len(wrong) > 0 {
		return failures(http.StatusBadRequest, "validation-failure", wrong)
	}
	switch {
	case wq.cursor == "*":
		ids := shuffled(c.search(&wq), roll(c.works.seed, 6, c.walks.opened))
		token, sc := c.walks.start(ids)
		return c.walk(q, &wq, token, sc)
	case wq.cursor != "":
		sc := c.walks.find(wq.cursor)
		if q.fault == CursorExpired {
			delete(c.walks.open, wq.cursor)
			sc = nil
		}
		if sc == nil {
			return failures(http.StatusNotFound, "resource-failure", []complaint{{"cursor-invalid", wq.cursor, "Cursor specified but it is invalid"}})
		}
		return c.walk(q, &wq, wq.cursor, sc)
	}
	return c.list(q, &wq)
}

// walk serves the next page of a cursor.
func (c *crossref) walk(q *request, wq *worksQuery, token string, sc *scroll) *reply {
	q.place = strconv.FormatUint(roll(seedOf(token)).state, 36) + ":" + strconv.Itoa(sc.pos)
	if wq.cursor == "*" {
		q.place = "open"
	}
	return c.page(q, wq, len(sc.ids), token, sc.page(wq.rows, q.fault))
}

// list serves requests without a cursor.
func (c *crossref) list(q *request, wq *worksQuery) *reply {
	if wq.rows == 0 && len(wq.tests) == 0 && wq.sample == 0 {
		return c.page(q, wq, len(c.people.between(wq.from, wq.to)), "", nil)
	}
	ids := c.search(wq)
	total := len(ids)
	switch {
	case wq.sample > 0:
		ids = shuffled(ids, roll(c.works.seed, 7, uint64(q.number)))
		ids = ids[:min(len(ids), wq.sample)]
		return c.page(q, wq, total, "", ids)
	case wq.sort == "" || wq.sort == "relevance" || wq.sort == "score":
		c.calls++
		ids = shuffled(ids, roll(c.works.seed, 8, c.calls))
	default:
		c.order(ids, wq)
	}
	from := min(wq.offset, len(ids))
	return c.page(q, wq, total, "", ids[from:min(from+wq.rows, len(ids))])
}

// search returns what matches, in index order.
func (c *crossref) search(wq *worksQuery) []uint32 {
	keys := c.people.between(wq.from, wq.to)
	ids := make([]uint32, 0, len(keys))
next:
	for _, key := range keys {
		i := uint32(key)
		for _, test := range wq.tests {
			if !test(i, &c.people.records[i]) {
				continue next
			}
		}
		ids = append(ids, i)
	}
	return ids
}

func (c *crossref) order(ids []uint32, wq *worksQuery) {
	value := func(i uint32) int64 {
		r := &c.people.records[i]
		switch wq.sort {
		case "indexed":
			return int64(r.updated)
		case "updated", "deposited":
			return int64(r.deposited)
		case "created":
			return int64(r.created)
		case "references-count":
			return int64(c.works.facts(i, r).refs)
		case "is-referenced-by-count":
			return int64(r.number)
		}
		return issuedAt(c.works, i, r)
	}
	slices.SortFunc(ids, func(a, b uint32) int {
		n := cmp.Or(cmp.Compare(value(a), value(b)), cmp.Compare(a, b))
		if wq.desc {
			return -n
		}
		return n
	})
}

// page writes the envelope around some works.
func (c *crossref) page(q *request, wq *worksQuery, total int, token string, ids []uint32) *reply {
	rows := c.people.rows(ids)
	if q.fault == TotalWrong {
		total += 3 + total/50
	}
	head := []byte(`{"status":"ok","message-type":"work-list","message-version":"1.0.0","message":{"facets":{},`)
	if token != "" && !q.fault.dropsToken() {
		head = append(head, `"next-cursor":"`...)
		head = append(head, strings.ReplaceAll(token, "/", `\/`)...)
		head = append(head, `",`...)
	}
	if q.fault != TotalDropped {
		head = append(head, `"total-results":`...)
		head = appendInt(head, total)
		head = append(head, ',')
	}
	head = append(head, `"items":[`...)
	terms := "null"
	if wq.terms != "" {
		b, _ := json.Marshal(wq.terms)
		terms = string(b)
	}
	return &reply{
		status: http.StatusOK, kind: jsonType, head: head, rows: rows, between: ",", records: len(rows),
		write: func(b []byte, r *row) []byte {
			if len(wq.selected) > 0 {
				return selectFields(b, c.works.append(nil, r.index, &r.record), wq.selected)
			}
			return c.works.append(b, r.index, &r.record)
		},
		tail: `],"items-per-page":` + strconv.Itoa(wq.rows) + `,"query":{"start-index":` + strconv.Itoa(wq.offset) + `,"search-terms":` + terms + `}}}`,
	}
}

// single serves /works/{doi}.
func (c *crossref) single(q *request) *reply {
	doi := strings.TrimPrefix(strings.TrimPrefix(q.path, "/v1"), "/works/")
	i, ok := c.works.find(doi)
	if !ok || int(i) >= len(c.people.records) || !c.people.records[i].shown() {
		return &reply{status: http.StatusNotFound, kind: "text/plain", head: []byte("Resource not found.")}
	}
	return &reply{
		status: http.StatusOK, kind: jsonType, rows: c.people.rows([]uint32{i}), records: 1,
		head: []byte(`{"status":"ok","message-type":"work","message-version":"1.0.0","message":`), tail: "}",
		write: func(b []byte, r *row) []byte { return c.works.append(b, r.index, &r.record) },
	}
}

// failures lists what is wrong with a request.
func failures(status int, kind string, wrong []complaint) *reply {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.Encode(wrong)
	return &reply{status: status, kind: jsonType + ";charset=utf-8", head: []byte(`{"status":"failed","message-type":"` + kind + `","message":` + strings.TrimSpace(b.String()) + "}")}
}

// selectFields keeps some of an item's fields, in the order of the item.
func selectFields(b, item []byte, names []string) []byte {
	d := json.NewDecoder(bytes.NewReader(item))
	d.Token()
	b = append(b, '{')
	first := true
	for d.More() {
		name, err := d.Token()
		if err != nil {
			break
		}
		var value json.RawMessage
		if d.Decode(&value) != nil {
			break
		}
		if key := name.(string); slices.Contains(names, key) {
			if !first {
				b = append(b, ',')
			}
			first = false
			b = append(b, '"')
			b = append(b, key...)
			b = append(b, `":`...)
			b = append(b, value...)
		}
	}
	return append(b, '}')
}
