package sim

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// oaiArguments are the arguments of the protocol; others are style parameters.
var oaiArguments = []string{"verb", "metadataPrefix", "from", "until", "set", "resumptionToken", "identifier"}

// oai answers OAI-PMH 2.0. A list has pages of size (50, at most most) records;
// the token remembers the rest of the question, and repeating it is badArgument.
// Datestamps are whole seconds or days (granularity); from and until are included,
// in the same form, not finer than that. What is deleted stays listed at the time
// of its deletion, as a header with a status and no metadata. After the last of
// several pages comes an empty resumptionToken (end=absent: none); end=stall and
// end=stuck play the faults known in the field.
func (g *generic) oai(q *request, st GenericStyle) *reply {
	st.Format, st.Order = "oai", "asc"
	for _, name := range oaiArguments {
		if len(q.form[name]) > 1 {
			return g.oaiError(q, "badArgument", name+" is repeated")
		}
	}
	switch verb := q.get("verb"); verb {
	case "Identify":
		return g.identify(q, st)
	case "ListMetadataFormats":
		return g.oaiReply(q, `<ListMetadataFormats><metadataFormat><metadataPrefix>oai_dc</metadataPrefix>`+
			`<schema>http://www.openarchives.org/OAI/2.0/oai_dc.xsd</schema>`+
			`<metadataNamespace>http://www.openarchives.org/OAI/2.0/oai_dc/</metadataNamespace></metadataFormat></ListMetadataFormats>`)
	case "ListSets":
		return g.oaiError(q, "noSetHierarchy", "there are no sets")
	case "GetRecord":
		return g.getRecord(q, st)
	case "ListRecords", "ListIdentifiers":
		return g.oaiList(q, st, verb)
	}
	return g.oaiError(q, "badVerb", "illegal verb")
}

const oaiFrame = `<?xml version="1.0" encoding="UTF-8"?>` + "\n" +
	`<OAI-PMH xmlns="http://www.openarchives.org/OAI/2.0/" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" ` +
	`xsi:schemaLocation="http://www.openarchives.org/OAI/2.0/ http://www.openarchives.org/OAI/2.0/OAI-PMH.xsd">`

// oaiHead is everything before the answer proper; failed requests do not repeat
// their arguments.
func (g *generic) oaiHead(q *request, failed bool) string {
	var b strings.Builder
	b.WriteString(oaiFrame + "<responseDate>" + q.at.Format(time.RFC3339) + "</responseDate>\n<request")
	for _, name := range oaiArguments {
		if v := q.get(name); v != "" && !failed {
			b.WriteString(" " + name + `="` + strings.ReplaceAll(escaped(v), `"`, "&quot;") + `"`)
		}
	}
	return b.String() + ">http://" + escaped(q.http.Host+q.http.URL.Path) + "</request>\n"
}

func (g *generic) oaiReply(q *request, body string) *reply {
	return &reply{status: http.StatusOK, kind: xmlType, head: []byte(g.oaiHead(q, false) + body + "\n</OAI-PMH>\n")}
}

func (g *generic) oaiError(q *request, code, message string) *reply {
	return &reply{status: http.StatusOK, kind: xmlType, head: []byte(g.oaiHead(q, true) +
		`<error code="` + code + `">` + escaped(message) + "</error>\n</OAI-PMH>\n")}
}

func (g *generic) identify(q *request, st GenericStyle) *reply {
	layout := "YYYY-MM-DDThh:mm:ssZ"
	if st.Granularity == "day" {
		layout = "YYYY-MM-DD"
	}
	earliest := q.at.Unix()
	for i := range g.people.records {
		if r := &g.people.records[i]; r.number > 0 {
			earliest = min(earliest, moment(&r.version)/1_000_000)
		}
	}
	return g.oaiReply(q, `<Identify><repositoryName>Generic</repositoryName><baseURL>http://`+escaped(q.http.Host+q.http.URL.Path)+`</baseURL>`+
		`<protocolVersion>2.0</protocolVersion><adminEmail>nobody@generic.example</adminEmail>`+
		`<earliestDatestamp>`+time.Unix(earliest, 0).UTC().Format(time.RFC3339)[:len(layout)]+`</earliestDatestamp>`+
		`<deletedRecord>persistent</deletedRecord><granularity>`+layout+`</granularity></Identify>`)
}

