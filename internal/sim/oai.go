package sim

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// repository simulates an OAI-PMH service that exists: ListRecords, GetRecord and
// what it says of itself, with the manners that are known of it.
type repository struct {
	manners
	people *population
	sim    *Sim
	issued map[string]time.Time // resumption tokens by their last issue
}

// manners are what tells one repository from another.
type manners struct {
	name, path string
	prefix     string // the format that is served
	size       int    // records of a list
	days       bool   // datestamps are days
	life       time.Duration
	expired    int           // status for a dead token, 0: an OAI error
	withheld   time.Duration // what is younger is not listed: until is lowered without a word
	requests   int           // in a window
	window     time.Duration
	sized      bool   // lists say how long they are
	scheme     string // stands before ids in headers, and is no part of them for those who cut it
	id         func(b []byte, i uint32) []byte
	index      func(id string) (uint32, bool)
	write      func(b []byte, i uint32, p paper) []byte
}

func newRepository(s *Sim, p *population, m manners) *repository {
	m.size = cmp.Or(s.cfg.ListSize, m.size)
	return &repository{manners: m, people: p, sim: s, issued: map[string]time.Time{}}
}

func (o *repository) appendID(b []byte, i uint32) []byte { return o.id(b, i) }

func (o *repository) find(id string) (uint32, bool) { return o.index(strings.TrimPrefix(id, o.scheme)) }

func (o *repository) updatedAt(v version) time.Time { return time.Unix(stampOfVersion(&v), 0).UTC() }

// stampOfVersion is when a version came into the list, in seconds: a deletion when
// it happened.
func stampOfVersion(v *version) int64 { return moment(v) / 1_000_000 }

func (o *repository) route(q *request) string {
	if strings.TrimSuffix(q.path, "/") == strings.TrimSuffix(o.path, "/") {
		return o.path
	}
	return ""
}

func (o *repository) allowance(q *request) allowance {
	return allowance{key: q.caller, requests: o.requests, window: o.window}
}

func (o *repository) limits(*request, *reply, allowance, verdict) {}

func (o *repository) tooMany(*request, allowance, verdict) *reply {
	return gatewayPage(http.StatusTooManyRequests, "429 Too Many Requests")
}

func (o *repository) failure(q *request, _ Fault) *reply {
	return o.error(q, "InternalException", "Could not get a connection")
}

// listWalk is a list that is being walked: what was asked, and the last record before
// the page.
type listWalk struct {
	from, to int64 // seconds, half open
	at       int64
	last     int64 // index of the record at that time, -1: none
	served   int
}

func (w listWalk) String() string {
	return base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "%d|%d|%d|%d|%d", w.from, w.to, w.at, w.last, w.served))
}

func parseListWalk(token string) (w listWalk, ok bool) {
	raw, err := base64.StdEncoding.DecodeString(token)
	if err != nil {
		return w, false
	}
	n, err := fmt.Sscanf(string(raw), "%d|%d|%d|%d|%d", &w.from, &w.to, &w.at, &w.last, &w.served)
	return w, n == 5 && err == nil
}

// listed are the records of a walk's window, deleted ones too, oldest first.
func (o *repository) listed(w listWalk) []uint32 {
	to := w.to
	if o.withheld > 0 {
		to = min(to, o.sim.now.Add(-o.withheld).Unix())
	}
	var ids []uint32
	for i := range o.people.records {
		r := &o.people.records[i]
		if at := stampOfVersion(&r.version); r.number > 0 && at >= w.from && at < to {
			ids = append(ids, uint32(i))
		}
	}
	slices.SortFunc(ids, func(a, b uint32) int { return cmp.Or(cmp.Compare(o.stamp(a), o.stamp(b)), cmp.Compare(a, b)) })
	return ids
}

func (o *repository) stamp(i uint32) int64 { return stampOfVersion(&o.people.records[i].version) }

// rest is where the records behind a walk's place begin.
func (o *repository) rest(w listWalk, ids []uint32) int {
	at := 0
	for at < len(ids) && (o.stamp(ids[at]) < w.at || o.stamp(ids[at]) == w.at && int64(ids[at]) <= w.last) {
		at++
	}
	return at
}

