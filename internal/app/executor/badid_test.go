package executor_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/source"
)

const victim = "g-00000077"

// tamper changes the ids of requests for details before they are answered, and
// remembers what was asked for.
type tamper struct {
	b      *bench
	change func(n int, ids []string) []string // n counts the requests for the victim

	mu     sync.Mutex
	n      int
	asked  []string // guarded by mu
	proven int      // slices DONE while details were asked for
}

func (m *tamper) on(r *http.Request) {
	if !detail(r) {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	ids := strings.Split(r.Form.Get("ids"), ",")
	m.asked = append(m.asked, ids...)
	m.proven += m.b.ask(`SELECT COUNT(*) FROM ing_plan_slice WHERE status_code='DONE'`)
	if m.change != nil && slices.Contains(ids, victim) {
		m.n++
		r.Form.Set("ids", strings.Join(m.change(m.n, ids), ","))
	}
}

// drop leaves the victim out of the first times requests.
func drop(times int) func(int, []string) []string {
	return func(n int, ids []string) []string {
		if n > times {
			return ids
		}
		return slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return id == victim })
	}
}

// swap answers with another record in the victim's place the first times.
func swap(times int) func(int, []string) []string {
	return func(n int, ids []string) []string {
		ids = slices.Clone(ids)
		if n <= times {
			ids[slices.Index(ids, victim)] = "g-00000078"
		}
		return ids
	}
}

const always = 1 << 30

// newTampered is a bench of 230 records in one slice, its details in pages of
// 200, over an oracle whose clock stands well behind the store's.
func newTampered(t *testing.T, s setup, change func(int, []string) []string) (*bench, *tamper) {
	t.Helper()
	m := manners["two-phase"]
	m.target = 500
	s.sim.Records, s.sim.Now = 230, time.Now().Add(-30*24*time.Hour).Truncate(time.Hour)
	s.tweak = func(spec *source.Spec) { spec.Batching.IDs, spec.Paging.Size = 200, 100 }
	b := newBench(t, m, s)
	w := &tamper{b: b, change: change}
	b.Sim.SetOnRequest(w.on)
	return b, w
}

// TestR27_OneOf200IsLateWrongOrMissing: the others are stored, the one is stored
// or on the list of bad ids, and only then is the slice done.
func TestR27_OneOf200IsLateWrongOrMissing(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		change func(int, []string) []string
		bad    bool
	}{
		{"late", drop(1), false},
		{"later", drop(2), false},
		{"wrong", swap(1), false},
		{"always wrong", swap(always), true},
		{"missing", drop(always), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			engines(t, func(t *testing.T, s setup) {
				b, w := newTampered(t, s, c.change)
				rep := b.MustHarvest("generic")
				if rep.Status != "COMPLETED" || rep.Slices.Done != 1 || w.proven != 0 {
					t.Errorf("%s, %+v; done %d times before every id was answered for", rep.Status, rep.Slices, w.proven)
				}
				want := 0
				if c.bad {
					want = 1
				}
				if n := b.ask(`SELECT COUNT(*) FROM ing_bad_id WHERE ext_id=? AND times=1`, victim); n != want || b.ask(`SELECT COUNT(*) FROM ing_bad_id`) != want || rep.BadIDs != int64(want) {
					t.Errorf("listed %d times, want %d; the report says %d", n, want, rep.BadIDs)
				}
				if n, v := b.ask(`SELECT COUNT(*) FROM ing_record`), b.ask(`SELECT COUNT(*) FROM ing_record WHERE ext_id=?`, victim); n != 230-want || v != 1-want {
					t.Errorf("%d records, %d of them the one", n, v)
				}
				if n := b.ask(`SELECT COUNT(*) FROM ing_record WHERE ext_id='g-00000078' AND revision=1`); n != 1 {
					t.Error("the record that came in its place is not there once")
				}
				if w.n != 3 && c.bad || w.n > 3 {
					t.Errorf("asked for %d times", w.n)
				}
			})
		})
	}
}

