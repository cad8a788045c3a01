package sqlstore_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/app/retention"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/infra/archive"
	"github.com/papertrace/patra/internal/infra/sqlstore"
	"github.com/papertrace/patra/internal/patratest"
)

// everyOld is a cut that nothing is too young for.
func everyOld() retention.Cut {
	soon := time.Now().Add(24 * time.Hour)
	return retention.Cut{Trail: soon, Versions: soon}
}

// archiver archives a store into a directory, in the smallest steps.
func archiver(store retention.Store, dir retention.Files) *retention.Keeper {
	return retention.New(retention.Config{Pause: time.Nanosecond, RowsPerStep: 2, UnitsPerFile: 3}, store, dir, slog.New(slog.DiscardHandler))
}

var byTest = source.Audit{Actor: "test", Reason: "to see it go"}

// age fills a store with what is old: two plans of a harvest that are done, with a record
// that has three versions, something quarantined, a bad id and a signal; a plan that was
// cut, a refresh and a sentinel that are over; triggers without a plan. The newest plan of
// the harvest is open, and so is a gap.
func (l *Lab) age() {
	l.Helper()
	l.Plan(0, 2)
	jobs := l.Lease(2)
	r := l.Start(jobs[0])
	b := everything(Page(l.Open(jobs[0], r), Rec("a", hour(0), hour(0), "v1"), Rec("b", hour(0), hour(0), "b")))
	b.End, b.Finish = harvest.EndEmpty, true
	l.Commit(jobs[0], b)
	l.Walk(jobs[1], Rec("a", hour(1), hour(1), "v2"))
	l.Plan(2, 4)
	jobs = l.Lease(2)
	run := l.Start(jobs[0])
	mid := hour(2).Add(30 * time.Minute)
	if err := l.Store.Reslice(l.ctx(), jobs[0], harvest.RunEnd{Run: run.Run, Code: "max_pages"},
		[]harvest.SliceDraft{child(hour(2), mid), child(mid, hour(3))}, "TOKEN", pageSize); err != nil {
		l.Fatal(err)
	}
	l.Walk(jobs[1], Rec("a", hour(3), hour(3), "v3"))
	for _, j := range l.Lease(2) {
		l.Walk(j, Rec("c", hour(2), hour(2), "c"))
	}
	l.Save(updateDraft("night-1", 0, 4, []string{"a", "b", "c", "t"}))
	for _, j := range l.Lease(2) {
		l.reread(j)
	}
	frontier, err := l.Store.Frontier(l.ctx(), ns)
	if err != nil {
		l.Fatal(err)
	}
	watch := Draft(harvest.ActivityNamespace(prov, harvest.Backfill, "updated", "sentinel-1"), 0, 1)
	watch.Trigger.Watches = frontier.Cursor
	l.Save(watch)
	l.Walk(l.LeaseOne())
	back := Draft(harvest.ActivityNamespace(prov, harvest.Backfill, "updated", "b1"), -2, 0)
	l.Save(back)
	for _, j := range l.Lease(2) {
		l.Walk(j)
	}
	for i := range 3 {
		noop := harvest.Trigger{
			Provenance: prov, Operation: harvest.Harvest, Kind: harvest.TriggerScheduled, Scheduler: "patra", JobID: "lab/HARVEST", LogID: fmt.Sprint("log", i),
		}
		if err := l.Store.RecordTrigger(l.ctx(), noop, harvest.TriggerNoop, ""); err != nil {
			l.Fatal(err)
		}
	}
	l.Plan(4, 6)
	jobs = l.Lease(2)
	l.Walk(jobs[0], Rec("d", hour(4), hour(4), "d"))
	l.Refuse(jobs[1])
	l.Plan(6, 7)
}

