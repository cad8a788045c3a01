package scheduler_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/papertrace/patra/internal/app/planner"
	"github.com/papertrace/patra/internal/app/registry"
	"github.com/papertrace/patra/internal/app/scheduler"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/pace"
	"github.com/papertrace/patra/internal/domain/schedule"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/infra/sourcefile"
	"github.com/papertrace/patra/internal/infra/sqlstore"
	"github.com/papertrace/patra/internal/patratest"
)

// pack is a source that can be harvested and refreshed.
const pack = `source: %s
name: Test
baseUrl: https://test.example
recordType: item
identity: TEXT
window: {key: updated, filters: {from: updated, to: updated}, precision: SECOND, bound: OPEN, updatedAt: PATH, safetyLag: 10m, step: 30d}
pagination: {type: TOKEN, pageSize: 20, end: NO_TOKEN}
batching: {idBatchSize: 10}
endpoints:
  list:
    usage: SEARCH
    path: /items
    format: JSON
    query: {from: "${iso(window.from)}", to: "${iso(window.to)}", size: "${page.size}", token: "${page.token}"}
    response: {items: items, id: id, nextToken: next}
  count:
    usage: COUNT
    path: /count
    format: JSON
    query: {from: "${iso(window.from)}", to: "${iso(window.to)}"}
    response: {root: total, total: total}
  batch:
    usage: DETAIL
    path: /batch
    format: JSON
    query: {ids: "${join(ids, ',')}"}
    response: {items: items, id: id, updatedAt: {path: updated, format: RFC3339, key: updated}}
mapping: {fields: {title: title}}
%s
`

// world is what schedulers share: a store, sources, an upstream that counts.
type world struct {
	t     testing.TB
	dsn   string
	store *sqlstore.Store
	packs map[string]registry.Described

	mu     sync.Mutex
	now    time.Time // zero: the store's own
	events []scheduler.Event
	broken map[string]error // sources that do not answer
}

// newWorld has sources by name, each with its schedule.
func newWorld(t testing.TB, dsn string, schedules map[string]string) *world {
	t.Helper()
	w := &world{t: t, dsn: dsn, store: patratest.Open(t, dsn, sqlstore.Options{}), packs: map[string]registry.Described{}, broken: map[string]error{}}
	for code, s := range schedules {
		p, err := sourcefile.Parse(code+".yaml", fmt.Appendf(nil, pack, code, s))
		if err != nil {
			t.Fatal(err)
		}
		w.packs[code] = registry.Described{Definition: p.Definition, Hash: p.Hash(), Origin: registry.File}
	}
	if _, err := w.registry(w.store).Schedules(t.Context()); err != nil { // applies them
		t.Fatal(err)
	}
	return w
}

func (w *world) registry(s *sqlstore.Store) *registry.Registry {
	return registry.New(s, registry.Read(w.packs), nil, nil, patratest.Logger(w.t))
}

// Ask implements planner.Upstream.
func (w *world) Ask(_ context.Context, s *source.Spec, _ source.Call) (source.Answer, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.broken[s.Source]; err != nil {
		return source.Answer{}, err
	}
	return source.Answer{Page: &harvest.Page{Total: new(int64(5))}}, nil
}

// Allowed implements planner.Upstream.
func (w *world) Allowed(_ context.Context, s *source.Spec, _ source.Call) source.Rate {
	return s.Allowed(false)
}

// Estimate implements planner.Upstream.
func (w *world) Estimate(context.Context, *source.Spec, source.Call, time.Duration) (pace.Advice, error) {
	return pace.Advice{Requests: math.MaxInt64, OfQuotas: math.MaxInt64}, nil
}

func (w *world) observe(ev scheduler.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.events = append(w.events, ev)
}

// kinds lists what happened to a source since it was asked last.
func (w *world) kinds(code string) (out []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, ev := range w.events {
		if ev.Source == code {
			out = append(out, string(ev.Kind)+" "+ev.Due.Format("15:04"))
		}
	}
	w.events = slices.DeleteFunc(w.events, func(ev scheduler.Event) bool { return ev.Source == code })
	return slices.Compact(out)
}

