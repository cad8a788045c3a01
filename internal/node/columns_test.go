package node_test

import (
	"database/sql"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/app/registry"
	"github.com/papertrace/patra/internal/app/retention"
	"github.com/papertrace/patra/internal/app/role"
	"github.com/papertrace/patra/internal/domain/credential"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/infra/archive"
	"github.com/papertrace/patra/internal/infra/bus"
	"github.com/papertrace/patra/internal/infra/notify"
	"github.com/papertrace/patra/internal/node"
	"github.com/papertrace/patra/internal/patratest"
	"github.com/papertrace/patra/internal/sim"
)

// columnWatch looks at stores again and again, and remembers which columns have had
// another value than the one they begin with.
type columnWatch struct {
	mu      sync.Mutex // guards what follows: requests look, too
	t       *testing.T
	columns map[string]storedColumn
	written map[string]bool
}

// storedColumn is one of a table, with what it holds if nobody writes it.
type storedColumn struct {
	table, column string
	begins        sql.NullString
}

func newColumnWatch(t *testing.T) *columnWatch {
	return &columnWatch{t: t, columns: map[string]storedColumn{}, written: map[string]bool{}}
}

// look notes what is written in a store now.
func (w *columnWatch) look(db *sql.DB) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.t.Helper()
	if len(w.columns) == 0 {
		w.readColumns(db)
	}
	for name, c := range w.columns {
		if !w.written[name] {
			w.written[name] = w.isWritten(db, c)
		}
	}
}

func (w *columnWatch) readColumns(db *sql.DB) {
	w.t.Helper()
	rows, err := db.Query(`SELECT m.name, c.name, c.dflt_value FROM sqlite_schema m JOIN pragma_table_info(m.name) c
		WHERE m.type='table' AND m.name LIKE 'ing\_%' ESCAPE '\'`)
	if err != nil {
		w.t.Fatal(err)
	}
	for rows.Next() {
		var c storedColumn
		if err := rows.Scan(&c.table, &c.column, &c.begins); err != nil {
			w.t.Fatal(err)
		}
		w.columns[c.table+"."+c.column] = c
	}
	if err := rows.Close(); err != nil {
		w.t.Fatal(err)
	}
}

// isWritten reports whether a row has another value than none, nothing, zero, and what the
// column begins with.
func (w *columnWatch) isWritten(db *sql.DB, c storedColumn) (is bool) {
	w.t.Helper()
	q := fmt.Sprintf(`SELECT EXISTS (SELECT 1 FROM %s WHERE %s IS NOT NULL AND %s<>''`, c.table, c.column, c.column)
	if c.begins.Valid {
		q += fmt.Sprintf(" AND %s<>%s", c.column, c.begins.String)
	} else {
		q += fmt.Sprintf(" AND %s<>0", c.column)
	}
	if err := db.QueryRow(q + ")").Scan(&is); err != nil {
		w.t.Errorf("%s: %v", q, err)
	}
	return is
}

// rest are the columns that nothing has written.
func (w *columnWatch) rest() (out []string) {
	for _, name := range slices.Sorted(maps.Keys(w.columns)) {
		if !w.written[name] {
			out = append(out, name)
		}
	}
	return out
}

