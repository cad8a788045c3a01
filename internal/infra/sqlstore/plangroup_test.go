package sqlstore_test

import (
	"slices"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// keptGroupsAreTheSlices: what is kept of the slices of a plan by where they begin is what
// they say themselves, at every zoom, whatever became of them.
func keptGroupsAreTheSlices(l *Lab) {
	id := l.Plan(0, 30).ID
	l.Due()
	for range 6 { // done
		l.Walk(l.LeaseOne())
	}
	l.compareGroups(id, 30)
	cut := l.LeaseOne()
	run := l.Start(cut)
	w := cut.Spec.NominalWindow()
	mid := w.From.Add(w.Duration() / 2)
	end := harvest.RunEnd{Run: run.Run, Code: "max_pages"}
	if err := l.Store.Reslice(l.ctx(), cut, end, []harvest.SliceDraft{child(w.From, mid), child(mid, w.To)}, "TOKEN", pageSize); err != nil {
		l.Fatal(err)
	}
	l.compareGroups(id, 32)
	if _, err := l.Store.Cancel(l.ctx(), control.CancelScope{Slice: cut.Slice + 3}, source.Audit{Action: "PLAN_CANCEL", Object: "slice", Reason: "test", Actor: "test"}); err != nil {
		l.Fatal(err)
	}
	l.compareGroups(id, 32)
	if _, err := l.Store.Cancel(l.ctx(), control.CancelScope{Plan: id}, source.Audit{Action: "PLAN_CANCEL", Object: "plan", Reason: "test", Actor: "test"}); err != nil {
		l.Fatal(err)
	}
	l.compareGroups(id, 32)
	l.MustVerify()
}

// compareGroups compares what is kept with what the slices say.
func (l *Lab) compareGroups(id harvest.PlanID, all int64) {
	l.Helper()
	p, err := l.Store.Plan(l.ctx(), id)
	if err != nil {
		l.Fatal(err)
	}
	bare := p
	bare.GroupDigits = 0
	window := harvest.Span{From: p.From, To: p.To}
	part := harvest.Span{From: control.ZoomHour.End(control.ZoomHour.Begin(p.From)), To: p.To}
	for _, span := range []harvest.Span{window, part} {
		for _, z := range []control.Zoom{control.ZoomYear, control.ZoomMonth, control.ZoomDay, control.ZoomHour, control.ZoomMinute} {
			kept, err := l.Store.SliceGroups(l.ctx(), p, span, z, 1000)
			if err != nil {
				l.Fatal(err)
			}
			counted, err := l.Store.SliceGroups(l.ctx(), bare, span, z, 1000)
			if err != nil {
				l.Fatal(err)
			}
			if a, b := sums(z, kept), sums(z, counted); !slices.Equal(a, b) {
				l.Errorf("by %s in %v: kept %v, counted %v", z, span, a, b)
			}
			if a, b := came(kept), came(counted); a != b {
				l.Errorf("by %s in %v: kept %+v, counted %+v", z, span, a, b)
			}
		}
	}
	t, err := l.Store.PlanTotals(l.ctx(), id)
	if got := t.Slices.Done + t.Slices.Failed + t.Slices.Open + t.Slices.Resliced; err != nil || got != all {
		l.Errorf("%+v of %d slices, %v", t.Slices, all, err)
	}
}

// sum is how many slices in a state begin in a group.
type sum struct {
	at    harvest.Mark
	state harvest.SliceState
	n     int64
}

// came is what all slices of some groups came to.
func came(counts []control.GroupCount) (all control.SliceSums) {
	for _, c := range counts {
		all.Records += c.Records
		all.Asked += c.Asked
		all.Latency += c.Latency
		all.HTTP429 += c.HTTP429
		if c.State != harvest.SliceResliced {
			all.Expected += c.Expected
			all.Estimated += c.Estimated
		}
	}
	return all
}

func sums(z control.Zoom, counts []control.GroupCount) (out []sum) {
	for _, c := range counts {
		if c.Count == 0 {
			continue // what came before its slices changed their state
		}
		out = append(out, sum{z.Begin(c.Place), c.State, c.Count})
	}
	slices.SortFunc(out, func(a, b sum) int {
		if n := a.at.Compare(b.at); n != 0 {
			return n
		}
		return len(a.state) - len(b.state) // no two are of one length
	})
	return out
}
