package replay

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// Player replays pages.
type Player struct {
	requests  Requests
	items     Items
	contracts Contracts
	upstream  Upstream
}

// NewPlayer returns a player. Without contracts items are mapped by the snapshot alone.
func NewPlayer(requests Requests, items Items, contracts Contracts, upstream Upstream) *Player {
	return &Player{requests: requests, items: items, contracts: contracts, upstream: upstream}
}

// Replay makes the request of a page again, maps its kept items again, and tells what
// differs. With probe the request is sent if it is the one that was sent then. An error
// says that it was not done; whatever comes out of it is in the report.
func (p *Player) Replay(ctx context.Context, box *Box, probe bool) (Report, error) {
	r := newReport(box.Batch, probe)
	r.Correlation = box.Correlation
	r.Source = box.Lineage.Source
	pl, err := open(box)
	if err != nil {
		r.blame(NotReproduced, err.Error())
		return r.conclude(), nil
	}
	pl.player = p
	pl.report = r
	pl.checkSnapshot()
	call, made := pl.makeRequest()
	pl.checkKept()
	pl.mapItems(pl.spec, bySnapshot)
	pl.mapByCurrent(ctx)
	if probe && box.Frozen.BaseURL == source.Kept {
		r.Why = "the page was read out of quarantine: there is no source to ask"
		made = false
	}
	if probe && made {
		if err := pl.probe(ctx, call); err != nil {
			return Report{}, err
		}
	}
	return r.conclude(), nil
}

// playing is one replay.
type playing struct {
	player *Player
	report *Report
	box    *Box
	spec   *source.Spec
	slice  harvest.SliceSpec
	at     harvest.Position
}

// open reads what the box has frozen.
func open(box *Box) (*playing, error) {
	if box.Frozen == nil {
		return nil, fmt.Errorf("the black box of %s has nothing in it to make the request from", box.Batch)
	}
	pl := &playing{box: box}
	var err error
	pl.spec, err = source.ParseSpec(box.Frozen.Spec)
	if err != nil {
		return nil, fmt.Errorf("the snapshot of the plan cannot be read: %w", err)
	}
	if pl.spec.Version > source.SpecVersion {
		return nil, fmt.Errorf("the snapshot has version %d and this patra reads up to %d: replay it with a newer patra", pl.spec.Version, source.SpecVersion)
	}
	if err := json.Unmarshal(box.Frozen.Slice, &pl.slice); err != nil {
		return nil, fmt.Errorf("the slice cannot be read: %w", err)
	}
	pl.at, err = harvest.ParsePosition(box.Request.Position)
	if err != nil {
		return nil, fmt.Errorf("the position of the page cannot be read: %w", err)
	}
	return pl, nil
}

// masked reports whether addresses were taken out of the box.
func (pl *playing) masked() bool { return pl.box.Export != nil && !pl.box.Export.Unmasked }

// checkSnapshot holds the snapshot against its fingerprint. Where addresses were masked
// in it, it has another.
func (pl *playing) checkSnapshot() {
	if pl.masked() {
		return
	}
	now := source.FingerprintBytes(pl.box.Frozen.Spec)
	if !pl.report.compare("snapshot fingerprint", pl.box.Lineage.SpecFingerprint, now) {
		pl.report.blame(NotReproduced, "the snapshot of the plan is not the one that the page was fetched by")
	}
}

// makeRequest makes the request again and reports whether it is the one that was sent.
func (pl *playing) makeRequest() (source.Call, bool) {
	box := pl.box
	want := box.Request.digest()
	if want == "" {
		pl.nothingAsked()
		return source.Call{}, false
	}
	var now source.Rendered
	var call source.Call
	for _, purpose := range pl.purposes(pl.spec) {
		call = pl.call(purpose)
		made, err := pl.player.requests.Render(pl.spec, call)
		if err != nil {
			pl.report.blame(NotReproduced, "the request cannot be made again: "+err.Error())
			return call, false
		}
		now = made
		if made.SHA256 == want {
			break
		}
	}
	if pl.report.compare("request", want, now.SHA256) {
		return call, true
	}
	why := "the request made from the snapshot is not the one that was sent: " + now.Line
	if box.Lineage.Phase == harvest.PhaseDetail && len(box.Request.IDs) == 0 {
		why = "the page asked for details, and for whose was not kept"
	}
	pl.report.blame(NotReproduced, why)
	return call, false
}

