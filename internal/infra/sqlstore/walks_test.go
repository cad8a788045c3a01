package sqlstore_test

import (
	"fmt"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// boundedWalks: of a source that bounds them no more tasks are in hand than it
// says, over all processes that work on an operation; other sources and other
// people's operations are not kept from theirs.
func boundedWalks(l *Lab) {
	bounded, free := labSource("bounded"), labSource("free")
	d := Draft(bounded, 0, 6)
	d.MaxWalks = 2
	l.Save(d)
	d = Draft(harvest.ActivityNamespace("bounded", harvest.Backfill, "updated", "b1"), 0, 6)
	d.MaxWalks = 2
	l.Save(d)
	l.save(free, 0, 6)
	gone := func(string) bool { return false }
	take := func(owner string, r harvest.LeaseRequest) string {
		r.Owner = owner
		r.TTL = ttl
		r.SpecVersion = 1
		r.Max = max(r.Max, 1)
		r.Gone = func(o string) bool { return gone(o) }
		jobs, err := l.Store.LeaseTasks(l.ctx(), r)
		if err != nil {
			l.Fatalf("lease: %v", err)
		}
		n := map[string]int{}
		for _, j := range jobs {
			n[j.Provenance+" "+string(j.Operation)]++
		}
		return fmt.Sprint(n)
	}
	of := func(owner string, op harvest.Operation, most int) string {
		return take(owner, harvest.LeaseRequest{Provenance: "bounded", Operation: op, Max: most})
	}
	want := func(what, got, want string) {
		l.Helper()
		if got != want {
			l.Errorf("%s: took %s, want %s", what, got, want)
		}
	}
	want("all at once", of("a", harvest.Harvest, 9), "map[bounded HARVEST:2]")
	want("one more", of("a", harvest.Harvest, 1), "map[]")
	want("another process", of("b", harvest.Harvest, 1), "map[]")
	want("another operation by who holds two", of("a", harvest.Backfill, 1), "map[]")
	want("another operation alone", of("c", harvest.Backfill, 9), "map[bounded BACKFILL:2]")
	want("another source", take("a", harvest.LeaseRequest{Max: 9}), "map[free HARVEST:6]")

	// An owner that is known to have ended is not waited for.
	gone = func(owner string) bool { return owner == "a" }
	want("after a has ended", of("b", harvest.Harvest, 9), "map[bounded HARVEST:2]")
	gone = func(string) bool { return false }

	// One that has not renewed its leases in time is not waited for either.
	now, err := l.Store.Now(l.ctx())
	if err != nil {
		l.Fatal(err)
	}
	l.Exec(`UPDATE ing_task SET leased_until=? WHERE provenance_code='bounded' AND operation_code='HARVEST' AND status_code='DISPATCHED'`, sqlTime(now.Add(ttl/2-time.Second)))
	want("after no renewal", of("d", harvest.Harvest, 9), "map[bounded HARVEST:2]")

	// The newest plan says how many there may be.
	d = Draft(bounded, 6, 7)
	d.MaxWalks = 0
	l.Save(d)
	want("without a bound", of("d", harvest.Harvest, 9), "map[bounded HARVEST:1]")
}
