// Package metrics counts what patra does, for Prometheus to collect.
//
// Those who do something tell of it through small functions of their own and know
// nothing of metrics; package node introduces them. Counters are kept here and count
// what this process did. What is true of the whole store, such as how many tasks
// wait, is read from it when somebody collects, and not more often than every ten
// seconds.
package metrics

import (
	"bytes"
	"context"
	"strconv"
	"time"

	"github.com/papertrace/patra/internal/app/executor"
	"github.com/papertrace/patra/internal/app/relay"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/common/expfmt"
)

// Book holds the numbers. It is safe for concurrent use.
type Book struct {
	registry *prometheus.Registry

	batches, items, quarantined, duplicates, fresh, late *prometheus.CounterVec
	triggers, idempotent                                 *prometheus.CounterVec
	requests, faults, throttled, retries                 *prometheus.CounterVec
	selfHeal, restarts, cursorMoves, alertMessages       *prometheus.CounterVec
	events                                               *prometheus.CounterVec
	batchLatency, httpLatency                            *prometheus.HistogramVec
	concurrency                                          *prometheus.GaugeVec

	rates *rates
}

// Upper bounds of the histograms' buckets, in seconds. A page waits at the gate and
// may be repeated, a request ends within two minutes.
var (
	pageBuckets    = []float64{.01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120, 300}
	requestBuckets = []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120}
)

