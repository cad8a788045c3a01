package styletest

import (
	"testing"

	"github.com/papertrace/patra/internal/sim"
)

// What a row says of itself where the pack makes patra ask twice.
func confirmed(pages int) int { return pages / 2 } // the second walk of PAGE (R25), and of links that cannot be probed (R64)

// paging are the ways in which pages follow each other, and those in which a walk
// says that it is over (P1, P4, P5, P6, P12, P22, P29, P32; R22 to R25, R58).
var paging = []row{
	{
		name:   "OFFSET, total",
		oracle: sim.GenericStyle{Paging: "offset", End: "total"},
		query:  "offset: ${page.offset}",
	},
	{
		name:   "OFFSET, empty page",
		oracle: sim.GenericStyle{Paging: "offset"},
		pack:   `pagination: {type: OFFSET, pageSize: 20, order: "updated,id", total: ROUGH, end: EMPTY_PAGE}`,
		query:  "offset: ${page.offset}",
	},
	{
		name:     "OFFSET, has_more",
		oracle:   sim.GenericStyle{Paging: "hasmore"},
		pack:     `pagination: {type: OFFSET, pageSize: 20, order: "updated,id", end: HAS_MORE}`,
		query:    "offset: ${page.offset}",
		response: "hasMore: has_more\ntotal:",
	},
	{
		name:   "OFFSET over a snapshot",
		oracle: sim.GenericStyle{Paging: "offset", End: "total"},
		pack:   pastEnd + `pagination: {type: OFFSET, pageSize: 20, snapshot: true, total: EXACT, end: TOTAL}`,
		query:  "offset: ${page.offset}",
	},
	{
		name:   "OFFSET, page sizes of the server",
		oracle: sim.GenericStyle{Paging: "offset", Sizes: "varying", Most: 17},
		pack:   `pagination: {type: OFFSET, pageSize: 20, order: "updated,id", total: EXACT, end: TOTAL}`,
		query:  "offset: ${page.offset}",
	},
	{
		name:   "P29 OFFSET over a snapshot, smaller pages than asked for",
		oracle: sim.GenericStyle{Paging: "offset", Most: 10},
		pack:   `pagination: {type: OFFSET, pageSize: 20, snapshot: true, total: ROUGH, end: EMPTY_PAGE}`,
		query:  "offset: ${page.offset}",
		spared: []sim.Fault{sim.EmptyMiddlePage}, // it looks like the end
	},
	{
		name:     "R24 OFFSET, short pages in the middle, empty page",
		oracle:   sim.GenericStyle{Paging: "offset", Sizes: "varying", Total: "absent"},
		pack:     `pagination: {type: OFFSET, pageSize: 20, order: "updated,id", end: EMPTY_PAGE}`,
		query:    "offset: ${page.offset}",
		response: "total:",
	},
	{
		name:   "PAGE in two walks",
		oracle: sim.GenericStyle{Paging: "page", End: "total", Base: 1},
		pack:   pastEnd + `pagination: {type: PAGE, pageSize: 20, firstPage: 1, total: EXACT, end: TOTAL}`,
		query:  "page: ${page.no}",
		again:  confirmed,
	},
	{
		name:   "PAGE over a snapshot, from 0",
		oracle: sim.GenericStyle{Paging: "page", Base: 0},
		pack:   `pagination: {type: PAGE, pageSize: 20, firstPage: 0, snapshot: true, total: ROUGH, end: EMPTY_PAGE}`,
		query:  "page: ${page.no}",
	},
	{
		name:     "PAGE, has_more",
		oracle:   sim.GenericStyle{Paging: "page", End: "flag", Base: 1},
		pack:     `pagination: {type: PAGE, pageSize: 20, firstPage: 1, snapshot: true, end: HAS_MORE}`,
		query:    "page: ${page.no}",
		response: "hasMore: has_more",
	},
	{
		name:     "KEYSET, empty page",
		oracle:   sim.GenericStyle{Paging: "keyset"},
		pack:     `pagination: {type: KEYSET, pageSize: 20, order: "updated asc, id asc", total: ROUGH, end: EMPTY_PAGE}`,
		query:    keysetQuery,
		response: "total:",
		prepare:  crowd,
	},
	{
		name:     "TOKEN, null",
		oracle:   sim.GenericStyle{Paging: "token", End: "null"},
		pack:     `pagination: {type: TOKEN, pageSize: 20, total: ROUGH, end: NO_TOKEN}`,
		query:    "token: ${page.token}",
		response: "nextToken: next_token",
	},
	{
		name:     "TOKEN, absent",
		oracle:   sim.GenericStyle{Paging: "token", End: "absent"},
		pack:     `pagination: {type: TOKEN, pageSize: 20, total: ROUGH, end: NO_TOKEN}`,
		query:    "token: ${page.token}",
		response: "nextToken: next_token",
	},
	{
		name:     "TOKEN, empty text",
		oracle:   sim.GenericStyle{Paging: "token", End: "empty"},
		pack:     `pagination: {type: TOKEN, pageSize: 20, total: ROUGH, end: NO_TOKEN}`,
		query:    "token: ${page.token}",
		response: "nextToken: next_token",
	},
	{
		name:     "TOKEN, repeat",
		oracle:   sim.GenericStyle{Paging: "token", End: "repeat"},
		pack:     `pagination: {type: TOKEN, pageSize: 20, tokenRepeat: END, total: ROUGH, end: TOKEN_REPEAT}`,
		query:    "token: ${page.token}",
		response: "nextToken: next_token",
	},
	{
		name:     "TOKEN, empty page",
		oracle:   sim.GenericStyle{Paging: "token", End: "empty-page"},
		pack:     `pagination: {type: TOKEN, pageSize: 20, total: EXACT, end: EMPTY_PAGE}`,
		query:    "token: ${page.token}",
		response: "nextToken: next_token",
	},
	{
		name:     "TOKEN, total",
		oracle:   sim.GenericStyle{Paging: "token", End: "total"},
		pack:     pastEnd + `pagination: {type: TOKEN, pageSize: 20, total: EXACT, end: TOTAL}`,
		query:    "token: ${page.token}",
		response: "nextToken: next_token",
	},
	{
		name:     "TOKEN, has_more",
		oracle:   sim.GenericStyle{Paging: "token", End: "flag"},
		pack:     `pagination: {type: TOKEN, pageSize: 20, total: ROUGH, end: HAS_MORE}`,
		query:    "token: ${page.token}",
		response: "nextToken: next_token\nhasMore: has_more",
	},
	{
		name:     "TOKEN, page sizes of the server",
		oracle:   sim.GenericStyle{Paging: "token", Sizes: "varying"},
		pack:     `pagination: {type: TOKEN, pageSize: 20, total: ROUGH, end: NO_TOKEN}`,
		query:    "token: ${page.token}",
		response: "nextToken: next_token",
	},
	{
		name:     "R64 TOKEN, null as an end by itself",
		oracle:   sim.GenericStyle{Paging: "token", End: "null"},
		pack:     `pagination: {type: TOKEN, pageSize: 20, end: NEXT_EMPTY}`,
		query:    "token: ${page.token}",
		response: "nextToken: next_token",
	},
	{
		name:     "R64 TOKEN, pages that are always filled",
		oracle:   sim.GenericStyle{Paging: "token", End: "absent"},
		pack:     `pagination: {type: TOKEN, pageSize: 20, end: [SHORT_PAGE, NO_TOKEN]}`,
		query:    "token: ${page.token}",
		response: "nextToken: next_token",
		spared:   []sim.Fault{sim.ShortPage, sim.TokenDroppedShort, sim.EmptyMiddlePage}, // they break what it declares
	},
	{
		name:     "R64 URL with a total that is near",
		oracle:   sim.GenericStyle{Paging: "url", End: "absent"},
		pack:     `pagination: {type: URL, pageSize: 20, total: ABOUT 5%, end: NO_URL}`,
		response: "nextUrl: next",
	},
	{
		name:     "R64 TOKEN, exact by the count alone",
		oracle:   sim.GenericStyle{Paging: "token", End: "absent", Total: "absent"},
		pack:     `pagination: {type: TOKEN, pageSize: 20, total: EXACT, end: NO_TOKEN}`,
		query:    "token: ${page.token}",
		response: "nextToken: next_token\ntotal:",
	},
	{
		name:     "R64 URL whose place the server holds, nothing counted",
		oracle:   sim.GenericStyle{Paging: "url", End: "absent", Total: "absent"},
		pack:     `pagination: {type: URL, pageSize: 20, tokenStateful: true, end: NO_URL}`,
		response: "nextUrl: next\ntotal:",
		count:    "none",
		again:    confirmed,
	},
	{
		name:     "R58 an empty page with a token goes on",
		oracle:   sim.GenericStyle{Paging: "empty-with-token"},
		pack:     `pagination: {type: TOKEN, pageSize: 20, total: ROUGH, end: NO_TOKEN}`,
		query:    "token: ${page.token}",
		response: "nextToken: next_token",
	},
	{
		name:     "R22 one token for the whole walk",
		oracle:   sim.GenericStyle{Paging: "token-constant"},
		pack:     `pagination: {type: TOKEN, pageSize: 20, tokenRepeat: CONTINUE, tokenStateful: true, total: EXACT, end: EMPTY_PAGE}`,
		query:    "token: ${page.token}",
		response: "nextToken: next_token",
	},
	{
		name:     "URL, absolute",
		oracle:   sim.GenericStyle{Paging: "url", Href: "absolute"},
		pack:     `pagination: {type: URL, pageSize: 20, total: ROUGH, end: NO_URL}`,
		response: "nextUrl: next",
	},
	{
		name:     "URL, a path",
		oracle:   sim.GenericStyle{Paging: "url", Href: "path", End: "absent"},
		pack:     `pagination: {type: URL, pageSize: 20, total: ROUGH, end: NO_URL}`,
		response: "nextUrl: next",
	},
	{
		name:     "URL, a query, empty text",
		oracle:   sim.GenericStyle{Paging: "url", Href: "query", End: "empty"},
		pack:     `pagination: {type: URL, pageSize: 20, total: ROUGH, end: NO_URL}`,
		response: "nextUrl: next",
	},
	{
		name:     "URL for ever, empty page",
		oracle:   sim.GenericStyle{Paging: "url", End: "empty-page"},
		pack:     `pagination: {type: URL, pageSize: 20, total: EXACT, end: EMPTY_PAGE}`,
		response: "nextUrl: next",
	},
	{
		name:     "R22 URL whose place the server holds",
		oracle:   sim.GenericStyle{Paging: "url"},
		pack:     `pagination: {type: URL, pageSize: 20, tokenStateful: true, total: ROUGH, end: NO_URL}`,
		response: "nextUrl: next",
		again:    confirmed,
	},
	{
		name:     "URL in the Link header",
		oracle:   sim.GenericStyle{Paging: "link", Envelope: "array"},
		pack:     `pagination: {type: URL, pageSize: 20, total: EXACT, end: NO_URL}`,
		response: "items: $\nsignals:\nnextUrl: header:Link\ntotal: header:X-Total-Count",
	},
	{
		name:     "URL in a list of links",
		oracle:   sim.GenericStyle{Paging: "links"},
		pack:     `pagination: {type: URL, pageSize: 20, total: ROUGH, end: NO_URL}`,
		response: "nextUrl: links[rel=next].href",
	},
	{
		name:     "TOKEN lifted out of the next link",
		oracle:   sim.GenericStyle{Paging: "links", Href: "foreign"},
		pack:     `pagination: {type: TOKEN, pageSize: 20, total: ROUGH, end: NO_TOKEN}`,
		query:    `"page[cursor]": ${page.token}`,
		response: "nextToken: links[rel=next].href\ntokenParam: page[cursor]",
	},
	{
		name:     "TOKEN lifted out of the Link header",
		oracle:   sim.GenericStyle{Paging: "link", Href: "foreign"},
		pack:     `pagination: {type: TOKEN, pageSize: 20, total: ROUGH, end: NO_TOKEN}`,
		query:    `"page[cursor]": ${page.token}`,
		response: "nextToken: header:Link\ntokenParam: page[cursor]",
	},
	{
		name:     "SCROLL",
		oracle:   sim.GenericStyle{Paging: "scroll"},
		pack:     `pagination: {type: SCROLL, pageSize: 20, total: EXACT, end: EMPTY_PAGE}`,
		query:    "scroll_id: ${page.token}",
		response: "nextToken: scroll_id",
	},
	{
		name:     "R22 SCROLL without a total",
		oracle:   sim.GenericStyle{Paging: "scroll", Total: "absent"},
		pack:     `pagination: {type: SCROLL, pageSize: 20, end: EMPTY_PAGE}`,
		query:    "scroll_id: ${page.token}",
		response: "nextToken: scroll_id\ntotal:",
		spared:   []sim.Fault{sim.EmptyMiddlePage}, // it looks like the end
	},
	{
		name:   "SCROLL in a JSON body",
		oracle: sim.GenericStyle{Paging: "scroll", Body: "json"},
		pack:   `pagination: {type: SCROLL, pageSize: 20, total: EXACT, end: EMPTY_PAGE}`,
		search: `method: POST
query:
body: '{"filter": {"from": "${iso(window.from)}", "to": "${iso(window.to)}"}, "size": ${page.size}}'
next: {body: '{"scroll_id": "${page.token}", "size": ${page.size}}'}
`,
		response: "nextToken: scroll_id",
	},
	{
		name:    "TIME, one reply",
		oracle:  sim.GenericStyle{Paging: "time", Most: 1000},
		pack:    `pagination: {type: TIME, total: EXACT, end: ONE_REPLY}`,
		query:   "size:",
		records: 60,
	},
	{
		name:   "TIME, cut when it does not fit",
		oracle: sim.GenericStyle{Paging: "time", Most: 25},
		pack:   `pagination: {type: TIME, total: EXACT, end: ONE_REPLY}`,
		query:  "size:",
		claim:  wasCut,
	},
	{
		name:     "C9 TIME without a total, cut when it is full",
		oracle:   sim.GenericStyle{Paging: "time", Most: 25, Total: "absent"},
		pack:     `pagination: {type: TIME, pageSize: 25, maxItems: 25, end: ONE_REPLY}`,
		response: "total:",
		count:    "none",
		claim:    wasCut,
		spared:   []sim.Fault{sim.ShortPage, sim.EmptyMiddlePage}, // as if there were no more
	},
	{
		name:     "C9 TIME that says that there is more",
		oracle:   sim.GenericStyle{Paging: "time", Most: 25, Total: "absent"},
		pack:     `pagination: {type: TIME, end: ONE_REPLY}`,
		query:    "size:",
		response: "hasMore: has_more\ntotal:",
		count:    "none",
		claim:    wasCut,
		spared:   []sim.Fault{sim.ShortPage, sim.EmptyMiddlePage}, // as if there were no more
	},
	{
		name:     "OFFSET in the path, page sizes of the server",
		oracle:   sim.GenericStyle{Bounds: "closed", Dates: "instant"},
		pack:     dayWindow + `pagination: {type: OFFSET, pageSize: 30, order: "updated,id", total: EXACT, end: TOTAL}` + "\n" + noPosts,
		search:   "path: /items/${date(window.from, '2006-01-02')}/${date(window.last, '2006-01-02')}/${text(page.offset)}\nquery:",
		response: "items: collection\nroot: messages\ntotal: messages[0].total\nsignals: {error: error}",
		count:    dayCount,
	},
	{
		name:   "R24 wall that refuses, cut before it",
		oracle: sim.GenericStyle{Paging: "page", Base: 1, Depth: 40, Beyond: "refuse"},
		pack:   `pagination: {type: PAGE, pageSize: 20, firstPage: 1, snapshot: true, total: EXACT, end: TOTAL, maxItems: 40}`,
		query:  "page: ${page.no}",
		claim:  below,
	},
	{
		name:   "R24 wall that cuts silently, cut before it",
		oracle: sim.GenericStyle{Paging: "page", Base: 1, Depth: 40, Beyond: "cut"},
		pack:   `pagination: {type: PAGE, pageSize: 20, firstPage: 1, snapshot: true, total: ROUGH, end: EMPTY_PAGE, maxItems: 40}`,
		query:  "page: ${page.no}",
		claim:  below,
	},
	{
		name:     "R24 wall met without a count or a total",
		oracle:   sim.GenericStyle{Paging: "offset", Depth: 60, Beyond: "cut", Total: "absent"},
		pack:     `pagination: {type: OFFSET, pageSize: 20, order: "updated,id", end: EMPTY_PAGE, maxItems: 60}`,
		query:    "offset: ${page.offset}",
		response: "total:",
		count:    "none",
		claim:    wasCut,
	},
	{
		name:     "R24 wall that ends the tokens",
		oracle:   sim.GenericStyle{Paging: "token", Depth: 40, Beyond: "cut", Total: "absent"},
		pack:     `pagination: {type: TOKEN, pageSize: 20, end: NO_TOKEN, maxItems: 40}`,
		query:    "token: ${page.token}",
		response: "nextToken: next_token\ntotal:",
		count:    "none",
		claim:    wasCut,
	},
	{
		name:     "R24 wall that ends the links",
		oracle:   sim.GenericStyle{Paging: "url", Depth: 40, Beyond: "cut", Total: "absent"},
		pack:     `pagination: {type: URL, pageSize: 20, end: NO_URL, maxItems: 40}`,
		response: "nextUrl: next\ntotal:",
		count:    "none",
		claim:    wasCut,
	},
	{
		name:     "R24 wall that ends the scroll",
		oracle:   sim.GenericStyle{Paging: "scroll", Depth: 40, Beyond: "cut", Total: "absent"},
		pack:     `pagination: {type: SCROLL, pageSize: 20, end: EMPTY_PAGE, maxItems: 40}`,
		query:    "scroll_id: ${page.token}",
		response: "nextToken: scroll_id\ntotal:",
		count:    "none",
		claim:    wasCut,
		spared:   []sim.Fault{sim.EmptyMiddlePage}, // it looks like the end
	},
	{
		name:   "JSON body",
		oracle: sim.GenericStyle{Paging: "token", Body: "json"},
		pack:   `pagination: {type: TOKEN, pageSize: 20, total: ROUGH, end: NO_TOKEN}`,
		search: `method: POST
query:
body: '{"filter": {"from": "${iso(window.from)}", "to": "${iso(window.to)}"}, "page": {"size": ${page.size}, "token": "${page.token}"}}'
`,
		response: "nextToken: next_token",
	},
	{
		name:   "form",
		oracle: sim.GenericStyle{Paging: "offset", Body: "form", End: "total"},
		search: `method: POST
query:
form: {from: "${iso(window.from)}", to: "${iso(window.to)}", size: "${page.size}", offset: "${page.offset}"}
`,
	},
	{
		name:   "plain text body",
		oracle: sim.GenericStyle{Paging: "offset", Body: "text", Total: "stats"},
		search: `method: POST
query:
contentType: text/plain
body: 'search items where updated >= "${iso(window.from)}" and updated < "${iso(window.to)}" return items limit ${page.size} skip ${page.offset}'
`,
		response: "total: _stats.total_count",
	},
	{
		name:   "OAI-PMH, seconds",
		oracle: sim.GenericStyle{Format: "oai"},
		pack:   oaiPack("SECOND"),
		search: oaiSearch("iso(window.from)", "iso(window.last)"),
		count:  "none",
		rounds: 1,
	},
	{
		name:   "OAI-PMH, days, last token absent",
		oracle: sim.GenericStyle{Format: "oai", Granularity: "day", End: "absent"},
		pack:   oaiPack("DAY"),
		search: oaiSearch("date(window.from, '2006-01-02')", "date(window.last, '2006-01-02')"),
		count:  "none",
		rounds: 1,
	},
	{
		name:     "two phases: list, then details",
		oracle:   sim.GenericStyle{Paging: "token"},
		pack:     "batching: {idBatchSize: 10}\n" + `pagination: {type: TOKEN, pageSize: 40, total: ROUGH, end: NO_TOKEN}`,
		query:    "token: ${page.token}",
		response: "nextToken: next_token\nupdatedAt:\nversion:",
		detail:   batchDetail,
	},
	{
		name:     "R31 two phases: a history that tells of deletions itself",
		oracle:   sim.GenericStyle{Paging: "offset"},
		pack:     "batching: {idBatchSize: 10}\n" + `pagination: {type: OFFSET, pageSize: 20, order: "date,id", total: ROUGH, end: EMPTY_PAGE}`,
		search:   "path: /history",
		query:    "offset: ${page.offset}",
		response: "items: events\nupdatedAt: {path: date, key: updated}\nversion:\ndeleted: {path: event, in: [delete]}",
		count:    "path: /history",
		detail:   batchDetail,
		told:     true,
		rounds:   2,
	},
	{
		name:     "two phases: history, then details",
		oracle:   sim.GenericStyle{Deletions: "flag"},
		pack:     "batching: {idBatchSize: 10}\n" + `pagination: {type: OFFSET, pageSize: 20, order: "date,id", total: ROUGH, end: EMPTY_PAGE}`,
		search:   "path: /history",
		query:    "offset: ${page.offset}",
		response: "items: events\nupdatedAt:\nversion:",
		count:    "path: /history",
		detail:   batchDetail + "  deleted: {path: deleted, in: [true]}\n",
		rounds:   1,
	},
}

