package control_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/pace"
	"github.com/papertrace/patra/internal/domain/schedule"
	"github.com/papertrace/patra/internal/domain/source"
)

// faring is a store that knows one source and how it fares.
type faring struct {
	control.Store
	facts    control.SourceFacts
	frontier harvest.Frontier
	line     control.LineFacts
	partial  bool
	gate     pace.State
	standing []schedule.Standing
	targets  []control.OutboxTarget
	asked    int // how often it was asked about all sources
}

func (s *faring) Now(context.Context) (time.Time, error) { return s.facts.Now, nil }

func (s *faring) SourceFacts(_ context.Context, codes []string) (map[string]control.SourceFacts, error) {
	s.asked++
	out := map[string]control.SourceFacts{}
	for _, code := range codes {
		out[code] = s.facts
	}
	return out, nil
}

func (s *faring) LineFacts(context.Context, harvest.CursorID, harvest.Mark) (control.LineFacts, error) {
	return s.line, nil
}

func (s *faring) Frontier(context.Context, harvest.Namespace) (harvest.Frontier, error) {
	return s.frontier, nil
}

func (s *faring) PartialPlan(context.Context, harvest.Namespace) (harvest.OpenPlan, bool, error) {
	return harvest.OpenPlan{}, s.partial, nil
}

func (s *faring) ReadGates(_ context.Context, keys []string) (map[string][]byte, error) {
	s.asked++
	state, err := json.Marshal(s.gate)
	out := map[string][]byte{}
	for _, key := range keys {
		out[key] = state
	}
	return out, err
}

func (s *faring) TunedLag(context.Context, harvest.Namespace, time.Duration) (time.Duration, bool, error) {
	return 0, false, nil
}

func (s *faring) Standing(context.Context) ([]schedule.Standing, error) { return s.standing, nil }

// described is the contract of the source, or why there is none.
type described struct {
	spec *source.Spec
	err  error
	// through, if set, is the contract for an endpoint by its name.
	through func(endpoint string) *source.Spec
}

func (d described) Select(context.Context, string, harvest.Operation, string) (source.Contract, error) {
	return source.Contract{Spec: d.spec}, d.err
}

func (d described) Through(_ context.Context, _ string, _ harvest.Operation, endpoint, _ string) (source.Contract, error) {
	if d.through != nil {
		return source.Contract{Spec: d.through(endpoint)}, d.err
	}
	return source.Contract{Spec: d.spec}, d.err
}

// quiet are the quiet hours of the source, if there are any now.
type quiet struct{ until time.Time }

func (q quiet) Rest(context.Context, string, harvest.Operation) (harvest.Rest, bool) {
	return harvest.Rest{Until: q.until}, !q.until.IsZero()
}

// fares is a source that is harvested every hour and is on time, at noon.
type fares struct {
	store *faring
	described
	quiet
}

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func newFares(t *testing.T) *fares {
	t.Helper()
	line, err := schedule.ParseCron("@hourly")
	if err != nil {
		t.Fatal(err)
	}
	read := harvest.TimeMark(noon.Add(-20 * time.Minute))
	return &fares{
		store: &faring{
			facts:    control.SourceFacts{Now: noon, Planned: true, LastSuccess: noon.Add(-10 * time.Minute)},
			frontier: harvest.Frontier{Known: true, Live: true, Cursor: 1, At: read, Watermark: read},
			standing: []schedule.Standing{{Name: "all", Source: "s", Operation: harvest.Harvest, Cron: line, Zone: time.UTC, Enabled: true}},
		},
		described: described{spec: &source.Spec{
			Source: "s", Search: source.Endpoint{Name: "works"}, Window: source.Window{SafetyLag: source.Duration(10 * time.Minute)},
		}},
	}
}

func (f *fares) status(t *testing.T) (control.SourceStatus, []control.Need) {
	t.Helper()
	rate := source.Rate{Key: "s", QPS: 1, Quotas: []source.QuotaConfig{{Limit: 100, Window: source.Duration(24 * time.Hour)}}}
	ctl := control.New(control.Parts{
		Store: f.store, Contracts: f.described, Quiet: f.quiet,
		Allowed: func(context.Context, *source.Spec, source.Call) source.Rate { return rate },
	})
	st, err := ctl.Status(t.Context(), "s")
	if err != nil || len(st.Sources) != 1 {
		t.Fatalf("%+v, %v", st, err)
	}
	return st.Sources[0], st.Needs
}

