package sqlstore_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/app/alert"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/infra/archive"
	"github.com/papertrace/patra/internal/infra/sqlstore"
	"github.com/papertrace/patra/internal/patratest"
)

// TestR74_RolesNeedNoMoreThanTheirGrants: on a server, planner, executor, scheduler and
// reader do their work as users who have what Grants says, and may do nothing that is not
// theirs.
func TestR74_RolesNeedNoMoreThanTheirGrants(t *testing.T) {
	t.Parallel()
	for _, e := range patratest.Servers() {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			l := NewLab(t, e)
			planner := l.as("planner")
			executor := l.as("executor")
			scheduler := l.as("scheduler")
			reader := l.as("reader")

			planner.Plan(0, 2)
			jobs := executor.Lease(2)
			executor.Walk(jobs[0], Rec("a", hour(0), hour(0), "v1"))
			executor.Walk(jobs[1], Rec("a", hour(1), hour(1), "v2"))
			planner.Save(updateDraft("night", 0, 2, []string{"a", "b"}))
			executor.reread(executor.LeaseOne())
			scheduler.Plan(2, 4)
			jobs = executor.Lease(2)
			executor.Walk(jobs[0])
			executor.Refuse(jobs[1])
			if _, err := scheduler.Store.RequeueDue(t.Context()); err != nil {
				t.Error(err)
			}
			noop := harvest.Trigger{Provenance: prov, Operation: harvest.Harvest, Kind: harvest.TriggerManual}
			if err := scheduler.Store.RecordTrigger(t.Context(), noop, harvest.TriggerNoop, ""); err != nil {
				t.Error(err)
			}
			scheduler.alertAndTune()
			planner.Plan(4, 5)
			done, err := archiver(scheduler.Store, archive.New(t.TempDir())).Archive(t.Context(), everyOld(), byTest)
			if err != nil || done.Rows == 0 {
				t.Errorf("archived %d rows: %v", done.Rows, err)
			}
			patratest.MustVerify(t, reader.Store)

			for who, refused := range map[*Lab][]string{
				reader:    {`DELETE FROM ing_meta`, `UPDATE ing_task SET priority=1`},
				planner:   {`DELETE FROM ing_plan`, `UPDATE ing_record SET revision=9`, `DELETE FROM sys_audit`},
				executor:  {`DELETE FROM ing_record`, `DELETE FROM ing_cursor_event`, `UPDATE reg_provenance SET homepage=''`, `DELETE FROM ing_plan`},
				scheduler: {`DELETE FROM ing_record`, `DELETE FROM ing_quarantine`, `DELETE FROM sys_audit`, `DELETE FROM ing_archive`},
			} {
				for _, q := range refused {
					if _, err := who.DB.Exec(q); err == nil || !strings.Contains(err.Error(), "denied") {
						t.Errorf("%s: %s: %v", who.DSN, q, err)
					}
				}
			}
		})
	}
}

// alertAndTune does what a scheduler does besides planning.
func (l *Lab) alertAndTune() {
	l.Helper()
	box := new(letterbox)
	look := func(context.Context) (alert.Facts, error) {
		return alert.Facts{Sources: []alert.SourceFacts{{Code: prov, Stopped: true, StoppedBy: "auth_refused: 401"}}}, nil
	}
	watch := alert.New(alert.Config{}, look, l.Store, box, slog.New(slog.DiscardHandler))
	for range 3 {
		if err := watch.Tick(l.ctx()); err != nil {
			l.Error(err)
		}
	}
	if err := watch.Send(l.ctx()); err != nil || len(box.got) != 1 {
		l.Errorf("told of %d alerts: %v", len(box.got), err)
	}
	if err := l.Store.NoteQueues(l.ctx(), []alert.QueueLook{{Source: prov, Operation: harvest.Harvest, Waiting: 1}}); err != nil {
		l.Error(err)
	}
	if won, err := l.Store.ClaimSentinel(l.ctx(), ns, hour(0)); err != nil || !won {
		l.Errorf("sentinel %v: %v", won, err)
	}
	if won, err := l.Store.TuneLag(l.ctx(), harvest.Tuning{Namespace: ns, Declared: time.Hour, From: time.Hour, To: 2 * time.Hour, Rate: 0.1}); err != nil || !won {
		l.Errorf("tuned %v: %v", won, err)
	}
}

// TestR74_EveryTableIsWrittenBySomeRole: a table that came later than the grants, and that
// no role may write, would stop whoever works with them at the first row. Those that only
// people change are theirs.
func TestR74_EveryTableIsWrittenBySomeRole(t *testing.T) {
	t.Parallel()
	ofPeople := []string{
		"ing_schedule", "ing_search", "ing_search_source", "ing_search_run", "ing_search_outcome", "ing_work_decision", "ing_work_decision_record",
	}
	var granted strings.Builder
	for _, role := range []string{"planner", "executor", "scheduler", "relay"} {
		grants, err := sqlstore.Grants(role, "", "somebody")
		if err != nil {
			t.Fatal(err)
		}
		granted.WriteString(strings.Join(grants, "\n"))
	}
	tables := map[string]bool{}
	for c := range sqliteColumns(t) {
		table, _, _ := strings.Cut(c, ".")
		tables[table] = strings.HasPrefix(table, "ing_")
	}
	for table, isOurs := range tables {
		may := strings.Contains(granted.String(), "`."+table+" ")
		if isOurs && may == slices.Contains(ofPeople, table) {
			t.Errorf("%s: written by a role: %v", table, may)
		}
	}
}

// as is the lab as a user who was granted a role.
func (l *Lab) as(role string) *Lab {
	l.Helper()
	u, err := url.Parse(l.DSN)
	if err != nil {
		l.Fatal(err)
	}
	name := fmt.Sprintf("%s_%s", role[:2], strings.Trim(u.Path, "/"))
	name = name[:min(len(name), 32)]
	if _, err := l.DB.Exec(`CREATE USER '` + name + `'@'%' IDENTIFIED BY 'secret of the role'`); err != nil {
		l.Fatal(err)
	}
	l.Cleanup(func() {
		if _, err := l.DB.Exec(`DROP USER '` + name + `'@'%'`); err != nil {
			l.Error(err)
		}
	})
	grants, err := sqlstore.Grants(role, l.DSN, name)
	if err != nil {
		l.Fatal(err)
	}
	for _, q := range grants {
		if _, err := l.DB.Exec(q); err != nil {
			l.Fatalf("%s: %v", q, err)
		}
	}
	u.User = url.UserPassword(name, "secret of the role")
	c := *l
	c.DSN = u.String()
	c.Store = patratest.Open(l, c.DSN, sqlstore.Options{})
	c.DB = patratest.Raw(l, c.DSN)
	return &c
}
