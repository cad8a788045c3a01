package control

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/papertrace/patra/internal/app/registry"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/problem"
	"github.com/papertrace/patra/internal/domain/source"
)

// SourceOrder says how a source is changed.
type SourceOrder struct {
	By
	// At is when the change takes effect, zero: now. The rows it supersedes stay
	// in force beside the new ones for Observe.
	At      time.Time
	Observe time.Duration
	// DryRun shows what would change. The token of what it showed makes exactly
	// that change, or none.
	DryRun bool
	Token  string
}

func (o SourceOrder) order() registry.Order {
	a := source.Audit{Actor: o.Actor, Reason: o.Reason}
	return registry.Order{Audit: a, From: o.At, Observe: o.Observe, DryRun: o.DryRun, Token: o.Token}
}

// SourceChange is what a change of a source does, or did.
type SourceChange struct {
	Applied bool          `json:"applied"`
	At      Time          `json:"at"`
	Changes []RowChange   `json:"changes"`
	Fields  []ValueChange `json:"fields"`
	New     bool          `json:"new"`
	Source  string        `json:"source"`
	Token   string        `json:"token"`
	// Notes tell what the pack claims for itself beyond its own source.
	Notes []string `json:"-"`
}

// RowChange is what is done to one row.
type RowChange struct {
	Action     string `json:"action"` // add, close or reopen
	Slot       string `json:"slot"`
	Row        int64  `json:"row,omitempty"`
	From       *Time  `json:"effective_from,omitempty"`
	To         *Time  `json:"effective_to,omitempty"`
	Supersedes int64  `json:"supersedes,omitempty"`
}

// ApplyPack makes the registry say what a pack says, from an instant on.
func (c *Control) ApplyPack(ctx context.Context, file string, o SourceOrder) (SourceChange, error) {
	p, err := c.packs.Read(file)
	if err != nil {
		return SourceChange{}, err
	}
	return c.applyPack(ctx, p, o)
}

// ApplyText is [Control.ApplyPack] of a pack that was sent as it is.
func (c *Control) ApplyText(ctx context.Context, text string, o SourceOrder) (SourceChange, error) {
	p, _, err := c.packs.Parse(packSent, text)
	if err != nil {
		return SourceChange{}, err
	}
	return c.applyPack(ctx, p, o)
}

func (c *Control) applyPack(ctx context.Context, p Pack, o SourceOrder) (SourceChange, error) {
	prev, err := c.registry.Apply(ctx, p.Described, o.order())
	if err != nil {
		return SourceChange{}, placed(p, err)
	}
	out := c.sourceChange(p.Definition.Source, prev, o)
	out.Notes = claims(p.Definition)
	return out, nil
}

// placed puts what the registry found where it stands in the file, if it stands
// there at all.
func placed(p Pack, err error) error {
	bad, ok := errors.AsType[source.Violations](err)
	if !ok {
		return err
	}
	for _, v := range bad {
		if !p.Has(v.Path) {
			return err
		}
	}
	return p.Place(bad)
}

// claims is what a description claims for itself beyond its own source, by the
// first operation that it is there for.
func claims(d source.Definition) []string {
	for _, op := range source.Operations {
		spec, _, err := source.Compile(d.For(op), source.Trigger{Operation: op})
		if err != nil {
			continue // it may not be there for every operation
		}
		var out []string
		for _, w := range spec.Exposed() {
			out = append(out, w.String())
		}
		return out
	}
	return nil
}

// RollbackSource takes the newest change of a source back.
func (c *Control) RollbackSource(ctx context.Context, code string, o SourceOrder) (SourceChange, error) {
	prev, err := c.registry.Rollback(ctx, code, o.order())
	if err != nil {
		return SourceChange{}, err
	}
	return c.sourceChange(code, prev, o), nil
}

func (c *Control) sourceChange(code string, p registry.Preview, o SourceOrder) SourceChange {
	out := SourceChange{
		Applied: !o.DryRun, At: Time(p.At), Changes: []RowChange{}, Fields: []ValueChange{}, New: p.New, Source: code, Token: p.Token,
	}
	if !p.New {
		out.Fields = c.differences(p.Before, p.After)
	}
	for _, ch := range p.Changes {
		out.Changes = append(out.Changes, rowChange(ch, o.DryRun))
	}
	return out
}

// rowChange shows a change of a row. A row that was not written has no number.
func rowChange(ch source.Change, dryRun bool) RowChange {
	v := RowChange{Slot: ch.Slot.String()}
	switch {
	case ch.Add != nil:
		v.Action = "add"
		v.From = optional(ch.Add.From)
		v.Supersedes = ch.Add.Supersedes
		if !dryRun {
			v.Row = ch.Add.ID
		}
	case ch.Close != 0:
		v.Action = "close"
		v.Row = ch.Close
		v.To = optional(ch.Until)
	default:
		v.Action = "reopen"
		v.Row = ch.Reopen
	}
	return v
}

// HoldOrder says how a source, or one endpoint of it, is paused or resumed.
type HoldOrder struct {
	By
	Source string // or SOURCE/ENDPOINT
	DryRun bool
}

// Resumption says how a source that was stopped is resumed: after a check that asks
// at BaseURL, or without one by Force.
type Resumption struct {
	Force   bool
	BaseURL string
}

// SourceHold is what became of a source that was paused or resumed.
type SourceHold struct {
	After   string `json:"after"`
	Applied bool   `json:"applied"`
	Before  string `json:"before"`
	Source  string `json:"source"`
	// Token, of a preview, lets it be done while the source stands as it was shown.
	Token string `json:"token,omitempty"`
	// Checks: it is resumed if its check passes. Requests is what the check sent,
	// if there was one.
	Checks   bool `json:"-"`
	Requests int  `json:"-"`
	// Changes: the source is not what it was, though the word for it may be the
	// same. Reason is why it was held, since when.
	Changes bool   `json:"-"`
	Reason  string `json:"-"`
	Since   Time   `json:"-"`
}

