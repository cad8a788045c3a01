package control

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/papertrace/patra/internal/app/replay"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/problem"
	"github.com/papertrace/patra/internal/domain/source"
)

// BlackBox is what was asked for a page, what came, and what was done with it.
type BlackBox = replay.Box

// BlackBoxStore reads what is kept of pages, and remembers what was taken out.
type BlackBoxStore interface {
	replay.Store
	// AuditNumbered writes a line of the audit and returns its number.
	AuditNumbered(ctx context.Context, a source.Audit, after any) (int64, error)
}

// BlackBox shows a page, with at most so many of its records and of its items in
// quarantine. Bytes and fields of items are not shown: the file has them.
func (c *Control) BlackBox(ctx context.Context, ref string, limit int) (*BlackBox, error) {
	at, err := replay.ParseRef(ref)
	if err != nil {
		return nil, err
	}
	box, err := c.store.BlackBox(ctx, at, limit, false)
	if err != nil {
		return nil, c.orPageArchived(ctx, err, at)
	}
	c.player.FillBody(box)
	return box.Shown(), nil
}

// BoxOrder is a black box that somebody wants to take out.
type BoxOrder struct {
	By
	Batch string
	// Unmasked leaves mail addresses in it.
	Unmasked bool
}

// BoxExport is a black box that was taken out.
type BoxExport struct {
	Batch string `json:"batch"`
	File  string `json:"file,omitempty"`
	Items int    `json:"items"`
	replay.Exports
}

// BoxFile is the name that a file with a black box is given.
func BoxFile(box *BlackBox) string {
	return fmt.Sprintf("patra-%s.blackbox.jsonl.zst", box.Correlation)
}

// ExportBlackBox takes a black box out: it leaves a line in the audit, and returns the
// box to be written. Mail addresses are masked unless they are asked for.
func (c *Control) ExportBlackBox(ctx context.Context, o BoxOrder) (*BlackBox, BoxExport, error) {
	at, err := replay.ParseRef(o.Batch)
	if err != nil {
		return nil, BoxExport{}, err
	}
	if o.Reason == "" {
		return nil, BoxExport{}, problem.New("a black box is taken out for a reason, and none was given", problem.Problem{
			Code: "usage", Kind: problem.Usage, Next: "say why: --reason TEXT",
		})
	}
	box, err := c.store.BlackBox(ctx, at, 0, true)
	if err != nil {
		return nil, BoxExport{}, c.orPageArchived(ctx, err, at)
	}
	c.player.FillBody(box)
	if !o.Unmasked {
		box, err = c.player.Masked(box)
		if err != nil {
			return nil, BoxExport{}, err
		}
	}
	now, err := c.store.Now(ctx)
	if err != nil {
		return nil, BoxExport{}, err
	}
	out := replay.Exports{Actor: o.Actor, Reason: o.Reason, At: now, ExpiresAt: now.Add(replay.Lifetime), Unmasked: o.Unmasked}
	out.AuditID, err = c.store.AuditNumbered(ctx, o.line("EXPORT_BLACKBOX", "batch "+box.Batch), map[string]any{
		"expires_at": out.ExpiresAt, "unmasked": o.Unmasked, "items": len(box.Items),
	})
	if err != nil {
		return nil, BoxExport{}, err
	}
	box.Export = &out
	return box, BoxExport{Batch: box.Batch, File: BoxFile(box), Items: len(box.Items), Exports: out}, nil
}

// ReplayReport is what came of a replay.
type ReplayReport = replay.Report

// ReplaySummary is what came of the replay of the pages of a plan or a task.
type ReplaySummary = replay.Summary

// ReplayedWork is a plan or a task whose pages are replayed.
type ReplayedWork = replay.Work

// IsPage reports whether a text names a page, and not a file.
func IsPage(text string) bool {
	_, err := replay.ParseRef(text)
	return err == nil
}