func (s *faring) OutboxTargets(context.Context) ([]control.OutboxTarget, error) {
	s.asked++
	return slices.Clone(s.targets), nil
}

// TestStatus_TellsWhoIsNotTold: a target of events that waits is told with what it waits for, and needs
// somebody once it will not heal by itself.
func TestStatus_TellsWhoIsNotTold(t *testing.T) {
	old := control.Time(noon.Add(-10 * time.Minute))
	young := control.Time(noon.Add(-10 * time.Second))
	for name, c := range map[string]struct {
		target control.OutboxTarget
		word   string
		needs  string
	}{
		"follows":                {control.OutboxTarget{Owner: "a", Backlog: 3, OldestAt: &young}, control.TargetFollows, ""},
		"out for a moment":       {control.OutboxTarget{Failures: 4, Error: "refused", Backlog: 3}, control.TargetOut, ""},
		"out":                    {control.OutboxTarget{Failures: 5, Error: "connection refused", Backlog: 3}, control.TargetOut, "connection refused"},
		"parked":                 {control.OutboxTarget{Owner: "a", Parked: 2}, control.TargetParked, "refused 2 messages"},
		"parked, and out":        {control.OutboxTarget{Failures: 1, Parked: 2}, control.TargetOut, "refused 2 messages"},
		"nobody sends":           {control.OutboxTarget{Backlog: 3, OldestAt: &old}, control.TargetUnserved, "nobody sends"},
		"nobody sends since now": {control.OutboxTarget{Backlog: 3, OldestAt: &young}, control.TargetUnserved, ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFares(t)
			c.target.Name = "lake"
			f.store.targets = []control.OutboxTarget{c.target}
			ctl := control.New(control.Parts{Store: f.store, Sources: several{}, Contracts: f.described, Quiet: f.quiet})
			st, err := ctl.Status(t.Context(), "")
			if err != nil || len(st.Events) != 1 || st.Events[0].State != c.word {
				t.Fatalf("%+v, %v", st.Events, err)
			}
			if needs := len(st.Needs) > 0; needs != (c.needs != "") {
				t.Fatalf("needs %+v", st.Needs)
			}
			if c.needs != "" && (!strings.Contains(st.Needs[0].Text, c.needs) || st.Needs[0].Level != control.NeedEvents || st.Needs[0].Next == "") {
				t.Errorf("%+v", st.Needs[0])
			}
		})
	}
}

// several are the sources that there are.
type several []string

func (s several) Codes(context.Context) ([]string, error) { return s, nil }

func (s several) Preview(ctx context.Context) context.Context { return ctx }

// TestStatus_AsksAboutAllSourcesAtOnce: a store is asked as often about ten sources as
// about one.
func TestStatus_AsksAboutAllSourcesAtOnce(t *testing.T) {
	asked := func(codes ...string) int {
		f := newFares(t)
		f.store.standing = nil
		ctl := control.New(control.Parts{
			Store: f.store, Sources: several(codes), Contracts: f.described, Quiet: f.quiet,
			Allowed: func(_ context.Context, s *source.Spec, _ source.Call) source.Rate {
				return source.Rate{Key: s.Source, QPS: 1}
			},
		})
		st, err := ctl.Status(t.Context(), "")
		if err != nil || len(st.Sources) != len(codes) {
			t.Fatalf("%+v, %v", st, err)
		}
		return f.store.asked
	}
	if one, ten := asked("a"), asked("a", "b", "c", "d", "e", "f", "g", "h", "i", "j"); one != ten {
		t.Errorf("the store is asked %d times about one source and %d times about ten", one, ten)
	}
}

