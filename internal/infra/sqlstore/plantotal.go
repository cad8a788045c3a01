package sqlstore

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
)

// What the pages of a plan have come to is kept in one row of ing_plan_total, to which
// every run adds its own pages in the transaction in which it ends, however it ends. The
// pages of runs that have not ended are read: there are no more of these than workers.
//
//	run 1  SUCCEEDED  pages 1 2 3  --.
//	run 2  FAILED     pages 1      --+--> the row of the plan --.
//	run 3  RUNNING    pages 1 2    -----------------------------+--> what is shown

// totalCols are the columns that are summed up; pages and totals name them alike.
var totalCols = []string{
	"sent", "retried", "http_429", "http_5xx", "bytes",
	"inserted", "updated", "remapped", "unchanged", "stale", "filtered", "undecided", "quarantined", "missing", "gone", "merged",
}

// pageTotals is what pages have come to together.
type pageTotals struct {
	sent, retried, http429, http5xx, bytes int64

	records harvest.Counts
}

// fields are the places for [totalCols], in their order.
func (t *pageTotals) fields() []any {
	c := &t.records
	return []any{
		&t.sent, &t.retried, &t.http429, &t.http5xx, &t.bytes,
		&c.Inserted, &c.Updated, &c.Remapped, &c.Unchanged, &c.Stale, &c.Filtered, &c.Undecided, &c.Quarantined, &c.Missing, &c.Gone, &c.Merged,
	}
}

// planShare is what one run adds to the totals of its plan, and of its slice.
type planShare struct {
	plan harvest.PlanID
	pageTotals
	slice sliceShare
}

// eachTotal repeats a text for every column that is summed up, with its name in place of @.
func eachTotal(text, between string) string {
	parts := make([]string, len(totalCols))
	for i, c := range totalCols {
		parts[i] = strings.ReplaceAll(text, "@", c)
	}
	return strings.Join(parts, between)
}

// storedSums sum up the pages that were stored, among pages in all states.
var storedSums = eachTotal(`COALESCE(SUM(CASE WHEN status_code='SUCCEEDED' THEN @ ELSE 0 END),0)`, ", ")

// addShares adds what runs that ended in this transaction have come to, first to their
// slices, of which each is one worker's. It is the last that a transaction does: nobody waits for a row of which others wait for that row, and
// the row, which all workers on a plan write, is locked for as long as the commit takes.
func (x *tx) addShares() error {
	slices.SortFunc(x.shares, func(a, b planShare) int {
		return cmp.Or(cmp.Compare(a.plan, b.plan), cmp.Compare(a.slice.id, b.slice.id))
	})
	for _, s := range x.shares {
		if err := x.addSliceShare(s.slice); err != nil {
			return err
		}
	}
	for _, s := range x.shares {
		if s.pageTotals == (pageTotals{}) {
			continue // no page of the run was stored
		}
		n, err := x.exec(`UPDATE ing_plan_total SET `+eachTotal("@=@+?", ", ")+` WHERE plan_id=?`, append(values(s.fields()), s.plan)...)
		if err == nil && n == 0 {
			err = x.beginTotals(s.plan)
		}
		if err != nil {
			return fmt.Errorf("add to the totals of plan %d: %w", s.plan, err)
		}
	}
	return nil
}

// beginTotals writes the row of a plan of which a first run has ended.
func (x *tx) beginTotals(plan harvest.PlanID) error {
	_, err := x.exec(`INSERT INTO ing_plan_total (plan_id, `+joined(totalCols)+`)
		SELECT b.plan_id, `+eachTotal("SUM(b.@)", ", ")+endedPages+` AND b.plan_id=? GROUP BY b.plan_id`, plan)
	return x.orLostRace(err)
}

// endedPages are the stored pages b of runs r that have ended.
const endedPages = ` FROM ing_task_run_batch b JOIN ing_task_run r ON r.id=b.run_id WHERE b.status_code='SUCCEEDED' AND r.status_code<>'RUNNING'`

// values are the numbers that some places hold.
func values(places []any) []any {
	out := make([]any, len(places))
	for i, p := range places {
		out[i] = *p.(*int64)
	}
	return out
}

// planPages reads what the pages of plans have come to so far, in one statement: a run
// that ends meanwhile is counted once. Only open runs are looked at, and of these the
// pages; the plus keeps SQLite from looking for them among all pages of the plan.
func (s *Store) planPages(ctx context.Context, plans []any) (t pageTotals, err error) {
	err = s.r.QueryRowContext(ctx, planPagesSQL(len(plans)), slices.Concat(plans, plans)...).Scan(t.fields()...)
	if err != nil {
		return t, fmt.Errorf("sum up pages: %w", err)
	}
	return t, nil
}

func planPagesSQL(plans int) string {
	in := list(plans)
	return `SELECT ` + eachTotal("COALESCE(SUM(@),0)", ", ") + ` FROM (
		SELECT ` + joined(totalCols) + ` FROM ing_plan_total WHERE plan_id IN (` + in + `)
		UNION ALL
		SELECT /*! STRAIGHT_JOIN */ ` + eachTotal("b.@", ", ") + `
		FROM ing_task_run r /*! FORCE INDEX (idx_run_list) */ CROSS JOIN ing_task_run_batch b /*! FORCE INDEX (uk_run_batch_no) */
		WHERE r.status_code='RUNNING' AND b.run_id=r.id AND b.status_code='SUCCEEDED' AND +b.plan_id IN (` + in + `)) pages`
}

// PlanTotals reads what a plan has come to so far. It looks at no slice and at no page of
// a run that has ended.
func (s *Store) PlanTotals(ctx context.Context, id harvest.PlanID) (t control.PlanTotals, err error) {
	t, err = s.countSlices(ctx, "?", []any{id})
	if err != nil {
		return t, err
	}
	pages, err := s.planPages(ctx, []any{id})
	t.Records = pages.records
	t.Sent = pages.sent
	return t, err
}

// checkTotals reports plans whose totals are not what the pages of their ended runs say.
// Of one that is being archived some pages are gone already.
func (v *verifier) checkTotals() error {
	return v.reportRows("plan", `SELECT p.id, 'has totals that are not the sum of its pages'
		FROM ing_plan p LEFT JOIN ing_plan_total t ON t.plan_id=p.id
		LEFT JOIN (SELECT b.plan_id, `+eachTotal("SUM(b.@) AS @", ", ")+endedPages+` GROUP BY b.plan_id) s ON s.plan_id=p.id
		WHERE NOT `+isSealed("p.id")+` AND (`+eachTotal("COALESCE(t.@,0)<>COALESCE(s.@,0)", " OR ")+`)`)
}
