package control

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// PlanSpec is the description of its source that a plan froze when it was made, and in
// what it differs from the one that holds now. The plan runs by what it froze.
type PlanSpec struct {
	Plan        harvest.PlanID    `json:"plan"`
	Source      string            `json:"source"`
	Operation   harvest.Operation `json:"operation"`
	FrozenAt    Time              `json:"frozen_at"`
	Fingerprint string            `json:"spec_fingerprint"`
	// Summary tells it in some lines for people, Spec in full; secrets are in neither.
	Summary []SummaryLine   `json:"summary"`
	Spec    json.RawMessage `json:"spec"`
	// Changed are the values that are others now; Unknown says why that cannot be told.
	Changed []ValueChange `json:"changed_since"`
	Unknown string        `json:"unknown,omitempty"`
}

// ofAPlan are parts of a description that belong to a plan and not to its source: no
// change of the source changes them.
var ofAPlan = []string{"query", "vars", "specVersion", "bound", "beside"}

// PlanSpec shows what a plan froze.
func (c *Control) PlanSpec(ctx context.Context, id harvest.PlanID) (PlanSpec, error) {
	out := PlanSpec{Plan: id, Summary: []SummaryLine{}, Changed: []ValueChange{}}
	p, err := c.store.Plan(ctx, id)
	if err != nil {
		return out, c.orArchived(ctx, err, "plan", int64(id))
	}
	out.Source = p.Source
	out.Operation = p.Operation
	out.FrozenAt = Time(p.CreatedAt)
	stored, err := c.store.Spec(ctx, id)
	if err != nil {
		return out, err
	}
	out.Fingerprint = source.FingerprintBytes(stored)
	spec, err := source.ParseSpec(stored)
	if err != nil {
		return out, fmt.Errorf("plan %d: %w", id, err)
	}
	for _, line := range summaryOf(spec) {
		out.Summary = append(out.Summary, SummaryLine{line.What, c.clean(line.Text)})
	}
	frozen, err := spec.Canonical()
	if err != nil {
		return out, err
	}
	out.Spec, err = c.cleanJSON(frozen)
	if err != nil {
		return out, err
	}
	e, err := c.registry.Show(ctx, p.Source, p.Operation, time.Time{})
	if err != nil || e.Contract.Spec == nil {
		out.Unknown = "the source as it is described now cannot be used: patra source show " + p.Source
		return out, nil
	}
	today, err := e.Contract.Spec.Canonical()
	if err != nil {
		return out, err
	}
	now, err := c.cleanJSON(today)
	if err != nil {
		return out, err
	}
	out.Changed, err = changedValues(out.Spec, now)
	return out, err
}

// changedValues are the values in which two documents differ, by their paths.
func changedValues(before, after json.RawMessage) ([]ValueChange, error) {
	was, err := flatValues(before)
	if err != nil {
		return nil, err
	}
	is, err := flatValues(after)
	if err != nil {
		return nil, err
	}
	out := []ValueChange{}
	for path, old := range was {
		if is[path] != old {
			out = append(out, ValueChange{Path: path, Old: old, New: is[path]})
		}
	}
	for path, value := range is {
		if _, known := was[path]; !known {
			out = append(out, ValueChange{Path: path, New: value})
		}
	}
	slices.SortFunc(out, func(a, b ValueChange) int { return strings.Compare(a.Path, b.Path) })
	return out, nil
}

// flatValues are the values of a document that are no objects, by the names that lead to
// them.
func flatValues(doc json.RawMessage) (map[string]string, error) {
	var all map[string]any
	if err := json.Unmarshal(doc, &all); err != nil {
		return nil, err
	}
	for _, name := range ofAPlan {
		delete(all, name)
	}
	out := map[string]string{}
	var walk func(path string, v any)
	walk = func(path string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for name, inner := range v {
				walk(path+"."+name, inner)
			}
		case []any:
			for i, inner := range v {
				walk(path+"["+strconv.Itoa(i)+"]", inner)
			}
		case string:
			out[path[1:]] = v
		default:
			text, err := json.Marshal(v)
			if err == nil { // what was read can be written
				out[path[1:]] = string(text)
			}
		}
	}
	walk("", all)
	return out, nil
}
