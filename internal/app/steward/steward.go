// Package steward watches how sources behave over time: it has one proven window
// a day walked again to see what came late, and moves the safety lag by how much
// does.
//
// It promises that both happen once a day and namespace, however many stewards
// there are, and that what it moves is runtime state: plans made later read it,
// the registry and fingerprints never do (C13). A sentinel runs in a namespace of
// its own, so the harvest's cursor is not touched by it (I9).
//
// What is late is judged where pages are committed, the rate by the store.
package steward

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// Every is how often a steward looks whether the work of the day is done, or less
// often.
const Every = 10 * time.Minute

// Config of a steward.
type Config struct {
	// May, if set, reports whether an operation of a source may be begun now.
	May func(ctx context.Context, provenance string, op harvest.Operation) bool
}

// Steward watches over the HARVEST namespaces of a store.
type Steward struct {
	cfg     Config
	sources Sources
	store   Store
	planner Planner
	log     *slog.Logger
}

// New returns a steward. Without sources nobody asks for sentinels.
func New(cfg Config, sources Sources, store Store, planner Planner, log *slog.Logger) *Steward {
	return &Steward{cfg: cfg, sources: sources, store: store, planner: planner, log: log.With("component", "steward")}
}

// Tick does what is to be done today and was not yet. One namespace's trouble does
// not keep the others from it.
func (s *Steward) Tick(ctx context.Context) error {
	return errors.Join(s.Sentinels(ctx), s.Tune(ctx))
}

