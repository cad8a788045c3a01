package sim

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// unpaywall simulates GET /v2/{doi}: what is known of the open access of one DOI. It
// lists nothing. Its DOIs are those of the Crossref mode, as long as there are that
// many; of one in ten it has never heard.
type unpaywall struct {
	works
	people *population
}

func newUnpaywall(s *Sim, p *population) *unpaywall {
	return &unpaywall{works: works{s.cfg.Seed ^ seedOf(Crossref)}, people: p}
}

func (u *unpaywall) appendID(b []byte, i uint32) []byte { return u.works.appendDOI(b, i) }

func (u *unpaywall) updatedAt(v version) time.Time { return time.Unix(int64(v.updated), 0).UTC() }

func (u *unpaywall) route(q *request) string {
	if strings.HasPrefix(q.path, "/v2/") {
		return "/v2/{doi}"
	}
	return ""
}

// allowance: 100,000 a day, and no more than that in a burst.
func (u *unpaywall) allowance(q *request) allowance {
	return allowance{key: q.caller, requests: 100_000, window: 24 * time.Hour}
}

func (u *unpaywall) limits(*request, *reply, allowance, verdict) {}

func (u *unpaywall) tooMany(*request, allowance, verdict) *reply {
	return unpaywallError(http.StatusTooManyRequests, "Too many requests today")
}

func (u *unpaywall) failure(*request, Fault) *reply {
	return unpaywallError(http.StatusOK, "The service is restarting")
}

func (u *unpaywall) suits(*request, Fault) bool { return false }

func unpaywallError(status int, message string) *reply {
	return &reply{status: status, kind: jsonType, head: []byte(`{"HTTP_status_code":` + strconv.Itoa(status) + `,"error":true,"message":` + quoted(message) + "}")}
}

func (u *unpaywall) answer(q *request) *reply {
	if email := q.get("email"); !strings.Contains(email, "@") || strings.HasSuffix(email, "@example.com") {
		return unpaywallError(http.StatusUnprocessableEntity, "Email address required in API call, see http://unpaywall.org/products/api")
	}
	doi := lower(strings.TrimPrefix(q.path, "/v2/"))
	i, ok := u.find(doi)
	if !ok || int(i) >= len(u.people.records) || !u.people.records[i].shown() || i%10 == 9 {
		return unpaywallError(http.StatusNotFound, "'"+doi+"' isn't in Unpaywall.  See http://unpaywall.org/data-format for details")
	}
	return &reply{
		status: http.StatusOK, kind: jsonType, rows: u.people.rows([]uint32{i}), records: 1,
		write: func(b []byte, r *row) []byte { return u.append(b, r.index, &r.record) },
	}
}

// append writes what is known of a DOI.
func (u *unpaywall) append(b []byte, i uint32, r *record) []byte {
	f := u.works.facts(i, r)
	in := &journals[f.journal]
	open := i%3 == 0
	o := &jsonObject{append(b, '{')}
	o.text("doi", string(u.appendDOI(nil, i)))
	o.text("doi_url", "https://doi.org/"+string(u.appendDOI(nil, i)))
	o.text("title", "Record "+strconv.Itoa(int(i))+" as of version "+strconv.Itoa(int(r.number)))
	o.text("genre", f.kind)
	o.name("is_oa")
	o.b = strconv.AppendBool(o.b, open)
	o.text("oa_status", map[bool]string{true: "gold", false: "closed"}[open])
	o.text("journal_name", in.title.plain)
	o.text("journal_issns", in.issnPrint+","+in.issnOnline)
	o.text("publisher", in.publisher.plain)
	o.text("published_date", civilOf(int(r.created/86400)).String())
	o.text("updated", string(appendInstant(nil, r.updated, 0)))
	if open {
		o.within("best_oa_location", func() {
			o.text("host_type", "publisher")
			o.text("license", "cc-by")
			o.text("url", "https://www.exampleton.test/oa/"+strconv.Itoa(int(i)))
			o.text("version", "publishedVersion")
		})
	}
	return append(o.b, '}')
}
