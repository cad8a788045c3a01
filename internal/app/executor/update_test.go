package executor_test

import (
	"bytes"
	"database/sql"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/patratest"
	"github.com/papertrace/patra/internal/sim"
)

// byID are the ways in which the generic source is asked for single records: it
// has two phases anyway, or one and an endpoint for UPDATE alone, which takes a
// list, one id, or a list of some ids and others one by one.
var byID = map[string]manner{
	"two-phase": complete(manners["two-phase"]),
	"list":      alone(manners["page-1"], "10", "    method: POST\n        path: /batch", "        form:\n          ids: ${join(ids, ',')}\n", "items: items\n          complete: true"),
	"single":    alone(manners["token-const"], "1", "    path: /items/${join(ids, ',')}", "", "root: id\n          items: $"),
	"mixed":     mixed(`    idPattern: ".*[02468]"` + "\n    "), // the list holds even ids only
	"looked up": mixed(""),
}

// complete says that what the list of details leaves out is not there.
func complete(m manner) manner {
	m.complete = true
	return m
}

// mixed has a list, and looks up what that does not hold or leaves out.
func mixed(pattern string) manner {
	m := alone(manners["page-1"], "10", pattern+"    method: POST\n        path: /batch", "        form:\n          ids: ${join(ids, ',')}\n", "items: items")
	m.tasks += `      one:
        usage: LOOKUP
        path: /items/${ids[0]}
        format: JSON
        response: {root: id, items: $, id: id, updatedAt: {path: updated, format: RFC3339, key: updated}, version: v}
`
	return m
}

// alone gives a manner an endpoint of its own for UPDATE.
func alone(m manner, batch, how, form, items string) manner {
	m.tasks = "tasks:\n  update:\n    batching: {idBatchSize: " + batch + "}\n    endpoints:\n      again:\n        usage: DETAIL\n    " + how +
		"\n        format: JSON\n" + form + "        response:\n          " + items +
		"\n          id: id\n          updatedAt: {path: updated, format: RFC3339, key: updated}\n          version: v\n"
	return m
}

// door stands between node and oracle and sees every request for single records.
type door struct {
	next http.RoundTripper

	mu     sync.Mutex
	asked  []string           // guarded by mu
	hidden map[string]bool    // guarded by mu; ids that are not there
	become map[string]string  // guarded by mu; ids answered with another record
	before func(ids []string) // called before such a request goes on
}

func (d *door) wrap(next http.RoundTripper) http.RoundTripper {
	d.next = next
	return d
}

func (d *door) RoundTrip(r *http.Request) (*http.Response, error) {
	one, isOne := strings.CutPrefix(r.URL.Path, "/generic/items/")
	if !isOne && !detail(r) {
		return d.next.RoundTrip(r)
	}
	var form url.Values
	ids := []string{one}
	if !isOne {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		form, err = url.ParseQuery(string(b))
		if err != nil {
			return nil, err
		}
		ids = strings.Split(form.Get("ids"), ",")
	}
	if d.before != nil {
		d.before(ids)
	}
	d.mu.Lock()
	d.asked = append(d.asked, ids...)
	var there []string
	for _, id := range ids {
		if into := d.become[id]; into != "" {
			id = into
		}
		if !d.hidden[id] {
			there = append(there, id)
		}
	}
	d.mu.Unlock()
	r = r.Clone(r.Context())
	if isOne {
		r.URL.Path = "/generic/items/nothing"
		if len(there) > 0 {
			r.URL.Path = "/generic/items/" + there[0]
		}
		return d.next.RoundTrip(r)
	}
	form.Set("ids", strings.Join(there, ","))
	body := form.Encode()
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader([]byte(body))), int64(len(body))
	return d.next.RoundTrip(r)
}

func (d *door) hide(ids ...string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.hidden = map[string]bool{}
	for _, id := range ids {
		d.hidden[id] = true
	}
}

// take returns what was asked for since the last take, sorted.
func (d *door) take() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	out := d.asked
	d.asked = nil
	slices.Sort(out)
	return out
}

