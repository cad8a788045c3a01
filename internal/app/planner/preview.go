package planner

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/problem"
	"github.com/papertrace/patra/internal/domain/source"
)

// Preview is what a trigger would lead to.
type Preview struct {
	Planned
	Slices harvest.Cuts
	// Requests and Duration are what the walks would take at the configured
	// rate, Counted is what counting has taken already.
	Requests int64
	Duration time.Duration
	Counted  int
	// Quotas tell the share of each quota that the plan would take.
	Quotas []QuotaShare
	// Token makes exactly this plan with [Planner.Apply].
	Token string
}

// QuotaShare is a quota and how much of it a plan takes.
type QuotaShare struct {
	Limit  int64
	Window time.Duration
	Share  float64
}

// pin is what a preview was made from and what it showed. It travels in the token
// that the preview gives out; the plan that is made by the token is held to it.
type pin struct {
	Source    string            `json:"s"`
	Operation harvest.Operation `json:"o"`
	Query     string            `json:"q,omitempty"`
	Activity  string            `json:"a,omitempty"`
	BaseURL   string            `json:"b,omitempty"`
	Priority  int               `json:"y,omitzero"`
	Endpoint  string            `json:"e,omitempty"`
	Pacing    harvest.Pacing    `json:"g,omitzero"`
	From      time.Time         `json:"f"`
	To        time.Time         `json:"t"`
	Frontier  time.Time         `json:"w,omitzero"`
	Spec      string            `json:"p"`
	Slices    int               `json:"n"`
	Cut       string            `json:"c"` // hash of the bounds of the slices
	Until     time.Time         `json:"x"` // the token can be used
}

// TokenLife is how long a preview can be applied.
const TokenLife = 10 * time.Minute

// MovedError says what is not as the preview showed it.
type MovedError struct{ What string }

func (e *MovedError) Error() string { return e.What + " since the preview was made; look at a new one" }

// Problem implements problem.Error.
func (e *MovedError) Problem() problem.Problem {
	return problem.Problem{
		Code: "moved", Kind: problem.Conflict, Title: e.Error(),
		Next: "`patra plan create SOURCE --dry-run` shows what would be planned now; nothing was changed",
	}
}

// ErrToken says that a text is not a token of a preview.
var ErrToken = problem.New("not the token of a preview", problem.Problem{
	Code: "bad_token", Kind: problem.Usage, Next: "copy the whole last line that `patra plan create SOURCE --dry-run` prints",
})

// checkUnmoved says what has moved since the preview: the frontier, or the
// description of the source. Without a pin anything may.
func (p *pin) checkUnmoved(f harvest.Frontier, spec *source.Spec) error {
	if p == nil {
		return nil
	}
	fingerprint, err := spec.Fingerprint()
	switch {
	case err != nil:
		return err
	case f.At != harvest.TimeMark(p.Frontier):
		return &MovedError{"another plan was saved"}
	case fingerprint != p.Spec:
		return &MovedError{"the description of " + p.Source + " was changed"}
	}
	return nil
}

// window is the one that was shown, which must not reach past the horizon. The
// horizon itself may move back a little between two looks at the upstream's clock,
// by as much as that clock is not known.
func (p *pin) window(horizon time.Time) (harvest.Window, error) {
	if p.To.After(horizon.Add(skewNoise)) {
		return harvest.Window{}, &MovedError{"the clock of " + p.Source + " was set back"}
	}
	return harvest.Window{From: p.From, To: p.To}, nil
}

// checkSlices refuses a plan that is cut otherwise than was shown. How many records
// its slices hold may differ a little, as it always will.
func (pl *planning) checkSlices(d harvest.Draft, cuts *harvest.Cuts) error {
	p := pl.pin
	if p == nil || p.Cut == pl.cutOf(d, cuts) {
		return nil
	}
	return &MovedError{fmt.Sprintf("the records of %s are spread otherwise, over %d slices instead of %d,", p.Source, cuts.Len(), p.Slices)}
}

// cutOf is a hash of the bounds of a plan's slices.
func (pl *planning) cutOf(d harvest.Draft, cuts *harvest.Cuts) string {
	return harvest.HashKeys(func(yield func(string) bool) {
		for _, s := range pl.taskOrder(cuts) {
			if !yield(s.Signature(d.PagingType, d.PageSize)) {
				return
			}
		}
	})[:16]
}

// token is the pin as text, with a checksum that shows whether it was copied whole.
func (p *pin) token() (string, error) {
	b, err := json.Marshal(p)
	if err != nil {
		return "", fmt.Errorf("marshal preview: %w", err)
	}
	sum := sha256.Sum256(b)
	return base64.RawURLEncoding.EncodeToString(b) + "." + hex.EncodeToString(sum[:4]), nil
}

