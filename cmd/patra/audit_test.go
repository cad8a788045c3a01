package main

import (
	"strings"
	"testing"

	"github.com/papertrace/patra/internal/sim"
)

// TestM21_EveryChangeIsAudited: a plan made by hand leaves a line, a change without
// a reason names its command, a preview leaves none, and the list shows what
// people did.
func TestM21_EveryChangeIsAudited(t *testing.T) {
	d := newDesk(t, sim.Config{Records: 100, Seed: 3})
	d.must(0, "source", "list")
	d.must(0, "plan", "create", "mini", "--dry-run")
	if n := d.int(`SELECT COUNT(*) FROM sys_audit WHERE action_code LIKE 'PICK%'`); n != 0 {
		t.Errorf("%d lines about picks of a preview", n)
	}
	d.must(0, "plan", "create", "mini")
	out, _ := d.must(0, "audit", "list")
	says(t, out, "PLAN_CREATE", "plan/1", "patra plan create mini")
	if strings.Contains(out, "PICK_") {
		t.Errorf("picks bury what people did:\n%s", out)
	}
	out, _ = d.must(0, "audit", "list", "--all")
	says(t, out, "PICK_DEFAULT")
	d.must(0, "plan", "cancel", "1", "--reason", "x")
	d.must(0, "plan", "create", "mini", "--reason", "again, with all of it")
	out, _ = d.must(0, "audit", "list", "--object", "plan/2")
	says(t, out, "PLAN_CREATE", "again, with all of it")
}