const (
	dayWindow = `window:
  key: updated
  filters: {items: updated, from: updated}
  precision: DAY
  bound: CLOSED
  updatedAt: PATH
  safetyLag: 1d
  align: 1d
  baseline: 30d
  step: 30d
  minStep: 1d
`
	dayCount = `query: {from: "${date(window.from, '2006-01-02')}", to: "${date(window.last, '2006-01-02')}", bounds: closed, size: 1, style: offset, only: count}
`
	// A total that was too great for a moment leads past the end, which some
	// refuse: the walk, not the request, is to be made again.
	pastEnd = `faults:
  - {code: past_the_end, status: 400, body: 'past the end', level: L1, reaction: RESTART}
  - {code: token_expired, status: 410, level: L1, reaction: RESTART}
`
	// bioRxiv's way to say that there is nothing.
	noPosts = `faults:
  - {code: no_records, body: '"status":"no posts found"', reaction: EMPTY}
`
	batchDetail = `usage: DETAIL
method: POST
path: /batch
format: JSON
form: {ids: "${join(ids, ',')}"}
response:
  items: items
  id: id
  updatedAt: {path: updated, key: updated}
  version: v
`
)

func oaiPack(precision string) string {
	w := `window:
  key: datestamp
  filters: {from: datestamp, until: datestamp}
  precision: ` + precision + `
  bound: CLOSED
  updatedAt: PATH
  safetyLag: 10m
  baseline: 30d
  step: 30d
  minStep: 1d
`
	return w + `pagination: {type: TOKEN, pageSize: 20, tokenRepeat: CONTINUE, total: ROUGH, end: [NEXT_EMPTY, NO_TOKEN]}
faults:
  - {code: no_records, body: '<error[^>]*\scode\s*=\s*["'']noRecordsMatch', reaction: EMPTY}
  - {code: token_expired, body: '<error[^>]*\scode\s*=\s*["'']badResumptionToken', level: L1, reaction: RESTART}
  - {code: request_refused, body: '<error[^>]*\scode\s*=\s*["''](?:badArgument|badVerb)', level: L2}
  - {code: oai_error, signal: error, level: L1}
mapping:
  fields: {title: {path: metadata/dc/title, clean: text}, abstract: {path: metadata/dc/description, clean: text}}
`
}

