// Package reconcile holds what is stored of a source against the source's own
// counts, window by window, and names the windows that differ.
//
// It looks only at what is proven complete, asks one question per window through
// the rate gate, and changes nothing. A difference is a reason to read the window
// again, not yet a loss: see [Window].
package reconcile

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/problem"
	"github.com/papertrace/patra/internal/domain/source"
)

// Registry knows the contract of a source in force now.
type Registry interface {
	Select(ctx context.Context, code string, op harvest.Operation, query string) (source.Contract, error)
}

// Store is what is kept. Every method is one read.
type Store interface {
	// Proven lists the windows of a selection that are proven complete, by the
	// HARVEST of a namespace or by a BACKFILL of the same endpoint and selection,
	// and those that somebody accepted unread.
	Proven(ctx context.Context, ns harvest.Namespace, endpoint, selection string) (proven, accepted []harvest.Window, err error)
	// CountUpdated counts the records, but for those that are gone or merged,
	// whose newest version was updated in each of the windows, which are in
	// order and do not overlap.
	CountUpdated(ctx context.Context, provenance, recordType string, windows []harvest.Window) ([]int64, error)
	// Unstored tells what is known of records that a window holds by one count and
	// not by the other.
	Unstored(ctx context.Context, provenance, recordType string, w harvest.Window) (harvest.Unstored, error)
}

// Upstream asks a source a question, within its limits.
type Upstream interface {
	Ask(ctx context.Context, s *source.Spec, c source.Call) (source.Answer, error)
}

// Request says what is to be compared.
type Request struct {
	Source string
	// From and To bound it; without From it is the last thirty days that are proven.
	From, To time.Time
	// Step is the length of a window: whole days of the source's calendar, or
	// less where the source counts in seconds. 0 is one day.
	Step    time.Duration
	BaseURL string
}

// recent is how much is compared unless it is said from where.
const recent = 30 * 24 * time.Hour

// Window is a window with both counts. More may be stored than is counted though
// nothing is wrong: a record that was changed since the last harvest counts
// upstream in the window of that change, which is not harvested yet, and one that
// was deleted without a word is stored and does not count. What is counted and
// not stored is in quarantine, on the list of bad ids, or missing. Whether the
// source showed it late or a walk passed it by nobody can tell from counts, so it
// is never excused as late (R64).
type Window struct {
	harvest.Window
	Upstream, Stored int64
	// Known of the records that differ; of windows that do not, nothing.
	Known harvest.Unstored
}

// Differs reports whether the counts do.
func (w Window) Differs() bool { return w.Upstream != w.Stored }

// Why says what is known of the difference.
func (w Window) Why() string {
	var parts []string
	note := func(n int64, what string) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, what))
		}
	}
	since, although := "", ""
	if !w.Known.ReadAt.IsZero() {
		at := harvest.FormatInstant(w.Known.ReadAt.Truncate(time.Second))
		since = " since it was read at " + at
		although = ", though the window was read to its end at " + at
	}
	if w.Upstream > w.Stored {
		note(w.Known.Quarantined, "in quarantine")
		note(w.Known.BadIDs, "bad ids")
		note(w.Unexplained(), "missing here"+although)
	} else {
		note(w.Known.Missing, "not found when last asked for")
		note(w.Unexplained(), "changed or deleted there"+since)
	}
	return strings.Join(parts, ", ")
}

// Unexplained is how many records of the difference nothing is known of.
func (w Window) Unexplained() int64 {
	if w.Upstream > w.Stored {
		return max(0, w.Upstream-w.Stored-w.Known.Quarantined-w.Known.BadIDs)
	}
	return max(0, w.Stored-w.Upstream-w.Known.Missing)
}

// Activity names the reading again of a window that differs, so that the same
// finding on the same day leads to one plan.
func (w Window) Activity(now time.Time) string {
	return fmt.Sprintf("reconcile-%s-%s-%d-%d", now.UTC().Format("20060102"), w.From.UTC().Format("20060102T150405Z"), w.Upstream, w.Stored)
}

// Result is what was compared.
type Result struct {
	Namespace harvest.Namespace
	Windows   []Window
	// Accepted are the windows of the span that nobody read: gaps that were
	// accepted, and are not compared.
	Accepted []harvest.Window
	// Rough: the source does not promise that its totals are exact.
	Rough   bool
	Traffic source.Traffic
}

