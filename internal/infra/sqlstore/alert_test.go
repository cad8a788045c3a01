package sqlstore_test

import (
	"context"
	"log/slog"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/papertrace/patra/internal/app/alert"
	"github.com/papertrace/patra/internal/domain/harvest"
)

// letterbox is a sender that counts what it takes.
type letterbox struct {
	mu  sync.Mutex
	got []alert.Message // guarded by mu
}

func (*letterbox) Check() error { return nil }

func (*letterbox) Targets() []alert.Target { return []alert.Target{{Name: "box", Kind: "webhook"}} }

func (b *letterbox) Send(_ context.Context, _ string, m alert.Message) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.got = append(b.got, m)
	return nil
}

// oneMessageForManyStewards: processes that look at the same moment, and send at the
// same moment, make one alert and one message of its beginning and of its end.
func oneMessageForManyStewards(l *Lab) {
	const stewards = 4
	box := new(letterbox)
	facts := alert.Facts{Sources: []alert.SourceFacts{{Code: prov, Stopped: true, StoppedBy: "auth_refused: 401"}}}
	watches := make([]*alert.Watch, stewards)
	for i := range watches {
		look := func(context.Context) (alert.Facts, error) { return facts, nil }
		watches[i] = alert.New(alert.Config{}, look, l.Store, box, slog.New(slog.DiscardHandler))
	}
	together := func(do func(*alert.Watch, context.Context) error) {
		l.Helper()
		var wg sync.WaitGroup
		for _, w := range watches {
			wg.Go(func() {
				if err := do(w, l.ctx()); err != nil {
					l.Error(err)
				}
			})
		}
		wg.Wait()
	}
	for range 3 {
		together((*alert.Watch).Tick)
	}
	together((*alert.Watch).Send)
	together((*alert.Watch).Send)
	if len(box.got) != 1 || box.got[0].State != alert.Firing || l.Int(`SELECT COUNT(*) FROM ing_alert`) != 1 {
		l.Fatalf("%d alerts, told %+v", l.Int(`SELECT COUNT(*) FROM ing_alert`), box.got)
	}
	facts = alert.Facts{}
	together((*alert.Watch).Tick)
	l.Exec(`UPDATE ing_alert SET calm_since='2000-01-01 00:00:00.000000'`)
	for range 2 {
		together((*alert.Watch).Tick)
		together((*alert.Watch).Send)
	}
	if len(box.got) != 2 || box.got[1].State != alert.Cleared || box.got[1].Alert != box.got[0].Alert {
		l.Fatalf("told %+v", box.got)
	}
	all, err := l.Store.Alerts(l.ctx())
	if err != nil || len(all) != 1 || all[0].State != alert.Cleared || all[0].ClearedAt.IsZero() || all[0].Firings != 1 || all[0].Text != box.got[0].Text {
		l.Errorf("%+v, %v", all, err)
	}
	levels, err := l.Store.Levels(l.ctx())
	if err != nil || len(levels.Alerts) != 0 {
		l.Errorf("%+v, %v", levels.Alerts, err)
	}
}

// trafficAndQueues: shares are told of the newest pages of the last minutes, and what
// is usual of what was noted over a day.
func trafficAndQueues(l *Lab) {
	l.Plan(0, 2)
	l.Due()
	l.Walk(l.LeaseOne())
	now, err := l.Store.Now(l.ctx())
	if err != nil {
		l.Fatal(err)
	}
	page := func(no int, status, code string, at time.Time) {
		l.Exec(`INSERT INTO ing_task_run_batch (run_id, task_id, slice_id, plan_id, provenance_code, operation_code, batch_no, walk_no, phase, ordinal, fence,
			status_code, before_position, items, quarantined, bad_ids, http_429, error_code, opened_at, committed_at)
			SELECT run_id, task_id, slice_id, plan_id, provenance_code, operation_code, ?, walk_no, phase, ?, fence, ?, before_position, 9, 1, 1, 2, ?, opened_at, ?
			FROM ing_task_run_batch WHERE batch_no=1`, no, no, status, code, at.Format("2006-01-02 15:04:05.000000"))
	}
	for i := range 3 {
		page(100+i, "FAILED", "http_503", now.Add(-time.Minute))
	}
	page(110, "FAILED", string(harvest.CodeAbandoned), now.Add(-time.Minute))
	page(111, "FAILED", "http_503", now.Add(-time.Hour)) // long ago
	page(112, "SUCCEEDED", "", now)
	got, err := l.Store.Traffic(l.ctx(), prov, now.Add(-alert.TrafficOver))
	want := alert.Traffic{Operation: harvest.Harvest, Pages: 5, Failed: 3, Lost: 1, Throttled: 10, Items: 50, Aside: 10}
	if err != nil || len(got) != 1 || got[0] != want {
		l.Errorf("%+v, %v", got, err)
	}
	for _, n := range []int64{10, 20, 30} {
		look := []alert.QueueLook{{Source: prov, Operation: harvest.Harvest, Waiting: n}, {Source: prov, Operation: harvest.Update}}
		if err := l.Store.NoteQueues(l.ctx(), look); err != nil {
			l.Fatal(err)
		}
	}
	usual, err := l.Store.UsualQueues(l.ctx())
	q := usual[harvest.Partition{Provenance: prov, Operation: harvest.Harvest}]
	if err != nil || len(usual) != 2 || q.Looks != 3 || q.Mean != 20 || math.Abs(q.Deviation-8.165) > 0.001 {
		l.Errorf("%+v, %v", usual, err)
	}
	l.Exec(`UPDATE ing_queue_history SET hour_at='2000-01-01 00:00:00.000000'`)
	if err := l.Store.NoteQueues(l.ctx(), []alert.QueueLook{{Source: prov, Operation: harvest.Harvest, Waiting: 1}}); err != nil {
		l.Fatal(err)
	}
	if n := l.Int(`SELECT COUNT(*) FROM ing_queue_history`); n != 1 {
		l.Errorf("%d rows are kept of what is older than a day", n)
	}
}

