package sqlstore_test

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/app/alert"
	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/app/keyring"
	"github.com/papertrace/patra/internal/app/relay"
	"github.com/papertrace/patra/internal/domain/credential"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/problem"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/infra/archive"
	"github.com/papertrace/patra/internal/infra/sqlstore"
	"github.com/papertrace/patra/internal/infra/vault"
	"github.com/papertrace/patra/internal/patratest"
)

// TestR74_RolesNeedNoMoreThanTheirGrants: on a server each role of a fleet does its work as a
// user who has what Grants says, and the server refuses it what is not its own: the registry
// to all that serve by themselves, the schema to whoever works at a console. A console that
// lets nobody change anything is a reader.
func TestR74_RolesNeedNoMoreThanTheirGrants(t *testing.T) {
	t.Parallel()
	for _, e := range patratest.Servers() {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			l := NewLab(t, e)
			planner := l.as("planner")
			executor := l.as("executor")
			scheduler := l.as("scheduler")
			messenger := l.as("relay")
			console := l.as("operator")
			watching := l.as("reader")

			key := console.key("main")
			for name, who := range map[string]*Lab{"planners": planner, "executors": executor, "schedulers": scheduler} {
				l.keyBySQL(name, nil, 0)
				l.Exec(`UPDATE reg_prov_credential SET endpoint_name=credential_name WHERE credential_name=?`, name)
				who.pickFirst(name)
			}
			l.keyBySQL("relays", nil, 0)
			_, err := messenger.Store.BindCredential(t.Context(), l.keyNamed("relays").ID, []string{"https://api.keyed.example"}, byTest)
			if p, _ := problem.Of(err); p.Code != "not_granted" || !strings.Contains(p.Next, "patra db grants ROLE") {
				t.Errorf("a right that is missing: %+v", p)
			}
			l.Exec(`INSERT INTO ing_outbox (record_id, revision, created_at) VALUES (1, 1, '2024-01-01')`) // of an earlier time
			messenger.tell()

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
			l.Due()
			for _, who := range []*Lab{planner, executor, scheduler} {
				if _, err := who.Store.RequeueDue(t.Context()); err != nil {
					t.Errorf("%s: %v", who.DSN, err)
				}
			}
			noop := harvest.Trigger{Provenance: prov, Operation: harvest.Harvest, Kind: harvest.TriggerManual}
			if err := scheduler.Store.RecordTrigger(t.Context(), noop, harvest.TriggerNoop, ""); err != nil {
				t.Error(err)
			}
			for was, who := range []*Lab{executor, planner, scheduler} {
				who.meetRefusals(console, key, was)
			}

			messenger.relayWithRefusal(l, console)
			scheduler.alertAndTune()
			scheduler.linkAll(100)
			if err := console.Store.UseFeed(t.Context(), 0); err != nil {
				t.Error(err)
			}
			if n, err := scheduler.Store.PruneOutbox(t.Context(), -time.Hour, -time.Hour); err != nil || n == 0 {
				t.Errorf("%d rows of the outbox were removed: %v", n, err)
			}
			planner.Plan(4, 5)
			done, err := archiver(scheduler.Store, archive.New(t.TempDir())).Archive(t.Context(), everyOld(), byTest)
			if err != nil || done.Rows == 0 {
				t.Errorf("archived %d rows: %v", done.Rows, err)
			}
			patratest.MustVerify(t, watching.Store)

			for who, foreign := range map[*Lab][]string{
				watching:  append(ofTheRegistry(), `DELETE FROM ing_meta`, `UPDATE ing_task SET priority=1`, `INSERT INTO sys_audit (actor) VALUES ('x')`),
				planner:   append(ofTheRegistry(), `DELETE FROM ing_plan`, `UPDATE ing_record SET revision=9`, `DELETE FROM sys_audit`),
				executor:  append(ofTheRegistry(), `DELETE FROM ing_record`, `DELETE FROM ing_cursor_event`, `DELETE FROM ing_plan`, `DELETE FROM sys_audit`),
				scheduler: append(ofTheRegistry(), `DELETE FROM ing_record`, `DELETE FROM ing_quarantine`, `DELETE FROM sys_audit`, `DELETE FROM ing_archive`),
				messenger: append(ofTheRegistry(), `UPDATE ing_plan SET status_code='DONE'`, `UPDATE ing_task SET priority=1`,
					`UPDATE ing_source_state SET stopped=0`, `UPDATE ing_credential_state SET refused_count=0`, `INSERT INTO sys_audit (actor) VALUES ('x')`, `UPDATE ing_record SET revision=9`),
				console: {`DROP TABLE ing_meta`, `CREATE TABLE thief (id INT)`, `ALTER TABLE ing_meta ADD COLUMN thief INT`},
			} {
				for _, q := range foreign {
					if _, err := who.DB.Exec(q); !isDenied(err) {
						t.Errorf("%s: %s: %v", who.DSN, q, err)
					}
				}
			}
			err = watching.Store.RenewLease(t.Context(), jobs[0].Lease)
			if refused, ok := errors.AsType[*sqlstore.ConditionError](err); !ok || refused.Kind != "not_granted" {
				t.Errorf("a reader renews a lease: %v", err)
			}
		})
	}
}