func (g *generic) getRecord(q *request, st GenericStyle) *reply {
	switch prefix := q.get("metadataPrefix"); {
	case prefix == "" || q.get("identifier") == "":
		return g.oaiError(q, "badArgument", "identifier and metadataPrefix are required")
	case prefix != "oai_dc":
		return g.oaiError(q, "cannotDisseminateFormat", "there is only oai_dc")
	}
	id := q.get("identifier")
	i, ok := g.find(id)
	if !ok || !strings.HasPrefix(id, oaiPrefix) || int(i) >= len(g.people.records) || g.people.records[i].number == 0 {
		return g.oaiError(q, "idDoesNotExist", "no such record")
	}
	return &reply{
		status: http.StatusOK, kind: xmlType, head: []byte(g.oaiHead(q, false) + "<GetRecord>"), rows: g.rows(st, []uint32{i}), records: 1,
		write: g.shape(st).oaiRecord, tail: "</GetRecord>\n</OAI-PMH>\n",
	}
}

// question is what a list was first asked, and what its token remembers.
type question struct {
	from, to int64 // microseconds, half open
	size     int
	mark     mark
}

func (o question) String() string {
	return fmt.Sprintf("%d!%d!%d!%s", o.from, o.to, o.size, o.mark)
}

func parseQuestion(token string) (o question, ok bool) {
	parts := strings.SplitN(token, "!", 4)
	if len(parts) != 4 {
		return o, false
	}
	for k, n := range []*int64{&o.from, &o.to} {
		v, err := strconv.ParseInt(parts[k], 10, 64)
		if err != nil {
			return o, false
		}
		*n = v
	}
	size, err := strconv.Atoi(parts[2])
	if err != nil || size < 1 {
		return o, false
	}
	o.size = size
	o.mark, ok = parseMark(parts[3])
	return o, ok
}

func (g *generic) oaiList(q *request, st GenericStyle, verb string) *reply {
	token := q.get("resumptionToken")
	var ask question
	if token == "" {
		if rep := g.oaiQuestion(q, st, &ask); rep != nil {
			return rep
		}
	} else {
		for _, name := range []string{"metadataPrefix", "from", "until", "set", "identifier"} {
			if q.form.Has(name) {
				return g.oaiError(q, "badArgument", "resumptionToken is exclusive: "+name)
			}
		}
		var ok bool
		ask, ok = g.resume(token, q.fault)
		if !ok {
			if st.Expired != "own" {
				return expired(st)
			}
			return g.oaiError(q, "badResumptionToken", "the token is unknown or has expired")
		}
	}
	ids := g.search(st, ask.from, ask.to)
	if len(ids) == 0 && token == "" {
		return g.oaiError(q, "noRecordsMatch", "nothing matches")
	}
	t := g.turn(st, ids, ask.size, ask.mark, token == "", q.fault)
	sh := g.shape(st)
	rep := &reply{
		status: http.StatusOK, kind: xmlType, head: []byte(g.oaiHead(q, false) + "<" + verb + ">\n"), rows: g.rows(st, t.part), between: "\n",
		write: sh.oaiRecord, records: len(t.part),
	}
	if verb == "ListIdentifiers" {
		rep.write = sh.oaiHeader
	}
	total := len(ids)
	if q.fault == TotalDropped {
		st.Total = "absent"
	}
	if st.Total == "wrong" || q.fault == TotalWrong {
		total += 3 + total/50
	}
	size := ""
	if st.Total != "absent" && (st.Total != "first" || token == "") {
		size = fmt.Sprintf(` completeListSize="%d"`, total)
	}
	switch {
	case q.fault.dropsToken():
	case t.next != nil:
		following := ask
		following.mark = *t.next
		text := following.String()
		g.remember(text)
		rep.tail = fmt.Sprintf("\n"+`<resumptionToken expirationDate="%s"%s cursor="%d">%s</resumptionToken>`,
			q.at.Add(g.sim.cfg.CursorLife).Format(time.RFC3339), size, t.pos, text)
	case token != "" && st.End != "absent":
		rep.tail = fmt.Sprintf("\n"+`<resumptionToken%s cursor="%d"/>`, size, t.pos)
		if st.End == "empty" {
			rep.tail = fmt.Sprintf("\n"+`<resumptionToken%s cursor="%d"></resumptionToken>`, size, t.pos)
		}
	}
	rep.tail += "\n</" + verb + ">\n</OAI-PMH>\n"
	return rep
}

