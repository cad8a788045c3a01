package metrics

import (
	"context"
	"sync"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/pace"
	"github.com/prometheus/client_golang/prometheus"
)

// Store tells how full the queues are and how far behind the cursors.
type Store interface {
	Levels(ctx context.Context) (control.Levels, error)
}

const (
	// freshFor is how long what was read from the store is told again: who collects
	// often, or in number, does not load the store.
	freshFor = 10 * time.Second
	// readWithin is how long the store is waited for.
	readWithin = 5 * time.Second
)

// levels are the gauges that are read from the store.
type levels struct {
	store Store

	mu   sync.Mutex
	at   time.Time      // guarded by mu; when it was last read
	last control.Levels // guarded by mu
	err  error          // guarded by mu
}

// Describe implements prometheus.Collector.
func (l *levels) Describe(out chan<- *prometheus.Desc) {
	for _, m := range []Metric{tasksQueued, cursorLag, breakersOpen, sourcesHeld, alertsFiring, outbox, targetBacklog, parkedEvents, storeReadable} {
		out <- m.desc()
	}
}

// Collect implements prometheus.Collector.
func (l *levels) Collect(out chan<- prometheus.Metric) {
	now, err := l.read()
	tell := func(m Metric, v float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(m.desc(), prometheus.GaugeValue, v, labels...)
	}
	if err != nil {
		tell(storeReadable, 0)
		return
	}
	tell(storeReadable, 1)
	tell(outbox, float64(now.Outbox))
	for _, t := range now.Targets {
		tell(targetBacklog, float64(t.Backlog), t.Name)
		tell(parkedEvents, float64(t.Parked), t.Name)
	}
	for _, q := range now.Queued {
		tell(tasksQueued, float64(q.Tasks), q.Provenance, q.Endpoint, string(q.Operation))
	}
	for _, c := range now.Cursors {
		tell(cursorLag, c.Behind.Seconds(), c.Provenance, c.Endpoint, string(c.Operation), string(c.Scope))
	}
	for _, p := range now.Resting {
		tell(breakersOpen, 1, labels(p)...)
	}
	for _, a := range now.Alerts {
		tell(alertsFiring, float64(a.Firing), string(a.Rule), string(a.Severity))
	}
	for _, held := range now.Held {
		tell(sourcesHeld, 1, held.Provenance, held.Endpoint)
	}
}

// read is what the store tells, or told a moment ago.
func (l *levels) read() (control.Levels, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.at.IsZero() && time.Since(l.at) < freshFor {
		return l.last, l.err
	}
	ctx, cancel := context.WithTimeout(context.Background(), readWithin)
	defer cancel()
	l.last, l.err = l.store.Levels(ctx)
	l.at = time.Now()
	return l.last, l.err
}

// rates are the gauges of what the gate allows, by who was last counted in which
// bucket.
type rates struct {
	mu     sync.Mutex
	keys   map[harvest.Partition]string // guarded by mu
	stands map[string]pace.Standing     // guarded by mu; by the bucket
}

func newRates() *rates {
	return &rates{keys: map[harvest.Partition]string{}, stands: map[string]pace.Standing{}}
}

func (r *rates) asked(p harvest.Partition, key string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.keys[p] = key
}

// Rated takes in how a bucket of the gate stands, and whether its rate was lowered
// just now.
func (b *Book) Rated(key string, stands pace.Standing, lowered bool) {
	if lowered {
		b.selfHeal.WithLabelValues(qpsDownshift).Inc()
	}
	b.rates.mu.Lock()
	defer b.rates.mu.Unlock()
	b.rates.stands[key] = stands
}

// Describe implements prometheus.Collector.
func (r *rates) Describe(out chan<- *prometheus.Desc) {
	out <- budgetRemaining.desc()
	out <- quotaUsed.desc()
	out <- quotaReserve.desc()
	out <- qpsEffective.desc()
}

// Collect implements prometheus.Collector.
func (r *rates) Collect(out chan<- prometheus.Metric) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for p, key := range r.keys {
		s, known := r.stands[key]
		if !known {
			continue // nothing bounds it
		}
		out <- prometheus.MustNewConstMetric(budgetRemaining.desc(), prometheus.GaugeValue, s.Left, labels(p)...)
		out <- prometheus.MustNewConstMetric(qpsEffective.desc(), prometheus.GaugeValue, s.PerSecond, labels(p)...)
		for _, q := range s.Quotas {
			out <- prometheus.MustNewConstMetric(quotaUsed.desc(), prometheus.GaugeValue, q.Used, labels(p, q.Window.String())...)
			out <- prometheus.MustNewConstMetric(quotaReserve.desc(), prometheus.GaugeValue, s.Reserve, labels(p, q.Window.String())...)
		}
	}
}
