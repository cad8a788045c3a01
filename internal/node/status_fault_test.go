package node_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/app/registry"
	"github.com/papertrace/patra/internal/app/role"
	"github.com/papertrace/patra/internal/infra/sourcefile"
	"github.com/papertrace/patra/internal/infra/sqlstore"
	"github.com/papertrace/patra/internal/node"
	"github.com/papertrace/patra/internal/patratest"
	"github.com/papertrace/patra/internal/sim"
	"github.com/papertrace/patra/sources"
)

// struckSource is a source that is harvested by itself, for faults to befall.
type struckSource struct {
	code string
	pack func(t *testing.T) string
	// idle is how long nobody serves after a first harvest. What came due meanwhile
	// begins at once then, and has several pages to read.
	idle time.Duration
}

// everyQuarter is the schedule of those that know seconds.
const everyQuarter = `{harvest: "*/15 * * * *"}`

var (
	// byToken leads from page to page by tokens that hold their own place.
	byToken = &struckSource{code: sim.Generic, idle: 2*time.Hour + 44*time.Minute, pack: func(*testing.T) string {
		return fmt.Sprintf(servedPack, "5", everyQuarter)
	}}
	// byScroll keeps the place of a walk itself, and says how many there are.
	byScroll = &struckSource{code: sim.Generic, idle: byToken.idle, pack: func(*testing.T) string {
		return strings.NewReplacer(
			"style: token,", "style: token-constant,",
			"total: ROUGH, end: NO_TOKEN", "tokenRepeat: CONTINUE, tokenStateful: true, tokenLifetime: PT5M, total: EXACT, end: [EMPTY_PAGE]",
		).Replace(fmt.Sprintf(servedPack, "5", everyQuarter))
	}}
	// inTwoPhases is PubMed: ids first, then their records. It knows days, and the next
	// one is read when it is over in New York.
	inTwoPhases = &struckSource{code: sim.PubMed, idle: 5*time.Hour + 10*time.Minute, pack: func(t *testing.T) string {
		b, err := sources.FS.ReadFile("pubmed.yaml")
		if err != nil {
			t.Fatal(err)
		}
		return strings.NewReplacer(
			"https://eutils.ncbi.nlm.nih.gov/entrez/eutils", "http://oracle/pubmed",
			"totalTimeout: 120s", "totalTimeout: 120s\n  allowHttp: true\n  allowPrivate: true",
			"pageSize: 9999", "pageSize: 20", "baseline: 30d", "baseline: 3d",
		).Replace(string(b)) + "\nschedule: {harvest: \"@hourly\"}\n"
	}}
)

// struck is what status says of a fault that befalls every request it can befall.
type struck struct {
	fault  sim.Fault
	source *struckSource
	// code is the cause that is named; empty: the work goes on, and status has nothing
	// to tell but what is set aside.
	code string
	// stops: the source is stopped until a person has looked at it.
	stops bool
	// fleeting: each new beginning gets past it for a while, so that nobody is called.
	fleeting bool
	// aside: what could not be taken in is told of until somebody has looked at it.
	aside bool
}

