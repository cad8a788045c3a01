package sqlstore_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// selected is a plan over the hours [from, to) that asks for a part of the source.
func selected(query string, from, to int) harvest.Draft {
	hash := harvest.HashKey(query)
	d := Draft(harvest.HarvestNamespace(prov, endpoint, "updated", hash), from, to)
	d.SelHash = hash
	d.Query = query
	return d
}

// members are the records of a query with the numbers of the pages that saw them first and
// last, counted from the first page there is.
func (l *Lab) members(query string) string {
	l.Helper()
	rows, err := l.DB.Query(`SELECT r.ext_id, m.first_batch_id, m.last_batch_id FROM ing_selection_record m JOIN ing_selection s ON s.id=m.selection_id
		JOIN ing_record r ON r.id=m.record_id WHERE s.selection_hash=? ORDER BY r.ext_id`, harvest.HashKey(query))
	if err != nil {
		l.Fatal(err)
	}
	defer rows.Close()
	base := l.Int(`SELECT MIN(id) FROM ing_task_run_batch`)
	var out []string
	for rows.Next() {
		var id string
		var first, last int64
		if err := rows.Scan(&id, &first, &last); err != nil {
			l.Fatal(err)
		}
		out = append(out, fmt.Sprintf("%s %d-%d", id, first-base, last-base))
	}
	if err := rows.Err(); err != nil {
		l.Fatal(err)
	}
	return strings.Join(out, ", ")
}

// page commits a page of a task that is leased for it, the last of its walk.
func (l *Lab) page(recs ...harvest.Record) {
	l.Helper()
	j := l.LeaseOne()
	b := Page(l.Open(j, l.Start(j)), recs...)
	b.End = harvest.EndEmpty
	b.Finish = true
	l.Commit(j, b)
}

// membersOfSelections: every record on a page of a plan with a query becomes a member of what
// the query selects, new or held, changed or not, in the transaction of the page. Plans of
// the same query share it, a plan without one has none. What breaks it is reported.
func membersOfSelections(l *Lab) {
	l.Plan(0, 1)
	l.page(Rec("a", hour(0), hour(9), "x"))
	if n := l.Int(`SELECT COUNT(*) FROM ing_selection_record`) + l.Int(`SELECT COUNT(*) FROM ing_selection`); n != 0 {
		l.Errorf("a plan without a query left %d rows", n)
	}
	l.Save(selected("ti:a", 0, 2))
	l.page(Rec("a", hour(0), hour(9), "x"), Rec("b", hour(0), hour(9), "x")) // page 1: a is held, unchanged
	l.page(Rec("b", hour(1), hour(10), "y"), Rec("c", hour(1), hour(10), "x"))
	if got := l.members("ti:a"); got != "a 1-1, b 1-2, c 2-2" {
		l.Errorf("members: %s", got)
	}
	l.Save(selected("ti:b", 0, 1))
	l.page(Rec("c", hour(1), hour(10), "x"))
	l.Save(selected("ti:a", 2, 3))
	l.page(Rec("a", hour(0), hour(9), "x"))
	if a, b := l.members("ti:a"), l.members("ti:b"); a != "a 1-4, b 1-2, c 2-2" || b != "c 3-3" {
		l.Errorf("members: %s and %s", a, b)
	}
	if n := l.Int(`SELECT COUNT(*) FROM ing_selection`); n != 2 {
		l.Errorf("%d selections", n)
	}
	l.MustVerify()
	for what, planted := range map[string][2]string{
		"is no member":          {`DELETE FROM ing_selection_record WHERE first_batch_id=last_batch_id AND record_id=(SELECT id FROM ing_record WHERE ext_id='c')`, "I8"},
		"names ing_record ":     {`UPDATE ing_selection_record SET record_id=record_id+1000 WHERE record_id=(SELECT id FROM ing_record WHERE ext_id='a')`, "ORPHANS"},
		"names ing_task_run_ba": {`UPDATE ing_selection_record SET last_batch_id=last_batch_id+1000`, "ORPHANS"},
		"not committed":         {`UPDATE ing_selection_record SET last_batch_id=(SELECT MAX(id) FROM ing_task_run_batch)`, "I8"},
	} {
		l.Run(what, func(t *testing.T) { l.plantMember(t, what, planted[0], planted[1]) })
	}
}

