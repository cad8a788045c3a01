package registry

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/problem"
	"github.com/papertrace/patra/internal/domain/source"
)

// Order is how a change is to be made.
type Order struct {
	Audit source.Audit
	// DryRun changes nothing and returns the preview.
	DryRun bool
	// Token, if set, must be that of a preview of the same change.
	Token string
	// From is when the change takes effect; zero means now. Observe is how long
	// the rows it replaces stay in force beside it.
	From    time.Time
	Observe time.Duration
}

// Preview is what a change does, and the token by which it can be ordered.
type Preview struct {
	Changes []source.Change
	Token   string
	// At is when it takes effect; Before and After are the description in
	// force then, without and with it.
	At            time.Time
	Before, After source.Definition
	// New: the source was not there before.
	New bool
}

// ErrStale says that the registry is no longer what the preview showed.
var ErrStale = problem.New("the registry has changed since the preview", problem.Problem{
	Code: "stale_preview", Kind: problem.Conflict, Next: "run the command with --dry-run again and look at what it would do now; nothing was changed",
})

// ErrNothingToUndo says that a source is as it was first described.
var ErrNothingToUndo = problem.New("there is no change to take back", problem.Problem{
	Code: "nothing_to_undo", Kind: problem.Conflict,
	Next: "patra source history CODE; an older state: `patra source export CODE --at T > old.yaml` and apply it",
})

var errDryRun = errors.New("dry run")

// Apply makes the registry say what a file says: rows that say the same stay,
// others are superseded, all in one transaction, after the whole has been
// compiled for every operation the source allows.
func (l *Registry) Apply(ctx context.Context, d Described, o Order) (Preview, error) {
	def := d.Definition.Canonical()
	if bad, _ := source.Check(def, l.vars, l.deep); len(bad) > 0 {
		return Preview{}, bad
	}
	p := def.Provenance()
	p.Origin, p.OriginHash = d.Origin, d.Hash
	o.Audit.Action, o.Audit.Object = source.ActionApply, "source/"+p.Code
	if !o.From.IsZero() {
		o.Audit.Action = source.ActionSchedule
	}
	return l.change(ctx, p, o, func(c source.Contents) ([]source.Change, time.Time, error) {
		from := o.From
		if from.IsZero() {
			from = c.ReadAt
		}
		if bad := checkStart(c, p, o, from); len(bad) > 0 {
			return nil, from, bad
		}
		return c.Changes(def, from, from.Add(o.Observe)), from, nil
	})
}

// checkStart refuses what cannot begin when asked for: the past is past, and
// what belongs to the source itself has no interval that could begin later.
func checkStart(c source.Contents, p source.Provenance, o Order, from time.Time) (bad source.Violations) {
	if from.Before(c.ReadAt) {
		bad = append(bad, source.Violation{Path: "effective_from", Text: fmt.Sprintf("a change cannot take effect in the past, at %s; now it is %s", harvest.FormatInstant(from), harvest.FormatInstant(c.ReadAt))})
	}
	if o.Observe < 0 {
		bad = append(bad, source.Violation{Path: "observe", Text: "is below zero"})
	}
	if o.From.IsZero() || len(c.Rows) == 0 {
		return bad
	}
	for _, x := range []struct{ path, was, is, instead string }{
		{"baseUrl", c.Provenance.BaseURL, p.BaseURL, "http.baseUrl"},
		{"zone", c.Provenance.Zone, p.Zone, "window.zone"},
		{"recordType", c.Provenance.RecordType, p.RecordType, "source apply"},
		{"identity", c.Provenance.Identity, p.Identity, "source apply"},
	} {
		if x.was != x.is {
			bad = append(bad, source.Violation{Path: x.path, Text: fmt.Sprintf("%s -> %s cannot be scheduled: it belongs to the source, which has no interval; use %s", x.was, x.is, x.instead)})
		}
	}
	return bad
}

// Rollback takes the newest change of a source back: rows that superseded
// others end now, or never begin, and those they superseded hold again.
func (l *Registry) Rollback(ctx context.Context, code string, o Order) (Preview, error) {
	if _, err := l.Contents(ctx, code); err != nil {
		return Preview{}, err
	}
	o.Audit.Action, o.Audit.Object = source.ActionRollback, "source/"+code
	return l.change(ctx, source.Provenance{Code: code}, o, func(c source.Contents) ([]source.Change, time.Time, error) {
		changes, at := c.Undo(c.ReadAt), c.ReadAt
		if len(changes) == 0 {
			return nil, at, ErrNothingToUndo
		}
		for _, ch := range changes {
			if ch.Until.After(at) {
				at = ch.Until
			}
		}
		return changes, at, nil
	})
}

type decision func(source.Contents) (changes []source.Change, at time.Time, err error)

func (l *Registry) change(ctx context.Context, p source.Provenance, o Order, decide decision) (Preview, error) {
	var prev Preview
	o.Audit.Preview = o.Token
	_, err := l.store.ChangeSource(ctx, p, o.Audit, func(c source.Contents) ([]source.Change, error) {
		changes, at, err := decide(c)
		if err != nil {
			return nil, err
		}
		prev = Preview{Changes: changes, Token: token(c, p, changes), At: at, Before: c.Pack(at), New: len(c.Rows) == 0}
		if o.Token != "" && o.Token != prev.Token {
			return nil, ErrStale
		}
		rows, add := c.After(changes)
		if bad := source.CheckRows(rows, add); len(bad) > 0 {
			return nil, bad
		}
		after := source.Contents{Provenance: c.Provenance, Rows: slices.Concat(rows, add), ReadAt: c.ReadAt}
		if p.Origin != "" {
			after.Provenance = p
		}
		prev.After = after.Pack(at)
		if o.DryRun {
			return nil, errDryRun
		}
		return changes, nil
	})
	if errors.Is(err, errDryRun) {
		return prev, nil
	}
	l.forget(p.Code)
	return prev, err
}

// token names a preview: the change, and everything it was computed from. What
// takes effect "now" does so whenever it is applied.
func token(c source.Contents, p source.Provenance, changes []source.Change) string {
	h := sha256.New()
	enc := json.NewEncoder(h)
	was := c.Provenance
	was.ID, p.ID = 0, 0
	_ = enc.Encode([]any{was, p})
	for _, r := range c.Rows {
		_ = enc.Encode([]any{r.Slot, r.ID, r.From, r.To})
	}
	for _, ch := range changes {
		if ch.Until.Equal(c.ReadAt) {
			ch.Until = time.Time{}
		}
		if ch.Add != nil {
			add := *ch.Add
			if add.From.Equal(c.ReadAt) {
				add.From = time.Time{}
			}
			ch.Add = &add
		}
		_ = enc.Encode(ch)
	}
	return hex.EncodeToString(h.Sum(nil)[:12])
}