// view is the store with a clock that a test can set.
type view struct {
	*sqlstore.Store
	w *world
	// meet, if set, is called before a source is planned.
	meet func()
}

func (v *view) Now(ctx context.Context) (time.Time, error) {
	v.w.mu.Lock()
	defer v.w.mu.Unlock()
	if v.w.now.IsZero() {
		return v.Store.Now(ctx)
	}
	return v.w.now, nil
}

func (v *view) Held(ctx context.Context, code string) (string, bool, error) {
	if v.meet != nil {
		v.meet()
	}
	return v.Store.Held(ctx, code)
}

// NotBegun: nobody works here, yet every plan counts as begun. What becomes of those
// that are not is tested where there are executors.
func (v *view) NotBegun(context.Context, harvest.Namespace) (harvest.PlanID, bool, error) {
	return 0, false, nil
}

func (w *world) scheduler(s *sqlstore.Store, meet func()) *scheduler.Scheduler {
	reg, v := w.registry(s), &view{Store: s, w: w, meet: meet}
	return scheduler.New(scheduler.Config{Poll: 10 * time.Second, Observe: w.observe}, reg, v, planner.New(reg, v, w, patratest.Logger(w.t)), patratest.Logger(w.t))
}

// run runs a scheduler for a time, in a bubble.
func (w *world) run(d time.Duration) {
	ctx, stop := context.WithTimeout(w.t.Context(), d)
	defer stop()
	if err := w.scheduler(w.store, nil).Run(ctx); err != nil {
		w.t.Error(err)
	}
}

// lookOnce has a scheduler look at its schedules once, and waits for what it triggered.
func lookOnce(t testing.TB, s *scheduler.Scheduler) {
	s.Look(t.Context())
	s.Wait()
}

func (w *world) ask(query string, args ...any) (n int) {
	w.t.Helper()
	if err := patratest.Raw(w.t, w.dsn).QueryRow(query, args...).Scan(&n); err != nil {
		w.t.Fatalf("%s: %v", query, err)
	}
	return n
}