// seen is what people are told of a store that archiving must not change.
func (l *Lab) seen(s *sqlstore.Store) string {
	l.Helper()
	var out strings.Builder
	if err := s.Export(l.ctx(), control.ExportQuery{Raw: true}, func(e *control.Exported) error {
		fmt.Fprintf(&out, "%+v\n", *e)
		return nil
	}); err != nil {
		l.Fatal(err)
	}
	cover, err := s.Coverage(l.ctx(), prov)
	if err != nil {
		l.Fatal(err)
	}
	for _, c := range cover {
		if c.Operation != harvest.Update { // is over
			fmt.Fprintf(&out, "%s %s %v %v %v %v %v\n", c.Operation, c.Namespace, c.Watermark, c.Proven, c.Open, c.Failed, c.Missing)
		}
	}
	frontier, err := s.Frontier(l.ctx(), ns)
	if err != nil {
		l.Fatal(err)
	}
	proven, accepted, err := s.Proven(l.ctx(), ns, endpoint, selection)
	if err != nil {
		l.Fatal(err)
	}
	joined := []harvest.Window{}
	for _, w := range proven {
		if n := len(joined); n > 0 && !w.From.After(joined[n-1].To) {
			if w.To.After(joined[n-1].To) {
				joined[n-1].To = w.To
			}
			continue
		}
		joined = append(joined, w)
	}
	unstored, err := s.Unstored(l.ctx(), prov, recordType, harvest.Window{From: hour(0), To: hour(1)})
	if err != nil {
		l.Fatal(err)
	}
	unstored.ReadAt = time.Time{}
	fmt.Fprintf(&out, "%+v\n%v %v\n%+v\n", frontier, joined, accepted, unstored)
	return out.String()
}

// archivedIsFound: what is done moves to files, and nothing that anybody is told of the
// store changes by it but that it is elsewhere. Records, cursors, gaps and what is proven
// stay; rows are found by all that they belonged to; the integrity check knows what is
// archived, and still sees what is lost.
func archivedIsFound(l *Lab) {
	l.tell()
	l.age()
	l.drain(newConsumer())
	before := l.seen(l.Store)
	task := l.Int(`SELECT MIN(task_id) FROM ing_task_run_batch`)
	run := l.Int(`SELECT MIN(run_id) FROM ing_task_run_batch`)
	key := l.Text(`SELECT plan_key FROM ing_plan ORDER BY id LIMIT 1`)
	record := l.Int(`SELECT id FROM ing_record WHERE ext_id='a'`)
	// Every plan had bounds of its own, under a key of its own.
	for id := range strings.SplitSeq(l.Text(`SELECT GROUP_CONCAT(id) FROM ing_plan`), ",") {
		l.Exec(`INSERT INTO ing_rate_gate (gate_key, state, updated_at) SELECT ?, '{}', created_at FROM ing_plan WHERE id=?`, prov+"/plan/"+id, id)
	}
	dir := archive.New(l.TempDir())
	done, err := archiver(l.Store, dir).Archive(l.ctx(), everyOld(), byTest)
	if err != nil {
		l.Fatal(err)
	}
	l.MustVerify()
	if after := l.seen(l.Store); after != before {
		l.Errorf("people are told something else:\n%s", diff(before, after))
	}
	for what, want := range map[string][2]int64{
		"plans: that with the gap, the newest, the backfill's":    {3, l.Int(`SELECT COUNT(*) FROM ing_plan`)},
		"keys of their bounds":                                    {3, l.Int(`SELECT COUNT(*) FROM ing_rate_gate`)},
		"cursors: those of the harvest and the backfill":          {2, l.Int(`SELECT COUNT(*) FROM ing_cursor`)},
		"moves: one CHECKPOINT of each":                           {2, l.Int(`SELECT COUNT(*) FROM ing_cursor_event WHERE kind_code='CHECKPOINT'`)},
		"moves in all":                                            {2, l.Int(`SELECT COUNT(*) FROM ing_cursor_event`)},
		"candidates":                                              {0, l.Int(`SELECT COUNT(*) FROM ing_plan_candidate`)},
		"versions: one of each record":                            {l.Int(`SELECT COUNT(*) FROM ing_record`), l.Int(`SELECT COUNT(*) FROM ing_record_version`)},
		"triggers: those of the plans, and the newest of the job": {4, l.Int(`SELECT COUNT(*) FROM ing_schedule_instance`)},
		"stubs of pages that stored what is there": {
			l.Int(`SELECT COUNT(DISTINCT batch_id) FROM (SELECT batch_id FROM ing_record_version UNION SELECT batch_id FROM ing_quarantine
				UNION SELECT batch_id FROM ing_bad_id UNION SELECT batch_id FROM ing_signal) n WHERE batch_id NOT IN (SELECT id FROM ing_task_run_batch)`),
			l.Int(`SELECT COUNT(*) FROM ing_archived WHERE kind_code='batch'`),
		},
	} {
		if want[0] != want[1] {
			l.Errorf("%s: %d, want %d", what, want[1], want[0])
		}
	}
	for key, tables := range map[string][]string{
		"plan-key/" + key:                          {"ing_plan"},
		fmt.Sprint("task/", task):                  {"ing_task", "ing_task_run", "ing_task_run_batch"},
		fmt.Sprintf("ing-%d-1", run):               {"ing_task_run_batch"},
		fmt.Sprint("record/", record):              {"ing_outbox", "ing_record_version"},
		"record/" + prov + "/" + recordType + "/a": {"ing_outbox", "ing_record_version"},
		"plan/999999":                              nil,
	} {
		var got []string
		for _, a := range done.Archives {
			if err := dir.Find(l.ctx(), a.File, key, func(line retention.Line) error {
				got = append(got, line.Table)
				return nil
			}); err != nil {
				l.Fatal(err)
			}
		}
		slices.Sort(got)
		if got = slices.Compact(got); !slices.Equal(got, tables) {
			l.Errorf("%s is found in %v, want %v", key, got, tables)
		}
	}
	// The harvest goes on, and a second time nothing is left to do.
	if again, err := archiver(l.Store, dir).Archive(l.ctx(), everyOld(), byTest); err != nil || again.Rows != 0 {
		l.Errorf("archived again: %+v, %v", again, err)
	}
	l.Walk(l.LeaseOne(), Rec("a", hour(6), hour(6), "v4"))
	l.MustVerify()
	l.archivedIsLost()
}

