package source_test

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/query"
	"github.com/papertrace/patra/internal/domain/source"
)

// def is a whole definition of a source walked by token. Its parts are fresh,
// so a test may change them.
func def() *source.Definition {
	return &source.Definition{
		Source: "demo", BaseURL: "https://api.example.org/v1", Zone: "UTC", RecordType: "work", Identity: "DOI",
		HTTP:      &source.HTTP{ConnectTimeout: sec(10), ReadTimeout: sec(30), TotalTimeout: sec(60)},
		RateLimit: &source.Rate{Limit: 3, Window: sec(1), QPS: 2, Burst: 1},
		Retry:     &source.Retry{Attempts: 5, Base: sec(1), Max: sec(30)},
		Window: &source.WindowConfig{
			Key: "indexed", Filters: map[string]string{"from-index-date": "indexed", "until-index-date": "indexed", "from-update-date": "deposited"},
			Precision: "SECOND", Bound: "CLOSED", UpdatedAt: "PATH", SafetyLag: new(sec(600)), Overlap: new(sec(0)),
			Align: sec(1), Baseline: sec(86400), Step: sec(3600), MinStep: sec(1), Target: 1000,
		},
		Pagination: &source.PaginationConfig{
			Type: "TOKEN", PageSize: 100, TokenRepeat: "CONTINUE", Total: "EXACT", End: []harvest.EndProof{harvest.EndEmpty}, MaxPages: 50,
		},
		Endpoints: []source.Endpoint{{
			Name: "works", Usage: "SEARCH", Path: "/works", Format: "JSON",
			Query: map[string]string{
				"filter": "from-index-date:${iso(window.from)},until-index-date:${iso(window.last)}",
				"rows":   "${page.size}", "cursor": "${coalesce(page.token, '*')}",
			},
			Response: source.Response{
				Items: []string{"items"}, ID: []source.Pick{{Path: "DOI"}}, Total: "total", Token: "next",
				UpdatedAt: []source.DatedPick{{Pick: source.Pick{Path: "indexed.date-time"}, Key: "indexed"}},
				Signals:   map[string]string{"oops": "error"},
			},
		}},
		Faults:  []source.FaultRule{{Code: "oops", Signal: "oops", Level: "L2"}},
		Mapping: source.Mapping{Fields: []source.Field{{Name: "title", Kind: "TEXT", From: []source.Pick{{Path: "title"}}}}},
	}
}

func sec(n int64) source.Duration { return source.Duration(n * int64(time.Second)) }

// twoPhase makes d a source of ids and details.
func twoPhase(d *source.Definition) {
	search := &d.Endpoints[0]
	d.Endpoints = append(d.Endpoints, source.Endpoint{
		Name: "fetch", Usage: "FETCH", Method: "POST", Path: "/fetch", Format: "XML", Form: map[string]string{"id": "${join(ids, ',')}"},
		Response: source.Response{
			Items: []string{"Set/Item"}, ID: []source.Pick{{Path: "Id"}}, UpdatedAt: search.Response.UpdatedAt,
		},
	})
	search = &d.Endpoints[0]
	search.Response.UpdatedAt = nil
	d.Batching = &source.Batching{IDs: 200}
}

// lookup gives a source of two phases a way for ids that no list holds.
func lookup(d *source.Definition) {
	twoPhase(d)
	one := d.Endpoints[1]
	d.Endpoints[1].IDPattern = "[^,]*"
	one.Name = "one"
	one.Usage = "LOOKUP"
	one.Method = ""
	one.Path = "/one/${ids[0]}"
	one.Form = nil
	d.Endpoints = append(d.Endpoints, one)
}

// links turns the paging into one by next links, of which no reply tells yet.
func links(d *source.Definition) {
	d.Pagination.Type = "URL"
	d.Pagination.End = []harvest.EndProof{harvest.EndNoURL}
	d.Pagination.TokenRepeat = ""
	delete(d.Endpoints[0].Query, "cursor")
}

var harvesting = source.Trigger{Operation: harvest.Harvest}

func TestCompile_WholeDefinitionWithoutWarnings(t *testing.T) {
	spec, warnings, err := source.Compile(*def(), harvesting)
	if err != nil || len(warnings) > 0 {
		t.Fatalf("%v %v", warnings, err)
	}
	want := harvest.Paging{
		Type: harvest.PageToken, Size: 100, TokenContinues: true, TotalExact: true,
		End: []harvest.EndProof{harvest.EndEmpty}, MaxPages: 50,
	}
	if diff := cmp.Diff(want, spec.Paging); diff != "" {
		t.Error(diff)
	}
	if !spec.Window.Closed() || spec.Window.Key != "indexed" || spec.Rate.Key != "demo" || spec.Faults[0].Reaction != harvest.GiveUp {
		t.Errorf("%+v", spec)
	}
	again, _, err := source.Compile(*def(), harvesting)
	if err != nil {
		t.Fatal(err)
	}
	a, _ := spec.Fingerprint()
	b, _ := again.Fingerprint()
	if a != b || a == "" {
		t.Errorf("fingerprints %s and %s", a, b)
	}
}

func TestCompile_TwoPhases(t *testing.T) {
	d := def()
	twoPhase(d)
	spec, _, err := source.Compile(*d, harvesting)
	if err != nil {
		t.Fatal(err)
	}
	if !spec.TwoPhase() || spec.Items().Name != "fetch" || spec.Batching.IDs != 200 {
		t.Errorf("%+v", spec)
	}
}