// TestR5_TwoSchedulersPlanEachTimeOnce: two schedulers find the same hundred
// times due, each time at the same moment; each is planned once, and the other
// scheduler takes that for an answer.
func TestR5_TwoSchedulersPlanEachTimeOnce(t *testing.T) {
	times := 100
	if testing.Short() {
		times = 20
	}
	patratest.EachKind(t, func(t *testing.T, e patratest.Engine) {
		w := newWorld(t, e.SpareDSN(t), map[string]string{"alpha": `schedule: {harvest: "@hourly"}`})
		began, err := w.store.Now(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var arrived chan struct{}
		meet := func() { // both have found it due before one plans it
			select {
			case arrived <- struct{}{}:
			case <-arrived:
			case <-t.Context().Done():
			}
		}
		a, b := w.scheduler(w.store, meet), w.scheduler(patratest.Open(t, w.dsn, sqlstore.Options{}), meet)
		for n := range times {
			arrived = make(chan struct{})
			w.mu.Lock()
			w.now = began.Truncate(time.Hour).Add(time.Duration(n+1)*time.Hour + time.Minute)
			w.mu.Unlock()
			var both sync.WaitGroup
			both.Go(func() { lookOnce(t, a) })
			both.Go(func() { lookOnce(t, b) })
			both.Wait()
		}
		count := map[scheduler.EventKind]int{}
		for _, ev := range w.events {
			count[ev.Kind]++
			if ev.Kind == scheduler.Failed || ev.Kind == scheduler.Skipped {
				t.Errorf("%+v", ev)
			}
		}
		if count[scheduler.Triggered] != times || count[scheduler.Before] != times {
			t.Errorf("%v of %d times", count, times)
		}
		if n := w.ask(`SELECT COUNT(*) FROM ing_plan`); n != times {
			t.Errorf("%d plans of %d times", n, times)
		}
		if n := w.ask(`SELECT COUNT(*) FROM ing_schedule_instance WHERE scheduler_code='patra' AND scheduler_job_id='alpha/HARVEST' AND trigger_type_code='SCHEDULED' AND outcome_code='PLANNED' AND plan_id IS NOT NULL`); n != times {
			t.Errorf("%d triggers of %d times", n, times)
		}
		if n := w.ask(`SELECT COUNT(*) FROM ing_schedule_instance`); n != times {
			t.Errorf("%d traces of %d times", n, times)
		}
		if n := w.ask(`SELECT COUNT(DISTINCT schedule_instance_id) FROM ing_plan`); n != times {
			t.Errorf("%d triggers have plans", n)
		}
		patratest.MustVerify(t, w.store)
	})
}

// TestScheduler_MissedTimesAreMadeUpOnce: nothing runs for half a day.
func TestScheduler_MissedTimesAreMadeUpOnce(t *testing.T) {
	patratest.Long(t, "a matrix of cases without concurrency")
	bubble(t, func(t *testing.T) {
		w := newWorld(t, patratest.SQLite.SpareDSN(t), map[string]string{"alpha": `schedule: {harvest: "@hourly"}`})
		w.run(3*time.Hour + 30*time.Minute)
		if got := strings.Join(w.kinds("alpha"), ", "); got != "triggered 01:00, triggered 02:00, triggered 03:00" {
			t.Errorf("first: %s", got)
		}
		time.Sleep(12 * time.Hour) // 15:30
		w.run(time.Hour)
		if got := strings.Join(w.kinds("alpha"), ", "); got != "triggered 15:00, triggered 16:00" {
			t.Errorf("after a while away: %s", got)
		}
		if n := w.ask(`SELECT COUNT(*) FROM ing_plan`); n != 5 {
			t.Errorf("%d plans", n)
		}
		patratest.MustVerify(t, w.store)
	})
}

// TestR18_HeldSourcesWait: a paused, stopped or quiet source is left out with
// its reason, and made up for once when it may be asked again.
func TestR18_HeldSourcesWait(t *testing.T) {
	patratest.Long(t, "hours of one scheduler, in which nothing runs at once")
	bubble(t, func(t *testing.T) {
		w := newWorld(t, patratest.SQLite.SpareDSN(t), map[string]string{
			"paused": `schedule: {harvest: "@hourly"}`,
			"free":   `schedule: {harvest: "@hourly"}`,
			"quiet":  `schedule: {harvest: "@hourly", zone: America/New_York, quiet: [{from: "20:30", to: "22:15"}]}`, // 01:30Z to 03:15Z
		})
		if err := w.store.HoldSource(t.Context(), "paused", true, false, "mending"); err != nil {
			t.Fatal(err)
		}
		w.run(3*time.Hour + 5*time.Minute)
		w.mu.Lock()
		for _, ev := range w.events {
			if want := map[string]string{"paused": "paused: mending", "quiet": "quiet_hours until 2000-01-01T03:15:00.000000Z"}[ev.Source]; ev.Kind == scheduler.Skipped && ev.Reason != want {
				t.Errorf("%s: %s", ev.Source, ev.Reason)
			}
		}
		w.mu.Unlock()
		if got := strings.Join(w.kinds("paused"), ", "); got != "skipped 01:00, skipped 02:00, skipped 03:00" {
			t.Errorf("paused: %s", got)
		}
		if got := strings.Join(w.kinds("quiet"), ", "); got != "triggered 01:00, skipped 02:00, skipped 03:00" {
			t.Errorf("quiet: %s", got)
		}
		if got := strings.Join(w.kinds("free"), ", "); got != "triggered 01:00, triggered 02:00, triggered 03:00" {
			t.Errorf("free: %s", got)
		}
		if err := w.store.HoldSource(t.Context(), "paused", false, false, ""); err != nil {
			t.Fatal(err)
		}
		w.run(30 * time.Minute)
		for _, code := range []string{"paused", "quiet"} {
			if got := strings.Join(w.kinds(code), ", "); !strings.HasSuffix(got, "triggered 03:00") || strings.Count(got, "triggered") != 1 {
				t.Errorf("%s afterwards: %s", code, got)
			}
		}
	})
}

// TestScheduler_OneSourcesTroubleIsItsOwn: a source that does not answer is
// recorded, tried again in the same trace, and keeps nobody else.
func TestScheduler_OneSourcesTroubleIsItsOwn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, patratest.SQLite.SpareDSN(t), map[string]string{"sick": `schedule: {harvest: "@hourly"}`, "well": `schedule: {harvest: "@hourly"}`})
		w.broken["sick"] = fmt.Errorf("no route: %w", harvest.Fault{Level: harvest.Transient, Code: "connect"})
		w.run(time.Hour + 12*time.Minute)
		if got := w.kinds("well"); len(got) != 1 || got[0] != "triggered 01:00" {
			t.Errorf("well: %v", got)
		}
		w.mu.Lock()
		failed := 0
		for _, ev := range w.events {
			if ev.Kind == scheduler.Failed && strings.Contains(ev.Reason, "no route") {
				failed++
			}
		}
		w.mu.Unlock()
		if failed != 3 { // at 0, 5 and 10 minutes
			t.Errorf("failed %d times", failed)
		}
		const trace = `SELECT COUNT(*) FROM ing_schedule_instance WHERE scheduler_job_id='sick/HARVEST' AND outcome_code=?`
		if n := w.ask(trace+` AND record_remarks LIKE '%no route%'`, "FAILED"); n != 1 {
			t.Errorf("%d traces of the failure", n)
		}
		w.mu.Lock()
		delete(w.broken, "sick")
		w.mu.Unlock()
		w.run(10 * time.Minute)
		if got := w.kinds("sick"); got[len(got)-1] != "triggered 01:00" || w.ask(trace, "FAILED") != 0 || w.ask(trace, "PLANNED") != 1 {
			t.Errorf("sick, mended: %v", got)
		}
	})
}

