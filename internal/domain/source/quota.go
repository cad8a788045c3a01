package source

import (
	"maps"
	"slices"
	"strings"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/pace"
)

// defaultQuotaReserve is the percent of every quota that is kept back.
const defaultQuotaReserve = 10

// On is the rate for requests that an operation sends for a purpose: they are counted to
// the shares of both.
func (r Rate) On(op harvest.Operation, p Purpose) Rate {
	r.Claim = pace.Claim{Operation: string(op), Phase: string(p.phase()), CanWait: op == harvest.Backfill || op == harvest.Update}
	return r
}

// phase is what a purpose counts to where quotas are divided.
func (p Purpose) phase() harvest.Phase {
	if p == ForDetail || p == ForLookup {
		return harvest.PhaseDetail
	}
	return harvest.PhaseSearch
}

// PaceLimit is the rate in the words of package pace, where the platform has its rates give
// way so.
func (r Rate) PaceLimit(platform pace.Adapt) pace.Limit {
	l := pace.Limit{
		QPS: r.QPS, Burst: max(r.Burst, 1), Jitter: r.Jitter.D(), Seats: r.Concurrency, Adapt: r.Adapt.Over(platform),
		Shares: r.QuotaShares.pace(), Claim: r.Claim,
	}
	if r.QuotaReserve != nil {
		l.Reserve = float64(*r.QuotaReserve) / 100
	}
	for _, q := range r.Quotas {
		l.Quotas = append(l.Quotas, pace.Quota{Limit: q.Limit, Window: q.Window.D(), Zone: q.Zone})
	}
	return l
}

// operations and phases are the shares that are declared, by their names.
func (s *QuotaShares) operations() map[string]int {
	return declared(map[string]int{string(harvest.Harvest): s.Harvest, string(harvest.Backfill): s.Backfill, string(harvest.Update): s.Update})
}

func (s *QuotaShares) phases() map[string]int {
	return declared(map[string]int{string(harvest.PhaseSearch): s.Search, string(harvest.PhaseDetail): s.Detail})
}

// declared are the percents that are not 0.
func declared(all map[string]int) map[string]int {
	out := map[string]int{}
	for name, percent := range all {
		if percent != 0 {
			out[name] = percent
		}
	}
	return out
}

// pace are the shares as parts of 1.
func (s *QuotaShares) pace() pace.Shares {
	if s == nil {
		return pace.Shares{}
	}
	parts := func(percents map[string]int) map[string]float64 {
		out := map[string]float64{}
		for name, percent := range percents {
			out[name] = float64(percent) / 100
		}
		return out
	}
	return pace.Shares{Operations: parts(s.operations()), Phases: parts(s.phases())}
}

// quotaParts freezes how much of every quota is kept back, and checks how the rest is
// divided.
func (c *compiler) quotaParts(path string, r *Rate) {
	if r.QuotaReserve == nil && (len(r.Quotas) > 0 || r.Budget != nil) {
		r.QuotaReserve = new(defaultQuotaReserve)
	}
	if n := r.QuotaReserve; n != nil && (*n < 0 || *n > 90) {
		c.fail(path+".quotaReserve", "%d is not within [0, 90]", *n)
	}
	if r.QuotaShares == nil {
		return
	}
	c.quotaShares(path+".quotaShares", r.QuotaShares.operations(), 3)
	c.quotaShares(path+".quotaShares", r.QuotaShares.phases(), 2)
}

// quotaShares checks the shares of operations, or of phases, of which there are so many.
func (c *compiler) quotaShares(path string, percents map[string]int, of int) {
	sum := 0
	named := strings.Join(slices.Sorted(maps.Keys(percents)), ", ")
	for name, percent := range percents {
		if percent < 0 || percent > 100 {
			c.fail(path, "the %d percent of %s are not within [1, 100]", percent, name)
		}
		sum += percent
	}
	switch {
	case sum > 100:
		c.fail(path, "the shares of %s come to %d percent", named, sum)
	case sum == 100 && len(percents) < of:
		c.fail(path, "%s have all of it, so that nothing is left for what has no share", named)
	}
}
