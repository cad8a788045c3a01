package executor_test

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/app/registry"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/node"
	"github.com/papertrace/patra/internal/patratest"
	"github.com/papertrace/patra/internal/sim"
)

// manner is how the generic source is described: its pagination, and what a
// page says about the next one.
type manner struct {
	style  string // of the oracle
	paging string // the pagination part
	query  string // how a page is asked for, one line
	reply  string // what the reply says, lines of the response part
	blind  bool   // whether nothing is counted before slices are cut
	two    bool   // whether details are asked for by id
	// complete: what a list of details leaves out is not there
	complete bool
	id       string // path of the id, default id
	target   int    // records a slice, default 100
	tasks    string // what single operations have of their own
	faults   string // fault rules in place of the usual one
}

// The generic source in every style of the oracle.
var manners = map[string]manner{
	"offset-total": {style: "offset", paging: `{type: OFFSET, pageSize: 20, order: "updated,id", total: EXACT, end: [TOTAL]}`, query: `offset: ${page.offset}`},
	"offset-empty": {style: "offset", paging: `{type: OFFSET, pageSize: 20, order: "updated,id", total: ROUGH, end: [EMPTY]}`, query: `offset: ${page.offset}`},
	"hasmore":      {style: "hasmore", paging: `{type: OFFSET, pageSize: 20, order: "updated,id", total: ROUGH, end: [HAS_MORE]}`, query: `offset: ${page.offset}`, reply: "      hasMore: has_more\n"},
	"page-0":       {style: "page&base=0", paging: `{type: PAGE, pageSize: 20, firstPage: 0, total: EXACT, end: [TOTAL]}`, query: `page: ${page.no}`},
	"page-1":       {style: "page&base=1", paging: `{type: PAGE, pageSize: 20, firstPage: 1, total: EXACT, end: [TOTAL, EMPTY]}`, query: `page: ${page.no}`},
	"token":        {style: "token", paging: `{type: TOKEN, pageSize: 20, total: ROUGH, end: [NO_TOKEN]}`, query: `token: ${page.token}`, reply: "      nextToken: next_token\n"},
	"token-end":    {style: "token-repeat-end", paging: `{type: TOKEN, pageSize: 20, tokenRepeat: END, total: ROUGH, end: [REPEAT]}`, query: `token: ${page.token}`, reply: "      nextToken: next_token\n"},
	"token-const":  {style: "token-constant", paging: `{type: TOKEN, pageSize: 20, tokenRepeat: CONTINUE, tokenStateful: true, total: EXACT, end: [EMPTY]}`, query: `token: ${page.token}`, reply: "      nextToken: next_token\n"},
	"scroll":       {style: "scroll", paging: `{type: SCROLL, pageSize: 20, total: EXACT, end: [EMPTY]}`, query: `scroll_id: ${page.token}`, reply: "      nextToken: scroll_id\n"},
	"empty-token":  {style: "empty-with-token", paging: `{type: TOKEN, pageSize: 20, total: ROUGH, end: [NO_TOKEN]}`, query: `token: ${page.token}`, reply: "      nextToken: next_token\n"},
	"url":          {style: "url", paging: `{type: URL, pageSize: 20, total: ROUGH, end: [NO_URL]}`, reply: "      nextUrl: next\n"},
	"url-held":     {style: "url", paging: `{type: URL, pageSize: 20, tokenStateful: true, total: ROUGH, end: [NO_URL]}`, reply: "      nextUrl: next\n"},
	"time":         {style: "time", paging: `{type: TIME, total: EXACT, end: [ONE_REPLY]}`},
	"page-two":     {style: "page&base=1", paging: `{type: PAGE, pageSize: 20, firstPage: 1, total: ROUGH, end: [EMPTY]}`, query: `page: ${page.no}`, two: true},
	"two-phase":    {style: "token", paging: `{type: TOKEN, pageSize: 50, total: ROUGH, end: [NO_TOKEN]}`, query: `token: ${page.token}`, reply: "      nextToken: next_token\n", two: true},
}

// exact is the manner with totals that prove the end, so that no page is asked
// for a second time to be sure of it.
func (m manner) exact() manner {
	m.paging = strings.Replace(m.paging, "total: ROUGH", "total: EXACT", 1)
	return m
}

