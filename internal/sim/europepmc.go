package sim

import (
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// europepmc simulates GET /search and POST /searchPOST of Europe PMC's RESTful web
// service. Some of its records are those of PubMed and Crossref as they were at
// the start, under the same PMID or DOI and with the same title and authors;
// others are its own. The date its search goes by, UPDATE_DATE, is in no record.
type europepmc struct {
	papers
	people *population
	sim    *Sim
	read   map[uint32]readPaper // papers that searches have looked into
}

// readPaper is a paper as a search reads it, good for one version of its record.
type readPaper struct {
	version uint16
	text    paperText
}

func newEuropePMC(s *Sim, p *population) *europepmc {
	twins := func(name string) []record { return newPopulation(name, s.cfg).records }
	return &europepmc{
		papers: papers{
			seed:     p.seed,
			articles: articles{s.cfg.Seed ^ seedOf(PubMed)}, works: works{s.cfg.Seed ^ seedOf(Crossref)},
			medline: twins(PubMed), posted: twins(Crossref),
		},
		people: p, sim: s, read: map[uint32]readPaper{},
	}
}

// updatedAt is the beginning of the day in London on which a version was made.
func (e *europepmc) updatedAt(v version) time.Time { return time.Unix(int64(v.updated), 0).UTC() }

// undated: the update date is in no record.
func (e *europepmc) undated() {}

func (e *europepmc) route(q *request) string {
	switch path := strings.TrimPrefix(q.path, "/europepmc/webservices/rest"); {
	case path == "/search" && q.http.Method != http.MethodPost, path == "/searchPOST" && q.http.Method == http.MethodPost:
		return path
	}
	return ""
}

// allowance: nothing is published, and so much is meant to be out of a polite
// client's reach.
func (e *europepmc) allowance(q *request) allowance {
	return allowance{key: q.caller, requests: 10, window: time.Second}
}

func (e *europepmc) limits(_ *request, rep *reply, _ allowance, _ verdict) {
	rep.set("Access-Control-Allow-Origin", "*")
	rep.set("Cache-Control", "no-cache")
}

func (e *europepmc) tooMany(*request, allowance, verdict) *reply {
	return gatewayPage(http.StatusTooManyRequests, "429 Too Many Requests")
}

func (e *europepmc) failure(*request, Fault) *reply {
	return errorBean("The service is temporarily not available, please try again later")
}

// errorBean is how all goes wrong: with status 200, and without a hitCount.
func errorBean(message string) *reply {
	return &reply{status: http.StatusOK, kind: jsonType, head: []byte(`{"version":"6.9","errCode":404,"errMsg":` + quoted(message) + "}")}
}

// hunt is a validated request.
type hunt struct {
	text   string
	match  paperTest
	kind   string // of result: idlist, lite, core
	size   int
	cursor string // "" where none was sent
	after  uint64 // the key of the last record before the page
}

// parse reads a request, or says what is wrong with it.
func (e *europepmc) parse(q *request) (h hunt, wrong string) {
	h = hunt{text: q.get("query"), kind: cmp.Or(strings.ToLower(q.get("resultType")), "lite"), size: 25, cursor: q.get("cursorMark")}
	if v := q.get("pageSize"); v != "" {
		n, err := strconv.Atoi(v)
		if err != nil || n < 0 || n > 1000 {
			return h, "Invalid pageSize: " + v + ". It must be a number between 0 and 1000"
		}
		h.size = n
	}
	if format := cmp.Or(q.get("format"), "xml"); format != "json" {
		return h, "Invalid format: " + format + ". This simulator serves json"
	}
	if !slices.Contains([]string{"idlist", "lite", "core"}, h.kind) {
		return h, "Invalid resultType: " + h.kind
	}
	if strings.TrimSpace(h.text) == "" {
		return h, "Invalid query: it is empty"
	}
	match, err := e.compile(h.text)
	if err != nil {
		return h, "Invalid query syntax: " + err.Error()
	}
	h.match = match
	if h.cursor != "" && h.cursor != "*" {
		after, ok := parseCursorMark(h.cursor)
		if !ok {
			return h, "Invalid cursorMark: " + h.cursor
		}
		h.after = after
	}
	return h, ""
}

// walking says whether a request goes on with a walk.
func (h *hunt) walking() bool { return h.cursor != "" && h.cursor != "*" }

// orderOf is a record's place in every result: by relevance, which is no order of
// dates, numbers or names.
func (e *europepmc) orderOf(i uint32) uint64 {
	return mix(e.papers.seed^uint64(i)*0x9e3779b97f4a7c15)&^0xffffffff | uint64(i)
}

// cursorMark looks like Solr's: what the last record of a page was sorted by.
func cursorMark(key uint64) string {
	b := binary.BigEndian.AppendUint64([]byte{2, 0x82, 8}, key)
	return base64.StdEncoding.EncodeToString(b)
}

func parseCursorMark(s string) (uint64, bool) {
	b, err := base64.StdEncoding.DecodeString(s)
	if err != nil || len(b) != 11 || b[0] != 2 || b[1] != 0x82 || b[2] != 8 {
		return 0, false
	}
	return binary.BigEndian.Uint64(b[3:]), true
}

// found returns what matches, in the order of results.
func (e *europepmc) found(h *hunt) []uint32 {
	var ids []uint32
	for _, key := range e.people.index() {
		i := uint32(key)
		if h.match(i, &e.people.records[i]) {
			ids = append(ids, i)
		}
	}
	slices.SortFunc(ids, func(a, b uint32) int { return cmp.Compare(e.orderOf(a), e.orderOf(b)) })
	return ids
}

// from is the place of the first record behind a cursor.
func (e *europepmc) from(h *hunt, ids []uint32) int {
	if !h.walking() {
		return 0
	}
	at, _ := slices.BinarySearchFunc(ids, h.after+1, func(i uint32, key uint64) int { return cmp.Compare(e.orderOf(i), key) })
	return at
}

func (e *europepmc) suits(q *request, f Fault) bool {
	h, wrong := e.parse(q)
	if wrong != "" {
		return false
	}
	switch f {
	case TotalWrong, TotalDropped:
		return true
	case DetailMissing, DetailExtra, DetailBadItem:
		return h.cursor == "" && h.kind == "core" && len(e.found(&h)) > 0
	case TokenDropped, TokenDroppedShort, ShortPage, EmptyMiddlePage, RepeatedPage:
		if h.cursor == "" || h.kind != "core" {
			return false
		}
		ids := e.found(&h)
		at := e.from(&h, ids)
		left := len(ids) - at
		switch f {
		case TokenDropped:
			return len(ids) > 0
		case RepeatedPage:
			return at > 0 && left > 0
		case EmptyMiddlePage:
			return h.walking() && left > 0
		}
		return min(left, h.size) > 1
	}
	return false
}

func (e *europepmc) answer(q *request) *reply {
	h, wrong := e.parse(q)
	if wrong != "" {
		return errorBean(wrong)
	}
	ids := e.found(&h)
	total := len(ids)
	at := e.from(&h, ids)
	to := min(at+h.size, total)
	switch {
	case q.fault.shortens():
		to -= max(1, (to-at)/4)
	case q.fault == EmptyMiddlePage:
		to = at
	case q.fault == RepeatedPage:
		at, to = max(0, at-h.size), at
	}
	part := ids[at:max(at, to)]
	// An empty page gives back the cursor that was sent. What the page before held
	// is served again with that cursor as well.
	next := ""
	switch {
	case q.fault.dropsToken() || total == 0:
	case len(part) > 0 && q.fault != RepeatedPage:
		next = cursorMark(e.orderOf(part[len(part)-1]))
	case h.walking():
		next = h.cursor
	}
	rows := e.people.rows(part)
	if h.cursor == "" {
		rows = spoilRows(q, e.sim.injector, e.people, e.appendID, rows)
	}
	if q.fault == TotalWrong {
		total += 3 + total/50
	}
	return e.page(q, &h, total, next, rows)
}

// page writes the envelope around some records.
func (e *europepmc) page(q *request, h *hunt, total int, next string, rows []row) *reply {
	head := []byte(`{"version":"6.9"`)
	if q.fault != TotalDropped {
		head = appendInt(append(head, `,"hitCount":`...), total)
	}
	if next != "" {
		head = append(head, `,"nextCursorMark":`+quoted(next)...)
		if q.route == "/search" { // which nobody can follow: the query in it is not escaped
			address := "https://www.ebi.ac.uk/europepmc/webservices/rest/search?query=" + h.text + "&cursorMark=" + next
			head = append(head, `,"nextPageUrl":`+quoted(address+"&resultType="+h.kind+"&format=json")...)
		}
	}
	head = append(head, `,"request":{"queryString":`+quoted(h.text)+`,"resultType":`+quoted(h.kind)+
		`,"cursorMark":`+quoted(url.QueryEscape(cmp.Or(h.cursor, "*")))+`,"pageSize":`+strconv.Itoa(h.size)+
		`,"sort":"","synonym":`+strconv.FormatBool(q.get("synonym") == "true")+`},"resultList":{"result":[`...)
	return &reply{
		status: http.StatusOK, kind: jsonType + ";charset=UTF-8", head: head, rows: rows, between: ",", tail: "]}}", records: len(rows),
		write: func(b []byte, r *row) []byte {
			if h.kind == "core" {
				return e.papers.write(b, r.index, &r.record, !r.bad)
			}
			return e.papers.brief(b, r.index)
		},
	}
}
