package sqlstore_test

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/infra/sqlstore"
	"github.com/papertrace/patra/internal/patratest"
)

// Lab is a store with a second way in: SQL past the store's own code.
type Lab struct {
	*testing.T
	Engine patratest.Engine
	Store  *sqlstore.Store
	DSN    string
	DB     *sql.DB
	tables []string
}

// NewLab opens an empty database of its own.
func NewLab(t *testing.T, e patratest.Engine) *Lab {
	t.Helper()
	dsn := e.DSN(t)
	l := &Lab{T: t, Engine: e, DSN: dsn, Store: patratest.Open(t, dsn, sqlstore.Options{})}
	l.DB = patratest.Raw(t, dsn)
	l.tables = Tables(t, l.DB)
	return l
}

// Tables lists patra's tables.
func Tables(t testing.TB, db *sql.DB) []string {
	t.Helper()
	rows, err := db.Query(`SELECT name FROM sqlite_master WHERE type='table' AND name LIKE 'ing%' ORDER BY name`)
	if err != nil {
		rows, err = db.Query(`SELECT table_name FROM information_schema.tables WHERE table_schema=DATABASE() AND table_name LIKE 'ing%' ORDER BY table_name`)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var out []string
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			t.Fatal(err)
		}
		out = append(out, s)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// Clear empties every table but that of the dictionaries: a store that has taken one up goes
// on with it.
func Clear(t testing.TB, db *sql.DB, tables []string) {
	t.Helper()
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	for _, tab := range tables {
		if tab == "ing_dictionary" {
			continue
		}
		if _, err := tx.Exec("DELETE FROM " + tab); err != nil {
			t.Fatal(err)
		}
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
}

// on returns the lab for a subtest, with the tables empty.
func (l *Lab) on(t *testing.T) *Lab {
	c := *l
	c.T = t
	Clear(t, c.DB, c.tables)
	return &c
}

// small reports whether the engine is a server, where a commit is slow.
func (l *Lab) small() bool { return l.Engine != patratest.SQLite || testing.Short() }

// step is how far apart those cases of many that are alike lie which are taken here. The long
// form takes every one, whatever the engine.
func (l *Lab) step(onSQLite, onServers int) int {
	switch {
	case patratest.Soak():
		return 1
	case l.small():
		return onServers
	}
	return onSQLite
}

// leavesOut reports whether the k-th case of many that are alike is left out here: SQLite takes
// every one, MySQL every second, MariaDB and TiDB every third, which the same code asks.
// PATRA_SOAK=1 takes every one everywhere.
func (l *Lab) leavesOut(k int) bool {
	switch {
	case patratest.Soak():
		return false
	case l.Engine == patratest.MySQL:
		return k%2 != 0
	case l.Engine == patratest.MariaDB || l.Engine == patratest.TiDB:
		return k%3 != 1
	}
	return false
}

// Exec runs SQL past the store; it must change something.
func (l *Lab) Exec(q string, args ...any) {
	l.Helper()
	res, err := l.DB.Exec(q, args...)
	if err != nil {
		l.Fatalf("%s: %v", q, err)
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		l.Fatalf("%s: %d rows changed, %v", q, n, err)
	}
}

// Int reads a number.
func (l *Lab) Int(q string, args ...any) int64 {
	l.Helper()
	var n sql.NullInt64
	if err := l.DB.QueryRow(q, args...).Scan(&n); err != nil {
		l.Fatalf("%s: %v", q, err)
	}
	return n.Int64
}

// Text reads a text, NULL as empty.
func (l *Lab) Text(q string, args ...any) string {
	l.Helper()
	var s sql.NullString
	if err := l.DB.QueryRow(q, args...).Scan(&s); err != nil {
		l.Fatalf("%s: %v", q, err)
	}
	return s.String
}

// Dump writes every row of every table.
func (l *Lab) Dump() string {
	l.Helper()
	var b strings.Builder
	for _, tab := range l.tables {
		b.WriteString(l.rows(tab))
	}
	return b.String()
}

func (l *Lab) rows(tab string) string {
	l.Helper()
	rows, err := l.DB.Query("SELECT * FROM " + tab)
	if err != nil {
		l.Fatal(err)
	}
	defer rows.Close()
	cols, err := rows.Columns()
	if err != nil {
		l.Fatal(err)
	}
	var lines []string
	for rows.Next() {
		vals := make([]sql.NullString, len(cols))
		ptrs := make([]any, len(cols))
		for i := range vals {
			ptrs[i] = &vals[i]
		}
		if err := rows.Scan(ptrs...); err != nil {
			l.Fatal(err)
		}
		var line strings.Builder
		fmt.Fprintf(&line, "%s:", tab)
		for i, v := range vals {
			if v.Valid {
				fmt.Fprintf(&line, " %s=%q", cols[i], v.String)
			}
		}
		lines = append(lines, line.String())
	}
	if err := rows.Err(); err != nil {
		l.Fatal(err)
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n") + "\n"
}

// Unchanged fails the test if f changes a row anywhere.
func (l *Lab) Unchanged(what string, f func()) {
	l.Helper()
	before := l.Dump()
	f()
	if after := l.Dump(); after != before {
		l.Errorf("%s changed the store:\n%s", what, diff(before, after))
	}
}

// diff lists the lines that only one of the two has.
func diff(a, b string) string {
	la, lb := strings.Split(a, "\n"), strings.Split(b, "\n")
	var out strings.Builder
	for _, s := range la {
		if !slices.Contains(lb, s) {
			fmt.Fprintf(&out, "- %s\n", s)
		}
	}
	for _, s := range lb {
		if !slices.Contains(la, s) {
			fmt.Fprintf(&out, "+ %s\n", s)
		}
	}
	return out.String()
}

// MustVerify fails the test if the integrity check finds anything.
func (l *Lab) MustVerify() {
	l.Helper()
	patratest.MustVerify(l, l.Store)
}

// ctx of a test outlives its cancelled sub-contexts.
func (l *Lab) ctx() context.Context { return l.Context() }

// The lab's source, its calendar and the beginning of its time.
const (
	prov       = "lab"
	recordType = "work"
	endpoint   = "search"
	ttl        = time.Minute
	pageSize   = 10
)

var (
	seconds = harvest.Calendar{Precision: harvest.PrecisionSecond, Zone: time.UTC}
	t0      = time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
)

// Begin is the beginning of the lab's time.
func (l *Lab) Begin() time.Time { return t0 }

// hour is t0 and n hours.
func hour(n int) time.Time { return t0.Add(time.Duration(n) * time.Hour) }

// mark is the place of an hour on a cursor that goes by time.
func mark(n int) harvest.Mark { return harvest.TimeMark(hour(n)) }

// ns is the lab's HARVEST namespace.
var (
	selection = harvest.HashKey("all")
	ns        = harvest.HarvestNamespace(prov, endpoint, "updated", selection)
)

// Draft is a plan over the hours [from, to), one slice an hour.
func Draft(ns harvest.Namespace, from, to int) harvest.Draft {
	snap := []byte(`{"specVersion":1,"provenanceCode":"` + ns.Provenance + `"}`)
	d := harvest.Draft{
		Trigger:   harvest.Trigger{Provenance: ns.Provenance, Operation: ns.Operation, Kind: harvest.TriggerManual},
		Namespace: ns, Endpoint: endpoint, Span: harvest.Span{From: mark(from), To: mark(to)}, SlicedTo: mark(to),
		Strategy: harvest.StrategyTime, SliceParams: "{}", Selection: "{}", SelHash: selection, ConfigHash: harvest.HashKey("config"),
		SpecVersion: 1, Fingerprint: source.FingerprintBytes(snap), Snapshot: snap, PagingType: "TOKEN", PageSize: pageSize,
	}
	if ns.Operation != harvest.Harvest {
		d.Trigger.Activity = ns.Key
	}
	if ns.Operation == harvest.Backfill {
		d.SlicedTo = d.Span.From
	}
	var slices []harvest.SliceDraft
	for h := from; h < to; h++ {
		slices = append(slices, child(hour(h), hour(h+1)))
	}
	d.Slices = harvest.DraftsOf(slices...)
	return d
}

func child(from, to time.Time) harvest.SliceDraft {
	w := harvest.Window{From: from, To: to}
	return harvest.SliceDraft{Spec: harvest.NewSliceSpec(harvest.PartOf(w), seconds, pageSize, 0, 0), Expr: w.String()}
}

// Plan saves a plan over the hours [from, to).
func (l *Lab) Plan(from, to int) harvest.PlanHead {
	l.Helper()
	return l.Save(Draft(ns, from, to))
}

// Save saves a plan.
func (l *Lab) Save(d harvest.Draft) harvest.PlanHead {
	l.Helper()
	h, err := l.Store.SavePlan(l.ctx(), d)
	if err != nil {
		l.Fatalf("save plan: %v", err)
	}
	return h
}

// Lease takes up to n tasks.
func (l *Lab) Lease(n int) []harvest.Job {
	l.Helper()
	jobs, err := l.Store.LeaseTasks(l.ctx(), harvest.LeaseRequest{Owner: "lab", TTL: ttl, Max: n, SpecVersion: 1})
	if err != nil {
		l.Fatalf("lease: %v", err)
	}
	return jobs
}

// LeaseOne takes a task; there must be one.
func (l *Lab) LeaseOne() harvest.Job {
	l.Helper()
	jobs := l.Lease(1)
	if len(jobs) != 1 {
		l.Fatal("no task to lease")
	}
	return jobs[0]
}

// Start begins a run.
func (l *Lab) Start(j harvest.Job) harvest.Resume {
	l.Helper()
	r, err := l.Store.StartRun(l.ctx(), j.Lease)
	if err != nil {
		l.Fatalf("start run: %v", err)
	}
	return r
}

// Open claims the page after what r says is done.
func (l *Lab) Open(j harvest.Job, r harvest.Resume) harvest.OpenedBatch {
	l.Helper()
	o, err := l.Store.OpenBatch(l.ctx(), j.Lease, nextOpen(r))
	if err != nil {
		l.Fatalf("open batch: %v", err)
	}
	return o
}

func nextOpen(r harvest.Resume) harvest.BatchOpen {
	return harvest.BatchOpen{Run: r.Run, BatchNo: r.BatchNo, Walk: r.Walk, Phase: harvest.PhaseSearch, Ordinal: r.SearchDone + 1, Before: r.Search}
}

// Page is a page with records.
func Page(o harvest.OpenedBatch, recs ...harvest.Record) harvest.Batch {
	after := o.Before
	after.Pages++
	after.Token = fmt.Sprintf("t%d", o.Ordinal)
	return harvest.Batch{OpenedBatch: o, After: after, RecordType: recordType, Records: recs, Evidence: harvest.Evidence{Request: "GET /", HTTPStatus: 200, Sent: 1}}
}

// Last is a page that proves the walk over.
func Last(o harvest.OpenedBatch, recs ...harvest.Record) harvest.Batch {
	b := Page(o, recs...)
	b.End, b.Finish = harvest.EndEmpty, true
	return b
}

// everything adds to a page what a page may bring besides records: an item that
// cannot be read, an id without details, and what its first record says of another.
func everything(b harvest.Batch) harvest.Batch {
	raw := []byte("?")
	b.Quarantined = []harvest.Quarantined{{ID: "q", Problem: harvest.Problem{Code: harvest.ProblemBadDate}, Raw: raw, RawSHA256: sha256.Sum256(raw)}}
	b.Missing = []string{"m"}
	b.Signals = []harvest.Signal{{From: b.Records[0].ID, Target: "t", Kind: harvest.SignalRetraction}}
	return b
}

// Rec is a record; its bytes follow from id, update time and content.
func Rec(id string, updated time.Time, observed time.Time, content string) harvest.Record {
	raw := []byte(id + " " + harvest.FormatInstant(updated) + " " + content)
	return harvest.Record{
		ID: id, Version: harvest.Version{UpdatedAt: updated, ObservedAt: observed, ContentHash: sha256.Sum256([]byte(content))},
		RawSHA256: sha256.Sum256(raw), Raw: raw, Fields: []byte(`{"title":"` + content + `"}`), Status: harvest.RecordActive, MappingVersion: "m1",
	}
}

// Commit stores a page.
func (l *Lab) Commit(j harvest.Job, b harvest.Batch) harvest.Committed {
	l.Helper()
	c, err := l.Store.CommitBatch(l.ctx(), j, b, nil, nil)
	if err != nil {
		l.Fatalf("commit: %v", err)
	}
	return c
}

// Walk runs a leased task to its end: one page with recs, and the proof.
func (l *Lab) Walk(j harvest.Job, recs ...harvest.Record) harvest.Committed {
	l.Helper()
	o := l.Open(j, l.Start(j))
	for i := range recs {
		recs[i].Version.ObservedAt = o.OpenedAt
	}
	return l.Commit(j, Last(o, recs...))
}

// Refuse makes the slice of a leased task a gap.
func (l *Lab) Refuse(j harvest.Job) {
	l.Helper()
	r := l.Start(j)
	if err := l.Store.EndRun(l.ctx(), j.Lease, harvest.RunEnd{Run: r.Run, Outcome: harvest.Refused, Code: "http_400", Error: "no"}); err != nil {
		l.Fatalf("end run: %v", err)
	}
}

// Expire lets the lease of a task run out.
func (l *Lab) Expire(id harvest.TaskID) {
	l.Helper()
	l.Exec("UPDATE ing_task SET leased_until='2000-01-01 00:00:00.000000' WHERE id=?", id)
}

// Due makes every waiting task due.
func (l *Lab) Due() {
	l.Helper()
	l.Exec("UPDATE ing_task SET scheduled_at='2000-01-01 00:00:00.000000'")
}

// Watermark of the lab's HARVEST namespace.
func (l *Lab) Watermark() time.Time {
	l.Helper()
	f, err := l.Store.Frontier(l.ctx(), ns)
	if err != nil || !f.Known {
		l.Fatalf("frontier: %+v, %v", f, err)
	}
	return f.Watermark.Time()
}

// MustBeAt fails the test unless the watermark is at hour n.
func (l *Lab) MustBeAt(n int) {
	l.Helper()
	if w := l.Watermark(); !w.Equal(hour(n)) {
		l.Errorf("watermark is %s, want %s", harvest.FormatInstant(w), harvest.FormatInstant(hour(n)))
	}
}

// slicesOf are the slices of a draft.
func slicesOf(d harvest.Draft) (out []harvest.SliceDraft) {
	if d.Slices.Len == 0 {
		return nil
	}
	for s := range d.Slices.All {
		out = append(out, s)
	}
	return out
}