// refresher is a bench with a door, harvested once.
type refresher struct {
	*bench
	door   *door
	server bool // time cannot be moved
	first  *control.Report
	before string // the rows of the harvest
}

func newRefresher(t *testing.T, m manner, s setup) *refresher {
	t.Helper()
	d := &door{}
	s.wrap = d.wrap
	s.sim.Now = time.Now().Add(-90 * 24 * time.Hour).Truncate(time.Hour)
	tweak := s.tweak
	s.tweak = func(spec *source.Spec) {
		if spec.Operation == string(harvest.Update) && spec.Batching.IDs > 1 {
			spec.Batching.IDs = 10
		}
		spec.Mapping.Retracted = []source.Presence{{Path: "retracted_by"}}
		spec.Mapping.Fields = append(spec.Mapping.Fields, source.Field{Name: "retracts", Kind: source.FieldText, From: []source.Pick{{Path: "retracts"}}})
		if tweak != nil {
			tweak(spec)
		}
	}
	b := newBench(t, m, s)
	r := &refresher{bench: b, door: d, server: s.engine.Name != "" && s.engine != patratest.SQLite}
	r.first = b.MustHarvest("generic")
	if r.first.Status != "COMPLETED" {
		t.Fatalf("harvest: %+v", r.first)
	}
	d.take()
	r.before = r.harvestRows()
	return r
}

func (r *refresher) refresh(activity string, p harvest.CandidatePick) *control.Report {
	r.t.Helper()
	rep, err := r.try(activity, p)
	if err != nil {
		r.t.Fatalf("refresh: %v", err)
	}
	if !rep.Noop && rep.Status != "COMPLETED" {
		r.t.Fatalf("refresh %s: %+v", activity, rep)
	}
	return rep
}

func (r *refresher) try(activity string, p harvest.CandidatePick) (*control.Report, error) {
	return r.Node.Control.Harvest(r.t.Context(), control.HarvestRequest{Source: "generic", Operation: harvest.Update, Activity: activity, Pick: p, BaseURL: r.Base + "/generic"})
}

// pass lets time pass, on a server by making everything older.
func (r *refresher) pass(d time.Duration) {
	r.t.Helper()
	if !r.server {
		time.Sleep(d)
		return
	}
	r.exec(`UPDATE ing_record SET observed_at = observed_at - INTERVAL ? SECOND, missing_since = missing_since - INTERVAL ? SECOND`, int64(d/time.Second), int64(d/time.Second))
	r.exec(`UPDATE ing_bad_id SET check_after = check_after - INTERVAL ? SECOND`, int64(d/time.Second))
}

// all are the ids the store has.
func (r *refresher) all() (ids []string) {
	r.t.Helper()
	r.each(func(e *control.Exported) { ids = append(ids, e.ID) })
	return ids
}

func (r *refresher) each(f func(e *control.Exported)) {
	r.t.Helper()
	if err := r.Node.Store.Export(r.t.Context(), control.ExportQuery{Sources: []string{"generic"}}, func(e *control.Exported) error { f(e); return nil }); err != nil {
		r.t.Fatal(err)
	}
}

// record says what the store has of an id, in one line.
func (r *refresher) record(id string) (line string) {
	r.t.Helper()
	r.each(func(e *control.Exported) {
		if e.ID == id {
			line = strings.TrimSpace(fmt.Sprintf("%s %d %s", e.Status, e.Revision, e.MergedInto))
		}
	})
	return line
}

// must fails the test unless the record is as said, with so many checks that
// did not find it.
func (r *refresher) must(when, id, line string, checks int) {
	r.t.Helper()
	if got := r.record(id); got != line {
		r.t.Errorf("%s: %s is %q, want %q", when, id, got, line)
	}
	if n := r.ask(`SELECT missing_checks FROM ing_record WHERE ext_id='` + id + `'`); n != checks {
		r.t.Errorf("%s: %d checks did not find %s, want %d", when, n, id, checks)
	}
}

