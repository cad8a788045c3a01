package node_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/app/alert"
	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/app/registry"
	"github.com/papertrace/patra/internal/app/role"
	"github.com/papertrace/patra/internal/infra/notify"
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
			"pageSize: 9999", "pageSize: 20", "idBatchSize: 200", "idBatchSize: 20", "baseline: 30d", "baseline: 3d",
		).Replace(string(b)) + "\nschedule: {harvest: \"@hourly\"}\n"
	}}
)

// struck is what status and alerts say of a fault that befalls every request it can
// befall.
type struck struct {
	fault  sim.Fault
	source *struckSource
	// code is the cause that status names; empty: the work goes on, and status has
	// nothing to tell but what is set aside.
	code string
	// stops: the source is stopped until a person has looked at it.
	stops bool
	// aside: what could not be taken in is told of until somebody has looked at it.
	aside bool
	// rule is that of the one alert that is told within five minutes; quiet is why there
	// is none.
	rule  alert.Code
	quiet string
	// lateFirst: walks are begun again a few times before the fault is known as the cause. The
	// source was left alone before, so that it may be told as late meanwhile.
	lateFirst bool
	// healed are lines of the log that tell what was done about it without help; what
	// else was done is held against the metrics too.
	healed []string
}

var allStruck = []struck{
	{fault: sim.HTTP500, source: byToken, code: "http_500", rule: alert.SourceOut, healed: []string{"partition rests"}},
	{fault: sim.HTTP502HTML, source: byToken, code: "http_502", rule: alert.SourceOut},
	{fault: sim.HTTP503, source: byToken, code: "http_503", rule: alert.SourceOut},
	{fault: sim.HTTP503Date, source: byToken, code: "http_503", rule: alert.SourceOut},
	{fault: sim.HTTP504HTML, source: byToken, code: "http_504", rule: alert.SourceOut},
	{fault: sim.HTTP429, source: byToken, code: "http_429", rule: alert.SourceOut, healed: []string{"rate lowered"}},
	{fault: sim.HTTP429RetryAfter, source: byToken, code: "http_429", rule: alert.SourceOut},
	{fault: sim.ResetBeforeHeader, source: byToken, code: "network", rule: alert.SourceOut},
	{fault: sim.ResetMidBody, source: byToken, code: "bad_reply", rule: alert.SourceOut},
	{fault: sim.TruncatedBody, source: byToken, code: "bad_reply", rule: alert.SourceOut},
	{fault: sim.ServedLost, source: byToken, code: "network", rule: alert.SourceOut},
	{fault: sim.Slow, source: byToken, quiet: "every answer comes, half a second late"},
	{fault: sim.HTML200, source: byToken, code: "unexpected_html", stops: true, rule: alert.SourceStopped},
	{fault: sim.Empty200, source: byToken, code: "bad_reply", rule: alert.SourceOut},
	{fault: sim.Error200, source: byToken, code: "schema_drift", stops: true, rule: alert.SourceStopped},
	{fault: sim.Viewer400, source: inTwoPhases, code: "viewer_failed", rule: alert.SourceOut},
	{fault: sim.InvalidUTF8, source: byToken, aside: true, rule: alert.SpoiltItems},
	{fault: sim.BadJSON, source: byToken, code: "bad_reply", rule: alert.SourceOut},
	{fault: sim.ShortPage, source: byToken, quiet: "what a page lacks comes with the next"},
	{fault: sim.EmptyMiddlePage, source: byScroll, code: "total_not_reached", rule: alert.Stuck, healed: []string{"walk begun again"}},
	{fault: sim.RepeatedPage, source: byScroll, code: "page_repeats", rule: alert.SourceStopped},
	{fault: sim.CursorExpired, source: byScroll, code: "http_410", rule: alert.Stuck, lateFirst: true, healed: []string{"walk begun again"}},
	{fault: sim.WebEnvLost, source: inTwoPhases, code: "session_lost", quiet: "every new session gets further, and after two minutes all is read"},
	{fault: sim.DetailMissing, source: inTwoPhases, aside: true, rule: alert.SpoiltItems},
	{fault: sim.DetailExtra, source: inTwoPhases, quiet: "what nobody asked for is left out"},
	{fault: sim.DetailBadItem, source: inTwoPhases, aside: true, rule: alert.SpoiltItems},
	{fault: sim.TotalWrong, source: byScroll, code: "total_not_reached", rule: alert.SourceStopped, healed: []string{"walk begun again", "slice cut"}},
	{fault: sim.Errorlist, source: inTwoPhases, code: "query_widened", rule: alert.SourceOut},
	{fault: sim.RetryAfterOn200, source: byToken, quiet: "every answer comes, and so many requests as it asks for are sent"},
	{fault: sim.TokenDropped, source: byScroll, code: "token_missing", rule: alert.SourceOut},
	{fault: sim.TokenDroppedShort, source: byScroll, code: "token_missing", rule: alert.SourceOut},
	{fault: sim.TotalDropped, source: byToken, code: "schema_drift", stops: true, rule: alert.SourceStopped},
}

