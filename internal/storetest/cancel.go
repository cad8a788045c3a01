package storetest

import (
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/infra/sqlstore"
)

// cancelledInParts: what a cancelled plan left is planned again in windows of
// other plans, none of which holds the whole of it. It then holds nothing.
func cancelledInParts(l *Lab) {
	d := Draft(ns, 0, 4)
	d.Slices = []harvest.SliceDraft{child(hour(0), hour(4))}
	h, err := l.Store.SavePlan(l.ctx(), d)
	if err != nil {
		l.Fatal(err)
	}
	if _, err := l.Store.Cancel(l.ctx(), sqlstore.CancelScope{Plan: h.ID}, source.Audit{Actor: "lab", Action: "PLAN_CANCEL", Object: "plan", Reason: "test"}); err != nil {
		l.Fatal(err)
	}
	for from := 0; from < 4; from += 2 {
		l.Plan(from, from+2)
		for range 2 {
			l.Walk(l.LeaseOne())
		}
		l.MustBeAt(from + 2)
		l.MustVerify()
	}
	if gaps, err := l.Store.Gaps(l.ctx(), prov); err != nil || len(gaps) != 0 {
		l.Errorf("gaps %+v, %v", gaps, err)
	}
	// One that nobody planned again holds.
	Clear(l, l.DB, l.tables)
	a := l.Plan(0, 2)
	l.Plan(2, 4)
	if _, err := l.Store.Cancel(l.ctx(), sqlstore.CancelScope{Plan: a.ID}, source.Audit{Actor: "lab", Action: "PLAN_CANCEL", Object: "plan", Reason: "test"}); err != nil {
		l.Fatal(err)
	}
	for range 2 {
		l.Walk(l.LeaseOne())
	}
	l.MustBeAt(0)
	if gaps, err := l.Store.Gaps(l.ctx(), prov); err != nil || len(gaps) != 2 {
		l.Errorf("gaps %+v, %v", gaps, err)
	}
	l.MustVerify()
}