// nothingAsked tells of a page for which nothing was sent.
func (pl *playing) nothingAsked() {
	if pl.box.Reply.State == harvest.BatchSucceeded {
		pl.report.Why = "the page needed no request, and nothing was kept of it"
		return
	}
	pl.report.blame(NotReproduced, "no request of the page was kept: it was never asked for, or its worker died before it was answered")
}

// purposes are those that the request of the page may have been sent for.
func (pl *playing) purposes(spec *source.Spec) []source.Purpose {
	switch {
	case pl.box.Lineage.Phase == harvest.PhaseSearch:
		return []source.Purpose{source.ForSearch}
	case spec.Lookup != nil:
		return []source.Purpose{source.ForDetail, source.ForLookup}
	}
	return []source.Purpose{source.ForDetail}
}

// call is the question of the page, as its executor has put it.
func (pl *playing) call(purpose source.Purpose) source.Call {
	l := pl.box.Lineage
	c := pl.spec.PageCall(l.Operation, pl.slice, l.Phase, pl.at)
	c.Purpose = purpose
	c.IDs = pl.box.Request.IDs
	c.BaseURL = pl.box.Frozen.BaseURL
	c.Correlation = pl.box.Correlation
	return c
}

// checkKept holds what is kept of the page's items against what it counted, and their
// bytes against their hashes.
func (pl *playing) checkKept() {
	c := pl.box.Effects
	counted := c.Inserted + c.Updated + c.Remapped + c.Gone + c.Merged
	kept := int64(0)
	for i := range pl.box.Items {
		it := &pl.box.Items[i]
		if it.Problem == nil {
			kept++
		}
		if it.Carried && it.Problem != nil {
			continue // it was larger than the store takes
		}
		if !it.Masked && hexSum(it.bytes()) != it.RawSHA256 {
			pl.report.blame(NotReproduced, "the kept bytes of "+it.name()+" do not have the hash they had")
			pl.report.differ(Difference{Item: it.name(), By: bySnapshot, What: "raw", Recorded: it.RawSHA256, Now: hexSum(it.bytes())})
		}
	}
	if !pl.report.compare("items kept", fmt.Sprint(counted), fmt.Sprint(kept)) {
		pl.report.blame(NotReproduced, fmt.Sprintf("%d of the %d items that the page stored are kept", kept, counted))
	}
}

// mapItems maps what is kept by a description and tells what differs from what is stored.
func (pl *playing) mapItems(spec *source.Spec, by string) {
	same := 0
	mapped := 0
	for i := range pl.box.Items {
		it := &pl.box.Items[i]
		if it.Carried {
			continue
		}
		mapped++
		if pl.mapItem(spec, it, by) {
			same++
		}
	}
	what := "items mapped by the snapshot"
	if by == byCurrent {
		what = "items mapped as the source is described now"
	}
	if pl.report.compare(what, fmt.Sprintf("%d", mapped), fmt.Sprintf("%d the same", same)); same == mapped {
		pl.report.Comparisons[len(pl.report.Comparisons)-1].Same = true
		return
	}
	why := fmt.Sprintf("%d of %d items are mapped in another way by this patra", mapped-same, mapped)
	if by == byCurrent {
		why = fmt.Sprintf("%d of %d items are mapped in another way as the source is described now", mapped-same, mapped)
	}
	pl.report.blame(ParserChanged, why)
}

// mapItem maps one item and reports whether it comes out as it is stored. Details may
// have come from either of two endpoints.
func (pl *playing) mapItem(spec *source.Spec, it *Item, by string) bool {
	var first []Difference
	for n, purpose := range pl.purposes(spec) {
		found := pl.differences(spec, purpose, it)
		if len(found) == 0 {
			return true
		}
		if n == 0 {
			first = found
		}
	}
	for _, d := range first {
		d.Item = it.name()
		d.By = by
		pl.report.differ(d)
	}
	return false
}

// differences are those between an item as it is stored and as it is mapped now.
func (pl *playing) differences(spec *source.Spec, purpose source.Purpose, it *Item) []Difference {
	if spec.Endpoint(purpose) == nil {
		return []Difference{{What: "endpoint", Recorded: string(purpose), Now: "none"}}
	}
	item, err := pl.player.items.Item(spec, purpose, it.bytes())
	if err != nil {
		return []Difference{{What: "item", Recorded: it.Effect, Now: err.Error()}}
	}
	if purpose == source.ForSearch && spec.TwoPhase() {
		item = source.Bare(item)
	}
	batch := harvest.Batch{OpenedBatch: harvest.OpenedBatch{OpenedAt: it.ObservedAt}}
	sorter, err := source.SorterOf(spec)
	if err != nil {
		return []Difference{{What: "query", Recorded: it.Effect, Now: err.Error()}}
	}
	sorter.SortInto(&harvest.Page{Items: []harvest.Item{item}}, &batch)
	switch {
	case len(batch.Quarantined) > 0:
		return it.againstQuarantine(batch.Quarantined[0])
	case len(batch.Filtered) > 0:
		return []Difference{{What: "decision", Recorded: it.Effect, Now: "filtered: it is not what the query asks for"}}
	}
	return it.againstRecord(&batch.Records[0])
}

