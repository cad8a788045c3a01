package sim

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

const xmlType = "text/xml; charset=UTF-8"

// pubmed simulates ESearch, EFetch, EPost and EInfo for db=pubmed.
type pubmed struct {
	articles
	people   *population
	sim      *Sim
	wall     int
	life     time.Duration
	sessions map[string]*session
	opened   uint64
	calls    uint64 // makes the order without a sort differ from call to call

	found   map[string]map[uint32]bool // hits by field and phrase
	foundAt int                        // people.moved they are good for
}

// session is a history: id lists frozen under a WebEnv.
type session struct {
	queries [][]uint32
	used    time.Time
}

func newPubMed(s *Sim, p *population) *pubmed {
	return &pubmed{
		articles: articles{p.seed}, people: p, sim: s, wall: s.cfg.PubMedWall, life: s.cfg.WebEnvLife, sessions: map[string]*session{},
	}
}

func (p *pubmed) appendID(b []byte, i uint32) []byte { return appendInt(b, p.articles.pmid(i)) }

func (p *pubmed) updatedAt(v version) time.Time { return time.Unix(int64(v.updated), 0).UTC() }

func (p *pubmed) route(q *request) string {
	path := strings.TrimPrefix(q.path, "/entrez/eutils")
	switch path {
	case "/esearch.fcgi", "/efetch.fcgi", "/epost.fcgi", "/einfo.fcgi":
		return path
	}
	return ""
}

func (p *pubmed) key(q *request) (key string, valid bool) {
	key = q.get("api_key")
	return key, key == "" || strings.HasPrefix(key, "sim-key")
}

// allowance: one account for all programs together, by key or by address.
func (p *pubmed) allowance(q *request) allowance {
	if key, valid := p.key(q); key != "" && valid {
		return allowance{key: key, requests: 10, window: time.Second}
	}
	return allowance{key: q.caller, requests: 3, window: time.Second}
}

func (p *pubmed) limits(_ *request, rep *reply, a allowance, v verdict) {
	rep.set("Server", "Finatra")
	rep.set("Cache-Control", "private")
	rep.set("Access-Control-Allow-Origin", "*")
	rep.set("Access-Control-Expose-Headers", "X-RateLimit-Limit,X-RateLimit-Remaining")
	if a.requests > 0 {
		rep.set("X-RateLimit-Limit", strconv.Itoa(a.requests))
		rep.set("X-RateLimit-Remaining", strconv.Itoa(max(v.left, 0)))
	}
}

func (p *pubmed) tooMany(q *request, a allowance, v verdict) *reply {
	limit := max(a.requests, 1)
	count := max(v.seen, limit+1)
	rep := &reply{status: http.StatusTooManyRequests, kind: jsonType}
	rep.head = append(rep.head, `{"error":"API rate limit exceeded","api-key":`...)
	rep.head = strconv.AppendQuote(rep.head, a.key)
	rep.head = append(rep.head, `,"count":"`...)
	rep.head = appendInt(rep.head, count)
	rep.head = append(rep.head, `","limit":"`...)
	rep.head = appendInt(rep.head, limit)
	rep.head = append(rep.head, `"}`...)
	rep.set("X-RateLimit-Limit", strconv.Itoa(limit))
	rep.set("X-RateLimit-Remaining", "0")
	return rep
}

const backendDown = "Search Backend failed: Couldn't resolve #pmquerysrv-mz?dbaf=pubmed, the address table is empty."

func (p *pubmed) failure(q *request, f Fault) *reply {
	if f == Viewer400 {
		return fetchError(http.StatusBadRequest, " Error: External viewer error: Empty Response. Bytes read: 0 Status: Timeout")
	}
	if q.route == "/esearch.fcgi" {
		return searchError(q, backendDown)
	}
	return fetchError(http.StatusOK, backendDown)
}

func (p *pubmed) suits(q *request, f Fault) bool {
	switch f {
	case DetailMissing, DetailExtra, DetailBadItem:
		return q.route == "/efetch.fcgi" && q.get("retmode") != "text" && p.someAsked(q)
	case Viewer400:
		return q.route == "/efetch.fcgi"
	case WebEnvLost:
		return q.get("WebEnv") != ""
	case TotalWrong, TotalDropped, Errorlist:
		return q.route == "/esearch.fcgi"
	}
	return false
}

// someAsked says whether a fetch would find anything.
func (p *pubmed) someAsked(q *request) bool {
	ids, _, problem := p.asked(q)
	return problem == nil && slices.ContainsFunc(ids, func(i uint32) bool { return p.people.records[i].shown() })
}

func (p *pubmed) answer(q *request) *reply {
	if key, valid := p.key(q); !valid {
		b := append([]byte(nil), `{"error":"API key invalid","api-key":`...)
		b = strconv.AppendQuote(b, key)
		b = append(b, `,"type":"api_key","status":"unknown"}`...)
		return &reply{status: http.StatusBadRequest, kind: jsonType, head: b}
	}
	switch q.route {
	case "/esearch.fcgi":
		return p.esearch(q)
	case "/efetch.fcgi":
		return p.efetch(q)
	case "/epost.fcgi":
		return p.epost(q)
	}
	return p.einfo(q)
}

// store puts an id list into a history, a new one if there is none.
func (p *pubmed) store(webenv string, ids []uint32) (string, int) {
	now := time.Now()
	for name, s := range p.sessions {
		if now.Sub(s.used) >= p.life {
			delete(p.sessions, name)
		}
	}
	s := p.sessions[webenv]
	if s == nil {
		p.opened++
		d := roll(p.articles.seed, 9, p.opened)
		const hex = "0123456789abcdef"
		name := []byte("MCID_")
		for range 24 {
			name = append(name, hex[d.n(16)])
		}
		webenv, s = string(name), &session{}
		p.sessions[webenv] = s
	}
	s.used = now
	s.queries = append(s.queries, ids)
	return webenv, len(s.queries)
}

// recall finds a stored id list.
func (p *pubmed) recall(webenv string, key int) ([]uint32, bool) {
	s := p.sessions[webenv]
	if s == nil || time.Since(s.used) >= p.life || key < 1 || key > len(s.queries) {
		return nil, false
	}
	s.used = time.Now()
	return s.queries[key-1], true
}

// queryKey reads query_key, 1 if there is none.
func queryKey(q *request) int {
	n, err := strconv.Atoi(q.get("query_key"))
	if err != nil {
		return 1
	}
	return n
}

// number reads a whole number that is not negative.
func number(q *request, name string, otherwise int) int {
	n, err := strconv.Atoi(q.get(name))
	if err != nil || n < 0 {
		return otherwise
	}
	return n
}