// harvestRows prints every row that belongs to the HARVEST, whoever it is of.
func (r *refresher) harvestRows() string {
	r.t.Helper()
	var out strings.Builder
	for _, q := range []string{
		`SELECT * FROM ing_plan WHERE operation_code='HARVEST' ORDER BY id`,
		`SELECT s.* FROM ing_plan_slice s JOIN ing_plan p ON p.id=s.plan_id WHERE p.operation_code='HARVEST' ORDER BY s.id`,
		`SELECT * FROM ing_task WHERE operation_code='HARVEST' ORDER BY id`,
		`SELECT * FROM ing_task_run WHERE operation_code='HARVEST' ORDER BY id`,
		`SELECT * FROM ing_task_run_batch WHERE operation_code='HARVEST' ORDER BY id`,
		`SELECT * FROM ing_cursor WHERE operation_code='HARVEST' ORDER BY id`,
		`SELECT * FROM ing_cursor_event WHERE operation_code='HARVEST' ORDER BY id`,
	} {
		r.sql(func(db *sql.DB) error {
			rows, err := db.Query(q)
			if err != nil {
				return err
			}
			defer rows.Close() //nolint:errcheck // read to its end
			cols, err := rows.Columns()
			if err != nil {
				return err
			}
			for rows.Next() {
				vals := make([]any, len(cols))
				for i := range vals {
					vals[i] = new(sql.RawBytes)
				}
				if err := rows.Scan(vals...); err != nil {
					return err
				}
				for i := range vals {
					fmt.Fprintf(&out, "%s=%q ", cols[i], *vals[i].(*sql.RawBytes))
				}
				out.WriteByte('\n')
			}
			return rows.Err()
		})
	}
	return out.String()
}

// sound ends every test: the integrity check is clean and the harvest's rows are
// byte for byte what they were (I9).
func (r *refresher) sound() {
	r.t.Helper()
	patratest.MustVerify(r.t, r.Node.Store)
	if after := r.harvestRows(); after != r.before {
		r.t.Errorf("rows of the harvest changed:\n%s\n%s", r.before, after)
	}
}

// refreshers runs f for each way to ask, on every engine.
func refreshers(t *testing.T, f func(t *testing.T, m manner, s setup)) {
	t.Helper()
	for _, name := range []string{"two-phase", "list", "single", "mixed", "looked up"} {
		t.Run(name, func(t *testing.T) {
			engines(t, func(t *testing.T, s setup) { f(t, byID[name], s) })
		})
	}
}