// TestScheduler_NewLinesCountFromTheirStart: a line does not find times due that
// came before it was in force.
func TestScheduler_NewLinesCountFromTheirStart(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, patratest.SQLite.SpareDSN(t), map[string]string{"alpha": `schedule: {harvest: "@hourly"}`})
		w.run(2*time.Hour + 30*time.Minute)
		w.kinds("alpha")
		d := w.packs["alpha"]
		cfg := *d.Definition.Schedule
		cfg.Harvest = "15 * * * *"
		d.Definition.Schedule = &cfg
		d.Hash = "changed"
		w.packs["alpha"] = d
		w.run(time.Hour) // applies it at 02:30
		if got := strings.Join(w.kinds("alpha"), ", "); got != "triggered 03:15" {
			t.Errorf("after the change: %s", got)
		}
	})
}

// wishes answers every trigger and keeps it.
type wishes struct {
	mu  sync.Mutex
	all []harvest.Trigger
	err error
}

func (p *wishes) Answer(_ context.Context, t harvest.Trigger) (harvest.TriggerAnswer, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all = append(p.all, t)
	return harvest.TriggerAnswer{}, p.err
}

// TestR9_UpdatesNameTheirActivityAfterTheirTime: and pick what was not seen for
// as long as the schedule says, and what was signalled.
func TestR9_UpdatesNameTheirActivityAfterTheirTime(t *testing.T) {
	w := newWorld(t, patratest.SQLite.SpareDSN(t), map[string]string{"alpha": `schedule: {harvest: "@daily", zone: Europe/Berlin}
tasks: {update: {schedule: {update: "30 2 * * *", olderThan: 90d, zone: Europe/Berlin}}}`})
	w.now = time.Date(2030, 10, 27, 12, 0, 0, 0, time.UTC) // 02:30 was shown twice that day
	p := &wishes{err: errors.New("not now")}
	lookOnce(t, scheduler.New(scheduler.Config{}, w.registry(w.store), &view{Store: w.store, w: w}, p, patratest.Logger(t)))
	slices.SortFunc(p.all, func(a, b harvest.Trigger) int { return strings.Compare(a.JobID, b.JobID) })
	if len(p.all) != 2 {
		t.Fatalf("%d triggers: %+v", len(p.all), p.all)
	}
	h, u := p.all[0], p.all[1]
	if h.Operation != harvest.Harvest || h.Activity != "" || h.Kind != "SCHEDULED" || h.Scheduler != "patra" || h.JobID != "alpha/HARVEST" || h.LogID != "2030-10-26T22:00:00.000000Z" {
		t.Errorf("%+v", h)
	}
	if u.Operation != harvest.Update || u.Activity != "update-2030-10-27T00:30Z" || u.LogID != "2030-10-27T00:30:00.000000Z" || !u.Pick.SeenBefore.Equal(w.now.AddDate(0, 0, -90)) || !u.Pick.Signals ||
		!strings.Contains(u.Params, `"line":"30 2 * * *"`) {
		t.Errorf("%+v", u)
	}
}

