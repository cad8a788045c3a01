package metrics

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/metrics.md anew")

// TestR78_ThePageIsMadeFromTheCode: docs/metrics.md tells of every metric, as it is
// declared.
func TestR78_ThePageIsMadeFromTheCode(t *testing.T) {
	const name = "../../../docs/metrics.md"
	if *update {
		if err := os.WriteFile(name, []byte(page()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(name)
	if err != nil || string(got) != page() {
		t.Errorf("%s is stale (%v): run this test with -update", name, err)
	}
}

// TestR78_NamesOfTheDesign: every metric that the design names is there under its
// name, in seconds where it says milliseconds, and with its labels.
func TestR78_NamesOfTheDesign(t *testing.T) {
	design := map[string]string{
		"patra_ingest_batches_total":               "source,endpoint,op",
		"patra_ingest_items_total":                 "source,endpoint,op,action",
		"patra_ingest_batch_latency_seconds":       "source,endpoint,op",
		"patra_ingest_http_latency_seconds":        "source,endpoint,op",
		"patra_ingest_errors_total":                "source,endpoint,op,level",
		"patra_ingest_429_total":                   "source,endpoint,op",
		"patra_ingest_retries_total":               "source,endpoint,op",
		"patra_ingest_self_heal_events_total":      "type",
		"patra_ingest_tasks_queued":                "source,endpoint,op",
		"patra_ingest_executor_concurrency":        "source,endpoint,op",
		"patra_ingest_cursor_lag_seconds":          "source,endpoint,op,ns",
		"patra_ingest_cursor_advance_events_total": "direction",
		"patra_ingest_budget_remaining":            "source,endpoint,op",
		"patra_ingest_qps_effective":               "source,endpoint,op",
	}
	seen := map[string]bool{}
	for _, m := range all() {
		if seen[m.Name] {
			t.Errorf("%s is declared twice", m.Name)
		}
		seen[m.Name] = true
		want, named := design[m.Name]
		if named && (strings.Join(m.Labels, ",") != want || !strings.HasPrefix(m.From, "14.4")) {
			t.Errorf("%s has the labels %v and says it is from %q", m.Name, m.Labels, m.From)
		}
		if !named && strings.HasPrefix(m.From, "14.4") {
			t.Errorf("%s is none of the design's", m.Name)
		}
		delete(design, m.Name)
	}
	for name := range design {
		t.Errorf("%s is missing", name)
	}
}

// all lists the metrics in the order in which they are told of.
func all() []Metric {
	return []Metric{
		batches, items, quarantined, duplicates, fresh, late, triggers, idempotent, batchLatency, httpLatency, httpRequests,
		faults, throttled, retries, selfHeal, restarts, tasksQueued, concurrency, cursorLag, cursorMoves, budgetRemaining, quotaUsed, quotaReserve, qpsEffective,
		breakersOpen, sourcesHeld, alertsFiring, alertMessages, outbox, targetBacklog, parkedEvents, events, storeReadable,
	}
}

// page is the page about the metrics, docs/metrics.md.
func page() string {
	var b strings.Builder
	b.WriteString("# What patra measures\n\n" +
		"Served as `/metrics` by `patra serve --listen ADDRESS`, in the text format of Prometheus, to whoever may look (a token of the role viewer,\n" +
		"once there is a token). This page is made from `internal/infra/metrics`; a test holds both together. Labels are closed sets: sources and\n" +
		"endpoints as packs name them, operations, levels and outcomes as the program does; never a query, an address, an id or a key.\n" +
		"Counters count what this process did and begin at 0 with it. Gauges of the whole store are read at most every ten seconds.\n" +
		"Beside these the process tells of itself as all Go programs do (`go_*`, `process_*`).\n" +
		"`patra deploy grafana` prints a dashboard over all of them, `patra deploy alerts` rules for Prometheus; both are made from this table.\n\n" +
		"| metric | type | labels | what it says | design |\n|---|---|---|---|---|\n")
	for _, m := range all() {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", m.Name, m.Kind, strings.Join(m.Labels, ", "), m.Help, m.From)
	}
	return b.String()
}
