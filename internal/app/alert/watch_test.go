package alert_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/papertrace/patra/internal/app/alert"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/infra/sqlstore"
	"github.com/papertrace/patra/internal/patratest"
)

// inbox is a sender that keeps what it sends, or refuses it.
type inbox struct {
	mu      sync.Mutex
	refuse  error            // guarded by mu
	targets []alert.Target   // guarded by mu
	got     []alert.Message  // guarded by mu
	at      []time.Time      // guarded by mu; when each was tried, taken or not
	by      map[string][]int // guarded by mu; which of got went to a target
}

func (i *inbox) Check() error { return nil }

func (i *inbox) Targets() []alert.Target {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.targets
}

func (i *inbox) Send(_ context.Context, target string, m alert.Message) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.at = append(i.at, time.Now())
	if i.refuse != nil && target == i.targets[0].Name {
		return i.refuse
	}
	i.by[target] = append(i.by[target], len(i.got))
	i.got = append(i.got, m)
	return nil
}

// of are the states that were told of a rule, in order.
func (i *inbox) of(rule alert.Code) string {
	i.mu.Lock()
	defer i.mu.Unlock()
	var out []string
	for _, m := range i.got {
		if m.Rule == rule {
			out = append(out, string(m.State))
		}
	}
	return strings.Join(out, " ")
}

// post is a watch over a store of its own and facts that a test says.
type post struct {
	*testing.T
	store *sqlstore.Store
	watch *alert.Watch
	inbox *inbox
	mu    sync.Mutex
	facts func(now time.Time) alert.SourceFacts // guarded by mu
}

func newPost(t *testing.T, o sqlstore.Options, cfg alert.Config) *post {
	t.Helper()
	p := &post{T: t, inbox: &inbox{targets: []alert.Target{{Name: "plain", Kind: "webhook"}}, by: map[string][]int{}}}
	p.store = patratest.Open(t, patratest.SQLite.DSN(t), o)
	p.watch = alert.New(cfg, p.look, p.store, p.inbox, slog.New(slog.DiscardHandler))
	return p
}

func (p *post) look(ctx context.Context) (alert.Facts, error) {
	now, err := p.store.Now(ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	f := alert.Facts{Now: now}
	if p.facts != nil {
		f.Sources = append(f.Sources, p.facts(now))
	}
	return f, err
}

func (p *post) say(facts func(now time.Time) alert.SourceFacts) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.facts = facts
}

// pass lets minutes go by, looking and sending in each. The first look is at once.
func (p *post) pass(minutes int) {
	p.Helper()
	for range minutes {
		p.tick()
		time.Sleep(time.Minute)
	}
}

func (p *post) tick() {
	p.Helper()
	if err := p.watch.Tick(p.Context()); err != nil {
		p.Fatal(err)
	}
	if err := p.watch.Send(p.Context()); err != nil {
		p.Fatal(err)
	}
}

func well(time.Time) alert.SourceFacts { return alert.SourceFacts{Code: "lab"} }

// TestAlert_FlappingIsNotToldEveryTime: what comes and goes is told a few times and
// then stays told, until it is gone for good.
func TestAlert_FlappingIsNotToldEveryTime(t *testing.T) {
	for on, off := range map[int]int{1: 1, 3: 3} {
		synctest.Test(t, func(t *testing.T) {
			p := newPost(t, sqlstore.Options{}, alert.Config{})
			for range 60 / (on + off) {
				p.say(cases()[alert.SourceOut])
				p.pass(on)
				p.say(well)
				p.pass(off)
			}
			if n := len(p.inbox.got); n > 5 || on == 1 && n != 1 {
				t.Errorf("%d on and %d off for hours: %d messages", on, off, n)
			}
			p.say(well)
			p.pass(70)
			got := p.inbox.of(alert.SourceOut)
			if !strings.HasSuffix(got, "CLEARED") {
				t.Errorf("%d on and %d off: in the end %q", on, off, got)
			}
		})
	}
}

