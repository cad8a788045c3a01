package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/papertrace/patra/internal/sim"
)

// TestCoverage_TellsWhatComesLate: unknown with a reason until something has
// looked back, then a share, in both forms (R11).
func TestCoverage_TellsWhatComesLate(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.db")
	db := "sqlite:" + path
	_, base := oracle(t, sim.Config{Records: 50, LimitRPS: -1, Sources: []string{"crossref"}})
	if code, _, errOut := patra(t, "harvest", "crossref", "--db", db, "--base-url", base+"/crossref"); code != 0 {
		t.Fatalf("exit %d: %s", code, errOut)
	}
	see := func() (text string, rate *float64, reason string) {
		t.Helper()
		_, text, _ = patra(t, "coverage", "crossref", "--db", db)
		_, out, _ := patra(t, "coverage", "crossref", "--db", db, "--json")
		var v struct {
			Namespaces []map[string]json.RawMessage
		}
		if err := json.Unmarshal([]byte(out), &v); err != nil || len(v.Namespaces) != 1 {
			t.Fatalf("%s, %v", out, err)
		}
		ns := v.Namespaces[0]
		if _, ok := ns["late_rate"]; !ok {
			t.Fatalf("no late_rate in %s", out)
		}
		if err := json.Unmarshal(ns["late_rate"], &rate); err != nil {
			t.Fatal(err)
		}
		if r, ok := ns["late_rate_reason"]; ok {
			if err := json.Unmarshal(r, &reason); err != nil {
				t.Fatal(err)
			}
		}
		return text, rate, reason
	}
	if text, rate, reason := see(); rate != nil || !strings.Contains(reason, "looked back") || !strings.Contains(text, "late     unknown: neither an overlap nor a sentinel") {
		t.Errorf("%s\n%v %q", text, rate, reason)
	}
	sqlite(t, path, "UPDATE ing_task_run_batch SET late=1, fresh=80 WHERE id=1")
	if text, rate, reason := see(); rate == nil || *rate <= 0 || reason != "" || !strings.Contains(text, " % of the new versions of 7 days") {
		t.Errorf("%s\n%v %q", text, rate, reason)
	}
}

// TestUpdate_IsShownInNumbers: an UPDATE counts candidates, and whatever shows
// one shows the numbers, never the instants they are kept as.
func TestUpdate_IsShownInNumbers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "a.db")
	_, url := oracle(t, sim.Config{Records: 60, LimitRPS: -1, Sources: []string{"crossref"}, Churn: &sim.Churn{}})
	common := []string{"--db", "sqlite:" + path}
	run := func(want int, args ...string) string {
		t.Helper()
		code, out, e := patra(t, append(args, common...)...)
		if code != want || strings.Contains(out+e, "1970-") {
			t.Errorf("patra %v: exit %d: %s%s", args, code, out, e)
		}
		return out
	}
	run(0, "harvest", "crossref", "--base-url", url+"/crossref")
	var list strings.Builder
	for _, e := range exported(t, "sqlite:"+path, "crossref")[:30] {
		list.WriteString(e.ID + "\n")
	}
	file := filepath.Join(dir, "ids.txt")
	if err := os.WriteFile(file, []byte(list.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	run(0, "refresh", "crossref", "--base-url", url+"/crossref", "--ids", file)
	// As if its last ten had not been cut yet, and the rest had failed.
	for _, q := range []string{
		`UPDATE ing_plan SET status_code='PARTIAL', sliced_to='1970-01-01 00:00:00.000020' WHERE operation_code='UPDATE'`,
		`UPDATE ing_plan_slice SET status_code='FAILED', reason='planted', window_to='1970-01-01 00:00:00.000020' WHERE plan_id=2`,
		`UPDATE ing_task SET status_code='FAILED' WHERE plan_id=2`,
		`UPDATE ing_cursor SET cursor_value='0', normalized_instant='1970-01-01 00:00:00.000000' WHERE operation_code='UPDATE'`,
	} {
		sqlite(t, path, q)
	}
	const ends = `"from":"0","to":"20"`
	for _, c := range []struct {
		args []string
		text string
		json []string
	}{
		{[]string{"coverage", "crossref"}, "failed   records 0 to 20", []string{`"init":"0","watermark":"0"`, ends, `"from":"20","to":"30"`}},
		{[]string{"plan", "list"}, "records 0 to 30", []string{`"from":"0","to":"30","sliced_to":"20"`}},
		{[]string{"plan", "show", "2"}, "up to 20; the next trigger goes on", []string{`"from":"0","to":"30","sliced_to":"20"`, ends}},
		{[]string{"plan", "gaps", "crossref"}, "records 0 to 20", []string{ends}},
		{[]string{"cursor", "list"}, "UPDATE", []string{`"value":"0"`}},
		{[]string{"cursor", "show", "2"}, "records 0 to 20", []string{ends}},
		{[]string{"cursor", "events", "2"}, "records 0 to 20", []string{ends}},
		{[]string{"plan", "retry", "crossref", "--dry-run", "--reason", "x"}, "records 0 to 20", []string{ends}},
		{[]string{"cursor", "skip", "2", "--to", "20", "--dry-run", "--reason", "x"}, "would not be read: records 0 to 20 planted", []string{ends}},
		{[]string{"cursor", "skip", "2", "--to", "19", "--dry-run", "--reason", "x"}, "no gap ends by 19; it is proven to 0", []string{`"gaps":[]`}},
	} {
		if out := run(0, c.args...); !strings.Contains(out, c.text) {
			t.Errorf("%v does not say %q:\n%s", c.args, c.text, out)
		}
		out := run(0, append(c.args, "--json")...)
		for _, want := range c.json {
			if !strings.Contains(out, want) {
				t.Errorf("%v --json does not hold %s:\n%s", c.args, want, out)
			}
		}
	}
	run(exitUsage, "cursor", "skip", "2", "--to", "2026-01-01", "--reason", "x")
	if out := run(0, "plan", "accept-gap", "2", "--reason", "x", "--json"); !strings.Contains(out, `"watermark":"20"`) {
		t.Errorf("accept-gap says %s", out)
	}
}