// badIDsOfSelections: an id without details counts for every selection whose search named it,
// also for those that did not ask for it because it rests, and for none once its record came.
func badIDsOfSelections(l *Lab) {
	l.pageOf("ti:a", func(b *harvest.Batch) { // 8 was due again, and is no concern of this search
		b.Missing = []string{"7", "8"}
		b.Unread = []string{"7"}
	})
	l.pageOf("ti:b", func(b *harvest.Batch) { b.Unread = []string{"7"} })
	if got := l.unread("ti:a", "ti:b", "ti:c"); got != "ti:a 0+1, ti:b 0+1, ti:c 0+0" {
		l.Errorf("unread of selections: %s", got)
	}
	l.MustVerify()
	l.pageOf("ti:c", func(b *harvest.Batch) {
		b.Records = []harvest.Record{Rec("7", hour(0), hour(9), "x")}
		b.Mended = []string{"7"}
	})
	if got := l.unread("ti:a", "ti:b", "ti:c"); got != "ti:a 0+0, ti:b 0+0, ti:c 0+0" {
		l.Errorf("unread of selections after an id was mended: %s", got)
	}
	if a, b := l.members("ti:a"), l.members("ti:b"); a != "7 2-2" || b != "7 2-2" {
		l.Errorf("members: %s and %s", a, b)
	}
	l.MustVerify()
}

// plantMember breaks membership in one way, and expects it to be reported.
func (l *Lab) plantMember(t *testing.T, what, statement, invariant string) {
	c := l.on(t)
	c.Save(selected("ti:a", 0, 2))
	c.page(Rec("a", hour(0), hour(9), "x"), Rec("c", hour(1), hour(10), "x"))
	j := c.LeaseOne()
	c.Open(j, c.Start(j))
	c.Exec(statement)
	findings, err := c.Store.Verify(c.ctx())
	if err != nil {
		t.Fatal(err)
	}
	found := slices.ContainsFunc(findings, func(f control.Finding) bool { return f.Invariant == invariant && strings.Contains(f.Detail, what) })
	if !found {
		t.Errorf("reported %+v", findings)
	}
}

