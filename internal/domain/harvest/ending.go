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
	EndSorted    EndProof = "SORTED_PAST"
)

// EndPageRange is the end of a slice that is a range of pages; the slice says
// it, no source does.
const EndPageRange EndProof = "PAGE_RANGE"

// EndFrozen ends the task of an UPDATE: nothing is searched for, and the last of
// the ids its plan froze is accounted for (R9). No source declares it.
const EndFrozen EndProof = "FROZEN"

// endProof is the declared proof that the page gives, if any. That a token or
// link is not there counts last: it may have been left out.
func (s *step) endProof() EndProof {
	var absent EndProof
	for _, e := range s.paging.End {
		switch {
		case !s.gives(e):
		case e != EndNoToken && e != EndNoURL:
			return e
		case absent == "":
			absent = e
		}
	}
	return absent
}

// gives reports whether the page gives the proof e.
func (s *step) gives(e EndProof) bool {
	f := s.page
	switch e {
	case EndEmpty:
		return len(s.ids) == 0
	case EndNoToken:
		return f.Token == "" && !f.saysMore()
	case EndNoURL:
		return f.URL == "" && !f.saysMore()
	case EndNextEmpty:
		return f.NextEmpty
	case EndShortPage:
		return f.Token == "" && f.URL == "" && len(f.IDs) < s.paging.Size
	case EndRepeat:
		return !s.paging.TokenContinues && f.Token != "" && f.Token == s.from.Token
	case EndHasMore:
		return f.saysNoMore()
	case EndTotal:
		return s.paging.reached(s.to)
	case EndOneReply:
		return s.whole()
	case EndSorted:
		return s.sortedPast()
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

// shortfall says why a walk is not over although its last page ends it: the
// source lets it get no further, or it has not seen what there is.
func (s *step) shortfall() error {
	p := s.paging
	switch {
	case !p.reached(s.to) && s.atWall():
		return walkFault(CutSlice, CodeOverWall)
	case s.to.Total != nil && p.misses(s.to.Seen, *s.to.Total):
		return walkFault(RestartWalk, CodeTotalMissed)
	case p.Counted != nil && p.misses(s.to.Seen, *p.Counted):
		return walkFault(RestartWalk, CodeCountMissed)
	}
	return nil
}

// atWall reports whether the page is the last one the source lets a walk reach.
// What ends a walk there is the wall, unless an exact total says that there is
// nothing behind it.
func (s *step) atWall() bool {
	p := s.paging
	came := int64(len(s.page.IDs))
	reached := s.to.Rows
	switch p.Type {
	case PageOffset:
		reached = s.from.Offset + came
	case PageNumber:
		reached = int64(s.from.Page)*int64(p.Size) + came
	}
	return p.MaxItems > 0 && reached >= p.MaxItems
}

// proven reports whether an end can be believed at once (R64). A token or link
// that is absent may have been left out by mistake, once: something else has to
// say that there is no more, or that everything has come. Else the page is asked
// for again, or where the server holds the place another walk has to end alike.
func (s *step) proven(end EndProof) bool {
	p := s.paging
	if end != EndNoToken && end != EndNoURL || s.page.saysNoMore() {
		return true
	}
	if s.to.Before > 0 { // of the pages before only the number of ids is known
		return false
	}
	counted := p.TotalExact && p.Counted != nil && !p.Overlaps && s.to.Seen >= *p.Counted
	return p.reached(s.to) || counted
}

// readAgain is where a walk stands that has seen what is on the page, and asks
// for it once more in the same words. What tells pages apart stays as it was
// before the page, for it is to be the same.
func (s *step) readAgain() Position {
	at := s.to
	at.Tail = new(s.page.idSet())
	at.Held = s.from.Held
	at.Pages = s.from.Pages
	at.PageHash = s.from.PageHash
	at.Same = s.from.Same
	at.Old = s.from.Old
	return at
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
	if p.NewestFirst { // what is above the window changes all the time
		return prior != nil && prior.Within == end.Within && prior.Set == end.Set
	}
	return prior != nil && prior.Seen == end.Seen && prior.Set == end.Set
}

// whole reports whether the only reply is all there is: the source says that
// there is no more, an exact total is reached, or the reply is below the size at
// which the source cuts one off; and nothing says otherwise.
func (s *step) whole() bool {
	p := s.paging
	total := s.to.Total
	if s.page.saysMore() || total != nil && s.to.Seen < *total {
		return false
	}
	return s.page.HasMore != nil || p.TotalExact && total != nil || p.MaxItems > 0
}

// ValidateEnd checks that the declared proofs fit the type (C6, R24, R25).
func (p Paging) ValidateEnd() error {
	allowed := map[PagingType][]EndProof{
		PageOffset: {EndEmpty, EndHasMore, EndTotal, EndSorted},
		PageNumber: {EndEmpty, EndHasMore, EndTotal, EndSorted},
		PageToken:  {EndEmpty, EndNoToken, EndNextEmpty, EndShortPage, EndRepeat, EndHasMore, EndTotal, EndSorted},
		PageScroll: {EndEmpty, EndNoToken, EndNextEmpty, EndShortPage, EndHasMore, EndTotal, EndSorted},
		PageURL:    {EndEmpty, EndNoURL, EndNextEmpty, EndShortPage, EndHasMore, EndTotal, EndSorted},
		PageTime:   {EndOneReply},
		PageKeyset: {EndEmpty, EndHasMore, EndTotal},
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
