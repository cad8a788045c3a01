package alert_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/papertrace/patra/internal/app/alert"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/infra/sqlstore"
)

// cases are what each rule is about, as it is found.
func cases() map[alert.Code]func(now time.Time) alert.SourceFacts {
	traffic := func(t alert.Traffic) func(time.Time) alert.SourceFacts {
		t.Operation = harvest.Harvest
		return func(time.Time) alert.SourceFacts { return alert.SourceFacts{Code: "lab", Traffic: []alert.Traffic{t}} }
	}
	return map[alert.Code]func(now time.Time) alert.SourceFacts{
		alert.SourceStopped: func(now time.Time) alert.SourceFacts {
			return alert.SourceFacts{Code: "lab", Stopped: true, Held: true, StoppedAt: now.Add(-time.Minute), StoppedBy: "auth_refused: answered 401"}
		},
		alert.SourceOut: func(now time.Time) alert.SourceFacts {
			return alert.SourceFacts{Code: "lab", Outage: &harvest.Outage{Code: "http_503", Text: "answered 503", Count: 71, Since: now.Add(-time.Minute), At: now}}
		},
		alert.Stuck: func(time.Time) alert.SourceFacts {
			return alert.SourceFacts{Code: "lab", Stuck: "page_repeats", StuckBy: "the same ids came again"}
		},
		alert.NotPlanned: func(now time.Time) alert.SourceFacts {
			return alert.SourceFacts{Code: "lab", FailedTrigger: "the window has no end", TriggeredAt: now.Add(-time.Minute)}
		},
		alert.Late: func(now time.Time) alert.SourceFacts {
			return alert.SourceFacts{Code: "lab", Lines: []alert.Line{{Schedule: "lab/HARVEST", Lag: 50 * time.Minute, Limit: 45 * time.Minute, Late: true}}}
		},
		alert.ErrorRate:   traffic(alert.Traffic{Pages: 100, Failed: 6}),
		alert.Throttled:   traffic(alert.Traffic{Pages: 100, Throttled: 6}),
		alert.SpoiltItems: traffic(alert.Traffic{Pages: 10, Items: 1000, Aside: 11}),
		alert.LeasesLost:  traffic(alert.Traffic{Lost: 3}),
		alert.GapsOpen: func(time.Time) alert.SourceFacts {
			return alert.SourceFacts{Code: "lab", Gaps: 30, OldestGap: "[a, b)", GapWhy: "http_400: no"}
		},
		alert.QueueSurge: func(time.Time) alert.SourceFacts {
			return alert.SourceFacts{Code: "lab", Queues: []alert.Queue{{Operation: harvest.Harvest, Waiting: 701, Looks: 144, Mean: 400, Deviation: 100}}}
		},
		alert.NobodyWorks: func(now time.Time) alert.SourceFacts {
			return alert.SourceFacts{Code: "lab", Untaken: 4, UntakenSince: now.Add(-31 * time.Minute)}
		},
		alert.QuotaLow: func(time.Time) alert.SourceFacts {
			return alert.SourceFacts{Code: "lab", Quotas: []alert.Quota{{Window: "24h0m0s", Limit: 1000, Left: 99, Reserve: 0.1}}}
		},
		alert.AmbiguousPick: func(time.Time) alert.SourceFacts {
			return alert.SourceFacts{Code: "lab", Rivals: []alert.Rival{{Dimension: "rate_limit", Why: "rows 40 and 57 are in force"}}}
		},
	}
}

