package harvest

import (
	"hash/fnv"
	"maps"
	"time"
)

// step is one move of a walk, over one page. It knows where the page was asked
// for, what was on it, and where the walk stands once the page is accounted for.
type step struct {
	paging Paging
	page   PageFacts
	from   Position
	to     Position
	// ids are those of the page, without the seam: the item with which the page
	// before ended, and which was asked for again to see that nothing shifted.
	ids []string
	// unseen counts the ids that no page of this walk has brought before.
	unseen int64
	// firstReading is set where the page is read a second time, because it came
	// without a token or link and nothing else said that it was the last. It is
	// the fingerprint of the ids that it had the first time.
	firstReading *SetSum
}

// Step moves a walk over one page. seen holds the hashes of the ids of the
// pages before; it is only read. Exactly one of the results is meaningful: a
// proof that the walk is over, a next position, or a fault that says why the
// walk cannot go on.
func (p Paging) Step(pos Position, f PageFacts, seen func(uint64) bool) (next Position, end EndProof, err error) {
	s := step{paging: p, page: f, ids: f.IDs, firstReading: pos.Tail}
	pos.Tail = nil
	s.from = pos
	s.to = pos
	end, err = s.take(seen)
	if err != nil {
		return s.from, "", err
	}
	return s.to, end, nil
}

// take accounts for the page and asks, in this order: does it join the page
// before, does the server answer with the same page again and again, is the
// walk over, may it go on, and where. Without a proof or a fault the walk goes
// on at s.to.
func (s *step) take(seen func(uint64) bool) (EndProof, error) {
	if s.stepsBack(seen) {
		return "", nil
	}
	if err := s.joinSeam(); err != nil {
		return "", err
	}
	s.keepStatements()
	s.countIDs(seen)
	if err := s.followPlaces(); err != nil {
		return "", err
	}
	if err := s.refuseSamePage(); err != nil {
		return "", err
	}
	if end := s.endProof(); end != "" {
		return s.endWith(end)
	}
	if err := s.refuseEmptyPage(); err != nil {
		return "", err
	}
	if s.endsPageRange() {
		return EndPageRange, nil
	}
	if err := s.refuseLongWalk(); err != nil {
		return "", err
	}
	return "", s.moveOn()
}

// joinSeam takes the item off the page that overlaps the page before. If another
// one is in its place, rows have shifted between the two and some may be lost.
func (s *step) joinSeam() error {
	if !s.paging.Seam() || s.from.LastID == "" {
		return nil
	}
	if len(s.ids) > 0 && s.ids[0] == s.from.LastID {
		s.ids = s.ids[1:]
		return nil
	}
	if s.paging.NewestFirst { // which rows that were pushed down do not disturb
		return nil
	}
	return walkFault(RestartWalk, CodeOffsetShift)
}

// keepStatements keeps what the page says about the walk as a whole: how far it
// has come in time, how much there is, and what following requests repeat.
func (s *step) keepStatements() {
	s.to.Pages++
	if s.paging.ordered() && s.firstReading == nil {
		s.followOrder()
	}
	s.keepTotal()
	s.keepHeld()
}

// followOrder keeps the greatest update time of an ascending result, or that an
// item was out of its place. The seam was looked at with the page before.
func (s *step) followOrder() {
	seam := len(s.page.IDs) - len(s.ids)
	for i := seam; i < len(s.page.IDs); i++ {
		at := Instant(s.page.updatedAt(i))
		if at.IsZero() || at.Before(s.to.At) {
			s.to.Unsorted = true
		} else {
			s.to.At = at
		}
	}
}

// keepTotal keeps the greatest total that was told. A later one is greater where
// rows came in meanwhile: by the first, the walk would be over too early.
func (s *step) keepTotal() {
	told := s.page.Total
	if told == nil {
		return
	}
	if s.to.Total == nil || *told > *s.to.Total {
		s.to.Total = told
	}
}

// keepHeld keeps the values that following requests repeat. What a page does not
// tell again stays as it was (P30).
func (s *step) keepHeld() {
	if len(s.page.Held) == 0 {
		return
	}
	held := make(map[string]string, len(s.from.Held)+len(s.page.Held))
	maps.Copy(held, s.from.Held)
	maps.Copy(held, s.page.Held)
	s.to.Held = held
}

// countIDs counts the ids that this walk has not seen, the rows up to the wall
// if there is one, and the pages in a row that brought nothing new.
func (s *step) countIDs(seen func(uint64) bool) {
	onPage := make(map[uint64]struct{}, len(s.ids))
	seam := len(s.page.IDs) - len(s.ids)
	for i, id := range s.ids {
		if s.paging.Confirms() && !s.paging.NewestFirst {
			s.to.Set = s.to.Set.add(id, s.page.updatedAt(i))
		}
		h := IDHash(id)
		if _, twice := onPage[h]; twice || seen(h) {
			continue
		}
		onPage[h] = struct{}{}
		s.unseen++
		if s.paging.NewestFirst && s.firstReading == nil {
			s.followDates(seam+i, id)
		}
		if s.paging.comparesIDs() {
			s.to.Set = s.to.Set.add(id, time.Time{})
		}
	}
	s.to.Seen += s.unseen
	if s.paging.MaxItems > 0 && s.firstReading == nil {
		s.to.Rows = max(s.from.Rows, s.from.Seen) + int64(len(s.ids))
	}
	if s.unseen > 0 {
		s.to.Old = 0
	} else {
		s.to.Old++
	}
}