// TestR27_KillBetweenTheDetails kills when the k-th page of details is asked
// for: ids are not searched for again, and details not asked for twice but for
// the page in flight.
func TestR27_KillBetweenTheDetails(t *testing.T) {
	t.Parallel()
	for k := 1; k <= 2; k++ {
		t.Run(fmt.Sprint("page ", k), func(t *testing.T) {
			engines(t, func(t *testing.T, s setup) {
				die := &killer{}
				s.hook = die.hook
				b, _ := newTampered(t, s, nil)
				n := 0
				b.Sim.SetOnRequest(func(r *http.Request) {
					if detail(r) {
						n++
						if n == k {
							die.kill()
						}
					}
				})
				if _, err := b.Harvest(t.Context(), "generic"); err == nil {
					t.Fatal("the dead node went on")
				}
				before := len(b.Sim.Requests())
				if d := b.ask(`SELECT COUNT(*) FROM ing_plan_slice WHERE status_code='DONE'`); d != 0 {
					t.Fatal("done with ids unanswered")
				}
				b.Sim.SetOnRequest(nil)
				b.expire()
				b.again()
				b.exact()
				details := 0
				for _, r := range b.Sim.Requests()[before:] {
					if r.Path == "/items" && r.Params.Get("only") == "" {
						t.Error("searched again for ids that were committed")
					}
					if r.Path == "/batch" {
						details++
					}
				}
				if details > 2 || k == 2 && details == 0 {
					t.Errorf("%d pages of details after the kill", details)
				}
				if n := b.ask(`SELECT COUNT(*) FROM ing_task_run_batch WHERE status_code='SUCCEEDED' AND phase='DETAIL'`); n != 2 {
					t.Errorf("%d pages of details committed", n)
				}
			})
		})
	}
}

// TestR27_BadIDRestsForSevenDays: until then a search that meets it leaves it
// be; afterwards it is asked for again, met or not.
func TestR27_BadIDRestsForSevenDays(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, s setup) {
		b, w := newTampered(t, s, drop(always))
		b.MustHarvest("generic")
		harvest := func(touched string) *control.Report {
			t.Helper()
			if err := b.Sim.Touch("generic", touched); err != nil {
				t.Fatal(err)
			}
			b.Sim.Advance(time.Hour)
			w.asked = nil
			rep := b.MustHarvest("generic")
			if rep.Status != "COMPLETED" {
				t.Fatalf("%+v", rep)
			}
			return rep
		}
		listed := func(asked bool, times int) {
			t.Helper()
			if got := slices.Contains(w.asked, victim); got != asked {
				t.Errorf("asked for: %v", got)
			}
			if n := b.ask(`SELECT COALESCE(MAX(times), 0) FROM ing_bad_id WHERE ext_id=?`, victim); n != times {
				t.Errorf("on the list for the %d. time, want %d", n, times)
			}
		}
		rested := func() { b.exec(`UPDATE ing_bad_id SET check_after='1999-01-01 00:00:00.000000'`) }
		at := func(column string) time.Time {
			at, err := time.Parse("2006-01-02 15:04:05.999999", b.text(`SELECT `+column+` FROM ing_bad_id`))
			if err != nil {
				t.Fatal(err)
			}
			return at
		}

		if d := at("check_after").Sub(at("last_seen_at")); d != 7*24*time.Hour {
			t.Errorf("rests for %s", d)
		}
		harvest(victim)
		listed(false, 1)
		harvest("g-00000003") // something else to do
		listed(false, 1)
		rested()
		harvest("g-00000004") // due, though no search has named it
		listed(true, 2)
		harvest("g-00000005") // rests again
		listed(false, 2)
		rested()
		w.change = nil // there at last
		rep := harvest("g-00000006")
		listed(true, 0)
		b.MustBeExact("generic", rep)
	})
}
