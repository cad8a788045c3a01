package control

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/pace"
	"github.com/papertrace/patra/internal/domain/source"
)

// RateStore reads and changes the state of rate keys.
type RateStore interface {
	ReadGate(ctx context.Context, key string) ([]byte, error)
	// PlannedSources lists the sources of which anything was ever planned.
	PlannedSources(ctx context.Context) ([]string, error)
	// ChangeGates changes the states of keys and leaves an audit line about what holds
	// after, in one transaction. now is the store's clock.
	ChangeGates(ctx context.Context, keys []string, a source.Audit, after any, f func(key string, state []byte, now time.Time) []byte) error
}

// RateRow is how a rate key stands: what all requests that count for it may do together.
type RateRow struct {
	Key     string   `json:"key"`
	Sources []string `json:"sources"`
	// Limit is the ceiling of the registry, in requests a second, 0 if none is declared;
	// Allowed is what may be sent now, and Used what was in the last minute.
	Limit   float64 `json:"limit"`
	Burst   int     `json:"burst"`
	Allowed float64 `json:"allowed"`
	Used    float64 `json:"used"`
	HTTP429 int64   `json:"http_429"` // of the last minute
	// Downshifts are the last times that the rate was cut because the source complained or
	// failed, the newest first.
	Downshifts []Downshift `json:"downshifts"`
	// Lowered is what a person has set in place of the ceiling.
	Lowered *LoweredRate `json:"lowered,omitempty"`
	// Cooldown is until when the source asked to be left alone, Empty until when its own
	// budget is used up.
	Cooldown *Time `json:"cooldown_until,omitempty"`
	Empty    *Time `json:"budget_empty_until,omitempty"`
	InFlight int   `json:"in_flight"`
	// Seats bounds the requests in flight, 0 if nothing does.
	Seats  int           `json:"seats,omitzero"`
	Quotas []QuotaStatus `json:"quotas"`
	// Cause is what an upstream behind it said last, Waiting why nothing is sent now, and
	// Why what keeps it below its ceiling.
	Cause   *Cause      `json:"cause,omitempty"`
	Waiting *WaitingFor `json:"waiting,omitempty"`
	Why     string      `json:"why,omitempty"`

	rate     source.Rate
	endpoint string // the one that partitions are named by
}

// Downshift is one step down of a rate, in requests a second.
type Downshift struct {
	At   Time    `json:"at"`
	From float64 `json:"from"`
	To   float64 `json:"to"`
}

// LoweredRate is a ceiling below the registry's, for a time.
type LoweredRate struct {
	To    float64 `json:"to"`
	Until Time    `json:"until"`
}

// RateList are the rate keys of a source, or of all that were planned.
type RateList struct {
	At    Time      `json:"at"`
	Rates []RateRow `json:"rates"`
}

// Rates shows how the rates of a source stand, or of all sources of which anything was
// planned.
func (c *Control) Rates(ctx context.Context, code string) (RateList, error) {
	out := RateList{Rates: []RateRow{}}
	b, err := c.barriers(ctx)
	if err != nil {
		return out, err
	}
	out.At = Time(b.now)
	if err := c.known(ctx, code); err != nil {
		return out, err
	}
	codes := []string{code}
	if code == "" {
		codes, err = c.store.PlannedSources(ctx)
		if err != nil {
			return out, err
		}
	}
	for _, code := range codes {
		rows, err := c.ratesOf(ctx, code)
		if err != nil && len(codes) == 1 {
			return out, err
		}
		// One whose description cannot be used has no rate; what is wrong `source list` says.
		for _, r := range rows {
			at := slices.IndexFunc(out.Rates, func(o RateRow) bool { return o.Key == r.Key })
			if at < 0 {
				out.Rates = append(out.Rates, r)
				continue
			}
			out.Rates[at].Sources = append(out.Rates[at].Sources, code)
		}
	}
	keys := make([]string, len(out.Rates))
	for i, r := range out.Rates {
		keys[i] = r.Key
	}
	gates, err := c.store.ReadGates(ctx, keys)
	if err != nil {
		return out, err
	}
	fared, err := c.store.PagesSince(ctx, codes, b.now.Add(-time.Minute))
	if err != nil {
		return out, err
	}
	for i := range out.Rates {
		r := &out.Rates[i]
		b.explainRate(r, parseGate(gates[r.Key]), fared)
	}
	return out, nil
}

// ratesOf are the keys that requests of a source count for.
func (c *Control) ratesOf(ctx context.Context, code string) ([]RateRow, error) {
	con, err := c.contracts.Select(c.leaveNoTrace(ctx), code, harvest.Harvest, "")
	if err != nil {
		return nil, err
	}
	r := c.allowed(ctx, con.Spec, source.Call{Purpose: source.ForSearch})
	var rates []source.Rate
	switch r.Scope {
	case source.RatePerEndpoint:
		for _, e := range []*source.Endpoint{&con.Spec.Search, con.Spec.Count, con.Spec.Detail, con.Spec.Lookup} {
			if e != nil {
				rates = append(rates, r.For(e.Name, ""))
			}
		}
	case source.RatePerKey:
		creds, _, err := c.keys.List(ctx, con.Spec.Auth.Pool)
		if err != nil {
			return nil, err
		}
		for _, k := range creds {
			rates = append(rates, r.For("", k.Name))
		}
	}
	if len(rates) == 0 {
		rates = []source.Rate{r}
	}
	var out []RateRow
	for _, r := range rates {
		if !slices.ContainsFunc(out, func(o RateRow) bool { return o.Key == r.Key }) {
			out = append(out, RateRow{Key: r.Key, Sources: []string{code}, Limit: r.QPS, Burst: max(r.Burst, 1), Seats: r.Concurrency, rate: r, endpoint: con.Spec.Search.Name})
		}
	}
	return out, nil
}