// TestR9_EachFrozenIDIsCheckedOnce: while an UPDATE reads what has not been seen
// for a while, every record that is read drops out of the question, others come
// and change. Each id that was frozen is asked for once, and no other.
func TestR9_EachFrozenIDIsCheckedOnce(t *testing.T) {
	t.Parallel()
	refreshers(t, func(t *testing.T, m manner, s setup) {
		s.sim.Records = 130
		r := newRefresher(t, m, s)
		frozen := r.all()
		r.pass(time.Hour)
		now, err := r.Node.Store.Now(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		r.door.before = func([]string) {
			n++
			if n%3 != 1 {
				return
			}
			if err := r.Sim.Touch("generic", frozen[(n*7)%len(frozen)]); err != nil {
				t.Error(err)
			}
			if _, err := r.Sim.AddLate("generic", r.Sim.Now(), r.Sim.Now()); err != nil {
				t.Error(err)
			}
		}
		rep := r.refresh("stale", harvest.CandidatePick{SeenBefore: now})
		if got := r.door.take(); !slices.Equal(got, frozen) {
			t.Errorf("%d ids were asked for, want each of %d once", len(got), len(frozen))
		}
		if total := rep.Records.Items(); total != int64(len(frozen)) || rep.Records.Updated == 0 || rep.Slices.Done != 2 {
			t.Errorf("report: %+v", rep)
		}
		if again := r.refresh("stale", harvest.CandidatePick{SeenBefore: now}); !again.Noop || len(r.door.take()) != 0 {
			t.Errorf("the same activity once more: %+v", again)
		}
		// What was touched before it was read has been seen since; nothing is left.
		if left := r.refresh("left", harvest.CandidatePick{SeenBefore: now}); !left.Noop {
			t.Errorf("something was left: %+v", left)
		}
		r.sound()
	})
}

// TestR9_KilledRefreshGoesOn kills at every call of the store that an UPDATE of
// 13 pages makes (in CI at every 19th): each page is committed once, and no more
// than the page in flight is asked for again.
func TestR9_KilledRefreshGoesOn(t *testing.T) {
	t.Parallel()
	patratest.Long(t, "a matrix of cases without concurrency")
	killAtEach(t, 19, func(t *testing.T, die *killer) {
		r := newRefresher(t, byID["list"], setup{sim: sim.Config{Records: 130}})
		frozen := r.all()
		r.pass(time.Hour)
		now := time.Now().UTC()
		r.c.Hook = die.hook
		r.again()
		_, err := r.try("stale", harvest.CandidatePick{SeenBefore: now})
		if !die.dead {
			return
		}
		if err == nil {
			t.Fatalf("killed at %d, %q: the dead node ended well", die.at, die.point)
		}
		r.c.Hook = nil
		r.again()
		r.refresh("stale", harvest.CandidatePick{SeenBefore: now})
		asked := r.door.take()
		if each := slices.Compact(slices.Clone(asked)); !slices.Equal(each, frozen) || len(asked) > len(frozen)+20 {
			t.Errorf("killed at %d, %q: %d ids asked for, %d of %d", die.at, die.point, len(asked), len(each), len(frozen))
		}
		if n := r.ask(`SELECT SUM(asked) FROM ing_task_run_batch WHERE operation_code='UPDATE' AND status_code='SUCCEEDED'`); n != len(frozen) {
			t.Errorf("killed at %d, %q: %d ids committed, want %d", die.at, die.point, n, len(frozen))
		}
		if n := r.ask(doubled); n != 0 {
			t.Errorf("killed at %d, %q: %d ordinals committed twice", die.at, die.point, n)
		}
		r.sound()
	})
}

// TestR30_ChangedMappingRewritesOnce: records made by another mapping are mapped
// again, once; those already made by the new one are left alone.
func TestR30_ChangedMappingRewritesOnce(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, s setup) {
		changed := false
		s.tweak = func(spec *source.Spec) {
			if changed {
				spec.Mapping.Fields = append(spec.Mapping.Fields, source.Field{Name: "publisher", Kind: source.FieldText, From: []source.Pick{{Path: "author"}}})
			}
		}
		r := newRefresher(t, byID["list"], s)
		old := r.all()
		gone := old[:3]
		old = old[3:]
		r.door.hide(gone...)
		for _, check := range []string{"first check", "second check"} {
			r.refresh(check, harvest.CandidatePick{IDs: gone})
			r.pass(25 * time.Hour)
		}
		r.must("gone", gone[0], "GONE 2", 2)
		changed = true
		if none := r.refresh("none", harvest.CandidatePick{SeenBefore: time.Unix(0, 0)}); !none.Noop {
			t.Fatalf("nothing is that old: %+v", none)
		}
		var young []string
		for range 5 {
			id, err := r.Sim.AddLate("generic", r.Sim.Now(), r.Sim.Now())
			if err != nil {
				t.Fatal(err)
			}
			young = append(young, id)
		}
		if rep := r.refresh("young", harvest.CandidatePick{IDs: young}); rep.Records.Inserted != 5 {
			t.Fatalf("new ones: %+v", rep.Records)
		}
		r.door.take()
		r.pass(time.Hour)
		rep := r.refresh("mapping", harvest.CandidatePick{MappingChanged: true})
		if rep.Records.Remapped != int64(len(old)) || rep.Records.Items() != int64(len(old)) || !slices.Equal(r.door.take(), old) {
			t.Errorf("mapped again: %+v, want %d", rep.Records, len(old))
		}
		if again := r.refresh("mapping again", harvest.CandidatePick{MappingChanged: true}); !again.Noop {
			t.Errorf("mapped twice: %+v", again.Records)
		}
		for _, id := range old {
			if got := r.record(id); !strings.HasSuffix(got, " 2") {
				t.Fatalf("%s is %q, want its second revision", id, got)
			}
		}
		r.must("left alone", young[0], "ACTIVE 1", 0)

		// What is gone has no content to map; only age has it looked at again.
		r.must("gone for good", gone[0], "GONE 2", 2)
		r.door.hide()
		r.refresh("by age", harvest.CandidatePick{SeenBefore: time.Now().Add(-25 * time.Hour)})
		r.must("back again", gone[0], "ACTIVE 3", 0)
		r.sound()
	})
}