// Every row breaks the definition in one way and names what must be said.
func TestCompile_Refuses(t *testing.T) {
	search := func(d *source.Definition) *source.Endpoint { return &d.Endpoints[0] }
	for _, c := range []struct {
		name  string
		spoil func(*source.Definition)
		want  string // path: part of the text
	}{
		{"no endpoints", func(d *source.Definition) { d.Endpoints = nil }, "endpoints: is required"},
		{"no search", func(d *source.Definition) { search(d).Usage = "COUNT" }, "endpoints: none has usage SEARCH"},
		{"no paging", func(d *source.Definition) { d.Pagination = nil }, "pagination: is required"},
		{"no base URL", func(d *source.Definition) { d.BaseURL = "" }, "baseUrl: is required"},
		{"no window", func(d *source.Definition) { d.Window = nil }, "window: is required for HARVEST: without it the source lists nothing, and no field of a query can be asked for; records are read by their ids: patra refresh"},
		{"plain http", func(d *source.Definition) { d.BaseURL = "http://api.example.org" }, "baseUrl: plain http needs"},
		{"file URL", func(d *source.Definition) { d.BaseURL = "file:///etc/passwd" }, "baseUrl: "},
		{"user in URL", func(d *source.Definition) { d.BaseURL = "https://a:b@example.org" }, "baseUrl: user"},
		{"source code", func(d *source.Definition) { d.Source = "De mo" }, "source: "},
		{"record type", func(d *source.Definition) { d.RecordType = "" }, "recordType: "},
		{"identity", func(d *source.Definition) { d.Identity = "ISBN" }, "identity: ISBN is not known"},

		{"long timeout", func(d *source.Definition) { d.HTTP.TotalTimeout = sec(121) }, "http.totalTimeout: 2m1s is not within"},
		{"Authorization", func(d *source.Definition) { d.HTTP.Headers = source.Headers{"authorization": new("x")} }, "http.headers.authorization: this header cannot be set"},
		{"Host", func(d *source.Definition) { search(d).Headers = source.Headers{"Host": new("x")} }, "endpoints.works.headers.Host: this header cannot be set"},
		{"Cookie", func(d *source.Definition) { search(d).Headers = source.Headers{"COOKIE": new("x")} }, "endpoints.works.headers.COOKIE: this header cannot be set"},
		{"ids without a way", func(d *source.Definition) { twoPhase(d); d.Endpoints[1].IDPattern = "[^,]*" }, "endpoints.fetch.idPattern: ids that do not match have no way"},
		{"lookup beside nothing", func(d *source.Definition) {
			twoPhase(d)
			d.Endpoints[1].Usage = "LOOKUP"
		}, "endpoints.fetch: is for ids that a DETAIL endpoint cannot be asked for"},
		{"lookup of what", func(d *source.Definition) {
			lookup(d)
			d.Endpoints[2].Path = "/one"
		}, "endpoints.one: a LOOKUP endpoint needs ${ids[0]}"},
		{"lookup without a date", func(d *source.Definition) {
			lookup(d)
			d.Endpoints[2].Response.UpdatedAt = nil
		}, "endpoints.one.response.updatedAt: is required"},
		{"no pattern", func(d *source.Definition) {
			lookup(d)
			d.Endpoints[1].IDPattern = "(["
		}, "endpoints.fetch.idPattern: error parsing regexp"},
		{"a search is never complete", func(d *source.Definition) { search(d).Response.Complete = true }, "endpoints.works.response.complete: belongs to a DETAIL endpoint"},
		{"namespaces of JSON", func(d *source.Definition) {
			search(d).Response.Namespaces = map[string]string{"dc": "http://purl.org/dc/elements/1.1/"}
		}, "endpoints.works.response.namespaces.dc: only XML has namespaces"},
		{"namespace of no prefix", func(d *source.Definition) {
			search(d).Format, search(d).Response.Namespaces = "XML", map[string]string{"a:b": "u"}
		}, `endpoints.works.response.namespaces["a:b"]: "a:b" is no prefix`},
		{"namespace without a name", func(d *source.Definition) {
			search(d).Format, search(d).Response.Namespaces = "XML", map[string]string{"dc": ""}
		}, "endpoints.works.response.namespaces.dc: is empty"},
		{"pattern of a search", func(d *source.Definition) { search(d).IDPattern = "x" }, "endpoints.works.idPattern: belongs to a DETAIL endpoint"},
		{"header twice", func(d *source.Definition) { d.HTTP.Headers = source.Headers{"X-A": new("1"), "x-a": nil} }, "http.headers.x-a: is given as X-A already"},
		{"header split", func(d *source.Definition) { d.HTTP.Headers = source.Headers{"X-A": new("b\r\nC: d")} }, "http.headers.X-A: a header holds no line break"},
		{"header template", func(d *source.Definition) { d.HTTP.Headers = source.Headers{"X-A": new("${page.sise}")} }, "http.headers.X-A: ${page.sise}: variable page.sise is not known: did you mean page.size?"},
		{"header of nobody", func(d *source.Definition) { d.HTTP.Headers = source.Headers{"X-A": new("${vars.contac}")} }, "http.headers.X-A: variable vars.contac is not known: did you mean vars.contact?"},
		{"endpoint of nobody", func(d *source.Definition) { search(d).Query["x"] = "${vars.contac}" }, "endpoints.works.query.x: variable vars.contac is not known: did you mean vars.contact?"},
		{"header with a secret", func(d *source.Definition) { d.HTTP.Headers = source.Headers{"X-A": new("${secret.key}")} }, "http.headers.X-A: ${secret.key}: variable secret.key is not known"},
		{"syntax of a template", func(d *source.Definition) { search(d).Query["x"] = "${1 +}" }, "endpoints.works.query.x: ${1 +}: unexpected token EOF"},
		{"loop in a template", func(d *source.Definition) { search(d).Query["x"] = "${1..9}" }, "endpoints.works.query.x: ${1..9}: operator .. does not belong in a template"},
		{"PUT", func(d *source.Definition) { search(d).Method = "PUT" }, "endpoints.works.method: PUT is not known"},
		{"form of a GET", func(d *source.Definition) { search(d).Form = map[string]string{"a": "b"} }, "endpoints.works.form: a GET has no form"},
		{"path with query", func(d *source.Definition) { search(d).Path = "/works?a=b" }, "endpoints.works.path: "},
		{"path upwards", func(d *source.Definition) { search(d).Path = "/../admin" }, "endpoints.works.path: "},
		{"format", func(d *source.Definition) { search(d).Format = "CSV" }, "endpoints.works.format: CSV is not known"},
		{"two searches", func(d *source.Definition) {
			e := d.Endpoints[0]
			e.Name = "other"
			d.Endpoints = append(d.Endpoints, e)
		}, "endpoints.works.default: works, other are all SEARCH endpoints: say of one of them that it is the default"},
		{"no items", func(d *source.Definition) { search(d).Response.Items = nil }, "endpoints.works.response.items: is required"},
		{"no id", func(d *source.Definition) { search(d).Response.ID = nil }, "endpoints.works.response.id: is required"},
		{"count without total", func(d *source.Definition) {
			e := d.Endpoints[0]
			e.Name = "count"
			e.Usage = "COUNT"
			e.Response = source.Response{}
			d.Endpoints = append(d.Endpoints, e)
		}, "endpoints.count.response.total: is required"},

		{"variable", func(d *source.Definition) { search(d).Query["rows"] = "${page.sise}" }, "endpoints.works.query.rows: ${page.sise}: variable page.sise is not known: did you mean page.size?"},
		{"function", func(d *source.Definition) { search(d).Query["x"] = "${dat(window.from)}" }, "endpoints.works.query.x: ${dat(window.from)}: function dat is not known: did you mean date?"},
		{"open brace", func(d *source.Definition) { search(d).Query["x"] = "${page.size" }, "endpoints.works.query.x: ${page.size: the closing } is missing"},
		{"empty expression", func(d *source.Definition) { search(d).Query["x"] = "${ }" }, "endpoints.works.query.x: ${ }: the expression is empty"},
		{"held", func(d *source.Definition) { search(d).Query["x"] = "${page.held.env}" }, "endpoints.works.query.x: page.held.env is not among"},
		{"ids in a search", func(d *source.Definition) { search(d).Query["x"] = "${join(ids, ',')}" }, "endpoints.works.query.x: ids are known to a DETAIL"},

		{"paging type", func(d *source.Definition) { d.Pagination.Type = "SCROL" }, "pagination.type: SCROL is not known: known are OFFSET, PAGE, TOKEN, URL, SCROLL, TIME, KEYSET; did you mean SCROLL?"},
		{"no end", func(d *source.Definition) { d.Pagination.End = nil }, "pagination.end: no end proof declared"},
		{"end of another type", func(d *source.Definition) { d.Pagination.End = []harvest.EndProof{harvest.EndNoURL} }, "pagination.end: end proof NO_URL does not fit"},
		{"rough total as end", func(d *source.Definition) {
			d.Pagination.Total, d.Pagination.End = "ROUGH", []harvest.EndProof{harvest.EndTotal}
		}, "pagination.end[0]: a total that is not EXACT ends no walk"},
		{"exact total without a path", func(d *source.Definition) { search(d).Response.Total = "" }, "endpoints.works.response.total: is required"},
		{"no token path", func(d *source.Definition) { search(d).Response.Token = "" }, "endpoints.works.response.nextToken: is required"},
		{"no URL path", links, "endpoints.works.response.nextUrl: is required"},
		{"repeat and proof", func(d *source.Definition) { d.Pagination.TokenRepeat = "END" }, "pagination.tokenRepeat: END does not fit"},
		{"a repeated link", func(d *source.Definition) { links(d); d.Pagination.TokenRepeat = "CONTINUE" }, "pagination.tokenRepeat: URL pages have no token"},
		{"state of what is not there", func(d *source.Definition) {
			d.Pagination.Type = "PAGE"
			d.Pagination.TokenRepeat = ""
			d.Pagination.TokenStateful = true
		}, "pagination.tokenStateful: PAGE pages have neither token nor next link"},
		{"life of what is not there", func(d *source.Definition) {
			d.Pagination.Type = "PAGE"
			d.Pagination.TokenRepeat = ""
			d.Pagination.TokenLifetime = sec(300)
		}, "pagination.tokenLifetime: PAGE pages have no token"},
		{"no life", func(d *source.Definition) { d.Pagination.TokenLifetime = sec(-1) }, "pagination.tokenLifetime: -1s is no time to live"},
		{"has more", func(d *source.Definition) { d.Pagination.End = append(d.Pagination.End, harvest.EndHasMore) }, "endpoints.works.response.hasMore: is required"},
		{"token not sent", func(d *source.Definition) { delete(search(d).Query, "cursor") }, "endpoints.works: paging TOKEN needs ${page.token}"},
		{"offset beside token", func(d *source.Definition) { search(d).Query["o"] = "${page.offset}" }, "endpoints.works: ${page.offset} does not go with paging TOKEN"},
		{"offset without order", func(d *source.Definition) {
			d.Pagination.Type, d.Pagination.TokenRepeat = "OFFSET", ""
			search(d).Query["cursor"] = "${page.offset}"
		}, "pagination.order: OFFSET without a snapshot needs a declared total order"},
		{"one reply of nobody knows how much", func(d *source.Definition) {
			*d.Pagination = source.PaginationConfig{Type: "TIME", Total: "ROUGH", End: []harvest.EndProof{harvest.EndOneReply}}
			delete(search(d).Query, "cursor")
		}, "pagination.maxItems: TIME needs it, an EXACT total or response.hasMore"},
		{"page size", func(d *source.Definition) { d.Pagination.PageSize = 0 }, "pagination.pageSize: 0 is below 1"},
		{"page over the wall", func(d *source.Definition) { d.Pagination.MaxItems = 99 }, "pagination.pageSize: 100 is more than the 99"},

		{"no batch size", func(d *source.Definition) { twoPhase(d); d.Batching = nil }, "batching.idBatchSize: is required"},
		{"no ids", func(d *source.Definition) { twoPhase(d); d.Endpoints[1].Form["id"] = "7" }, "endpoints.fetch: a DETAIL endpoint needs ${join(ids"},
		{"one id of many", func(d *source.Definition) { twoPhase(d); d.Endpoints[1].Form["id"] = "${path(ids[0])}" }, "batching.idBatchSize: is 200, but endpoint fetch sends one id"},
		{"page in a detail", func(d *source.Definition) { twoPhase(d); d.Endpoints[1].Form["p"] = "${page.no}" }, "endpoints.fetch.form.p: page.no is not known to a DETAIL"},
		{"details without update time", func(d *source.Definition) { twoPhase(d); d.Endpoints[1].Response.UpdatedAt = nil }, "endpoints.fetch.response.updatedAt: is required"},

		{"no key", func(d *source.Definition) { d.Window.Key = "" }, "window.key: is required"},
		{"precision", func(d *source.Definition) { d.Window.Precision = "HOUR" }, "window.precision: HOUR is not known"},
		{"day without zone", func(d *source.Definition) { d.Zone, d.Window.Precision = "", "DAY" }, "window.zone: is required"},
		{"zone", func(d *source.Definition) { d.Zone = "Mars/Olympus" }, "window.zone: \"Mars/Olympus\" is not a time zone"},
		{"bound", func(d *source.Definition) { d.Window.Bound = "" }, "window.bound: is required: one of CLOSED, OPEN"},
		{"to of a closed bound", func(d *source.Definition) {
			search(d).Query["filter"] = "from-index-date:${iso(window.from)},until-index-date:${iso(window.to)}"
		}, "endpoints.works: ${window.to} would ask for more"},
		{"window not sent", func(d *source.Definition) { search(d).Query["filter"] = "from-index-date:2020" }, "endpoints.works: the templates must ask for ${window.from}"},
		{"days for seconds", func(d *source.Definition) {
			search(d).Query["filter"] = "from-index-date:${date(window.from, '2006-01-02')},until-index-date:${iso(window.last)}"
		}, "endpoints.works.query.filter: layout '2006-01-02' of ${window.from} tells no hour, but window.precision is SECOND"},
		{"seconds for milliseconds", func(d *source.Definition) {
			d.Window.Precision = "MILLI"
			search(d).Query["filter"] = "from-index-date:${iso(window.from)},until-index-date:${date(window.last, '2006-01-02T15:04:05Z')}"
		}, "endpoints.works.query.filter: layout '2006-01-02T15:04:05Z' of ${window.last} tells no millisecond"},
		{"half of a layout", func(d *source.Definition) {
			search(d).Query["filter"] = "from-index-date:${iso(window.from)},until-index-date:${date(window.last, '2006-01-DDT15:04:05')}"
		}, "endpoints.works.query.filter: layout '2006-01-DDT15:04:05' of ${window.last} tells no day"},
		{"a layout that is none", func(d *source.Definition) {
			search(d).Query["filter"] = "from-index-date:${iso(window.from)},until-index-date:${date(window.last, 'YYYY-MM-DD')}"
		}, `endpoints.works.query.filter: ${date(window.last, 'YYYY-MM-DD')}: layout "YYYY-MM-DD" gives the same text for every instant`},
		{"minStep below the grain", func(d *source.Definition) { d.Window.MinStep = source.Duration(time.Millisecond) }, "window.minStep: 1ms is below 1s"},
		{"step of half days", func(d *source.Definition) {
			d.Window.Precision = "DAY"
			d.Window.Align = sec(86400)
			d.Window.MinStep = sec(86400)
			d.Window.Step = sec(129600)
		}, "window.step: 36h0m0s is not a multiple of 24h0m0s"},
		{"minStep over step", func(d *source.Definition) { d.Window.MinStep = sec(7200) }, "window.minStep: 2h0m0s is longer than the step"},
		{"target", func(d *source.Definition) { d.Window.Target = 5000 }, "window.target: 5000 records per slice are more than the 4900"},

		{"updatedAt", func(d *source.Definition) { d.Window.UpdatedAt = "SOMEHOW" }, "window.updatedAt: SOMEHOW is not known"},
		{"no update time at all", func(d *source.Definition) {
			d.Window.UpdatedAt, search(d).Response.UpdatedAt = "NONE", nil
		}, "window.updatedAt: NONE allows no HARVEST"},
		{"path without picks", func(d *source.Definition) { search(d).Response.UpdatedAt = nil }, "endpoints.works.response.updatedAt: is required"},
		{"picks without path", func(d *source.Definition) { d.Window.UpdatedAt = "WINDOW" }, "endpoints.works.response.updatedAt: is given although"},
		{"pick without a date name", func(d *source.Definition) { search(d).Response.UpdatedAt[0].Key = "" }, "endpoints.works.response.updatedAt[0]: needs key"},
		{"pick of another date", func(d *source.Definition) { search(d).Response.UpdatedAt[0].Key = "deposited" }, "endpoints.works.response.updatedAt[0]: is the date deposited, but the window is of indexed"},
		{"path of another date", func(d *source.Definition) { search(d).Response.UpdatedAt[0].Path = "deposited.date-time" }, "endpoints.works.response.updatedAt[0]: reads deposited.date-time, which is the date deposited"},
		{"filter of another date", func(d *source.Definition) {
			search(d).Query["filter"] = "from-update-date:${iso(window.from)},until-index-date:${iso(window.last)}"
		}, "endpoints.works.query.filter: from-update-date filters by deposited, but the window is of indexed"},
		{"filter not declared", func(d *source.Definition) {
			search(d).Query["filter"] = "since:${iso(window.from)},until:${iso(window.last)}"
		}, "endpoints.works: no word of window.filters occurs"},
		{"no filters", func(d *source.Definition) { d.Window.Filters = nil }, "window.filters: is required"},

		{"rate over the limit", func(d *source.Definition) { d.RateLimit.QPS = 2.8 }, "rateLimit: 2.8 a second with a burst of 1, arriving up to 50ms early or late, exceeds the provider's limit of 3 in 1s; next: qps: 2.7 or less"},
		{"a rate that leaves no room for the way", func(d *source.Definition) { d.RateLimit.Limit, d.RateLimit.QPS = 20, 19 }, "rateLimit: 19 a second with a burst of 1, arriving up to 50ms early or late, exceeds the provider's limit of 20 in 1s; next: qps: 18 or less"},
		{"a longer way", func(d *source.Definition) { d.RateLimit.QPS, d.RateLimit.Jitter = 2.7, sec(1)/5 }, "rateLimit: 2.7 a second with a burst of 1, arriving up to 200ms early or late, exceeds"},
		{"no jitter to speak of", func(d *source.Definition) { d.RateLimit.Jitter = sec(1) / 1000 }, "rateLimit.jitter: 1ms is not within [5ms, 5s]"},
		{"burst over the limit", func(d *source.Definition) { d.RateLimit.Burst = 2 }, "rateLimit: 2 a second with a burst of 2, arriving up to 50ms early or late, exceeds the provider's limit of 3 in 1s; next: qps: 1 or less"},
		{"burst without a limit", func(d *source.Definition) { *d.RateLimit = source.Rate{QPS: 5, Burst: 10} }, "rateLimit.burst: is 10, but without"},
		{"unknown scope", func(d *source.Definition) { d.RateLimit.Scope = "PER_DAY" }, "rateLimit.scope: "},
		{"keys where there are none", func(d *source.Definition) { d.RateLimit.Scope, d.Auth = source.RatePerKey, nil }, "rateLimit.scope: PER_KEY belongs to a source with auth"},
		{"below zero", func(d *source.Definition) { d.RateLimit.QPS = -1 }, "rateLimit.qps: -1 is below zero"},
		{"attempts", func(d *source.Definition) { d.Retry.Attempts = 99 }, "retry.maxAttempts: 99 is not within"},
		{"waits", func(d *source.Definition) { d.Retry.Max = source.Duration(time.Millisecond) }, "retry.max: 1ms is below"},

		{"level", func(d *source.Definition) { d.Faults[0].Level = "L9" }, "faults[0].level: L9 is not known"},
		{"reaction", func(d *source.Definition) { d.Faults[0].Reaction = "WAIT" }, "faults[0].reaction: WAIT is not known"},
		{"a rate that never gives way", func(d *source.Definition) { d.RateLimit.Adapt = &source.AdaptConfig{Factor: 1} }, "rateLimit.adapt.factor: 1 is not within [0.1, 0.9]"},
		{"waits that shrink", func(d *source.Definition) { d.Retry = &source.Retry{Factor: 0.5} }, "retry.factor: 0.5 is not within [1, 10]"},
		{"waits spread over all", func(d *source.Definition) { d.Retry = &source.Retry{Jitter: 101} }, "retry.jitter: 101 is not within [1, 100]"},
		{"a breaker that never opens", func(d *source.Definition) { d.Retry = &source.Retry{BreakAfter: 101} }, "retry.breakAfter: 101 is not within [1, 100]"},
		{"a rest of no time", func(d *source.Definition) { d.Retry = &source.Retry{BreakRest: 1} }, "retry.breakRest: 1ns is shorter than a second"},
		{"a longest rest below the first", func(d *source.Definition) {
			d.Retry = &source.Retry{BreakRest: source.Duration(time.Minute), BreakMost: source.Duration(time.Second)}
		}, "retry.breakMost: 1s is shorter than the first rest"},
		{"a priority after all", func(d *source.Definition) { d.Window.Priority = 1001 }, "window.priority: 1001 is not within [1, 1000]"},
		{"a quota all kept back", func(d *source.Definition) { d.RateLimit.QuotaReserve = new(91) }, "rateLimit.quotaReserve: 91 is not within [0, 90]"},
		{"more shares than there is", func(d *source.Definition) { d.RateLimit.QuotaShares = &source.QuotaShares{Harvest: 60, Update: 41} }, "rateLimit.quotaShares: the shares of HARVEST, UPDATE come to 101 percent"},
		{"nothing left for one", func(d *source.Definition) { d.RateLimit.QuotaShares = &source.QuotaShares{Search: 100} }, "rateLimit.quotaShares: SEARCH have all of it"},
		{"a rate held after it is cut", func(d *source.Definition) { d.RateLimit.Adapt = &source.AdaptConfig{HoldAt: 0.5} }, "rateLimit.adapt.holdAt: 0.5 is above cutAt, 0.25"},
		{"cuts below nothing", func(d *source.Definition) { d.Cuts = &source.Cuts{Throttled: -1} }, "cuts.throttled: is below 0"},
		{"cuts over every page", func(d *source.Definition) { d.Cuts = &source.Cuts{FailedPercent: 101} }, "cuts.failedPercent: 101 is not within [1, 100]"},
		{"cuts in the wrong order", func(d *source.Definition) { d.Cuts = &source.Cuts{PagesSoft: 9, PagesHard: 8} }, "cuts.pagesHard: 8 is below pagesSoft, 9"},
		{"retry of what is refused", func(d *source.Definition) { d.Faults[0].Reaction = "RETRY" }, "faults[0].reaction: a request that is retried is L1"},
		{"new walk for what is refused", func(d *source.Definition) { d.Faults[0].Reaction = "RESTART" }, "faults[0].reaction: a walk that is begun again is L1"},
		{"body pattern", func(d *source.Definition) { d.Faults[0].Body = "(" }, "faults[0].body: "},
		{"match pattern", func(d *source.Definition) { d.Faults[0].Match = "[" }, "faults[0].match: "},
		{"signal", func(d *source.Definition) { d.Faults[0].Signal = "ops" }, "faults[0].signal: ops is not a signal of an endpoint it can come from: did you mean oops?"},
		{"endpoint", func(d *source.Definition) { d.Faults[0].Endpoint = "journals" }, "faults[0].endpoint: journals is not an endpoint"},
		{"no condition", func(d *source.Definition) { d.Faults[0].Signal = "" }, "faults[0]: has no condition"},
		{"code", func(d *source.Definition) { d.Faults[0].Code = "Oh no" }, "faults[0].code: "},
		{"status", func(d *source.Definition) { d.Faults[0].Status = []int{42} }, "faults[0].status: 42 is not"},

		{"field", func(d *source.Definition) { d.Mapping.Fields[0].Name = "titel" }, "mapping.fields.titel: is not a field of the standard record: did you mean title?"},
		{"kind of a list", func(d *source.Definition) {
			d.Mapping.Fields[0].Name, d.Mapping.Fields[0].Kind = "keywords", "TEXT"
		}, "mapping.fields.keywords: is a LIST, mapped as TEXT: write {list: PATH} in place of the path"},
		{"kind", func(d *source.Definition) { d.Mapping.Fields[0].Kind = "LIST" }, "mapping.fields.title: is a TEXT, mapped as LIST"},
		{"pattern", func(d *source.Definition) { d.Mapping.Fields[0].Pattern = "[a-" }, "mapping.fields.title.pattern: is no regular expression: error parsing regexp: missing closing ]: `[a-`"},
		{"empty value", func(d *source.Definition) { d.Mapping.Fields[0].Allowed = []string{"a", ""} }, "mapping.fields.title.allowed: has an empty value"},
		{"values of a number", func(d *source.Definition) {
			d.Mapping.Fields = append(d.Mapping.Fields, source.Field{Name: "references_count", Kind: source.FieldNumber, Count: []string{"a"}, Allowed: []string{"1"}})
		}, "mapping.fields.references_count.allowed: goes with a text or a list of texts"},
		{"clean", func(d *source.Definition) { d.Mapping.Fields[0].From[0].Clean = []string{"txt"} }, "mapping.fields.title[0]: clean txt is not known: did you mean text?"},
		{"format of a date", func(d *source.Definition) { d.Mapping.Fields[0].From[0].Format = "YYYY" }, "mapping.fields.title[0]: format YYYY"},
		{"count of another kind", func(d *source.Definition) { d.Mapping.Fields[0].Count = []string{"a"} }, "mapping.fields.title.count: makes a NUMBER, and alone"},
		{"each without a path", func(d *source.Definition) {
			d.Mapping.Fields = []source.Field{{Name: "authors", Kind: "OBJECTS", Each: []string{"a", ""}, Fields: []source.Field{{Name: "name", Kind: "TEXT", From: []source.Pick{{Path: "n"}}}}}}
		}, "mapping.fields.authors: needs each and fields"},
		{"self and values", func(d *source.Definition) {
			d.Mapping.Retracted = []source.Presence{{Path: "a", In: []string{"b"}, Self: true}}
		}, "mapping.retracted[0]: self and in exclude each other"},
		{"required", func(d *source.Definition) { d.Mapping.Required = []string{"doi"} }, "mapping.required[0]: doi is not a mapped field"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := def()
			c.spoil(d)
			spec, _, err := source.Compile(*d, harvesting)
			violations, ok := errors.AsType[source.Violations](err)
			if !ok || spec != nil {
				t.Fatalf("accepted: %v", err)
			}
			for _, v := range violations {
				if strings.HasPrefix(v.String(), c.want) {
					return
				}
			}
			t.Errorf("want %q, got:\n%v", c.want, err)
		})
	}
}

