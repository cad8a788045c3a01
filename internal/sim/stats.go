package sim

import (
	"encoding/json"
	"hash/maphash"
	"maps"
	"slices"
	"strconv"
	"time"
)

// Stats is what the upstreams have seen.
type Stats struct {
	Now     time.Time               `json:"now"`
	Sources map[string]*SourceStats `json:"sources"`
}

// SourceStats is one upstream's count of everything since the start.
type SourceStats struct {
	Requests             int            `json:"requests"`
	ByPath               map[string]int `json:"by_path"`
	ByStatus             map[string]int `json:"by_status"` // "aborted" if the connection was dropped
	RecordsServed        int            `json:"records_served"`
	BytesServed          int64          `json:"bytes_served"`
	Breaches             Breaches       `json:"breaches"`
	BreachesByKey        map[string]int `json:"breaches_by_key,omitempty"`
	MaxInWindow          int            `json:"max_in_window"` // most arrivals of one caller in one window
	RetryAfterViolations int            `json:"retry_after_violations"`
	Faults               map[Fault]int  `json:"faults"`
	RepeatedOK           int            `json:"repeated_ok"` // requests for what had been answered in full before
	Repeated             []Repeated     `json:"repeated,omitempty"`
	Auth                 AuthStats      `json:"auth,omitzero"`
	Truth                TruthStats     `json:"truth"`
}

// Breaches are requests that arrived above a limit.
type Breaches struct {
	Rate        int `json:"rate"`
	Concurrency int `json:"concurrency"`
	Quota       int `json:"quota,omitzero"`
}

// Repeated is a request that was answered in full more than once.
type Repeated struct {
	Request string `json:"request"`
	Times   int    `json:"times"`
}

// TruthStats describes the population. Versions counts those made since the start.
type TruthStats struct {
	Visible  int            `json:"visible"`
	Deleted  int            `json:"deleted"`
	Hidden   int            `json:"hidden"` // versions that are still to appear
	Versions map[string]int `json:"versions"`
	Late     int            `json:"late"`
}

// maxRepeated bounds the list of repeated requests, maxAnswered what is remembered
// to find them.
const (
	maxRepeated = 50
	maxAnswered = 1 << 20
)

// counter gathers one source's statistics. It is guarded by Sim.mu.
type counter struct {
	SourceStats
	hash     maphash.Seed
	answered map[uint64]struct{}
	repeated map[string]int
}

func newCounter() *counter {
	return &counter{
		SourceStats: SourceStats{
			ByPath: map[string]int{}, ByStatus: map[string]int{}, BreachesByKey: map[string]int{}, Faults: map[Fault]int{},
		},
		hash: maphash.MakeSeed(), answered: map[uint64]struct{}{}, repeated: map[string]int{},
	}
}

func (c *counter) arrived(q *request, v verdict, key string) {
	c.Requests++
	c.ByPath[q.route]++
	c.MaxInWindow = max(c.MaxInWindow, v.seen)
	if v.early {
		c.RetryAfterViolations++
	}
	switch {
	case v.overQuota:
		c.Breaches.Quota++
	case v.tooFast:
		c.Breaches.Rate++
	case v.tooMany:
		c.Breaches.Concurrency++
	}
	if v.refused() {
		c.BreachesByKey[key]++
	}
}

func (c *counter) finished(q *request, rep *reply, sent int, whole bool) {
	c.BytesServed += int64(sent)
	if !whole {
		c.ByStatus["aborted"]++
		return
	}
	c.ByStatus[strconv.Itoa(rep.status)]++
	if rep.status != 200 || rep.failed {
		return
	}
	c.RecordsServed += rep.records
	identity := q.identity()
	sum := maphash.String(c.hash, identity)
	if _, again := c.answered[sum]; again {
		c.RepeatedOK++
		if len(identity) > 300 {
			identity = identity[:300]
		}
		if c.repeated[identity] > 0 || len(c.repeated) < 10*maxRepeated {
			c.repeated[identity]++
		}
	} else if len(c.answered) < maxAnswered {
		c.answered[sum] = struct{}{}
	}
}

// Stats returns a copy of the counts so far.
func (s *Sim) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := Stats{Now: s.now, Sources: map[string]*SourceStats{}}
	for name, c := range s.counters {
		one := c.SourceStats
		one.ByPath, one.ByStatus = maps.Clone(c.ByPath), maps.Clone(c.ByStatus)
		one.BreachesByKey, one.Faults = maps.Clone(c.BreachesByKey), maps.Clone(c.Faults)
		for request, again := range c.repeated {
			one.Repeated = append(one.Repeated, Repeated{request, again + 1})
		}
		slices.SortFunc(one.Repeated, func(a, b Repeated) int {
			if a.Times != b.Times {
				return b.Times - a.Times
			}
			if a.Request < b.Request {
				return -1
			}
			return 1
		})
		one.Repeated = one.Repeated[:min(len(one.Repeated), maxRepeated)]
		one.Truth = s.populations[name].stats()
		out.Sources[name] = &one
	}
	return out
}

func (p *population) stats() TruthStats {
	t := TruthStats{Hidden: len(p.hidden), Late: p.late, Versions: map[string]int{}}
	t.Visible = len(p.index())
	for i := range p.records {
		if p.records[i].deleted {
			t.Deleted++
		}
	}
	for k, n := range p.madeOf {
		if n > 0 {
			t.Versions[kind(k).String()] = n
		}
	}
	return t
}

// String gives the statistics as JSON, for test failures.
func (st Stats) String() string {
	b, err := json.MarshalIndent(st, "", " ")
	if err != nil {
		return err.Error()
	}
	return string(b)
}
