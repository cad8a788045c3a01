package control

import (
	"context"
	"slices"

	"github.com/papertrace/patra/internal/app/reparse"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/problem"
	"github.com/papertrace/patra/internal/domain/source"
)

// ReparseOrder says which items in quarantine are read again.
type ReparseOrder struct {
	By
	QuarantineChoice
	// Watch, if set, is shown how the work goes.
	Watch *Watch
}

// ReparsedItem is an item in quarantine, and what the source's description makes of it
// now.
type ReparsedItem struct {
	Item int64  `json:"item"`
	Name string `json:"name"`
	// Record is the id of the record that it becomes; absent if it still cannot be
	// stored.
	Record string `json:"record,omitempty"`
	// Code, Path and Detail say why it still cannot.
	Code   harvest.Code `json:"code,omitempty"`
	Path   string       `json:"path,omitempty"`
	Detail string       `json:"detail,omitempty"`
}

// ReparsePreview is what reading items in quarantine again would come to.
type ReparsePreview struct {
	Source string `json:"source"`
	// Mapping is the version of the mapping that reads them.
	Mapping string `json:"mapping_version"`
	// Passes become records, Fails stay where they are.
	Passes []ReparsedItem `json:"passes"`
	Fails  []ReparsedItem `json:"fails"`
	// Token reads exactly these.
	Token string `json:"token,omitempty"`
}

// errAllFail says that no item can be read yet.
var errAllFail = problem.New("none of the items can be stored as the source is described now", problem.Problem{
	Code: "still_bad", Kind: problem.Conflict,
	Next: "`patra quarantine reparse --dry-run` says why for each; mend the mapping and apply it first; nothing was changed",
})

// onlyNamed is why an item is not read again that holds no record.
const onlyNamed = "the item only names a record and does not hold it: patra quarantine refetch asks for it"

// notKept is why an item is not read again of which only the hash was kept.
const notKept = "its bytes were not kept: patra quarantine refetch asks for it"

// PreviewReparse reads items in quarantine by the description in force and tells which
// of them would become records. Nothing is stored and nobody is asked.
func (c *Control) PreviewReparse(ctx context.Context, o ReparseOrder) (ReparsePreview, error) {
	out, err := c.tryReparse(c.leaveNoTrace(ctx), o.QuarantineChoice)
	if err != nil {
		return out, err
	}
	out.Token, err = c.seenToken(ctx, "QUARANTINE_REPARSE", "source/"+out.Source, out)
	return out, err
}

func (c *Control) tryReparse(ctx context.Context, ch QuarantineChoice) (ReparsePreview, error) {
	out := ReparsePreview{Passes: []ReparsedItem{}, Fails: []ReparsedItem{}}
	code, rows, err := c.choose(ctx, ch)
	if err != nil {
		return out, err
	}
	con, err := c.contracts.Select(ctx, code, harvest.Harvest, "")
	if err != nil {
		return out, err
	}
	out.Source = code
	out.Mapping = con.Spec.Mapping.Version()
	bare := harvest.PhaseDetail // the phase whose items hold no record
	if con.Spec.TwoPhase() {
		bare = harvest.PhaseSearch
	}
	spec := con.Spec.FromKept()
	numbers, names := numbersOf(rows)
	pick := harvest.KeptPick{Provenance: code, RecordType: spec.RecordType, Numbers: numbers}
	err = c.store.KeptItems(ctx, pick, func(k harvest.KeptItem) error {
		item := ReparsedItem{Item: k.Number, Name: names[slices.Index(numbers, k.Number)]}
		it, why := reparse.Read(c.items, spec, k)
		if k.Phase == bare {
			why = &harvest.Problem{Code: harvest.CodeUnreadable, Detail: onlyNamed}
		}
		if why != nil {
			item.Code = why.Code
			item.Path = why.Path
			item.Detail = c.clean(why.Detail)
			out.Fails = append(out.Fails, item)
			return nil
		}
		item.Record = it.ID
		out.Passes = append(out.Passes, item)
		return nil
	})
	for i, number := range numbers {
		told := func(r ReparsedItem) bool { return r.Item == number }
		if !slices.ContainsFunc(out.Passes, told) && !slices.ContainsFunc(out.Fails, told) {
			out.Fails = append(out.Fails, ReparsedItem{Item: number, Name: names[i], Code: rows[i].Code, Path: rows[i].Path, Detail: notKept})
		}
	}
	return out, err
}

// admitReparse holds an order to what was shown, gives the items the ids that can be
// read now, leaves its line in the audit, and says what is to be planned.
func (c *Control) admitReparse(ctx context.Context, o ReparseOrder) (HarvestRequest, error) {
	shown, err := c.tryReparse(ctx, o.QuarantineChoice)
	if err != nil {
		return HarvestRequest{}, err
	}
	object := "source/" + shown.Source
	if err := c.checkSeen(ctx, o.Token, "QUARANTINE_REPARSE", object, shown); err != nil {
		return HarvestRequest{}, err
	}
	if len(shown.Passes) == 0 {
		return HarvestRequest{}, errAllFail
	}
	ids := make(map[int64]string, len(shown.Passes))
	pick := harvest.CandidatePick{}
	key := []string{shown.Source, shown.Mapping}
	for _, p := range shown.Passes {
		ids[p.Item] = p.Record
		pick.IDs = append(pick.IDs, p.Record)
		key = append(key, p.Name, p.Record)
	}
	req := HarvestRequest{
		Source: shown.Source, Operation: harvest.Update, Activity: "reparse-" + harvest.HashKey(key...)[:16], Pick: pick, BaseURL: source.Kept,
		Watch: o.Watch,
	}
	if err := c.admit(ctx, req); err != nil {
		return req, err
	}
	return req, c.store.NameKept(ctx, ids, o.line("QUARANTINE_REPARSE", object))
}

// Reparse reads items in quarantine again and stores those that can be read now: by a
// plan of its own, whose pages are committed as those of every plan are. No source is
// asked.
func (c *Control) Reparse(ctx context.Context, o ReparseOrder) (*Report, error) {
	req, err := c.admitReparse(ctx, o)
	if err != nil {
		return nil, err
	}
	return c.Harvest(ctx, req)
}

// PlanReparse is [Control.Reparse] that leaves the work to whoever takes it.
func (c *Control) PlanReparse(ctx context.Context, o ReparseOrder) (RefreshPlanned, error) {
	req, err := c.admitReparse(ctx, o)
	if err != nil {
		return RefreshPlanned{}, err
	}
	t, err := req.trigger()
	if err != nil {
		return RefreshPlanned{}, err
	}
	p, err := c.planner.Plan(ctx, t)
	if err != nil {
		return RefreshPlanned{}, err
	}
	return RefreshPlanned{
		Source: req.Source, Operation: harvest.Update, Activity: req.Activity, Plan: p.Plan.ID, Status: p.Plan.Status,
		Records: int64(len(req.Pick.IDs)), Noop: p.Noop, Reason: p.Reason,
	}, nil
}