var allStruck = []struck{
	{fault: sim.HTTP500, source: byToken, code: "http_500"},
	{fault: sim.HTTP502HTML, source: byToken, code: "http_502"},
	{fault: sim.HTTP503, source: byToken, code: "http_503"},
	{fault: sim.HTTP503Date, source: byToken, code: "http_503"},
	{fault: sim.HTTP504HTML, source: byToken, code: "http_504"},
	{fault: sim.HTTP429, source: byToken, code: "http_429"},
	{fault: sim.HTTP429RetryAfter, source: byToken, code: "http_429"},
	{fault: sim.ResetBeforeHeader, source: byToken, code: "network"},
	{fault: sim.ResetMidBody, source: byToken, code: "bad_reply"},
	{fault: sim.TruncatedBody, source: byToken, code: "bad_reply"},
	{fault: sim.ServedLost, source: byToken, code: "network"},
	{fault: sim.Slow, source: byToken},
	{fault: sim.HTML200, source: byToken, code: "unexpected_html", stops: true},
	{fault: sim.Empty200, source: byToken, code: "bad_reply"},
	{fault: sim.Error200, source: byToken, code: "schema_drift", stops: true},
	{fault: sim.Viewer400, source: inTwoPhases, code: "viewer_failed"},
	{fault: sim.InvalidUTF8, source: byToken, aside: true},
	{fault: sim.BadJSON, source: byToken, code: "bad_reply"},
	{fault: sim.ShortPage, source: byToken},
	{fault: sim.EmptyMiddlePage, source: byScroll, code: "total_not_reached"},
	{fault: sim.RepeatedPage, source: byScroll, code: "page_repeats"},
	{fault: sim.CursorExpired, source: byScroll, code: "http_410"},
	{fault: sim.WebEnvLost, source: inTwoPhases, code: "session_lost", fleeting: true},
	{fault: sim.DetailMissing, source: inTwoPhases, aside: true},
	{fault: sim.DetailExtra, source: inTwoPhases},
	{fault: sim.DetailBadItem, source: inTwoPhases, aside: true},
	{fault: sim.TotalWrong, source: byScroll, code: "total_not_reached"},
	{fault: sim.Errorlist, source: inTwoPhases, code: "query_widened"},
	{fault: sim.RetryAfterOn200, source: byToken},
	{fault: sim.TokenDropped, source: byScroll, code: "token_missing"},
	{fault: sim.TokenDroppedShort, source: byScroll, code: "token_missing"},
	{fault: sim.TotalDropped, source: byToken, code: "schema_drift", stops: true},
}

// TestStatus_TellsOfEveryFault: for each kind of fault that the oracle knows, a minute
// after the first request that meets it the status names the source, what came, what is
// waited for and until when. When it is over nothing of it is left. What does not keep
// the work from going on is not called an outage.
func TestStatus_TellsOfEveryFault(t *testing.T) {
	for _, f := range sim.AllFaults {
		if !slices.ContainsFunc(allStruck, func(k struck) bool { return k.fault == f }) {
			t.Errorf("%s has no row that says what status tells of it", f)
		}
	}
	for _, k := range allStruck {
		t.Run(string(k.fault), func(t *testing.T) { servedBubble(t, func(t *testing.T) { k.happens(t) }) })
	}
}

// serve is a node that serves the source.
func (u *struckSource) serve(t *testing.T) *served {
	t.Helper()
	o, err := sim.New(sim.Config{Sources: []string{u.code}, Seed: 7, LimitRPS: -1, KeepLog: -1, Now: time.Now(), Records: 200, Span: 3 * 24 * time.Hour, Churn: &sim.Churn{New: 1000}})
	if err != nil {
		t.Fatal(err)
	}
	p, err := sourcefile.Parse(u.code+".yaml", []byte(u.pack(t)))
	if err != nil {
		t.Fatal(err)
	}
	s := &served{t: t, oracle: o, poll: 20 * time.Second, dsn: patratest.SQLite.DSN(t)}
	s.packs = map[string]registry.Described{u.code: {Definition: p.Definition, Hash: p.Hash(), Origin: registry.File}}
	store := patratest.Open(t, s.dsn, sqlstore.Options{})
	vars := map[string]string{"contact": "test@example.org", "tool": "patra-test"}
	led := registry.New(store, registry.Read(s.packs), vars, node.CheckSpec, patratest.Logger(t))
	s.Node = node.Assemble(node.Config{Workers: 2, Poll: s.poll, Logger: patratest.Logger(t)}, store, led, s)
	return s
}

// statusOf is the status of the one source there is.
func (s *served) statusOf(code string) (control.SourceStatus, []control.Need) {
	s.t.Helper()
	all, err := s.Control.Status(s.t.Context(), "")
	if err != nil || len(all.Sources) != 1 || all.Sources[0].Source != code {
		s.t.Fatalf("%+v, %v", all, err)
	}
	return all.Sources[0], all.Needs
}

