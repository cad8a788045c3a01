package control

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/papertrace/patra/internal/app/relay"
	"github.com/papertrace/patra/internal/domain/problem"
	"github.com/papertrace/patra/internal/domain/source"
)

// OutboxStore keeps who is told of revisions of records, and how that goes. What is not
// there is [harvest.ErrNotFound].
type OutboxStore interface {
	// OutboxTargets tells how each target fares, the feed among them.
	OutboxTargets(ctx context.Context) ([]OutboxTarget, error)
	// OutboxMessages lists messages that were not taken, behind one.
	OutboxMessages(ctx context.Context, q OutboxQuery, after int64, limit int) ([]OutboxMessage, error)
	OutboxMessage(ctx context.Context, id int64) (OutboxMessage, error)
	// RetryOutbox has messages tried again at once, and tells how many.
	RetryOutbox(ctx context.Context, q OutboxRetry, a source.Audit) (int64, error)
	// AddOutboxTarget has a target kept from now on; everything: what is held is sent
	// to it first.
	AddOutboxTarget(ctx context.Context, name, kind string, everything bool, a source.Audit) error
	RemoveOutboxTarget(ctx context.Context, name string, a source.Audit) error
	// PruneOutbox removes what everybody got and is older than keep, some of it at a
	// time, and tells how many rows. A feed that was not asked for in unread ends.
	PruneOutbox(ctx context.Context, keep, unread time.Duration) (int64, error)
}

// EventTargets are the targets of events that this process was told of.
type EventTargets interface {
	// Check says what is wrong with how they are written, if anything is.
	Check() error
	Targets() []relay.Target
}

type noEvents struct{}

func (noEvents) Check() error { return nil }

func (noEvents) Targets() []relay.Target { return nil }

// OutboxTarget is who is told of revisions of records, and how that goes. An address is
// never shown.
type OutboxTarget struct {
	Number int64  `json:"-"`
	Name   string `json:"name"`
	// Kind is how messages are sent, or feed.
	Kind string `json:"kind"`
	// State is a word for how it fares: see the constants.
	State string `json:"state"`
	// Configured: this process knows how to reach it.
	Configured bool `json:"configured"`
	// Position is the place in the stream up to which all was sent.
	Position int64 `json:"position"`
	// Everything: what was held when it was asked for is being sent.
	Everything bool `json:"everything,omitzero"`
	// Backlog is how many revisions it has not got, up to 10,000, the oldest of them
	// stored at OldestAt.
	Backlog  int64 `json:"backlog"`
	OldestAt *Time `json:"oldest_at,omitempty"`
	// Waiting messages were refused, or wait behind one that was; Parked ones are not
	// tried any more.
	Waiting    int64  `json:"waiting"`
	Parked     int64  `json:"parked"`
	Sent       int64  `json:"sent"`
	LastSentAt *Time  `json:"last_sent_at,omitempty"`
	Owner      string `json:"owner,omitempty"`
	Failures   int    `json:"failures"`
	Error      string `json:"error,omitempty"`
	RetryAt    *Time  `json:"retry_at,omitempty"`
	AskedAt    *Time  `json:"asked_at,omitempty"`
	Since      Time   `json:"since"`
}

// Words for how a target fares.
const (
	// TargetFollows: it has all, or gets it.
	TargetFollows = "FOLLOWS"
	// TargetOut: it takes nothing.
	TargetOut = "OUT"
	// TargetParked: it refuses some messages.
	TargetParked = "PARKED"
	// TargetUnserved: nobody sends to it, and something waits.
	TargetUnserved = "UNSERVED"
	// TargetNew: it is not kept yet.
	TargetNew = "NEW"
)

// TargetFamily is the family of such a word.
func TargetFamily(word string) Family {
	switch word {
	case TargetFollows:
		return OK
	case TargetNew:
		return Off
	case TargetOut:
		return Waiting
	}
	return Remarked
}

func (t OutboxTarget) word() string {
	switch {
	case t.Failures > 0:
		return TargetOut
	case t.Parked > 0:
		return TargetParked
	case t.Kind != feedKind && t.Owner == "" && t.Backlog+t.Waiting > 0:
		return TargetUnserved
	}
	return TargetFollows
}

const feedKind = "feed"

// OutboxMessage is a revision that a target has not taken.
type OutboxMessage struct {
	ID       int64  `json:"id"`
	Target   string `json:"target"`
	Source   string `json:"source"`
	Type     string `json:"type"`
	Record   string `json:"record"`
	Revision int64  `json:"revision"`
	// State is WAITING or PARKED.
	State    string `json:"state"`
	Attempts int    `json:"attempts"`
	Error    string `json:"error,omitempty"`
	RetryAt  *Time  `json:"retry_at,omitempty"`
	Since    Time   `json:"since"`
}

// States of a message.
const (
	MessageWaiting = "WAITING"
	MessageParked  = "PARKED"
)