// TestCompile_EveryPagingTypeSendsItsPlace: a search that does not say which page it
// wants is refused, but where the source gives the whole address or all at once.
func TestCompile_EveryPagingTypeSendsItsPlace(t *testing.T) {
	for _, dict := range source.Dictionary() {
		if dict.Code != source.DictPaging {
			continue
		}
		for _, item := range dict.Items {
			d := def()
			d.Pagination.Type = harvest.PagingType(item.Code)
			delete(d.Endpoints[0].Query, "cursor")
			_, _, err := source.Compile(*d, harvesting)
			needs := d.Pagination.Type != harvest.PageURL && d.Pagination.Type != harvest.PageTime
			if got := strings.Contains(fmt.Sprint(err), "endpoints.works: paging "+item.Code+" needs ${page."); got != needs {
				t.Errorf("%s: %v", item.Code, err)
			}
		}
	}
}

// TestR22_LinksMayBeStateful as tokens may.
// A date may be as coarse as the precision, and date and time may be sent apart.
func TestCompile_LayoutsAsFineAsThePrecision(t *testing.T) {
	for filter, precision := range map[string]harvest.Precision{
		"from-index-date:${date(window.from, '2006/01/02')},until-index-date:${date(window.last, '20060102')}":                                                                   "DAY",
		"from-index-date:${date(window.from, '2006-01-02')} ${date(window.from, '15:04:05')},until-index-date:${epoch(window.last)}":                                             "SECOND",
		"from-index-date:${iso(window.from)},until-index-date:${page.first ? date(window.last, '2006-01-02T15:04:05.000') : date(window.last, '2006-01-02T15:04:05.000Z07:00')}": "MILLI",
		"from-index-date:${iso(window.from)},until-index-date:${window.last}":                                                                                                    "MICRO",
	} {
		d := def()
		d.Window.Precision = precision
		if precision == harvest.PrecisionDay {
			d.Window.Align = sec(86400)
			d.Window.MinStep = sec(86400)
			d.Window.Step = sec(86400)
		}
		d.Endpoints[0].Query["filter"] = filter
		mustCompile(t, d, harvest.Harvest)
	}
}