// TestR31_WhatBecomesOfARecord: retracted, merged, gone and revived, each a
// revision; one check that finds nothing means nothing.
func TestR31_WhatBecomesOfARecord(t *testing.T) {
	t.Parallel()
	refreshers(t, func(t *testing.T, m manner, s setup) {
		r := newRefresher(t, m, s)
		ids := r.all()
		gone := ids[3]
		shy := ids[7]
		alias := ids[11]
		bad := ids[15]
		calm := ids[19]
		day := 0
		check := func(hidden ...string) *control.Report {
			t.Helper()
			r.door.hide(hidden...)
			day++
			rep := r.refresh(fmt.Sprint("check ", day), harvest.CandidatePick{IDs: []string{gone, shy, alias, bad, calm}})
			if n := r.ask(`SELECT COUNT(*) FROM ing_bad_id`); n != 0 {
				t.Errorf("check %d: %d ids of records that are held are on the list of bad ids", day, n)
			}
			return rep
		}
		rep := check(gone, shy) // one of them in passing
		r.must("not found once", gone, "ACTIVE 1", 1)
		r.must("not found once", shy, "ACTIVE 1", 1)
		if rep.Records.Missing != 2 || rep.Records.Unchanged != 3 {
			t.Errorf("first check: %+v", rep.Records)
		}

		r.pass(23 * time.Hour)
		check(gone)
		r.must("not found for 23 hours", gone, "ACTIVE 1", 2)
		r.must("found again", shy, "ACTIVE 1", 0)

		r.pass(2 * time.Hour)
		rep = check(gone, shy)
		r.must("not found for 25 hours", gone, "GONE 2", 3)
		r.must("a new absence", shy, "ACTIVE 1", 1)
		if rep.Records.Gone != 1 || rep.Records.Missing != 1 {
			t.Errorf("third check: %+v", rep.Records)
		}
		r.pass(time.Hour)
		check(gone)
		r.must("gone is gone", gone, "GONE 2", 3)

		if _, err := r.Sim.Retract("generic", bad); err != nil {
			t.Fatal(err)
		}
		r.door.become = map[string]string{alias: calm}
		r.pass(time.Hour)
		rep = check()
		r.must("revived", gone, "ACTIVE 3", 0)
		r.must("retracted", bad, "RETRACTED 2", 0)
		r.must("merged", alias, "MERGED 2 "+calm, 0)
		r.must("and the other", calm, "ACTIVE 1", 0)
		if rep.Records.Merged != 1 || rep.Records.Updated != 2 {
			t.Errorf("fifth check: %+v", rep.Records)
		}
		r.pass(time.Hour)
		check()
		r.must("still merged", alias, "MERGED 2 "+calm, 0)
		r.door.become = nil
		r.pass(time.Hour)
		check()
		r.must("on its own again", alias, "ACTIVE 3", 0)
		r.sound()
	})
}

