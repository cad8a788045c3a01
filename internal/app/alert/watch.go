package alert

import (
	"context"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"
	"unicode/utf8"
)

// Every is how often sources are looked at, NoteEvery how often the length of their
// queues is noted, SendEvery how often it is looked whether messages wait.
const (
	Every     = time.Minute
	NoteEvery = 10 * time.Minute
	SendEvery = 10 * time.Second
)

// Config of a watch.
type Config struct {
	// Redact takes secrets out of a text; nil: there are none.
	Redact func(string) string
	// Observe, if set, is told what became of each try to send a message: sent, failed
	// or given up.
	Observe func(kind, outcome string)
}

// Watch holds sources against the rules and has people told.
type Watch struct {
	cfg    Config
	look   Look
	store  Store
	sender Sender
	log    *slog.Logger
	// notedAt is when queues were last noted by this process, in microseconds since 1970;
	// a node may be served twice at once, and then both loops look at it.
	notedAt atomic.Int64

	mu sync.Mutex
	// trouble is why descriptions of sources could not be read, by source.
	trouble map[string]string // guarded by mu
}

// New returns a watch.
func New(cfg Config, look Look, store Store, sender Sender, log *slog.Logger) *Watch {
	return &Watch{cfg: cfg, look: look, store: store, sender: sender, log: log.With("component", "alert"), trouble: map[string]string{}}
}

// Check says what is wrong with where messages go, if anything is.
func (w *Watch) Check() error { return w.sender.Check() }

// Tick looks at all sources once. One whose description cannot be read keeps nobody from
// being told of the others, nor of what else is known of it: only what the description would
// tell stays as it was.
func (w *Watch) Tick(ctx context.Context) error {
	facts, err := w.look(ctx)
	if err != nil {
		return err
	}
	w.noteUnread(ctx, facts)
	found := Find(facts)
	for i := range found {
		found[i].Text = w.clean(found[i].Text)
		found[i].Next = w.clean(found[i].Next)
	}
	targets := w.sender.Targets()
	var changes []Change
	err = w.store.UpdateAlerts(ctx, targets, func(now time.Time, held []Alert) []Change {
		changes = Judge(now, facts.judged(held), found, len(targets) > 0)
		return changes
	})
	if err != nil {
		return err
	}
	for _, c := range changes {
		switch {
		case c.State == Firing && c.Was != Firing:
			w.log.WarnContext(ctx, "alert", "rule", c.Rule, "source", c.Source, "subject", c.Subject, "text", c.Text, "next", c.Next)
		case c.State == Cleared && c.Was == Firing:
			w.log.InfoContext(ctx, "alert is over", "rule", c.Rule, "source", c.Source, "subject", c.Subject, "lasted", c.ClearedAt.Sub(c.Since))
		}
	}
	if facts.Now.Sub(time.UnixMicro(w.notedAt.Load())) < NoteEvery {
		return nil
	}
	if err := w.store.NoteQueues(ctx, looks(facts)); err != nil {
		return err
	}
	w.notedAt.Store(facts.Now.UnixMicro())
	return nil
}

// noteUnread logs which descriptions could not be read, each once as long as it stays so.
func (w *Watch) noteUnread(ctx context.Context, f Facts) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range f.Sources {
		if s.Unread == nil {
			delete(w.trouble, s.Code)
			continue
		}
		why := w.clean(s.Unread.Error())
		if w.trouble[s.Code] != why && ctx.Err() == nil {
			w.log.WarnContext(ctx, "the description of a source could not be read, so that its alerts about it stay as they are", "source", s.Code, "err", why)
			w.trouble[s.Code] = why
		}
	}
}

// judged are those of the alerts of which it is known whether they still hold.
func (f Facts) judged(held []Alert) []Alert {
	unread := map[string]bool{}
	for _, s := range f.Sources {
		unread[s.Code] = s.Unread != nil
	}
	return slices.DeleteFunc(slices.Clone(held), func(a Alert) bool { return a.Rule == AmbiguousPick && unread[a.Source] })
}

