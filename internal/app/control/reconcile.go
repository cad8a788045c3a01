package control

import (
	"context"
	"time"

	"github.com/papertrace/patra/internal/app/planner"
	"github.com/papertrace/patra/internal/app/reconcile"
	"github.com/papertrace/patra/internal/domain/harvest"
)

// ReconcileRequest says what is compared, and what is done about differences.
type ReconcileRequest struct {
	Source string
	// From and To bound it; without From it is the last thirty days that are proven.
	// Spoken, if it is given, is in place of From and To.
	From, To time.Time
	Spoken   Spoken
	// Step is the length of a window: whole days of the source's calendar, or
	// less where the source counts in seconds.
	Step    time.Duration
	BaseURL string
	// Plan has each window that differs read again, unless it is only a preview.
	Plan, Preview bool
}

// WindowDifference is a window whose counts differ.
type WindowDifference struct {
	From     Time  `json:"from"`
	To       Time  `json:"to"`
	Upstream int64 `json:"upstream"`
	Stored   int64 `json:"stored"`
	// What is known of the records that differ.
	Quarantined int64    `json:"quarantined"`
	BadIDs      int64    `json:"bad_ids"`
	Missing     int64    `json:"missing"`
	Unexplained int64    `json:"unexplained"`
	ReadAt      Time     `json:"read_at,omitzero"`
	Why         string   `json:"why"`
	Activity    string   `json:"activity,omitempty"`
	Planned     *Planned `json:"planned,omitempty"`
}

// Reconciled is what was compared, and where the counts differ.
type Reconciled struct {
	Source      string             `json:"source"`
	Namespace   string             `json:"namespace"`
	From        Time               `json:"from"`
	To          Time               `json:"to"`
	Step        string             `json:"step"`
	Windows     int                `json:"windows"`
	Requests    int                `json:"requests"`
	Upstream    int64              `json:"upstream"`
	Stored      int64              `json:"stored"`
	Rough       bool               `json:"rough"`
	Differences []WindowDifference `json:"differences"`
	// Unread are gaps that were accepted: nothing is compared there.
	Unread  []harvest.Span `json:"unread"`
	Applied bool           `json:"applied"`
	// Notes say how what was asked for was understood, such as whose days dates are.
	Notes []string `json:"notes,omitempty"`
}

// Reconcile holds what is stored of a source against the source's own counts, and
// plans to read again what differs, if that is wanted.
func (c *Control) Reconcile(ctx context.Context, req ReconcileRequest, by By) (Reconciled, error) {
	var notes []string
	if req.Spoken != (Spoken{}) {
		var err error
		req.From, req.To, notes, err = c.settleSpan(ctx, req.Spoken, c.calendar(ctx, req.Source, harvest.Harvest, "", ""))
		if err != nil {
			return Reconciled{}, err
		}
	}
	res, err := c.Differences(ctx, reconcile.Request{Source: req.Source, From: req.From, To: req.To, Step: req.Step, BaseURL: req.BaseURL})
	if err != nil {
		return Reconciled{}, err
	}
	again, err := c.Rereads(ctx, res.Differing())
	if err != nil {
		return Reconciled{}, err
	}
	out := reconciledOf(req, res)
	out.Notes = notes
	out.Applied = req.Plan && !req.Preview && len(again) > 0
	if out.Applied {
		err := c.PlanRereads(ctx, req.Source, req.BaseURL, again, by)
		if err != nil {
			return Reconciled{}, err
		}
	}
	for _, w := range again {
		d := differenceOf(w.Window)
		if req.Plan {
			d.Activity = w.Activity
		}
		if out.Applied {
			d.Planned = new(plannedOf(w.Planned))
		}
		out.Differences = append(out.Differences, d)
	}
	return out, nil
}

func reconciledOf(req ReconcileRequest, res reconcile.Result) Reconciled {
	first, last := res.Windows[0], res.Windows[len(res.Windows)-1]
	out := Reconciled{
		Source: req.Source, Namespace: res.Namespace.String(), From: Time(first.From), To: Time(last.To), Step: req.Step.String(),
		Windows: len(res.Windows), Requests: res.Traffic.Sent, Rough: res.Rough, Differences: []WindowDifference{}, Unread: []harvest.Span{},
	}
	for _, w := range res.Accepted {
		out.Unread = append(out.Unread, w.Span())
	}
	for _, w := range res.Windows {
		out.Upstream += w.Upstream
		out.Stored += w.Stored
	}
	return out
}

func differenceOf(w reconcile.Window) WindowDifference {
	return WindowDifference{
		From: Time(w.From), To: Time(w.To), Upstream: w.Upstream, Stored: w.Stored, Why: w.Why(), ReadAt: Time(w.Known.ReadAt),
		Quarantined: w.Known.Quarantined, BadIDs: w.Known.BadIDs, Missing: w.Known.Missing, Unexplained: w.Unexplained(),
	}
}

// Differences holds what is stored of a source against the source's own counts.
func (c *Control) Differences(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	return reconcile.New(c.contracts, c.store, c.line).Compare(ctx, req)
}

// Reread is a window that is read again, and the plan for it.
type Reread struct {
	reconcile.Window
	Activity string
	Planned  planner.Planned
}

// Rereads names the activities in which windows would be read again.
func (c *Control) Rereads(ctx context.Context, windows []reconcile.Window) ([]Reread, error) {
	now, err := c.store.Now(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]Reread, len(windows))
	for i, w := range windows {
		out[i] = Reread{Window: w, Activity: w.Activity(now)}
	}
	return out, nil
}

// PlanRereads plans a BACKFILL of each window and writes down who wanted it. A
// window that was planned for the same finding is not planned twice.
func (c *Control) PlanRereads(ctx context.Context, code, base string, all []Reread, by By) error {
	plans := map[string]harvest.PlanID{}
	for i := range all {
		p, err := c.planner.Plan(ctx, harvest.Trigger{
			Provenance: code, Operation: harvest.Backfill, Activity: all[i].Activity, Kind: harvest.TriggerManual,
			From: all[i].From, To: all[i].To, BaseURL: base,
		})
		if err != nil {
			return err
		}
		all[i].Planned = p
		if p.Plan.ID != 0 && !p.Plan.Existing {
			plans[all[i].Activity] = p.Plan.ID
		}
	}
	if len(plans) == 0 {
		return nil
	}
	return c.store.Audit(ctx, by.line("RECONCILE_PLAN", "source/"+code), map[string]any{"plans": plans})
}
