package control

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/problem"
)

// TriggerOrder is what an outside scheduler asks for. Scheduler, Job and LogID name
// the call: the same three again are the same call.
type TriggerOrder struct {
	By
	Scheduler, Job, LogID string
	Source                string
	Operation             harvest.Operation
	Query                 string
	From, To              time.Time
	Activity              string
	Manner
	// Trace is where in a tree of spans who asks stands (W3C traceparent), if anywhere.
	Trace string
}

// Trigger plans what an outside scheduler asks for. A call that was answered before
// gets the same answer, however often it comes.
func (c *Control) Trigger(ctx context.Context, o TriggerOrder) (Planned, error) {
	if o.Scheduler == "" || o.Job == "" || o.LogID == "" {
		return Planned{}, badTrigger("a trigger names its scheduler, its job and the log id of the call")
	}
	if o.Operation == harvest.Update {
		return Planned{}, badTrigger("a trigger asks for HARVEST or BACKFILL")
	}
	if o.Operation == harvest.Backfill && (o.From.IsZero() || o.To.IsZero()) {
		return Planned{}, badTrigger("a BACKFILL has a window: from and to")
	}
	req := HarvestRequest{Source: o.Source, Operation: o.Operation, Query: o.Query, From: o.From, To: o.To, Activity: o.Activity, Manner: o.Manner}
	if req.Operation == harvest.Backfill && req.Activity == "" {
		req.Activity = BackfillActivity(Time(o.From).String(), Time(o.To).String(), o.Query)
	}
	t, err := req.trigger()
	if err != nil {
		return Planned{}, err
	}
	t.Kind = harvest.TriggerAPI
	t.Scheduler = o.Scheduler
	t.JobID = o.Job
	t.LogID = o.LogID
	t.Trace = o.Trace
	t, err = c.receive(ctx, req, t)
	if err != nil {
		return Planned{}, err
	}
	return c.CreatePlan(ctx, t, o.By)
}

func badTrigger(text string) error {
	return problem.New(text, problem.Problem{Code: "usage", Kind: problem.Usage, Next: "name the source, and scheduler, job and log_id of the call"})
}

// RefreshPlanned is what came of planning to read records again.
type RefreshPlanned struct {
	Source    string            `json:"source"`
	Operation harvest.Operation `json:"operation"`
	Activity  string            `json:"activity"`
	Plan      harvest.PlanID    `json:"plan,omitzero"`
	Status    harvest.PlanState `json:"status,omitempty"`
	Records   int64             `json:"expected_records"`
	Noop      bool              `json:"noop"`
	Reason    string            `json:"reason,omitempty"`
}

// PlanRefresh is [Control.Refresh] without working: tasks are queued for an executor.
func (c *Control) PlanRefresh(ctx context.Context, req RefreshRequest, by By) (RefreshPlanned, error) {
	pick, activity, err := c.pick(ctx, req)
	if err != nil {
		return RefreshPlanned{}, err
	}
	req.Activity = activity
	shown, err := c.heldRefresh(ctx, req, pick, by.Token)
	if err != nil {
		return RefreshPlanned{}, err
	}
	hr := HarvestRequest{Source: req.Source, Operation: harvest.Update, Activity: activity, Pick: pick, Manner: req.Manner}
	t, err := hr.trigger()
	if err != nil {
		return RefreshPlanned{}, err
	}
	t, err = c.receive(ctx, hr, t)
	if err != nil {
		return RefreshPlanned{}, err
	}
	p, err := c.planner.Plan(ctx, t)
	if err != nil {
		return RefreshPlanned{}, err
	}
	if p.Plan.ID != 0 && !p.Plan.Existing {
		after := map[string]any{"activity": activity, "records": shown.Records}
		if err := c.store.Audit(ctx, by.line("PLAN_CREATE", fmt.Sprintf("plan/%d", p.Plan.ID)), after); err != nil {
			return RefreshPlanned{}, err
		}
	}
	return RefreshPlanned{
		Source: req.Source, Operation: harvest.Update, Activity: activity, Plan: p.Plan.ID, Status: p.Plan.Status,
		Records: shown.Records, Noop: p.Noop, Reason: p.Reason,
	}, nil
}

// seen is what of a preview has to hold still: how many are read, not how long that
// takes at the rate allowed now.
func (p RefreshPreview) seen() json.RawMessage {
	return fmt.Appendf(nil, `[%q,%d,%d,%t]`, p.Activity, p.Records, p.Slices, p.Noop)
}