// oaiQuestion reads the arguments of a first request.
func (g *generic) oaiQuestion(q *request, st GenericStyle, ask *question) *reply {
	switch prefix := q.get("metadataPrefix"); {
	case prefix == "":
		return g.oaiError(q, "badArgument", "metadataPrefix is required")
	case prefix != "oai_dc":
		return g.oaiError(q, "cannotDisseminateFormat", "there is only oai_dc")
	case q.get("set") != "":
		return g.oaiError(q, "noSetHierarchy", "there are no sets")
	}
	ask.from = 0
	ask.to = 1 << 62
	ask.size = max(1, min(number(q, "size", 50), st.Most))
	first, last := q.get("from"), q.get("until")
	if first != "" && last != "" && len(first) != len(last) {
		return g.oaiError(q, "badArgument", "from and until must have the same granularity")
	}
	if first != "" {
		at, _, ok := datestamp(st, first)
		if !ok {
			return g.oaiError(q, "badArgument", "from is not a datestamp")
		}
		ask.from = at
	}
	if last != "" {
		at, granule, ok := datestamp(st, last)
		if !ok {
			return g.oaiError(q, "badArgument", "until is not a datestamp")
		}
		if at < ask.from {
			return g.oaiError(q, "badArgument", "from is later than until")
		}
		ask.to = at + granule
	}
	return nil
}

// datestamp reads a day or a whole second, in microseconds, and how long it lasts.
func datestamp(st GenericStyle, s string) (at, granule int64, ok bool) {
	if t, err := time.Parse(time.DateOnly, s); err == nil {
		return t.UnixMicro(), (24 * time.Hour).Microseconds(), true
	}
	t, err := time.Parse("2006-01-02T15:04:05Z", s)
	return t.UnixMicro(), time.Second.Microseconds(), err == nil && st.Granularity == "second"
}

// remember notes that a token has been given out, and forgets old ones.
func (g *generic) remember(token string) {
	now := time.Now()
	for old, at := range g.issued {
		if now.Sub(at) >= g.sim.cfg.CursorLife {
			delete(g.issued, old)
		}
	}
	g.issued[token] = now
}

// resume reads a token that has been given out and has not expired.
func (g *generic) resume(token string, f Fault) (question, bool) {
	at, ok := g.issued[token]
	if !ok || f == CursorExpired || time.Since(at) >= g.sim.cfg.CursorLife {
		delete(g.issued, token)
		return question{}, false
	}
	return parseQuestion(token)
}

func (s shape) oaiRecord(b []byte, r *row) []byte { return s.appendOAI(b, r.index, &r.record, !r.bad) }

// oaiHeader writes the first part of a record.
func (s shape) oaiHeader(b []byte, r *row) []byte {
	if r.deleted {
		b = append(b, `<header status="deleted">`...)
	} else {
		b = append(b, "<header>"...)
	}
	b = append(b, "<identifier>"...)
	b = s.appendID(b, r.index)
	b = append(b, "</identifier><datestamp>"...)
	unix := uint32(moment(&r.version) / 1_000_000)
	from := len(b)
	b = appendInstant(b, unix, 0)
	if s.style.Granularity == "day" {
		b = b[:from+len(time.DateOnly)]
	}
	return append(b, "</datestamp></header>"...)
}

// appendOAI writes a record as Dublin Core.
func (s shape) appendOAI(b []byte, i uint32, r *record, named bool) []byte {
	d := roll(s.seed, 30, uint64(i))
	b = append(b, "<record>"...)
	if named {
		b = s.oaiHeader(b, &row{index: i, record: *r})
	}
	if r.deleted {
		return append(b, "</record>"...)
	}
	b = append(b, `<metadata><oai_dc:dc xmlns:oai_dc="http://www.openarchives.org/OAI/2.0/oai_dc/" xmlns:dc="http://purl.org/dc/elements/1.1/">`...)
	b = append(b, "<dc:title>"...)
	b = appendTitle(b, &d, r)
	b = append(b, "</dc:title><dc:creator>"...)
	b = append(b, families[d.n(len(families))].xml...)
	b = append(b, "</dc:creator><dc:description>"...)
	b = appendSentences(b, &d, 2)
	b = append(b, "</dc:description><dc:identifier>"...)
	b = appendPlainID(b, i)
	b = append(b, "</dc:identifier>"...)
	if r.retracted || r.notice {
		b = append(b, "<dc:relation>"...)
		b = appendPlainID(b, r.partner-1)
		b = append(b, "</dc:relation>"...)
	}
	return append(b, "</oai_dc:dc></metadata></record>"...)
}