// TestStatus_GivesEveryReason: each reason of the closed list is given for what it
// stands for, with a sentence, with what ends it, and with until when where that can be
// known. A source that only is not due says nothing.
func TestStatus_GivesEveryReason(t *testing.T) {
	queued := func(f *fares, code harvest.Code) {
		f.store.facts.Queued = control.Counted{Count: 3}
		f.store.facts.NextAt = noon.Add(time.Minute)
		f.store.facts.NextCode = code
	}
	ready := func(f *fares) {
		f.store.facts.Queued = control.Counted{Count: 3}
		f.store.facts.Ready = control.Counted{Count: 3}
		f.store.facts.ReadySince = noon.Add(-5 * time.Minute)
	}
	for _, c := range []struct {
		reason  control.Reason
		happens func(*fares)
		until   bool // it is known until when
		line    bool // it is told of the line, not of the source
	}{
		{reason: "", happens: func(*fares) {}},
		{reason: control.ReasonRateWait, until: true, happens: func(f *fares) { queued(f, harvest.CodeRate) }},
		{reason: control.ReasonRateCooldown, until: true, happens: func(f *fares) { f.store.gate.CooldownUntil = noon.Add(time.Minute) }},
		{reason: control.ReasonQuota, until: true, happens: func(f *fares) { queued(f, harvest.CodeQuota) }},
		{reason: control.ReasonQuotaKept, until: true, happens: func(f *fares) { queued(f, harvest.CodeQuotaKept) }},
		{reason: control.ReasonQuota, until: true, happens: func(f *fares) {
			f.store.gate.Ledgers = []pace.Ledger{{Window: 24 * time.Hour, Used: []pace.Charge{{noon.Add(time.Hour).UnixMicro(), 100}}}}
		}},
		{reason: control.ReasonGlobalLimit, happens: func(f *fares) {
			ready(f)
			f.store.facts.OthersRun = true
		}},
		{reason: control.ReasonNoExecutor, happens: ready},
		{reason: control.ReasonScheduledLater, until: true, happens: func(f *fares) { queued(f, "http_503") }},
		{reason: control.ReasonScheduledLater, until: true, happens: func(f *fares) {
			f.store.facts.FailedTrigger = "no route"
			f.store.facts.TriggeredAt = noon
		}},
		{reason: control.ReasonSourcePaused, happens: func(f *fares) { f.store.facts.State = harvest.SourceState{Paused: true} }},
		{reason: control.ReasonLineStopped, happens: func(f *fares) { f.store.facts.State = harvest.SourceState{Stopped: true, Reason: "auth_refused: no"} }},
		{reason: control.ReasonQuietHours, until: true, happens: func(f *fares) { f.until = noon.Add(time.Hour) }},
		{reason: control.ReasonCircuitOpen, until: true, happens: func(f *fares) {
			rest := harvest.Breaker{Spent: harvest.DefaultBreaker().After, Until: noon.Add(time.Minute)}
			f.store.facts.Rests = []control.PartitionRest{{Breaker: rest}}
		}},
		{reason: control.ReasonLeaseHeld, until: true, happens: func(f *fares) {
			f.store.facts.Running = control.Counted{Count: 1}
			f.store.facts.Outages = []control.PartitionOutage{{Outage: harvest.Outage{Code: "timeout", Count: 1, Since: noon, At: noon}}}
		}},
		{reason: control.ReasonSpecInvalid, happens: func(f *fares) { f.err = errors.New("window: precision WEEK is not known") }},
		{reason: control.ReasonStockBrake, line: true, happens: func(f *fares) { f.store.partial = true }},
		{reason: control.ReasonSafetyLag, line: true, until: true, happens: func(f *fares) {
			f.store.frontier.Watermark = harvest.TimeMark(noon.Add(-5 * time.Minute))
			f.store.frontier.At = f.store.frontier.Watermark
		}},
	} {
		f := newFares(t)
		c.happens(f)
		s, _ := f.status(t)
		is := s.Waiting
		if c.line {
			is = s.Lines[0].Waiting
		}
		if c.reason == "" {
			if is != nil {
				t.Errorf("nothing is the matter, and it waits for %+v", is)
			}
			continue
		}
		if is == nil || is.Reason != c.reason || is.Text == "" || is.Unblocks == "" || (is.Until != nil) != c.until {
			t.Errorf("%s: %+v", c.reason, is)
		}
	}
}

