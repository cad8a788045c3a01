package control

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/papertrace/patra/internal/app/registry"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/schedule"
	"github.com/papertrace/patra/internal/domain/source"
)

// Words for what a source may be.
const (
	SourceReady   = "ready"
	SourcePaused  = "paused"
	SourceStopped = "stopped"
)

// SourceFamily is the family of such a word.
func SourceFamily(word string) Family {
	switch word {
	case SourceStopped:
		return Stopped
	case SourcePaused:
		return Off
	default:
		return OK
	}
}

// holdWord is the word for a state.
func holdWord(s harvest.SourceState) string {
	switch {
	case s.Stopped:
		return SourceStopped
	case s.Paused:
		return SourcePaused
	default:
		return SourceReady
	}
}

// SourceRow is a source in a list.
type SourceRow struct {
	Code       string `json:"code"`
	Name       string `json:"name"`
	Origin     string `json:"origin"`
	Applied    bool   `json:"applied"`
	SourceRows int    `json:"source_rows"`
	TaskRows   int    `json:"task_rows"`
	NextChange *Time  `json:"next_change"`
	State      string `json:"state"`
	Reason     string `json:"reason,omitempty"`
	Since      *Time  `json:"since,omitempty"`
	// PausedEndpoints are the endpoints that are paused by themselves, StoppedEndpoints those
	// that a fatal fault stopped.
	PausedEndpoints  []string `json:"paused_endpoints,omitempty"`
	StoppedEndpoints []string `json:"stopped_endpoints,omitempty"`
}

// SourceList are the sources there are.
type SourceList struct {
	Sources []SourceRow `json:"sources"`
	// Next is where the next page begins, empty on the last.
	Next string `json:"next,omitempty"`
}

// Sources lists the sources, what is in force of each, and whether they are held.
func (c *Control) Sources(ctx context.Context, p Page) (SourceList, error) {
	out := SourceList{Sources: []SourceRow{}}
	all, err := c.registry.List(ctx)
	if err != nil {
		return out, err
	}
	all, out.Next, err = cut(all, p, func(e registry.Listed) string { return e.Code })
	if err != nil {
		return out, err
	}
	states, err := c.store.SourceStates(ctx)
	if err != nil {
		return out, err
	}
	held, err := c.store.HeldEndpoints(ctx)
	if err != nil {
		return out, err
	}
	for _, e := range all {
		row := sourceRow(e, states[e.Code])
		row.addHeld(held)
		out.Sources = append(out.Sources, row)
	}
	return out, nil
}

// Source is a source as [Control.Sources] lists it.
func (c *Control) Source(ctx context.Context, code string) (SourceRow, error) {
	if err := c.known(ctx, code); err != nil {
		return SourceRow{}, err
	}
	all, err := c.Sources(ctx, Page{})
	if err != nil {
		return SourceRow{}, err
	}
	at := slices.IndexFunc(all.Sources, func(r SourceRow) bool { return r.Code == code })
	if at < 0 { // it went meanwhile
		return SourceRow{}, fmt.Errorf("source %s: %w", code, harvest.ErrNotFound)
	}
	return all.Sources[at], nil
}

func sourceRow(e registry.Listed, st harvest.SourceState) SourceRow {
	row := SourceRow{
		Code: e.Code, Name: e.Name, Origin: e.Origin, Applied: e.Applied, State: holdWord(st),
		SourceRows: e.InForce[source.ScopeSource], TaskRows: e.InForce[source.ScopeTask], NextChange: optional(e.NextChange),
	}
	switch {
	case st.Stopped || st.Paused:
		row.Reason = st.Reason
		row.Since = optional(st.Since)
	case !e.Applied:
		row.Reason = "applied when first asked for"
	case e.Newer:
		row.Reason = "this patra comes with another pack: patra source apply " + e.Code + " --dry-run"
	}
	return row
}

// addHeld adds the endpoints of the source that are paused or stopped by themselves.
func (r *SourceRow) addHeld(all map[harvest.EndpointOf]harvest.SourceState) {
	for at, st := range all {
		switch {
		case at.Provenance != r.Code:
		case st.Stopped:
			r.StoppedEndpoints = append(r.StoppedEndpoints, at.Endpoint)
		default:
			r.PausedEndpoints = append(r.PausedEndpoints, at.Endpoint)
		}
	}
	slices.Sort(r.PausedEndpoints)
	slices.Sort(r.StoppedEndpoints)
	switch {
	case r.Reason != "":
	case len(r.StoppedEndpoints) > 0:
		r.Reason = "stopped endpoints: " + strings.Join(r.StoppedEndpoints, ", ")
	case len(r.PausedEndpoints) > 0:
		r.Reason = "paused endpoints: " + strings.Join(r.PausedEndpoints, ", ")
	}
}