// newestPagesTellThePace: where more pages ended than are looked at, the newest stand for
// the others, in their number as well as in what they sent.
func newestPagesTellThePace(l *Lab) {
	l.Plan(0, 2)
	l.Due()
	l.Walk(l.LeaseOne())
	now, err := l.Store.Now(l.ctx())
	if err != nil {
		l.Fatal(err)
	}
	const every = 300 * time.Millisecond
	const pages = 1500
	const cols = `task_id, slice_id, plan_id, provenance_code, operation_code, walk_no, phase, ordinal, fence, status_code, before_position, opened_at`
	var rows []string
	var args []any
	for i := range pages {
		rows = append(rows, `SELECT run_id, `+strings.Replace(cols, "ordinal", "?", 1)+`, ?, ?, ?, ? FROM ing_task_run_batch WHERE batch_no=1`)
		args = append(args, 100+i, 100+i, 2, 1, now.Add(-every*time.Duration(i)).Format("2006-01-02 15:04:05.000000"))
		if len(rows) == 50 {
			l.Exec(`INSERT INTO ing_task_run_batch (run_id, `+cols+`, batch_no, sent, http_429, committed_at) `+strings.Join(rows, ` UNION ALL `), args...)
			rows = nil
			args = nil
		}
	}
	got, err := l.Store.PagesSince(l.ctx(), []string{prov}, now.Add(-every*pages))
	if err != nil {
		l.Fatal(err)
	}
	fared := got[harvest.Partition{Provenance: prov, Operation: harvest.Harvest}]
	near := func(n, want int64) bool { return n > want*97/100 && n < want*103/100 }
	if !near(fared.Stored, pages) || !near(fared.Sent, 2*pages) || !near(fared.HTTP429, pages) {
		l.Errorf("%+v of %d pages", fared, pages)
	}
	got, err = l.Store.PagesSince(l.ctx(), []string{prov}, now.Add(-every*100-every/2))
	fared = got[harvest.Partition{Provenance: prov, Operation: harvest.Harvest}]
	if err != nil || fared.Stored < 100 || fared.Stored > 102 {
		l.Errorf("%+v of the last hundred pages, %v", fared, err)
	}
	l.Exec(`UPDATE ing_task_run_batch SET inserted=3, updated=1 WHERE batch_no>=100`)
	sums, err := l.Store.PageSums(l.ctx(), []string{prov, "nobody"}, now.Add(-every*pages))
	told := sums[prov]
	if err != nil || !told.More || told.Stored != 500 || told.Records < 4*499 || told.Sent < 2*499 {
		l.Errorf("the newest pages come to %+v, %v", told, err)
	}
	if covered := now.Sub(told.First); covered < every*498 || covered > every*500 {
		l.Errorf("500 pages reach back %v", covered)
	}
	sums, err = l.Store.PageSums(l.ctx(), []string{prov}, now.Add(-every*100-every/2))
	told = sums[prov]
	if err != nil || told.More || !told.First.IsZero() || told.Stored < 100 || told.Stored > 102 {
		l.Errorf("the last hundred pages come to %+v, %v", told, err)
	}
}