// isDenied reports that a server refused what its user may not do. TiDB has words of its own for updates.
func isDenied(err error) bool {
	return err != nil && (strings.Contains(err.Error(), "command denied") || strings.Contains(err.Error(), "privilege check"))
}

// ofTheRegistry are statements that whoever serves by itself is refused.
func ofTheRegistry() []string {
	return []string{
		`UPDATE reg_provenance SET homepage=''`,
		`INSERT INTO reg_provenance (provenance_code) VALUES ('thief')`,
		`DELETE FROM reg_prov_http_cfg`,
		`UPDATE reg_prov_credential SET refused_count=0`,
		`UPDATE reg_prov_credential SET origins_json='["https://thief.example.org"]'`,
	}
}

// meetRefusals does what a role that asks sources does when it is refused: it notes that of a
// key, which was refused so often before, and stops a source by a fatal fault, which a person
// lets go on.
func (l *Lab) meetRefusals(person *Lab, key credential.Credential, was int) {
	l.Helper()
	if err := l.Store.NoteRefusal(l.ctx(), key.ID, was, was+1, time.Minute); err != nil {
		l.Error(err)
	}
	if got := l.keyNamed(key.Name); got.Refused != was+1 {
		l.Errorf("refused %d times, want %d", got.Refused, was+1)
	}
	at := harvest.Partition{Provenance: prov, Endpoint: "search", Operation: harvest.Harvest}
	if err := l.Store.StopSource(l.ctx(), at, harvest.CodeAuthRefused, "401"); err != nil {
		l.Error(err)
	}
	if st, err := l.Store.SourceState(l.ctx(), prov); err != nil || !st.Stopped {
		l.Errorf("the source goes on: %v", err)
	}
	if err := person.Store.HoldSource(l.ctx(), prov, false, false, ""); err != nil {
		l.Error(err)
	}
}

// pickFirst picks a credential that was entered by SQL alone, as a role does that is the first to
// want it: it is bound to where its source is, and sent nowhere else.
func (l *Lab) pickFirst(name string) {
	l.Helper()
	const home = "https://api.keyed.example"
	where := func(context.Context, string) ([]string, error) { return []string{home}, nil }
	open := vault.New(func(name string) (string, bool) { return "the-very-secret-of-this-key", name == "KEY" })
	ring := keyring.New(l.Store, open, func(credential.Secret) {}, where, slog.New(slog.DiscardHandler))
	spec := &source.Spec{
		Source: keyed, HTTP: source.HTTP{BaseURL: home}, Operation: string(harvest.Harvest), Search: source.Endpoint{Name: name},
		Auth: &source.Auth{Type: source.AuthAPIKey, In: source.InHeader, Name: "X-Key", Pool: keyed},
	}
	if _, _, err := ring.Pick(l.ctx(), spec, source.ForSearch, []string{"https://thief.example"}, nil); err == nil {
		l.Errorf("%s: %s is sent to anybody", l.DSN, name)
	}
	if key, is, err := ring.Pick(l.ctx(), spec, source.ForSearch, []string{home}, nil); err != nil || !is || key.Credential.Name != name {
		l.Errorf("%s: picked %q, %v", l.DSN, key.Credential.Name, err)
	}
}

// relayWithRefusal does what a relay does while a message is refused until it is parked, which
// a person then has sent again.
func (l *Lab) relayWithRefusal(owner, person *Lab) {
	l.Helper()
	c := newConsumer()
	isRefused := true
	c.refuse = func(m relay.Message) error {
		if isRefused && m.ID == "b" {
			return fmt.Errorf("%w: too large", relay.ErrRefused)
		}
		return nil
	}
	for range relay.Tries {
		l.drain(c)
		owner.Exec(`UPDATE ing_outbox_held SET next_at=created_at`) // their rest is over
	}
	if n, err := person.Store.RetryOutbox(l.ctx(), control.OutboxRetry{Target: c.Name()}, byTest); err != nil || n != 1 {
		l.Errorf("%d parked messages are sent again: %v", n, err)
	}
	isRefused = false
	l.drain(c)
	owner.mustEqualStore(c)
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
	h := fnv.New32a() // a name has 32 letters at most, that of a database more
	_, _ = h.Write([]byte(u.Path))
	name := fmt.Sprintf("%s_%x", role, h.Sum32())
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