// MessageFamily is the family of a message's state.
func MessageFamily(state string) Family {
	if state == MessageParked {
		return Stopped
	}
	return Waiting
}

// OutboxQuery says which messages are listed.
type OutboxQuery struct {
	Target string // empty: of all
	Parked bool   // only those
	Page
}

// OutboxList is who is told, and what they did not take.
type OutboxList struct {
	Targets  []OutboxTarget  `json:"targets"`
	Messages []OutboxMessage `json:"messages"`
	// Next is where the next page begins, empty on the last.
	Next string `json:"next,omitempty"`
}

// Outbox lists who is told of revisions of records, and what they did not take.
func (c *Control) Outbox(ctx context.Context, q OutboxQuery) (OutboxList, error) {
	out := OutboxList{Messages: []OutboxMessage{}}
	targets, err := c.OutboxTargets(ctx)
	if err != nil {
		return out, err
	}
	out.Targets = targets.Targets
	after, err := q.Number()
	if err != nil {
		return out, err
	}
	found, err := c.store.OutboxMessages(ctx, q, after, q.Limit+1)
	if err != nil {
		return out, err
	}
	out.Messages, out.Next = firstOf(found, q.Limit, func(m OutboxMessage) int64 { return m.ID })
	return out, nil
}

// OutboxTargetList is who is told.
type OutboxTargetList struct {
	Targets []OutboxTarget `json:"targets"`
}

// OutboxTargets lists who is told of revisions: those that are kept, and those that this
// process was told of and that are not kept yet.
func (c *Control) OutboxTargets(ctx context.Context) (OutboxTargetList, error) {
	kept, err := c.store.OutboxTargets(ctx)
	if err != nil {
		return OutboxTargetList{}, err
	}
	for i := range kept {
		kept[i].State = kept[i].word()
	}
	for _, t := range c.events.Targets() {
		at := slices.IndexFunc(kept, func(k OutboxTarget) bool { return k.Name == t.Name() })
		if at < 0 {
			kept = append(kept, OutboxTarget{Name: t.Name(), Kind: t.Kind(), State: TargetNew})
			at = len(kept) - 1
		}
		kept[at].Configured = true
	}
	slices.SortFunc(kept, func(a, b OutboxTarget) int { return cmp.Compare(a.Name, b.Name) })
	return OutboxTargetList{Targets: kept}, nil
}

// OutboxMessageView is a message with the event that is sent.
type OutboxMessageView struct {
	OutboxMessage
	EventID string `json:"event_id"`
}

// OutboxMessage shows one.
func (c *Control) OutboxMessage(ctx context.Context, id int64) (OutboxMessageView, error) {
	m, err := c.store.OutboxMessage(ctx, id)
	v := OutboxMessageView{OutboxMessage: m}
	v.EventID = relay.KeyOf(m.Source, m.Type, m.Record) + "/" + strconv.FormatInt(m.Revision, 10)
	return v, err
}

// OutboxRetry says what is to be tried again: a message, all of a target, or all.
type OutboxRetry struct {
	ID     int64
	Target string
}

// OutboxRetried is what is, or would be, tried again.
type OutboxRetried struct {
	Applied  bool  `json:"applied"`
	Messages int64 `json:"messages"`
	// Token does exactly this.
	Token string `json:"token,omitempty"`
}

// RetryOutbox has messages tried again at once, with all tries before them.
func (c *Control) RetryOutbox(ctx context.Context, q OutboxRetry, by By, dryRun bool) (OutboxRetried, error) {
	object := "outbox"
	if q.ID != 0 {
		object = "outbox/" + strconv.FormatInt(q.ID, 10)
	}
	var out OutboxRetried
	count, err := c.countRetried(ctx, &q)
	if err != nil {
		return out, err
	}
	out.Messages = count
	a := by.line("OUTBOX_RETRY", object)
	shown := []any{q.ID, q.Target, count}
	if dryRun {
		out.Token, err = c.seenToken(ctx, a.Action, a.Object, shown)
		return out, err
	}
	if err := c.checkSeen(ctx, by.Token, a.Action, a.Object, shown); err != nil {
		return out, err
	}
	out.Messages, err = c.store.RetryOutbox(ctx, q, a)
	out.Applied = err == nil
	return out, err
}

// countRetried counts what would be tried again.
func (c *Control) countRetried(ctx context.Context, q *OutboxRetry) (n int64, err error) {
	if q.ID != 0 {
		_, err := c.store.OutboxMessage(ctx, q.ID)
		return 1, err
	}
	targets, err := c.store.OutboxTargets(ctx)
	if err != nil {
		return 0, err
	}
	known := q.Target == ""
	for _, t := range targets {
		if q.Target == "" || t.Name == q.Target {
			known = true
			n += t.Waiting + t.Parked
		}
	}
	if !known {
		return 0, noTarget(q.Target)
	}
	return n, nil
}

func noTarget(name string) error {
	return problem.New("there is no target "+name, problem.Problem{
		Code: "not_found", Kind: problem.NotFound, Next: "patra outbox target list shows those there are",
	})
}

