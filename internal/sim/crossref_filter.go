package sim

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// complaint is one entry of a validation failure.
type complaint struct {
	Type    string `json:"type"`
	Value   string `json:"value"`
	Message string `json:"message"`
}

// worksQuery is a validated request for a list of works.
type worksQuery struct {
	from, to int64 // by index date
	tests    []func(i uint32, r *record) bool
	rows     int
	offset   int
	cursor   string
	selected []string
	sort     string
	desc     bool
	sample   int
	terms    string // as echoed; "" for none
}

// stampOf reads the date a pair of filters is about.
var stampOf = map[string]func(w works, i uint32, r *record) int64{
	"index":   func(_ works, _ uint32, r *record) int64 { return int64(r.updated) },
	"update":  func(_ works, _ uint32, r *record) int64 { return int64(r.deposited) },
	"deposit": func(_ works, _ uint32, r *record) int64 { return int64(r.deposited) },
	"created": func(_ works, _ uint32, r *record) int64 { return int64(r.created) },
	"pub":     issuedAt, "issued": issuedAt,
}

// issuedAt takes a partial date as its first day; works without one match nothing.
func issuedAt(w works, i uint32, r *record) int64 {
	c := w.facts(i, r).issued
	if c.year == 0 {
		return -1
	}
	return time.Date(c.year, time.Month(max(c.month, 1)), max(c.day, 1), 0, 0, 0, 0, time.UTC).Unix()
}

var worksFilters = []string{
	"from-index-date", "until-index-date", "from-update-date", "until-update-date", "from-deposit-date", "until-deposit-date",
	"from-created-date", "until-created-date", "from-pub-date", "until-pub-date", "from-issued-date", "until-issued-date",
	"type", "issn", "prefix", "member", "doi", "has-abstract", "has-orcid", "has-references", "is-update", "has-update", "update-type", "updates",
}

var (
	worksParams = []string{
		"filter", "rows", "offset", "cursor", "select", "sort", "order", "sample", "mailto", "facet",
		"query", "query.bibliographic", "query.author", "query.title", "query.container-title", "query.affiliation",
	}
	worksSorts = []string{
		"relevance", "score", "updated", "deposited", "indexed", "created", "published", "published-print", "published-online", "issued",
		"is-referenced-by-count", "references-count",
	}
	worksFields = []string{
		"DOI", "ISBN", "ISSN", "URL", "abstract", "accepted", "alternative-id", "approved", "archive", "article-number", "assertion", "author",
		"chair", "clinical-trial-number", "container-title", "content-created", "content-domain", "created", "degree", "deposited", "editor",
		"event", "funder", "group-title", "indexed", "institution", "is-referenced-by-count", "issn-type", "issue", "issued", "license", "link",
		"language", "journal-issue", "member", "original-title", "page", "posted", "prefix", "published", "published-online", "published-print",
		"publisher", "publisher-location", "reference", "references-count", "reference-count", "relation", "resource", "score",
		"short-container-title", "short-title", "source", "standards-body", "subject", "subtitle", "subtype", "title", "translator", "type",
		"update-policy", "update-to", "updated-by", "volume",
	}
)

// parse validates a list request and finds all that is wrong with it.
func (c *crossref) parse(q *request) (worksQuery, []complaint) {
	out := worksQuery{from: 0, to: 1<<32 - 1, rows: 20}
	var wrong []complaint
	complain := func(kind, value, message string) { wrong = append(wrong, complaint{kind, value, message}) }
	for _, name := range sortedKeys(q.form) {
		if !slices.Contains(worksParams, name) {
			complain("parameter-not-allowed", name, "This route does not support "+name)
		}
	}
	integer := func(name string, least, most int) int {
		value := q.get(name)
		if value == "" {
			return -1
		}
		n, err := strconv.Atoi(value)
		if err != nil || n < least || n > most {
			complain("integer-not-valid", value, "Integer specified as "+value+" but must be a positive integer less than or equal to "+strconv.Itoa(most)+". ")
			return -1
		}
		return n
	}
	if n := integer("rows", 0, 1000); n >= 0 {
		out.rows = n
	}
	out.offset = max(0, integer("offset", 0, 10000))
	out.sample = max(0, integer("sample", 0, 100))
	out.cursor = q.get("cursor")
	if out.cursor != "" && (q.form.Has("offset") || q.form.Has("sample")) {
		complain("parameter-not-allowed", "cursor", "Parameter cursor cannot be combined with offset or sample")
	}
	if s := q.get("select"); s != "" {
		out.selected = strings.Split(s, ",")
		for _, field := range out.selected {
			if !slices.Contains(worksFields, field) {
				complain("select-not-available", field, "Select '"+field+"' specified but there is no such select for this route. Valid selects for this route are: "+strings.Join(worksFields, ", "))
			}
		}
	}
	out.sort = q.get("sort")
	if out.sort != "" && !slices.Contains(worksSorts, out.sort) {
		complain("sort-field-not-valid", out.sort, "Sort field specified as '"+out.sort+"' but must be one of: "+strings.Join(worksSorts, ", "))
	}
	out.desc = q.get("order") != "asc"
	if order := q.get("order"); order != "" && order != "asc" && order != "desc" {
		complain("sort-order-not-valid", order, "Sort order specified as '"+order+"' but must be one of: asc, desc")
	}
	c.parseFilter(q.get("filter"), &out, complain)
	for _, name := range []string{"query", "query.bibliographic", "query.author", "query.title", "query.container-title", "query.affiliation"} {
		if words := strings.Fields(strings.ToLower(q.get(name))); len(words) > 0 {
			if name == "query" {
				out.terms = q.get(name)
			}
			out.tests = append(out.tests, c.contains(name, words))
		}
	}
	return out, wrong
}