// TestAlert_UnsentIsTriedAgain: a target that takes nothing is tried less and less
// often, keeps nobody else from theirs, and gets all in order when it is back; after a
// day a message is given up.
func TestAlert_UnsentIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		outcomes := map[string]int{}
		p := newPost(t, sqlstore.Options{}, alert.Config{Observe: func(kind, outcome string) { outcomes[kind+" "+outcome]++ }})
		p.inbox.targets = append(p.inbox.targets, alert.Target{Name: "other", Kind: "slack"})
		p.inbox.refuse = errors.New("answered 502")
		p.say(cases()[alert.SourceOut])
		p.pass(10)
		p.say(well)
		p.pass(5)
		if n := len(p.inbox.by["other"]); n != 2 {
			t.Errorf("the other target got %d messages", n)
		}
		if n := outcomes["webhook failed"]; n < 3 || n > 6 {
			t.Errorf("tried %d times in a quarter of an hour: %v", n, outcomes)
		}
		targets, err := p.store.AlertTargets(t.Context())
		if err != nil || len(targets) != 2 || targets[1].Name != "plain" || targets[1].Waiting != 2 || !strings.Contains(targets[1].Error, "502") {
			t.Errorf("%+v, %v", targets, err)
		}
		p.inbox.refuse = nil
		p.pass(60)
		var states []string
		for _, k := range p.inbox.by["plain"] {
			states = append(states, string(p.inbox.got[k].State))
		}
		if strings.Join(states, " ") != "FIRING CLEARED" {
			t.Errorf("in the end it got %v", states)
		}
		p.inbox.refuse = errors.New("answered 502")
		p.say(cases()[alert.SourceOut])
		for range 75 {
			p.tick()
			time.Sleep(20 * time.Minute)
		}
		if outcomes["webhook given_up"] != 1 {
			t.Errorf("after a day: %v", outcomes)
		}
	})
}

// TestAlert_NobodyToTellIsToldLater: what fires while no target is named is told to
// the first that is.
func TestAlert_NobodyToTellIsToldLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPost(t, sqlstore.Options{}, alert.Config{})
		all := p.inbox.targets
		p.inbox.targets = nil
		p.say(cases()[alert.SourceStopped])
		p.pass(5)
		p.inbox.targets = all
		p.pass(2)
		if got := p.inbox.of(alert.SourceStopped); got != "FIRING" {
			t.Errorf("%q", got)
		}
	})
}

// TestAlert_SnoozedAndAcknowledged: nothing is sent while an alert is snoozed; what is
// over by then is told afterwards, and what nobody was told of is not told to be over.
// That somebody knows of it ends with it.
func TestAlert_SnoozedAndAcknowledged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPost(t, sqlstore.Options{}, alert.Config{})
		by := source.Audit{Actor: "ann", Action: "ALERT_SNOOZE", Object: "alert/1", Reason: "I see to it"}
		p.say(cases()[alert.SourceOut])
		p.pass(3)
		if err := p.store.AckAlert(t.Context(), 1, by); err != nil {
			t.Fatal(err)
		}
		if err := p.store.SnoozeAlert(t.Context(), 1, time.Now().Add(30*time.Minute), by); err != nil {
			t.Fatal(err)
		}
		p.say(well)
		p.pass(20)
		if got := p.inbox.of(alert.SourceOut); got != "FIRING" {
			t.Errorf("while it is snoozed: %q", got)
		}
		if a, err := p.store.Alert(t.Context(), 1); err != nil || a.State != alert.Cleared || a.AckedBy != "" {
			t.Errorf("%+v, %v", a, err)
		}
		p.pass(15)
		if got := p.inbox.of(alert.SourceOut); got != "FIRING CLEARED" {
			t.Errorf("afterwards: %q", got)
		}
		if err := p.store.SnoozeAlert(t.Context(), 1, time.Now().Add(time.Hour), by); err != nil {
			t.Fatal(err)
		}
		p.say(cases()[alert.SourceOut])
		p.pass(10)
		p.say(well)
		p.pass(90)
		if got := p.inbox.of(alert.SourceOut); got != "FIRING CLEARED" {
			t.Errorf("nobody heard of the second, and yet: %q", got)
		}
		if err := p.store.AckAlert(t.Context(), 1, by); err == nil {
			t.Error("an alert that is over was acknowledged")
		}
	})
}