func TestR22_LinksMayBeStateful(t *testing.T) {
	d := def()
	links(d)
	d.Endpoints[0].Response.URL, d.Pagination.TokenStateful = "next", true
	spec, _, err := source.Compile(*d, harvesting)
	if err != nil || !spec.Paging.Stateful {
		t.Errorf("compiled to %+v, %v", spec, err)
	}
}

func TestCompile_ReportsAllViolations(t *testing.T) {
	d := def()
	d.BaseURL = ""
	d.Window.Bound = ""
	d.RateLimit.QPS = 9
	d.Faults[0].Level = ""
	d.Identity = "x"
	_, _, err := source.Compile(*d, harvesting)
	violations, _ := errors.AsType[source.Violations](err)
	if len(violations) != 5 {
		t.Errorf("%d violations:\n%v", len(violations), err)
	}
}

func TestCompile_MissingOptionalDimensionsDefaultWithWarning(t *testing.T) {
	for _, c := range []struct {
		path string
		drop func(*source.Definition)
	}{
		{"http", func(d *source.Definition) { d.HTTP = nil }},
		{"retry", func(d *source.Definition) { d.Retry = nil }},
		{"rateLimit", func(d *source.Definition) { d.RateLimit = nil }},
		{"mapping", func(d *source.Definition) { d.Mapping = source.Mapping{} }},
		{"window.safetyLag", func(d *source.Definition) { d.Window.SafetyLag = nil }},
		{"window.step", func(d *source.Definition) { d.Window.Step = 0 }},
		{"window.target", func(d *source.Definition) { d.Window.Target = 0 }},
		{"window.updatedAt", func(d *source.Definition) { d.Window.UpdatedAt = "" }},
		{"pagination.maxPages", func(d *source.Definition) { d.Pagination.MaxPages = 0 }},
		{"pagination.tokenRepeat", func(d *source.Definition) { d.Pagination.TokenRepeat = "" }},
		{"rateLimit.burst", func(d *source.Definition) { d.RateLimit.Burst = 0 }},
		{"identity", func(d *source.Definition) { d.Identity = "" }},
	} {
		d := def()
		c.drop(d)
		spec, warnings, err := source.Compile(*d, harvesting)
		if err != nil {
			t.Errorf("%s: %v", c.path, err)
			continue
		}
		if len(warnings) != 1 || warnings[0].Path != c.path {
			t.Errorf("%s: warnings %v", c.path, warnings)
		}
		if spec.Rate.QPS <= 0 || spec.Rate.Burst != 1 || spec.Retry.Attempts != 5 || spec.HTTP.MaxBody == 0 || spec.Window.SafetyLag.D() != 10*time.Minute || spec.Window.Target <= 0 {
			t.Errorf("%s: %+v", c.path, spec)
		}
	}
}