// ReplayBatch replays a page: offline, or with probe by asking for it once more.
func (c *Control) ReplayBatch(ctx context.Context, ref string, probe bool) (ReplayReport, error) {
	at, err := replay.ParseRef(ref)
	if err != nil {
		return ReplayReport{}, err
	}
	box, err := c.store.BlackBox(ctx, at, 0, true)
	if err != nil {
		return ReplayReport{}, c.orPageArchived(ctx, err, at)
	}
	return c.player.Replay(ctx, box, probe)
}

// ReplayFile replays a page from the file that its black box was taken out to. One that
// was cut or changed is not reproduced; one that has expired is refused.
func (c *Control) ReplayFile(ctx context.Context, name string, r io.Reader, probe bool) (ReplayReport, error) {
	box, err := replay.Read(r)
	if broken, ok := errors.AsType[*replay.BrokenError](err); ok {
		return broken.Report(name, probe), nil
	}
	if err != nil {
		return ReplayReport{}, err
	}
	now, err := c.store.Now(ctx)
	if err != nil {
		return ReplayReport{}, err
	}
	if e := box.Export; e != nil && !now.Before(e.ExpiresAt) {
		return ReplayReport{}, problem.New(fmt.Sprintf("the black box of %s expired at %s", box.Batch, Time(e.ExpiresAt)), problem.Problem{
			Code: "expired", Kind: problem.Conflict, Next: fmt.Sprintf("patra blackbox export %s --reason TEXT", box.Batch),
		})
	}
	return c.player.Replay(ctx, box, probe)
}

// ReplayWork replays stored pages of a plan or a task, in their order and offline: so many behind
// a page, of which 0 stands before the first.
func (c *Control) ReplayWork(ctx context.Context, of ReplayedWork, p Page) (ReplaySummary, error) {
	out := ReplaySummary{PlanKey: of.PlanKey, Task: of.Task, Reports: []ReplayReport{}, Totals: map[string]int{}, Effect: replay.NothingWritten}
	for _, v := range replay.Verdicts() {
		out.Totals[string(v)] = 0
	}
	after, err := p.Number()
	if err != nil {
		return out, err
	}
	pages, err := c.store.StoredPages(ctx, of, harvest.BatchID(after), p.Limit+1)
	switch {
	case err != nil && of.Task != 0:
		return out, c.orArchived(ctx, err, "task", int64(of.Task))
	case err != nil:
		return out, c.orInArchive(ctx, err, sought{object: of.String(), key: "plan-key/" + of.PlanKey})
	}
	if len(pages) > p.Limit {
		pages = pages[:p.Limit]
		out.Next = fmt.Sprint(pages[p.Limit-1])
	}
	for _, id := range pages {
		box, err := c.store.BlackBox(ctx, replay.Ref{ID: id}, 0, true)
		if err != nil {
			return out, err
		}
		report, err := c.player.Replay(ctx, box, false)
		if err != nil {
			return out, err
		}
		out.Totals[string(report.Verdict)]++
		out.Reports = append(out.Reports, report)
	}
	return out, nil
}

// inForce describes sources by what is in force, and applies nothing: a replay reads.
type inForce struct {
	store SourceStore
	fill  func(source.Contents) (source.Contents, error)
}

// Select implements [replay.Contracts].
func (f inForce) Select(ctx context.Context, code string, op harvest.Operation, query string) (source.Contract, error) {
	contents, err := f.store.LoadSource(ctx, code)
	if err != nil {
		return source.Contract{}, err
	}
	contents, err = f.fill(contents)
	if err != nil {
		return source.Contract{}, err
	}
	def, _ := contents.At(op, contents.ReadAt)
	spec, _, err := source.Compile(def, source.Trigger{Operation: op, Query: query})
	return source.Contract{Spec: spec}, err
}

// newPlayer is what replays pages: by what is in force, where a registry knows that.
func newPlayer(p Parts) *replay.Player {
	var contracts replay.Contracts = p.Contracts
	if p.Registry != nil {
		contracts = inForce{p.Store, p.Registry.Fill}
	}
	return replay.NewPlayer(p.Requests, p.Items, contracts, p.Line)
}
