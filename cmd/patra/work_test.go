package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/papertrace/patra/internal/patratest"
	"github.com/papertrace/patra/internal/sim"
)

// TestWork_FromTheQueueToAPage: the work in flight is told in words and as JSON, in
// pages, and each thing says what to do next.
func TestWork_FromTheQueueToAPage(t *testing.T) {
	t.Parallel()
	d := newDesk(t, sim.Config{Records: 200, Seed: 3})
	d.must(0, "db", "migrate")
	out, _ := d.must(0, "queue", "show")
	says(t, out, "nothing waits and nothing runs")
	out, _ = d.must(0, "rate", "show")
	says(t, out, "nothing was planned yet")
	d.must(0, "plan", "create", "mini")
	out, _ = d.must(0, "queue", "show", "mini")
	says(t, out, "SOURCE", "CAUSE", "WAITS FOR", "mini")
	d.must(0, "source", "pause", "mini", "--reason", "lunch")
	out, _ = d.must(0, "task", "list", "--source", "mini", "--state", "queued")
	says(t, out, "QUEUED", "somebody paused the source (source_paused)")
	ids, next := d.must(0, "task", "list", "-q", "--limit", "1", "--source", "mini")
	says(t, next, "next: patra task list --source mini --limit 1 --quiet --after ")
	out, _ = d.must(0, "task", "why", strings.TrimSpace(ids))
	says(t, out, "is QUEUED. It waits: somebody paused the source.", "next: patra source resume mini --reason TEXT")
	d.must(0, "source", "resume", "mini", "--reason", "lunch is over")
	d.must(0, "harvest", "mini")
	d.clean()

	run, _ := d.must(0, "run", "list", "-q", "--limit", "1", "--state", "SUCCEEDED")
	run = strings.TrimSpace(run)
	out, _ = d.must(0, "run", "show", run)
	says(t, out, "why       It read its slice to a proven end.", "WAIT MS", run+"/1")
	out, _ = d.must(0, "run", "why", run)
	says(t, out, "is SUCCEEDED.", "next: nothing")
	out, _ = d.must(0, "batch", "show", run+"/1")
	says(t, out, "correlation id ing-"+run+"-1", "request   ", "http      200")
	if v := d.object(0, "batch", "show", run+"/1"); v["correlation_id"] != "ing-"+run+"-1" {
		t.Errorf("%v", v)
	}
	for args, code := range map[string]string{
		"batch show x": "usage", "batch show 1/0": "usage", "batch show 999/1": "not_found", "task show 999": "not_found", "run show 999": "not_found",
		"task list --state NONE": "usage", "task list --after x": "bad_page", "rate lower mini --to 1": "usage",
	} {
		_, _, said := d.run(strings.Fields(args)...)
		if !strings.Contains(said, "["+code+"]") {
			t.Errorf("%s: %s", args, said)
		}
	}

	_, e := d.must(0, "rate", "lower", "mini", "--to", "0.5", "--for", "2h", "--dry-run")
	_, token, _ := strings.Cut(e, "--apply ")
	token, _, _ = strings.Cut(token, " ")
	out, _ = d.must(0, "rate", "lower", "mini", "--to", "0.5", "--for", "2h", "--apply", token, "--reason", "they asked")
	says(t, out, "is 0.5 a second of", "until ")
	out, _ = d.must(0, "rate", "show", "mini")
	says(t, out, "a person lowered it to 0.5 a second until")
	out, _ = d.must(0, "rate", "lower", "mini", "--lift", "--reason", "well again")
	says(t, out, "mini")
}

// TestGaps_AreFolded: gaps that failed alike stand in one line, each is still named by
// -q, and the list comes in pages.
func TestGaps_AreFolded(t *testing.T) {
	t.Parallel()
	d := newDesk(t, sim.Config{Records: 200, Seed: 3})
	d.must(0, "plan", "create", "mini")
	db := patratest.Raw(t, "sqlite:"+d.file)
	if _, err := db.ExecContext(t.Context(), `UPDATE ing_plan_slice SET status_code='FAILED', reason='http_503: no'`); err != nil {
		t.Fatal(err)
	}
	ids, _ := d.must(0, "plan", "gaps", "mini", "-q")
	n := strings.Count(ids, "\n")
	if n < 3 {
		t.Fatalf("%d gaps", n)
	}
	out, _ := d.must(0, "plan", "gaps", "mini")
	says(t, out, fmt.Sprintf("and %d more, same reason", n-1))
	if lines := strings.Count(out, "\n"); lines != 3 {
		t.Errorf("%d lines:\n%s", lines, out)
	}
	_, e := d.must(0, "plan", "gaps", "mini", "--limit", "2")
	says(t, e, "there are more: patra plan gaps mini --limit 2 --after 2")
	list := d.object(0, "plan", "gaps", "mini", "--limit", "2", "--after", "2")["gaps"].([]any)
	if list[0].(map[string]any)["slice"] != 3.0 {
		t.Errorf("%v", list)
	}
}
