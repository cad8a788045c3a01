package main

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/infra/sqlstore"
)

// What is asked of the queue.
const (
	leaseWithin  = 10 // milliseconds, of 95 in 100 leases
	pickWithin   = 30 // the same where eight ask at once
	commitWithin = 10 // milliseconds for each hundred records of a page, in the mean
	pickers      = 8
	pageRecords  = 1000
	idleShare    = 0.01 // of a core, for an executor that finds nothing twice a second
	fromMemory   = 0.99 // of the pages that a server reads, those that its buffer pool has
)

// leases are what it took to lease tasks from a queue of some length.
type leases struct {
	Queued int `json:"queued"`
	// Known and Unknown are leases by a process that knows the heads of the
	// partitions and by one that has to read them; Idle is looking where nothing
	// may be taken, Open the opening of the store.
	Known   spread `json:"known_ms"`
	Unknown spread `json:"unknown_ms"`
	Idle    spread `json:"idle_ms"`
	Open    spread `json:"open_ms"`
	// Pick is a lease where eight ask at once, Page the commit of a page of a thousand
	// records.
	Pick spread `json:"pick_ms"`
	Page spread `json:"page_ms"`
	// FromMemory is the part of the pages that the server read, for all of this, which its
	// buffer pool had; 0 where there is no server.
	FromMemory float64 `json:"from_memory,omitempty"`
}

// spread is how long something took, in milliseconds.
type spread struct {
	Mean float64 `json:"mean"`
	P50  float64 `json:"p50"`
	P95  float64 `json:"p95"`
}

// queueUnderTest leases tasks from a short and from a long queue of four sources.
func queueUnderTest(ctx context.Context, j job, m *meter) (f figures, err error) {
	dsn, kind, address := addressOf(j.db)
	if err := migrate(ctx, dsn); err != nil {
		return f, err
	}
	store, err := sqlstore.Open(ctx, dsn, sqlstore.Options{})
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	db, err := sql.Open(kind, address)
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	// What was measured before on the same server is in nobody's way.
	if _, err := db.ExecContext(ctx, `UPDATE ing_task SET status_code='SUCCEEDED'`); err != nil {
		return f, err
	}
	for i := range 4 {
		if err := fill(ctx, store, fmt.Sprintf("queue%d", i), 1024); err != nil {
			return f, err
		}
	}
	if err := m.start(); err != nil {
		return f, err
	}
	for _, n := range []int{0, j.Records} {
		queued, err := multiply(ctx, db, n)
		if err != nil {
			return f, err
		}
		l := leases{Queued: queued}
		// What was leased is done before the next is: a fleet has few in hand.
		done := func() error {
			_, err := db.ExecContext(ctx, `UPDATE ing_task SET status_code='SUCCEEDED' WHERE status_code='DISPATCHED'`)
			return err
		}
		before, err := poolOf(ctx, db, kind)
		if err != nil {
			return f, err
		}
		if err := l.measure(ctx, store, dsn, done); err != nil {
			return f, err
		}
		after, err := poolOf(ctx, db, kind)
		if err != nil {
			return f, err
		}
		l.FromMemory = after.since(before)
		f.Leases = append(f.Leases, l)
		f.Records = int64(queued)
	}
	return f, m.stop(&f)
}

// pool is what a server's buffer pool has counted: pages that were asked of it, and those
// it had to read.
type pool struct{ asked, read float64 }

// poolOf reads the counters of a server; SQLite has none.
func poolOf(ctx context.Context, db *sql.DB, kind string) (p pool, err error) {
	if kind == "sqlite" {
		return p, nil
	}
	for name, into := range map[string]*float64{"Innodb_buffer_pool_read_requests": &p.asked, "Innodb_buffer_pool_reads": &p.read} {
		var same string
		if err := db.QueryRowContext(ctx, `SHOW GLOBAL STATUS LIKE '`+name+`'`).Scan(&same, into); err != nil {
			return p, fmt.Errorf("read %s: %w", name, err)
		}
	}
	return p, nil
}

// since is the part of the pages asked for since then that were in memory.
func (p pool) since(then pool) float64 {
	if p.asked == then.asked {
		return 0
	}
	return 1 - (p.read-then.read)/(p.asked-then.asked)
}

