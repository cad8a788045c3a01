package control

import (
	"context"
	"fmt"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// PartitionStore reads what holds a partition back.
type PartitionStore interface {
	// PartitionFacts looks at all partitions that fail or are worked on; of others there
	// is nothing to tell.
	PartitionFacts(ctx context.Context) (map[harvest.Partition]PartitionFacts, error)
}

// PartitionFacts is what the store knows of a partition beside its tasks.
type PartitionFacts struct {
	Breaker harvest.Breaker
	// Outage is what the upstream said in place of an answer; its count is 0 if the
	// last request was answered.
	Outage harvest.Outage
	// Running is how many of its tasks somebody has in hand.
	Running Counted
}

// barriers finds out why partitions wait. What the store knows of all of them is read
// once for one answer: those that fail, or are worked on, are few.
type barriers struct {
	*Control
	now     time.Time
	states  map[string]harvest.SourceState
	facts   map[harvest.Partition]PartitionFacts
	held    map[harvest.EndpointOf]harvest.SourceState
	cooling map[harvest.Partition]time.Time
}

func (c *Control) barriers(ctx context.Context) (*barriers, error) {
	b := &barriers{Control: c, cooling: map[harvest.Partition]time.Time{}}
	var err error
	b.now, err = c.store.Now(ctx)
	if err != nil {
		return nil, err
	}
	b.states, err = c.store.SourceStates(ctx)
	if err != nil {
		return nil, err
	}
	b.held, err = c.store.HeldEndpoints(ctx)
	if err != nil {
		return nil, err
	}
	b.facts, err = c.store.PartitionFacts(ctx)
	return b, err
}

// cause is what the upstream of a partition said last, while it has not answered since.
func (b *barriers) cause(p harvest.Partition) *Cause {
	if o := b.facts[p].Outage; o.Count > 0 {
		return outageCause(o)
	}
	if st := b.states[p.Provenance]; st.Stopped {
		return stopCause(st)
	}
	return nil
}

// bar is why nothing of a partition may be taken now, nil if something may.
func (b *barriers) bar(ctx context.Context, p harvest.Partition) *WaitingFor {
	st := b.states[p.Provenance]
	resume := fmt.Sprintf("patra source resume %s --reason TEXT", p.Provenance)
	switch {
	case st.Stopped:
		return waitFor(ReasonLineStopped, time.Time{}, fmt.Sprintf("patra source check %s, then %s", p.Provenance, resume))
	case st.Paused:
		return waitFor(ReasonSourcePaused, time.Time{}, resume)
	}
	if st, held := b.held[p.EndpointOf()]; held {
		return HeldEndpoint{p.EndpointOf(), st}.waits()
	}
	if rest, quiet := b.quiet.Rest(ctx, p.Provenance, p.Operation); quiet {
		return waitFor(ReasonQuietHours, rest.Until, "the end of the quiet hours")
	}
	f := b.facts[p]
	switch {
	case f.Breaker.Bars(b.now) && f.Breaker.Trying:
		return waitFor(ReasonCircuitOpen, time.Time{}, "an answer to the request that is being tried")
	case f.Breaker.Bars(b.now):
		return waitFor(ReasonCircuitOpen, f.Breaker.Until, "an answer to the request that is tried then")
	}
	if until := b.coolsUntil(ctx, p); until.After(b.now) {
		return waitFor(ReasonRateCooldown, until, "the end of that time, which the source asked for")
	}
	return nil
}

// inHand is what whoever works on a partition waits for while its source does not
// answer; nil if it does.
func (b *barriers) inHand(ctx context.Context, p harvest.Partition) *WaitingFor {
	o := b.facts[p].Outage
	if o.Count == 0 {
		return nil
	}
	if until := b.coolsUntil(ctx, p); until.After(b.now) {
		return waitFor(ReasonRateCooldown, until, "the end of that time, which the source asked for")
	}
	return askedAgain(o, b.now)
}

// coolsUntil is until when the source asked to be left alone. Where its description
// cannot be used that is not known.
func (b *barriers) coolsUntil(ctx context.Context, p harvest.Partition) time.Time {
	if until, known := b.cooling[p]; known {
		return until
	}
	b.cooling[p] = time.Time{}
	con, err := b.contracts.Select(b.leaveNoTrace(ctx), p.Provenance, p.Operation, "")
	if err != nil {
		return time.Time{}
	}
	r := b.allowed(ctx, con.Spec, source.Call{Purpose: source.ForSearch}).For(con.Spec.Search.Name, "")
	s, err := b.gateState(ctx, r.Key)
	if err != nil {
		return time.Time{}
	}
	b.cooling[p] = later(s.CooldownUntil, s.EmptyUntil)
	return b.cooling[p]
}

// ready is why work that is due and not barred is not taken; nil if it is due so
// shortly that nobody can have looked.
func (b *barriers) ready(p harvest.Partition, since time.Time) *WaitingFor {
	switch {
	case b.facts[p].Running.Count > 0:
		return waitFor(ReasonGlobalLimit, time.Time{}, "its turn, which comes by priority and time")
	case b.now.Sub(since) > nobodyCame:
		return waitFor(ReasonNoExecutor, time.Time{}, "a process that works: patra serve")
	}
	return nil
}
