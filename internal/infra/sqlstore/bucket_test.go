package sqlstore_test

import (
	"fmt"
	"strings"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// bucketsOfAWindow: slices over the buckets of one window count together, cut
// again or not, and until all do it is told which are missing.
func bucketsOfAWindow(l *Lab) {
	d := Draft(ns, 0, 2)
	second := slicesOf(d)[1].Spec.Part()
	d.Slices = harvest.DraftsOf(slicesOf(d)[:1]...)
	put := func(no, of int64) harvest.SliceDraft {
		p := second
		p.Range = harvest.NewBucket(no, of)
		s := harvest.NewSliceSpec(p, seconds, pageSize, 0, 0)
		s.Strategy = harvest.StrategyHash
		return harvest.SliceDraft{Spec: s, Expr: p.Range.String()}
	}
	d.Slices = harvest.DraftsOf(append(slicesOf(d), put(0, 2), put(1, 2))...)
	if _, err := l.Store.SavePlan(l.ctx(), d); err != nil {
		l.Fatal(err)
	}
	see := func(watermark int, want string) {
		l.Helper()
		cov, err := l.Store.Coverage(l.ctx(), prov)
		if err != nil || len(cov) != 1 {
			l.Fatalf("%+v, %v", cov, err)
		}
		c, got := cov[0], ""
		if len(c.Proven) > 1 || len(c.Missing) > 0 {
			l.Errorf("proven %+v, missing %+v", c.Proven, c.Missing)
		}
		for _, v := range c.Open {
			got += fmt.Sprintf("open %d %v of %d;", v.From.Time().Sub(hour(0))/time.Hour, v.Ranges, v.Parts)
		}
		for _, v := range c.Failed {
			got += fmt.Sprintf("failed %d %v of %d;", v.From.Time().Sub(hour(0))/time.Hour, v.Ranges, v.Parts)
		}
		if got != want || c.Watermark != mark(watermark) || watermark > 0 && c.Proven[0].To != mark(watermark) {
			l.Errorf("%s, proven %+v, watermark %s; want %s and %d", got, c.Proven, c.Watermark, want, watermark)
		}
	}
	see(0, "open 0 [] of 0;open 1 [bucket 0 of 2 bucket 1 of 2] of 2;")
	jobs := l.Lease(3)
	l.Walk(jobs[0])
	l.Walk(jobs[1])
	see(1, "open 1 [bucket 1 of 2] of 2;")

	run := l.Start(jobs[2])
	cut := func(children ...harvest.SliceDraft) error {
		return l.Store.Reslice(l.ctx(), jobs[2], harvest.RunEnd{Run: run.Run, Code: "over_wall", Error: "too much"}, children, "TOKEN", pageSize)
	}
	for name, bad := range map[string][]harvest.SliceDraft{
		"a half":      {put(1, 4)},
		"the other":   {put(0, 4), put(2, 4)},
		"the same":    {put(1, 2), put(1, 2)},
		"too much":    {put(1, 4), put(3, 4), put(0, 2)},
		"not a power": {put(1, 6), put(3, 6), put(5, 6)},
	} {
		if err := cut(bad...); err == nil {
			l.Fatalf("bucket 1 of 2 was cut into %s", name)
		}
	}
	if err := cut(put(1, 4), put(3, 4)); err != nil {
		l.Fatal(err)
	}
	see(1, "open 1 [bucket 1 of 4 bucket 3 of 4] of 3;")
	kids := l.Lease(2)
	l.Walk(kids[0])
	l.Refuse(kids[1])
	see(1, "failed 1 [bucket 3 of 4] of 3;")
	gaps, _, err := l.Store.Gaps(l.ctx(), control.GapQuery{Source: prov})
	if err != nil || len(gaps) != 1 || gaps[0].Range != "bucket 3 of 4" {
		l.Errorf("gaps %+v, %v", gaps, err)
	}
	l.MustVerify()
	if _, err := l.Store.RetryGaps(l.ctx(), prov, false, source.Audit{Actor: "lab", Action: "retry", Object: prov, Reason: "mended"}); err != nil {
		l.Fatal(err)
	}
	l.Walk(l.LeaseOne())
	see(2, "")
	l.MustVerify()

	// What the check of I3 says where a bucket was tampered with.
	l.Exec(`UPDATE ing_plan_slice SET slice_spec=REPLACE(slice_spec, '"from":3,"to":4,"of":4', '"from":1,"to":2,"of":4') WHERE status_code='DONE'`)
	found, err := l.Store.Verify(l.ctx())
	if err != nil || !strings.Contains(fmt.Sprint(found), "bucket 1 of 4 overlaps others") {
		l.Errorf("found %v, %v", found, err)
	}
}