// text is the manner as a pack.
func (m manner) text() string {
	g := patratest.Generic{
		Pack: fmt.Sprintf(`window:
  key: updated
  filters: {from: updated, to: updated}
  precision: SECOND
  bound: OPEN
  updatedAt: PATH
  safetyLag: PT10M
  align: 1s
  baseline: 30d
  step: P30D
  minStep: 1h
  target: %d
pagination: %s
faults:
%smapping:
  fields: {title: title, url: id}
  volatile: [updated, v, reads]
%s`, cmp.Or(m.target, 100), m.paging, cmp.Or(m.faults, "  - {code: token_expired, status: 410, level: L1, reaction: RESTART}\n"), m.tasks),
		Count: "query: {from: \"${iso(window.from)}\", to: \"${iso(window.to)}\", style: offset, size: 1, only: count}\nresponse: {root: total, total: total}\n",
	}
	if m.blind {
		g.Count = patratest.NoCount
	}
	style, base, hasBase := strings.Cut(m.style, "&base=")
	g.Query = "style: " + style + "\n" + flush(m.query)
	if hasBase {
		g.Query += fmt.Sprintf("base: %q\n", base)
	}
	if m.style == "time" {
		g.Query += "size:\n"
	}
	id := "id: " + cmp.Or(m.id, "id") + "\n"
	item := id + "updatedAt: {path: updated, format: RFC3339, key: updated}\nversion: v\n"
	g.Response = item + flush(m.reply)
	if !m.two {
		return g.Text()
	}
	g.Pack += "batching: {idBatchSize: 10}\n"
	g.Response = id + "version:\n" + flush(m.reply)
	if !strings.Contains(m.reply, "updatedAt:") {
		g.Response += "updatedAt:\n"
	}
	if m.complete {
		item += "complete: true\n"
	}
	g.Detail = "usage: DETAIL\nmethod: POST\npath: /batch\nformat: JSON\nform: {ids: \"${join(ids, ',')}\"}\nresponse:\n  items: items\n  " +
		strings.ReplaceAll(strings.TrimSuffix(item, "\n"), "\n", "\n  ") + "\n"
	return g.Text()
}

// flush puts lines at the margin.
func flush(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(strings.TrimSpace(line) + "\n")
	}
	return b.String()
}

// bench is a rig over the generic source, inside a bubble.
type bench struct {
	*patratest.Rig
	t    *testing.T
	dsn  string
	raw  *sql.DB // the store's tables, behind its back
	c    patratest.RigConfig
	wrap func(http.RoundTripper) http.RoundTripper
}

// setup says what differs from the ordinary bench: 70 records in one slice of
// four pages, one worker.
type setup struct {
	sim    sim.Config
	node   node.Config
	tweak  func(*source.Spec)
	hook   func(string) error
	faults []sim.Script
	engine patratest.Engine // default SQLite
	// wrap puts something between node and oracle.
	wrap func(http.RoundTripper) http.RoundTripper
}

func newBench(t *testing.T, m manner, s setup) *bench {
	t.Helper()
	s.sim.Sources = []string{sim.Generic}
	if s.sim.Records == 0 {
		s.sim.Records = 70
	}
	if s.sim.Seed == 0 {
		s.sim.Seed = 7
	}
	s.sim.LimitRPS, s.sim.KeepLog = -1, -1
	if s.sim.Churn == nil {
		s.sim.Churn = &sim.Churn{}
	}
	if s.node.Workers == 0 {
		s.node.Workers = 1
	}
	if s.node.Poll == 0 {
		s.node.Poll = 10 * time.Second
	}
	p := patratest.TextPack(t, "generic.yaml", []byte(m.text()), func(spec *source.Spec) {
		patratest.Fast(spec)
		if s.tweak != nil {
			s.tweak(spec)
		}
	})
	if s.engine.Name == "" {
		s.engine = patratest.SQLite
	}
	b := &bench{t: t, wrap: s.wrap, dsn: s.engine.SpareDSN(t), c: patratest.RigConfig{Sim: s.sim, Packs: map[string]registry.Pack{"generic": p}, Node: s.node, Hook: s.hook}}
	b.c.DSN = b.dsn
	b.raw = patratest.Raw(t, b.dsn)
	b.again()
	b.c.Oracle, b.c.Hook = b.Sim, nil
	b.Sim.Script(s.faults...)
	return b
}

// again is the same store and oracle under a new node, as after a restart.
func (b *bench) again() {
	b.Rig = patratest.NewRig(b.t, b.c)
	if b.wrap != nil {
		b.Node = node.Assemble(b.c.Node, b.Node.Store, registry.NewStatic(b.c.Packs, nil), b.wrap(patratest.Direct{Handler: b.Sim}))
	}
}

