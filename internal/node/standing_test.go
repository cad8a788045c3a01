package node_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/app/registry"
	"github.com/papertrace/patra/internal/app/role"
	"github.com/papertrace/patra/internal/app/scheduler"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/infra/sourcefile"
	"github.com/papertrace/patra/internal/infra/sqlstore"
	"github.com/papertrace/patra/internal/node"
	"github.com/papertrace/patra/internal/patratest"
	"github.com/papertrace/patra/internal/sim"
	"github.com/papertrace/patra/sources"
)

// newStanding is a node that serves the oracle's Crossref, as its shipped pack
// describes it and within its real limits. Nothing is scheduled yet.
func newStanding(t *testing.T) *served {
	t.Helper()
	o, err := sim.New(sim.Config{
		Sources: []string{sim.Crossref}, Records: 200, Seed: 11, KeepLog: -1, Now: time.Now(), Span: 60 * 24 * time.Hour,
		Churn: &sim.Churn{New: 10, Changed: 5, Volatile: 5},
	})
	if err != nil {
		t.Fatal(err)
	}
	b, err := sources.FS.ReadFile("crossref.yaml")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(string(b), "https://api.crossref.org", "http://oracle/crossref")
	text = strings.ReplaceAll(text, "connectTimeout: 10s", "connectTimeout: 10s\n  allowHttp: true\n  allowPrivate: true")
	text = strings.ReplaceAll(text, "      connectTimeout: 10s\n  allowHttp: true\n  allowPrivate: true", "      connectTimeout: 10s\n      allowHttp: true\n      allowPrivate: true")
	p, err := sourcefile.Parse("crossref.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	s := &served{t: t, oracle: o, poll: 30 * time.Minute, dsn: patratest.SQLite.SpareDSN(t)}
	s.packs = map[string]registry.Described{"crossref": {Definition: p.Definition, Hash: p.Hash(), Origin: registry.File}}
	store := patratest.Open(t, s.dsn, sqlstore.Options{})
	vars := map[string]string{"contact": "test@example.org", "tool": "patra-test"}
	led := registry.New(store, registry.Read(s.packs), vars, node.CheckSpec, patratest.Logger(t))
	s.Node = node.Assemble(node.Config{Workers: 2, Poll: s.poll, Logger: patratest.Logger(t)}, store, led, s)
	return s
}

// schedule sets a standing selection of Crossref.
func (s *served) schedule(o control.ScheduleOrder) {
	s.t.Helper()
	o.Source = "crossref"
	o.By = control.By{Actor: "test", Reason: "a test"}
	v, err := s.Control.SetSchedule(s.t.Context(), o)
	if err != nil || !v.Applied {
		s.t.Fatalf("%s: %+v, %v", o.Name, v, err)
	}
}

// selections are three queries that have no record in common.
var selections = map[string]string{"articles": "type:journal-article", "preprints": "type:posted-content", "chapters": "type:book-chapter"}

// members are the ids of the oracle's records of a type.
func (s *served) members(kind string) map[string]bool {
	s.t.Helper()
	time.Sleep(2 * time.Second) // the oracle has limits for us, too
	w := httptest.NewRecorder()
	s.oracle.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/crossref/works?mailto=a@example.org&rows=1000&filter="+kind, nil))
	var reply struct {
		Message struct {
			Total int `json:"total-results"`
			Items []struct{ DOI string }
		}
	}
	if err := json.Unmarshal(w.Body.Bytes(), &reply); err != nil || len(reply.Message.Items) == 0 || len(reply.Message.Items) != reply.Message.Total {
		s.t.Fatalf("%s: %d of %d, %v", kind, len(reply.Message.Items), reply.Message.Total, err)
	}
	out := map[string]bool{}
	for _, item := range reply.Message.Items {
		out[strings.ToLower(item.DOI)] = true
	}
	return out
}

// held are the hashes of the stored records by id.
func (s *served) held() map[string]string {
	s.t.Helper()
	out := map[string]string{}
	err := s.Store.Export(s.t.Context(), control.ExportQuery{Sources: []string{"crossref"}}, func(e *control.Exported) error {
		out[e.ID] = e.RawSHA256
		return nil
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return out
}

// exact holds what is stored against the oracle's records that are wanted and were
// last changed in [from, to), and says how many those are.
func (s *served) exact(what string, wanted func(id string) bool, from, to time.Time) int {
	s.t.Helper()
	have := s.held()
	n := 0
	for row := range s.oracle.Truth("crossref") {
		id := strings.ToLower(row.ID)
		if !wanted(id) || row.UpdatedAt.Before(from) || !row.UpdatedAt.Before(to) {
			continue
		}
		n++
		if have[id] != row.RawSHA256 {
			s.t.Errorf("%s: %s, changed at %s, is held as %q", what, id, row.UpdatedAt, have[id])
		}
	}
	if n == 0 {
		s.t.Errorf("%s: nothing was compared", what)
	}
	return n
}

// proven is how far the selection of a schedule is proven, and by which cursor.
func (s *served) proven(name string) (time.Time, harvest.CursorID) {
	s.t.Helper()
	v, err := s.Control.Schedule(s.t.Context(), name)
	if err != nil || v.Cursor == nil || v.Cursor.ProvenTo == "" {
		s.t.Fatalf("%s: %+v, %v", name, v, err)
	}
	at, err := time.Parse(time.RFC3339Nano, v.Cursor.ProvenTo)
	if err != nil {
		s.t.Fatal(err)
	}
	return at, v.Cursor.Cursor
}

// oneLimit fails the test unless all that was asked kept to the one limit there is.
func (s *served) oneLimit() {
	s.t.Helper()
	st := s.oracle.Stats().Sources[sim.Crossref]
	if st.Breaches != (sim.Breaches{}) || st.Requests == 0 {
		s.t.Errorf("%d requests, breaches %+v", st.Requests, st.Breaches)
	}
	if n := s.count(`SELECT COUNT(*) FROM ing_rate_gate`); n != 1 {
		s.t.Errorf("%d rate limits were kept", n)
	}
}

// TestR68_ThreeSelectionsSideBySide: three standing selections of one source are
// triggered by lines of their own, have three cursors and one rate limit, and each
// holds exactly what the oracle has of it. One that is paused begins nothing.
func TestR68_ThreeSelectionsSideBySide(t *testing.T) {
	t.Parallel()
	servedBubble(t, func(t *testing.T) {
		s := newStanding(t)
		began := time.Now()
		for name, query := range selections {
			s.schedule(control.ScheduleOrder{Name: name, Query: query, Cron: "0 */6 * * *"})
		}
		s.schedule(control.ScheduleOrder{Name: "datasets", Query: "type:dataset", Cron: "@hourly"})
		if _, err := s.Control.PauseSchedule(t.Context(), control.ScheduleHold{Name: "datasets", By: control.By{Reason: "not now"}}); err != nil {
			t.Fatal(err)
		}
		stop := s.begin(role.All...)
		time.Sleep(2*24*time.Hour + 2*time.Hour)
		stop()
		s.oneLimit()
		triggered := map[string]int{}
		for _, ev := range s.events {
			if ev.Kind != scheduler.Triggered {
				t.Errorf("%+v", ev)
			}
			triggered[ev.Schedule]++
		}
		cursors := map[harvest.CursorID]string{}
		for name, query := range selections {
			if triggered[name] != 8 {
				t.Errorf("%s was triggered %d times", name, triggered[name])
			}
			w, cursor := s.proven(name)
			if other := cursors[cursor]; other != "" {
				t.Errorf("%s and %s have one cursor", name, other)
			}
			cursors[cursor] = name
			if w.Before(began.Add(47 * time.Hour)) {
				t.Errorf("%s is proven to %s", name, w)
			}
			members := s.members(query)
			s.exact(name, func(id string) bool { return members[id] }, began.Add(-29*24*time.Hour), w) // from the baseline
		}
		if triggered["datasets"] != 0 || s.count(`SELECT COUNT(*) FROM ing_cursor WHERE operation_code='HARVEST'`) != 3 {
			t.Errorf("triggered %v, cursors %v", triggered, cursors)
		}
		datasets := s.members("type:dataset")
		for id := range s.held() {
			if datasets[id] {
				t.Errorf("%s is of a selection that was paused", id)
			}
		}
		patratest.MustVerify(t, s.Store)
	})
}

// noPile fails the test if plans pile up: of a namespace at most one has nothing
// stored yet, and one more is worked on; of a line of activities one is open, and one
// sentinel of each namespace. A plan
// of which a slice was given up as a gap is left out of the first two: it holds no
// newer window, and is tried again beside it.
func (s *served) noPile(when string) {
	s.t.Helper()
	const open = `SELECT p.cursor_id AS cursor_id, p.operation_code AS op, i.scheduler_job_id AS job, p.watches_cursor_id AS watches,
			EXISTS (SELECT 1 FROM ing_task_run_batch b WHERE b.plan_id=p.id AND b.status_code='SUCCEEDED') AS begun,
			EXISTS (SELECT 1 FROM ing_plan_slice s WHERE s.plan_id=p.id AND s.fail_count>0) AS was_gap
		FROM ing_plan p JOIN ing_schedule_instance i ON i.id=p.schedule_instance_id
		WHERE EXISTS (SELECT 1 FROM ing_task t WHERE t.plan_id=p.id AND t.status_code IN ('QUEUED','DISPATCHED','EXECUTING'))`
	for what, q := range map[string]string{
		"plans of a selection, none of them begun": `SELECT COALESCE(MAX(n), 0) FROM (SELECT COUNT(*)-1 AS n FROM (` + open + `) x WHERE begun=0 AND was_gap=0 GROUP BY cursor_id) y`,
		"more than two plans of a selection":       `SELECT COALESCE(MAX(n), 0) FROM (SELECT COUNT(*)-2 AS n FROM (` + open + `) x WHERE op='HARVEST' AND was_gap=0 GROUP BY cursor_id) y`,
		"plans of one line of activities":          `SELECT COALESCE(MAX(n), 0) FROM (SELECT COUNT(*)-1 AS n FROM (` + open + `) x WHERE op<>'HARVEST' GROUP BY job, watches) y`,
	} {
		if n := s.count(q); n > 0 {
			s.t.Errorf("%s: %d too many %s", when, n, what)
		}
	}
}

// thirtyDays holds what the schedules brought against the oracle.
func (s *served) thirtyDays(began time.Time) {
	t := s.t
	t.Helper()
	now := time.Now()
	day := 24 * time.Hour
	compared := map[string]int{}
	cursors := map[harvest.CursorID]bool{}
	for name, query := range selections {
		w, cursor := s.proven(name)
		cursors[cursor] = true
		if now.Sub(w) > day+time.Hour*9 {
			t.Errorf("%s is proven to %s only", name, w)
		}
		members := s.members(query)
		compared[name] = s.exact(name, func(id string) bool { return members[id] }, began.Add(-29*day), w) // from the baseline
	}
	from, cursor := s.proven("history")
	cursors[cursor] = true
	if !from.Equal(began.Add(-60 * day)) {
		t.Errorf("history is proven back to %s", from)
	}
	compared["history"] = s.exact("history", func(string) bool { return true }, from, began.Add(-10*day))
	// The days before the one on which it came last are read without a hole, though
	// it could not begin on all of them.
	reports := s.members("type:report")
	compared["reread"] = s.exact("reread", func(id string) bool { return reports[id] }, began.Add(-day), now.Add(-3*day))
	if len(cursors) != 4 {
		t.Errorf("%d cursors of four lines", len(cursors))
	}
	if n := s.count(`SELECT COUNT(*) FROM ing_cursor WHERE operation_code='HARVEST'`); n != 3 {
		t.Errorf("%d cursors of harvests", n)
	}
	if n := s.count(`SELECT COUNT(*) FROM ing_cursor_event e JOIN ing_plan p ON p.id=e.plan_id WHERE e.cursor_id<>p.cursor_id`); n != 0 {
		t.Errorf("%d moves of a cursor by a plan of another", n)
	}
	// What was not seen for six days was read again each night.
	if n := s.count(`SELECT COUNT(*) FROM ing_record WHERE observed_at<'` + harvest.FormatInstant(now.Add(-8*day)) + `'`); n != 0 {
		t.Errorf("%d records were not seen for eight days", n)
	}
	triggers := map[string]int{}
	for name := range map[string]bool{"articles": true, "preprints": true, "chapters": true, "history": true, "reread": true, "stale": true} {
		triggers[name] = s.count(`SELECT COUNT(*) FROM ing_schedule_instance WHERE scheduler_job_id='` + name + `' AND outcome_code<>'FAILED'`)
		if triggers[name] == 0 {
			t.Errorf("%s was never triggered", name)
		}
	}
	t.Logf("compared %v; triggers %v; %d plans, %d requests", compared, triggers, s.count(`SELECT COUNT(*) FROM ing_plan`), s.oracle.Stats().Sources[sim.Crossref].Requests)
}
