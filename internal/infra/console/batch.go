package console

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
)

// batch shows a page of a run: what was asked, what came, what was done with it.
func (c *Console) batch(ctx context.Context, v *visit) (*view, error) {
	run, err := v.number("id")
	if err != nil {
		return nil, err
	}
	no, err := v.number("no")
	if err != nil {
		return nil, err
	}
	b, err := c.control.Batch(ctx, harvest.RunID(run), no)
	if err != nil {
		return nil, err
	}
	out := &view{
		Title: v.t("batch.title", no, run), State: &state{Family: control.BatchFamily(harvest.BatchState(b.Status)), Word: v.stateWord(b.Status)},
		CLI: fmt.Sprintf("patra batch show %d/%d", run, no), API: fmt.Sprintf("/runs/%d/batches/%d", run, no), Topics: "work",
		Crumbs: append(v.workCrumbs(b.Plan, b.Slice, b.Task), link{v.t("run.title", run), v.path("/runs/%d", run)}),
		Up:     v.path("/runs/%d", run), After: v.path("/runs/%d/batches/%d", run, no+1),
	}
	if no > 1 {
		out.Before = v.path("/runs/%d/batches/%d", run, no-1)
	}
	if b.Code != "" {
		out.Lead = strings.TrimSuffix(b.Code+": "+b.Error, ": ")
		if b.Means != "" {
			out.Lead += " · " + b.Means
		}
	}
	out.Actions = append(out.Actions, action{Label: v.t("batch.blackbox"), Href: v.path("/blackbox/%d/%d", run, no), Needs: control.Viewer})
	out.Panels = []panel{
		{ID: "sides", Title: v.t("batch.sides"), Parts: []panel{v.asked(b), v.answered(b), v.effects(b)}},
	}
	if b.Request != "" {
		out.Panels = append(out.Panels, panel{ID: "request", Title: v.t("batch.request"), Note: v.t("batch.request_note"), Text: b.Request})
	}
	if len(b.Headers) > 0 {
		var lines []string
		for _, name := range slices.Sorted(maps.Keys(b.Headers)) {
			lines = append(lines, name+": "+b.Headers[name])
		}
		out.Panels = append(out.Panels, panel{ID: "headers", Title: v.t("batch.headers"), Text: strings.Join(lines, "\n")})
	}
	if b.Sample != "" {
		out.Panels = append(out.Panels, panel{ID: "sample", Title: v.t("batch.sample"), Note: v.t("batch.sample_note"), Text: b.Sample})
	}
	return out, nil
}

// known leaves out those without a value.
func known(all ...fact) []fact {
	var out []fact
	for _, f := range all {
		if f.Value.Says() {
			out = append(out, f)
		}
	}
	return out
}

// position is a place in a walk; one that says nothing is left out.
func position(text string) cell {
	if text == "{}" {
		return cell{}
	}
	return mono(text)
}

// helps is what somebody can do; nothing is left out.
func helps(next string) cell {
	if next == "nothing" {
		return cell{}
	}
	return advice(next)
}

// someOf is a count that is left out if it is none.
func someOf(n int64) cell {
	if n == 0 {
		return cell{}
	}
	return count(n)
}

// asked is what a page asked for, and when.
func (v *visit) asked(b control.BatchView) panel {
	return panel{ID: "asked", Title: v.t("batch.asked"), Facts: known(
		fact{v.t("col.source"), linked(b.Source, v.path("/sources/%s", b.Source))},
		fact{v.t("col.operation"), text(string(b.Operation))},
		fact{v.t("run.phase"), cell{Text: b.Phase, Small: v.t("batch.ordinal", b.Ordinal, b.Walk)}},
		fact{v.t("col.began"), instant(b.Opened)},
		fact{v.t("batch.ended"), instant(b.Ended)},
		fact{v.t("batch.credential"), text(b.Credential)},
		fact{v.t("batch.correlation"), mono(b.Correlation)},
		fact{v.t("batch.before"), position(b.Before)},
		fact{v.t("batch.request_hash"), mono(b.RequestSHA256)},
		fact{v.t("batch.expression"), mono(b.ExprHash)},
	)}
}

// answered is what came.
func (v *visit) answered(b control.BatchView) panel {
	status := cell{}
	if b.HTTP != 0 {
		status = text(strconv.FormatInt(b.HTTP, 10))
	}
	next := v.t("batch.last")
	if b.HasNext {
		next = v.t("batch.has_next")
	}
	observed := cell{}
	if b.ObservedMax != nil {
		observed = instant(time.Time(*b.ObservedMax))
	}
	return panel{ID: "answered", Title: v.t("batch.answered"), Facts: known(
		fact{"HTTP", status},
		fact{v.t("plan.requests"), count(b.Sent)},
		fact{v.t("run.retried"), someOf(b.Retried)},
		fact{v.t("run.429"), someOf(b.HTTP429)},
		fact{v.t("run.5xx"), someOf(b.HTTP5xx)},
		fact{v.t("batch.bytes"), count(b.Bytes)},
		fact{v.t("run.wait_ms"), count(b.Wait)},
		fact{v.t("run.network_ms"), count(b.Network)},
		fact{v.t("run.processing_ms"), count(b.Processing)},
		fact{v.t("batch.next"), text(next)},
		fact{v.t("batch.proof"), text(b.Proof)},
		fact{v.t("batch.after"), position(b.After)},
		fact{v.t("batch.observed"), observed},
		fact{v.t("batch.reply_hash"), mono(b.ReplySHA256)},
	)}
}

// effects are what was done with it.
func (v *visit) effects(b control.BatchView) panel {
	r := b.Records
	quarantined := someOf(r.Quarantined)
	if r.Quarantined > 0 {
		quarantined.Href = v.path("/quarantine") + "?source=" + b.Source
	}
	late := cell{}
	if b.Late != nil {
		late = count(*b.Late)
	}
	return panel{ID: "effects", Title: v.t("batch.effects"), Facts: known(
		fact{v.t("run.items"), cell{Text: grouped(b.Items), Href: v.path("/records") + "?source=" + b.Source}},
		fact{v.t("plan.new"), count(r.Inserted)},
		fact{v.t("plan.changed"), count(r.Updated)},
		fact{v.t("batch.remapped"), someOf(r.Remapped)},
		fact{v.t("plan.unchanged"), count(r.Unchanged)},
		fact{v.t("batch.stale"), someOf(r.Stale)},
		fact{v.t("batch.filtered"), someOf(r.Filtered)},
		fact{v.t("batch.undecided"), someOf(r.Undecided)},
		fact{v.t("plan.quarantined"), quarantined},
		fact{v.t("batch.missing"), someOf(r.Missing)},
		fact{v.t("batch.gone"), someOf(r.Gone)},
		fact{v.t("batch.merged"), someOf(r.Merged)},
		fact{v.t("batch.asked_ids"), someOf(b.Asked)},
		fact{v.t("batch.bad_ids"), someOf(b.BadIDs)},
		fact{v.t("batch.late"), late},
		fact{v.t("why.unblocks"), helps(b.NextStep)},
	)}
}