// justBelow are the same without being reason enough.
func justBelow() map[alert.Code]func(now time.Time) alert.SourceFacts {
	traffic := func(t alert.Traffic) func(time.Time) alert.SourceFacts {
		t.Operation = harvest.Harvest
		return func(time.Time) alert.SourceFacts { return alert.SourceFacts{Code: "lab", Traffic: []alert.Traffic{t}} }
	}
	return map[alert.Code]func(now time.Time) alert.SourceFacts{
		alert.SourceStopped: func(time.Time) alert.SourceFacts { return alert.SourceFacts{Code: "lab", Held: true} },
		alert.SourceOut: func(now time.Time) alert.SourceFacts {
			return alert.SourceFacts{Code: "lab", Outage: &harvest.Outage{Code: "http_503", Count: 4, Since: now.Add(-29 * time.Second), At: now}}
		},
		alert.Stuck:      well,
		alert.NotPlanned: well,
		alert.Late: func(time.Time) alert.SourceFacts {
			return alert.SourceFacts{Code: "lab", Lines: []alert.Line{{Schedule: "lab/HARVEST", Lag: 45 * time.Minute, Limit: 45 * time.Minute}}}
		},
		alert.ErrorRate:   traffic(alert.Traffic{Pages: 100, Failed: 5}),
		alert.Throttled:   traffic(alert.Traffic{Pages: 100, Throttled: 5}),
		alert.SpoiltItems: traffic(alert.Traffic{Pages: 10, Items: 1000, Aside: 10}),
		alert.LeasesLost:  traffic(alert.Traffic{Lost: 2}),
		alert.GapsOpen:    well,
		alert.QueueSurge: func(time.Time) alert.SourceFacts {
			return alert.SourceFacts{Code: "lab", Queues: []alert.Queue{{Operation: harvest.Harvest, Waiting: 700, Looks: 144, Mean: 400, Deviation: 100}}}
		},
		alert.NobodyWorks: func(now time.Time) alert.SourceFacts {
			return alert.SourceFacts{Code: "lab", Untaken: 4, UntakenSince: now.Add(-29 * time.Minute)}
		},
		alert.QuotaLow: func(time.Time) alert.SourceFacts {
			return alert.SourceFacts{Code: "lab", Quotas: []alert.Quota{{Window: "24h0m0s", Limit: 1000, Left: 100, Reserve: 0.1}, {Window: "1h0m0s", Limit: 100, Left: 1}, {Window: "168h0m0s", Limit: 100, Left: 30, Reserve: 0.3}}}
		},
		alert.AmbiguousPick: well,
	}
}

// TestRules_EachFiresOnceAndClears: for every rule, what is just below its threshold
// is told to nobody; what is over it is told once it has held for as long as the rule
// says, with value, threshold, since when and what to do; half an hour of it is still
// one message; and its end is told once.
func TestRules_EachFiresOnceAndClears(t *testing.T) {
	over, below := cases(), justBelow()
	for _, r := range alert.Rules {
		if r.OfTargets() {
			continue
		}
		t.Run(string(r.Code), func(t *testing.T) {
			if over[r.Code] == nil || below[r.Code] == nil || r.Means == "" {
				t.Fatal("the rule has no case here, or no sentence")
			}
			synctest.Test(t, func(t *testing.T) {
				p := newPost(t, sqlstore.Options{}, alert.Config{})
				p.say(below[r.Code])
				p.pass(int(r.For/time.Minute) + 2)
				if n := len(p.inbox.got); n != 0 {
					t.Fatalf("just below: %+v", p.inbox.got)
				}
				p.say(over[r.Code])
				p.pass(int(r.For / time.Minute)) // the last look is a minute too early
				if early := p.inbox.of(r.Code); early != "" {
					t.Errorf("told before it held for %s: %s", r.For, early)
				}
				p.pass(2)
				if got := p.inbox.of(r.Code); got != "FIRING" {
					t.Fatalf("told %q", got)
				}
				m := p.inbox.got[0]
				if m.Severity != r.Severity || m.Source != "lab" || m.Text == "" || m.Measured == "" || m.Threshold == "" || m.Next == "" || m.Since.IsZero() || m.Alert == 0 {
					t.Errorf("message %+v", m)
				}
				p.pass(5)
				time.Sleep(30 * time.Minute)
				p.pass(5)
				p.say(below[r.Code])
				if r.Code == alert.SourceOut {
					p.say(well) // an outage that begins anew is not the end of the one before
				}
				p.pass(4)
				if got := p.inbox.of(r.Code); got != "FIRING CLEARED" || len(p.inbox.got) != 2 {
					t.Fatalf("told %q of it, and in all %+v", got, p.inbox.got)
				}
				if m := p.inbox.got[1]; m.ClearedAt.IsZero() || !strings.Contains(strings.Join(m.Lines(), "\n"), "over") {
					t.Errorf("message %+v", m)
				}
			})
		})
	}
}