// archivedIsLost: what is lost of an archived thing is seen.
func (l *Lab) archivedIsLost() {
	l.Helper()
	for _, c := range []struct{ what, rule, lose, mend string }{
		{"a stub of a page", "ORPHANS", `UPDATE ing_archived SET object_id=object_id+100000 WHERE kind_code='batch'`, `UPDATE ing_archived SET object_id=object_id-100000 WHERE kind_code='batch'`},
		{"an archive", "ORPHANS", `UPDATE ing_archived SET archive_id=archive_id+1000`, `UPDATE ing_archived SET archive_id=archive_id-1000`},
		{"what is proven", "I2", `UPDATE ing_coverage SET cursor_id=cursor_id+100000`, `UPDATE ing_coverage SET cursor_id=cursor_id-100000`},
		{"a version", "I7", `UPDATE ing_record SET first_revision=first_revision-1 WHERE ext_id='a'`, `UPDATE ing_record SET first_revision=first_revision+1 WHERE ext_id='a'`},
		{"the last move", "I1", `UPDATE ing_cursor_event SET cursor_id=cursor_id+100000 WHERE kind_code='CHECKPOINT'`, `UPDATE ing_cursor_event SET cursor_id=cursor_id-100000 WHERE kind_code='CHECKPOINT'`},
	} {
		l.Exec(c.lose)
		found, err := l.Store.Verify(l.ctx())
		if err != nil || !slices.ContainsFunc(found, func(f control.Finding) bool { return f.Invariant == c.rule }) {
			l.Errorf("%s is lost, and %v, %v", c.what, found, err)
		}
		l.Exec(c.mend)
	}
	l.MustVerify()
}

// oneArchives: who has lost the right to archive removes nothing more, and nobody gets it
// while another has it.
func oneArchives(l *Lab) {
	l.age()
	h, won, err := l.Store.HoldArchive(l.ctx(), time.Minute)
	if err != nil || !won {
		l.Fatal(won, err)
	}
	if _, won, err := l.Store.HoldArchive(l.ctx(), time.Minute); err != nil || won {
		l.Errorf("two archive at once: %v, %v", won, err)
	}
	if _, err := archiver(l.Store, archive.New(l.TempDir())).Archive(l.ctx(), everyOld(), byTest); !errors.Is(err, retention.ErrBusy) {
		l.Errorf("archived beside another: %v", err)
	}
	units, err := l.Store.Due(l.ctx(), h, everyOld(), 10)
	if err != nil || len(units) == 0 {
		l.Fatal(units, err)
	}
	id, err := l.Store.SaveArchive(l.ctx(), h, retention.Archive{Written: retention.Written{File: "f"}, Units: units})
	if err != nil {
		l.Fatal(err)
	}
	l.Exec(`UPDATE ing_meta SET value=? WHERE name='archive_hold'`, `{"fence":1000}`)
	l.Unchanged("one whose right another has taken over", func() {
		for _, u := range units {
			if _, err := l.Store.Remove(l.ctx(), h, id, u, 10); !errors.Is(err, retention.ErrFenced) {
				l.Errorf("removed %s: %v", u.Kind, err)
			}
		}
		if err := l.Store.Removed(l.ctx(), h, id, nil); !errors.Is(err, retention.ErrFenced) {
			l.Error(err)
		}
		if _, err := l.Store.SaveArchive(l.ctx(), h, retention.Archive{Written: retention.Written{File: "g"}}); !errors.Is(err, retention.ErrFenced) {
			l.Error(err)
		}
	})
}