// New returns a book whose gauges of the whole store come from a store.
func New(store Store) *Book {
	r := prometheus.NewRegistry()
	b := &Book{
		registry: r,
		batches:  batches.counter(r), items: items.counter(r), quarantined: quarantined.counter(r), duplicates: duplicates.counter(r),
		fresh: fresh.counter(r), late: late.counter(r), triggers: triggers.counter(r), idempotent: idempotent.counter(r),
		requests: httpRequests.counter(r), faults: faults.counter(r), throttled: throttled.counter(r), retries: retries.counter(r),
		selfHeal: selfHeal.counter(r), restarts: restarts.counter(r), cursorMoves: cursorMoves.counter(r), alertMessages: alertMessages.counter(r), events: events.counter(r),
		batchLatency: batchLatency.histogram(r, pageBuckets), httpLatency: httpLatency.histogram(r, requestBuckets),
		concurrency: concurrency.gauge(r),
		rates:       newRates(),
	}
	for _, what := range healTypes {
		b.selfHeal.WithLabelValues(what) // so that the first of them is seen to be one more
	}
	r.MustRegister(b.rates, &levels{store: store}, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return b
}

// The types of things that heal themselves, in the words of the design.
const (
	qpsDownshift = "qpsDownshift"
	reslice      = "reslice"
	circuitOpen  = "circuitOpen"
	// The design has no words for these.
	concurrencyDown = "concurrencyDown"
	taskStopped     = "taskStopped"
	itemIsolated    = "itemIsolated"
	sourceStopped   = "sourceStopped"
	plannerPaused   = "plannerPaused"
	lagRaised       = "lagRaised"
)

var healTypes = []string{qpsDownshift, concurrencyDown, reslice, circuitOpen, taskStopped, itemIsolated, sourceStopped, plannerPaused, lagRaised}

// Happened counts an event of the executor.
func (b *Book) Happened(e executor.Event) {
	p := e.Job.Partition()
	switch e.Kind {
	case executor.TaskTaken:
		b.concurrency.WithLabelValues(labels(p)...).Inc()
	case executor.TaskLeft:
		b.concurrency.WithLabelValues(labels(p)...).Dec()
	case executor.PageCommitted:
		b.page(p, e)
	case executor.Faulted:
		if f, is := harvest.FaultOf(e.Err); is {
			b.Fault(p, f)
		}
	case executor.SliceCut:
		b.selfHeal.WithLabelValues(reslice).Inc()
	case executor.SourceSlow:
		b.selfHeal.WithLabelValues(concurrencyDown).Inc()
	case executor.TaskFailed:
		b.stopped(e)
	case executor.WalkRestarted:
		b.restarts.WithLabelValues(labels(p)...).Inc()
	case executor.LeaseLost:
		b.idempotent.WithLabelValues(p.Provenance, string(p.Operation), "batch").Inc()
	}
}

// stopped counts a task that is given up, with its source or without.
func (b *Book) stopped(e executor.Event) {
	what := taskStopped
	if f, is := harvest.FaultOf(e.Err); is && f.Level == harvest.Fatal {
		what = sourceStopped
	}
	b.selfHeal.WithLabelValues(what).Inc()
}

// PlannerPaused counts that nothing is planned for the sake of the database.
func (b *Book) PlannerPaused() { b.selfHeal.WithLabelValues(plannerPaused).Inc() }

// LagRaised counts a plan that reaches less far for the sake of the database.
func (b *Book) LagRaised() { b.selfHeal.WithLabelValues(lagRaised).Inc() }

// page counts a page that was committed.
func (b *Book) page(p harvest.Partition, e executor.Event) {
	c := e.Counts
	add := func(v *prometheus.CounterVec, n int64, more ...string) {
		v.WithLabelValues(labels(p, more...)...).Add(float64(n))
	}
	b.batches.WithLabelValues(labels(p)...).Inc()
	b.batchLatency.WithLabelValues(labels(p)...).Observe(e.Page.Took.Seconds())
	add(b.items, c.Inserted, "insert")
	add(b.items, c.Updated+c.Remapped, "update")
	add(b.items, c.Unchanged+c.Stale+c.Filtered, "skip")
	add(b.quarantined, c.Quarantined)
	add(b.duplicates, int64(e.Page.Repeated))
	add(b.fresh, e.Page.Fresh)
	add(b.late, e.Page.Late)
	if c.Quarantined > 0 {
		add(b.faults, c.Quarantined, string(harvest.Corrupt))
		b.selfHeal.WithLabelValues(itemIsolated).Add(float64(c.Quarantined))
	}
}

// Fault counts a fault that ended a page, or a question that belongs to no task.
func (b *Book) Fault(p harvest.Partition, f harvest.Fault) {
	b.faults.WithLabelValues(labels(p, string(f.Level))...).Inc()
}

// Triggered counts what came of a trigger.
func (b *Book) Triggered(t harvest.Trigger, out harvest.TriggerOutcome) {
	b.triggers.WithLabelValues(t.Provenance, string(t.Operation), string(out)).Inc()
	if out == harvest.TriggerExisting {
		b.idempotent.WithLabelValues(t.Provenance, string(t.Operation), "trigger").Inc()
	}
}

// Request is a request to an upstream and what came of it.
type Request struct {
	// Of names the endpoint that was asked, RateKey the bucket it was counted in.
	Of      harvest.Partition
	RateKey string
	// Status of the reply, 0 if there was none.
	Status int
	Took   time.Duration
}

// Requested counts a request.
func (b *Book) Requested(r Request) {
	b.httpLatency.WithLabelValues(labels(r.Of)...).Observe(r.Took.Seconds())
	b.requests.WithLabelValues(labels(r.Of, statusClass(r.Status))...).Inc()
	if r.Status == 429 {
		b.throttled.WithLabelValues(labels(r.Of)...).Inc()
	}
	b.rates.asked(r.Of, r.RateKey)
}

// statusClass is a status as a label.
func statusClass(status int) string {
	if status < 100 || status > 599 {
		return "none"
	}
	return strconv.Itoa(status/100) + "xx"
}

// Repeated counts a request that is made again.
func (b *Book) Repeated(p harvest.Partition) {
	b.retries.WithLabelValues(labels(p)...).Inc()
}

// CursorMoved counts a move of a cursor.
func (b *Book) CursorMoved(d harvest.Direction) { b.cursorMoves.WithLabelValues(string(d)).Inc() }

// PartitionRests counts that a partition is left alone.
func (b *Book) PartitionRests(harvest.Partition) { b.selfHeal.WithLabelValues(circuitOpen).Inc() }

// Text is all of it in the text format of Prometheus. What cannot be read is left
// out, and a gauge says so.
func (b *Book) Text(context.Context) ([]byte, error) {
	families, gathered := b.registry.Gather()
	if len(families) == 0 {
		return nil, gathered
	}
	var out bytes.Buffer
	enc := expfmt.NewEncoder(&out, expfmt.NewFormat(expfmt.TypeTextPlain))
	for _, f := range families {
		if err := enc.Encode(f); err != nil {
			return nil, err
		}
	}
	return out.Bytes(), nil
}

// AlertSent counts a try to send a message about an alert.
func (b *Book) AlertSent(kind, outcome string) { b.alertMessages.WithLabelValues(kind, outcome).Inc() }

// EventsSent counts what became of messages to targets of events.
func (b *Book) EventsSent(kind string, what relay.Word, n int) {
	b.events.WithLabelValues(kind, string(what)).Add(float64(n))
}
