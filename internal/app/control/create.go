package control

import (
	"context"
	"fmt"
	"time"

	"github.com/papertrace/patra/internal/app/planner"
	"github.com/papertrace/patra/internal/domain/harvest"
)

// TokenLife is how long the token of a [PlanPreview] is good for.
const TokenLife = planner.TokenLife

// Planned is what came of a trigger.
type Planned struct {
	Source    string            `json:"source"`
	Operation harvest.Operation `json:"operation"`
	Namespace string            `json:"namespace"`
	Plan      harvest.PlanID    `json:"plan,omitzero"`
	Status    harvest.PlanState `json:"status,omitempty"`
	Existing  bool              `json:"existing,omitzero"`
	Noop      bool              `json:"noop"`
	// Repeated: the same call of an outside scheduler was answered before.
	Repeated bool         `json:"repeated,omitzero"`
	Reason   string       `json:"reason,omitempty"`
	From     harvest.Mark `json:"from"`
	To       harvest.Mark `json:"to"`
	Expected int64        `json:"expected_records"`
	Warnings []string     `json:"warnings,omitempty"`
	// Trigger is what was asked for.
	Trigger harvest.Trigger `json:"-"`
}

func plannedOf(p planner.Planned) Planned {
	return Planned{
		Source: p.Namespace.Provenance, Operation: p.Namespace.Operation, Namespace: p.Namespace.String(),
		Plan: p.Plan.ID, Status: p.Plan.Status, Existing: p.Plan.Existing, Noop: p.Noop, Repeated: p.Answered, Reason: p.Reason,
		From: p.Span.From, To: p.Span.To, Expected: p.Expected, Warnings: p.Warnings, Trigger: p.Trigger,
	}
}

// PlanPreview is a plan that would be made, and what it would cost.
type PlanPreview struct {
	Planned
	Slices   int            `json:"slices"`
	First    []PreviewSlice `json:"first_slices"`
	Requests int64          `json:"requests"`
	Counted  int            `json:"count_requests"`
	Seconds  float64        `json:"duration_seconds"`
	Quotas   []QuotaShare   `json:"quotas,omitempty"`
	// Token lets [Control.ApplyPlan] make exactly this plan, for [TokenLife].
	Token    string        `json:"token,omitempty"`
	Duration time.Duration `json:"-"`
}

// PreviewSlice is a slice of a plan that would be made.
type PreviewSlice struct {
	From     harvest.Mark       `json:"from"`
	To       harvest.Mark       `json:"to"`
	Range    string             `json:"range,omitempty"`
	Expected int64              `json:"expected_records"`
	By       harvest.Estimation `json:"estimated_by,omitempty"`
}

// QuotaShare is how much of a quota something would take.
type QuotaShare struct {
	Limit  int64   `json:"limit"`
	Window string  `json:"window"`
	Share  float64 `json:"share"`
}

func quotasOf(p planner.Preview) []QuotaShare {
	var out []QuotaShare
	for _, q := range p.Quotas {
		out = append(out, QuotaShare{Limit: q.Limit, Window: q.Window.String(), Share: q.Share})
	}
	return out
}

// previewRows is how many slices a preview lists.
const previewRows = 20

func previewOf(p planner.Preview) PlanPreview {
	out := PlanPreview{
		Planned: plannedOf(p.Planned), Slices: p.Slices.Len(), First: []PreviewSlice{}, Requests: p.Requests, Counted: p.Counted,
		Seconds: p.Duration.Seconds(), Duration: p.Duration, Quotas: quotasOf(p), Token: p.Token,
	}
	for i := range min(previewRows, p.Slices.Len()) {
		s := p.Slices.At(i)
		part := ""
		if !s.Range.Whole() {
			part = s.Range.String()
		}
		of := s.Span()
		out.First = append(out.First, PreviewSlice{
			From: of.From, To: of.To, Range: part, Expected: s.Hints.ExpectedRecords, By: s.Hints.EstimatedBy,
		})
	}
	return out
}

// PreviewPlan works a plan out and saves nothing. Counting costs requests, as it
// would for the plan.
func (c *Control) PreviewPlan(ctx context.Context, t harvest.Trigger) (PlanPreview, error) {
	p, err := c.planner.Preview(c.leaveNoTrace(ctx), t)
	if err != nil {
		return PlanPreview{}, err
	}
	return previewOf(p), nil
}

// leaveNoTrace keeps the audit free of what comes of looking.
func (c *Control) leaveNoTrace(ctx context.Context) context.Context {
	if c.sources == nil {
		return ctx
	}
	return c.sources.Preview(ctx)
}

// PreviewHarvest tells what [Control.Harvest] would plan first. Nothing is saved; counting
// costs requests.
func (c *Control) PreviewHarvest(ctx context.Context, req HarvestRequest) (PlanPreview, error) {
	if err := req.settle(ctx, c); err != nil {
		return PlanPreview{}, err
	}
	t, err := req.trigger()
	if err != nil {
		return PlanPreview{}, err
	}
	out, err := c.PreviewPlan(ctx, t)
	out.Warnings = append(req.notes, out.Warnings...)
	return out, err
}

// PlanHarvest is [Control.Harvest] without working: tasks are queued for an executor.
func (c *Control) PlanHarvest(ctx context.Context, req HarvestRequest) (Planned, error) {
	if err := req.settle(ctx, c); err != nil {
		return Planned{}, err
	}
	t, err := req.trigger()
	if err != nil {
		return Planned{}, err
	}
	out, err := c.CreatePlan(ctx, t, req.By)
	out.Warnings = append(req.notes, out.Warnings...)
	return out, err
}

// CreatePlan plans without working: tasks are queued for an executor.
func (c *Control) CreatePlan(ctx context.Context, t harvest.Trigger, by By) (Planned, error) {
	p, err := c.planner.Plan(ctx, t)
	if err != nil {
		return Planned{}, err
	}
	return c.created(ctx, p, by)
}

// ApplyPlan makes the plan that a preview showed, unless something has moved since.
func (c *Control) ApplyPlan(ctx context.Context, token string, by By) (Planned, error) {
	p, err := c.planner.Apply(ctx, token, harvest.Trigger{Kind: harvest.TriggerManual})
	if err != nil {
		return Planned{}, err
	}
	return c.created(ctx, p, by)
}

// created leaves a line in the audit about a plan that was made.
func (c *Control) created(ctx context.Context, p planner.Planned, by By) (Planned, error) {
	if p.Plan.ID != 0 && !p.Plan.Existing {
		err := c.store.Audit(ctx, by.line("PLAN_CREATE", fmt.Sprintf("plan/%d", p.Plan.ID)), p.Span)
		if err != nil {
			return Planned{}, err
		}
	}
	return plannedOf(p), nil
}