// TestStatus_WordsOfFreshness: on time within the limit; over it late, or catching up if
// the lag was less after each of the last three moves; waiting in quiet hours, whatever
// the lag; stopped when a person or a fatal fault said so.
func TestStatus_WordsOfFreshness(t *testing.T) {
	behind := func(f *fares, lag time.Duration, lags ...time.Duration) {
		f.store.frontier.Watermark = harvest.TimeMark(noon.Add(-lag))
		for i, l := range lags {
			at := noon.Add(-time.Duration(i+1) * time.Minute)
			f.store.line.Moves = append(f.store.line.Moves, control.CursorMove{To: at.Add(-l), At: at})
		}
	}
	const h = time.Hour
	for name, c := range map[string]struct {
		word    control.Freshness
		happens func(*fares)
	}{
		"within the limit":               {control.FreshOnTime, func(f *fares) { behind(f, h) }},
		"over it, and no move":           {control.FreshLate, func(f *fares) { behind(f, 5*h) }},
		"over it, after two moves":       {control.FreshLate, func(f *fares) { behind(f, 5*h, 5*h, 6*h) }},
		"over it, less after each":       {control.FreshCatchingUp, func(f *fares) { behind(f, 5*h, 5*h, 6*h, 7*h) }},
		"over it, more after the last":   {control.FreshLate, func(f *fares) { behind(f, 6*h, 6*h, 5*h, 7*h) }},
		"less, and lost again since":     {control.FreshLate, func(f *fares) { behind(f, 8*h, 5*h, 6*h, 7*h) }},
		"over it, in quiet hours":        {control.FreshWaiting, func(f *fares) { behind(f, 5*h); f.until = noon.Add(h) }},
		"stopped, though within":         {control.FreshStopped, func(f *fares) { f.store.facts.State.Stopped = true }},
		"scheduled and never begun":      {control.FreshWaiting, func(f *fares) { f.store.frontier.Known = false }},
		"nothing is scheduled, read":     {control.FreshWaiting, func(f *fares) { f.unscheduled(3 * h) }},
		"its schedule is paused, behind": {control.FreshWaiting, func(f *fares) { f.unscheduled(3 * h) }},
	} {
		f := newFares(t)
		c.happens(f)
		if s, _ := f.status(t); s.Freshness != c.word {
			t.Errorf("%s: %s", name, s.Freshness)
		}
	}
}

// unscheduled takes the schedule away from what was read before.
func (f *fares) unscheduled(lag time.Duration) {
	f.store.standing[0].Enabled = false
	f.store.facts.Harvested = control.CursorFacts{ID: 1, Watermark: noon.Add(-lag)}
}

// TestStatus_KnowsTheLagOfWhatIsNotScheduled: how far behind it is what was harvested by
// hand is told, without a limit, and how to have it go on by itself.
func TestStatus_KnowsTheLagOfWhatIsNotScheduled(t *testing.T) {
	f := newFares(t)
	f.unscheduled(3 * time.Hour)
	s, needs := f.status(t)
	if s.Lag == nil || s.Lag.Duration() != 3*time.Hour || s.Limit != nil || len(needs) != 0 || !strings.Contains(s.Next, "schedule resume all") {
		t.Errorf("paused: lag %v, limit %v, needs %v, next %q", s.Lag, s.Limit, needs, s.Next)
	}
	f.store.standing = nil
	s, _ = f.status(t)
	if s.Lag == nil || s.Lag.Duration() != 3*time.Hour || !strings.Contains(s.Next, "schedule set NAME --source s") {
		t.Errorf("not scheduled: lag %v, next %q", s.Lag, s.Next)
	}
}