// fill plans hours of a source.
func fill(ctx context.Context, s *sqlstore.Store, code string, hours int) error {
	snapshot := []byte(`{"specVersion":1,"provenanceCode":"` + code + `"}`)
	from := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	at := func(h int) time.Time { return from.Add(time.Duration(h) * time.Hour) }
	d := harvest.Draft{
		Trigger:   harvest.Trigger{Provenance: code, Operation: harvest.Harvest, Kind: harvest.TriggerManual},
		Namespace: harvest.HarvestNamespace(code, "search", "updated", harvest.HashKey("all")),
		Endpoint:  "search", Span: harvest.Window{From: from, To: at(hours)}.Span(), SlicedTo: harvest.TimeMark(at(hours)),
		Strategy: harvest.StrategyTime, SliceParams: "{}", Selection: "{}", SelHash: harvest.HashKey("all"), ConfigHash: harvest.HashKey("config"),
		SpecVersion: 1, Fingerprint: source.FingerprintBytes(snapshot), Snapshot: snapshot, PagingType: "TOKEN", PageSize: 10,
	}
	var slices []harvest.SliceDraft
	for h := range hours {
		w := harvest.Window{From: at(h), To: at(h + 1)}
		slices = append(slices, harvest.SliceDraft{Spec: harvest.NewSliceSpec(harvest.PartOf(w), harvest.Calendar{Precision: harvest.PrecisionSecond, Zone: time.UTC}, 10, 0, 0), Expr: w.String()})
	}
	d.Slices = harvest.DraftsOf(slices...)
	_, err := s.SavePlan(ctx, d)
	return err
}

// multiply doubles the queue until it has about n tasks and returns how many they
// are. The new ones are due later than those that the measurements take.
func multiply(ctx context.Context, db *sql.DB, n int) (queued int, err error) {
	for {
		var last int
		err := db.QueryRowContext(ctx, `SELECT COUNT(*), MAX(slice_id) FROM ing_task`).Scan(&queued, &last)
		if err != nil || queued >= n {
			return queued, err
		}
		const kept = `schedule_instance_id, plan_id, provenance_code, endpoint_name, operation_code, params, expr_hash, spec_version, priority, fence, walk_no, created_at, updated_at`
		if _, err := db.ExecContext(ctx, `INSERT INTO ing_task (`+kept+`, status_code, scheduled_at, slice_id, idempotent_key)
			SELECT `+kept+`, 'QUEUED', ?, slice_id+?, CONCAT('copy ', slice_id+?) FROM ing_task`, time.Now().UTC().Format("2006-01-02 15:04:05.000000"), last, last); err != nil {
			return 0, fmt.Errorf("multiply tasks: %w", err)
		}
	}
}

func (l *leases) measure(ctx context.Context, s *sqlstore.Store, dsn string, done func() error) (err error) {
	lease := func(r harvest.LeaseRequest, most int) func() error {
		r.Owner = "bench"
		r.TTL = time.Hour
		r.Max = 1
		r.SpecVersion = 1
		return func() error {
			jobs, err := s.LeaseTasks(ctx, r)
			if err == nil && len(jobs) != most {
				err = fmt.Errorf("%d tasks were leased, not %d", len(jobs), most)
			}
			return err
		}
	}
	l.Known, err = spreadOf(400, lease(harvest.LeaseRequest{Turns: new(harvest.Turns)}, 1), done)
	if err != nil {
		return err
	}
	l.Unknown, err = spreadOf(100, lease(harvest.LeaseRequest{}, 1), done)
	if err != nil {
		return err
	}
	var rests []harvest.Rest
	for i := range 4 {
		rests = append(rests, harvest.Rest{Provenance: fmt.Sprintf("queue%d", i), Operation: harvest.Harvest})
	}
	l.Idle, err = spreadOf(100, lease(harvest.LeaseRequest{Resting: rests, Turns: new(harvest.Turns)}, 0), done)
	if err != nil {
		return err
	}
	l.Open, err = spreadOf(10, func() error {
		again, err := sqlstore.Open(ctx, dsn, sqlstore.Options{})
		if err != nil {
			return err
		}
		return again.Close()
	}, done)
	if err != nil {
		return err
	}
	l.Pick, err = spreadAtOnce(pickers, 50, func() func() error { return lease(harvest.LeaseRequest{Turns: new(harvest.Turns)}, 1) })
	if err != nil {
		return err
	}
	if err := done(); err != nil {
		return err
	}
	l.Page, err = commitPages(ctx, s, 30)
	return errors.Join(err, done())
}

// commitPages measures the commits of so many pages of one walk.
func commitPages(ctx context.Context, s *sqlstore.Store, pages int) (spread, error) {
	jobs, err := s.LeaseTasks(ctx, harvest.LeaseRequest{Owner: "bench", TTL: time.Hour, Max: 1, SpecVersion: 1})
	if err != nil || len(jobs) != 1 {
		return spread{}, errors.Join(err, fmt.Errorf("%d tasks were leased to write pages of", len(jobs)))
	}
	job := jobs[0]
	res, err := s.StartRun(ctx, job.Lease)
	if err != nil {
		return spread{}, err
	}
	var next harvest.Batch
	prepare := func() error {
		opened, err := s.OpenBatch(ctx, job.Lease, harvest.BatchOpen{
			Run: res.Run, BatchNo: res.BatchNo, Walk: res.Walk, Phase: harvest.PhaseSearch, Ordinal: res.SearchDone + 1, Before: res.Search,
		})
		if err != nil {
			return err
		}
		next = pageOf(opened, job.Plan)
		res.BatchNo++
		res.SearchDone++
		res.Search = next.After
		return nil
	}
	if err := prepare(); err != nil {
		return spread{}, err
	}
	return spreadOf(pages, func() error {
		_, err := s.CommitBatch(ctx, job, next, nil, nil)
		return err
	}, prepare)
}