func TestCompile_UpdateNeedsNoWindow(t *testing.T) {
	d := def()
	d.Window = nil
	if _, _, err := source.Compile(*d, source.Trigger{Operation: harvest.Update}); err != nil {
		t.Error(err)
	}
}

func TestCompile_NoUpdateTimeAllowsBackfill(t *testing.T) {
	d := def()
	d.Window.UpdatedAt, d.Endpoints[0].Response.UpdatedAt = "NONE", nil
	if _, _, err := source.Compile(*d, source.Trigger{Operation: harvest.Backfill}); err != nil {
		t.Error(err)
	}
}

// TestR12_UnknownZoneOverlapsByADay: nobody says whose days the source's are, so
// that each is read again with the next.
func TestR12_UnknownZoneOverlapsByADay(t *testing.T) {
	for _, c := range []struct {
		overlap *source.Duration
		want    string
	}{
		{nil, ""},
		{new(sec(2 * 86400)), ""},
		{new(sec(3600)), "window.overlap: 1h0m0s is less than a day, though the zone is unknown"},
	} {
		d := def()
		d.Window.Zone, d.Window.Overlap = "unknown", c.overlap
		spec, _, err := source.Compile(*d, harvesting)
		if c.want != "" {
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
			continue
		}
		want := source.Duration(24 * time.Hour)
		if c.overlap != nil {
			want = *c.overlap
		}
		if err != nil {
			t.Fatal(err)
		}
		if spec.Window.Zone != "UTC" || spec.Window.Overlap != want {
			t.Errorf("zone %s, overlap %s", spec.Window.Zone, spec.Window.Overlap.D())
		}
	}
}