// TestR72_HeldEndpointsAreTold: an endpoint that is stopped or paused by itself needs
// somebody, by its name, its reason, since when and the command that lets it go on. While
// nothing else of its source is queued, that is what the source waits for; a line through
// it is stopped, and the source has the word of its other lines, or is stopped if there are
// none.
func TestR72_HeldEndpointsAreTold(t *testing.T) {
	const resume = "patra source resume s/works --reason TEXT"
	since := noon.Add(-2 * time.Hour)
	at := func(name string, st harvest.SourceState) control.HeldEndpoint {
		st.Since = since
		return control.HeldEndpoint{EndpointOf: harvest.EndpointOf{Provenance: "s", Endpoint: name}, SourceState: st}
	}
	stopped := at("works", harvest.SourceState{Stopped: true, Reason: "schema_drift: another shape"})
	paused := at("works", harvest.SourceState{Paused: true, Reason: "too slow"})
	for _, c := range []struct {
		held   control.HeldEndpoint
		level  control.NeedKind
		reason control.Reason
		cause  harvest.Code
		text   string
	}{
		{stopped, control.NeedStopped, control.ReasonLineStopped, harvest.CodeSchemaDrift, "stopped since 2026-03-01T10:00:00Z: schema_drift: another shape"},
		{paused, control.NeedPaused, control.ReasonSourcePaused, "", "paused since 2026-03-01T10:00:00Z: too slow"},
	} {
		f := newFares(t)
		f.store.facts.HeldEndpoints = []control.HeldEndpoint{c.held}
		f.store.facts.Queued = control.Counted{Count: 1}
		s, needs := f.status(t)
		if len(needs) != 1 || needs[0].Level != c.level || needs[0].Endpoint != "works" || needs[0].Text != c.text || needs[0].Next != resume || needs[0].Cause != c.cause {
			t.Fatalf("%s: needs %+v", c.level, needs)
		}
		if needs[0].Since == nil || !time.Time(*needs[0].Since).Equal(since) {
			t.Errorf("%s: since %v", c.level, needs[0].Since)
		}
		if s.Waiting == nil || s.Waiting.Reason != c.reason || !strings.Contains(s.Waiting.Text, "s/works") || !strings.Contains(s.Waiting.Unblocks, resume) {
			t.Errorf("%s: waits for %+v", c.level, s.Waiting)
		}
		if s.Freshness != control.FreshStopped || s.Lines[0].Freshness != control.FreshStopped || s.Lines[0].Waiting == nil || s.Lines[0].Waiting.Reason != c.reason {
			t.Errorf("%s: %s, line %+v", c.level, s.Freshness, s.Lines[0])
		}

		f.unscheduled(time.Hour)
		if s, _ := f.status(t); s.Freshness != control.FreshStopped {
			t.Errorf("%s, and nothing is scheduled: %s", c.level, s.Freshness)
		}
	}

	f := newFares(t)
	f.store.facts.HeldEndpoints = []control.HeldEndpoint{at("others", stopped.SourceState)}
	if s, needs := f.status(t); len(needs) != 1 || needs[0].Level != control.NeedStopped || s.Freshness != control.FreshOnTime || s.Waiting != nil {
		t.Errorf("another endpoint is stopped: %s, waits for %+v, needs %+v", s.Freshness, s.Waiting, needs)
	}
	f.store.facts.Queued = control.Counted{Count: 2}
	f.store.facts.Ready = control.Counted{Count: 1}
	f.store.facts.ReadySince = noon.Add(-5 * time.Minute)
	if s, needs := f.status(t); len(needs) != 2 || needs[1].Level != control.NeedUnasked || s.Waiting == nil || s.Waiting.Reason != control.ReasonNoExecutor {
		t.Errorf("another endpoint is stopped, and nobody takes the rest: waits for %+v, needs %+v", s.Waiting, needs)
	}

	f = newFares(t)
	f.store.facts.State = harvest.SourceState{Stopped: true, Since: since, Reason: "auth_refused: no"}
	f.store.facts.HeldEndpoints = []control.HeldEndpoint{stopped}
	if _, needs := f.status(t); len(needs) != 2 || needs[0].Endpoint != "" || needs[1].Endpoint != "works" {
		t.Errorf("source and endpoint are stopped: %+v", needs)
	}
}

// TestR72_ALineBesideAHeldOneIsToldByItself: the word and the lag of a source are those of
// the lines that go on, whatever the line through an endpoint that is held has come to.
func TestR72_ALineBesideAHeldOneIsToldByItself(t *testing.T) {
	f := newFares(t)
	beside := f.store.standing[0]
	beside.Name = "beside"
	beside.Wants.Endpoint = "others"
	f.store.standing = append(f.store.standing, beside)
	f.through = func(endpoint string) *source.Spec {
		spec := *f.spec
		if endpoint != "" {
			spec.Search.Name = endpoint
		}
		return &spec
	}
	f.store.facts.HeldEndpoints = []control.HeldEndpoint{{
		EndpointOf: harvest.EndpointOf{Provenance: "s", Endpoint: "others"}, SourceState: harvest.SourceState{Stopped: true, Reason: "schema_drift: no"},
	}}
	s, _ := f.status(t)
	if s.Freshness != control.FreshOnTime || s.Lines[0].Freshness != control.FreshOnTime || s.Lines[1].Freshness != control.FreshStopped {
		t.Errorf("%s, lines %+v", s.Freshness, s.Lines)
	}
}