// happens lets a fault befall a source that is well, and end again.
func (k struck) happens(t *testing.T) {
	code := k.source.code
	s := k.source.serve(t)
	if _, err := s.Control.Harvest(t.Context(), control.HarvestRequest{Source: code}); err != nil {
		t.Fatal(err)
	}
	time.Sleep(k.source.idle)
	s.oracle.Script(sim.Script{Fault: k.fault, Source: code, Times: -1})
	stop := s.begin(role.All...)
	defer func() { stop() }()
	for n := 0; s.oracle.Stats().Sources[code].Faults[k.fault] == 0; n++ {
		if n == 60 {
			t.Fatal("was never served")
		}
		time.Sleep(time.Second)
	}
	time.Sleep(time.Minute)
	is, needs := s.statusOf(code)
	k.mustTell(t, is, needs)
	s.oracle.ClearScripts()
	if is.Freshness == control.FreshStopped {
		by := control.HoldOrder{By: control.By{Actor: "test", Reason: "it was mended"}, Source: code}
		if _, err := s.Control.ResumeSource(t.Context(), by, control.Resumption{Force: true}); err != nil {
			t.Fatal(err)
		}
	}
	for range 20 {
		time.Sleep(time.Minute)
		is, needs = s.statusOf(code)
		if !k.isOver(is, needs) {
			continue
		}
		if !k.aside {
			patratest.MustEqual(t, s.Store, s.oracle, code, time.Time(*is.Watermark))
		}
		return
	}
	t.Errorf("when it is over: %s, needs %+v", show(is), needs)
}

// TestR82_AResumedSourceIsAskedAgain: a source that was stopped because no slice of its
// plan could be finished goes on with that plan once it is mended and a person says so.
func TestR82_AResumedSourceIsAskedAgain(t *testing.T) {
	servedBubble(t, func(t *testing.T) {
		s := byScroll.serve(t)
		if _, err := s.Control.Harvest(t.Context(), control.HarvestRequest{Source: sim.Generic}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(byScroll.idle)
		s.oracle.Script(sim.Script{Fault: sim.TotalWrong, Source: sim.Generic, Times: -1})
		stop := s.begin(role.All...)
		defer func() { stop() }()
		time.Sleep(3 * time.Minute)
		if is, _ := s.statusOf(sim.Generic); is.Freshness != control.FreshStopped || is.Cause == nil || is.Cause.Code != "schema_drift" {
			t.Fatalf("%s", show(is))
		}
		s.oracle.ClearScripts()
		by := control.HoldOrder{By: control.By{Actor: "test", Reason: "it was mended"}, Source: sim.Generic}
		if _, err := s.Control.ResumeSource(t.Context(), by, control.Resumption{Force: true}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Minute)
		is, needs := s.statusOf(sim.Generic)
		if is.Freshness != control.FreshOnTime || is.Cause != nil || len(needs) != 0 {
			t.Errorf("%s, needs %+v", show(is), needs)
		}
		patratest.MustEqual(t, s.Store, s.oracle, sim.Generic, time.Time(*is.Watermark))
	})
}

// mustTell fails the test unless status tells of the fault.
func (k struck) mustTell(t *testing.T, s control.SourceStatus, needs []control.Need) {
	t.Helper()
	if k.code == "" {
		if s.Cause != nil || s.Waiting != nil || s.Freshness != control.FreshOnTime {
			t.Errorf("the work goes on, and status says %s, %+v, %+v", s.Freshness, s.Cause, s.Waiting)
		}
		if len(needs) > 0 != k.aside || k.aside && needs[0].Level != control.NeedQuarantine {
			t.Errorf("needs %+v", needs)
		}
		return
	}
	if s.Cause == nil || string(s.Cause.Code) != k.code || s.Cause.Text == "" || s.Cause.At == nil {
		t.Errorf("the cause is %+v, not %s", s.Cause, k.code)
	}
	w := s.Waiting
	if w == nil || w.Text == "" || w.Unblocks == "" || (w.Until == nil) != k.stops || (w.Reason == control.ReasonLineStopped) != k.stops {
		t.Errorf("waits for %+v", w)
	}
	if (s.Freshness == control.FreshStopped) != k.stops {
		t.Errorf("is %s", s.Freshness)
	}
	if k.fleeting && len(needs) == 0 {
		return
	}
	if len(needs) == 0 || needs[0].Source != k.source.code || needs[0].Next == "" || string(needs[0].Cause) != k.code {
		t.Errorf("needs %+v", needs)
	}
}

// isOver reports whether nothing of the fault is left but what was set aside.
func (k struck) isOver(s control.SourceStatus, needs []control.Need) bool {
	for _, n := range needs {
		if !k.aside || n.Level != control.NeedQuarantine {
			return false
		}
	}
	return s.Freshness == control.FreshOnTime && s.Cause == nil && s.Waiting == nil
}