func TestCompile_WindowDateAllowsHarvest(t *testing.T) {
	d := def()
	d.Window.UpdatedAt, d.Endpoints[0].Response.UpdatedAt = "WINDOW", nil
	if _, _, err := source.Compile(*d, harvesting); err != nil {
		t.Error(err)
	}
}

// The date may be named by a parameter, beside the bounds or by a constant.
func TestCompile_FindsTheFilterHoweverItIsSent(t *testing.T) {
	for _, c := range []struct {
		query map[string]string
		want  string
	}{
		{map[string]string{"updated_since": "${iso(window.from)}", "until": "${iso(window.last)}"}, ""},
		{map[string]string{"q": "updated_since:[${iso(window.from)} TO ${iso(window.last)}]", "sort": "created_since"}, ""},
		{map[string]string{"datetype": "updated_since", "mindate": "${iso(window.from)}", "maxdate": "${iso(window.last)}"}, ""},
		{map[string]string{"datetype": "created_since", "mindate": "${iso(window.from)}", "maxdate": "${iso(window.last)}"}, "created_since filters by created"},
		{map[string]string{"created_since": "${iso(window.from)}", "until": "${iso(window.last)}"}, "created_since filters by created"},
		{map[string]string{"not_updated_since": "${iso(window.from)}", "until": "${iso(window.last)}"}, "no word of window.filters"},
	} {
		d := def()
		d.Window.Filters = map[string]string{"updated_since": "indexed", "created_since": "created"}
		q := d.Endpoints[0].Query
		delete(q, "filter")
		maps.Copy(q, c.query)
		_, _, err := source.Compile(*d, harvesting)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%v: %v", c.query, err)
		}
	}
}