// harvest runs to the end and compares with the truth.
func (b *bench) exact() *control.Report {
	b.t.Helper()
	rep := b.MustHarvest("generic")
	if rep.Status != "COMPLETED" {
		b.t.Fatalf("not completed: %+v", rep)
	}
	b.MustBeExact("generic", rep)
	return rep
}

// pages is how many pages, searches and details, reached the oracle.
func (b *bench) pages() (n int) {
	for _, r := range b.Sim.Requests() {
		if r.Params.Get("only") != "count" {
			n++
		}
	}
	return n
}

// ask reads one number from the store.
func (b *bench) ask(query string, args ...any) (n int) {
	b.t.Helper()
	b.sql(func(db *sql.DB) error { return db.QueryRow(query, args...).Scan(&n) })
	return n
}

func (b *bench) text(query string, args ...any) (s string) {
	b.t.Helper()
	b.sql(func(db *sql.DB) error {
		var n sql.NullString
		err := db.QueryRow(query, args...).Scan(&n)
		s = n.String
		return err
	})
	return s
}

func (b *bench) exec(query string, args ...any) {
	b.t.Helper()
	b.sql(func(db *sql.DB) error { _, err := db.Exec(query, args...); return err })
}

// expire lets the leases of a dead process run out.
func (b *bench) expire() {
	b.t.Helper()
	b.exec(`UPDATE ing_task SET leased_until='2000-01-01 00:00:00.000000' WHERE leased_until IS NOT NULL`)
}

func (b *bench) sql(f func(*sql.DB) error) {
	b.t.Helper()
	if err := f(b.raw); err != nil {
		b.t.Errorf("ask the store: %v", err)
	}
}

const (
	committed = `SELECT COUNT(*) FROM ing_task_run_batch WHERE status_code='SUCCEEDED'`
	walks     = `SELECT MAX(walk_no) FROM ing_task`
	doubled   = `SELECT COUNT(*) FROM (SELECT 1 FROM ing_task_run_batch WHERE status_code='SUCCEEDED' GROUP BY task_id, walk_no, phase, ordinal HAVING COUNT(*)>1)`
)

// watermark is W, or zero before the first plan.
func (b *bench) watermark() time.Time {
	b.t.Helper()
	at, err := time.Parse("2006-01-02T15:04:05.999999Z", b.text(`SELECT cursor_value FROM ing_cursor`))
	if err != nil {
		b.t.Fatal(err)
	}
	return at
}

// warm lets what lives as long as the process come to life outside of bubbles.
var warm sync.Once

// bubble runs f in virtual time. A goroutine left behind fails it.
func bubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	warm.Do(func() { newBench(t, manners["token"], setup{sim: sim.Config{Records: 5}}).exact() })
	synctest.Test(t, f)
}

// engines runs f on every engine: on SQLite in a bubble, on the servers, whose
// clocks are their own, in real time. Nothing waits there for a lease to run out,
// which [bench.expire] does at once, so leases are as long as a slow machine may need.
func engines(t *testing.T, f func(t *testing.T, s setup)) {
	t.Helper()
	patratest.EachKind(t, func(t *testing.T, e patratest.Engine) {
		s := setup{engine: e, node: node.Config{Poll: 50 * time.Millisecond}}
		if e != patratest.SQLite {
			f(t, s)
			return
		}
		bubble(t, func(t *testing.T) { f(t, s) })
	})
}

// every runs f in a bubble for each named manner.
func every(t *testing.T, names []string, f func(t *testing.T, m manner)) {
	t.Helper()
	for _, name := range names {
		m, ok := manners[name]
		if !ok {
			t.Fatalf("no manner %s", name)
		}
		t.Run(name, func(t *testing.T) { bubble(t, func(t *testing.T) { f(t, m) }) })
	}
}

// onPage calls f before the n-th page is answered, counted from 1.
func (b *bench) onPage(n int, f func(r *http.Request)) {
	seen := 0
	b.Sim.SetOnRequest(func(r *http.Request) {
		if r.Form.Get("only") == "count" {
			return
		}
		seen++
		if seen == n {
			f(r)
		}
	})
}

var background = context.Background()

func contextWithStop() (context.Context, context.CancelFunc) { return context.WithCancel(background) }