var warm sync.Once

// bubble runs f in virtual time. A goroutine left behind fails it.
func bubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	warm.Do(func() { patratest.Open(t, "sqlite:"+filepath.Join(t.TempDir(), "warm.db"), sqlstore.Options{}) })
	synctest.Test(t, f)
}

// unreadable are sources whose schedules cannot be read as long as there is an
// error.
type unreadable struct{ err error }

func (u *unreadable) Schedules(context.Context) ([]source.Scheduled, error) { return nil, u.err }

// idle is a store that is asked for nothing but the time.
type idle struct{ scheduler.Store }

func (idle) Now(context.Context) (time.Time, error) { return time.Unix(0, 0), nil }

func (idle) Standing(context.Context) ([]schedule.Standing, error) { return nil, nil }

// TestScheduler_TroubleIsToldOnce: not with every poll, again when it is another,
// and also that it is over.
func TestScheduler_TroubleIsToldOnce(t *testing.T) {
	var log bytes.Buffer
	u := &unreadable{}
	s := scheduler.New(scheduler.Config{}, u, idle{}, nil, slog.New(slog.NewTextHandler(&log, nil)))
	for _, err := range []error{nil, errors.New("one"), errors.New("one"), errors.New("two"), errors.New("two"), nil, nil} {
		u.err = err
		lookOnce(t, s)
	}
	if got := strings.Count(log.String(), "\n"); got != 3 || !strings.Contains(log.String(), "read again") {
		t.Errorf("%d lines:\n%s", got, log.String())
	}
}