// TestR31_AbsenceFromASearchMeansNothing: a record that no search shows any more
// stays as it is, and unknown ids that are not found are bad ids as everywhere.
func TestR31_AbsenceFromASearchMeansNothing(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		r := newRefresher(t, byID["two-phase"], setup{})
		id := r.all()[5]
		if err := r.Sim.Delete("generic", id); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			r.Sim.Advance(48 * time.Hour)
			r.pass(48 * time.Hour)
			r.MustHarvest("generic")
		}
		r.before = r.harvestRows()
		r.must("after three harvests", id, "ACTIVE 1", 0)
		r.refresh("unknown", harvest.CandidatePick{IDs: []string{"g-09999999", id, r.all()[6]}})
		r.must("after a check", id, "ACTIVE 1", 1)
		if n := r.ask(`SELECT COUNT(*) FROM ing_bad_id WHERE ext_id='g-09999999'`); n != 1 {
			t.Errorf("the unknown id is %d times on the list of bad ids", n)
		}
		// A person asks for it: it is asked for although it rests.
		r.door.take()
		r.refresh("once more", harvest.CandidatePick{IDs: []string{"g-09999999"}})
		if len(r.door.take()) == 0 {
			t.Error("an id that rests was not asked for")
		}
		r.sound()
	})
}

// TestR31_SilenceIsNoEvidence: good replies with nothing in them, over whole
// lists and on days apart, make no record GONE, nor does one left out of a list
// that may be a search; such an id is asked for again as a bad one.
func TestR31_SilenceIsNoEvidence(t *testing.T) {
	t.Parallel()
	searched := byID["list"]
	searched.tasks = strings.Replace(searched.tasks, "          complete: true\n", "", 1)
	for _, c := range []struct {
		name   string
		m      manner
		hidden int  // of 131 records, the last list of one
		done   bool // the lists are gone through
		bad    int
		gone   int
	}{
		{"all left out of lists", byID["list"], 131, false, 0, 0},
		{"all left out of searches", searched, 131, false, 0, 0},
		{"one list of one is empty", byID["list"], 0, true, 0, 1},
		{"one search of one is empty", searched, 0, true, 1, 0},
		{"whole lists of many", byID["list"], 30, true, 0, 30},
		{"one left out of a list", byID["list"], 1, true, 0, 1},
		{"one left out of a search", searched, 1, true, 1, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := newRefresher(t, c.m, setup{sim: sim.Config{Records: 131}})
				ids := r.all()
				hidden := ids[:c.hidden]
				if c.hidden == 0 {
					hidden = ids[130:]
				}
				r.door.hide(hidden...)
				for day := range 2 {
					rep, err := r.try(fmt.Sprint("day ", day), harvest.CandidatePick{IDs: ids})
					if err != nil || (rep.Status == "COMPLETED") != c.done {
						t.Fatalf("%+v, %v", rep, err)
					}
					r.pass(25 * time.Hour)
				}
				if n := r.ask(`SELECT COUNT(*) FROM ing_record WHERE status_code='GONE'`); n != c.gone {
					t.Errorf("%d records are gone, want %d", n, c.gone)
				}
				if n := r.ask(`SELECT COUNT(*) FROM ing_bad_id`); n != c.bad {
					t.Errorf("%d bad ids, want %d", n, c.bad)
				}
				r.door.hide()
				r.pass(25 * time.Hour)
				r.refresh("found again", harvest.CandidatePick{IDs: ids})
				if n := r.ask(`SELECT COUNT(*) FROM ing_record WHERE status_code<>'ACTIVE' OR missing_checks<>0`) + r.ask(`SELECT COUNT(*) FROM ing_bad_id`); n != 0 {
					t.Errorf("%d are not as they were", n)
				}
				patratest.MustVerify(t, r.Node.Store)
			})
		})
	}
}

// TestR31_ManyGoneInARow: where records are asked for one by one, a row of those
// that are not there is no broken endpoint; nor are whole lists of them, as long
// as others are there.
func TestR31_ManyGoneInARow(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"single", "list"} {
		t.Run(name, func(t *testing.T) {
			engines(t, func(t *testing.T, s setup) {
				r := newRefresher(t, byID[name], s)
				ids := r.all()[:30]
				r.door.hide(ids...)
				r.refresh("first", harvest.CandidatePick{IDs: ids})
				r.pass(25 * time.Hour)
				if rep := r.refresh("second", harvest.CandidatePick{IDs: ids}); rep.Records.Gone != 30 {
					t.Errorf("%+v", rep.Records)
				}
				r.sound()
			})
		})
	}
}