// Sentinels sends the sentinels of all sources whose schedule wants them.
func (s *Steward) Sentinels(ctx context.Context) error {
	if s.sources == nil {
		return nil
	}
	all, err := s.sources.Schedules(ctx)
	errs := []error{err}
	for _, sch := range all {
		if sch.Operation == harvest.Harvest && sch.Schedule.Sentinel {
			_, err := s.Sentinel(ctx, sch.Source)
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// Sentinel sends the sentinels of one source, where there was none today, and
// returns how many.
func (s *Steward) Sentinel(ctx context.Context, provenance string) (n int, err error) {
	now, err := s.store.Now(ctx)
	if err != nil {
		return 0, err
	}
	all, err := s.store.Watched(ctx)
	if err != nil {
		return 0, err
	}
	var errs []error
	for _, w := range all {
		if w.Namespace.Provenance != provenance {
			continue
		}
		sent, err := s.sendSentinel(ctx, w, startOfDay(now))
		if err != nil {
			errs = append(errs, fmt.Errorf("sentinel of %s %s: %w", provenance, w.Namespace, err))
		}
		if sent {
			n++
		}
	}
	return n, errors.Join(errs...)
}

// sendSentinel has one proven window of a namespace walked again, and reports whether
// it has. The day is claimed before the plan is made: a plan that fails is not tried
// again before tomorrow.
func (s *Steward) sendSentinel(ctx context.Context, w harvest.Watched, day time.Time) (bool, error) {
	ns := w.Namespace
	if !w.SentinelAt.Before(day) || s.cfg.May != nil && !s.cfg.May(ctx, ns.Provenance, harvest.Backfill) {
		return false, nil
	}
	spec, err := source.ParseSpec(w.Snapshot)
	if err != nil {
		return false, err
	}
	if spec.Window.UpdatedAt != source.UpdatedInItem || spec.ByID() {
		return false, nil // its items do not say when they were updated, or it cannot be asked for a time
	}
	win, ok, err := s.chooseWindow(ctx, w, spec, day)
	if err != nil || !ok {
		return false, err
	}
	if won, err := s.store.ClaimSentinel(ctx, ns, day); err != nil || !won {
		return false, err
	}
	t, err := sentinelTrigger(w, spec, win, day)
	if err != nil {
		return false, err
	}
	answer, err := s.planner.Answer(ctx, t)
	if err != nil {
		return false, err
	}
	s.log.Info("sentinel sent", "source", ns.Provenance, "plan", answer.Plan, "window", win.String(), "activity", t.Activity)
	return true, nil
}

// chooseWindow takes one of the windows that were proven before the day began. Which
// one follows from the namespace and the day alone, so that every steward takes the
// same. A window must have been proven for as long as a safety lag can last: what
// comes late would not be there yet otherwise.
//
//	|--- windows of LateOver, one of them is taken ---|-- lag --|---- the day ----|
func (s *Steward) chooseWindow(ctx context.Context, w harvest.Watched, spec *source.Spec, day time.Time) (harvest.Window, bool, error) {
	by := day.Add(-max(spec.Window.LagBounds().Filled().Most, spec.Window.SafetyLag.D()))
	all, err := s.store.ProvenWindows(ctx, w.Cursor, by.Add(-harvest.LateOver), by)
	if err != nil || len(all) == 0 {
		return harvest.Window{}, false, err
	}
	sum := sha256.Sum256([]byte(w.Namespace.Key + day.Format(time.DateOnly)))
	return all[binary.BigEndian.Uint64(sum[:])%uint64(len(all))], true, nil
}

// sentinelTrigger asks for the plan of a sentinel: a BACKFILL of one window, with the
// query and at the address of the plan that is watched.
func sentinelTrigger(w harvest.Watched, spec *source.Spec, win harvest.Window, day time.Time) (harvest.Trigger, error) {
	ns := w.Namespace
	params, err := json.Marshal(map[string]string{"watches": ns.String(), "window": win.String()})
	if err != nil {
		return harvest.Trigger{}, fmt.Errorf("marshal trigger: %w", err)
	}
	t := harvest.Trigger{
		Provenance: ns.Provenance, Operation: harvest.Backfill, Kind: harvest.TriggerScheduled, Activity: sentinelActivity(ns, day),
		From: win.From, To: win.To, BaseURL: w.BaseURL, Params: string(params), Priority: harvest.SentinelPriority, Watches: w.Cursor,
	}
	if spec.Query != nil {
		t.Query = spec.Query.Text
	}
	if spec.Beside {
		t.Endpoint = spec.Search.Name
	}
	return t, nil
}

// sentinelActivity names the sentinel of a namespace and a day.
func sentinelActivity(ns harvest.Namespace, day time.Time) string {
	key := ns.Key
	if len(key) > 12 {
		key = key[:12]
	}
	return "sentinel-" + day.Format("20060102") + "-" + key
}

// Tune moves the safety lag of every namespace whose late rate is known and that
// was not tuned today (M19).
func (s *Steward) Tune(ctx context.Context) error {
	now, err := s.store.Now(ctx)
	if err != nil {
		return err
	}
	all, err := s.store.Watched(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, w := range all {
		if !w.TunedAt.Before(startOfDay(now)) {
			continue
		}
		if err := s.tuneNamespace(ctx, w); err != nil {
			errs = append(errs, fmt.Errorf("tune %s %s: %w", w.Namespace.Provenance, w.Namespace, err))
		}
	}
	return errors.Join(errs...)
}

// tuneNamespace moves the safety lag of one namespace, if that may be tuned and its
// late rate is known. The move is written also where the lag stays as it is: that it
// was looked at today is kept by it.
func (s *Steward) tuneNamespace(ctx context.Context, w harvest.Watched) error {
	spec, err := source.ParseSpec(w.Snapshot)
	if err != nil {
		return err
	}
	declared := spec.Window.SafetyLag.D()
	bounds := spec.Window.LagBounds()
	if !bounds.Tunable(declared) {
		return nil
	}
	late, err := s.store.Lateness(ctx, w.Cursor)
	if err != nil {
		return err
	}
	rate, known, _ := late.Rate()
	if !known {
		return nil
	}
	lag, ok, err := s.store.TunedLag(ctx, w.Namespace, declared)
	if err != nil {
		return err
	}
	if !ok {
		lag = declared
	}
	t := harvest.Tuning{Namespace: w.Namespace, Declared: declared, From: lag, To: bounds.Tune(lag, rate), Rate: rate}
	won, err := s.store.TuneLag(ctx, t)
	if won && t.From != t.To {
		s.log.Info("safety lag tuned",
			"source", w.Namespace.Provenance, "namespace", w.Namespace.String(), "from", t.From, "to", t.To, "rate", rate)
	}
	return err
}

// startOfDay is the beginning of a day in UTC.
func startOfDay(t time.Time) time.Time { return t.UTC().Truncate(24 * time.Hour) }
