package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/infra/sqlstore"
)

// What is asked of the queue.
const (
	leaseWithin = 10   // milliseconds, of 95 in 100 leases
	idleShare   = 0.01 // of a core, for an executor that finds nothing twice a second
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
}

// spread is how long something took, in milliseconds.
type spread struct {
	P50 float64 `json:"p50"`
	P95 float64 `json:"p95"`
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
		if err := fill(ctx, store, fmt.Sprintf("queue%d", i), 512); err != nil {
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
		if err := l.measure(ctx, store, dsn, done); err != nil {
			return f, err
		}
		f.Leases = append(f.Leases, l)
		f.Records = int64(queued)
	}
	return f, m.stop(&f)
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
	for h := range hours {
		w := harvest.Window{From: at(h), To: at(h + 1)}
		d.Slices = append(d.Slices, harvest.SliceDraft{Spec: harvest.NewSliceSpec(harvest.PartOf(w), harvest.Calendar{Precision: harvest.PrecisionSecond, Zone: time.UTC}, 10, 0, 0), Expr: w.String()})
	}
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
	return err
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
	slices.Sort(took)
	return spread{P50: took[n/2], P95: took[n*95/100]}, nil
}

// judgeQueue tells how a long queue compares with a short one.
func (f *figures) judgeQueue(where string, verdict func(ok bool, format string, args ...any)) {
	short, long := f.Leases[0], f.Leases[1]
	verdict(long.Known.P95 < leaseWithin, "%s, a lease with %d tasks queued: P50 %.1f ms, P95 %.1f ms (under %d ms); %.2f times that with %d queued (P50)",
		where, long.Queued, long.Known.P50, long.Known.P95, leaseWithin, long.Known.P50/short.Known.P50, short.Queued)
	verdict(long.Unknown.P95 < 2*leaseWithin, "%s, a lease that has to read the heads: P50 %.1f ms, P95 %.1f ms; %.2f times (P50); the store opens in %.0f ms, %.2f times",
		where, long.Unknown.P50, long.Unknown.P95, long.Unknown.P50/short.Unknown.P50, long.Open.P50, long.Open.P50/short.Open.P50)
	share := long.Idle.P50 / 500
	verdict(share < idleShare, "%s, an idle executor looks for %.2f ms twice a second: at most %.2f %% of a core (under %.0f %%)", where, long.Idle.P50, 100*share, 100*idleShare)
}