// TestRules_OneForOneCause: what only follows from a source that is out is not told
// beside it, and what was told before stays told.
func TestRules_OneForOneCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPost(t, sqlstore.Options{}, alert.Config{})
		all := func(out bool) func(time.Time) alert.SourceFacts {
			return func(now time.Time) alert.SourceFacts {
				s := cases()[alert.SourceOut](now)
				s.Traffic = []alert.Traffic{{Operation: harvest.Harvest, Pages: 500, Failed: 500, Throttled: 500}}
				s.Gaps = 9
				s.OldestGap = "[a, b)"
				s.FailedTrigger = "no answer"
				s.Lines = cases()[alert.Late](now).Lines
				if !out {
					s = alert.SourceFacts{Code: "lab", Lines: s.Lines}
				}
				return s
			}
		}
		p.say(all(true))
		p.pass(30)
		if len(p.inbox.got) != 1 || p.inbox.got[0].Rule != alert.SourceOut {
			t.Fatalf("%+v", p.inbox.got)
		}
		p.say(all(false)) // it answers again, and is late all the same
		p.pass(31)
		if got := p.inbox.of(alert.Late); got != "" {
			t.Errorf("late half an hour after it was out: %q", got)
		}
		p.pass(4)
		if got := p.inbox.of(alert.Late); got != "FIRING" {
			t.Errorf("late for long after it was out: %q", got)
		}
		p.say(all(true))
		p.pass(5)
		if got := p.inbox.of(alert.Late); got != "FIRING" {
			t.Errorf("late: %q", got)
		}
		p.say(well)
		p.pass(10)
		if got := p.inbox.of(alert.Late); got != "FIRING CLEARED" {
			t.Errorf("late: %q", got)
		}
	})
}

// TestRules_TheWorstIsTold: a source that fails, answers for a while so that its work has
// to be begun again, and fails again, is one thing to look at; one that was never out is
// told to be stuck, and an outage that begins anew with every look is what it is stuck for.
func TestRules_TheWorstIsTold(t *testing.T) {
	stuck := func(now time.Time) alert.SourceFacts {
		s := cases()[alert.Stuck](now)
		s.Outage = &harvest.Outage{Code: "page_repeats", Text: "3 walks did not finish", Count: 1, Since: now.Add(-time.Second), At: now}
		s.Gaps = 2
		s.OldestGap = "[a, b)"
		return s
	}
	for _, k := range []struct {
		name  string
		facts []func(time.Time) alert.SourceFacts
		told  alert.Code
	}{
		{"out, then stuck", []func(time.Time) alert.SourceFacts{cases()[alert.SourceOut], stuck}, alert.SourceOut},
		{"stuck", []func(time.Time) alert.SourceFacts{stuck}, alert.Stuck},
	} {
		synctest.Test(t, func(t *testing.T) {
			p := newPost(t, sqlstore.Options{}, alert.Config{})
			for _, facts := range k.facts {
				p.say(facts)
				p.pass(6)
			}
			if len(p.inbox.got) != 1 || p.inbox.got[0].Rule != k.told {
				t.Errorf("%s: told %+v", k.name, p.inbox.got)
			}
			p.say(well)
			p.pass(3)
			if got := p.inbox.of(k.told); got != "FIRING CLEARED" || len(p.inbox.got) != 2 {
				t.Errorf("%s: told %+v", k.name, p.inbox.got)
			}
		})
	}
}

// TestLate_TwoLooksAndAPause: a process that starts and finds a schedule late looks
// again before it tells anybody, and a source that is paused meanwhile, or the endpoint
// that the schedule goes through (R72), is not told to be in time.
func TestLate_TwoLooksAndAPause(t *testing.T) {
	for name, hold := range map[string]func(s *alert.SourceFacts, held bool){
		"the source":   func(s *alert.SourceFacts, held bool) { s.Held = held },
		"the endpoint": func(s *alert.SourceFacts, held bool) { s.Lines[0].Held = held },
	} {
		t.Run(name, func(t *testing.T) { twoLooksAndAPause(t, hold) })
	}
}

func twoLooksAndAPause(t *testing.T, hold func(s *alert.SourceFacts, held bool)) {
	synctest.Test(t, func(t *testing.T) {
		p := newPost(t, sqlstore.Options{}, alert.Config{})
		late := func(held bool) func(time.Time) alert.SourceFacts {
			return func(now time.Time) alert.SourceFacts {
				s := cases()[alert.Late](now)
				hold(&s, held)
				s.Lines[0].LateSince = now.Add(-time.Hour)
				return s
			}
		}
		p.say(late(true))
		p.pass(5)
		if got := p.inbox.of(alert.Late); got != "" {
			t.Fatalf("late while its source is paused: %q", got)
		}
		p.say(late(false))
		p.pass(1)
		if got := p.inbox.of(alert.Late); got != "" {
			t.Fatalf("late at the first look: %q", got)
		}
		p.pass(2)
		p.say(late(true))
		p.pass(30)
		if got := p.inbox.of(alert.Late); got != "FIRING" {
			t.Errorf("late, then paused: %q", got)
		}
		p.say(well)
		p.pass(5)
		if got := p.inbox.of(alert.Late); got != "FIRING CLEARED" {
			t.Errorf("late, paused, in time: %q", got)
		}
	})
}