// gateState reads the state of a rate key; nothing is known of one that was never used.
func (c *Control) gateState(ctx context.Context, key string) (pace.State, error) {
	raw, err := c.store.ReadGate(ctx, key)
	if err != nil {
		return pace.State{}, err
	}
	return parseGate(raw), nil
}

// parseGate reads a state as the gate does: what cannot be read is as no state.
func parseGate(raw []byte) pace.State {
	var s pace.State
	if len(raw) > 0 && json.Unmarshal(raw, &s) != nil {
		return pace.State{}
	}
	return s
}

// limitOf is a source's rate in the words of package pace.
func limitOf(r source.Rate) pace.Limit {
	return r.PaceLimit(pace.Adapt{})
}

// explainRate fills in how a key stands, and why it is below its ceiling.
func (b *barriers) explainRate(r *RateRow, s pace.State, fared map[harvest.Partition]PagesFared) {
	const minute = 60
	l := limitOf(r.rate)
	r.Allowed = s.Allowed(l, b.now)
	r.Quotas = []QuotaStatus{}
	r.Downshifts = []Downshift{}
	for _, c := range slices.Backward(s.Cuts) {
		r.Downshifts = append(r.Downshifts, Downshift{At: Time(c.At.Truncate(time.Second)), From: c.From, To: c.To})
	}
	for _, q := range l.Quotas {
		one := QuotaStatus{Window: q.Window.String(), Limit: q.Limit, Left: max(0, q.Limit-s.Used(q, b.now))}
		if one.Left == 0 {
			one.RoomAt = optional(s.RoomAt(q, b.now))
		}
		r.Quotas = append(r.Quotas, one)
	}
	for _, seat := range s.Seats {
		if seat.Until.After(b.now) {
			r.InFlight++
		}
	}
	for _, code := range r.Sources {
		for _, op := range []harvest.Operation{harvest.Harvest, harvest.Backfill, harvest.Update} {
			pages := fared[harvest.Partition{Provenance: code, Operation: op}]
			r.Used += float64(pages.Sent) / minute
			r.HTTP429 += pages.HTTP429
			if r.Cause == nil {
				r.Cause = b.cause(harvest.Partition{Provenance: code, Endpoint: r.endpoint, Operation: op})
			}
		}
	}
	r.Lowered = loweredOf(s, b.now)
	r.Why = b.belowCeiling(*r, s)
	if s.CooldownUntil.After(b.now) {
		r.Cooldown = optional(s.CooldownUntil)
		r.Waiting = waitFor(ReasonRateCooldown, s.CooldownUntil, "the end of that time; nobody can end it by hand")
	}
	if s.EmptyUntil.After(b.now) {
		r.Empty = optional(s.EmptyUntil)
		r.Waiting = waitFor(ReasonQuota, s.EmptyUntil, "the budget being filled again")
	}
}

// loweredOf is the ceiling that a person has set, nil if none holds.
func loweredOf(s pace.State, now time.Time) *LoweredRate {
	if !s.Ceiling.Holds(now) {
		return nil
	}
	return &LoweredRate{To: s.Ceiling.PerSecond, Until: Time(s.Ceiling.Until)}
}

// belowCeiling says what keeps a key below its ceiling, or silent.
func (b *barriers) belowCeiling(r RateRow, s pace.State) string {
	var why []string
	if s.CooldownUntil.After(b.now) {
		why = append(why, "the source asked to be left alone until "+shortTime(s.CooldownUntil)+", which nobody can end by hand")
	}
	if s.EmptyUntil.After(b.now) {
		why = append(why, "its own budget is used up until "+shortTime(s.EmptyUntil))
	}
	if r.Lowered != nil {
		why = append(why, fmt.Sprintf("a person lowered it to %g a second until %s", r.Lowered.To, shortTime(s.Ceiling.Until)))
	}
	if s.Rate > 0 && s.Rate < r.Limit {
		why = append(why, "the source complained or failed at "+shortTime(s.CutAt)+", and the rate rises again by itself")
	}
	if s.Header > 0 && s.Header < r.Limit {
		why = append(why, "its replies say that it allows no more")
	}
	for _, q := range r.Quotas {
		if q.Left == 0 {
			why = append(why, "the quota of "+q.Window+" is used up")
		}
	}
	return strings.Join(why, "; ")
}

func shortTime(t time.Time) string { return Time(t.Truncate(time.Second)).String() }