// TargetOrder is what is to become of a target of events.
type TargetOrder struct {
	By
	Name string
	// Everything sends what is held first.
	Everything bool
	DryRun     bool
}

// TargetChange is what becomes of a target.
type TargetChange struct {
	Applied bool   `json:"applied"`
	Changes bool   `json:"changes"`
	Name    string `json:"name"`
	Kind    string `json:"kind"`
	// Everything: what is held is sent to it.
	Everything bool `json:"everything,omitzero"`
	// Unsent is how much it will not get any more.
	Unsent int64 `json:"unsent,omitzero"`
	// Configured: this process knows how to reach it, and adds it again when it serves.
	Configured bool   `json:"configured"`
	Token      string `json:"token,omitempty"`
}

// AddTarget has a target kept that this process was told of: what is stored from now on
// is sent to it, and on demand everything that is held before.
func (c *Control) AddTarget(ctx context.Context, o TargetOrder) (TargetChange, error) {
	out := TargetChange{Name: o.Name, Everything: o.Everything}
	if err := c.events.Check(); err != nil {
		return out, err
	}
	list, err := c.OutboxTargets(ctx)
	if err != nil {
		return out, err
	}
	at := slices.IndexFunc(list.Targets, func(t OutboxTarget) bool { return t.Name == o.Name && t.Kind != feedKind })
	if at < 0 {
		return out, problem.New("this process was not told of a target "+o.Name, problem.Problem{
			Code: "not_found", Kind: problem.NotFound, Next: "name it in PATRA_EVENTS or --events, as in file:/var/lib/patra/events.jsonl#" + o.Name + "; patra outbox --help has the kinds",
		})
	}
	t := list.Targets[at]
	out.Kind = t.Kind
	out.Configured = t.Configured
	out.Changes = t.State == TargetNew || o.Everything
	return c.changeTarget(ctx, out, o, "OUTBOX_TARGET_ADD", []any{t.State, o.Everything}, func(a source.Audit) error {
		return c.store.AddOutboxTarget(ctx, o.Name, t.Kind, o.Everything, a)
	})
}

// RemoveTarget forgets a target, and what it has not got. Where it was the last, revisions
// are not written down any more.
func (c *Control) RemoveTarget(ctx context.Context, o TargetOrder) (TargetChange, error) {
	out := TargetChange{Name: o.Name}
	list, err := c.OutboxTargets(ctx)
	if err != nil {
		return out, err
	}
	at := slices.IndexFunc(list.Targets, func(t OutboxTarget) bool { return t.Name == o.Name && t.State != TargetNew })
	if at < 0 {
		return out, noTarget(o.Name)
	}
	t := list.Targets[at]
	out.Kind = t.Kind
	out.Configured = t.Configured
	out.Unsent = t.Backlog + t.Waiting + t.Parked
	out.Changes = true
	return c.changeTarget(ctx, out, o, "OUTBOX_TARGET_REMOVE", []any{t.Since}, func(a source.Audit) error {
		return c.store.RemoveOutboxTarget(ctx, o.Name, a)
	})
}

// changeTarget makes a change, or shows it with the token that makes it.
func (c *Control) changeTarget(
	ctx context.Context, out TargetChange, o TargetOrder, action string, shown []any, do func(source.Audit) error,
) (TargetChange, error) {
	a := o.line(action, "outbox/target/"+o.Name)
	if o.DryRun {
		var err error
		out.Token, err = c.seenToken(ctx, a.Action, a.Object, shown)
		return out, err
	}
	if err := c.checkSeen(ctx, o.Token, a.Action, a.Object, shown); err != nil {
		return out, err
	}
	if !out.Changes {
		return out, nil
	}
	err := do(a)
	out.Applied = err == nil
	return out, err
}

// unreadFeed is how long a feed goes on that nobody asks for.
const unreadFeed = 30 * 24 * time.Hour

// prunesAtOnce bounds how much is removed before others come to their turn.
const prunesAtOnce = 20

// PruneOutbox removes what everybody got, once it is older than it is kept.
func (c *Control) PruneOutbox(ctx context.Context) error {
	for range prunesAtOnce {
		removed, err := c.store.PruneOutbox(ctx, c.keepEvents, unreadFeed)
		if err != nil || removed == 0 {
			return err
		}
	}
	return nil
}

// RegisterTargets has the targets kept that this process was told of: what is stored from
// now on is sent to them.
func (c *Control) RegisterTargets(ctx context.Context) error {
	if err := c.events.Check(); err != nil || len(c.events.Targets()) == 0 {
		return err
	}
	return c.relay().Register(ctx)
}

// SendEvents sends what the targets of this process have not got, until nothing is left
// that could be sent now. A target that another process sends to is left to it.
func (c *Control) SendEvents(ctx context.Context) error {
	if len(c.events.Targets()) == 0 {
		return nil
	}
	return c.relay().Drain(ctx)
}