// Differing are the windows whose counts differ.
func (r Result) Differing() []Window {
	return slices.DeleteFunc(slices.Clone(r.Windows), func(w Window) bool { return !w.Differs() })
}

// CannotCountError says why a source cannot be reconciled.
type CannotCountError struct{ Source, Why string }

func (e *CannotCountError) Error() string {
	return fmt.Sprintf("%s cannot be held against its own counts: %s", e.Source, e.Why)
}

// Problem implements problem.Error.
func (e *CannotCountError) Problem() problem.Problem {
	return problem.Problem{
		Code: "cannot_count", Kind: problem.Usage, Title: e.Error(),
		Next: "`patra coverage " + e.Source + "` shows what is proven by the walks themselves",
	}
}

// ErrNothingProven says that there is nothing yet to compare.
var ErrNothingProven = problem.New("nothing of it is proven complete yet in this span", problem.Problem{
	Code: "nothing_proven", Kind: problem.NotFound,
	Next: "patra harvest SOURCE, or choose another --from and --to; patra coverage SOURCE shows what is proven",
})

// Reconciler compares.
type Reconciler struct {
	reg   Registry
	store Store
	up    Upstream
}

// New returns a reconciler.
func New(reg Registry, store Store, up Upstream) *Reconciler {
	return &Reconciler{reg: reg, store: store, up: up}
}

// Compare counts what is proven of a source, here and there.
func (r *Reconciler) Compare(ctx context.Context, req Request) (Result, error) {
	con, err := r.reg.Select(ctx, req.Source, harvest.Harvest, "")
	if err != nil {
		return Result{}, err
	}
	spec := con.Spec
	purpose, err := countable(spec)
	if err != nil {
		return Result{}, err
	}
	_, selection := spec.Selected()
	out := Result{
		Namespace: harvest.HarvestNamespace(req.Source, spec.Search.Name, spec.Window.Key, selection),
		Rough:     !spec.Paging.TotalExact,
	}
	proven, accepted, err := r.store.Proven(ctx, out.Namespace, spec.Search.Name, selection)
	if err != nil {
		return out, err
	}
	proven = join(proven)
	windows, err := cut(spec, proven, req)
	if err != nil {
		return out, err
	}
	if len(windows) == 0 {
		return out, fmt.Errorf("reconcile %s: %w", req.Source, ErrNothingProven)
	}
	out.Accepted = without(join(accepted), proven, harvest.Window{From: windows[0].From, To: windows[len(windows)-1].To})
	for _, w := range windows {
		n, traffic, err := r.count(ctx, spec, purpose, w, req.BaseURL)
		out.Traffic = out.Traffic.Add(traffic)
		if err != nil {
			return out, err
		}
		out.Windows = append(out.Windows, Window{Window: w, Upstream: n})
	}
	// Counted here last: what came in meanwhile is not taken for missing.
	stored, err := r.store.CountUpdated(ctx, req.Source, spec.RecordType, windows)
	if err != nil {
		return out, err
	}
	for i := range out.Windows {
		w := &out.Windows[i]
		w.Stored = stored[i]
		if !w.Differs() {
			continue
		}
		w.Known, err = r.store.Unstored(ctx, req.Source, spec.RecordType, w.Window)
		if err != nil {
			return out, err
		}
	}
	return out, nil
}

// countable finds out how a source is asked for its own count.
func countable(spec *source.Spec) (source.Purpose, error) {
	switch {
	case spec.Window.UpdatedAt != source.UpdatedInItem:
		return "", &CannotCountError{spec.Source, fmt.Sprintf("its records do not say when they were updated (window.updatedAt is %s), so those of a window cannot be counted here", spec.Window.UpdatedAt)}
	case spec.Count != nil:
		return source.ForCount, nil
	case spec.Paging.TotalExact:
		return source.ForSearch, nil
	}
	return "", &CannotCountError{spec.Source, "it has no COUNT endpoint, and the total on its first page is not exact (pagination.total)"}
}