// pageOf is a page of new records of the usual size.
func pageOf(o harvest.OpenedBatch, plan harvest.PlanID) harvest.Batch {
	after := o.Before
	after.Pages++
	after.Token = fmt.Sprint("t", o.Ordinal)
	b := harvest.Batch{
		OpenedBatch: o, After: after, RecordType: "work",
		Evidence: harvest.Evidence{Request: "GET https://test.example/", HTTPStatus: 200, Sent: 1},
	}
	at := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	text := strings.Repeat("a study of what records weigh, and why; ", 70)
	for i := range pageRecords {
		id := fmt.Sprintf("10.5555/%d.%d.%d", plan, o.Ordinal, i)
		raw := []byte(`{"DOI":"` + id + `","title":"` + text + `"}`)
		sum := sha256.Sum256(raw)
		b.Records = append(b.Records, harvest.Record{
			ID: id, Version: harvest.Version{UpdatedAt: at, ObservedAt: o.OpenedAt, ContentHash: sum}, RawSHA256: sum, Raw: raw,
			Fields: []byte(`{"title":"A study of what records weigh","doi":"` + id + `"}`), Status: harvest.RecordActive, MappingVersion: "m1",
		})
	}
	return b
}

// spreadAtOnce measures n calls of each of so many callers that call at once.
func spreadAtOnce(callers, n int, of func() func() error) (spread, error) {
	took := make([][]float64, callers)
	failed := make([]error, callers)
	var all sync.WaitGroup
	for i := range callers {
		f := of()
		all.Go(func() {
			for range n {
				began := time.Now()
				if err := f(); err != nil {
					failed[i] = err
					return
				}
				took[i] = append(took[i], time.Since(began).Seconds()*1000)
			}
		})
	}
	all.Wait()
	if err := errors.Join(failed...); err != nil {
		return spread{}, err
	}
	return summarize(slices.Concat(took...)), nil
}

// summarize tells how times are spread.
func summarize(took []float64) spread {
	slices.Sort(took)
	n := len(took)
	sum := 0.0
	for _, t := range took {
		sum += t
	}
	return spread{Mean: sum / float64(n), P50: took[n/2], P95: took[n*95/100]}
}

// spreadOf measures n calls of f, and calls done after each.
func spreadOf(n int, f, done func() error) (spread, error) {
	took := make([]float64, 0, n)
	for range n {
		began := time.Now()
		if err := f(); err != nil {
			return spread{}, err
		}
		took = append(took, time.Since(began).Seconds()*1000)
		if err := done(); err != nil {
			return spread{}, err
		}
	}
	return summarize(took), nil
}

// judgeQueue tells how a long queue compares with a short one.
func (f *figures) judgeQueue(where string, verdict func(ok bool, format string, args ...any)) {
	short, long := f.Leases[0], f.Leases[1]
	verdict(long.Known.P95 < leaseWithin, "%s, a lease with %d tasks queued: P50 %.1f ms, P95 %.1f ms (under %d ms); %.2f times that with %d queued (P50)",
		where, long.Queued, long.Known.P50, long.Known.P95, leaseWithin, long.Known.P50/short.Known.P50, short.Queued)
	verdict(long.Unknown.P95 < 2*leaseWithin, "%s, a lease that has to read the heads: P50 %.1f ms, P95 %.1f ms; %.2f times (P50); the store opens in %.0f ms, %.2f times",
		where, long.Unknown.P50, long.Unknown.P95, long.Unknown.P50/short.Unknown.P50, long.Open.P50, long.Open.P50/short.Open.P50)
	verdict(long.Pick.P95 < pickWithin, "%s, a lease where %d ask at once with %d tasks queued: P50 %.1f ms, P95 %.1f ms (under %d ms)",
		where, pickers, long.Queued, long.Pick.P50, long.Pick.P95, pickWithin)
	perHundred := long.Page.Mean * 100 / pageRecords
	verdict(perHundred < commitWithin, "%s, the commit of a page of %d records: %.1f ms in the mean for each hundred (under %d ms), P95 %.0f ms for the page",
		where, pageRecords, perHundred, commitWithin, long.Page.P95)
	if long.FromMemory > 0 {
		verdict(long.FromMemory > fromMemory, "%s, pages in the buffer pool of those read: %.2f %% (over %.0f %%)", where, 100*long.FromMemory, 100*fromMemory)
	}
	share := long.Idle.P50 / 500
	verdict(share < idleShare, "%s, an idle executor looks for %.2f ms twice a second: at most %.2f %% of a core (under %.0f %%)", where, long.Idle.P50, 100*share, 100*idleShare)
}