// parseFilter reads name:value pairs; one name given twice means either value.
func (c *crossref) parseFilter(filter string, out *worksQuery, complain func(kind, value, message string)) {
	if filter == "" {
		return
	}
	either := map[string][]func(i uint32, r *record) bool{}
	var names []string
	for pair := range strings.SplitSeq(filter, ",") {
		name, value, found := strings.Cut(pair, ":")
		if !found {
			complain("filter-invalid", pair, "Filter specified as '"+pair+"' but must be of the form name:value")
			continue
		}
		if !slices.Contains(worksFilters, name) {
			complain("filter-not-available", name, "Filter '"+name+"' specified but there is no such filter for this route. Valid filters for this route are: "+strings.Join(worksFilters, ", "))
			continue
		}
		if stem, ok := strings.CutSuffix(name, "-date"); ok {
			side, which, _ := strings.Cut(stem, "-")
			first, last, ok := parseWorksDate(value, which != "pub" && which != "issued" && which != "deposit")
			if !ok {
				complain("date-not-valid", value, "Invalid date specified as '"+value+"' for filter '"+name+"'")
				continue
			}
			if which == "index" {
				if side == "from" {
					out.from = max(out.from, first)
				} else {
					out.to = min(out.to, last)
				}
				continue
			}
			stamp := stampOf[which]
			out.tests = append(out.tests, func(i uint32, r *record) bool {
				at := stamp(c.works, i, r)
				if at < 0 {
					return false
				}
				if side == "from" {
					return at >= first
				}
				return at <= last
			})
			continue
		}
		if _, ok := either[name]; !ok {
			names = append(names, name)
		}
		either[name] = append(either[name], c.filter(name, value))
	}
	for _, name := range names {
		tests := either[name]
		out.tests = append(out.tests, func(i uint32, r *record) bool {
			return slices.ContainsFunc(tests, func(test func(uint32, *record) bool) bool { return test(i, r) })
		})
	}
}

func (c *crossref) filter(name, value string) func(i uint32, r *record) bool {
	yes := value == "true" || value == "1" || value == "t"
	facts := func(test func(f workFacts) bool) func(uint32, *record) bool {
		return func(i uint32, r *record) bool { return test(c.works.facts(i, r)) }
	}
	switch name {
	case "type":
		return facts(func(f workFacts) bool { return f.kind == value })
	case "issn":
		return facts(func(f workFacts) bool {
			return f.kind == "journal-article" && (journals[f.journal].issnPrint == value || journals[f.journal].issnOnline == value)
		})
	case "prefix":
		return facts(func(f workFacts) bool { return journals[f.journal].prefix == value })
	case "member":
		return facts(func(f workFacts) bool { return journals[f.journal].member == value })
	case "has-abstract":
		return facts(func(f workFacts) bool { return f.abstract == yes })
	case "has-references":
		return facts(func(f workFacts) bool { return f.refs > 0 == yes })
	case "doi":
		i, ok := c.works.find(strings.TrimPrefix(value, "https://doi.org/"))
		return func(k uint32, _ *record) bool { return ok && k == i }
	case "is-update":
		return func(_ uint32, r *record) bool { return r.notice == yes }
	case "has-update":
		return func(_ uint32, r *record) bool { return r.retracted == yes }
	case "update-type":
		return func(_ uint32, r *record) bool { return r.notice && value == "retraction" }
	case "updates":
		i, ok := c.works.find(value)
		return func(_ uint32, r *record) bool { return ok && r.notice && r.partner == i+1 }
	}
	return func(i uint32, r *record) bool { // has-orcid
		return strings.Contains(string(c.works.append(nil, i, r)), `"ORCID"`) == yes
	}
}

// contains matches when one of the words occurs in the named part of the item: the
// query parameters rank, they do not select.
func (c *crossref) contains(name string, words []string) func(i uint32, r *record) bool {
	marks := map[string][2]string{
		"query.title": {`,"title":[`, `,"prefix"`}, "query.author": {`,"author":[`, `,"member"`},
		"query.container-title": {`,"container-title":[`, `,"link"`}, "query.affiliation": {`,"author":[`, `,"member"`},
	}[name]
	return func(i uint32, r *record) bool {
		item := string(c.works.append(nil, i, r))
		if marks[0] != "" {
			_, rest, found := strings.Cut(item, marks[0])
			if !found {
				return false
			}
			item, _, _ = strings.Cut(rest, marks[1])
		}
		item = strings.ToLower(item)
		return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(item, word) })
	}
}

// parseWorksDate returns the first and the last second of a date or time.
func parseWorksDate(s string, times bool) (first, last int64, ok bool) {
	layouts := []struct {
		layout string
		end    func(time.Time) time.Time
	}{
		{"2006", func(t time.Time) time.Time { return t.AddDate(1, 0, 0) }},
		{"2006-01", func(t time.Time) time.Time { return t.AddDate(0, 1, 0) }},
		{"2006-01-02", func(t time.Time) time.Time { return t.AddDate(0, 0, 1) }},
		{"2006-01-02T15", func(t time.Time) time.Time { return t.Add(time.Hour) }},
		{"2006-01-02T15:04", func(t time.Time) time.Time { return t.Add(time.Minute) }},
		{"2006-01-02T15:04:05", func(t time.Time) time.Time { return t.Add(time.Second) }},
	}
	for k, l := range layouts {
		if k > 2 && !times {
			break
		}
		if len(s) != len(l.layout) {
			continue
		}
		if t, err := time.Parse(l.layout, s); err == nil {
			return t.Unix(), l.end(t).Unix() - 1, true
		}
	}
	return 0, 0, false
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
