package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/papertrace/patra/internal/sim"
)

// TestCoverage_TellsWhatComesLate: unknown with a reason until something has
// looked back, then a share, in both forms (R11).
func TestCoverage_TellsWhatComesLate(t *testing.T) {
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
