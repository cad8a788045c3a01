package sim

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// generic is a source nobody runs: plain JSON items under every paging style, the
// same records as OAI-PMH, and the ways to log in. How it behaves says a
// [GenericStyle].
//
//	GET, POST /items?from=T&to=T&size=N&style=S...  a page; bucket=B&buckets=N: of these ids only
//	GET /items?style=keyset&from=T&after_id=ID&to=T&size=N  a page of what comes after (from, after_id)
//	GET /items?filter=id&first=N&last=N&size=N...   a page by number; only=head: the greatest number
//	GET /items/{from}/{to}/{offset}                 a page as bioRxiv gives it
//	GET /items/{id}                                 one item or 404
//	GET, POST /batch?ids=a,b,c                      details; unknown ids are left out
//	GET /history?from=T&to=T&offset=N&size=N        what happened: add, update, delete
//	GET, POST /oai?verb=...                         OAI-PMH 2.0
//	POST /oauth/token, POST /login                  tokens
type generic struct {
	people *population
	sim    *Sim
	walks  *scrolls
	style  atomic.Pointer[GenericStyle]
	calls  uint64
	tokens tokens               // access tokens given out
	issued map[string]time.Time // resumption tokens by their last issue
	// numbers are by what a list can be asked for in the style filter=id.
	numbers sequences
}

func newGeneric(s *Sim, p *population) *generic {
	g := &generic{people: p, sim: s, walks: newScrolls(p.seed, s.cfg.CursorLife, 48), tokens: tokens{}, issued: map[string]time.Time{}}
	style := s.cfg.Generic
	g.style.Store(&style)
	return g
}

// shape is how a style writes this source's items.
func (g *generic) shape(st GenericStyle) shape { return shape{seed: g.people.seed, style: st} }

func (g *generic) updatedAt(v version) time.Time { return g.shape(*g.style.Load()).updatedAt(v) }

func (g *generic) appendID(b []byte, i uint32) []byte { return g.shape(*g.style.Load()).appendID(b, i) }
func (g *generic) find(id string) (uint32, bool)      { return shape{}.find(id) }
func (g *generic) append(b []byte, i uint32, r *record) []byte {
	return g.shape(*g.style.Load()).append(b, i, r)
}

func (g *generic) route(q *request) string {
	switch q.path {
	case "/items", "/batch", "/history", "/oai", "/oauth/token", "/login":
		return q.path
	}
	if rest, ok := strings.CutPrefix(q.path, "/items/"); ok {
		switch strings.Count(rest, "/") {
		case 0:
			return "/items/{id}"
		case 2:
			return "/items/{from}/{to}/{offset}"
		}
	}
	return ""
}

func (g *generic) allowance(q *request) allowance {
	return allowance{key: q.caller, requests: 10, window: time.Second}
}

func (g *generic) limits(q *request, rep *reply, a allowance, v verdict) {
	if a.requests == 0 {
		return
	}
	rep.set("X-RateLimit-Limit", strconv.Itoa(a.requests))
	rep.set("X-RateLimit-Remaining", strconv.Itoa(max(v.left, 0)))
	st, _ := g.manners(q)
	free := q.at.Add(v.reset)
	switch st.Reset {
	case "seconds":
		rep.set("X-RateLimit-Reset", strconv.Itoa(int((v.reset+time.Second-1)/time.Second)))
	case "epoch":
		rep.set("X-RateLimit-Reset", strconv.FormatInt(free.Add(time.Second-1).Unix(), 10))
	case "epoch-ms":
		rep.set("X-RateLimit-Reset", strconv.FormatInt(free.Add(time.Millisecond-1).UnixMilli(), 10))
	}
}

func (g *generic) tooMany(q *request, a allowance, v verdict) *reply {
	rep := problem(http.StatusTooManyRequests, "too many requests")
	if st, _ := g.manners(q); st.Reset != "none" {
		v.left = 0
		g.limits(q, rep, a, v)
	}
	return rep
}

func (g *generic) failure(q *request, _ Fault) *reply {
	st, _ := g.manners(q)
	rep := problem(http.StatusOK, "backend unavailable")
	switch {
	case q.route == "/oai":
		return g.oaiError(q, "InternalException", "backend unavailable")
	case st.Failure == "text":
		rep.kind, rep.head = "text/plain", []byte("Error : (2002) Connection refused")
	case st.Failure == "item":
		rep.head = []byte(`{"items":[{"error":"backend unavailable"}]}`)
	case st.Failure == "status":
		rep.head = []byte(`{"messages":[{"status":"error: backend unavailable"}],"collection":[]}`)
	}
	return rep
}