// againstQuarantine compares a kept item with one that goes to quarantine now.
func (it *Item) againstQuarantine(q harvest.Quarantined) []Difference {
	if it.Problem == nil {
		return []Difference{{What: "decision", Recorded: it.Effect, Now: "quarantined: " + q.Problem.Detail}}
	}
	if it.Problem.Code != string(q.Problem.Code) || it.Problem.Path != q.Problem.Path {
		return []Difference{{What: "problem", Recorded: it.Problem.Code + " " + it.Problem.Path, Now: string(q.Problem.Code) + " " + q.Problem.Path}}
	}
	return nil
}

// againstRecord compares a kept item with the record that it becomes now.
func (it *Item) againstRecord(rec *harvest.Record) []Difference {
	if it.Problem != nil {
		return []Difference{{What: "decision", Recorded: "quarantined: " + it.Problem.Detail, Now: "a record"}}
	}
	var out []Difference
	differ := func(what, recorded, now string) {
		if recorded != now {
			out = append(out, Difference{What: what, Recorded: recorded, Now: now})
		}
	}
	if !it.Masked {
		differ("id", it.ID, rec.ID)
		differ("content", it.ContentSHA256, fmt.Sprintf("%x", rec.Version.ContentHash))
	}
	differ("status", string(it.Status), string(rec.Status))
	differ("updated_at", harvest.FormatInstant(it.UpdatedAt), harvest.FormatInstant(rec.Version.UpdatedAt))
	differ("provider_version", fmt.Sprint(it.Version), fmt.Sprint(rec.Version.Provider))
	out = append(out, fieldDifferences(it.Fields, rec.Mapped())...)
	if !it.Replaced && !it.Masked {
		differ("decision", it.Effect, string(it.decide(*rec)))
	}
	return out
}

// decide is what becomes of a record beside the version that was held when it came. How
// it was mapped is no part of that: a mapping that differs is told as such.
func (it *Item) decide(rec harvest.Record) harvest.Effect {
	if it.Before == nil {
		return harvest.Inserted
	}
	b := it.Before
	rec.MappingVersion = it.MappingVersion
	stored := harvest.StoredRecord{
		Version:   harvest.Version{UpdatedAt: b.UpdatedAt, Provider: b.Version, ObservedAt: b.ObservedAt, ContentHash: sum(b.ContentSHA256)},
		RawSHA256: sum(b.RawSHA256), MappingVersion: b.MappingVersion, Status: b.Status,
	}
	return harvest.Merge(stored, rec).Effect
}

// fieldDifferences names the fields that differ between two standard records.
func fieldDifferences(recorded, now []byte) []Difference {
	if bytes.Equal(recorded, now) {
		return nil
	}
	var was, is map[string]json.RawMessage
	err := json.Unmarshal(recorded, &was)
	if err == nil {
		err = json.Unmarshal(now, &is)
	}
	if err != nil {
		return []Difference{{What: "fields", Recorded: string(recorded), Now: string(now)}}
	}
	var out []Difference
	for _, name := range names(was, is) {
		if !bytes.Equal(was[name], is[name]) {
			out = append(out, Difference{What: "field " + name, Recorded: string(was[name]), Now: string(is[name])})
		}
	}
	return out
}

// mapByCurrent maps what is kept as the source is described now.
func (pl *playing) mapByCurrent(ctx context.Context) {
	if pl.player.contracts == nil || len(pl.box.Items) == 0 {
		return
	}
	l := pl.box.Lineage
	now, err := pl.player.contracts.Select(ctx, l.Source, l.Operation, "")
	if err != nil {
		pl.report.compare("source as it is described now", "not known here: "+err.Error(), "not known here: "+err.Error())
		return
	}
	was := pl.spec.Mapping.Version()
	is := now.Spec.Mapping.Version()
	pl.report.compare("mapping", was, is)
	pl.mapItems(now.Spec, byCurrent)
}