// unwrittenByRuns are the columns that no run here writes, each with its reason.
var unwrittenByRuns = map[string]string{
	"ing_record_version.fields":           "Rows from before fields were part of the body have theirs here.",
	"ing_outbox_target.snapshot_after":    feeds,
	"ing_outbox_target.asked_at":          feeds,
	"ing_outbox_target.failures":          refusals,
	"ing_outbox_target.error":             refusals,
	"ing_outbox_held.id":                  refusals,
	"ing_outbox_held.target_id":           refusals,
	"ing_outbox_held.record_id":           refusals,
	"ing_outbox_held.revision":            refusals,
	"ing_outbox_held.state_code":          refusals,
	"ing_outbox_held.attempts":            refusals,
	"ing_outbox_held.error":               refusals,
	"ing_outbox_held.next_at":             refusals,
	"ing_outbox_held.created_at":          refusals,
	"ing_record.merged_into":              merges,
	"ing_task_run_batch.merged":           merges,
	"ing_plan_total.merged":               merges,
	"ing_plan_total.filtered":             "as that of ing_task_run_batch",
	"ing_plan_total.stale":                "as that of ing_task_run_batch",
	"ing_task.deaths_in_hand":             deaths,
	"ing_task.reply_fence":                deaths,
	"ing_alert.flaps":                     "an alert that comes back within the hour: the tests of package alert",
	"ing_breaker.break_after":             "another number of failures than the platform's three: TestStore/.../R69_TheBreakerIsTheSources",
	"ing_endpoint_state.paused":           endpoints,
	"ing_endpoint_state.reason":           endpoints,
	"ing_endpoint_state.since":            endpoints,
	"ing_endpoint_state.stopped":          "an endpoint that a fatal fault stopped: TestStore/.../R72_AFatalFaultStopsItsEndpoint",
	"ing_credential_state.credential_id":  keyRefused,
	"ing_credential_state.refused_count":  keyRefused,
	"ing_credential_state.refused_until":  keyRefused,
	"ing_credential_state.updated_at":     keyRefused,
	"ing_credential_state.origins_json":   "a credential of which nobody said where it may be sent: TestStore/.../R81_BoundAtFirstSight",
	"ing_schedule_instance.endpoint_name": "a trigger that names one, which none of these does",
	"ing_source_state.max_walks":          "a source that refused several walks at once: the store's suite, walks_test.go",
	"ing_task_run_batch.filtered":         "for sources that can only be sorted by date, which give more than the window; the sources of this test are asked for it",
	"ing_selection_bad_id.selection_id":   badIDs,
	"ing_selection_bad_id.bad_id":         badIDs,
	"ing_task_run_batch.stale":            "a version that is older than the one held came later: TestStore/.../R28_AnyOrderConverges",
}

const (
	feeds      = "the feed, and what is held sent to one who is new: TestStore/.../R90_FeedBeginsWithWhatIsHeld, R90_RowsAreForSomebody"
	refusals   = "a target that is out, or refuses a message: TestStore/.../R35_TargetThatIsOutRests, R35_RefusedMessageIsParked"
	deaths     = "a worker that died with a reply in hand, real processes only: TestR16_RunTheSameCommandAgain"
	badIDs     = "an id without details that a search names: TestStore/.../Search_BadIDsCountForEverySelection"
	endpoints  = "an endpoint that a person paused: TestStore/.../R72_PausedEndpointHoldsItsTasks"
	keyRefused = "a credential that a source refused, which this one asks for none: TestStore/.../R74_KeyHealthIsRuntimeState"
	merges     = "an id that was merged into another: TestR31_WhatBecomesOfARecord has a source with such"
)

// TestR66_EveryColumnIsWrittenByARun: after days of harvests with troubles and of
// operators at work every column has held something. One that never has is to be dropped,
// or stands above with its reason.
func TestR66_EveryColumnIsWrittenByARun(t *testing.T) {
	t.Parallel()
	w := newColumnWatch(t)
	servedBubble(t, func(t *testing.T) {
		w.t = t
		liveThroughTroubles(t, w)
	})
	w.t = t
	harvestTwoPhases(t, w)
	servedBubble(t, func(t *testing.T) {
		w.t = t
		searchTwice(t, w)
	})
	w.t = t
	rest := w.rest()
	for _, name := range rest {
		// Whether records of one work, people who decide about it and bad identifiers come is chance here. The suite of
		// the store writes all of these: TestStore/.../Works_InAnyOrder, Works_ABadIdentifierJoinsNothing, Works_WhatPeopleDecideStays.
		ofWorks := strings.HasPrefix(name, "ing_work_")
		if unwrittenByRuns[name] == "" && !ofWorks {
			t.Errorf("%s: no run has written it; drop it, or say why", name)
		}
	}
	for name := range unwrittenByRuns {
		if !slices.Contains(rest, name) {
			t.Errorf("%s: a run has written it, so take it off the list", name)
		}
	}
}

