package harvest

import (
	"fmt"
	"slices"
	"time"
)

// EndProof is what showed that a walk saw everything (R24). Its text is stored
// with the batch that ended the walk.
type EndProof string

// The end proofs a source may declare (R58).
const (
	EndEmpty     EndProof = "EMPTY_PAGE"
	EndNoToken   EndProof = "NO_TOKEN"
	EndNoURL     EndProof = "NO_URL"
	EndNextEmpty EndProof = "NEXT_EMPTY"
	EndShortPage EndProof = "SHORT_PAGE"
	EndRepeat    EndProof = "TOKEN_REPEAT"
	EndHasMore   EndProof = "HAS_MORE_FALSE"
	EndTotal     EndProof = "TOTAL_REACHED"
	EndOneReply  EndProof = "ONE_REPLY"
)

// EndPageRange is the end of a slice that is a range of pages; the slice says
// it, no source does.
const EndPageRange EndProof = "PAGE_RANGE"

// EndFrozen ends the task of an UPDATE: nothing is searched for, and the last of
// the ids its plan froze is accounted for (R9). No source declares it.
const EndFrozen EndProof = "FROZEN"

// ended applies the declared proofs. That a token or link is not there counts
// last: it may have been left out.
func (p Paging) ended(pos, next Position, f PageFacts, ids []string) EndProof {
	var absent EndProof
	for _, e := range p.End {
		switch {
		case !p.holds(e, pos, next, f, ids):
		case e != EndNoToken && e != EndNoURL:
			return e
		case absent == "":
			absent = e
		}
	}
	return absent
}

// holds reports whether a page gives the proof e.
func (p Paging) holds(e EndProof, pos, next Position, f PageFacts, ids []string) bool {
	switch e {
	case EndEmpty:
		return len(ids) == 0
	case EndNoToken:
		return f.Token == "" && !f.saysMore()
	case EndNoURL:
		return f.URL == "" && !f.saysMore()
	case EndNextEmpty:
		return f.NextEmpty
	case EndShortPage:
		return f.Token == "" && f.URL == "" && len(f.IDs) < p.Size
	case EndRepeat:
		return !p.TokenContinues && f.Token != "" && f.Token == pos.Token
	case EndHasMore:
		return f.saysNoMore()
	case EndTotal:
		return p.reached(next)
	case EndOneReply:
		return p.whole(next, f)
	}
	return false
}

func (f PageFacts) saysMore() bool   { return f.HasMore != nil && *f.HasMore }
func (f PageFacts) saysNoMore() bool { return f.HasMore != nil && !*f.HasMore }

// reached reports whether the walk has seen as many ids as the exact total it was told.
func (p Paging) reached(at Position) bool {
	return p.TotalExact && at.Total != nil && at.Seen >= *at.Total
}

// misses reports whether a walk that saw so many ids falls short of a total by
// more than the source allows for.
func (p Paging) misses(seen, total int64) bool {
	switch {
	case p.TotalExact:
		return seen < total
	case p.TotalWithin > 0:
		return seen*100 < total*int64(100-p.TotalWithin)
	}
	return false
}

// shortfall says why a walk is not over although its last page of n items ends
// it: the source lets it get no further, or it has not seen what there is.
func (p Paging) shortfall(pos, next Position, n int) error {
	switch {
	case !p.reached(next) && p.atWall(pos, next, n):
		return walkFault(CutSlice, CodeOverWall)
	case next.Total != nil && p.misses(next.Seen, *next.Total):
		return walkFault(RestartWalk, CodeTotalMissed)
	case p.Counted != nil && p.misses(next.Seen, *p.Counted):
		return walkFault(RestartWalk, CodeCountMissed)
	}
	return nil
}

// proven reports whether an end can be believed at once (R64). A token or link
// that is absent may have been left out by mistake, once: something else has to
// say that there is no more, or that everything has come. Else the page is asked
// for again, or where the server holds the place another walk has to end alike.
func (p Paging) proven(end EndProof, next Position, f PageFacts) bool {
	if end != EndNoToken && end != EndNoURL || f.saysNoMore() {
		return true
	}
	if next.Before > 0 { // of the pages before only the number of ids is known
		return false
	}
	counted := p.TotalExact && p.Counted != nil && !p.Overlaps && next.Seen >= *p.Counted
	return p.reached(next) || counted
}

// tail is where a walk stands that has seen what is on the page at pos, and asks
// for it once more in the same words.
func (p Position) tail(pos Position, f PageFacts) Position {
	p.Tail = new(f.idSet())
	p.Held = pos.Held
	p.Pages = pos.Pages
	p.PageHash = pos.PageHash
	p.Same = pos.Same
	p.Old = pos.Old
	return p
}

// idSet is the fingerprint of the ids of a page.
func (f PageFacts) idSet() (s SetSum) {
	for _, id := range f.IDs {
		s = s.add(id, time.Time{})
	}
	return s
}

// Confirms reports whether one walk is not enough: page numbers count rows that
// may shift between two pages, and nothing on a page tells (R25).
func (p Paging) Confirms() bool { return p.Type == PageNumber && !p.Snapshot }

// comparesIDs reports whether walks are compared by their ids, since the last
// page of one cannot be asked for again: the server holds the place.
func (p Paging) comparesIDs() bool {
	return p.Stateful && (slices.Contains(p.End, EndNoToken) || slices.Contains(p.End, EndNoURL))
}

// Confirmed reports whether a walk that was over at end can be believed: its end
// is proven and one walk is enough, or it had one page only; else the walk
// before, which ended at prior, saw the same.
func (p Paging) Confirmed(end Position, prior *Position) bool {
	if !end.Unproven && (!p.Confirms() || end.Pages == 1) {
		return true
	}
	return prior != nil && prior.Seen == end.Seen && prior.Set == end.Set
}

// whole reports whether the only reply is all there is: the source says that
// there is no more, an exact total is reached, or the reply is below the size at
// which the source cuts one off; and nothing says otherwise.
func (p Paging) whole(next Position, f PageFacts) bool {
	if f.saysMore() || next.Total != nil && next.Seen < *next.Total {
		return false
	}
	return f.HasMore != nil || p.TotalExact && next.Total != nil || p.MaxItems > 0
}

// ValidateEnd checks that the declared proofs fit the type (C6, R24, R25).
func (p Paging) ValidateEnd() error {
	allowed := map[PagingType][]EndProof{
		PageOffset: {EndEmpty, EndHasMore, EndTotal},
		PageNumber: {EndEmpty, EndHasMore, EndTotal},
		PageToken:  {EndEmpty, EndNoToken, EndNextEmpty, EndShortPage, EndRepeat, EndHasMore, EndTotal},
		PageScroll: {EndEmpty, EndNoToken, EndNextEmpty, EndShortPage, EndHasMore, EndTotal},
		PageURL:    {EndEmpty, EndNoURL, EndNextEmpty, EndShortPage, EndHasMore, EndTotal},
		PageTime:   {EndOneReply},
	}
	if len(p.End) == 0 {
		return fmt.Errorf("no end proof declared")
	}
	for _, e := range p.End {
		if !slices.Contains(allowed[p.Type], e) {
			return fmt.Errorf("end proof %s does not fit paging %s", e, p.Type)
		}
	}
	return nil
}