// TestUpdate_SignalsLeadToWhatTheyAreAbout: a notice about a record that is held,
// a bad id whose rest is over and an item in quarantine are read again; a signal
// that a plan has taken is closed.
func TestUpdate_SignalsLeadToWhatTheyAreAbout(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, s setup) {
		r := newRefresher(t, byID["list"], s)
		ids := r.all()
		if none := r.refresh("none", harvest.CandidatePick{Signals: true}); !none.Noop {
			t.Fatalf("nothing was signalled: %+v", none)
		}
		notice, err := r.Sim.Retract("generic", ids[4])
		if err != nil {
			t.Fatal(err)
		}
		r.refresh("notice", harvest.CandidatePick{IDs: []string{notice, "g-09999999"}})
		if n := r.ask(`SELECT COUNT(*) FROM ing_signal WHERE ext_id='` + ids[4] + `' AND kind_code='RETRACTION' AND plan_id IS NULL`); n != 1 {
			t.Fatalf("%d open signals, want 1", n)
		}
		r.exec(`INSERT INTO ing_quarantine (batch_id, provenance_code, record_type, ext_id, code, raw, raw_sha256, created_at, seen_at)
			SELECT b.id, 'generic', 'item', '` + ids[9] + `', 'bad_date', x'00', x'00', b.committed_at, b.committed_at FROM ing_task_run_batch b WHERE b.operation_code='UPDATE' AND b.status_code='SUCCEEDED'`)
		r.pass(8 * 24 * time.Hour)
		r.door.take()
		rep := r.refresh("signals", harvest.CandidatePick{Signals: true})
		want := []string{ids[4], ids[9], "g-09999999"}
		slices.Sort(want)
		if got := slices.Compact(r.door.take()); !slices.Equal(got, want) {
			t.Errorf("asked for %v, want %v: %+v", got, want, rep)
		}
		r.must("retracted", ids[4], "RETRACTED 2", 0)
		if n := r.ask(`SELECT COUNT(*) FROM ing_signal WHERE plan_id IS NULL`); n != 0 {
			t.Errorf("%d signals are open", n)
		}
		if again := r.refresh("signals again", harvest.CandidatePick{Signals: true}); !again.Noop {
			t.Errorf("signalled twice: %+v", again)
		}
		r.sound()
	})
}

// TestR9_CancelledActivityIsPlannedAgain: what a plan was to read and was given
// up before it did, the same command reads after all, and then no more.
func TestR9_CancelledActivityIsPlannedAgain(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, s setup) {
		r := newRefresher(t, byID["list"], s)
		ids := r.all()
		notice, err := r.Sim.Retract("generic", ids[4])
		if err != nil {
			t.Fatal(err)
		}
		r.refresh("notice", harvest.CandidatePick{IDs: []string{notice}})
		for _, c := range []struct {
			name string
			pick harvest.CandidatePick
			want []string
		}{
			{"signals", harvest.CandidatePick{Signals: true}, ids[4:5]},
			{"ids", harvest.CandidatePick{IDs: ids[:3]}, ids[:3]},
			{"mapping", harvest.CandidatePick{MappingChanged: true}, nil},
		} {
			trigger := harvest.Trigger{Provenance: "generic", Operation: harvest.Update, Activity: c.name, Pick: c.pick, BaseURL: r.Base + "/generic"}
			planned, err := r.Node.Planner.Plan(t.Context(), trigger)
			if err != nil {
				t.Fatal(err)
			}
			if planned.Noop != (c.want == nil) {
				t.Fatalf("%s: %+v", c.name, planned)
			}
			if planned.Noop {
				continue
			}
			shown := func(noop bool) {
				t.Helper()
				if p, err := r.Node.Planner.Preview(t.Context(), trigger); err != nil || p.Noop != noop || p.Noop == (p.Expected == int64(len(c.want))) {
					t.Errorf("%s: the preview says %+v, %v", c.name, p, err)
				}
			}
			shown(true)
			if _, err := r.Node.Store.Cancel(t.Context(), control.CancelScope{Plan: planned.Plan.ID}, source.Audit{Actor: "test", Action: "PLAN_CANCEL", Object: "plan", Reason: "test"}); err != nil {
				t.Fatal(err)
			}
			shown(false)
			r.door.take()
			rep := r.refresh(c.name, c.pick)
			if got := r.door.take(); !slices.Equal(got, c.want) || len(rep.Gaps) != 0 {
				t.Errorf("%s: asked for %v, want %v: %+v", c.name, got, c.want, rep)
			}
			if again := r.refresh(c.name, c.pick); !again.Noop || len(r.door.take()) != 0 {
				t.Errorf("%s: read twice: %+v", c.name, again)
			}
			shown(true)
		}
		r.must("retracted", ids[4], "RETRACTED 2", 0)
		r.sound()
	})
}

