package node_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/papertrace/patra/internal/patratest"
)

// healingLog keeps what a node logs on an ordinary day.
type healingLog struct{ text bytes.Buffer }

func (l *healingLog) logger() *slog.Logger {
	return slog.New(slog.NewJSONHandler(&syncWriter{w: &l.text}, &slog.HandlerOptions{Level: slog.LevelInfo}))
}

// healing says by which line of the log, and by which metric, each thing is known that
// patra does by itself about trouble.
var healing = map[string]string{
	"rate lowered":     `patra_ingest_self_heal_events_total{type="qpsDownshift"}`,
	"slice cut":        `patra_ingest_self_heal_events_total{type="reslice"}`,
	"partition rests":  `patra_ingest_self_heal_events_total{type="circuitOpen"}`,
	"walk begun again": `patra_ingest_walk_restarts_total`,
	"lease lost":       `patra_ingest_idempotent_hits_total`,
}

// check fails the test unless everything that patra did about trouble is in the log as
// often as in the metrics, each time with the correlation id of a page that leads to its
// plan, or of a planner's count, and some things were done.
func (l *healingLog) check(t *testing.T, metrics []byte, dsn string, done ...string) {
	t.Helper()
	db := patratest.Raw(t, dsn)
	logged := map[string]int{}
	for line := range strings.Lines(l.text.String()) {
		var said struct{ Msg, Correlation string }
		if err := json.Unmarshal([]byte(line), &said); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if healing[said.Msg] == "" {
			continue
		}
		logged[said.Msg]++
		if said.Correlation == "ing-plan" {
			continue
		}
		var run, page, plans int
		if _, err := fmt.Sscanf(said.Correlation, "ing-%d-%d", &run, &page); err != nil {
			t.Errorf("nothing leads from here to a page: %s", line)
			continue
		}
		err := db.QueryRow(`SELECT COUNT(*) FROM ing_task_run r JOIN ing_task t ON t.id=r.task_id JOIN ing_plan p ON p.id=t.plan_id WHERE r.id=?`, run).Scan(&plans)
		if err != nil || plans != 1 {
			t.Errorf("no plan is found by %s: %v", said.Correlation, err)
		}
	}
	for msg, metric := range healing {
		if counted := sumOf(t, metrics, metric); counted != logged[msg] {
			t.Errorf("%q is logged %d times, and counted %d times by %s", msg, logged[msg], counted, metric)
		}
	}
	for _, msg := range done {
		if logged[msg] == 0 {
			t.Errorf("%q never happened", msg)
		}
	}
}

// sumOf sums the samples of a metric whose line begins so; of what was asked for twice
// those that are about batches.
func sumOf(t *testing.T, metrics []byte, begins string) (sum int) {
	t.Helper()
	for line := range strings.Lines(string(metrics)) {
		if !strings.HasPrefix(line, begins) || strings.Contains(line, `kind="trigger"`) {
			continue
		}
		var n int
		if _, err := fmt.Sscan(line[strings.LastIndex(line, " "):], &n); err != nil {
			t.Fatal(line, err)
		}
		sum += n
	}
	return sum
}
