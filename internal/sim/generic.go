package sim

import (
	"cmp"
	"encoding/base64"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// generic is a source nobody runs: plain JSON items under every paging style.
//
//	GET /items?from=T&to=T&size=N&style=S...   a page
//	GET /items/{id}                            one item or 404
//	GET, POST /batch?ids=a,b,c                 details; unknown ids are left out
type generic struct {
	seed   uint64
	people *population
	sim    *Sim
	walks  *scrolls
	style  atomic.Pointer[GenericStyle]
	calls  uint64
}

func newGeneric(s *Sim, p *population) *generic {
	g := &generic{seed: p.seed, people: p, sim: s, walks: newScrolls(p.seed, s.cfg.CursorLife, 48)}
	style := s.cfg.Generic
	g.style.Store(&style)
	return g
}

func (g *generic) updatedAt(v version) time.Time {
	return time.Unix(int64(v.updated), int64(v.micro)*1000).UTC()
}

func (g *generic) appendID(b []byte, i uint32) []byte {
	return appendPadded(append(b, "g-"...), int(i), 8)
}

func (g *generic) find(id string) (uint32, bool) {
	digits, ok := strings.CutPrefix(id, "g-")
	n, err := strconv.Atoi(digits)
	if !ok || err != nil || len(digits) != 8 || n < 0 {
		return 0, false
	}
	return uint32(n), true
}

// append writes an item. Only `updated`, `v` and `reads` move when nothing but
// the volatile parts change.
func (g *generic) append(b []byte, i uint32, r *record) []byte {
	return g.write(b, i, r, true)
}

func (g *generic) write(b []byte, i uint32, r *record, named bool) []byte {
	d := roll(g.seed, 30, uint64(i))
	b = append(b, '{')
	if named {
		b = append(b, `"id":"`...)
		b = g.appendID(b, i)
		b = append(b, `",`...)
	}
	if !g.style.Load().Undated {
		b = append(b, `"updated":"`...)
		b = appendInstant(b, r.updated, r.micro)
		b = append(b, `",`...)
	}
	b = append(b, `"v":`...)
	b = appendInt(b, int(r.number))
	b = append(b, `,"title":"`...)
	b = appendHeadline(b, &d)
	if r.content > 0 {
		b = append(b, ", edition "...)
		b = appendInt(b, int(r.content)+1)
	}
	b = append(b, `","author":"`...)
	b = append(b, families[d.n(len(families))].plain...)
	b = append(b, `","text":"`...)
	b = appendSentences(b, &d, 2)
	b = append(b, `","reads":`...)
	b = appendInt(b, d.n(1000)+int(r.number))
	if r.retracted {
		b = append(b, `,"retracted_by":"`...)
		b = g.appendID(b, r.partner-1)
		b = append(b, '"')
	}
	if r.notice {
		b = append(b, `,"retracts":"`...)
		b = g.appendID(b, r.partner-1)
		b = append(b, '"')
	}
	return append(b, '}')
}

func (g *generic) route(q *request) string {
	switch {
	case q.path == "/items" || q.path == "/batch":
		return q.path
	case strings.HasPrefix(q.path, "/items/"):
		return "/items/{id}"
	}
	return ""
}

func (g *generic) allowance(q *request) allowance {
	return allowance{key: q.caller, requests: 10, window: time.Second}
}

func (g *generic) limits(rep *reply, a allowance, v verdict) {
	if a.requests > 0 {
		rep.set("X-RateLimit-Limit", strconv.Itoa(a.requests))
		rep.set("X-RateLimit-Remaining", strconv.Itoa(max(v.left, 0)))
	}
}

func (g *generic) tooMany(*request, allowance, verdict) *reply {
	return &reply{status: http.StatusTooManyRequests, kind: jsonType, head: []byte(`{"error":"too many requests"}`)}
}

func (g *generic) failure(*request, Fault) *reply {
	return &reply{status: http.StatusOK, kind: jsonType, head: []byte(`{"error":"backend unavailable"}`)}
}

// manners are the style of one request.
func (g *generic) manners(q *request) (GenericStyle, error) {
	st := *g.style.Load()
	for name, field := range map[string]*string{"style": &st.Paging, "bounds": &st.Bounds, "order": &st.Order, "total": &st.Total} {
		if v := q.get(name); v != "" {
			*field = v
		}
	}
	st.Base = number(q, "base", st.Base)
	return st, st.validate()
}

func (g *generic) suits(q *request, f Fault) bool {
	st, err := g.manners(q)
	if err != nil {
		return false
	}
	switch f {
	case DetailMissing, DetailExtra, DetailBadItem:
		return q.route == "/batch" && len(g.people.rows(g.batchIDs(q))) > 0
	case TotalWrong:
		return q.route == "/items" && st.Total == "exact"
	case CursorExpired, ShortPage, EmptyMiddlePage, RepeatedPage:
		if q.route != "/items" {
			return false
		}
		switch st.Paging {
		case "token-constant", "scroll":
			sc := g.walks.open[g.handle(q, st)]
			return sc != nil && (f == CursorExpired || sc.suits(f, g.size(q, st)))
		case "token", "token-repeat-end", "url", "empty-with-token":
			return q.get("token") != "" && f != RepeatedPage
		}
	}
	return false
}

func (g *generic) size(q *request, st GenericStyle) int {
	size := number(q, "size", number(q, "limit", 20))
	return max(1, min(size, st.Most))
}

func (g *generic) handle(q *request, st GenericStyle) string {
	if st.Paging == "scroll" {
		return q.get("scroll_id")
	}
	return q.get("token")
}

func (g *generic) answer(q *request) *reply {
	switch q.route {
	case "/items/{id}":
		return g.one(q)
	case "/batch":
		return g.batch(q)
	}
	st, err := g.manners(q)
	if err != nil {
		return refuse(err.Error())
	}
	ids, err := g.search(q, st)
	if err != nil {
		return refuse(err.Error())
	}
	total, size := len(ids), g.size(q, st)
	switch st.Paging {
	case "page":
		page := number(q, "page", st.Base) - st.Base
		return g.page(q, st, cut(ids, page*size, size), total, `"page":`+strconv.Itoa(page+st.Base))
	case "hasmore":
		offset := number(q, "offset", 0)
		return g.page(q, st, cut(ids, offset, size), total, `"has_more":`+strconv.FormatBool(offset+size < total))
	case "time":
		return g.page(q, st, cut(ids, 0, st.Most), total, `"complete":`+strconv.FormatBool(total <= st.Most))
	case "token-constant", "scroll":
		return g.walk(q, st, ids, size)
	case "token", "token-repeat-end", "url", "empty-with-token":
		return g.keyed(q, st, ids, size)
	}
	offset := number(q, "offset", 0)
	return g.page(q, st, cut(ids, offset, size), total, `"offset":`+strconv.Itoa(offset))
}

// search returns the ids between from and to in the order asked for.
func (g *generic) search(q *request, st GenericStyle) ([]uint32, error) {
	from, to := int64(0), int64(1)<<62
	for name, bound := range map[string]*int64{"from": &from, "to": &to} {
		if v := q.get(name); v != "" {
			t, err := time.Parse(time.RFC3339Nano, v)
			if err != nil {
				return nil, err
			}
			*bound = t.UnixMicro()
		}
	}
	var ids []uint32
	for i := range g.people.records {
		r := &g.people.records[i]
		if at := moment(r); r.shown() && at >= from && (at < to || at == to && st.Bounds == "closed") {
			ids = append(ids, uint32(i))
		}
	}
	if st.Order == "none" {
		g.calls++
		return shuffled(ids, roll(g.seed, 31, g.calls)), nil
	}
	slices.SortFunc(ids, func(a, b uint32) int {
		n := cmp.Or(cmp.Compare(moment(&g.people.records[a]), moment(&g.people.records[b])), cmp.Compare(a, b))
		if st.Order == "desc" {
			return -n
		}
		return n
	})
	return ids, nil
}

// moment is a record's update in microseconds.
func moment(r *record) int64 { return int64(r.updated)*1_000_000 + int64(r.micro) }

func cut(ids []uint32, from, n int) []uint32 {
	from = min(max(from, 0), len(ids))
	return ids[from:min(from+n, len(ids))]
}

// keyed serves tokens that say where the last page ended. With an order they
// survive changes in between; without one they count positions.
func (g *generic) keyed(q *request, st GenericStyle, ids []uint32, size int) *reply {
	if q.fault == CursorExpired {
		return expired()
	}
	pos, pageNo := 0, 0
	if token := q.get("token"); token != "" {
		raw, err := base64.StdEncoding.DecodeString(token)
		parts := strings.Split(string(raw), "|")
		if err != nil || len(parts) != 4 {
			return expired()
		}
		at, _ := strconv.ParseInt(parts[0], 10, 64)
		last, _ := strconv.ParseUint(parts[1], 10, 32)
		pos, _ = strconv.Atoi(parts[2])
		pageNo, _ = strconv.Atoi(parts[3])
		if st.Order != "none" && pos > 0 {
			pos = len(ids)
			for k, i := range ids {
				n := cmp.Or(cmp.Compare(moment(&g.people.records[i]), at), cmp.Compare(i, uint32(last)))
				if st.Order == "desc" {
					n = -n
				}
				if n > 0 {
					pos = k
					break
				}
			}
		}
	}
	pos = min(pos, len(ids))
	left := len(ids) - pos
	want := min(size, left)
	if q.fault == ShortPage && want > 1 {
		want -= max(1, want/4)
	}
	if q.fault == EmptyMiddlePage && left > 0 || st.Paging == "empty-with-token" && pageNo == 1 {
		want = 0
	}
	end := pos + want
	next := "null"
	if end < len(ids) || st.Paging == "empty-with-token" && pageNo == 0 && len(ids) > 0 {
		token := q.get("token")
		switch {
		case want > 0:
			last := ids[end-1]
			token = strconv.FormatInt(moment(&g.people.records[last]), 10) + "|" + strconv.Itoa(int(last)) + "|" + strconv.Itoa(end) + "|" + strconv.Itoa(pageNo+1)
			token = base64.StdEncoding.EncodeToString([]byte(token))
		case token != "": // an empty page moves on to the same place
			raw, _ := base64.StdEncoding.DecodeString(token)
			parts := strings.Split(string(raw), "|")
			parts[3] = strconv.Itoa(pageNo + 1)
			token = base64.StdEncoding.EncodeToString([]byte(strings.Join(parts, "|")))
		}
		next = quoted(token)
	} else if st.Paging == "token-repeat-end" { // the last token comes back
		token := q.get("token")
		if token == "" || want > 0 {
			token = base64.StdEncoding.EncodeToString([]byte("9223372036854775807|0|" + strconv.Itoa(max(end, 1)) + "|9"))
			if st.Order == "desc" {
				token = base64.StdEncoding.EncodeToString([]byte("-1|0|" + strconv.Itoa(max(end, 1)) + "|9"))
			}
		}
		next = quoted(token)
	}
	name := `"next_token":`
	if st.Paging == "url" {
		name = `"next":`
		if next != "null" {
			next = quoted(g.link(q, strings.Trim(next, `"`)))
		}
	}
	return g.page(q, st, ids[pos:end], len(ids), name+next)
}

// link is the absolute address of the next page.
func (g *generic) link(q *request, token string) string {
	params := url.Values{}
	maps.Copy(params, q.form)
	params.Set("token", token)
	scheme := "http"
	if q.http.TLS != nil {
		scheme = "https"
	}
	return (&url.URL{Scheme: scheme, Host: q.http.Host, Path: q.http.URL.Path, RawQuery: params.Encode()}).String()
}

// walk serves a position kept by the server.
func (g *generic) walk(q *request, st GenericStyle, ids []uint32, size int) *reply {
	token := g.handle(q, st)
	var sc *scroll
	if token == "" {
		token, sc = g.walks.start(ids)
		q.place = "open"
	} else {
		if q.fault == CursorExpired {
			delete(g.walks.open, token)
		}
		if sc = g.walks.find(token); sc == nil {
			return expired()
		}
		q.place = strconv.Itoa(sc.pos)
	}
	name := `"next_token":`
	if st.Paging == "scroll" {
		name = `"scroll_id":`
	}
	return g.page(q, st, sc.page(size, q.fault), len(sc.ids), name+quoted(token))
}

func (g *generic) page(q *request, st GenericStyle, ids []uint32, total int, extra string) *reply {
	rows := g.people.rows(ids)
	tail := "]"
	if st.Total == "wrong" || q.fault == TotalWrong {
		total += 3 + total/50
	}
	if st.Total != "absent" {
		tail += `,"total":` + strconv.Itoa(total)
	}
	return &reply{
		status: http.StatusOK, kind: jsonType, head: []byte(`{"items":[`), rows: rows, between: ",", records: len(rows),
		write: func(b []byte, r *row) []byte { return g.write(b, r.index, &r.record, !r.bad) },
		tail:  tail + "," + extra + "}",
	}
}

func (g *generic) one(q *request) *reply {
	i, ok := g.find(strings.TrimPrefix(q.path, "/items/"))
	if !ok || int(i) >= len(g.people.records) || !g.people.records[i].shown() {
		return &reply{status: http.StatusNotFound, kind: jsonType, head: []byte(`{"error":"not found"}`)}
	}
	return &reply{
		status: http.StatusOK, kind: jsonType, rows: g.people.rows([]uint32{i}), records: 1,
		write: func(b []byte, r *row) []byte { return g.write(b, r.index, &r.record, true) },
	}
}

func (g *generic) batchIDs(q *request) []uint32 {
	var ids []uint32
	for _, value := range q.form["ids"] {
		for id := range strings.SplitSeq(value, ",") {
			if i, ok := g.find(id); ok && int(i) < len(g.people.records) {
				ids = append(ids, i)
			}
		}
	}
	return ids
}

func (g *generic) batch(q *request) *reply {
	rows := spoilRows(q, g.sim.injector, g.people, g.appendID, g.people.rows(g.batchIDs(q)))
	return &reply{
		status: http.StatusOK, kind: jsonType, head: []byte(`{"items":[`), rows: rows, between: ",", records: len(rows), tail: "]}",
		write: func(b []byte, r *row) []byte { return g.write(b, r.index, &r.record, !r.bad) },
	}
}

func refuse(message string) *reply {
	return &reply{status: http.StatusBadRequest, kind: jsonType, head: []byte(`{"error":` + quoted(message) + `}`)}
}

func expired() *reply {
	return &reply{status: http.StatusGone, kind: jsonType, head: []byte(`{"error":"token expired"}`)}
}
