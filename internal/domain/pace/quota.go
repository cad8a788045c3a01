package pace

import (
	"slices"
	"time"
)

const (
	// parts of a window: what was used within one is remembered as one number,
	// and taken to have been used at its end.
	parts = 60
	// arrival is how much later than its permit a request may reach the
	// upstream, which counts by when it came.
	arrival = time.Second
	// midnight is how far the upstream's midnight may lie from ours: what is
	// used so close to it counts for both days.
	midnight = time.Minute
	// maxCharges bounds a ledger, also one with permits far in the future.
	maxCharges = 4 * parts
	// maxLedgers bounds the windows kept beside those asked about.
	maxLedgers = 16
)

// Quota is a limit over a longer time that holds beside the rate: so many units
// in any span as long as the window, or in each calendar day of the zone.
type Quota struct {
	Limit  int64
	Window time.Duration
	Zone   string
}

// Ledger is what was used in one window (R38).
type Ledger struct {
	Window time.Duration `json:"w"`
	Zone   string        `json:"z,omitempty"`
	// Used is sorted, soonest forgotten first.
	Used []Charge `json:"u,omitempty"`
	// By is how much of it was used for what, by the names of a [Claim]. It is kept while
	// there are shares, so that what was used before them is nobody's.
	By map[string][]Charge `json:"s,omitempty"`
}

// Charge is the microsecond since 1970 until which units count, and how many.
type Charge [2]int64

func (c Charge) until() time.Time { return time.UnixMicro(c[0]).UTC() }

// until is when what is used at an instant stops to count.
func (l *Ledger) until(at time.Time) int64 {
	if l.Zone != "" {
		return nextDay(at.Add(midnight), l.Zone).Add(midnight).UnixMicro()
	}
	w := l.Window.Microseconds()
	part := max((w+parts-1)/parts, 1)
	end := (at.UnixMicro()/part + 1) * part
	return end + w + min(part, arrival.Microseconds())
}

// nextDay is the midnight after at. A zone that cannot be found counts as UTC;
// packs that name one do not compile.
func nextDay(at time.Time, zone string) time.Time {
	loc, err := time.LoadLocation(zone)
	if err != nil {
		loc = time.UTC
	}
	at = at.In(loc)
	day := time.Date(at.Year(), at.Month(), at.Day()+1, 0, 0, 0, 0, loc)
	for day.Day() == at.Day() { // where clocks are put forward at midnight
		day = day.Add(time.Hour)
	}
	return day
}

// enter adds n units that count until an instant.
func enter(all []Charge, until, n int64) []Charge {
	i, there := find(all, until)
	if there {
		all[i][1] += n
		return all
	}
	all = slices.Insert(all, i, Charge{until, n})
	if k := len(all); k > maxCharges { // the last two become one, and count as long as the longer
		all[k-1][1] += all[k-2][1]
		all = slices.Delete(all, k-2, k-1)
	}
	return all
}

// takeOut takes back n units that count until an instant, if they still do.
func takeOut(all []Charge, until, n int64) []Charge {
	i, there := find(all, until)
	if !there {
		return all // forgotten already
	}
	all[i][1] -= n
	if all[i][1] <= 0 {
		all = slices.Delete(all, i, i+1)
	}
	return all
}

// find is the place of a charge, or where it would stand.
func find(all []Charge, until int64) (int, bool) {
	return slices.BinarySearchFunc(all, until, func(c Charge, u int64) int { return int(min(max(c[0]-u, -1), 1)) })
}

// unexpired is a copy of the charges that count at now.
func unexpired(all []Charge, now int64) []Charge {
	i, exact := find(all, now)
	if exact {
		i++
	}
	return slices.Clone(all[i:])
}

// charge enters what a slot costs, in the ledger and in the accounts of the names given.
func (l *Ledger) charge(c slotCharge) {
	l.Used = enter(l.Used, c.Charge[0], c.Charge[1])
	for _, name := range c.names {
		if l.By == nil {
			l.By = map[string][]Charge{}
		}
		l.By[name] = enter(l.By[name], c.Charge[0], c.Charge[1])
	}
}

// refund takes back what a slot was charged.
func (l *Ledger) refund(c slotCharge) {
	l.Used = takeOut(l.Used, c.Charge[0], c.Charge[1])
	for _, name := range c.names {
		l.By[name] = takeOut(l.By[name], c.Charge[0], c.Charge[1])
	}
}

// unexpired is a copy of the ledger without what no longer counts at now.
func (l Ledger) unexpired(now int64) Ledger {
	l.Used = unexpired(l.Used, now)
	by := map[string][]Charge{}
	for name, charges := range l.By {
		if left := unexpired(charges, now); len(left) > 0 {
			by[name] = left
		}
	}
	l.By = nil
	if len(by) > 0 {
		l.By = by
	}
	return l
}

// openLedgers returns the ledgers without what no longer counts at now, and with one for
// each of the quotas. Where there are too many, those go that no quota asks about. They
// share no memory with those of s.
func (s State) openLedgers(quotas []Quota, now time.Time) []Ledger {
	var out []Ledger
	for _, l := range s.Ledgers {
		l = l.unexpired(now.UnixMicro())
		if len(l.Used) > 0 {
			out = append(out, l)
		}
	}
	for _, q := range quotas {
		if findLedger(out, q.Window, q.Zone) == nil {
			out = append(out, Ledger{Window: q.Window, Zone: q.Zone})
		}
	}
	tooMany := len(out) - maxLedgers
	return slices.DeleteFunc(out, func(l Ledger) bool {
		if tooMany <= 0 || slices.ContainsFunc(quotas, func(q Quota) bool { return q.Window == l.Window && q.Zone == l.Zone }) {
			return false
		}
		tooMany--
		return true
	})
}

// findLedger is the ledger of a window, nil if there is none.
func findLedger(all []Ledger, window time.Duration, zone string) *Ledger {
	for i := range all {
		if all[i].Window == window && all[i].Zone == zone {
			return &all[i]
		}
	}
	return nil
}

// Slot is a reserved turn.
type Slot struct {
	// At is when it may be used.
	At time.Time
	// Scarce says that it is so late because a quota or the provider's budget is used
	// up, KeptBack that there is some left, which is kept back or is the share of others.
	Scarce   bool
	KeptBack bool

	charges []slotCharge
	// told is what it took of the budget that the provider told of, and until when that
	// budget is in force.
	told Charge
}

// slotCharge is what a slot was charged in one ledger, and in which of its accounts.
type slotCharge struct {
	window time.Duration
	zone   string
	names  []string
	Charge
}

// Charged reports whether the slot was charged anything that can be given back.
func (t Slot) Charged() bool { return len(t.charges) > 0 || t.told[1] > 0 }

// Refund gives back what a slot took of the quotas. It is for slots by which
// nothing was sent, and each may be given back once (R38).
func Refund(s State, t Slot) State {
	if !t.Charged() {
		return s
	}
	s.Ledgers = s.openLedgers(nil, time.Time{})
	for _, c := range t.charges {
		if l := findLedger(s.Ledgers, c.window, c.zone); l != nil {
			l.refund(c)
		}
	}
	if t.told[1] > 0 && s.Told.Until.UnixMicro() == t.told[0] {
		s.Told.Left += t.told[1]
	}
	return s
}
