package pace

import (
	"math"
	"slices"
	"sort"
	"time"
)

// Claim says for what a request is sent, by the names under which shares are declared.
type Claim struct {
	Operation string
	Phase     string
	// CanWait: it is no harm if the request is sent on another day, so what is kept back
	// of a quota is not for it.
	CanWait bool
}

// names are the accounts that a request of the claim is entered in.
func (c Claim) names() []string {
	return slices.DeleteFunc([]string{c.Operation, c.Phase}, func(name string) bool { return name == "" })
}

// Shares are the least parts of every quota, 0 to 1 of what is not kept back, that are
// there for one operation or one phase whatever the others want. Operations and phases
// divide the same quota, each on its own.
type Shares struct {
	Operations map[string]float64
	Phases     map[string]float64
}

// none reports whether nothing is divided.
func (s Shares) none() bool { return len(s.Operations)+len(s.Phases) == 0 }

// terms are what the quotas of a limit allow a claim.
type terms struct {
	// hard is what the provider allows, soft that without what is kept back.
	hard, soft int64
	claim      Claim
	// operations and phases are the least units of each name.
	operations, phases map[string]int64
}

// terms of one quota.
func (l Limit) terms(q Quota) terms {
	t := terms{hard: q.Limit, soft: q.Limit - int64(math.Ceil(l.Reserve*float64(q.Limit)-1e-9)), claim: l.Claim}
	t.operations = leastOf(l.Shares.Operations, t.soft)
	t.phases = leastOf(l.Shares.Phases, t.soft)
	return t
}

// leastOf are shares as whole units of what is divided, rounded down: together they
// are not more than that.
func leastOf(shares map[string]float64, of int64) map[string]int64 {
	out := make(map[string]int64, len(shares))
	for name, share := range shares {
		out[name] = int64(share*float64(of) + 1e-9)
	}
	return out
}

// plain reports whether the quota is for whoever comes first, up to the last unit.
func (t terms) plain() bool {
	return (t.hard == t.soft || !t.claim.CanWait) && len(t.operations)+len(t.phases) == 0
}

// account sums what counts at an instant, over all charges.
func account(all []Charge, at int64) (n int64) {
	for _, c := range slices.Backward(all) {
		if c[0] <= at {
			break
		}
		n += c[1]
	}
	return n
}

// heldFor is how many units are held for the names other than mine: what they have not
// used of their least.
func (l *Ledger) heldFor(least map[string]int64, mine string, at int64) (n int64) {
	for name, units := range least {
		if name != mine {
			n += max(0, units-account(l.By[name], at))
		}
	}
	return n
}

// withinLeast reports whether a claim stays within its own least with cost units more.
func (l *Ledger) withinLeast(least map[string]int64, mine string, cost, at int64) bool {
	units, declared := least[mine]
	return declared && account(l.By[mine], at)+cost <= units
}

// room is how many units there are for the claim at an instant, beside what is used and
// what is held for others. What is kept back is for those who cannot wait, and for
// whoever has not had its least yet.
func (l *Ledger) room(t terms, cost, at int64) int64 {
	bound := t.hard
	if t.claim.CanWait && !l.withinLeast(t.operations, t.claim.Operation, cost, at) && !l.withinLeast(t.phases, t.claim.Phase, cost, at) {
		bound = t.soft
	}
	held := max(l.heldFor(t.operations, t.claim.Operation, at), l.heldFor(t.phases, t.claim.Phase, at))
	return bound - account(l.Used, at) - held
}

// firstRoom is the first instant, not before at, with room for cost units. Everything
// that counts then is counted, also what is reserved for later: so whichever slot of a
// span was reserved last has seen all the others of it. keptBack says that there would
// have been room earlier if nothing was kept back or held for others.
func (l *Ledger) firstRoom(at time.Time, t terms, cost int64) (first time.Time, keptBack bool) {
	instants := l.instants(at)
	free := func(t terms) time.Time {
		wanted := min(cost, max(1, (&Ledger{}).room(t, cost, 0))) // one that is dearer than all there is takes all
		// Where there is room once there is at all later instants.
		i := sort.Search(len(instants), func(i int) bool { return l.room(t, wanted, instants[i]) >= wanted })
		if i == len(instants) {
			return at.Add(maxWait)
		}
		return later(at, time.UnixMicro(instants[i]).UTC())
	}
	first = free(t)
	if t.plain() || !first.After(at) {
		return first, false
	}
	return first, free(terms{hard: t.hard, soft: t.hard}).Before(first)
}

// instants are those from at on at which less counts than before, in microseconds.
func (l *Ledger) instants(at time.Time) []int64 {
	from := at.UnixMicro()
	out := []int64{from}
	for _, c := range l.Used {
		if c[0] > from {
			out = append(out, c[0])
		}
	}
	return out
}

// inReserve reports whether what is kept back of a quota is being used: then one request
// at a time goes out.
func (s State) inReserve(l Limit, now time.Time) bool {
	if l.Reserve <= 0 {
		return false
	}
	for _, q := range l.Quotas {
		used := findLedger(s.Ledgers, q.Window, q.Zone)
		if used != nil && account(used.Used, now.UnixMicro()) >= l.terms(q).soft {
			return true
		}
	}
	return false
}