// changedStays: what is not as it was archived is not removed.
func changedStays(l *Lab) {
	l.age()
	h, _, err := l.Store.HoldArchive(l.ctx(), time.Hour)
	if err != nil {
		l.Fatal(err)
	}
	// Moves go first, so that plans are due.
	units, err := l.Store.Due(l.ctx(), h, everyOld(), 100)
	if err != nil {
		l.Fatal(err)
	}
	for i := range units {
		if err := l.Store.RowsOf(l.ctx(), units[i], func(int64, retention.Line) error { units[i].Rows++; return nil }); err != nil {
			l.Fatal(err)
		}
		less := units[i]
		less.Rows--
		less.IDs = append(slices.Clone(less.IDs), 999999) // one that is not there
		if less.Kind == retention.Triggers {
			continue
		}
		l.Unchanged("an archive that lacks a row", func() {
			if _, err := l.Store.Remove(l.ctx(), h, 1, less, 10); !errors.Is(err, retention.ErrChanged) {
				l.Errorf("%s: %v", less.Kind, err)
			}
		})
		if units[i].Kind == retention.Moves {
			if _, err := l.Store.Remove(l.ctx(), h, 1, units[i], 10); err != nil {
				l.Fatal(err)
			}
		}
	}
	plans, err := l.Store.Due(l.ctx(), h, retention.Cut{Trail: everyOld().Trail}, 100)
	if err != nil || len(plans) == 0 || plans[0].Kind != retention.Plan {
		l.Fatal(plans, err)
	}
	plans[0].Rows = 3
	l.Unchanged("an archive that lacks a slice", func() {
		if _, err := l.Store.Remove(l.ctx(), h, 1, plans[0], 10); !errors.Is(err, retention.ErrChanged) {
			l.Errorf("%v", err)
		}
	})
}

// TestRetention_KilledAnywhere kills an archiver at every point of what it does with the
// store, and while it writes its files. After each the integrity check is clean, and once
// another has gone on every row there was is in the store or in one file, not in both. Each
// 29th point is tried, with PATRA_SOAK=1 every one.
func TestRetention_KilledAnywhere(t *testing.T) {
	t.Parallel()
	e := patratest.SQLite
	lab := NewLab(t, e)
	dump := func(l *Lab) map[string]bool {
		rows := map[string]bool{}
		for _, tab := range archivedTables {
			where := ""
			if tab == "ing_cursor_event" {
				where = " WHERE kind_code<>'CHECKPOINT'"
			}
			for _, id := range texts(t, l.DB, "SELECT '"+tab+" ' || id FROM "+tab+where) {
				rows[strings.TrimSuffix(id, ";")] = true
			}
		}
		return rows
	}
	points := 1
	killed := 0
	last := false
	for k := 1; k <= points && !last; k++ {
		if k > 3 && k%29 != 0 && os.Getenv("PATRA_SOAK") == "" {
			points++
			continue
		}
		l := lab.on(t)
		l.age()
		before := dump(l)
		told := l.seen(l.Store)
		n := 0
		dead := func(string) error {
			n++
			if n >= k {
				return errors.New("killed")
			}
			return nil
		}
		path := archive.New(t.TempDir())
		doomed, err := sqlstore.Open(t.Context(), l.DSN, sqlstore.Options{Hook: dead})
		if err != nil {
			t.Fatal(err)
		}
		_, err = archiver(doomed, mortal{path, dead}).Archive(t.Context(), everyOld(), byTest)
		if cerr := doomed.Close(); cerr != nil {
			t.Fatal(cerr)
		}
		if n >= k {
			if err == nil {
				t.Errorf("at point %d nobody noticed", k)
			}
			killed++
			points++
		}
		last = n < k
		l.MustVerify()
		if now := l.seen(l.Store); now != told {
			t.Fatalf("killed at point %d:\n%s", k, diff(told, now))
		}
		// Another goes on, when the dead one has been silent for long enough.
		later, err := sqlstore.Open(t.Context(), l.DSN, sqlstore.Options{Wall: func() time.Time { return time.Now().Add(time.Hour) }})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := archiver(later, path).Archive(t.Context(), everyOld(), byTest); err != nil {
			t.Fatalf("after a kill at point %d: %v", k, err)
		}
		patratest.MustVerify(t, later)
		held := dump(l)
		archived := archivedRows(t, later, path)
		if cerr := later.Close(); cerr != nil {
			t.Fatal(cerr)
		}
		for row := range before {
			if times := archived[row]; held[row] == (times > 0) || times > 1 {
				t.Errorf("killed at point %d: %s is in the store: %v, and in %d archives", k, row, held[row], times)
			}
		}
		if t.Failed() {
			t.FailNow()
		}
	}
	if killed < 10 {
		t.Errorf("only %d points", killed)
	}
	t.Logf("killed at %d of %d points", killed, points)
}