// TestRules_FewSayNothing: a share of a handful of pages or items, a queue that was not
// looked at for long, or one that is always short, are no reason to tell anybody.
func TestRules_FewSayNothing(t *testing.T) {
	for what, s := range map[string]alert.SourceFacts{
		"nine pages":      {Traffic: []alert.Traffic{{Pages: 9, Failed: 9, Throttled: 9}}},
		"nineteen items":  {Traffic: []alert.Traffic{{Pages: 1, Items: 19, Aside: 19}}},
		"a queue unknown": {Queues: []alert.Queue{{Waiting: 9000, Looks: 35, Mean: 1}}},
		"a short queue":   {Queues: []alert.Queue{{Waiting: 100, Looks: 144}}},
	} {
		s.Code = "lab"
		if found := alert.Find(alert.Facts{Now: time.Now(), Sources: []alert.SourceFacts{s}}); len(found) != 0 {
			t.Errorf("%s: %+v", what, found)
		}
	}
}

// TestRules_OfTargets: a parked message is told at once, a target that takes nothing or
// has not got what is old when that has held for five minutes, and neither before.
func TestRules_OfTargets(t *testing.T) {
	now := time.Date(2026, 11, 18, 9, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		what string
		is   alert.TargetFacts
		want string
	}{
		{"all is well", alert.TargetFacts{Name: "lake", Backlog: 5, OldestAt: now.Add(-10 * time.Minute)}, ""},
		{"parked", alert.TargetFacts{Name: "lake", Parked: 1}, "event_parked 0s events/lake"},
		{"out", alert.TargetFacts{Name: "lake", Failures: 1, Error: "connection refused"}, "events_behind 5m0s events/lake"},
		{"unserved", alert.TargetFacts{Name: "lake", Backlog: 5, OldestAt: now.Add(-11 * time.Minute)}, "events_behind 5m0s events/lake"},
		{"slow", alert.TargetFacts{Name: "lake", Backlog: 5, OldestAt: now.Add(-11 * time.Minute), Served: true}, "events_behind 5m0s events/lake"},
	} {
		var got strings.Builder
		for _, f := range alert.Find(alert.Facts{Now: now, Targets: []alert.TargetFacts{c.is}}) {
			got.WriteString(strings.Join([]string{string(f.Rule), f.For.String(), f.Subject}, " "))
			if f.Text == "" || f.Measured == "" || f.Threshold == "" || f.Next == "" || f.Source != "" {
				t.Errorf("%s: %+v", c.what, f)
			}
		}
		if got.String() != c.want {
			t.Errorf("%s: found %q, want %q", c.what, got.String(), c.want)
		}
	}
}

// TestRules_AStoppedEndpointIsTold: an endpoint that a fatal fault stopped is told by its own
// name, and explains nothing of what else is wrong with its source.
func TestRules_AStoppedEndpointIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		late := cases()[alert.NotPlanned]
		p := newPost(t, sqlstore.Options{}, alert.Config{})
		p.say(func(now time.Time) alert.SourceFacts {
			s := late(now)
			s.StoppedEndpoints = []alert.StoppedEndpoint{{Name: "lab/others", At: now.Add(-time.Minute), By: "schema_drift"}}
			return s
		})
		p.pass(60)
		if got := p.inbox.of(alert.SourceStopped); got != "FIRING" {
			t.Errorf("told %q of the endpoint", got)
		}
		if got := p.inbox.of(alert.NotPlanned); got != "FIRING" {
			t.Errorf("told %q of what else is wrong", got)
		}
		if m := p.inbox.got[0]; m.Rule != alert.SourceStopped || m.Source != "lab" || !strings.Contains(m.Next, "resume lab/others") {
			t.Errorf("%+v", m)
		}
	})
}