// manners are the style of one request.
func (g *generic) manners(q *request) (GenericStyle, error) {
	st, err := g.style.Load().with(q.form)
	if q.route == "/items/{from}/{to}/{offset}" {
		st.Paging = "offset"
		st.Envelope = "messages"
		st.Sizes = "varying"
		st.Bounds = "closed"
		st.Body = "none"
	}
	switch st.Paging {
	case "token-repeat-end":
		st.Paging, st.End = "token", "repeat"
	case "time", "scroll", "token-constant", "hasmore", "keyset":
		st.End = "null"
	}
	return st, err
}

// keyed says whether pages follow each other by tokens that hold their own place.
func (g GenericStyle) keyed() bool {
	return slices.Contains([]string{"token", "url", "link", "links", "empty-with-token"}, g.Paging)
}

func (g *generic) suits(q *request, f Fault) bool {
	st, err := g.manners(q)
	if err != nil || g.refusal(q, st) != nil {
		return false
	}
	isList := q.route == "/items" || q.route == "/items/{from}/{to}/{offset}"
	switch f {
	case DetailMissing, DetailExtra, DetailBadItem:
		return q.route == "/batch" && len(g.people.rows(g.batchIDs(q))) > 0
	case TotalWrong, TotalDropped:
		return (isList || q.route == "/oai") && st.Total != "absent" && st.Total != "wrong"
	case TokenDropped, TokenDroppedShort:
		return g.dropsFrom(q, st, f)
	case CursorExpired, ShortPage, EmptyMiddlePage, RepeatedPage:
		switch {
		case q.route == "/items" && st.Paging == "keyset":
			return f == ShortPage
		case q.route == "/oai":
			return q.get("resumptionToken") != "" && f != RepeatedPage
		case q.route != "/items":
			return false
		case st.Paging == "token-constant", st.Paging == "scroll":
			sc := g.walks.open[g.handle(q, st)]
			return sc != nil && (f == CursorExpired || sc.suits(f, g.size(q, st)))
		case st.keyed():
			return q.token() != "" && f != RepeatedPage
		}
	}
	return false
}

// dropsFrom says whether a page has a token or link to lose, as far as can be
// told before it is made: by the last page of a walk by marks it is not missed.
func (g *generic) dropsFrom(q *request, st GenericStyle, f Fault) bool {
	switch {
	case q.route == "/oai":
		return true
	case q.route != "/items":
		return false
	case st.Paging == "token-constant", st.Paging == "scroll":
		sc := g.walks.open[g.handle(q, st)]
		return sc == nil || sc.suits(f, g.size(q, st))
	}
	return st.keyed()
}

func (g *generic) size(q *request, st GenericStyle) int {
	if q.route == "/items/{from}/{to}/{offset}" {
		return min(30, st.Most) // the client has no say
	}
	return max(1, min(number(q, "size", number(q, "limit", 20)), st.Most))
}

func (g *generic) answer(q *request) *reply {
	switch q.route {
	case "/oauth/token":
		return g.grant(q)
	case "/login":
		return g.login(q)
	}
	st, err := g.manners(q)
	if err != nil {
		return refuse(err.Error())
	}
	if st.Redirect != "none" {
		return redirected(q, st)
	}
	if rep := g.admit(q, st); rep != nil {
		return rep
	}
	rep := g.serve(q, st)
	if rep.status == http.StatusOK && st.RetryAfter > 0 {
		rep.set("Retry-After", strconv.Itoa(st.RetryAfter))
	}
	rep.gzip = st.Encoding == "gzip"
	return rep
}

func (g *generic) serve(q *request, st GenericStyle) *reply {
	switch q.route {
	case "/items/{id}":
		return g.one(q, st)
	case "/batch":
		return g.batch(q, st)
	}
	if st.Plan == "free" {
		return problem(http.StatusTooManyRequests, "Plan upgrade required")
	}
	switch q.route {
	case "/oai":
		return g.oai(q, st)
	case "/history":
		return g.history(q, st)
	}
	if rep := misplaced(q, st); rep != nil {
		return rep
	}
	if st.Filter == "id" {
		return g.listByNumber(q, st)
	}
	from, to, err := window(q, st)
	if err != nil {
		return refuse(err.Error())
	}
	if st.Paging == "keyset" {
		return g.afterKey(q, st, from, to)
	}
	ids, err := bucketed(q, g.search(st, from, to))
	if err != nil {
		return refuse(err.Error())
	}
	return g.list(q, st, ids)
}

// listByNumber serves a page of a source that is asked for numbers.
func (g *generic) listByNumber(q *request, st GenericStyle) *reply {
	if q.get("only") == "head" {
		return g.head()
	}
	ids, err := g.byNumber(q, st)
	if err != nil {
		return refuse(err.Error())
	}
	return g.list(q, st, ids)
}

