package metrics

import (
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/prometheus/client_golang/prometheus"
)

// kind of a metric.
type kind string

const (
	counter   kind = "counter"
	gauge     kind = "gauge"
	histogram kind = "histogram"
)

// Metric declares one metric: all that is to be known of it besides its numbers.
type Metric struct {
	Name   string
	Kind   kind
	Labels []string
	// Help is one sentence about what the number says.
	Help string
	// From is the part of the design that asks for it; empty: none does.
	From string
}

// Labels that several metrics have. Each is a closed set: sources and endpoints are
// those that packs name, the rest are words of the program. No query, address, id or
// credential is ever a label.
var (
	ofPartition = []string{"source", "endpoint", "op"}
	ofEndpoint  = []string{"source", "endpoint"}
	ofTarget    = []string{"target"} // those that an operator has named
)

func with(more ...string) []string { return append(append([]string{}, ofPartition...), more...) }

// labels are the values of [ofPartition] for a partition, and of the labels after them.
func labels(p harvest.Partition, more ...string) []string {
	return append([]string{p.Provenance, p.Endpoint, string(p.Operation)}, more...)
}

// The metrics there are.
var (
	batches = Metric{
		"patra_ingest_batches_total", counter, ofPartition, "Pages that were committed.", "14.4",
	}
	items = Metric{
		"patra_ingest_items_total", counter, with("action"),
		"Items of committed pages by what was done with them: insert, update (a changed mapping too) or skip (unchanged, older than what is held, or filtered). " +
			"update / (insert + update) is the share of overrides.", "14.4, 11.10",
	}
	quarantined = Metric{
		"patra_ingest_quarantined_items_total", counter, ofPartition, "Items that could not be read and were put aside, their page being committed.", "",
	}
	duplicates = Metric{
		"patra_ingest_duplicate_items_total", counter, ofPartition,
		"Ids of search pages that the same walk had seen before; as a share of all items it is the rate of duplicates.", "11.10",
	}
	fresh = Metric{
		"patra_ingest_fresh_items_total", counter, ofPartition, "New versions on pages that looked back over windows which were done.", "11.10",
	}
	late = Metric{
		"patra_ingest_late_items_total", counter, ofPartition, "Those of the fresh versions that came late; late / fresh is the late rate.", "11.10",
	}
	triggers = Metric{
		"patra_ingest_triggers_total", counter,
		[]string{"source", "op", "outcome"},
		"Triggers by what came of them: PLANNED, EXISTING, NOOP, REFUSED or FAILED.", "11.10",
	}
	idempotent = Metric{
		"patra_ingest_idempotent_hits_total", counter,
		[]string{"source", "op", "kind"},
		"What was asked for twice and done once: a trigger that had been answered, or a batch whose task another worker holds by now.", "11.10",
	}
	batchLatency = Metric{
		"patra_ingest_batch_latency_seconds", histogram, ofPartition, "From asking for a page until it was committed, waiting at the gate included.", "14.4",
	}
	httpLatency = Metric{
		"patra_ingest_http_latency_seconds", histogram, ofPartition, "One request to an upstream, its reply read; endpoint is the one asked.", "14.4",
	}
	httpRequests = Metric{
		"patra_ingest_http_requests_total", counter, with("status"),
		"Requests to an upstream by the class of the reply's status, none where no reply came.", "",
	}
	faults = Metric{
		"patra_ingest_errors_total", counter, with("level"),
		"Faults that ended a page, after its repetitions, by level: L1 passes, L2 was refused, L4 stops the source; L3 counts the items put aside.", "14.4",
	}
	throttled = Metric{
		"patra_ingest_429_total", counter, ofPartition, "Replies that asked for fewer requests (HTTP 429).", "14.4",
	}
	retries = Metric{
		"patra_ingest_retries_total", counter, ofPartition, "Requests that were made again.", "14.4",
	}
	selfHeal = Metric{
		"patra_ingest_self_heal_events_total", counter,
		[]string{"type"},
		"What patra did by itself about trouble: qpsDownshift (a rate was lowered), concurrencyDown (fewer slices of a slow source are worked on at once), reslice (a slice was cut), " +
			"circuitOpen (a partition was left alone), taskStopped (a slice was given up as a gap), itemIsolated (an item was put aside), sourceStopped (a source was stopped), " +
			"plannerPaused (nothing was planned while the database was slow), lagRaised (what was planned all the same reaches less far).", "14.4",
	}
	restarts = Metric{
		"patra_ingest_walk_restarts_total", counter, ofPartition, "Walks over a slice that were begun again.", "",
	}
	tasksQueued = Metric{
		"patra_ingest_tasks_queued", gauge, ofPartition, "Tasks that wait, in the whole store.", "14.4",
	}
	concurrency = Metric{
		"patra_ingest_executor_concurrency", gauge, ofPartition, "Tasks that this process works on.", "14.4",
	}
	cursorLag = Metric{
		"patra_ingest_cursor_lag_seconds", gauge, with("ns"),
		"Now less the cursor of a HARVEST that a schedule in force, or an outside scheduler, asks for; of several of one scope (ns) the one that is " +
			"furthest behind.", "14.4",
	}
	cursorMoves = Metric{
		"patra_ingest_cursor_advance_events_total", counter, []string{"direction"}, "Moves of cursors that this process committed.", "14.4",
	}
	budgetRemaining = Metric{
		"patra_ingest_budget_remaining", gauge, ofPartition,
		"The part of the tightest quota that is not used, 0 to 1, as this process saw it last; 1 where there is no quota.", "14.4",
	}
	quotaUsed = Metric{
		"patra_ingest_quota_used_ratio", gauge, with("window"),
		"The part of a quota that is used, 0 to 1, as this process saw it last; window is the time it is for.", "",
	}
	quotaReserve = Metric{
		"patra_ingest_quota_reserve_ratio", gauge, with("window"),
		"The part of a quota that is kept back from what can wait, 0 to 1: it is reached where it and what is used come to 1.", "",
	}
	qpsEffective = Metric{
		"patra_ingest_qps_effective", gauge, ofPartition, "Requests per second that all processes together are allowed now, as this process saw it last.", "14.4",
	}
	breakersOpen = Metric{
		"patra_ingest_breakers_open", gauge, ofPartition, "1 for a partition that is left alone because it failed again and again.", "",
	}
	sourcesHeld = Metric{
		"patra_ingest_sources_held", gauge, ofEndpoint, "1 for a source that is paused or stopped, without an endpoint, and for one endpoint of it that is by itself.", "",
	}
	outbox = Metric{
		"patra_ingest_outbox_backlog", gauge, nil, "Revisions of records that the target furthest behind has not got; at most 10,000 are counted.", "",
	}
	targetBacklog = Metric{
		"patra_ingest_outbox_target_backlog", gauge, ofTarget, "Revisions of records that a target has not got; at most 10,000 are counted.", "",
	}
	parkedEvents = Metric{
		"patra_ingest_outbox_parked", gauge, ofTarget, "Messages that a target refused ten times, and that are not tried any more.", "",
	}
	events = Metric{
		"patra_ingest_events_total", counter,
		[]string{"kind", "outcome"},
		"Messages to targets of events by the kind of target and what came of them: sent, refused (it is tried again) or parked; target_out counts " +
			"tries to send to a target that took nothing.", "",
	}
	alertsFiring = Metric{
		"patra_ingest_alerts_firing", gauge, []string{"rule", "severity"}, "Alerts that fire now, in the whole store.", "14.8",
	}
	alertMessages = Metric{
		"patra_ingest_alert_messages_total", counter,
		[]string{"kind", "outcome"},
		"Messages about alerts by the kind of target and what came of the try: sent, failed (it is tried again) or given_up.", "",
	}
	storeReadable = Metric{
		"patra_ingest_levels_readable", gauge, nil, "1 if the gauges that come from the store could be read, else 0 and they are left out.", "",
	}
)

func (m Metric) counter(r prometheus.Registerer) *prometheus.CounterVec {
	v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: m.Name, Help: m.Help}, m.Labels)
	r.MustRegister(v)
	return v
}

func (m Metric) gauge(r prometheus.Registerer) *prometheus.GaugeVec {
	v := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: m.Name, Help: m.Help}, m.Labels)
	r.MustRegister(v)
	return v
}

func (m Metric) histogram(r prometheus.Registerer, buckets []float64) *prometheus.HistogramVec {
	v := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: m.Name, Help: m.Help, Buckets: buckets}, m.Labels)
	r.MustRegister(v)
	return v
}

func (m Metric) desc() *prometheus.Desc { return prometheus.NewDesc(m.Name, m.Help, m.Labels, nil) }