// TestUpdate_MaxTakesTheOldest bounds a refresh.
func TestUpdate_MaxTakesTheOldest(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		r := newRefresher(t, byID["list"], setup{})
		ids := r.all()
		r.pass(time.Hour)
		r.refresh("some", harvest.CandidatePick{IDs: ids[10:]})
		r.pass(time.Hour)
		r.door.take()
		r.refresh("oldest", harvest.CandidatePick{SeenBefore: time.Now(), Max: 7})
		got := r.door.take()
		if len(got) != 7 || slices.ContainsFunc(got, func(id string) bool { return !slices.Contains(ids[:10], id) }) {
			t.Errorf("read %v", got)
		}
		r.sound()
	})
}

// TestR31_UnreadableIsNotAbsent: an item whose id cannot be read may be any of
// those asked for; none of them counts as not found, and the source goes on.
func TestR31_UnreadableIsNotAbsent(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"list", "single"} {
		bubble(t, func(t *testing.T) {
			spoilt := false
			r := newRefresher(t, byID[name], setup{tweak: func(spec *source.Spec) {
				if spoilt {
					spec.Detail.Response.ID = []source.Pick{{Path: "renamed"}}
					spec.Detail.Response.Root = ""
					if spec.Batching.IDs == 1 {
						spec.Detail.Response.Root = "title"
					}
				}
			}})
			ids := r.all()[:5]
			spoilt = true
			for i := range 2 {
				rep := r.refresh(fmt.Sprint("check ", i), harvest.CandidatePick{IDs: ids})
				if rep.Records.Quarantined < 5 {
					t.Errorf("%+v", rep.Records)
				}
				r.pass(25 * time.Hour)
			}
			for _, id := range ids {
				r.must("unreadable", id, "ACTIVE 1", 0)
			}
			r.sound()
		})
	}
}

// TestI6_CandidatesAreVerified plants what must not be in a plan of an UPDATE.
func TestI6_CandidatesAreVerified(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		r := newRefresher(t, byID["list"], setup{})
		r.refresh("some", harvest.CandidatePick{IDs: r.all()[:25]})
		r.sound()
		for _, c := range []struct{ inv, plant, mend string }{
			{"I6", `UPDATE ing_plan_candidate SET ordinal=99 WHERE ordinal=3`, `UPDATE ing_plan_candidate SET ordinal=3 WHERE ordinal=99`},
			{"I6", `UPDATE ing_plan_candidate SET ext_id='g-00000000' WHERE ordinal=3`, `UPDATE ing_plan_candidate SET ext_id='g-00000003' WHERE ordinal=3`},
			{"I6", `UPDATE ing_task_run_batch SET asked=9 WHERE operation_code='UPDATE' AND ordinal=1`, `UPDATE ing_task_run_batch SET asked=10 WHERE operation_code='UPDATE' AND ordinal=1`},
			{"I7", `UPDATE ing_record SET merged_into='x' WHERE ext_id='g-00000001'`, `UPDATE ing_record SET merged_into=NULL`},
		} {
			r.exec(c.plant)
			found, err := r.Node.Store.Verify(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if len(found) != 1 || found[0].Invariant != c.inv {
				t.Errorf("%s: %+v", c.plant, found)
			}
			r.exec(c.mend)
			patratest.MustVerify(t, r.Node.Store)
		}
	})
}