// looks are the queues as they were found.
func looks(f Facts) (out []QueueLook) {
	for _, s := range f.Sources {
		for _, q := range s.Queues {
			out = append(out, QueueLook{Source: s.Code, Operation: q.Operation, Waiting: q.Waiting})
		}
	}
	return out
}

const (
	// sendWithin is how long a message may take, claimFor how long nobody else tries to
	// send one that somebody has in hand.
	sendWithin = 15 * time.Second
	claimFor   = time.Minute
	// A message that could not be sent is tried again after firstRetry, twice as long
	// each time up to longestRetry, and given up giveUpAfter it was to be sent.
	firstRetry   = 30 * time.Second
	longestRetry = 30 * time.Minute
	giveUpAfter  = 24 * time.Hour
	// mostAtOnce bounds what is sent to a target before the others have their turn.
	mostAtOnce = 20
)

// What became of a try to send a message.
const (
	Sent    = "sent"
	NotSent = "failed"
	GivenUp = "given_up"
)

// Send sends what waits, to one target after the other. A target that does not take
// its messages does not keep the others from theirs.
func (w *Watch) Send(ctx context.Context) error {
	for _, t := range w.sender.Targets() {
		for range mostAtOnce {
			sent, err := w.sendNext(ctx, t)
			if err != nil {
				return err
			}
			if !sent {
				break
			}
		}
	}
	return nil
}

// sendNext sends the oldest message that waits for a target, and reports whether it
// did. A message whose sending nobody could note down is sent again.
func (w *Watch) sendNext(ctx context.Context, t Target) (bool, error) {
	d, due, err := w.store.DueDelivery(ctx, t.Name)
	if err != nil || !due {
		return false, err
	}
	mine, err := w.store.ClaimDelivery(ctx, d, claimFor)
	if err != nil || !mine {
		return false, err
	}
	d.Attempts++
	within, cancel := context.WithTimeout(ctx, sendWithin)
	defer cancel()
	failure := w.sender.Send(within, t.Name, d.Message)
	if ctx.Err() != nil && failure != nil {
		return false, nil // it is tried again when the claim has run out
	}
	o := Outcome{Sent: failure == nil}
	word := Sent
	if failure != nil {
		word = NotSent
		o.Error = w.clean(failure.Error())
		o.RetryIn = min(firstRetry<<min(d.Attempts-1, 10), longestRetry)
		if d.Waited+o.RetryIn > giveUpAfter {
			o.RetryIn = 0
			word = GivenUp
		}
		w.log.WarnContext(ctx, "an alert could not be sent", "target", t.Name, "rule", d.Message.Rule, "subject", d.Message.Subject,
			"attempt", d.Attempts, "retry_in", o.RetryIn, "err", o.Error)
	}
	if w.cfg.Observe != nil {
		w.cfg.Observe(t.Kind, word)
	}
	return o.Sent, w.store.EndDelivery(ctx, d, o)
}

// mailAddress is anybody's address, such as that of an author in a reply.
var mailAddress = regexp.MustCompile(`[\pL\pN._%+'-]+@[\pL\pN-]+(\.[\pL\pN-]+)+`)

// longest is how long a text may be.
const longest = 600

// clean makes one line of a text that may hold what an upstream said, without secrets,
// addresses of people and what steers a terminal.
func (w *Watch) clean(text string) string {
	if w.cfg.Redact != nil {
		text = w.cfg.Redact(text)
	}
	text = mailAddress.ReplaceAllString(strings.ToValidUTF8(text, "?"), "***@***")
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			return ' '
		}
		return r
	}, text)
	text = strings.Join(strings.Fields(text), " ")
	if len(text) <= longest {
		return text
	}
	cut := longest
	for !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + " ..."
}