// PauseSource takes no more work of a source. One that is stopped stays so.
func (c *Control) PauseSource(ctx context.Context, o HoldOrder) (SourceHold, error) {
	code, endpoint, one := strings.Cut(o.Source, "/")
	if one {
		return c.holdEndpoint(ctx, harvest.EndpointOf{Provenance: code, Endpoint: endpoint}, true, o, Resumption{}, "ENDPOINT_PAUSE")
	}
	was, out, err := c.held(ctx, o.Source)
	if err != nil {
		return out, err
	}
	is := was
	is.Paused = true
	return c.hold(ctx, out, was, is, o, o.line("SOURCE_PAUSE", "source/"+o.Source))
}

// ResumeSource works on a source again. One that a fatal fault stopped is checked
// first.
func (c *Control) ResumeSource(ctx context.Context, o HoldOrder, r Resumption) (SourceHold, error) {
	code, endpoint, one := strings.Cut(o.Source, "/")
	if one {
		return c.holdEndpoint(ctx, harvest.EndpointOf{Provenance: code, Endpoint: endpoint}, false, o, r, "ENDPOINT_RESUME")
	}
	was, out, err := c.held(ctx, o.Source)
	if err != nil {
		return out, err
	}
	is := was
	is.Paused = false
	is.Stopped = false
	out.Checks = was.Stopped && !r.Force
	if out.Checks && !o.DryRun {
		out.Requests, err = c.mustPass(ctx, harvest.EndpointOf{Provenance: o.Source}, r.BaseURL)
		if err != nil {
			return out, err
		}
	}
	a := o.line("SOURCE_RESUME", "source/"+o.Source)
	if was.Stopped && r.Force {
		a.Reason += " (forced, without a check)"
	}
	return c.hold(ctx, out, was, is, o, a)
}

func (c *Control) held(ctx context.Context, code string) (harvest.SourceState, SourceHold, error) {
	if err := c.known(ctx, code); err != nil {
		return harvest.SourceState{}, SourceHold{}, err
	}
	was, err := c.store.SourceState(ctx, code)
	return was, SourceHold{Source: code, Before: holdWord(was), Reason: was.Reason, Since: Time(was.Since)}, err
}

func (c *Control) hold(ctx context.Context, out SourceHold, was, is harvest.SourceState, o HoldOrder, a source.Audit) (SourceHold, error) {
	out.After = holdWord(is)
	out.Changes = is.Paused != was.Paused || is.Stopped != was.Stopped
	shown := []any{was, is}
	if o.DryRun {
		var err error
		out.Token, err = c.seenToken(ctx, a.Action, o.Source, shown)
		return out, err
	}
	if err := c.checkSeen(ctx, o.Token, a.Action, o.Source, shown); err != nil {
		return out, err
	}
	out.Applied = out.Changes
	if !out.Applied {
		return out, nil
	}
	return out, c.store.Hold(ctx, o.Source, is.Paused, is.Stopped, a)
}

// holdEndpoint pauses one endpoint of a source, or resumes it. What goes through the
// others is not touched. One that a fatal fault stopped is checked before it is resumed.
func (c *Control) holdEndpoint(ctx context.Context, at harvest.EndpointOf, paused bool, o HoldOrder, r Resumption, action string) (SourceHold, error) {
	if err := c.known(ctx, at.Provenance); err != nil {
		return SourceHold{}, err
	}
	was, err := c.store.EndpointState(ctx, at)
	if err != nil {
		return SourceHold{}, err
	}
	if err := c.knownEndpoint(ctx, at, was); err != nil {
		return SourceHold{}, err
	}
	is := harvest.SourceState{Paused: paused, Stopped: paused && was.Stopped}
	out := SourceHold{
		Source: at.String(), Before: holdWord(was), After: holdWord(is), Reason: was.Reason, Since: Time(was.Since), Changes: was.Paused != is.Paused || was.Stopped != is.Stopped,
		Checks: was.Stopped && !is.Stopped && !r.Force,
	}
	shown := []any{was, is}
	if o.DryRun {
		out.Token, err = c.seenToken(ctx, action, at.String(), shown)
		return out, err
	}
	if err := c.checkSeen(ctx, o.Token, action, at.String(), shown); err != nil {
		return out, err
	}
	if !out.Changes {
		return out, nil
	}
	a := o.line(action, "endpoint/"+at.String())
	if out.Checks {
		out.Requests, err = c.mustPass(ctx, at, r.BaseURL)
		if err != nil {
			return out, err
		}
	} else if was.Stopped && r.Force {
		a.Reason += " (forced, without a check)"
	}
	out.Applied = true
	return out, c.store.HoldEndpoint(ctx, at, paused, a)
}

// knownEndpoint refuses an endpoint that no operation of the source goes through. One that
// is held may be resumed whatever the description says by now.
func (c *Control) knownEndpoint(ctx context.Context, at harvest.EndpointOf, was harvest.SourceState) error {
	var refusal error
	for _, op := range source.Operations {
		_, err := c.contracts.Through(c.leaveNoTrace(ctx), at.Provenance, op, at.Endpoint, "")
		_, unknown := errors.AsType[*source.EndpointError](err)
		if was.Held() || !unknown {
			return nil // a source that cannot be used now may still be paused
		}
		refusal = errors.Join(refusal, err)
	}
	return problem.Each(refusal)[0]
}