// TestAlert_StoreAwayLosesNoMessage: the store fails once, before or after a commit or
// at any statement of the look that ends an alert; the end is told all the same, once.
func TestAlert_StoreAwayLosesNoMessage(t *testing.T) {
	for k := 1; ; k++ {
		untouched := false
		synctest.Test(t, func(t *testing.T) {
			armed, points := false, 0
			away := errors.New("the store is away")
			p := newPost(t, sqlstore.Options{Hook: func(string) error {
				if armed {
					points++
					if points == k {
						return away
					}
				}
				return nil
			}}, alert.Config{})
			p.say(cases()[alert.SourceOut])
			p.pass(3)
			p.say(well)
			p.pass(1)
			armed = true
			for range 6 { // a role that fails is begun again
				_ = p.watch.Tick(t.Context())
				_ = p.watch.Send(t.Context())
				time.Sleep(time.Minute)
			}
			untouched = points < k
			if got := p.inbox.of(alert.SourceOut); strings.TrimSuffix(got, " CLEARED CLEARED") != "FIRING" && got != "FIRING CLEARED" {
				t.Errorf("at point %d: %q", k, got)
			}
			if !strings.HasSuffix(p.inbox.of(alert.SourceOut), "CLEARED") {
				t.Errorf("at point %d its end was never told: %q", k, p.inbox.of(alert.SourceOut))
			}
		})
		if untouched || t.Failed() {
			if k < 10 {
				t.Errorf("only %d points", k)
			}
			return
		}
	}
}

// TestR77_NoSecretAndNoAddressInAMessage: what an upstream says may hold both, and
// what steers a terminal.
func TestR77_NoSecretAndNoAddressInAMessage(t *testing.T) {
	const canary, author = "c4nary-s3cret-0123456789", "jane.doe@example.org"
	synctest.Test(t, func(t *testing.T) {
		p := newPost(t, sqlstore.Options{}, alert.Config{Redact: func(s string) string { return strings.ReplaceAll(s, canary, "***") }})
		said := fmt.Sprintf("answered 503: key %s of %s\x1b[31m\r\nBcc: x%s", canary, author, strings.Repeat("é", 2000))
		p.say(func(now time.Time) alert.SourceFacts {
			return alert.SourceFacts{
				Code: "lab", Outage: &harvest.Outage{Code: "http_503", Text: said, Count: 9, Since: now.Add(-time.Minute), At: now},
				Rivals: []alert.Rival{{Dimension: "endpoint", Why: said}},
			}
		})
		p.inbox.refuse = fmt.Errorf("refused %s by %s", canary, author)
		p.pass(2)
		p.inbox.refuse = nil
		p.pass(5)
		if len(p.inbox.got) != 2 {
			t.Fatalf("%d messages", len(p.inbox.got))
		}
		all, err := p.store.Alerts(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		sent, err := p.store.AlertMessages(t.Context(), 1, 10)
		if err != nil || len(sent) != 1 || sent[0].Attempts < 2 {
			t.Fatalf("%+v, %v", sent, err)
		}
		told := fmt.Sprintf("%+v %+v %+v", p.inbox.got, all, sent)
		for _, hidden := range []string{canary, author, "jane", "\x1b", "\r"} {
			if strings.Contains(told, hidden) {
				t.Errorf("%q stands in %s", hidden, told)
			}
		}
		if text := p.inbox.got[0].Text; len(text) > 700 || !strings.Contains(text, "http_503") {
			t.Errorf("%d bytes: %s", len(text), text)
		}
	})
}

// TestR74_ADescriptionThatCannotBeReadHoldsUpNobody: of a source whose description cannot be
// read people are told all the same that it stopped; what was told of its rows is not over
// for that, and is once it is known that it is. The log says why, once.
func TestR74_ADescriptionThatCannotBeReadHoldsUpNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPost(t, sqlstore.Options{}, alert.Config{})
		var log strings.Builder
		p.watch = alert.New(alert.Config{}, p.look, p.store, p.inbox, slog.New(slog.NewTextHandler(&log, nil)))
		p.say(func(time.Time) alert.SourceFacts {
			return alert.SourceFacts{Code: "lab", Rivals: []alert.Rival{{Dimension: "endpoint", Why: "rows 1 and 2"}}}
		})
		p.pass(5)
		p.say(func(now time.Time) alert.SourceFacts {
			return alert.SourceFacts{Code: "lab", Unread: errors.New("lab was never applied"), Stopped: true, StoppedAt: now, StoppedBy: "auth_refused"}
		})
		p.pass(60)
		if told := p.inbox.of(alert.AmbiguousPick); told != "FIRING" {
			t.Errorf("of its rows, which nobody could read, was told %q", told)
		}
		if told := p.inbox.of(alert.SourceStopped); !strings.HasPrefix(told, "FIRING") {
			t.Errorf("that it stopped was told as %q", told)
		}
		if n := strings.Count(log.String(), "lab was never applied"); n != 1 {
			t.Errorf("the log says it %d times:\n%s", n, log.String())
		}
		p.say(well)
		p.pass(60)
		if told := p.inbox.of(alert.AmbiguousPick); told != "FIRING CLEARED" {
			t.Errorf("once it could be read: %q", told)
		}
	})
}