func (o *repository) suits(q *request, f Fault) bool {
	if q.get("verb") != "ListRecords" {
		return false
	}
	token := q.get("resumptionToken")
	w, ok := parseListWalk(token)
	if token == "" {
		w, ok = o.question(q)
	}
	if !ok {
		return false
	}
	ids := o.listed(w)
	left := len(ids) - o.rest(w, ids)
	switch f {
	case CursorExpired:
		return token != ""
	case TotalWrong, TotalDropped:
		return o.sized && left > o.size
	case TokenDropped:
		return left > o.size
	case TokenDroppedShort:
		return left > 1
	case ShortPage:
		return left > o.size && o.size > 1
	case EmptyMiddlePage:
		return token != "" && left > 0
	}
	return false
}

func (o *repository) answer(q *request) *reply {
	switch q.get("verb") {
	case "Identify":
		layout := "YYYY-MM-DDThh:mm:ssZ"
		if o.days {
			layout = "YYYY-MM-DD"
		}
		return o.reply(q, "<Identify><repositoryName>"+o.name+"</repositoryName><baseURL>http://"+escaped(q.http.Host+q.http.URL.Path)+
			"</baseURL><protocolVersion>2.0</protocolVersion><adminEmail>nobody@sim.example</adminEmail><earliestDatestamp>1990-01-01</earliestDatestamp>"+
			"<deletedRecord>transient</deletedRecord><granularity>"+layout+"</granularity></Identify>")
	case "ListMetadataFormats":
		return o.reply(q, "<ListMetadataFormats><metadataFormat><metadataPrefix>"+o.prefix+"</metadataPrefix></metadataFormat></ListMetadataFormats>")
	case "ListSets":
		return o.error(q, "noSetHierarchy", "there are no sets")
	case "GetRecord":
		return o.record(q)
	case "ListRecords":
		return o.list(q)
	}
	return o.error(q, "badVerb", "illegal verb")
}

func (o *repository) head(q *request) string {
	return oaiFrame + "<responseDate>" + q.at.Format(time.RFC3339) + "</responseDate><request>http://" + escaped(q.http.Host+q.http.URL.Path) + "</request>"
}

func (o *repository) reply(q *request, body string) *reply {
	return &reply{status: http.StatusOK, kind: xmlType, head: []byte(o.head(q) + body + "</OAI-PMH>")}
}

func (o *repository) error(q *request, code, message string) *reply {
	return o.reply(q, `<error code="`+code+`">`+escaped(message)+"</error>")
}

func (o *repository) record(q *request) *reply {
	i, ok := o.find(q.get("identifier"))
	switch {
	case q.get("metadataPrefix") != o.prefix:
		return o.error(q, "cannotDisseminateFormat", "there is only "+o.prefix)
	case !ok || int(i) >= len(o.people.records) || o.people.records[i].number == 0:
		return o.error(q, "idDoesNotExist", "no such record")
	}
	return &reply{
		status: http.StatusOK, kind: xmlType, head: []byte(o.head(q) + "<GetRecord>"), tail: "</GetRecord></OAI-PMH>", records: 1,
		rows: []row{{index: i, record: o.people.records[i]}}, write: o.row,
	}
}

// question reads the arguments of a first request.
func (o *repository) question(q *request) (w listWalk, ok bool) {
	w = listWalk{to: 1 << 40, last: -1}
	st := GenericStyle{Granularity: "second"}
	if o.days {
		st.Granularity = "day"
	}
	first, last := q.get("from"), q.get("until")
	if first != "" && last != "" && len(first) != len(last) {
		return w, false
	}
	if first != "" {
		at, _, ok := datestamp(st, first)
		if !ok {
			return w, false
		}
		w.from = at / 1_000_000
	}
	if last != "" {
		at, granule, ok := datestamp(st, last)
		if !ok || at/1_000_000 < w.from {
			return w, false
		}
		w.to = (at + granule) / 1_000_000
	}
	w.at = w.from - 1
	return w, true
}

