package metrics

import (
	"flag"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/metrics.md anew")

// TestR78_ThePageIsMadeFromTheCode: docs/metrics.md tells of every metric, as it is
// declared.
func TestR78_ThePageIsMadeFromTheCode(t *testing.T) {
	const page = "../../../docs/metrics.md"
	if *update {
		if err := os.WriteFile(page, []byte(Table()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(page)
	if err != nil || string(got) != Table() {
		t.Errorf("%s is stale (%v): run this test with -update", page, err)
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
	for _, m := range All() {
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
