package sim

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// preprints simulates api.biorxiv.org for one of its two servers: what was posted in
// an interval of days, page by page, and all versions of one preprint. Every version
// is listed on its day, also when there are newer ones.
type preprints struct {
	server string
	people *population
	sim    *Sim
	size   int // of a page, which nobody can choose
}

func newPreprints(s *Sim, p *population, server string) *preprints {
	return &preprints{server: server, people: p, sim: s, size: cmp.Or(s.cfg.ListSize, 30)}
}

// Since 2025-12-01 the servers have a prefix of their own.
const (
	oldPreprintPrefix = "10.1101/"
	newPreprintPrefix = "10.64898/"
)

func (p *preprints) appendID(b []byte, i uint32) []byte {
	prefix := oldPreprintPrefix
	if i%2 == 1 {
		prefix = newPreprintPrefix
	}
	day := "2026.01.01."
	if p.server == MedRxiv { // no DOI is given twice
		day = "2026.01.02."
	}
	return appendPadded(append(append(b, prefix...), day...), 600_000+int(i), 9)
}

func (p *preprints) find(id string) (uint32, bool) {
	at := strings.LastIndexByte(id, '.')
	n, err := strconv.Atoi(id[at+1:])
	if err != nil || n < 600_000 || n > 1<<31 {
		return 0, false
	}
	i := uint32(n - 600_000)
	return i, string(p.appendID(nil, i)) == id
}

func (p *preprints) updatedAt(v version) time.Time { return time.Unix(int64(v.updated), 0).UTC() }

func (p *preprints) route(q *request) string {
	parts := strings.Split(strings.Trim(q.path, "/"), "/")
	switch {
	case len(parts) < 4 || parts[0] != "details" || parts[1] != p.server || parts[len(parts)-1] != "json":
		return ""
	case len(parts) == 6 && parts[4] == "na":
		return "/details/{server}/{doi}/na/json"
	case len(parts) == 6:
		return "/details/{server}/{from}/{to}/{cursor}/json"
	}
	return ""
}

// allowance: nothing is published.
func (p *preprints) allowance(q *request) allowance {
	return allowance{key: q.caller, requests: 10, window: time.Second}
}

func (p *preprints) limits(*request, *reply, allowance, verdict) {}

func (p *preprints) tooMany(*request, allowance, verdict) *reply {
	return gatewayPage(http.StatusTooManyRequests, "429 Too Many Requests")
}

// failure: plain text with status 200.
func (p *preprints) failure(*request, Fault) *reply {
	return &reply{status: http.StatusOK, kind: htmlType, head: []byte("Error : (2002) Connection refused")}
}

// posting is one version of one preprint.
type posting struct {
	index uint32
	version
}

// posted lists the versions posted on days from and to, and in between.
func (p *preprints) posted(from, to int64) (out []posting) {
	for i := range p.people.records {
		r := &p.people.records[i]
		for _, v := range append(slices.Clone(p.people.older[uint32(i)]), r.version) {
			if v.number > 0 && int64(v.updated) >= from && int64(v.updated) <= to {
				out = append(out, posting{uint32(i), v})
			}
		}
	}
	slices.SortFunc(out, func(a, b posting) int {
		return cmp.Or(cmp.Compare(a.updated, b.updated), cmp.Compare(a.index, b.index), cmp.Compare(a.number, b.number))
	})
	return out
}

// asked reads the interval and the place of a request.
func (p *preprints) asked(q *request) (all []posting, cursor int, ok bool) {
	parts := strings.Split(strings.Trim(q.path, "/"), "/")
	from, err1 := time.Parse(time.DateOnly, parts[2])
	to, err2 := time.Parse(time.DateOnly, parts[3])
	cursor, err3 := strconv.Atoi(parts[4])
	if cmp.Or(err1, err2, err3) != nil || cursor < 0 {
		return nil, 0, false
	}
	return p.posted(from.Unix(), to.Unix()), cursor, true
}

