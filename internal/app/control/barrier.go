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
	PartitionFacts(ctx context.Context, p harvest.Partition) (PartitionFacts, error)
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

// barriers finds out why partitions wait, and reads each thing once for one answer.
type barriers struct {
	*Control
	now        time.Time
	sources    map[string]harvest.SourceState
	partitions map[harvest.Partition]PartitionFacts
	cooling    map[harvest.Partition]time.Time
}

func (c *Control) barriers(ctx context.Context) (*barriers, error) {
	now, err := c.store.Now(ctx)
	return &barriers{
		Control: c, now: now, sources: map[string]harvest.SourceState{},
		partitions: map[harvest.Partition]PartitionFacts{}, cooling: map[harvest.Partition]time.Time{},
	}, err
}

// facts are what the store knows of a partition.
func (b *barriers) facts(ctx context.Context, p harvest.Partition) (PartitionFacts, error) {
	if f, known := b.partitions[p]; known {
		return f, nil
	}
	f, err := b.store.PartitionFacts(ctx, p)
	b.partitions[p] = f
	return f, err
}

// state is whether the source is held.
func (b *barriers) state(ctx context.Context, code string) (harvest.SourceState, error) {
	if st, known := b.sources[code]; known {
		return st, nil
	}
	st, err := b.store.SourceState(ctx, code)
	b.sources[code] = st
	return st, err
}

// cause is what the upstream of a partition said last, while it has not answered since.
func (b *barriers) cause(ctx context.Context, p harvest.Partition) (*Cause, error) {
	f, err := b.facts(ctx, p)
	if err != nil {
		return nil, err
	}
	if f.Outage.Count > 0 {
		return outageCause(f.Outage), nil
	}
	st, err := b.state(ctx, p.Provenance)
	if err != nil || !st.Stopped {
		return nil, err
	}
	return stopCause(st), nil
}

// bar is why nothing of a partition may be taken now, nil if something may.
func (b *barriers) bar(ctx context.Context, p harvest.Partition) (*WaitingFor, error) {
	st, err := b.state(ctx, p.Provenance)
	if err != nil {
		return nil, err
	}
	resume := fmt.Sprintf("patra source resume %s --reason TEXT", p.Provenance)
	switch {
	case st.Stopped:
		return waitFor(ReasonLineStopped, time.Time{}, fmt.Sprintf("patra source check %s, then %s", p.Provenance, resume)), nil
	case st.Paused:
		return waitFor(ReasonSourcePaused, time.Time{}, resume), nil
	}
	if rest, quiet := b.quiet.Rest(ctx, p.Provenance, p.Operation); quiet {
		return waitFor(ReasonQuietHours, rest.Until, "the end of the quiet hours"), nil
	}
	f, err := b.facts(ctx, p)
	if err != nil {
		return nil, err
	}
	switch {
	case f.Breaker.Bars(b.now) && f.Breaker.Trying:
		return waitFor(ReasonCircuitOpen, time.Time{}, "an answer to the request that is being tried"), nil
	case f.Breaker.Bars(b.now):
		return waitFor(ReasonCircuitOpen, f.Breaker.Until, "an answer to the request that is tried then"), nil
	}
	if until := b.coolsUntil(ctx, p); until.After(b.now) {
		return waitFor(ReasonRateCooldown, until, "the end of that time, which the source asked for"), nil
	}
	return nil, nil
}

// inHand is what whoever works on a partition waits for while its source does not
// answer; nil if it does.
func (b *barriers) inHand(ctx context.Context, p harvest.Partition) (*WaitingFor, error) {
	f, err := b.facts(ctx, p)
	if err != nil || f.Outage.Count == 0 {
		return nil, err
	}
	if until := b.coolsUntil(ctx, p); until.After(b.now) {
		return waitFor(ReasonRateCooldown, until, "the end of that time, which the source asked for"), nil
	}
	return askedAgain(f.Outage, b.now), nil
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
func (b *barriers) ready(ctx context.Context, p harvest.Partition, since time.Time) (*WaitingFor, error) {
	f, err := b.facts(ctx, p)
	switch {
	case err != nil:
		return nil, err
	case f.Running.Count > 0:
		return waitFor(ReasonGlobalLimit, time.Time{}, "its turn, which comes by priority and time"), nil
	case b.now.Sub(since) > nobodyCame:
		return waitFor(ReasonNoExecutor, time.Time{}, "a process that works: patra serve"), nil
	}
	return nil, nil
}
