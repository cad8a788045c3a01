package node_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/app/registry"
	"github.com/papertrace/patra/internal/app/role"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/infra/notify"
	"github.com/papertrace/patra/internal/infra/sqlstore"
	"github.com/papertrace/patra/internal/node"
	"github.com/papertrace/patra/internal/patratest"
	"github.com/papertrace/patra/internal/sim"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// families reads metrics as Prometheus does.
func families(t *testing.T, text []byte) map[string]*dto.MetricFamily {
	t.Helper()
	p := expfmt.NewTextParser(model.LegacyValidation)
	all, err := p.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return all
}

// onlooker collects the metrics of a node again and again, and remembers which of
// them have said anything.
type onlooker struct {
	t     *testing.T
	moved map[string]bool
	// labels are the values seen of each label.
	labels map[string]map[string]bool
	last   []byte
}

func newOnlooker(t *testing.T) *onlooker {
	return &onlooker{t: t, moved: map[string]bool{}, labels: map[string]map[string]bool{}}
}

func (o *onlooker) look(text []byte, err error) {
	o.t.Helper()
	if err != nil {
		o.t.Fatal(err)
	}
	o.last = text
	for name, f := range families(o.t, text) {
		for _, m := range f.Metric {
			var words strings.Builder
			words.WriteString(name)
			for _, l := range m.Label {
				if closed := l.GetName(); closed != "source" && closed != "endpoint" && closed != "op" {
					words.WriteString(" " + l.GetValue())
				}
			}
			if m.GetCounter().GetValue() != 0 || m.GetGauge().GetValue() != 0 || m.GetHistogram().GetSampleCount() != 0 {
				o.moved[name] = true
				o.moved[words.String()] = true
			}
			for _, l := range m.Label {
				if strings.HasPrefix(name, "patra_") {
					o.seen(name+" "+l.GetName(), l.GetValue())
				}
			}
		}
	}
}

func (o *onlooker) seen(label, value string) {
	if o.labels[label] == nil {
		o.labels[label] = map[string]bool{}
	}
	o.labels[label][value] = true
}