// optional is a time that may not be there.
func optional(t time.Time) *Time {
	if t.IsZero() {
		return nil
	}
	return new(Time(t))
}

// Choice is the row that was picked for a dimension of a source, and why.
type Choice struct {
	Dimension source.Dimension `json:"dimension"`
	Name      string           `json:"name,omitempty"`
	From      string           `json:"from"` // TASK, SOURCE or default
	Row       int64            `json:"row,omitempty"`
	Begins    *Time            `json:"effective_from,omitempty"`
	Ends      *Time            `json:"effective_to,omitempty"`
	Why       string           `json:"why"`
	Fallback  bool             `json:"fallback,omitzero"`
	Rivals    []int64          `json:"rivals,omitempty"`
	Values    []Value          `json:"values,omitempty"`
	// Table and Passed, the rows that do not count, are told where they are asked for;
	// PassedMore is how many older ones there are besides.
	Table      string      `json:"table,omitempty"`
	Passed     []PassedRow `json:"passed,omitempty"`
	PassedMore int         `json:"passed_more,omitempty"`
}

// SourceContract is the contract of a source for an operation at an instant: each
// row, why it was picked, and its values.
type SourceContract struct {
	At         Time              `json:"at"`
	ConfigHash string            `json:"config_hash"`
	Choices    []Choice          `json:"dimensions"`
	NextRun    *Time             `json:"next_run"`
	Operation  harvest.Operation `json:"operation"`
	QuietUntil *Time             `json:"quiet_until"`
	Source     string            `json:"source"`
	// Fingerprint is that of the compiled contract; empty if it does not compile.
	Fingerprint string   `json:"spec_fingerprint"`
	Violations  []string `json:"violations"`
	Warnings    []string `json:"warnings"`
	// Thresholds are those that patra keeps to with the source, each with its origin.
	Thresholds []source.Threshold `json:"thresholds"`
	// Summary tells the same in some lines for people.
	Summary []SummaryLine `json:"summary"`
	// DescribedFrom is set if nothing was described of the source yet at the instant: it is
	// when its first row begins. There is no contract then, and no mistake in it.
	DescribedFrom *Time `json:"described_from,omitempty"`
	// Credentials are the keys that endpoints are asked with, told where it is asked for.
	Credentials []CredentialChoice `json:"credentials,omitempty"`
}

// SourceContract shows a contract at an instant; zero: now.
func (c *Control) SourceContract(ctx context.Context, code string, op harvest.Operation, at time.Time) (SourceContract, error) {
	out, _, err := c.contractAt(ctx, code, op, at)
	return out, err
}

// contractAt is the contract as it is shown, and what it was made of.
func (c *Control) contractAt(ctx context.Context, code string, op harvest.Operation, at time.Time) (SourceContract, registry.Explain, error) {
	e, err := c.registry.Show(ctx, code, op, at)
	if err != nil {
		return SourceContract{}, e, err
	}
	out, err := c.contractOf(ctx, e, code, at)
	return out, e, err
}

func (c *Control) contractOf(ctx context.Context, e registry.Explain, code string, at time.Time) (SourceContract, error) {
	var err error
	out := SourceContract{
		At: Time(e.At), ConfigHash: e.Contract.ConfigHash, Choices: c.choices(e.Choices), Operation: e.Operation, Source: e.Code,
		Violations: []string{}, Warnings: []string{}, Summary: []SummaryLine{}, Thresholds: []source.Threshold{},
	}
	if !at.IsZero() && e.Contract.Spec == nil {
		out.DescribedFrom, err = c.describedFrom(ctx, code, at)
		if err != nil || out.DescribedFrom != nil {
			out.Choices = []Choice{}
			return out, err
		}
	}
	out.NextRun, out.QuietUntil = scheduleTimes(e)
	if at.IsZero() {
		out.NextRun, err = c.nextRun(ctx, e, out.NextRun)
		if err != nil {
			return out, err
		}
	}
	if e.Contract.Spec != nil {
		out.Summary = summaryOf(e.Contract.Spec)
		out.Thresholds = source.Thresholds(e.Contract.Spec, e.Choices)
		out.Fingerprint, err = e.Contract.Spec.Fingerprint()
		if err != nil {
			return out, err
		}
	}
	for _, v := range e.Violations {
		out.Violations = append(out.Violations, v.String())
	}
	for _, w := range e.Contract.Warnings {
		out.Warnings = append(out.Warnings, w.String())
	}
	return out, nil
}

// describedFrom is when the first row of a source begins, nil if one had begun at the
// instant or there is none.
func (c *Control) describedFrom(ctx context.Context, code string, at time.Time) (*Time, error) {
	con, err := c.registry.Contents(ctx, code)
	if err != nil {
		return nil, err
	}
	var first time.Time
	for _, r := range con.Rows {
		if r.Never() {
			continue
		}
		if !r.From.After(at) {
			return nil, nil
		}
		if first.IsZero() || r.From.Before(first) {
			first = r.From
		}
	}
	return optional(first), nil
}

