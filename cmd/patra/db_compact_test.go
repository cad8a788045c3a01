package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/patratest"
	"github.com/papertrace/patra/internal/sim"
)

// TestR89_CompactIsOrderedAndTold: an operator sees how what is stored is packed, packs it anew
// with a reason, which the audit keeps, and what is exported stays what it was.
func TestR89_CompactIsOrderedAndTold(t *testing.T) {
	t.Parallel()
	db := "sqlite:" + filepath.Join(t.TempDir(), "a.db")
	_, url := oracle(t, sim.Config{Records: 400, Seed: 3, LimitRPS: -1, Sources: []string{"crossref"}})
	if code, _, e := patra(t, "harvest", "crossref", "--db", db, "--base-url", url+"/crossref"); code != exitDone {
		t.Fatalf("exit %d: %s", code, e)
	}
	_, exported, _ := patra(t, "export", "--raw", "--db", db, "--out", "-")
	if code, out, _ := patra(t, "db", "compact", "--dry-run", "--db", db); code != exitDone || !strings.Contains(out, "packed anew") {
		t.Errorf("exit %d: %s", code, out)
	}
	if code, _, e := patra(t, "db", "compact", "--db", db); code != exitUsage || !strings.Contains(e, "--reason") {
		t.Errorf("exit %d: %s", code, e)
	}
	code, out, e := patra(t, "db", "compact", "--reason", "disk", "--json", "--db", db)
	var done control.Compacted
	if err := json.Unmarshal([]byte(out), &done); err != nil || code != exitDone || done.Packed < 300 || done.Now*2 > done.Before || !done.Done {
		t.Errorf("exit %d, %v: %s %s", code, err, out, e)
	}
	if _, again, _ := patra(t, "export", "--raw", "--db", db, "--out", "-"); again != exported {
		t.Error("what is exported is not what it was")
	}
	if code, out, e := patra(t, "verify", "--deep", "--db", db); code != exitDone {
		t.Errorf("exit %d: %s %s", code, out, e)
	}
	raw := patratest.Raw(t, db)
	var lines int
	if err := raw.QueryRow(`SELECT COUNT(*) FROM sys_audit WHERE action_code='COMPACT' AND reason='disk'`).Scan(&lines); err != nil || lines != 2 {
		t.Errorf("%d lines of the audit, %v", lines, err)
	}
}