// followPlaces follows the order of the list where the walk goes by it, and leaves a walk
// over a list that has not the order which is declared.
func (s *step) followPlaces() error {
	switch {
	case s.paging.NewestFirst:
		return s.refuseUnsorted()
	case s.paging.Type == PageKeyset:
		return s.followKey()
	}
	return nil
}

// refuseSamePage leaves a walk whose server gives one page for the third time in
// a row: what it asks for next makes no difference.
func (s *step) refuseSamePage() error {
	h := pageHash(s.ids)
	if len(s.ids) == 0 || h != s.from.PageHash {
		s.to.PageHash = h
		s.to.Same = 0
		return nil
	}
	s.to.Same++
	if s.to.Same >= 2 {
		return walkFault(RestartWalk, CodePageRepeats)
	}
	return nil
}

// endWith ends the walk by a proof that the page gave, if everything has come
// and the proof can be believed. One that cannot be is looked at twice: the page
// is read again and must have the same ids, or where the server holds the place,
// so that this is not possible, the end is left unproven for another walk to confirm.
func (s *step) endWith(end EndProof) (EndProof, error) {
	if end == EndSorted { // totals, and walls, are of the whole list
		return end, nil
	}
	if err := s.shortfall(); err != nil {
		return "", err
	}
	switch {
	case s.proven(end):
	case s.paging.ServerHolds(s.from):
		s.to.Unproven = true
	case s.firstReading == nil:
		s.to = s.readAgain()
		return "", nil
	case *s.firstReading != s.page.idSet():
		return "", walkFault(RestartWalk, CodeLastPageDiffers)
	}
	return end, nil
}

// refuseEmptyPage leaves a walk that found nothing at a place it had counted out
// itself, where nothing says that this is the end.
func (s *step) refuseEmptyPage() error {
	counted := s.paging.Type == PageOffset || s.paging.Type == PageNumber
	if counted && len(s.ids) == 0 {
		return walkFault(RestartWalk, CodeEmptyPage)
	}
	return nil
}

// endsPageRange reports whether the slice is a range of pages and this its last.
func (s *step) endsPageRange() bool {
	return s.paging.Until > 0 && s.from.Page+1 >= s.paging.Until
}

// refuseLongWalk leaves a walk that is not over and too long to go on with: it
// has as many pages as it may have, its pages bring nothing new, or there is
// more than the source lets a walk reach.
func (s *step) refuseLongWalk() error {
	p := s.paging
	switch {
	case s.spendsPages():
		return walkFault(CutSlice, CodeMaxPages)
	case s.to.Old >= MaxOldPages:
		return walkFault(CutSlice, CodeNothingNew)
	case p.MaxItems > 0 && s.to.Total != nil && *s.to.Total > p.MaxItems:
		return walkFault(CutSlice, CodeOverWall)
	}
	return nil
}

// spendsPages reports whether the walk has all the pages that it may have. One on
// tokens or links may have more, as long as they bring something new.
func (s *step) spendsPages() bool {
	p := s.paging
	if p.MaxPages == 0 || s.to.Pages < p.MaxPages {
		return false
	}
	stretches := p.chained() && s.unseen > 0 && s.to.Pages < MaxStretch*p.MaxPages
	return !stretches
}

// moveOn sets where the next page is asked for, by the type of paging.
func (s *step) moveOn() error {
	switch s.paging.Type {
	case PageOffset:
		s.moveOffset()
	case PageNumber:
		s.to.Page++
	case PageToken, PageScroll:
		if s.page.Token == "" {
			return walkFault(RestartWalk, CodeTokenMissing)
		}
		s.to.Token = s.page.Token
	case PageURL:
		if s.page.URL == "" {
			return walkFault(RestartWalk, CodeNextURLMissing)
		}
		s.to.URL = s.page.URL
	case PageTime:
		return walkFault(CutSlice, CodeOneReply)
	case PageKeyset:
		return s.moveKey()
	}
	if s.paging.pastWall(s.to) {
		return walkFault(CutSlice, CodeOverWall)
	}
	return nil
}

// moveOffset moves by what came: the server may give fewer items than it was
// asked for. Where it leaves items out some come twice, which loses none (P29).
func (s *step) moveOffset() {
	came := len(s.page.IDs)
	s.to.Offset = s.from.Offset + int64(came)
	if s.paging.Seam() && came > 0 {
		s.to.Offset-- // the next page begins with the last item of this one
		s.to.LastID = s.page.IDs[came-1]
	}
}

// pageHash is by what a page is known again.
func pageHash(ids []string) uint64 {
	h := fnv.New64a()
	for _, id := range ids {
		h.Write([]byte(id))
		h.Write([]byte{0})
	}
	return h.Sum64()
}