// troubled is a year's source with an operator beside it.
type troubled struct {
	*year
	db    *sql.DB
	watch *columnWatch
	began time.Time
	by    control.By

	mu sync.Mutex // guards what follows
	// refusal, if not 0, is answered once in place of the oracle.
	refusal int
	stolen  bool
	spoilt  bool
	asked   int
	looks   int // at the next requests
}

// liveThroughTroubles serves a source for parts of two days: harvests, a backfill and updates,
// outages, a refusal that stops it, a page with a bad item, a worker that is taken for dead,
// a slice that is given up. People acknowledge, mute, accept, discard and archive.
func liveThroughTroubles(t *testing.T, w *columnWatch) {
	s := &troubled{year: newYear(t), watch: w, by: control.By{Actor: "test", Reason: "to see it written"}}
	s.db = patratest.Raw(t, s.dsn)
	s.began = time.Now()
	d := s.packs["generic"]
	plan := *d.Definition.Schedule
	plan.Sentinel = true
	d.Definition.Schedule = &plan
	s.packs["generic"] = d
	s.instead = s.trouble
	cfg := node.Config{Workers: 2, Poll: s.poll, Logger: patratest.Logger(t), Alerts: notify.FromText("webhook+http://alerts.test/in"), Events: bus.FromText("file:" + t.TempDir() + "/events.jsonl")}
	s.Node = node.Assemble(cfg, s.Store, registry.New(s.Store, registry.Read(s.packs), nil, node.CheckSpec, patratest.Logger(t)), earlyLost{&mailroom{RoundTripper: s}, s.began.Add(2*time.Hour + 20*time.Minute)})
	stop := s.begin(role.All...)
	s.at(time.Hour + 50*time.Minute)
	s.deleteOne()
	s.refresh("first")
	s.outages()
	s.stopAndResume()
	s.giveUpASlice()
	stop()
	s.at(23*time.Hour + 30*time.Minute)
	stop = s.begin(role.All...)
	s.at(24*time.Hour + 30*time.Minute)
	stop()
	s.at(28 * time.Hour)
	stop = s.begin(role.All...)
	s.backfill("old", s.began)
	s.refresh("second")
	s.at(28*time.Hour + 50*time.Minute)
	stop()
	s.judgeErrors()
	s.discard()
	soon := time.Now().Add(24 * time.Hour)
	keeper := retention.New(retention.Config{Pause: time.Nanosecond}, s.Store, archive.New(t.TempDir()), slog.New(slog.DiscardHandler))
	_, err := keeper.Archive(t.Context(), retention.Cut{Trail: soon, Versions: soon}, source.Audit{Actor: "test", Reason: "old"})
	s.must("archive", err)
	s.watch.look(s.db)
}

func (s *troubled) must(what string, err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatalf("%s: %v", what, err)
	}
}

// at lets time pass until so long after the beginning, and looks.
func (s *troubled) at(age time.Duration) {
	time.Sleep(time.Until(s.began.Add(age)))
	s.watch.look(s.db)
}

// trouble answers in place of the oracle where there is trouble.
func (s *troubled) trouble(r *http.Request) *http.Response {
	switch kind := s.chooseTrouble(r); kind {
	case 0:
		return nil
	case spoilPage:
		return s.year.spoilt(r)
	default:
		return reply(r, kind, "", "")
	}
}

// spoilPage stands among the statuses for a page with a bad item.
const spoilPage = -1

