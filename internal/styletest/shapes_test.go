package styletest

import (
	"testing"
	"time"

	"github.com/papertrace/patra/internal/sim"
)

const (
	byToken    = `pagination: {type: TOKEN, pageSize: 20, total: ROUGH, end: NO_TOKEN}` + "\n"
	tillEmpty  = `pagination: {type: OFFSET, pageSize: 20, snapshot: true, total: ROUGH, end: EMPTY_PAGE}` + "\n"
	nextToken  = "nextToken: next_token\n"
	sendToken  = "token: ${page.token}\n"
	sendOffset = "offset: ${page.offset}\n"
)

// shapes are the ways in which a reply says what it says, and an item what it is
// (P3, P7, P9, P10, P13, P14, P28, P30, P31, P33, P35; R57, R60, R61).
var shapes = []row{
	{
		name:     "envelope: an array",
		oracle:   sim.GenericStyle{Paging: "offset", Envelope: "array", Total: "header"},
		query:    sendOffset,
		response: "items: $\ntotal: header:X-Total-Count\nsignals:",
	},
	{
		name:   "envelope: messages, empty and failed by their status",
		oracle: sim.GenericStyle{Paging: "offset", Envelope: "messages", Failure: "status"},
		pack: tillEmpty + `faults:
  - {code: no_records, body: '"status":"no posts found"', reaction: EMPTY}
  - {code: backend_failed, body: '"status":"error', level: L1}
`,
		query:    sendOffset,
		response: "items: collection\ntotal: messages[0].total",
		under:    []sim.Fault{sim.Error200},
		claim:    sawEmpty,
	},
	{
		name:     "empty: no such key",
		oracle:   sim.GenericStyle{Paging: "offset", Empty: "missing"},
		pack:     tillEmpty,
		query:    sendOffset,
		response: "root: total",
		under:    []sim.Fault{sim.Error200},
		claim:    sawEmpty,
	},
	{
		name:     "empty: null",
		oracle:   sim.GenericStyle{Paging: "offset", Empty: "null"},
		pack:     tillEmpty,
		query:    sendOffset,
		response: "root: total",
		under:    []sim.Fault{sim.Error200},
		claim:    sawEmpty,
	},
	{
		name:   "R61 empty: an item that is an error",
		oracle: sim.GenericStyle{Paging: "offset", Empty: "error-item", Failure: "item"},
		pack: tillEmpty + `faults:
  - {code: no_records, body: '"error":"Result set was empty"', reaction: EMPTY}
  - {code: backend_failed, body: '"error":"backend unavailable"', level: L1}
`,
		query: sendOffset,
		under: []sim.Fault{sim.Error200},
		claim: sawEmpty,
	},
	{
		name:     "failure: plain text with status 200",
		oracle:   sim.GenericStyle{Paging: "token", Failure: "text"},
		pack:     byToken,
		query:    sendToken,
		response: nextToken,
		under:    []sim.Fault{sim.Error200},
	},
	{
		name:     "total: on the first page only",
		oracle:   sim.GenericStyle{Paging: "token", Total: "first"},
		pack:     `pagination: {type: TOKEN, pageSize: 20, total: EXACT, end: NO_TOKEN}`,
		query:    sendToken,
		response: nextToken,
		under:    []sim.Fault{sim.EmptyMiddlePage, sim.ShortPage},
	},
	{
		name:    "total: text with commas",
		oracle:  sim.GenericStyle{Paging: "offset", End: "total", Total: "text"},
		query:   sendOffset,
		records: 1030,
		pack:    `pagination: {type: OFFSET, pageSize: 250, order: "updated,id", total: EXACT, end: TOTAL}`,
	},
	{
		name:     "total: in a header",
		oracle:   sim.GenericStyle{Paging: "offset", End: "total", Total: "header"},
		query:    sendOffset,
		response: "total: header:X-Total-Count",
	},
	{
		name:     "total: absent, nothing counted",
		oracle:   sim.GenericStyle{Paging: "token", Total: "absent"},
		pack:     byToken,
		query:    sendToken,
		response: nextToken + "total:",
		count:    "none",
	},
	{
		name:     "total: wrong, a hint and no more",
		oracle:   sim.GenericStyle{Paging: "token", Total: "wrong"},
		pack:     byToken,
		query:    sendToken,
		response: nextToken,
	},
	{
		name:     "deletions: by a flag",
		oracle:   sim.GenericStyle{Paging: "token", Deletions: "flag", Flags: "bool"},
		pack:     byToken,
		query:    sendToken,
		response: nextToken + "deleted: deleted",
		rounds:   2,
	},
	{
		name:     "deletions: by Y and N",
		oracle:   sim.GenericStyle{Paging: "token", Deletions: "flag", Flags: "yn"},
		pack:     byToken,
		query:    sendToken,
		response: nextToken + "deleted: {path: deleted, in: [Y]}",
		rounds:   1,
	},
	{
		name:     "ids: put together",
		oracle:   sim.GenericStyle{Paging: "token", ID: "composite"},
		pack:     byToken,
		query:    sendToken,
		response: nextToken + `id: {all: [src, num], sep: ":"}`,
		rounds:   1,
	},
	{
		name:     "numbers: as text",
		oracle:   sim.GenericStyle{Paging: "token", Numbers: "text", Total: "text"},
		pack:     byToken,
		query:    sendToken,
		response: nextToken,
		rounds:   1,
	},
	{
		name:     "dates: without a zone",
		oracle:   sim.GenericStyle{Paging: "token", Dates: "zoneless"},
		pack:     byToken,
		query:    sendToken,
		response: nextToken,
		rounds:   1,
	},
	{
		name:     "dates: days",
		oracle:   sim.GenericStyle{Paging: "token", Dates: "day", Bounds: "closed"},
		pack:     dayWindow + byToken,
		query:    "from: ${date(window.from, '2006-01-02')}\nto: ${date(window.last, '2006-01-02')}\n" + sendToken,
		response: nextToken,
		count:    dayCount,
		rounds:   1,
	},
	{
		name:   "R57 dates: none",
		oracle: sim.GenericStyle{Paging: "token", Dates: "none"},
		pack: byToken + `window:
  key: updated
  filters: {from: updated, to: updated}
  precision: SECOND
  bound: OPEN
  updatedAt: WINDOW
  safetyLag: 10m
  baseline: 30d
  step: 30d
  minStep: 1h
`,
		query:    sendToken,
		response: nextToken + "updatedAt:",
		rounds:   2,
	},
	{
		name:     "order: newest first",
		oracle:   sim.GenericStyle{Paging: "token", Order: "desc"},
		pack:     byToken,
		query:    sendToken,
		response: nextToken,
		rounds:   1,
	},
	{
		name:     "gzip",
		oracle:   sim.GenericStyle{Paging: "token", Encoding: "gzip"},
		pack:     byToken,
		query:    sendToken,
		response: nextToken,
		under:    []sim.Fault{sim.TruncatedBody, sim.ResetMidBody, sim.BadJSON},
	},
	{
		name:     "R59 redirect 301 to the same host",
		oracle:   sim.GenericStyle{Paging: "token", Redirect: "301"},
		pack:     byToken + "http: {redirects: {max: 1}}\n",
		query:    sendToken,
		response: nextToken,
		under:    []sim.Fault{sim.HTTP500, sim.ServedLost},
	},
	{
		name:     "R59 redirect 308 to the same host",
		oracle:   sim.GenericStyle{Paging: "token", Redirect: "308"},
		pack:     byToken + "http: {redirects: {max: 3}}\n",
		query:    sendToken,
		response: nextToken,
	},
	{
		name:     "R60 Retry-After on every 200 does not stall",
		oracle:   sim.GenericStyle{Paging: "token", RetryAfter: 3600},
		pack:     byToken,
		query:    sendToken,
		response: nextToken,
		paced:    true,
		claim: func(t *testing.T, r *run) {
			if d := time.Duration(r.rep.Duration) * time.Millisecond; d > time.Minute {
				t.Errorf("took %s", d)
			}
		},
	},
	{
		name:     "R61 429 that passes is waited for",
		oracle:   sim.GenericStyle{Paging: "token", Reset: "seconds"},
		pack:     byToken + planFaults,
		query:    sendToken,
		response: nextToken,
		paced:    true,
		under:    []sim.Fault{sim.HTTP429, sim.HTTP429RetryAfter},
	},
}

// sawEmpty claims that a page without items was served and understood, and that
// an hour in which nothing happened is proven as well.
func sawEmpty(t *testing.T, r *run) {
	empty := func() (n int) {
		for _, q := range r.Sim.Requests() {
			if q.Status == 200 && q.Records == 0 && q.Params.Get("only") != "count" {
				n++
			}
		}
		return n
	}
	if empty() != 1 {
		t.Errorf("%d empty pages, want the last:\n%s", empty(), r.asked())
	}
	r.Sim.Advance(time.Minute)
	before := *r.rep.Watermark
	if err := r.harvest(); err != nil || r.rep.Status != "COMPLETED" || !r.rep.Watermark.After(before) {
		t.Errorf("a minute with nothing in it: %+v, %v", r.rep, err)
	}
	if empty() != 2 {
		t.Errorf("%d empty pages, want two:\n%s", empty(), r.asked())
	}
	r.equal()
}