// list serves a page of what was found.
func (g *generic) list(q *request, st GenericStyle, ids []uint32) *reply {
	total, size := len(ids), g.size(q, st)
	switch {
	case q.route == "/items/{from}/{to}/{offset}":
		offset, err := strconv.Atoi(q.path[strings.LastIndexByte(q.path, '/')+1:])
		if err != nil || offset < 0 {
			return refuse("offset must be a number")
		}
		return g.placed(q, st, ids, offset, size)
	case st.Paging == "page":
		page := number(q, "page", st.Base) - st.Base
		if page < 0 {
			return refuse("page must be " + strconv.Itoa(st.Base) + " or more")
		}
		st.Sizes = "steady" // or a page number would mean nothing
		return g.placed(q, st, ids, page*size, size, `"page":`+strconv.Itoa(page+st.Base))
	case st.Paging == "time":
		whole := total <= st.Most
		fields := []string{`"complete":` + strconv.FormatBool(whole), `"has_more":` + strconv.FormatBool(!whole)}
		return g.sheet(q, st, sheet{ids: cut(ids, 0, st.Most), total: total, first: true, fields: fields})
	case st.Paging == "token-constant", st.Paging == "scroll":
		return g.walk(q, st, ids, size)
	case st.keyed():
		return g.keyed(q, st, ids, size)
	}
	offset := number(q, "offset", 0)
	if st.Paging == "hasmore" {
		return g.placed(q, st, ids, offset, size)
	}
	return g.placed(q, st, ids, offset, size, `"offset":`+strconv.Itoa(offset))
}

// placed serves the page at a position the client has counted.
func (g *generic) placed(q *request, st GenericStyle, ids []uint32, pos, size int, fields ...string) *reply {
	if st.End == "circle" {
		pos %= 3 * size
	}
	if rep := outOfReach(st, pos, len(ids)); rep != nil {
		return rep
	}
	reach := st.reach(len(ids))
	part := cut(ids[:reach], pos, varied(st, pos, size))
	if st.Beyond == "refuse" {
		reach = len(ids)
	}
	if st.Paging == "hasmore" || st.End == "flag" {
		fields = append(fields, `"has_more":`+strconv.FormatBool(pos+len(part) < reach))
	}
	return g.sheet(q, st, sheet{ids: part, total: len(ids), first: pos == 0, pos: pos, fields: fields})
}

// outOfReach refuses what lies beyond the depth limit, or beyond the end where
// the client has been told of it.
func outOfReach(st GenericStyle, pos, total int) *reply {
	if st.Depth > 0 && st.Beyond == "refuse" && pos >= st.Depth {
		return refuse("only the first " + strconv.Itoa(st.Depth) + " records can be paged")
	}
	if (st.End == "total" || st.End == "flag") && pos > 0 && pos >= total {
		return refuse("past the end")
	}
	return nil
}

// varied is the size of the page at a position: one, three quarters or half of it.
func varied(st GenericStyle, pos, size int) int {
	if st.Sizes == "varying" {
		size = max(1, size-size/4*int(mix(uint64(pos))%3))
	}
	return size
}

func cut(ids []uint32, from, n int) []uint32 {
	from = min(max(from, 0), len(ids))
	return ids[from:min(from+n, len(ids))]
}

func (g *generic) one(q *request, st GenericStyle) *reply {
	i, ok := g.find(strings.TrimPrefix(q.path, "/items/"))
	if !ok || int(i) >= len(g.people.records) || !listed(&g.people.records[i], st) {
		return problem(http.StatusNotFound, "not found")
	}
	return &reply{status: http.StatusOK, kind: jsonType, rows: g.rows(st, []uint32{i}), records: 1, write: g.shape(st).row}
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

func (g *generic) batch(q *request, st GenericStyle) *reply {
	rows := spoilRows(q, g.sim.injector, g.people, g.appendID, g.rows(st, g.batchIDs(q)))
	return &reply{
		status: http.StatusOK, kind: jsonType, head: []byte(`{"items":[`), rows: rows, between: ",", records: len(rows), tail: "]}",
		write: g.shape(st).row,
	}
}

// redirected sends the client to the target, with its own query.
func redirected(q *request, st GenericStyle) *reply {
	params := q.http.URL.Query()
	params.Del("target")
	params.Set("redirect", "none")
	target := st.Target
	if target == "" {
		target = q.http.URL.EscapedPath()
	}
	status, _ := strconv.Atoi(st.Redirect)
	rep := problem(status, "moved")
	rep.set("Location", target+"?"+params.Encode())
	return rep
}

func problem(status int, message string) *reply {
	return &reply{status: status, kind: jsonType, head: []byte(`{"error":` + quoted(message) + `}`)}
}

func refuse(message string) *reply { return problem(http.StatusBadRequest, message) }