// TestR68_EachLineByItself: two schedulers over rows of their own and what a pack
// suggests, all of one source and operation. Each line's times are triggered once,
// with its own query, priority, endpoint and pacing; one that is paused or removed begins nothing, and
// a row that bears the name of a suggestion stands in its place.
func TestR68_EachLineByItself(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, patratest.SQLite.SpareDSN(t), map[string]string{"alpha": `schedule: {harvest: "@hourly"}`, "beta": `schedule: {harvest: "@hourly"}`})
		set := func(name, cron string, change func(*schedule.Standing)) {
			line, err := schedule.ParseCron(cron)
			if err != nil {
				t.Fatal(err)
			}
			st := schedule.Standing{Name: name, Source: "alpha", Operation: harvest.Harvest, Cron: line, Zone: time.UTC, Enabled: true}
			if change != nil {
				change(&st)
			}
			if err := w.store.SetSchedule(t.Context(), st, source.Audit{Actor: "t", Action: "SCHEDULE_SET", Object: name}); err != nil {
				t.Fatal(err)
			}
		}
		pacing := harvest.Pacing{Spread: time.Hour, Bounds: harvest.Bounds{Rate: 0.5, PageSize: 7, Concurrency: 1}}
		set("often", "*/30 * * * *", func(st *schedule.Standing) {
			st.Priority = 300
			st.Wants.Endpoint = "list"
			st.Wants.Pacing = pacing
		})
		set("seldom", "0 */2 * * *", nil)
		set("paused", "* * * * *", func(st *schedule.Standing) { st.Enabled = false })
		set("removed", "* * * * *", nil)
		set("beta/HARVEST", "15 * * * *", func(st *schedule.Standing) { st.Source = "beta" })
		set("moving", "0 1,3 * * *", func(st *schedule.Standing) {
			st.Operation = harvest.Backfill
			st.Wants = schedule.Wants{From: schedule.Bound{Ago: 30 * time.Minute}, To: schedule.Bound{Ago: 15 * time.Minute}}
		})
		if err := w.store.RemoveSchedule(t.Context(), "removed", source.Audit{Actor: "t", Action: "SCHEDULE_REMOVE", Object: "removed"}); err != nil {
			t.Fatal(err)
		}
		p := &wishes{}
		ctx, stop := context.WithTimeout(t.Context(), 4*time.Hour+time.Minute)
		defer stop()
		var both sync.WaitGroup
		for range 2 {
			s := scheduler.New(scheduler.Config{}, w.registry(w.store), &view{Store: w.store, w: w}, &answering{p, w.store}, patratest.Logger(t))
			both.Go(func() {
				if err := s.Run(ctx); err != nil {
					t.Error(err)
				}
			})
		}
		both.Wait()
		got := map[string]int{}
		for _, trigger := range p.all {
			got[trigger.JobID]++
			paced := trigger.Priority == 300 && trigger.Endpoint == "list" && trigger.Pacing == pacing
			plain := trigger.Priority != 300 && trigger.Endpoint == "" && trigger.Pacing == harvest.Pacing{}
			if often := trigger.JobID == "often"; often && !paced || !often && !plain {
				t.Errorf("%+v", trigger)
			}
		}
		want := map[string]int{"often": 8, "seldom": 2, "alpha/HARVEST": 4, "beta/HARVEST": 4, "moving": 2}
		if !maps.Equal(got, want) {
			t.Errorf("triggered %v, want %v", got, want)
		}
		for _, trigger := range p.all {
			if trigger.JobID != "moving" {
				continue
			}
			due, err := time.Parse(harvest.TimeLayout, trigger.LogID)
			if err != nil {
				t.Fatal(err)
			}
			from := due.Add(-30 * time.Minute)
			if due.Hour() == 3 {
				from = due.Add(-2*time.Hour - 15*time.Minute) // where the one before ended
			}
			if !trigger.From.Equal(from) || !trigger.To.Equal(due.Add(-15*time.Minute)) || trigger.Activity != "moving-"+due.Format("2006-01-02T15:04Z") {
				t.Errorf("%+v", trigger)
			}
		}
	})
}

// answering answers each trigger once, as a planner does, and keeps those it answered.
type answering struct {
	*wishes
	store *sqlstore.Store
}

func (a *answering) Answer(ctx context.Context, t harvest.Trigger) (harvest.TriggerAnswer, error) {
	from, to := harvest.TimeMark(time.Unix(0, 0)), harvest.TimeMark(time.Unix(1, 0))
	d := harvest.Draft{
		Trigger: t, Namespace: harvest.ActivityNamespace(t.Provenance, t.Operation, "updated", t.JobID+t.LogID), Endpoint: "list",
		Span: harvest.Span{From: from, To: to}, SlicedTo: to, Snapshot: []byte("{}"), Strategy: harvest.StrategyTime,
		Selection: "{}", SliceParams: "{}",
	}
	if t.Operation == harvest.Backfill {
		d.SlicedTo = from // it is cut from its end
	}
	head, err := a.store.SavePlan(ctx, d)
	if errors.Is(err, harvest.ErrAnswered) {
		return harvest.TriggerAnswer{Before: true}, nil
	}
	if err != nil {
		return harvest.TriggerAnswer{}, err
	}
	_, err = a.wishes.Answer(ctx, t)
	return harvest.TriggerAnswer{Plan: head.ID}, err
}
