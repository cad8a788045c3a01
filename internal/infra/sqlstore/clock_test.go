package sqlstore_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/infra/sqlstore"
	"github.com/papertrace/patra/internal/patratest"
)

// TestR17_LeasesAreTimedByTheServer: the server's clock is three hours ahead of
// this process's and stands still, so that every instant the store writes can be
// told from one that the process made up.
func TestR17_LeasesAreTimedByTheServer(t *testing.T) {
	for _, e := range patratest.Servers() {
		t.Run(e.Name, func(t *testing.T) {
			lab := NewLab(t, e)
			server := harvest.Instant(time.Now().Add(3 * time.Hour))
			st, err := sqlstore.OpenFrozen(t.Context(), lab.DSN, server)
			if err != nil {
				t.Fatal(err)
			}
			defer st.Close() //nolint:errcheck // a test's store
			lab.Store = st
			must := func(what, query string, want time.Time) {
				t.Helper()
				if got := lab.Text(query); got != want.Format("2006-01-02 15:04:05.000000") {
					t.Errorf("%s is %s by the store, %s by the server", what, got, want)
				}
			}
			const task = `SELECT leased_until FROM ing_task`
			lab.Plan(0, 1)
			must("the task is due", `SELECT scheduled_at FROM ing_task`, server)
			j := lab.LeaseOne()
			until := server.Add(j.Lease.TTL)
			must("the lease taken", task, until)
			r := lab.Start(j)
			must("the lease of a run", task, until)
			must("the start of a run", `SELECT started_at FROM ing_task_run`, server)
			again := func(what string, write func() error) {
				t.Helper()
				lab.Exec(`UPDATE ing_task SET leased_until='2000-01-01 00:00:00.000000'`)
				if err := write(); err != nil {
					t.Errorf("%s: %v", what, err)
				}
				must("the lease after "+what, task, until)
			}
			again("a renewal", func() error { return st.RenewLease(t.Context(), j.Lease) })
			var o harvest.OpenedBatch
			again("opening a page", func() (err error) {
				o = lab.Open(j, r)
				return nil
			})
			again("committing a page", func() error {
				lab.Commit(j, Page(o, Rec("a", lab.Begin(), server, "a")))
				return nil
			})
			must("a page's commit", `SELECT committed_at FROM ing_task_run_batch`, server)
			if err := st.EndRun(t.Context(), j.Lease, harvest.RunEnd{Run: r.Run, Outcome: harvest.Released, Delay: time.Hour, Code: "rate_wait"}); err != nil {
				t.Fatal(err)
			}
			must("the next try", `SELECT scheduled_at FROM ing_task`, server.Add(time.Hour))
			if jobs := lab.Lease(1); len(jobs) != 0 {
				t.Error("a task was taken before the server's clock said so")
			}
			lab.Exec(fmt.Sprintf(`UPDATE ing_task SET scheduled_at='%s'`, server.Add(-time.Minute).Format("2006-01-02 15:04:05.000000")))
			lab.LeaseOne() // due by the server's clock, in hours by ours
		})
	}
}