// spoilt is a page of the oracle whose first item has no time that can be read, and
// whose last one comes twice.
func (s *served) spoilt(r *http.Request) *http.Response {
	s.oracle.Advance(time.Since(s.oracle.Now()))
	resp, err := patratest.Direct{Handler: s.oracle}.RoundTrip(r)
	if err != nil {
		s.t.Error(err)
		return nil
	}
	var page map[string]any
	if err := json.NewDecoder(resp.Body).Decode(&page); err != nil {
		s.t.Error(err)
		return nil
	}
	items := page["items"].([]any)
	items[0].(map[string]any)["updated"] = "long ago"
	page["items"] = append(items, items[len(items)-1])
	body, err := json.Marshal(page)
	if err != nil {
		s.t.Error(err)
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	resp.Header.Del("Content-Length")
	resp.ContentLength = -1
	return resp
}

// mostValues is how many values a label has at most: what patra does by itself about
// trouble has the most kinds.
const mostValues = 9

// TestR78_EveryMetricMoves: a node that serves a source through a day of troubles
// has something to say in each of its metrics, none of which stays at zero for
// ever; each label has a few values, and Prometheus finds nothing to mend.
func TestR78_EveryMetricMoves(t *testing.T) {
	t.Parallel()
	var out *onlooker
	servedBubble(t, func(t *testing.T) {
		out = newOnlooker(t)
		log := new(healingLog)
		s, _ := lateOracle(t, `{harvest: "@hourly"}`, 2*time.Hour, 12*time.Hour, 60, 10)
		d := s.packs["generic"]
		rate := *d.Definition.RateLimit
		rate.Quotas = []source.QuotaConfig{{Limit: 1_000_000, Window: source.Duration(24 * time.Hour)}}
		d.Definition.RateLimit = &rate
		s.packs["generic"] = d
		cfg := node.Config{Workers: 2, Poll: s.poll, Logger: log.logger(), Alerts: notify.FromText("webhook+http://alerts.test/in")}
		s.Store = patratest.Open(t, s.dsn, sqlstore.Options{Logger: cfg.Logger})
		s.Node = node.Assemble(cfg, s.Store, registry.New(s.Store, registry.Read(s.packs), nil, node.CheckSpec, patratest.Logger(t)), &mailroom{RoundTripper: s})
		began := time.Now()
		stolen, spoilt, looks := false, false, 0
		s.instead = func(r *http.Request) *http.Response {
			counts := r.URL.Query().Get("only") == "count"
			age := time.Since(began)
			switch {
			case age > 2*time.Hour && age < 2*time.Hour+8*time.Minute: // one dead harvest
				out.look(s.Metrics(t.Context()))
				return during(began, began.Add(24*time.Hour), http.StatusServiceUnavailable)(r)
			case counts:
			case age > time.Hour && !stolen: // another worker has taken the task, or so it seems
				stolen = true
				if _, err := patratest.Raw(t, s.dsn).Exec(`UPDATE ing_task SET fence=fence+1, leased_until='2000-01-01 00:00:00.000000' WHERE status_code='EXECUTING'`); err != nil {
					t.Error(err)
				}
			case age > 3*time.Hour && !spoilt:
				spoilt = true
				return s.spoilt(r)
			}
			if looks++; looks%7 == 0 {
				out.look(s.Metrics(t.Context()))
			}
			return nil
		}
		s.oracle.Script(
			sim.Script{Fault: sim.HTTP429, After: 5, Times: 3},
			sim.Script{Fault: sim.RepeatedPage, After: 25, Times: 20},
		)
		stop := s.begin(role.All...)
		time.Sleep(10*time.Hour + 30*time.Minute) // between two triggers: the next plan has something to do
		stop()
		for range 2 { // the same time of the same job
			trigger := harvest.Trigger{Provenance: "generic", Operation: harvest.Harvest, Kind: "SCHEDULED", Scheduler: "cron", JobID: "job", LogID: "1"}
			if _, err := s.Planner.Plan(t.Context(), trigger); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := s.Control.PauseSource(t.Context(), control.HoldOrder{Source: "generic", By: control.By{Actor: "test", Reason: "to see it"}}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		out.look(s.Metrics(t.Context()))
		log.check(t, out.last, s.dsn, "rate lowered", "partition rests", "lease lost")
	})
	log := new(healingLog)
	dsn := patratest.SQLite.SpareDSN(t)
	events := node.EventsFrom("file:" + filepath.Join(t.TempDir(), "events.jsonl") + "#lake")
	rig := patratest.NewRig(t, patratest.RigConfig{DSN: dsn, Node: node.Config{Logger: log.logger(), Events: events}, Sim: sim.Config{Sources: []string{sim.PubMed}, Records: 300, Seed: 3, LimitRPS: -1}})
	relay := rig.Node.Relay()
	if err := relay.Register(t.Context()); err != nil {
		t.Fatal(err)
	}
	rig.Sim.Script(sim.Script{Fault: sim.TotalWrong, After: 3, Times: 12}, sim.Script{Fault: sim.HTTP500, After: 8})
	rig.MustHarvest("pubmed")
	rig.Sim.Advance(48 * time.Hour)
	rig.MustHarvest("pubmed")
	out.t = t
	if _, err := patratest.Raw(t, dsn).Exec(`INSERT INTO ing_outbox_held (target_id, record_id, revision, state_code, attempts, next_at, created_at)
		SELECT t.id, r.id, 1, 'PARKED', 10, r.created_at, r.created_at FROM ing_outbox_target t, ing_record r LIMIT 1`); err != nil {
		t.Fatal(err)
	}
	out.look(rig.Node.Metrics(t.Context())) // nothing was sent yet
	if err := relay.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	out.look(rig.Node.Metrics(t.Context()))
	log.check(t, out.last, dsn, "walk begun again", "slice cut")
	for _, name := range metricsOfThePage(t) {
		if !out.moved[name] {
			t.Errorf("%s never moved", name)
		}
	}
	for metric, words := range map[string][]string{
		"patra_ingest_self_heal_events_total":      {"qpsDownshift", "reslice", "circuitOpen", "itemIsolated"},
		"patra_ingest_items_total":                 {"insert", "update", "skip"},
		"patra_ingest_errors_total":                {"L1", "L3"},
		"patra_ingest_idempotent_hits_total":       {"trigger", "batch"},
		"patra_ingest_cursor_advance_events_total": {"FORWARD"},
		"patra_ingest_http_requests_total":         {"2xx", "4xx", "5xx"},
	} {
		for _, w := range words {
			if !out.moved[metric+" "+w] {
				t.Errorf("%s never moved for %s", metric, w)
			}
		}
	}
	for label, values := range out.labels {
		if len(values) > mostValues {
			t.Errorf("%s has %d values", label, len(values))
		}
	}
	promtool(t, out.last)
}

// metricsOfThePage reads the names of docs/metrics.md, which is made from the code.
func metricsOfThePage(t *testing.T) (names []string) {
	t.Helper()
	page, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(page)) {
		if row, is := strings.CutPrefix(line, "| `"); is {
			name, _, _ := strings.Cut(row, "`")
			names = append(names, name)
		}
	}
	if len(names) < 20 {
		t.Fatalf("the page has only %v", names)
	}
	return names
}

// promtool has Prometheus's own tool look at metrics, where it is installed.
func promtool(t *testing.T, text []byte) {
	t.Helper()
	path, err := exec.LookPath("promtool")
	if err != nil {
		t.Logf("promtool has not looked at the metrics: %v (it comes with Debian's prometheus)", err)
		return
	}
	var ours []string
	for line := range strings.Lines(string(text)) {
		if strings.Contains(line, "patra_") {
			ours = append(ours, line)
		}
	}
	cmd := exec.Command(path, "check", "metrics")
	cmd.Stdin = strings.NewReader(strings.Join(ours, ""))
	said, err := cmd.CombinedOutput()
	if err != nil || len(said) > 0 {
		t.Errorf("promtool check metrics: %v: %s", err, said)
	}
}