func parsePin(token string) (*pin, error) {
	body, sum, ok := strings.Cut(strings.TrimSpace(token), ".")
	b, err := base64.RawURLEncoding.DecodeString(body)
	if !ok || err != nil {
		return nil, ErrToken
	}
	p := new(pin)
	if h := sha256.Sum256(b); hex.EncodeToString(h[:4]) != sum || json.Unmarshal(b, p) != nil {
		return nil, ErrToken
	}
	return p, nil
}

// Preview works a plan out and saves nothing but what it has learned of the
// upstream's clock. Counting costs requests, as it would for the plan.
func (p *Planner) Preview(ctx context.Context, t harvest.Trigger) (Preview, error) {
	pl, err := p.begin(ctx, t)
	if err != nil {
		return Preview{}, err
	}
	if t.Operation == harvest.Update {
		return pl.previewUpdate(ctx)
	}
	out := Preview{}
	open, isPartial, err := p.plans.PartialPlan(ctx, pl.result.Namespace)
	if err != nil {
		return Preview{Planned: pl.result}, err
	}
	if isPartial {
		out.Planned = pl.result
		out.Noop = true
		out.Span = open.Span
		out.Reason = fmt.Sprintf("plan %d is cut only up to %s: the next trigger goes on with it",
			open.ID, open.SlicedTo)
		return out, nil
	}
	f, of, found, err := pl.settle(ctx)
	if err != nil {
		return Preview{Planned: pl.result}, err
	}
	if !found {
		out.Planned = pl.result
		out.Noop = true
		out.Span = of
		out.Reason = pl.whyNothing(of)
		return out, nil
	}
	d, cuts, err := pl.draft(ctx, f, of)
	if err != nil {
		return Preview{Planned: pl.result}, err
	}
	out.Planned = pl.result
	out.Counted = pl.result.Traffic.Sent
	out.Span = d.Span
	out.Slices = *cuts
	for s := range cuts.All() {
		out.Requests += s.Hints.ExpectedRequests
	}
	out.addPrice(pl.allowedRate(ctx), pl.requestCost())
	if of.From.IsNumber() {
		return out, nil // ids that come meanwhile belong to the plan: there is nothing to hold it to
	}
	w := of.Window()
	now, err := p.clocks.Now(ctx)
	if err != nil {
		return out, err
	}
	shown := &pin{
		Source: t.Provenance, Operation: t.Operation, Query: t.Query, Activity: t.Activity, BaseURL: t.BaseURL, Priority: t.Priority,
		Endpoint: t.Endpoint, Pacing: t.Pacing,
		From: w.From, To: w.To, Frontier: f.At.Time(), Spec: d.Fingerprint, Slices: cuts.Len(), Cut: pl.cutOf(d, cuts), Until: now.Add(TokenLife),
	}
	out.Token, err = shown.token()
	return out, err
}

// addPrice tells how long the requests take at the configured rate, or at the one that
// the trigger asks for, and their share of each quota.
func (p *Preview) addPrice(r source.Rate, cost int64) {
	q := r.QPS
	if own := p.Trigger.Pacing.Rate; own > 0 && (q == 0 || own < q) {
		q = own
	}
	if q > 0 {
		p.Duration = time.Duration(float64(p.Requests) / q * float64(time.Second)).Round(time.Second)
	}
	for _, q := range r.Quotas {
		p.Quotas = append(p.Quotas, QuotaShare{q.Limit, q.Window.D(), float64(p.Requests*cost) / float64(q.Limit)})
	}
}

// Apply makes the plan a preview showed, or says what has moved since.
func (p *Planner) Apply(ctx context.Context, token string, t harvest.Trigger) (Planned, error) {
	shown, err := p.shown(ctx, token)
	if err != nil {
		return Planned{}, err
	}
	t.Shown = token
	t.Provenance = shown.Source
	t.Operation = shown.Operation
	t.Query = shown.Query
	t.Activity = shown.Activity
	t.BaseURL = shown.BaseURL
	t.From = shown.From
	t.To = shown.To
	t.Priority = shown.Priority
	t.Endpoint = shown.Endpoint
	t.Pacing = shown.Pacing
	return p.plan(ctx, t, shown)
}

// shown is what the preview with a token showed, if it can still be applied.
func (p *Planner) shown(ctx context.Context, token string) (*pin, error) {
	shown, err := parsePin(token)
	if err != nil {
		return nil, err
	}
	now, err := p.clocks.Now(ctx)
	if err != nil {
		return nil, err
	}
	if now.After(shown.Until) {
		return nil, &MovedError{"more than " + TokenLife.String() + " have passed"}
	}
	return shown, nil
}
