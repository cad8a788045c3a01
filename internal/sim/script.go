package sim

import (
	"net/http"
	"strings"
	"time"
)

// Script asks for one fault at a chosen moment: the next request that matches, or
// the request with a given number. Scripted faults come before those by rate and
// know no bound. A fault that cannot happen to a request waits for one that suits.
type Script struct {
	Fault  Fault
	Source string                   // "" for any
	Match  string                   // part of "path?parameters", the parameters sorted and decoded; "" for any
	When   func(*http.Request) bool // nil for any; the form is parsed
	Number int                      // of the request within its source, from 1; 0 for any
	After  int                      // let so many matching requests pass first
	Times  int                      // default 1; < 0 for ever
	Delay  time.Duration            // for slow, instead of the configured one
}

// Script queues faults.
func (s *Sim) Script(scripts ...Script) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range scripts {
		if one.Times == 0 {
			one.Times = 1
		}
		s.injector.scripts = append(s.injector.scripts, &one)
	}
}

// Scripted returns how many scripts have not been used up.
func (s *Sim) Scripted() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.injector.scripts)
}

// ClearScripts forgets all scripts.
func (s *Sim) ClearScripts() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.injector.scripts = nil
}

// SetFaults changes the rates.
func (s *Sim) SetFaults(f Faults) error {
	if err := f.validate(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.injector.faults = f
	return nil
}

// injector decides which request gets which fault. It is guarded by Sim.mu.
type injector struct {
	seed     uint64
	faults   Faults
	scripts  []*Script
	inRow    map[string]int    // faults in a row by source
	sinceOdd map[string]int    // requests since the last odd fault by source
	spent    map[string]budget // by query
	spoiled  map[string]bool   // ids left out or spoiled once
}

type budget struct{ faults, odd int }

func newInjector(seed uint64, f Faults) *injector {
	in := &injector{seed: seed, faults: f, inRow: map[string]int{}, sinceOdd: map[string]int{}}
	in.renew()
	return in
}

// renew forgets what has been spent on each query.
func (in *injector) renew() {
	in.spent, in.spoiled = map[string]budget{}, map[string]bool{}
}

// choose returns the fault for a request, "" for none, and its delay if slow.
func (in *injector) choose(q *request, suits func(Fault) bool) (Fault, time.Duration) {
	if f, delay, ok := in.scripted(q, suits); ok {
		return f, delay
	}
	f := in.random(q, suits)
	if f.harmless() || f == "" {
		in.inRow[q.source] = 0
	} else {
		in.inRow[q.source]++
	}
	in.sinceOdd[q.source]++
	if f.odd() {
		in.sinceOdd[q.source] = 0
	}
	return f, in.faults.delay()
}

func (in *injector) scripted(q *request, suits func(Fault) bool) (Fault, time.Duration, bool) {
	for k, s := range in.scripts {
		if s.Source != "" && s.Source != q.source || s.Number != 0 && s.Number != q.number ||
			!strings.Contains(q.plain(), s.Match) || s.When != nil && !s.When(q.http) || !suits(s.Fault) {
			continue
		}
		if s.After > 0 {
			s.After--
			continue
		}
		if s.Times > 0 {
			s.Times--
			if s.Times == 0 {
				in.scripts = append(in.scripts[:k:k], in.scripts[k+1:]...)
			}
		}
		delay := in.faults.delay()
		if s.Delay > 0 {
			delay = s.Delay
		}
		return s.Fault, delay, true
	}
	return "", 0, false
}

func (in *injector) random(q *request, suits func(Fault) bool) Fault {
	rates := in.faults.rates(q.source)
	if len(rates) == 0 {
		return ""
	}
	d := roll(in.seed, 4, seedOf(q.source), uint64(q.number))
	u := d.float()
	for _, f := range AllFaults {
		rate := rates[f]
		if rate == 0 || !suits(f) {
			continue
		}
		u -= rate
		if u < 0 {
			if in.allowed(q, f) {
				return f
			}
			return ""
		}
	}
	return ""
}

// allowed keeps the promises of the bounds.
func (in *injector) allowed(q *request, f Fault) bool {
	if f.harmless() {
		return true
	}
	if in.faults.MaxInRow > 0 && in.inRow[q.source] >= in.faults.MaxInRow {
		return false
	}
	if most := in.faults.MaxPerQuery; most > 0 {
		key := q.query()
		b := in.spent[key]
		if b.faults >= most || f.odd() && (b.odd > 0 || in.sinceOdd[q.source] < 5) {
			return false
		}
		b.faults++
		if f.odd() {
			b.odd++
		}
		if len(in.spent) > 200_000 {
			in.spent = map[string]budget{}
		}
		in.spent[key] = b
	}
	return true
}

// spoil says whether an id may be left out or spoiled, and remembers it. Ids hit
// by a script are not counted: a script knows what it wants.
func (in *injector) spoil(id string) bool {
	if in.faults.MaxPerQuery == 0 {
		return true
	}
	if in.spoiled[id] {
		return false
	}
	in.spoiled[id] = true
	return true
}