func oaiSearch(from, until string) string {
	return `path: /oai
format: XML
query: {verb: ListRecords, metadataPrefix: oai_dc, from: "${` + from + `}", until: "${` + until + `}", size: "${page.size}"}
next:
  query: {verb: ListRecords, resumptionToken: "${page.token}"}
response:
  items: OAI-PMH/ListRecords/record
  id: header/identifier
  updatedAt: {path: header/datestamp, key: datestamp}
  deleted: {path: header/@status, in: [deleted]}
  total: OAI-PMH/ListRecords/resumptionToken/@completeListSize
  nextToken: OAI-PMH/ListRecords/resumptionToken
  signals: {error: OAI-PMH/error}
`
}

// wasCut claims that the slice did not fit and was cut.
func wasCut(t *testing.T, r *run) {
	if r.rep.Slices.Resliced == 0 {
		t.Errorf("nothing was cut: %+v\n%s", r.rep.Slices, r.asked())
	}
}

// below claims that the wall was never asked for.
func below(t *testing.T, r *run) {
	if r.rep.Slices.Done < 2 {
		t.Errorf("%d slices for 70 records, 40 within reach", r.rep.Slices.Done)
	}
	for _, q := range r.Sim.Requests() {
		if q.Status == 400 || q.Params.Get("page") > "2" {
			t.Errorf("asked beyond the wall:\n%s", r.asked())
			return
		}
	}
}