func (p *preprints) suits(q *request, f Fault) bool {
	if q.route != "/details/{server}/{from}/{to}/{cursor}/json" {
		return false
	}
	all, cursor, ok := p.asked(q)
	left := len(all) - cursor
	switch f {
	case TotalWrong, TotalDropped:
		return ok && left > 0
	case ShortPage, TokenDroppedShort:
		return ok && left > 2
	}
	return false
}

func (p *preprints) answer(q *request) *reply {
	if q.route == "/details/{server}/{doi}/na/json" {
		return p.single(q)
	}
	all, cursor, ok := p.asked(q)
	if !ok || cursor >= len(all) {
		return nothingPosted()
	}
	part := all[cursor:min(cursor+p.size, len(all))]
	if q.fault.shortens() {
		part = part[:len(part)-max(0, min(len(part)-2, len(part)/4))]
	}
	total := len(all)
	if q.fault == TotalWrong { // more than is served has been seen
		total += 3 + total/50
	}
	told := `,"total":"` + strconv.Itoa(total) + `"`
	if q.fault == TotalDropped {
		told = ""
	}
	return p.page(`{"status":"ok","cursor":`+strconv.Itoa(cursor)+`,"count":`+strconv.Itoa(len(part))+told+"}", part)
}

func nothingPosted() *reply {
	return &reply{status: http.StatusOK, kind: jsonType, head: []byte(`{"messages":[{"status":"no posts found"}],"collection":[]}`)}
}

func (p *preprints) page(message string, part []posting) *reply {
	rep := &reply{
		status: http.StatusOK, kind: jsonType, head: []byte(`{"messages":[` + message + `],"collection":[`), tail: "]}", between: ",", records: len(part),
		write: func(b []byte, r *row) []byte { return p.append(b, r.index, &r.record) },
	}
	for _, one := range part {
		rep.rows = append(rep.rows, row{index: one.index, record: record{created: p.people.records[one.index].created, version: one.version}})
	}
	return rep
}

// single lists all versions of one preprint.
func (p *preprints) single(q *request) *reply {
	parts := strings.Split(strings.Trim(q.path, "/"), "/")
	i, ok := p.find(parts[2] + "/" + parts[3])
	if !ok || int(i) >= len(p.people.records) || p.people.records[i].number == 0 {
		return nothingPosted()
	}
	all := p.posted(0, 1<<40)
	return p.page(`{"status":"ok"}`, slices.DeleteFunc(all, func(one posting) bool { return one.index != i }))
}

// append writes a version.
func (p *preprints) append(b []byte, i uint32, r *record) []byte {
	in := papers{seed: p.people.seed}.medlinePaper(articles{p.people.seed}, i, r)
	var names []string
	for _, a := range in.authors {
		if a.group != "" {
			names = append(names, a.group)
		} else {
			names = append(names, a.family+", "+a.initials+".")
		}
	}
	o := &jsonObject{append(b, '{')}
	o.text("title", unmarked(in.title))
	o.text("authors", strings.Join(names, "; "))
	if len(in.authors) > 0 {
		o.text("author_corresponding", strings.TrimSpace(in.authors[0].given+" "+in.authors[0].family+in.authors[0].group))
	}
	o.text("doi", string(p.appendID(nil, i)))
	o.text("date", civilOf(int(r.updated/86400)).String())
	o.text("version", strconv.Itoa(int(r.number)))
	o.text("type", "new results")
	o.text("license", "cc_by")
	o.text("category", strings.ToLower(fieldsOfStudy[i%16]))
	o.text("abstract", unmarked(strings.ReplaceAll(abstractText(in.abstract), "<h4>", " ")))
	published := "NA"
	if i%5 == 0 {
		published = ownDOI("10.99890", i)
	}
	o.text("published", published)
	o.text("server", map[string]string{"biorxiv": "bioRxiv", "medrxiv": "medRxiv"}[p.server])
	return append(o.b, '}')
}
