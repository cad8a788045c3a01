package node_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/app/executor"
	"github.com/papertrace/patra/internal/app/registry"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/domain/trace"
	"github.com/papertrace/patra/internal/infra/telemetry"
	"github.com/papertrace/patra/internal/node"
	"github.com/papertrace/patra/internal/patratest"
	"github.com/papertrace/patra/internal/sim"
	collected "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	wire "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// collector takes spans as any collector of OpenTelemetry does.
type collector struct {
	t *testing.T

	mu      sync.Mutex
	spans   []*wire.Span // guarded by mu
	bytes   []byte       // guarded by mu; all that was sent, as it was sent
	service map[string]int
}

// settings have spans sent to the collector, without a network.
func (c *collector) settings() telemetry.Collector {
	return telemetry.Collector{URL: "http://collector.test/v1/traces", Transport: patratest.Direct{Handler: c}}
}

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		c.t.Error(err)
	}
	var got collected.ExportTraceServiceRequest
	if err := proto.Unmarshal(body, &got); err != nil {
		c.t.Errorf("spans that cannot be read: %v", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.service == nil {
		c.service = map[string]int{}
	}
	c.bytes = append(c.bytes, body...)
	for _, of := range got.ResourceSpans {
		for _, a := range of.Resource.Attributes {
			c.service[a.Key+"="+a.Value.GetStringValue()]++
		}
		for _, scope := range of.ScopeSpans {
			c.spans = append(c.spans, scope.Spans...)
		}
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
}

// lookFor closes a node, and fails the test if what it told the collector holds a secret.
func (c *collector) lookFor(n *node.Node, secrets []string) {
	c.t.Helper()
	if err := n.Close(); err != nil {
		c.t.Error(err)
	}
	if len(c.spans) == 0 {
		c.t.Error("no span was sent")
	}
	lookFor(c.t, "the spans", c.bytes, secrets)
}

// about is what a span says under a key, as text.
func about(s *wire.Span, key string) string {
	for _, a := range s.Attributes {
		if a.Key == key {
			if text := a.Value.GetStringValue(); text != "" {
				return text
			}
			return fmt.Sprint(a.Value.GetIntValue())
		}
	}
	return ""
}

// runAll works on the tasks of a source until none is left.
func runAll(t *testing.T, n *node.Node, code string) {
	t.Helper()
	err := n.Executor(executor.Config{Idle: func(ctx context.Context, _ int) (bool, error) {
		open, err := n.Store.OpenSlices(ctx, code, harvest.Harvest)
		return open == 0, err
	}}).Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
}

// TestTraces_OneHarvestIsOneTree: one process plans what a caller asks for, another does
// the work, with pages that fail and slices that are cut; a collector gets all of it as
// one tree beneath the caller's span, as large as what the store has kept.
func TestTraces_OneHarvestIsOneTree(t *testing.T) {
	t.Parallel()
	sent := &collector{t: t}
	oracle, err := sim.New(sim.Config{Sources: []string{sim.PubMed}, Records: 300, Seed: 3, LimitRPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	oracle.Script(sim.Script{Fault: sim.TotalWrong, After: 12, Times: 40}, sim.Script{Fault: sim.HTTP500, After: 70})
	small := func(s *source.Spec) {
		patratest.Fast(s)
		s.Paging.Size = 10
		s.Batching.IDs = 20
		s.Window.Target = 100
	}
	c := patratest.RigConfig{
		DSN: patratest.SQLite.SpareDSN(t), Oracle: oracle, Packs: map[string]registry.Pack{"pubmed": patratest.ShippedPack(t, "pubmed", small)},
		Node: node.Config{Traces: sent.settings(), Poll: time.Millisecond, Workers: 1},
	}
	plans := patratest.NewRig(t, c)
	works := patratest.NewRig(t, c)
	const tree, caller = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
	planned, err := plans.Node.Planner.Plan(t.Context(), harvest.Trigger{
		Provenance: "pubmed", Operation: harvest.Harvest, Kind: harvest.TriggerAPI, BaseURL: plans.BaseOf("pubmed"),
		From: oracle.Now().AddDate(-2, 0, 0), Trace: "00-" + tree + "-" + caller + "-01",
	})
	if err != nil || planned.Plan.ID == 0 {
		t.Fatal(planned, err)
	}
	runAll(t, works.Node, "pubmed")
	patratest.MustVerify(t, works.Node.Store)
	want := map[string]int{}
	db := patratest.Raw(t, c.DSN)
	for name, query := range map[string]string{
		trace.PlannerTrigger: `SELECT COUNT(*) FROM ing_plan`,
		trace.Slice:          `SELECT COUNT(*) FROM ing_plan_slice`,
		trace.Run:            `SELECT COUNT(*) FROM ing_task_run`,
		trace.Batch:          `SELECT COUNT(*) FROM ing_task_run_batch WHERE status_code<>'SKIPPED'`,
		trace.Commit:         `SELECT COUNT(*) FROM ing_task_run_batch WHERE status_code='SUCCEEDED'`,
		"cut off another":    `SELECT COUNT(*) FROM ing_plan_slice WHERE parent_id IS NOT NULL`,
		"failed":             `SELECT COUNT(*) FROM ing_task_run_batch WHERE status_code='FAILED'`,
	} {
		var n int
		if err := db.QueryRow(query).Scan(&n); err != nil {
			t.Fatal(err)
		}
		want[name] = n
	}
	if err := errors.Join(plans.Node.Close(), works.Node.Close()); err != nil {
		t.Fatal(err)
	}
	if want["cut off another"] == 0 || want["failed"] == 0 {
		t.Fatalf("too little happened: %v", want)
	}
	spans := readTree(t, sent.spans, tree, caller)
	got := spans.count()
	for _, s := range spans {
		if parent := spans[string(s.ParentSpanId)]; s.Name == trace.Slice && parent != nil && parent.Name == trace.Run {
			got["cut off another"]++
		}
	}
	for name, n := range want {
		if got[name] != n {
			t.Errorf("%d spans of %s, the store has %d", got[name], name, n)
		}
	}
	if requests := int(oracle.Stats().Sources["pubmed"].Requests); got[trace.HTTPCall] != requests {
		t.Errorf("%d spans of requests, the oracle was sent %d", got[trace.HTTPCall], requests)
	}
	if sent.service["service.name=patra"] == 0 {
		t.Errorf("whose spans these are is not told: %v", sent.service)
	}
	spans.checkBeneath(t)
	spans.checkWords(t)
	if strings.Contains(string(sent.bytes), "test@example.org") {
		t.Error("the contact is in the spans")
	}
}

// spanTree are the spans of one tree by their ids.
type spanTree map[string]*wire.Span

// readTree reads spans that must be one tree beneath a span that is none of ours.
func readTree(t *testing.T, spans []*wire.Span, id, caller string) spanTree {
	t.Helper()
	all := spanTree{}
	for _, s := range spans {
		if got := fmt.Sprintf("%x", s.TraceId); got != id {
			t.Errorf("%s is in the tree %s", s.Name, got)
		}
		if all[string(s.SpanId)] != nil {
			t.Errorf("two spans have the id %x: %s and %s", s.SpanId, s.Name, all[string(s.SpanId)].Name)
		}
		all[string(s.SpanId)] = s
	}
	roots := 0
	for _, s := range spans {
		switch {
		case fmt.Sprintf("%x", s.ParentSpanId) == caller:
			roots++
		case all[string(s.ParentSpanId)] == nil:
			t.Errorf("%s is beneath %x, which is missing", s.Name, s.ParentSpanId)
		}
	}
	if roots != 1 {
		t.Errorf("%d roots", roots)
	}
	return all
}

// count counts spans by name, and the pages among them that failed.
func (all spanTree) count() map[string]int {
	n := map[string]int{}
	for _, s := range all {
		n[s.Name]++
		if s.Name == trace.Batch && s.Status.GetCode() == wire.Status_STATUS_CODE_ERROR {
			n["failed"]++
		}
	}
	return n
}

// checkBeneath fails the test if a span stands where none of its kind belongs.
func (all spanTree) checkBeneath(t *testing.T) {
	t.Helper()
	may := map[string][]string{
		trace.CompileSpec: {trace.PlannerTrigger},
		trace.Slice:       {trace.PlannerTrigger, trace.Run},
		trace.Run:         {trace.Slice},
		trace.PickTask:    {trace.Run},
		trace.Batch:       {trace.Run},
		trace.Commit:      {trace.Batch},
		trace.Permit:      {trace.PlannerTrigger, trace.Batch, trace.Run},
		trace.HTTPCall:    {trace.PlannerTrigger, trace.Batch, trace.Run},
		trace.Decode:      {trace.PlannerTrigger, trace.Batch, trace.Run},
	}
	seen := map[string]bool{}
	for _, s := range all {
		parent := all[string(s.ParentSpanId)]
		if parent == nil {
			continue
		}
		seen[s.Name] = true
		if !slices.Contains(may[s.Name], parent.Name) {
			t.Errorf("%s is beneath %s", s.Name, parent.Name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(may)) {
		if !seen[name] {
			t.Errorf("no span %s", name)
		}
	}
}

// checkWords fails the test if a span does not say what it belongs to.
func (all spanTree) checkWords(t *testing.T) {
	t.Helper()
	lineage := []string{trace.Source, trace.Endpoint, trace.Operation, trace.Priority, trace.Instance, trace.Plan, trace.SliceID, trace.Task}
	says := map[string][]string{
		trace.PlannerTrigger: {trace.Source, trace.Operation, trace.Priority, trace.Trigger, trace.Outcome, trace.Plan},
		trace.Slice:          {trace.Source, trace.Priority, trace.Plan, trace.Window},
		trace.Run:            append(lineage, trace.RunID, trace.Attempt),
		trace.Batch:          append(lineage, trace.RunID, trace.BatchID, trace.Correlation, trace.Phase, trace.Page),
		trace.Commit:         append(lineage, trace.RunID, trace.BatchID, trace.Correlation),
		trace.HTTPCall:       {trace.Source, trace.Endpoint, trace.Priority, trace.Correlation, trace.Purpose, trace.Method, trace.Server, trace.Status},
	}
	for _, s := range all {
		for _, key := range says[s.Name] {
			if about(s, key) == "" {
				t.Errorf("%s does not say %s: %v", s.Name, key, s.Attributes)
			}
		}
		if turn := about(s, trace.Priority); turn != "" && turn != fmt.Sprint(harvest.Harvest.Priority()) {
			t.Errorf("the priority of %s of a HARVEST is %s", s.Name, turn)
		}
		if s.Name == trace.Batch {
			if id := about(s, trace.Correlation); !strings.HasPrefix(id, "ing-"+about(s, trace.RunID)+"-") {
				t.Errorf("a page of run %s is told as %s", about(s, trace.RunID), id)
			}
		}
		if failed := s.Status.GetCode() == wire.Status_STATUS_CODE_ERROR; failed != (about(s, trace.Cause) != "") {
			t.Errorf("%s failed %v for %q", s.Name, failed, about(s, trace.Cause))
		}
	}
}

// silent is a collector that never answers.
type silent struct{}

func (silent) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// TestTraces_ASilentCollectorStopsNothing: a harvest whose spans nobody takes is as long
// as one that sends none, and its end waits a few seconds and no longer.
func TestTraces_ASilentCollectorStopsNothing(t *testing.T) {
	t.Parallel()
	dsn := []string{patratest.SQLite.SpareDSN(t), patratest.SQLite.DSN(t)}
	servedBubble(t, func(t *testing.T) {
		var took [2]time.Duration
		for i, traces := range []telemetry.Collector{{}, {URL: "http://collector.test/v1/traces", Transport: silent{}}} {
			r := patratest.NewRig(t, patratest.RigConfig{DSN: dsn[i], Node: node.Config{Traces: traces}, Sim: sim.Config{Sources: []string{sim.PubMed}, Records: 300, Seed: 5}})
			began := time.Now()
			r.MustBeExact("pubmed", r.MustHarvest("pubmed"))
			took[i] = time.Since(began)
			began = time.Now()
			if err := r.Node.Close(); err != nil {
				t.Fatal(err)
			}
			if waited := time.Since(began); waited > 6*time.Second {
				t.Errorf("the end waited %v", waited)
			}
		}
		if took[1] > took[0]+time.Second {
			t.Errorf("%v without traces, %v with", took[0], took[1])
		}
		time.Sleep(10 * time.Minute) // what is left of the queue is tried in vain, and dropped
	})
}