// archivedTables are those that rows are archived of, and that have ids.
var archivedTables = []string{
	"ing_schedule_instance", "ing_plan", "ing_plan_slice", "ing_task", "ing_task_run", "ing_task_run_batch", "ing_cursor", "ing_cursor_event",
	"ing_record_version", "ing_outbox",
}

// mortal are files whose writer can be killed: before, in the middle, and when all is
// written and nobody knows of it.
type mortal struct {
	retention.Files
	dead func(string) error
}

func (m mortal) Write(ctx context.Context, name string, write func(func(retention.Line) error) error) (retention.Written, error) {
	if err := m.dead("before the file"); err != nil {
		return retention.Written{}, err
	}
	out, err := m.Files.Write(ctx, name, func(add func(retention.Line) error) error {
		return write(func(l retention.Line) error {
			if err := m.dead("a line"); err != nil {
				return err
			}
			return add(l)
		})
	})
	if err != nil {
		return out, err
	}
	return out, m.dead("after the file")
}

func (m mortal) Keep(ctx context.Context, name string) error {
	if err := m.dead("before it is named"); err != nil {
		return err
	}
	return m.Files.Keep(ctx, name)
}

// archivedRows counts in how many archives each row is.
func archivedRows(t *testing.T, s *sqlstore.Store, dir *archive.Dir) map[string]int {
	t.Helper()
	all, err := s.Archives(t.Context(), 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]int{}
	for _, a := range all {
		if a.DoneAt.IsZero() || len(a.Units) > 0 {
			t.Errorf("archive %s is not done", a.File)
		}
		if err := dir.Check(t.Context(), a.Written, true); err != nil {
			t.Errorf("archive %s: %v", a.File, err)
		}
		if err := eachLine(filepath.Join(dir.Where(), a.File), func(l retention.Line) error {
			var row struct {
				ID int64 `json:"id"`
			}
			if err := json.Unmarshal(l.Row, &row); err != nil {
				return err
			}
			if row.ID != 0 {
				out[fmt.Sprintf("%s %d", l.Table, row.ID)]++
			}
			return nil
		}); err != nil {
			t.Errorf("archive %s: %v", a.File, err)
		}
	}
	return out
}

// eachLine reads an archive as any program would that knows zstd and JSON.
func eachLine(path string, f func(retention.Line) error) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	dec, err := zstd.NewReader(file)
	if err != nil {
		return err
	}
	defer dec.Close()
	lines := json.NewDecoder(dec)
	for {
		var l retention.Line
		err := lines.Decode(&l)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := f(l); err != nil {
			return err
		}
	}
}