func (c *Control) choices(picked []source.Choice) []Choice {
	out := []Choice{}
	for _, ch := range picked {
		v := Choice{Dimension: ch.Dimension, Name: ch.Name, From: "default", Why: ch.Why, Fallback: ch.Fallback, Rivals: ch.Rivals}
		if ch.Row != nil {
			v.From = string(ch.Row.Scope)
			v.Row = ch.Row.ID
			v.Begins = optional(ch.Row.From)
			v.Ends = optional(ch.Row.To)
			v.Values = c.packs.Values(ch.Row.Body)
		}
		out = append(out, v)
	}
	return out
}

// scheduleTimes are when the operation next begins by itself, and until when the
// source is left alone at the instant shown; nil where there is no such time.
func scheduleTimes(e registry.Explain) (next, quietUntil *Time) {
	s := e.Contract.Schedule
	if s == nil {
		return nil, nil
	}
	if line := s.Line(e.Operation); !line.IsZero() {
		if at, ok := line.Next(e.At, s.Zone); ok {
			next = optional(at)
		}
	}
	if until, quiet := s.QuietUntil(e.At); quiet {
		quietUntil = optional(until)
	}
	return next, quietUntil
}

// nextRun is when the operation next begins by itself, by the schedules that were set
// and by what its pack suggests, for as long as none is set in its place.
func (c *Control) nextRun(ctx context.Context, e registry.Explain, suggested *Time) (*Time, error) {
	rows, err := c.store.Standing(ctx)
	if err != nil {
		return suggested, err
	}
	next := suggested
	for _, r := range rows {
		if r.Name == schedule.SuggestedName(e.Code, e.Operation) {
			next = nil
		}
	}
	for _, r := range rows {
		if !r.Enabled || r.Source != e.Code || r.Operation != e.Operation {
			continue
		}
		at, comes := r.Next(e.At)
		if comes && (next == nil || at.Before(time.Time(*next))) {
			next = optional(at)
		}
	}
	return next, nil
}

// Words for where a row of a source stands.
const (
	RowInForce   = "in force"
	RowScheduled = "scheduled"
	RowEnded     = "ended"
	RowTakenBack = "taken back"
)

// RowFamily is the family of such a word.
func RowFamily(word string) Family {
	switch word {
	case RowInForce:
		return OK
	case RowScheduled:
		return Waiting
	default:
		return Off
	}
}

// RegistryRow is a row of a source over time.
type RegistryRow struct {
	Dimension  source.Dimension `json:"dimension"`
	Name       string           `json:"name,omitempty"`
	Scope      source.Scope     `json:"scope"`
	Task       string           `json:"task,omitempty"`
	ID         int64            `json:"id"`
	From       Time             `json:"effective_from"`
	To         *Time            `json:"effective_to"`
	Supersedes int64            `json:"supersedes,omitempty"`
	State      string           `json:"state"`
}

// SourceHistory are the rows of a source, by what they are about, and the newest
// lines of the audit.
type SourceHistory struct {
	At     Time          `json:"at"`
	Audit  []AuditLine   `json:"audit"`
	Rows   []RegistryRow `json:"rows"`
	Source string        `json:"source"`
}

// SourceHistory shows the rows of a source over time, and who changed them.
func (c *Control) SourceHistory(ctx context.Context, code string, limit int) (SourceHistory, error) {
	out := SourceHistory{Source: code, Rows: []RegistryRow{}}
	con, err := c.registry.Contents(ctx, code)
	if err != nil {
		return out, err
	}
	out.At = Time(con.ReadAt)
	out.Audit, err = c.store.Audits(ctx, "source/"+code, limit)
	if err != nil {
		return out, err
	}
	for _, r := range con.Rows {
		out.Rows = append(out.Rows, RegistryRow{
			Dimension: r.Dimension, Name: r.Name, Scope: r.Scope, Task: string(r.Task), ID: r.ID, From: Time(r.From), To: optional(r.To),
			Supersedes: r.Supersedes, State: rowWord(r, con.ReadAt),
		})
	}
	slices.SortStableFunc(out.Rows, func(a, b RegistryRow) int {
		return cmp.Or(
			cmp.Compare(a.Dimension, b.Dimension), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Scope, b.Scope), cmp.Compare(a.Task, b.Task),
			time.Time(a.From).Compare(time.Time(b.From)), cmp.Compare(a.ID, b.ID))
	})
	return out, nil
}

// rowWord says where a row stands at an instant.
func rowWord(r source.Row, at time.Time) string {
	switch {
	case r.Never():
		return RowTakenBack
	case r.From.After(at):
		return RowScheduled
	case r.InForce(at):
		return RowInForce
	default:
		return RowEnded
	}
}