// R37's own example, and what just fits.
func TestCompile_RateTable(t *testing.T) {
	for _, c := range []struct {
		limit  int
		window time.Duration
		qps    float64
		burst  int
		ok     bool
	}{
		{10, time.Second, 5, 10, false},
		{15, time.Second, 5, 10, true},
		{3, time.Second, 2, 1, true},
		{3, time.Second, 3, 0, false}, // burst 1 if none is declared
		{60, time.Minute, 1, 1, false},
		{61, time.Minute, 1, 1, true},
		{1, time.Second, 0, 1, true}, // one after the other has gone
		{1, time.Second, 0, 2, false},
		{3, time.Second, 2.7, 1, true}, // evenly spaced (R91)
		{3, time.Second, 2.73, 1, false},
		{10, time.Second, 9, 1, true},
		{10, time.Second, 9.1, 1, false},
		{20, time.Second, 19, 1, false}, // no room for the way
		{20, time.Second, 18, 1, true},
		{20, time.Second, 16, 4, false},
		{2, time.Second, 0, 0, true},
		{0, 0, 100, 1, true},
		{0, 0, 100, 2, false},
	} {
		d := def()
		*d.RateLimit = source.Rate{Limit: c.limit, Window: source.Duration(c.window), QPS: c.qps, Burst: c.burst}
		spec, _, err := source.Compile(*d, harvesting)
		if (err == nil) != c.ok {
			t.Errorf("%+v: %v", c, err)
		}
		if err == nil && spec.Rate.QPS <= 0 {
			t.Errorf("%+v: qps %v means no bound", c, spec.Rate.QPS)
		}
	}
}

