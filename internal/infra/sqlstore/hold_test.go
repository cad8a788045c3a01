package sqlstore_test

import (
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/infra/sqlstore"
	"github.com/papertrace/patra/internal/patratest"
)

// hold is a way to stop work, and how to undo it.
type hold struct {
	name string
	on   func(st *sqlstore.Store, l *Lab) error
}

func holds() []hold {
	return []hold{
		{"pause", func(st *sqlstore.Store, l *Lab) error { return st.HoldSource(l.ctx(), prov, true, false, "test") }},
		{"stop", func(st *sqlstore.Store, l *Lab) error { return st.HoldSource(l.ctx(), prov, false, true, "test") }},
		{"cancel", func(_ *sqlstore.Store, l *Lab) error {
			tx, err := l.DB.BeginTx(l.ctx(), nil)
			if err != nil {
				return err
			}
			defer tx.Rollback() //nolint:errcheck // after a commit it does nothing
			if _, err := tx.Exec(`UPDATE ing_task SET status_code='CANCELLED' WHERE status_code IN ('QUEUED','DISPATCHED','EXECUTING')`); err != nil {
				return err
			}
			if _, err := tx.Exec(`UPDATE ing_plan_slice SET status_code='CANCELLED' WHERE status_code='READY'`); err != nil {
				return err
			}
			if err := tx.Commit(); err != nil {
				return err
			}
			patratest.Recount(l, l.DB)
			return nil
		}},
	}
}

// heldInEveryStep holds before each write and in the last instant of it.
func heldInEveryStep(l *Lab) {
	other := patratest.Open(l, l.DSN, sqlstore.Options{})
	var atCommit func()
	st := patratest.Open(l, l.DSN, sqlstore.Options{Hook: func(p string) error {
		if p == "before commit" && atCommit != nil {
			atCommit()
		}
		return nil
	}})
	for k, w := range writes() {
		for i, h := range holds() {
			if l.leavesOut(k + i) {
				continue
			}
			what := h.name + " at " + w.name
			j, r, o := l.under(w)
			if err := h.on(other, l); err != nil {
				l.Fatalf("%s: %v", what, err)
			}
			if ends := strings.HasPrefix(w.name, "EndRun"); ends {
				// Letting go is allowed and changes nothing but the attempt itself.
				if err := w.call(l.Store, l, j, r, o); err != nil {
					l.Errorf("%s: %v", what, err)
				}
				if n := l.Int(`SELECT COUNT(*) FROM ing_plan_slice WHERE status_code IN ('DONE','FAILED','RESLICED')`); n != 0 {
					l.Errorf("%s: decided a slice", what)
				}
				if n := l.Int(`SELECT COUNT(*) FROM ing_task WHERE lease_owner IS NOT NULL AND status_code<>'CANCELLED'`); n != 0 {
					l.Errorf("%s: the task is still leased", what)
				}
				if n := l.Int(`SELECT COUNT(*) FROM ing_task_run WHERE status_code='RUNNING'`); n != 0 {
					l.Errorf("%s: the run is still open", what)
				}
			} else {
				l.Unchanged(what, func() {
					if err := w.call(l.Store, l, j, r, o); !errors.Is(err, harvest.ErrHeld) {
						l.Errorf("%s: got %v", what, err)
					}
				})
			}
			l.MustVerify()

			// In the last instant the hold must wait for the commit, or win.
			j, r, o = l.under(w)
			done := make(chan error, 1)
			won := false
			var once sync.Once
			atCommit = func() {
				once.Do(func() {
					go func() { done <- h.on(other, l) }()
					select {
					case err := <-done:
						won = true
						done <- err
					case <-time.After(50 * time.Millisecond):
					}
				})
			}
			err := w.call(st, l, j, r, o)
			atCommit = nil
			if herr := <-done; herr != nil {
				l.Fatalf("%s, in the last instant: %v", what, herr)
			}
			if won && err == nil {
				l.Errorf("%s: was over, and yet the write committed after it", what)
			}
			l.MustVerify()
		}
	}
}

func heldNotPicked(l *Lab) {
	l.Plan(0, 2)
	j := l.LeaseOne()
	l.Expire(j.Lease.Task)
	for _, paused := range []bool{true, false} {
		if err := l.Store.HoldSource(l.ctx(), prov, paused, !paused, "test"); err != nil {
			l.Fatal(err)
		}
		if n := l.Lease(9); len(n) != 0 {
			l.Errorf("paused %v: %d tasks taken", paused, len(n))
		}
	}
	if err := l.Store.HoldSource(l.ctx(), prov, false, false, ""); err != nil {
		l.Fatal(err)
	}
	if n := l.Lease(9); len(n) != 2 {
		l.Errorf("%d tasks taken after the resume", len(n))
	}
}
