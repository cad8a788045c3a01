package sim

import (
	"cmp"
	"encoding/base64"
	"maps"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// mark is what a token says: where the last page ended. In an ordered list the
// place after (at, id) is found anew, so that a walk survives changes; without an
// order positions are counted.
type mark struct {
	at   int64
	id   uint32
	pos  int
	page int // pages served before
}

func (m mark) String() string {
	text := strconv.FormatInt(m.at, 10) + "|" + strconv.Itoa(int(m.id)) + "|" + strconv.Itoa(m.pos) + "|" + strconv.Itoa(m.page)
	return base64.StdEncoding.EncodeToString([]byte(text))
}

func parseMark(token string) (m mark, ok bool) {
	if token == "" {
		return mark{}, true
	}
	raw, err := base64.StdEncoding.DecodeString(token)
	parts := strings.Split(string(raw), "|")
	if err != nil || len(parts) != 4 {
		return mark{}, false
	}
	m.at, err = strconv.ParseInt(parts[0], 10, 64)
	id, err1 := strconv.ParseUint(parts[1], 10, 32)
	pos, err2 := strconv.Atoi(parts[2])
	page, err3 := strconv.Atoi(parts[3])
	m.id = uint32(id)
	m.pos = pos
	m.page = page
	return m, cmp.Or(err, err1, err2, err3) == nil && pos >= 0 && page >= 0
}

// finalMark lies behind all there is.
func finalMark(st GenericStyle, end, page int) mark {
	m := mark{at: math.MaxInt64, pos: max(end, 1), page: page}
	if st.Order != "asc" && st.Order != "none" {
		m.at = -1
	}
	return m
}

// turn is a page of a walk by marks.
type turn struct {
	part []uint32
	pos  int
	next *mark // nil: the walk is over
}

// turn takes the page after a mark; fresh says that the walk begins here.
func (g *generic) turn(st GenericStyle, ids []uint32, size int, m mark, fresh bool, f Fault) turn {
	pos := m.pos
	if st.Order != "none" && pos > 0 {
		for pos = 0; pos < len(ids) && g.compare(st, ids[pos], m.at, m.id) <= 0; {
			pos++
		}
	}
	pos = min(pos, len(ids))
	reach := st.reach(len(ids))
	want := max(0, min(varied(st, pos, size), reach-pos))
	if st.Beyond == "refuse" {
		reach = len(ids) // the next mark leads to the refusal
	}
	if f.shortens() && want > 1 {
		want -= max(1, want/4)
	}
	hollow := st.Paging == "empty-with-token" && m.page == 1 || st.End == "stall" && m.page > 0
	if f == EmptyMiddlePage || hollow {
		want = 0
	}
	end := pos + want
	t := turn{part: ids[pos:end], pos: pos}
	following := mark{at: m.at, id: m.id, pos: m.pos, page: m.page + 1} // an empty page moves on to the same place
	if want > 0 {
		following = mark{g.moment(ids[end-1]), ids[end-1], end, m.page + 1}
	}
	switch {
	case st.End == "stuck":
		t.part, t.next = cut(ids, 0, size), &mark{page: 1}
	case end < reach, st.End == "stall", st.Paging == "empty-with-token" && m.page == 0 && len(ids) > 0:
		t.next = &following
	case st.End == "repeat" && !fresh && want == 0:
		t.next = &m
	case st.End == "repeat":
		t.next = new(finalMark(st, end, 9))
	case st.End == "empty-page", st.End == "total", st.End == "flag":
		t.next = new(finalMark(st, end, m.page+1))
	}
	return t
}

// token is the place a client asks for in a walk by marks.
func (q *request) token() string { return cmp.Or(q.get("token"), q.get("page[cursor]")) }

// keyed serves a page of a walk by marks.
func (g *generic) keyed(q *request, st GenericStyle, ids []uint32, size int) *reply {
	token := q.token()
	m, ok := parseMark(token)
	if !ok || q.fault == CursorExpired {
		return expired(st)
	}
	t := g.turn(st, ids, size, m, token == "", q.fault)
	if rep := outOfReach(st, t.pos, len(ids)); rep != nil {
		return rep
	}
	next := ""
	if t.next != nil && !q.fault.dropsToken() {
		next = t.next.String()
	}
	p := sheet{ids: t.part, total: len(ids), first: token == "", pos: t.pos}
	switch st.Paging {
	case "link":
		p.links = g.linkHeader(q, st, next)
	case "links":
		p.fields = append(p.fields, g.linkArray(q, st, next))
	case "url":
		if q.fault.dropsToken() {
			break
		}
		if next != "" {
			next = g.href(q, st, next)
		}
		p.fields = append(p.fields, endField(st, "next", next)...)
	default:
		if !q.fault.dropsToken() {
			p.fields = append(p.fields, endField(st, "next_token", next)...)
		}
	}
	if st.End == "flag" {
		p.fields = append(p.fields, `"has_more":`+strconv.FormatBool(t.pos+len(t.part) < len(ids)))
	}
	return g.sheet(q, st, p)
}

// endField tells the next place, or that there is none.
func endField(st GenericStyle, name, value string) []string {
	switch {
	case value != "" || st.End == "empty":
		return []string{quoted(name) + ":" + quoted(value)}
	case st.End == "absent":
		return nil
	}
	return []string{quoted(name) + ":null"}
}

// walk serves a position kept by the server.
func (g *generic) walk(q *request, st GenericStyle, ids []uint32, size int) *reply {
	token := g.handle(q, st)
	fresh := token == ""
	var sc *scroll
	if fresh {
		token, sc = g.walks.start(ids)
		q.place = "open"
	} else {
		if q.fault == CursorExpired {
			delete(g.walks.open, token)
		}
		sc = g.walks.find(token)
		if sc == nil {
			return expired(st)
		}
		q.place = strconv.Itoa(sc.pos)
	}
	name := `"next_token":`
	if st.Paging == "scroll" {
		name = `"scroll_id":`
	}
	pos := sc.pos
	part := sc.page(varied(st, pos, size), q.fault)
	p := sheet{ids: part, total: len(sc.ids), first: fresh, pos: pos}
	if !q.fault.dropsToken() {
		p.fields = []string{name + quoted(token)}
	}
	return g.sheet(q, st, p)
}

// handle is the name of a walk whose position the server keeps.
func (g *generic) handle(q *request, st GenericStyle) string {
	if st.Paging == "scroll" {
		return q.get("scroll_id")
	}
	return q.get("token")
}

// href is the address of the page at a token, of the first page without one.
func (g *generic) href(q *request, st GenericStyle, token string) string {
	params := url.Values{}
	maps.Copy(params, q.form)
	params.Del("token")
	params.Del("page[cursor]")
	u := &url.URL{Path: q.http.URL.Path}
	switch st.Href {
	case "foreign":
		u = &url.URL{Scheme: "https", Host: "feed.invalid", Path: "/v2/items"}
		params = url.Values{"page[size]": {strconv.Itoa(g.size(q, st))}}
		if token != "" {
			params.Set("page[cursor]", token)
		}
		token = ""
	case "query":
		u.Path = ""
	case "absolute":
		u.Scheme, u.Host = "http", q.http.Host
		if q.http.TLS != nil {
			u.Scheme = "https"
		}
	}
	if token != "" {
		params.Set("token", token)
	}
	u.RawQuery = params.Encode()
	return u.String()
}

// relations are the links of a page; next is the last one, if there is one.
func (g *generic) relations(q *request, st GenericStyle, next string) (rels, hrefs []string) {
	rels, hrefs = []string{"self", "first"}, []string{g.href(q, st, q.token()), g.href(q, st, "")}
	if q.token() != "" {
		rels, hrefs = append(rels, "prev"), append(hrefs, g.href(q, st, ""))
	}
	if next != "" {
		rels, hrefs = append(rels, "next"), append(hrefs, g.href(q, st, next))
	}
	return rels, hrefs
}

func (g *generic) linkHeader(q *request, st GenericStyle, next string) string {
	rels, hrefs := g.relations(q, st, next)
	var links []string
	for k, rel := range rels {
		links = append(links, "<"+hrefs[k]+`>; rel="`+rel+`"`)
	}
	return strings.Join(links, ", ")
}

func (g *generic) linkArray(q *request, st GenericStyle, next string) string {
	rels, hrefs := g.relations(q, st, next)
	var links []string
	for k, rel := range rels {
		links = append(links, `{"rel":`+quoted(rel)+`,"href":`+quoted(hrefs[k])+"}")
	}
	return `"links":[` + strings.Join(links, ",") + "]"
}

func expired(st GenericStyle) *reply {
	status, err := strconv.Atoi(st.Expired)
	if err != nil {
		status = http.StatusGone
	}
	return problem(status, "token expired")
}