func TestCompile_BindsVariables(t *testing.T) {
	d := def()
	d.Endpoints[0].Query["mailto"] = "${vars.contact}"
	_, warnings, err := source.Compile(*d, harvesting)
	if err != nil || len(warnings) != 1 || !strings.Contains(warnings[0].Text, "vars.contact") {
		t.Errorf("%v %v", warnings, err)
	}
	spec, warnings, err := source.Compile(*d, source.Trigger{Operation: harvest.Harvest, Vars: map[string]string{"contact": "a@b.org", "secret": "x"}})
	if err != nil || len(warnings) != 0 {
		t.Fatalf("%v %v", warnings, err)
	}
	if diff := cmp.Diff(map[string]string{"contact": "a@b.org"}, spec.Vars); diff != "" {
		t.Error(diff)
	}
}

func TestCompile_LeavesTheDefinitionAlone(t *testing.T) {
	d := def()
	d.Pagination.Type, d.Faults[0].Level = "cursor", "rejected"
	spec, _, err := source.Compile(*d, harvesting)
	if err != nil {
		t.Fatal(err)
	}
	if d.Pagination.Type != "cursor" || d.Faults[0].Level != "rejected" || spec.Faults[0].Level != harvest.Rejected {
		t.Errorf("%s %s %s", d.Pagination.Type, d.Faults[0].Level, spec.Faults[0].Level)
	}
}

func TestSize_RoundTrip(t *testing.T) {
	for in, want := range map[string]source.Size{"32MiB": 32 << 20, "1536": 1536, "2 KiB": 2048, "1GiB": 1 << 30, "7B": 7} {
		var got, again source.Size
		if err := got.UnmarshalText([]byte(in)); err != nil || got != want {
			t.Errorf("%s: %d %v", in, got, err)
		}
		b, err := got.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		if err := again.UnmarshalText(b); err != nil || again != want {
			t.Errorf("%s again: %d %v", b, again, err)
		}
	}
	var s source.Size
	for _, in := range []string{"", "-1", "MiB", "1e3", "9999999GiB", "5 apples"} {
		if err := s.UnmarshalText([]byte(in)); err == nil {
			t.Errorf("%q accepted", in)
		}
	}
}

// TestCompile_OlderTemplatesAreReadAndNoted: a pack from before rules had the
// language of requests goes on, and lint says how it is written today.
func TestCompile_OlderTemplatesAreReadAndNoted(t *testing.T) {
	d := def()
	d.Query = &source.QueryConfig{
		Capabilities: []query.Capability{{Field: "type", Ops: []query.Op{query.OpTerm, query.OpIn}}},
		Rules: []query.Rule{
			{Field: "type", Op: query.OpTerm, Emit: query.EmitParams, Params: map[string][]string{"filter": {"type:{{value|lower|filter}}"}}},
			{Field: "type", Op: query.OpIn, Emit: query.EmitParams, ItemTemplate: "type:{{value|filter}}", Joiner: ",", Params: map[string][]string{"filter": {"{{items}}"}}},
		},
		Params: []query.ParamMap{{StdKey: "filter", Name: "filter", Joiner: ",", Transform: "lower"}},
	}
	d.Endpoints[0].Query["filter"] += "${query.filter == '' ? '' : ',' + query.filter}"
	asked := harvesting
	asked.Query = "type:Review"
	spec, warnings, err := source.Compile(*d, asked)
	if err != nil {
		t.Fatal(err)
	}
	if got := spec.Query.Values["filter"]; got != "type:review" {
		t.Errorf("the selection is %s", got)
	}
	want := []source.Warning{
		{Path: "query.rules[0].params.filter[0]", Text: "is in an older form; today it is written type:${filter(lower(value))}"},
		{Path: "query.rules[1].itemTemplate", Text: "is in an older form; today it is written type:${filter(value)}"},
		{Path: "query.rules[1].params.filter[0]", Text: "is in an older form; today it is written ${items}"},
		{Path: "query.params[0].transform", Text: "is in an older form; today it is written ${lower(value)}"},
	}
	if diff := cmp.Diff(want, warnings); diff != "" {
		t.Error(diff)
	}
}
