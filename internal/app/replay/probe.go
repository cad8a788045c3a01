package replay

import (
	"context"
	"fmt"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// probe sends the request once more, when nobody else waits to, and compares what comes
// with what came then. An error says that nothing was sent.
func (pl *playing) probe(ctx context.Context, call source.Call) error {
	call.Yields = true
	ans, err := pl.player.upstream.Ask(ctx, pl.spec, call)
	pl.report.Requests = ans.Traffic.Sent
	if err != nil && ans.Traffic.Sent == 0 {
		return fmt.Errorf("probe %s: %w", pl.box.Batch, err)
	}
	was := pl.box.Reply
	pl.report.compare("status", fmt.Sprint(was.Status), fmt.Sprint(ans.Status))
	sameReply := pl.report.compare("reply", was.SHA256, ans.ReplySHA256)
	f, failed := harvest.FaultOf(err)
	switch {
	case err != nil && !failed:
		return fmt.Errorf("probe %s: %w", pl.box.Batch, err)
	case failed && was.State == harvest.BatchFailed && was.Code == string(f.Code):
		pl.report.Why = "the page failed then, and fails now for the same cause"
	case failed:
		pl.report.blame(NotReproduced, "the source does not answer as it did: "+err.Error())
	case was.State == harvest.BatchFailed:
		pl.report.blame(SourceChanged, "the page failed then for "+was.Code+", and is answered now")
	case !sameReply:
		pl.comparePage(ans.Page)
	}
	return nil
}

// comparePage compares the items of a page with those that came then. A reply may
// differ around them, in the time it took say, and mean the same.
func (pl *playing) comparePage(page *harvest.Page) {
	now := map[string]*harvest.Item{}
	for i := range page.Items {
		now[page.Items[i].ID] = &page.Items[i]
	}
	changed := pl.changedItems(now)
	if pl.stands() {
		changed += pl.lostIDs(now) + pl.newIDs(now)
	} else {
		pl.report.Why = "what comes again is as it came; the source promises no order, so that other records on the page tell nothing"
	}
	if n := pl.counted(); n >= 0 {
		pl.report.compare("items", fmt.Sprint(n), fmt.Sprint(len(page.Items)))
	}
	pl.compareTotal(page)
	pl.compareNext(page)
	if changed > 0 {
		pl.report.blame(SourceChanged, fmt.Sprintf("%d items are not as they came then", changed))
	}
}

// stands reports whether the same records belong on the page every time it is asked for:
// the source promises an order, or there was only this page, or ids were asked for.
func (pl *playing) stands() bool {
	l := pl.box.Lineage
	onlyPage := l.Ordinal == 1 && pl.box.Reply.End != ""
	return l.Phase == harvest.PhaseDetail || pl.spec.Paging.Order != "" || onlyPage
}

// compareTotal compares how many records the source says there are.
func (pl *playing) compareTotal(page *harvest.Page) {
	after, err := harvest.ParsePosition(pl.box.Reply.Position)
	if err != nil || after.Total == nil || page.Total == nil {
		return
	}
	if !pl.report.compare("total", fmt.Sprint(*after.Total), fmt.Sprint(*page.Total)) {
		pl.report.blame(SourceChanged, fmt.Sprintf("the source has %d records of the slice, and said %d then", *page.Total, *after.Total))
	}
}

// counted is how many items the page had, -1 if that was not kept.
func (pl *playing) counted() int64 {
	switch {
	case pl.box.Lineage.Phase == harvest.PhaseDetail:
		return -1 // they may have come by several requests
	case pl.spec.TwoPhase():
		return int64(len(pl.box.Reply.FoundIDs))
	}
	return pl.box.Effects.Items
}

// lostIDs tells which ids that came then do not come now.
func (pl *playing) lostIDs(now map[string]*harvest.Item) (n int) {
	lost := func(id string) {
		n++
		pl.report.differ(Difference{Item: id, By: bySource, What: "there", Recorded: "yes", Now: "no"})
	}
	for _, id := range pl.box.Reply.FoundIDs {
		if now[id] == nil {
			lost(id)
		}
	}
	hashes := map[uint64]bool{}
	for id := range now {
		hashes[harvest.IDHash(id)] = true
	}
	for _, h := range pl.box.Reply.SeenIDs {
		if !hashes[h] {
			lost(fmt.Sprintf("id with hash %x", h))
		}
	}
	return n
}

// newIDs tells which ids come now and did not then. Of a page of a walk only those ids
// were noted that the walk had not seen before; the last one of the page before may
// come again.
func (pl *playing) newIDs(now map[string]*harvest.Item) (n int) {
	was := pl.box.Reply
	if pl.box.Lineage.Phase == harvest.PhaseDetail || len(was.FoundIDs)+len(was.SeenIDs) == 0 {
		return 0
	}
	known := map[uint64]bool{harvest.IDHash(pl.at.LastID): true}
	for _, id := range was.FoundIDs {
		known[harvest.IDHash(id)] = true
	}
	for _, h := range was.SeenIDs {
		known[h] = true
	}
	for id := range now {
		if id != "" && !known[harvest.IDHash(id)] {
			n++
			pl.report.differ(Difference{Item: id, By: bySource, What: "there", Recorded: "no", Now: "yes"})
		}
	}
	return n
}

// changedItems tells which kept items come with another content now, or not at all.
func (pl *playing) changedItems(now map[string]*harvest.Item) (n int) {
	for i := range pl.box.Items {
		it := &pl.box.Items[i]
		if it.Carried || it.Masked || it.Problem != nil {
			continue
		}
		is := now[it.ID]
		if is == nil {
			if pl.box.Lineage.Phase == harvest.PhaseDetail {
				n++
				pl.report.differ(Difference{Item: it.ID, By: bySource, What: "there", Recorded: "yes", Now: "no"})
			}
			continue // of a search it was told by its id
		}
		_, content := is.Hashes()
		if text := fmt.Sprintf("%x", content); text != it.ContentSHA256 {
			n++
			pl.report.differ(Difference{Item: it.ID, By: bySource, What: "content", Recorded: it.ContentSHA256, Now: text})
		}
	}
	return n
}

// compareNext compares where the next page is. Tokens may differ from one time to the
// next and lead to the same page, so that nothing follows from it.
func (pl *playing) compareNext(page *harvest.Page) {
	after, err := harvest.ParsePosition(pl.box.Reply.Position)
	if err != nil || after.Token == "" && after.URL == "" && page.Token == "" && page.URL == "" {
		return
	}
	pl.report.compare("next page", MaskAddresses(after.Token+after.URL), MaskAddresses(page.Token+page.URL))
}
