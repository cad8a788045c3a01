package main

import (
	"testing"

	"github.com/papertrace/patra/internal/sim"
)

// TestHarvest_LinksWhatItBrought: after a harvest no record waits to be compared with
// others.
func TestHarvest_LinksWhatItBrought(t *testing.T) {
	t.Parallel()
	d := newDesk(t, sim.Config{Records: 40, Seed: 3})
	d.must(0, "db", "migrate")
	d.must(0, "harvest", "mini")
	if n := d.int(`SELECT COUNT(*) FROM ing_record`); n != 40 {
		t.Fatalf("%d records", n)
	}
	if v := d.object(0, "work", "link", "--dry-run"); v["records"] != 0.0 {
		t.Errorf("records wait to be linked: %v", v)
	}
	if n := d.int(`SELECT COUNT(*) FROM ing_work_queue`); n != 0 {
		t.Errorf("%d pages wait to be linked", n)
	}
}