// chooseTrouble is the status that a request is answered with, 0 if the oracle answers it.
func (s *troubled) chooseTrouble(r *http.Request) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	age := time.Since(s.began)
	s.asked++
	if s.asked%150 == 0 || age > 2*time.Hour && age < 3*time.Hour || s.looks > 0 {
		s.looks = max(0, s.looks-1)
		s.watch.look(s.db)
	}
	minutes := int(age.Minutes())
	switch {
	case minutes >= 120 && minutes < 135, minutes >= 145 && minutes < 165:
		return http.StatusServiceUnavailable
	case minutes >= 240 && minutes < 250:
		return http.StatusUnauthorized
	case r.URL.Query().Get("only") == "count" || r.URL.Path != "/generic/items":
		return 0
	case minutes > 60 && !s.stolen: // its worker is taken for dead
		s.stolen = true
		s.looks = 20
		if _, err := s.db.Exec(`UPDATE ing_task SET fence=fence+1, leased_until='2000-01-01 00:00:00.000000' WHERE status_code='EXECUTING'`); err != nil {
			s.t.Error(err)
		}
		return 0
	case minutes > 90 && !s.spoilt:
		s.spoilt = true
		return spoilPage
	}
	status := s.refusal
	s.refusal = 0
	return status
}

// outages are two within an hour: somebody snoozes and acknowledges what is told of them.
func (s *troubled) outages() {
	s.t.Helper()
	for range 25 {
		time.Sleep(4 * time.Minute)
		list, err := s.Control.Alerts(s.t.Context(), control.AlertQuery{Page: control.Page{Limit: 10}})
		s.must("alerts", err)
		for _, a := range list.Alerts {
			_, err = s.Control.SnoozeAlert(s.t.Context(), control.AlertOrder{By: s.by, ID: a.ID}, time.Hour)
			s.must("snooze", err)
			_, err = s.Control.AckAlert(s.t.Context(), control.AlertOrder{By: s.by, ID: a.ID})
			s.must("acknowledge", err)
		}
		s.watch.look(s.db)
	}
}

// stopAndResume: a refusal stops the source until a person resumes it.
func (s *troubled) stopAndResume() {
	s.t.Helper()
	s.at(4*time.Hour + 30*time.Minute)
	_, err := s.Control.PauseSource(s.t.Context(), control.HoldOrder{Source: "generic", By: s.by})
	s.must("pause", err)
	s.watch.look(s.db)
	s.must("resume", s.Store.HoldSource(s.t.Context(), "generic", false, false, ""))
}

// giveUpASlice: a slice is refused and passed over.
func (s *troubled) giveUpASlice() {
	s.t.Helper()
	s.at(4*time.Hour + 45*time.Minute)
	s.mu.Lock()
	s.refusal = http.StatusBadRequest
	s.mu.Unlock()
	for range 90 {
		time.Sleep(30 * time.Second)
		gaps, _, err := s.Store.Gaps(s.t.Context(), control.GapQuery{Source: "generic"})
		s.must("gaps", err)
		if len(gaps) == 0 {
			continue
		}
		_, err = s.Control.AcceptGap(s.t.Context(), gaps[0].Slice, s.by)
		s.must("accept", err)
		break
	}
	s.watch.look(s.db)
}

// deleteOne deletes a record that is held.
func (s *troubled) deleteOne() {
	s.t.Helper()
	var id string
	s.must("find a record", s.db.QueryRow(`SELECT ext_id FROM ing_record ORDER BY id LIMIT 1`).Scan(&id))
	s.must("delete a record", s.oracle.Delete("generic", id))
}

func (s *troubled) refresh(name string) {
	s.trigger(harvest.Trigger{Operation: harvest.Update, Activity: name, Pick: harvest.CandidatePick{SeenBefore: time.Now()}})
}

// judgeErrors mutes one group of errors after the other.
func (s *troubled) judgeErrors() {
	s.t.Helper()
	list, err := s.Control.Errors(s.t.Context(), control.ErrorQuery{Page: control.Page{Limit: 10}})
	s.must("errors", err)
	for _, e := range list.Errors {
		_, err := s.Control.MuteError(s.t.Context(), control.ErrorOrder{By: s.by, ID: e.ID, For: time.Hour})
		s.must("mute", err)
	}
	s.watch.look(s.db)
}