func (r *Reconciler) count(ctx context.Context, spec *source.Spec, purpose source.Purpose, w harvest.Window, base string) (int64, source.Traffic, error) {
	ans, err := r.up.Ask(ctx, spec, source.Call{Purpose: purpose, Window: w, BaseURL: base, Correlation: "ing-reconcile"})
	switch {
	case err != nil:
		return 0, ans.Traffic, fmt.Errorf("count %s %s: %w", spec.Source, w, err)
	case ans.Page.Total == nil:
		return 0, ans.Traffic, &CannotCountError{spec.Source, "the reply to " + string(purpose) + " has no total"}
	}
	return *ans.Page.Total, ans.Traffic, nil
}

// cut makes windows of what is proven, of whole grains: a source cannot count
// less, and another calendar may have been in force when it was read.
func cut(spec *source.Spec, proven []harvest.Window, req Request) ([]harvest.Window, error) {
	cal, err := spec.Window.Calendar()
	if err != nil {
		return nil, err
	}
	next, err := stepper(cal, cmp.Or(req.Step, 24*time.Hour))
	if err != nil {
		return nil, err
	}
	if len(proven) == 0 {
		return nil, nil
	}
	from, to := req.From, proven[len(proven)-1].To
	if !req.To.IsZero() && req.To.Before(to) {
		to = cal.Floor(req.To)
	}
	if from.IsZero() {
		from = cal.Floor(to.Add(-recent))
	}
	from = cal.Floor(from)
	var out []harvest.Window
	for _, p := range proven {
		at, end := cal.Ceil(p.From), cal.Floor(p.To)
		if from.After(at) {
			at = from
		}
		if to.Before(end) {
			end = to
		}
		for at.Before(end) {
			n := next(at)
			if n.After(end) {
				n = end
			}
			out = append(out, harvest.Window{From: at, To: n})
			at = n
		}
	}
	return out, nil
}

// stepper finds the end of the window that begins at an instant.
func stepper(cal harvest.Calendar, step time.Duration) (func(time.Time) time.Time, error) {
	const day = 24 * time.Hour
	switch {
	case step >= day && step%day == 0:
		days := harvest.Calendar{Precision: harvest.PrecisionDay, Zone: cal.Zone}
		return func(t time.Time) time.Time { return days.Add(days.Floor(t), step) }, nil
	case step >= time.Second && step < day && day%step == 0 && cal.Precision != harvest.PrecisionDay:
		return func(t time.Time) time.Time { return t.Truncate(step).Add(step) }, nil
	case cal.Precision == harvest.PrecisionDay:
		return nil, &StepError{step, "whole days: the source counts in days"}
	}
	return nil, &StepError{step, "whole days, or a part of one such as 1h or 6h"}
}

// StepError refuses a length of windows.
type StepError struct {
	Step time.Duration
	Use  string
}

func (e *StepError) Error() string { return fmt.Sprintf("step %s: use %s", e.Step, e.Use) }

// Problem implements problem.Error.
func (e *StepError) Problem() problem.Problem {
	return problem.Problem{Code: "usage", Kind: problem.Usage, Title: e.Error(), Next: "patra reconcile --help"}
}

// without are the parts of windows that lie in a span and in none of others; both
// are in order and do not overlap.
func without(ws, others []harvest.Window, span harvest.Window) (out []harvest.Window) {
	add := func(from, to time.Time) {
		if from.Before(to) {
			out = append(out, harvest.Window{From: from, To: to})
		}
	}
	for _, w := range ws {
		at, end := w.From, w.To
		if at.Before(span.From) {
			at = span.From
		}
		if end.After(span.To) {
			end = span.To
		}
		for _, o := range others {
			if !o.To.After(at) || !o.From.Before(end) {
				continue
			}
			add(at, o.From)
			at = o.To
		}
		add(at, end)
	}
	return out
}

// join puts windows in order and makes one of those that touch or overlap.
func join(ws []harvest.Window) (out []harvest.Window) {
	ws = slices.Clone(ws)
	slices.SortFunc(ws, func(a, b harvest.Window) int { return a.From.Compare(b.From) })
	for _, w := range ws {
		if n := len(out); n > 0 && !out[n-1].To.Before(w.From) {
			if w.To.After(out[n-1].To) {
				out[n-1].To = w.To
			}
			continue
		}
		out = append(out, w)
	}
	return out
}