// searchRows: a search is saved in versions; its runs count what was first seen since the run
// before, each record in one run, and a run that was not ended is given up by the next.
func searchRows(l *Lab) {
	audit := source.Audit{Actor: "test", Action: "TEST", Object: "search/x"}
	save := func(query string) control.SavedSearch {
		l.Helper()
		v, err := l.Store.SaveSearch(l.ctx(), control.SavedSearch{
			Name: "x", Query: query, Sources: []control.SearchedSource{{Source: prov, Hash: harvest.HashKey(query), Text: query}},
		}, nil, audit)
		if err != nil {
			l.Fatal(err)
		}
		return v
	}
	run := func(v control.SavedSearch) control.SearchRun {
		l.Helper()
		r, err := l.Store.BeginSearchRun(l.ctx(), v, "test", audit)
		if err != nil {
			l.Fatal(err)
		}
		return r
	}
	end := func(v control.SavedSearch, r control.SearchRun) (control.SearchRun, error) {
		r.Status = control.SearchCompleted
		return l.Store.EndSearchRun(l.ctx(), r, []control.SearchOutcome{{Source: prov, Selection: v.Sources[0].Selection, Status: control.SearchCompleted}})
	}
	counts := func(v control.SavedSearch, r control.SearchRun) string {
		l.Helper()
		r, err := end(v, r)
		if err != nil {
			l.Fatal(err)
		}
		return fmt.Sprintf("run %d: %d members, %d new", r.No, r.Outcomes[0].Members, r.Outcomes[0].New)
	}
	v := save("ti:a")
	l.Save(selected("ti:a", 0, 2))
	first := run(v)
	l.page(Rec("a", hour(0), hour(9), "x"), Rec("b", hour(0), hour(9), "x"))
	if got := counts(v, first); got != "run 1: 2 members, 2 new" {
		l.Error(got)
	}
	lost := run(v)
	l.page(Rec("b", hour(1), hour(10), "y"), Rec("c", hour(1), hour(10), "x"))
	third := run(v)
	if _, err := end(v, lost); !errors.Is(err, control.ErrRunGivenUp) {
		l.Errorf("the end of a run that was given up: %v", err)
	}
	if got := counts(v, third); got != "run 3: 3 members, 1 new" {
		l.Error(got)
	}
	runs, err := l.Store.SearchRuns(l.ctx(), v, 10)
	if err != nil || len(runs) != 3 || runs[1].Status != control.SearchPartial || len(runs[1].Outcomes) != 0 {
		l.Errorf("runs: %+v, %v", runs, err)
	}
	second := save("ti:b")
	now, err := l.Store.Search(l.ctx(), "x")
	if err != nil || now.Version != 2 || now.Query != "ti:b" || second.Sources[0].Selection == v.Sources[0].Selection {
		l.Errorf("%+v, %v", now, err)
	}
	again := save("ti:a")
	if again.Version != 3 || again.Sources[0].Selection != v.Sources[0].Selection {
		l.Errorf("the same query has another selection: %+v", again)
	}
	if err := l.Store.RemoveSearch(l.ctx(), "x", nil, audit); err != nil {
		l.Error(err)
	}
	if _, err := l.Store.Search(l.ctx(), "x"); !errors.Is(err, harvest.ErrNotFound) {
		l.Errorf("a search that was removed: %v", err)
	}
	if all, err := l.Store.SearchVersions(l.ctx(), "x"); err != nil || len(all) != 3 {
		l.Errorf("%d versions, %v", len(all), err)
	}
	l.MustVerify()
}

// whatCameOnce: a walk that begins again reads its pages again; what came of the plan counts
// them once, and what its pages brought as often as they were read.
func whatCameOnce(l *Lab) {
	l.Save(selected("ti:again", 0, 1))
	j := l.LeaseOne()
	res := l.Start(j)
	recs := []harvest.Record{Rec("a", hour(0), hour(9), "x"), Rec("b", hour(0), hour(9), "x")}
	l.Commit(j, Page(l.Open(j, res), recs...))
	walk, _, err := l.Store.NewWalk(l.ctx(), j.Lease, harvest.CodeTokenExpired, true, nil)
	if err != nil {
		l.Fatal(err)
	}
	o, err := l.Store.OpenBatch(l.ctx(), j.Lease, harvest.BatchOpen{Run: res.Run, BatchNo: res.BatchNo + 1, Walk: walk, Phase: harvest.PhaseSearch, Ordinal: 1})
	if err != nil {
		l.Fatal(err)
	}
	b := Page(o, recs...)
	b.Filtered = []string{"c"}
	b.End = harvest.EndEmpty
	b.Finish = true
	l.Commit(j, b)
	selection := harvest.SelectionID(l.Int(`SELECT id FROM ing_selection`))
	plans, err := l.Store.SelectionPlans(l.ctx(), selection, 0, 10)
	if err != nil || len(plans) != 1 {
		l.Fatalf("%+v, %v", plans, err)
	}
	if p := plans[0]; p.Records.Items() != 5 || p.Came.Items() != 3 || p.Came.Filtered != 1 {
		l.Errorf("pages brought %+v, of which %+v came by the walk that counts", p.Records, p.Came)
	}
}
