package node_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/node"
	"github.com/papertrace/patra/internal/patratest"
	"github.com/papertrace/patra/internal/sim"
)

// TestM20_LineageOnEveryLine: every line of the log about the work on a task leads to
// its trigger, plan, slice, task and run, those about a page to that too, under the
// name that its request carried. Of the pages one in a hundred is told of, all of
// them to who debugs.
func TestM20_LineageOnEveryLine(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	logger := slog.New(slog.NewJSONHandler(&syncWriter{w: &out}, &slog.HandlerOptions{Level: slog.LevelDebug}))
	r := patratest.NewRig(t, patratest.RigConfig{
		DSN: patratest.SQLite.SpareDSN(t), Sim: sim.Config{Sources: []string{sim.PubMed}, Records: 300, Seed: 3, LimitRPS: -1}, Node: node.Config{Logger: logger},
	})
	r.Sim.Script(sim.Script{Fault: sim.TotalWrong, After: 3, Times: 12}, sim.Script{Fault: sim.HTTP500, After: 8})
	r.MustHarvest("pubmed")
	r.Sim.Advance(48 * time.Hour)
	rep := r.MustHarvest("pubmed")
	said := map[string]int{}
	told := 0
	for line := range bytes.Lines(out.Bytes()) {
		var v map[string]any
		if err := json.Unmarshal(line, &v); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		message := v["msg"].(string)
		said[message]++
		var needs []string
		switch {
		case v["component"] == "executor":
			needs = []string{"source", "endpoint", "operation", "instance", "plan", "slice", "task", "run"}
		case message == "request failed":
			needs = []string{"source", "correlation"}
		}
		if message == "page stored" || message == "slice done" || message == "slice cut" || message == "walk begun again" {
			needs = append(needs, "batch", "correlation")
		}
		for _, key := range needs {
			if v[key] == nil || v[key] == "" || v[key] == 0.0 {
				t.Errorf("no %s in %s", key, line)
			}
		}
		if message != "page stored" {
			continue
		}
		isTold := v["level"] == "INFO"
		if isTold {
			told++
		}
		if isTold != (int(v["batch"].(float64))%100 == 0) {
			t.Errorf("one in a hundred is told of: %s", line)
		}
		var no int
		var run float64
		if _, err := fmt.Sscanf(v["correlation"].(string), "ing-%f-%d", &run, &no); err != nil || run != v["run"] || no < 1 {
			t.Errorf("%v: %s", err, line)
		}
	}
	for _, message := range []string{"task taken", "page stored", "walk begun again", "slice cut", "slice done", "request failed"} {
		if said[message] == 0 {
			t.Errorf("nothing says %q: %v", message, said)
		}
	}
	t.Logf("%d requests, %v, %d pages told of", rep.Requests.Sent, said, told)
}