// TestRetention_AYearOfDays: a store that is harvested all through a year, and refreshed and
// watched besides, holds the same number of rows after four, eight and twelve months if
// it holds the same records. All that was, is in the archive; all that is said of the store
// is as if nothing had been archived.
func TestRetention_AYearOfDays(t *testing.T) {
	t.Parallel()
	const step = 4 // days from one harvest to the next: a year is long
	dsn := patratest.SQLite.DSN(t)
	patratest.Open(t, dsn, sqlstore.Options{}) // makes the schema outside the bubble
	dir := archive.New(t.TempDir())
	synctest.Test(t, func(t *testing.T) {
		l := &Lab{T: t, Engine: patratest.SQLite, DSN: dsn, Store: patratest.Open(t, dsn, sqlstore.Options{}), DB: patratest.Raw(t, dsn)}
		l.tables = Tables(t, l.DB)
		keep := retention.New(retention.Config{Trail: 30 * 24 * time.Hour, Versions: 30 * 24 * time.Hour}, l.Store, dir, slog.New(slog.DiscardHandler))
		sizes := map[int]map[string]int64{}
		for day := 0; day <= 360; day += step {
			l.day(day)
			l.linkAll(1000) // as whoever serves does, beside retention
			if err := keep.Tick(t.Context()); err != nil {
				t.Fatal(err)
			}
			if day == 120 || day == 240 || day == 360 {
				patratest.MustVerify(t, l.Store)
				sizes[day] = l.counts()
			}
			time.Sleep(step*24*time.Hour - time.Hour)
		}
		for _, tab := range l.tables {
			four, eight, twelve := sizes[120][tab], sizes[240][tab], sizes[360][tab]
			t.Logf("%-24s %5d %5d %5d", tab, four, eight, twelve)
			if tab != "ing_archive" && twelve > max(four, eight)+max(four, eight)/5 {
				t.Errorf("%s grows with the days: %d rows after four months, %d after eight, %d after twelve", tab, four, eight, twelve)
			}
		}
		if n := sizes[360]["ing_archive"]; n > 14 {
			t.Errorf("%d archives in a year of little", n)
		}
		archived := archivedRows(t, l.Store, dir)
		plans := l.Int(`SELECT COUNT(*) FROM ing_plan`)
		for row, times := range archived {
			if times != 1 {
				t.Errorf("%s is in %d archives", row, times)
			}
			if strings.HasPrefix(row, "ing_plan ") {
				plans++
			}
		}
		if most := l.Int(`SELECT MAX(id) FROM ing_plan`); plans != most {
			t.Errorf("%d plans are there or archived, %d were made", plans, most)
		}
		cover, err := l.Store.Coverage(t.Context(), prov)
		if err != nil || len(cover) == 0 {
			t.Fatal(cover, err)
		}
		if c := cover[0]; len(c.Proven) != 1 || len(c.Missing)+len(c.Failed) > 0 || c.Proven[0].From != mark(0) {
			t.Errorf("of the harvest is proven %v, missing %v, failed %v", c.Proven, c.Missing, c.Failed)
		}
	})
}

// day is a day of a store: a harvest that changes one of ten records, a refresh, now and
// then a sentinel, and a trigger for which there was nothing to do.
func (l *Lab) day(day int) {
	l.Helper()
	trigger := harvest.Trigger{
		Provenance: prov, Operation: harvest.Harvest, Kind: harvest.TriggerScheduled, Scheduler: "patra", JobID: "lab/HARVEST",
		LogID: harvest.FormatInstant(time.Now()),
	}
	d := Draft(ns, day/4, day/4+1)
	d.Trigger = trigger
	l.Save(d)
	l.Walk(l.LeaseOne(), Rec(fmt.Sprint("r", day/4%10), hour(day), hour(day), fmt.Sprint("v", day)))
	l.Save(updateDraft(fmt.Sprint("night-", day), 0, 2, []string{"r0", "r1"}))
	l.reread(l.LeaseOne())
	if day%12 == 4 {
		frontier, err := l.Store.Frontier(l.ctx(), ns)
		if err != nil {
			l.Fatal(err)
		}
		watch := Draft(harvest.ActivityNamespace(prov, harvest.Backfill, "updated", fmt.Sprint("sentinel-", day)), day/4-1, day/4)
		watch.Trigger.Watches = frontier.Cursor
		l.Save(watch)
		l.Walk(l.LeaseOne())
	}
	time.Sleep(time.Hour)
	trigger.LogID = harvest.FormatInstant(time.Now())
	if err := l.Store.RecordTrigger(l.ctx(), trigger, harvest.TriggerNoop, ""); err != nil {
		l.Fatal(err)
	}
}

// counts counts the rows of every table.
func (l *Lab) counts() map[string]int64 {
	l.Helper()
	out := map[string]int64{}
	for _, tab := range l.tables {
		out[tab] = l.Int("SELECT COUNT(*) FROM " + tab)
	}
	return out
}