// discard throws away what is in quarantine.
func (s *troubled) discard() {
	s.t.Helper()
	list, err := s.Control.Quarantine(s.t.Context(), control.QuarantineQuery{Source: "generic", Limit: 10})
	s.must("quarantine", err)
	for _, it := range list.Items {
		_, err := s.Control.Discard(s.t.Context(), control.DiscardOrder{By: s.by, ID: it.ID, Name: it.Name})
		s.must("discard", err)
	}
	s.watch.look(s.db)
}

// earlyLost loses messages about alerts until an instant.
type earlyLost struct {
	http.RoundTripper
	until time.Time
}

// RoundTrip implements http.RoundTripper.
func (e earlyLost) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Host == "alerts.test" && time.Now().Before(e.until) {
		return reply(r, http.StatusInternalServerError, "", ""), nil
	}
	return e.RoundTripper.RoundTrip(r)
}

// harvestTwoPhases harvests with a key a source that is searched first and asked for details
// then: an id has no details, a record is retracted, pages are throttled, a total is wrong.
// It is selected from by a standing query, and read again when its mapping has changed.
func harvestTwoPhases(t *testing.T, w *columnWatch) {
	t.Helper()
	c := patratest.RigConfig{
		DSN: patratest.SQLite.SpareDSN(t), Sim: sim.Config{Sources: []string{sim.PubMed}, Records: 120, Seed: 3, LimitRPS: -1}, Bend: oneIDMore,
		Packs: map[string]registry.Pack{"pubmed": patratest.ShippedPack(t, "pubmed", patratest.Fast)},
	}
	rig := keyRig(t, c)
	setKey(t, rig.Node, "pubmed", "main", credential.NewSecret("sim-key-old-0001"), credential.SecretRef{})
	rig.Sim.Script(sim.Script{Fault: sim.TotalWrong, After: 3, Times: 12}, sim.Script{Fault: sim.HTTP429, After: 8}, sim.Script{Fault: sim.HTTP500, After: 11})
	for r := range rig.Sim.Truth("pubmed") {
		if _, err := rig.Sim.Retract("pubmed", r.ID); err != nil {
			t.Fatal(err)
		}
		break
	}
	rig.MustHarvest("pubmed")
	rig.Sim.Advance(48 * time.Hour)
	rig.MustHarvest("pubmed")
	by := control.By{Actor: "test", Reason: "to see it written"}
	ctl := rig.Node.Control
	if _, err := ctl.SetSchedule(t.Context(), control.ScheduleOrder{
		By: by, Name: "hearts", Source: "pubmed", Query: "title:heart", Cron: "@daily", Zone: "Europe/Berlin", Priority: 50,
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := ctl.RemoveSchedule(t.Context(), control.ScheduleHold{By: by, Name: "hearts"}); err != nil {
		t.Fatal(err)
	}
	if _, err := ctl.Refresh(t.Context(), control.RefreshRequest{Source: "pubmed", Signals: true, BaseURL: rig.BaseOf("pubmed")}); err != nil {
		t.Fatal(err)
	}
	c.Oracle = rig.Sim
	c.Packs = map[string]registry.Pack{"pubmed": patratest.ShippedPack(t, "pubmed", func(s *source.Spec) {
		patratest.Fast(s)
		s.Mapping.Fields = s.Mapping.Fields[1:]
	})}
	again := keyRig(t, c)
	req := control.RefreshRequest{Source: "pubmed", MappingChanged: true, Max: 20, BaseURL: again.BaseOf("pubmed")}
	if _, err := again.Node.Control.Refresh(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	w.look(patratest.Raw(t, rig.Node.Store.DSN()))
}

// oneIDMore puts an id that has no details into a list of ids.
func oneIDMore(path string, body []byte) []byte {
	if !strings.HasSuffix(path, "/esearch.fcgi") {
		return body
	}
	return []byte(strings.Replace(string(body), `"idlist":["`, `"idlist":["99999999","`, 1))
}