func (o *repository) list(q *request) *reply {
	token := q.get("resumptionToken")
	var w listWalk
	var ok bool
	switch {
	case token != "" && (q.form.Has("metadataPrefix") || q.form.Has("from") || q.form.Has("until") || q.form.Has("set")):
		return o.error(q, "badArgument", "resumptionToken is exclusive")
	case token != "":
		w, ok = parseListWalk(token)
		at, given := o.issued[token]
		if !ok || !given || q.fault == CursorExpired || time.Since(at) >= o.life {
			delete(o.issued, token)
			if o.expired != 0 {
				return &reply{status: o.expired, kind: xmlType, head: []byte(o.head(q) + `<error code="badResumptionToken">expired</error></OAI-PMH>`)}
			}
			return o.error(q, "badResumptionToken", "the token is unknown or has expired")
		}
	case q.get("metadataPrefix") != o.prefix:
		return o.error(q, "cannotDisseminateFormat", "there is only "+o.prefix)
	default:
		w, ok = o.question(q)
		if !ok {
			return o.error(q, "badArgument", "from and until must be datestamps of one granularity, in their order")
		}
	}
	ids := o.listed(w)
	if len(ids) == 0 && token == "" {
		return o.error(q, "noRecordsMatch", "nothing matches")
	}
	return o.page(q, w, ids)
}

// page serves the records behind a walk's place.
func (o *repository) page(q *request, w listWalk, ids []uint32) *reply {
	at := o.rest(w, ids)
	to := min(at+o.size, len(ids))
	switch {
	case q.fault.shortens():
		to -= max(1, (to-at)/4)
	case q.fault == EmptyMiddlePage:
		to = at
	}
	total := len(ids)
	if q.fault == TotalWrong {
		total += 3 + total/50
	}
	size := ""
	if o.sized && q.fault != TotalDropped {
		size = fmt.Sprintf(` completeListSize="%d"`, total)
	}
	rep := &reply{
		status: http.StatusOK, kind: xmlType, head: []byte(o.head(q) + "<ListRecords>"), tail: "</ListRecords></OAI-PMH>", records: to - at, write: o.row,
	}
	for _, i := range ids[at:to] {
		rep.rows = append(rep.rows, row{index: i, record: o.people.records[i]})
	}
	switch {
	case q.fault.dropsToken():
	case to < len(ids):
		next := w
		next.served += to - at
		if to > at {
			next.at, next.last = o.stamp(ids[to-1]), int64(ids[to-1])
		}
		token := next.String()
		o.issued[token] = time.Now()
		rep.tail = fmt.Sprintf(`<resumptionToken%s cursor="%d">%s</resumptionToken>`, size, w.served, token) + rep.tail
	case q.get("resumptionToken") != "":
		rep.tail = fmt.Sprintf(`<resumptionToken%s cursor="%d"/>`, size, w.served) + rep.tail
	}
	return rep
}

func (o *repository) row(b []byte, r *row) []byte { return o.append(b, r.index, &r.record) }

// append writes a record, of a deleted one the header.
func (o *repository) append(b []byte, i uint32, r *record) []byte {
	b = append(b, "<record><header"...)
	if r.deleted {
		b = append(b, ` status="deleted"`...)
	}
	b = append(b, "><identifier>"...)
	b = append(b, o.scheme...)
	b = o.id(b, i)
	b = append(b, "</identifier><datestamp>"...)
	from := len(b)
	b = appendInstant(b, uint32(stampOfVersion(&r.version)), 0)
	if o.days {
		b = b[:from+len(time.DateOnly)]
	}
	b = append(b, "</datestamp></header>"...)
	if r.deleted {
		return append(b, "</record>"...)
	}
	b = append(b, "<metadata>"...)
	b = o.write(b, i, papers{seed: o.people.seed}.medlinePaper(articles{o.people.seed}, i, r))
	return append(b, "</metadata></record>"...)
}