// TestFaults_StatusAndAlertTellOfEveryKind: for each kind of fault that the oracle
// knows, a minute after the first request that meets it the status names the source,
// what came, what is waited for and until when; after five minutes somebody is told, by
// one message. When it is over nothing of it is left in the status, one message says so,
// and what is stored is what the source has. What does not keep the work from going on
// is not called an outage, and told to nobody. Whatever was done about it without
// anybody's help is counted by a metric, and each time a line of the log leads to the
// page at which it was done.
func TestFaults_StatusAndAlertTellOfEveryKind(t *testing.T) {
	for _, f := range sim.AllFaults {
		i := slices.IndexFunc(allStruck, func(k struck) bool { return k.fault == f })
		if i < 0 || (allStruck[i].rule == "") == (allStruck[i].quiet == "") {
			t.Errorf("no row says what is told of %s, or why nothing is", f)
		}
	}
	for _, k := range allStruck {
		t.Run(string(k.fault), func(t *testing.T) { servedBubble(t, func(t *testing.T) { k.happens(t) }) })
	}
}

// serve is a node that serves the source.
func (u *struckSource) serve(t *testing.T) (*served, *mailroom) {
	t.Helper()
	o, err := sim.New(sim.Config{Sources: []string{u.code}, Seed: 7, LimitRPS: -1, KeepLog: -1, Now: time.Now(), Records: 200, Span: 3 * 24 * time.Hour, Churn: &sim.Churn{New: 1000}})
	if err != nil {
		t.Fatal(err)
	}
	p, err := sourcefile.Parse(u.code+".yaml", []byte(u.pack(t)))
	if err != nil {
		t.Fatal(err)
	}
	s := &served{t: t, oracle: o, poll: 20 * time.Second, dsn: patratest.SQLite.SpareDSN(t)}
	s.packs = map[string]registry.Described{u.code: {Definition: p.Definition, Hash: p.Hash(), Origin: registry.File}}
	s.healing = new(healingLog)
	store := patratest.Open(t, s.dsn, sqlstore.Options{Logger: s.healing.logger()})
	vars := map[string]string{"contact": "test@example.org", "tool": "patra-test"}
	led := registry.New(store, registry.Read(s.packs), vars, node.CheckSpec, patratest.Logger(t))
	m := &mailroom{RoundTripper: s}
	cfg := node.Config{Workers: 2, Poll: s.poll, Logger: s.healing.logger(), Alerts: notify.FromText("webhook+http://alerts.test/in")}
	s.Node = node.Assemble(cfg, store, led, m)
	return s, m
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
	s, m := k.source.serve(t)
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
	struckAt := time.Now()
	k.mustTellWithinAMinute(t, s)
	time.Sleep(time.Until(struckAt.Add(5 * time.Minute)))
	k.mustAlert(t, m)
	is, needs := s.statusOf(code)
	s.oracle.ClearScripts()
	if is.Freshness == control.FreshStopped {
		by := control.HoldOrder{By: control.By{Actor: "test", Reason: "it was mended"}, Source: code}
		if _, err := s.Control.ResumeSource(t.Context(), by, control.Resumption{Force: true}); err != nil {
			t.Fatal(err)
		}
	}
	for range 30 {
		time.Sleep(time.Minute)
		is, needs = s.statusOf(code)
		if !k.isOver(is, needs) || len(m.told(alert.Cleared)) != len(m.told(alert.Firing)) {
			continue
		}
		if !k.aside {
			patratest.MustEqual(t, s.Store, s.oracle, code, time.Time(*is.Watermark))
		}
		fired := m.told(alert.Firing)
		if k.lateFirst && len(fired) > 1 && strings.HasPrefix(fired[0], string(alert.Late)+" ") {
			fired = fired[1:]
		}
		if len(fired) > 1 {
			t.Errorf("one fault, and told of %v", fired)
		}
		stop()
		stop = func() time.Duration { return 0 }
		metrics, err := s.Metrics(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		s.healing.check(t, metrics, s.dsn, k.healed...)
		return
	}
	t.Errorf("when it is over: %s, needs %+v, told %+v", show(is), needs, m.got)
}

// mustAlert fails the test unless the one alert that is due is told.
func (k struck) mustAlert(t *testing.T, m *mailroom) {
	t.Helper()
	if k.quiet != "" {
		if len(m.got) != 0 {
			t.Errorf("%s, and yet %+v was told", k.quiet, m.got)
		}
		return
	}
	told := m.got
	if k.lateFirst && len(told) == 2 && told[0].Rule == alert.Late {
		told = told[1:]
	}
	if len(told) != 1 {
		t.Fatalf("after five minutes %+v was told, not %s", m.got, k.rule)
	}
	got := told[0]
	if got.State != alert.Firing || got.Rule != k.rule || got.Source != k.source.code || got.Next == "" || !strings.Contains(got.Text, k.code) {
		t.Errorf("told %+v, not %s for %s", got, k.rule, k.code)
	}
}

// TestR82_AResumedSourceIsAskedAgain: a source that was stopped because no slice of its
// plan could be finished goes on with that plan once it is mended and a person says so.
func TestR82_AResumedSourceIsAskedAgain(t *testing.T) {
	servedBubble(t, func(t *testing.T) {
		s, _ := byScroll.serve(t)
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

// mustTellWithinAMinute fails the test unless status tells of the fault before a minute
// is over. It is looked at again and again, for what a source does under a fault may
// change within that minute: one that announces a wrong total is asked so often that it
// is stopped for it, sooner or later. Where the work goes on, it has to go on for the
// whole minute.
func (k struck) mustTellWithinAMinute(t *testing.T, s *served) {
	t.Helper()
	var wrong []string
	for range 12 {
		time.Sleep(5 * time.Second)
		wrong = k.untold(s.statusOf(k.source.code))
		if k.code != "" && len(wrong) == 0 {
			return
		}
	}
	for _, w := range wrong {
		t.Error(w)
	}
}

// untold is what status fails to tell of the fault.
func (k struck) untold(s control.SourceStatus, needs []control.Need) (wrong []string) {
	miss := func(format string, of ...any) { wrong = append(wrong, fmt.Sprintf(format, of...)) }
	if k.code == "" {
		if s.Cause != nil || s.Waiting != nil || s.Freshness != control.FreshOnTime {
			miss("the work goes on, and status says %s, %+v, %+v", s.Freshness, s.Cause, s.Waiting)
		}
		if len(needs) > 0 != k.aside || k.aside && !isAside(needs[0].Level) {
			miss("needs %+v", needs)
		}
		return wrong
	}
	if s.Cause == nil || string(s.Cause.Code) != k.code || s.Cause.Text == "" || s.Cause.At == nil {
		miss("the cause is %+v, not %s", s.Cause, k.code)
	}
	w := s.Waiting
	if w == nil || w.Text == "" || w.Unblocks == "" || (w.Until == nil) != k.stops || (w.Reason == control.ReasonLineStopped) != k.stops {
		miss("waits for %+v", w)
	}
	if (s.Freshness == control.FreshStopped) != k.stops {
		miss("is %s", s.Freshness)
	}
	if k.quiet != "" && len(needs) == 0 {
		return wrong
	}
	if len(needs) == 0 || needs[0].Source != k.source.code || needs[0].Next == "" || string(needs[0].Cause) != k.code {
		miss("needs %+v", needs)
	}
	return wrong
}

// isOver reports whether nothing of the fault is left but what was set aside.
func (k struck) isOver(s control.SourceStatus, needs []control.Need) bool {
	for _, n := range needs {
		if !k.aside || !isAside(n.Level) {
			return false
		}
	}
	return s.Freshness == control.FreshOnTime && s.Cause == nil && s.Waiting == nil
}

// isAside reports whether a level is about records of which something is missing.
func isAside(l control.NeedKind) bool {
	return l == control.NeedQuarantine || l == control.NeedDetails
}
