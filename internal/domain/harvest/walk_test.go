package harvest_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// endless serves pages of fresh ids for ever, without a total.
func endless(size int, pos harvest.Position) harvest.PageFacts {
	f := harvest.PageFacts{Token: "more", URL: "https://example.org/more"}
	if pos.LastID != "" { // the seam
		f.IDs = append(f.IDs, pos.LastID)
	}
	for n := 0; len(f.IDs) < size; n++ {
		f.IDs = append(f.IDs, fmt.Sprint(pos.Pages, "-", n))
	}
	return f
}

func never(uint64) bool { return false }

// TestP12_WalkStopsBeforeTheWall: with no total to warn it, a walk is cut before
// a request goes past what the source lets it reach, and not earlier.
func TestP12_WalkStopsBeforeTheWall(t *testing.T) {
	for _, c := range []struct {
		name   string
		paging harvest.Paging
		pages  int // that may be asked for
	}{
		{"offset", harvest.Paging{Type: harvest.PageOffset, Size: 20, MaxItems: 100}, 5}, // 0 19 38 57 76; 95+20 is past it
		{"offset, snapshot", harvest.Paging{Type: harvest.PageOffset, Snapshot: true, Size: 20, MaxItems: 100}, 5},
		{"offset, wall within a page", harvest.Paging{Type: harvest.PageOffset, Snapshot: true, Size: 20, MaxItems: 99}, 4},
		{"page 0", harvest.Paging{Type: harvest.PageNumber, Size: 20, MaxItems: 100}, 5},
		{"page 1", harvest.Paging{Type: harvest.PageNumber, PageBase: 1, Size: 20, MaxItems: 100}, 5},
		{"page, wall within a page", harvest.Paging{Type: harvest.PageNumber, Size: 20, MaxItems: 119}, 5},
		{"token", harvest.Paging{Type: harvest.PageToken, Size: 20, TokenContinues: true, MaxItems: 100}, 5},
		{"scroll", harvest.Paging{Type: harvest.PageScroll, Size: 20, TokenContinues: true, MaxItems: 100}, 5},
		{"url", harvest.Paging{Type: harvest.PageURL, Size: 20, MaxItems: 101}, 6}, // items seen decide, not places
	} {
		t.Run(c.name, func(t *testing.T) {
			var pos harvest.Position
			for asked := 1; asked <= c.pages; asked++ {
				if c.paging.Type == harvest.PageOffset && pos.Offset+20 > c.paging.MaxItems || c.paging.Type == harvest.PageNumber && int64(pos.Page+1)*20 > c.paging.MaxItems {
					t.Errorf("page %d, at %+v, goes past the wall", asked, pos)
				}
				next, _, err := c.paging.Step(pos, endless(20, pos), never)
				f, _ := harvest.FaultOf(err)
				if last := asked == c.pages; last != (f.Code == "over_wall" && f.Reaction == harvest.CutSlice) || !last && err != nil {
					t.Fatalf("page %d of %d: %v", asked, c.pages, err)
				}
				pos = next
			}
		})
	}
}

// TestP29_OffsetIsSteppedByWhatCame, in a snapshot too: the server may have given
// smaller pages than it was asked for.
func TestP29_OffsetIsSteppedByWhatCame(t *testing.T) {
	for _, snapshot := range []bool{false, true} {
		p := harvest.Paging{Type: harvest.PageOffset, Size: 20, Snapshot: snapshot, Order: "id", End: []harvest.EndProof{harvest.EndEmpty}}
		next, _, err := p.Step(harvest.Position{}, endless(7, harvest.Position{}), never)
		want := int64(7)
		if !snapshot {
			want = 6 // the seam
		}
		if err != nil || next.Offset != want {
			t.Errorf("snapshot %v: after 7 items of 20 at %d, %v", snapshot, next.Offset, err)
		}
	}
}

// TestC9_OneReplyMustFit: whatever shows that there is more cuts the slice.
func TestC9_OneReplyMustFit(t *testing.T) {
	for _, c := range []struct {
		name  string
		exact bool
		wall  int64
		facts harvest.PageFacts
		want  string
	}{
		{"total reached", true, 0, harvest.PageFacts{Total: new(int64(20))}, ""},
		{"total not reached", true, 0, harvest.PageFacts{Total: new(int64(21))}, "more_than_one_reply"},
		{"rough total not reached", false, 0, harvest.PageFacts{Total: new(int64(21))}, "more_than_one_reply"},
		{"exact total not told", true, 0, harvest.PageFacts{}, "more_than_one_reply"},
		{"rough total reached", false, 0, harvest.PageFacts{Total: new(int64(20))}, "more_than_one_reply"},
		{"nothing told", false, 0, harvest.PageFacts{}, "more_than_one_reply"},
		{"no more", false, 0, harvest.PageFacts{HasMore: new(false)}, ""},
		{"more", false, 0, harvest.PageFacts{HasMore: new(true)}, "more_than_one_reply"},
		{"more than the total", true, 0, harvest.PageFacts{Total: new(int64(20)), HasMore: new(true)}, "more_than_one_reply"},
		{"not full", false, 21, harvest.PageFacts{}, ""},
		{"full", false, 20, harvest.PageFacts{}, "over_wall"},
		{"full, exact total", true, 20, harvest.PageFacts{Total: new(int64(20))}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := harvest.Paging{Type: harvest.PageTime, TotalExact: c.exact, MaxItems: c.wall, End: []harvest.EndProof{harvest.EndOneReply}}
			c.facts.IDs = endless(20, harvest.Position{}).IDs
			_, end, err := p.Step(harvest.Position{}, c.facts, never)
			f, _ := harvest.FaultOf(err)
			if string(f.Code) != c.want || (end != "") != (c.want == "") || c.want != "" && f.Reaction != harvest.CutSlice {
				t.Errorf("ended with %q, %v, want %q", end, err, c.want)
			}
		})
	}
}

// TestR24_LongWalksGoOnWhileTheyBringSomething: where pages tell of the next, the
// declared length is left behind as long as there is something new, and not for
// ever; pages that are counted end there.
func TestR24_LongWalksGoOnWhileTheyBringSomething(t *testing.T) {
	const declared = 5
	for _, c := range []struct {
		name    string
		paging  harvest.Paging
		barren  int // the first page that brings nothing, 0 for none
		stopsAt int
	}{
		{"token", harvest.Paging{Type: harvest.PageToken, TokenContinues: true}, 0, declared * harvest.MaxStretch},
		{"scroll", harvest.Paging{Type: harvest.PageScroll, TokenContinues: true}, 0, declared * harvest.MaxStretch},
		{"url", harvest.Paging{Type: harvest.PageURL}, 0, declared * harvest.MaxStretch},
		{"token, nothing new", harvest.Paging{Type: harvest.PageToken, TokenContinues: true}, 3, declared},
		{"token, nothing new later", harvest.Paging{Type: harvest.PageToken, TokenContinues: true}, 9, 9},
		{"page", harvest.Paging{Type: harvest.PageNumber}, 0, declared},
		{"offset", harvest.Paging{Type: harvest.PageOffset, Snapshot: true}, 0, declared},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.paging.Size, c.paging.MaxPages = 20, declared
			var pos harvest.Position
			for asked := 1; asked <= c.stopsAt; asked++ {
				seen := never
				if c.barren > 0 && asked >= c.barren {
					seen = func(uint64) bool { return true }
				}
				next, _, err := c.paging.Step(pos, endless(20, pos), seen)
				f, _ := harvest.FaultOf(err)
				if last := asked == c.stopsAt; last != (f.Code == "max_pages" && f.Reaction == harvest.CutSlice) || !last && err != nil {
					t.Fatalf("page %d of %d: %v", asked, c.stopsAt, err)
				}
				pos = next
			}
		})
	}
}

// TestR22_PagesThatGoInCirclesEndTheWalk: under ever new numbers, offsets, tokens
// or links come the same three pages.
func TestR22_PagesThatGoInCirclesEndTheWalk(t *testing.T) {
	for name, p := range map[string]harvest.Paging{
		"page":             {Type: harvest.PageNumber, End: []harvest.EndProof{harvest.EndEmpty}},
		"page, snapshot":   {Type: harvest.PageNumber, Snapshot: true, End: []harvest.EndProof{harvest.EndEmpty}},
		"offset, snapshot": {Type: harvest.PageOffset, Snapshot: true, End: []harvest.EndProof{harvest.EndEmpty}},
		"token":            {Type: harvest.PageToken, TokenContinues: true, MaxPages: 5000, End: []harvest.EndProof{harvest.EndNoToken}},
		"url":              {Type: harvest.PageURL, MaxPages: 5000, End: []harvest.EndProof{harvest.EndNoURL}},
	} {
		t.Run(name, func(t *testing.T) {
			p.Size = 20
			var pos harvest.Position
			ids := map[uint64]bool{}
			for asked := 1; ; asked++ {
				f := endless(20, harvest.Position{Pages: pos.Pages % 3})
				next, _, err := p.Step(pos, f, func(h uint64) bool { return ids[h] })
				if err != nil {
					if f, _ := harvest.FaultOf(err); f.Code != "nothing_new" || f.Reaction != harvest.CutSlice || asked != 3+harvest.MaxOldPages {
						t.Errorf("page %d: %v", asked, err)
					}
					return
				}
				if asked > 1000 {
					t.Fatal("goes on and on")
				}
				for _, id := range f.IDs {
					ids[harvest.IDHash(id)] = true
				}
				pos, err = harvest.ParsePosition(next.String())
				if err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// TestP30_HeldValuesAreKept: what the first page alone tells is sent on with every
// later one, and what a later page tells takes its place.
func TestP30_HeldValuesAreKept(t *testing.T) {
	p := harvest.Paging{Type: harvest.PageOffset, Snapshot: true, Size: 20, End: []harvest.EndProof{harvest.EndEmpty}}
	first := harvest.Position{}
	var pos harvest.Position
	for i, c := range []struct{ held, want map[string]string }{
		{map[string]string{"webenv": "w", "key": "1"}, map[string]string{"webenv": "w", "key": "1"}},
		{map[string]string{"key": "2"}, map[string]string{"webenv": "w", "key": "2"}},
		{nil, map[string]string{"webenv": "w", "key": "2"}},
	} {
		f := endless(20, pos)
		f.Held = c.held
		next, _, err := p.Step(pos, f, never)
		if err != nil || !maps.Equal(next.Held, c.want) {
			t.Fatalf("page %d holds %v, %v", i+1, next.Held, err)
		}
		if i == 0 {
			first = next
		}
		pos = next
	}
	if first.Held["key"] != "1" {
		t.Errorf("a later page changed where the first one ended: %v", first.Held)
	}
}

// TestR24_EndAtTheWallIsAnEnd: what is proven over need not be cut.
func TestR24_EndAtTheWallIsAnEnd(t *testing.T) {
	p := harvest.Paging{Type: harvest.PageNumber, Size: 20, MaxItems: 20, TotalExact: true, End: []harvest.EndProof{harvest.EndTotal}}
	f := endless(20, harvest.Position{})
	f.Total = new(int64(20))
	if _, end, err := p.Step(harvest.Position{}, f, never); end != harvest.EndTotal || err != nil {
		t.Errorf("ended with %q, %v", end, err)
	}
}

// TestR24_EndAtTheWallProvesNothing: the source gives no more there, whatever is
// behind it. Only a total that is exact tells an exact fit from a cut.
func TestR24_EndAtTheWallProvesNothing(t *testing.T) {
	exact := func(p harvest.Paging) harvest.Paging { p.TotalExact = true; return p }
	token := harvest.Paging{Type: harvest.PageToken, TokenContinues: true, End: []harvest.EndProof{harvest.EndNoToken}}
	for _, c := range []struct {
		name   string
		paging harvest.Paging
		facts  harvest.PageFacts
		had    harvest.Position
		wall   int64
		total  int64 // 0 for none
		want   string
	}{
		{"no token", token, harvest.PageFacts{}, harvest.Position{}, 20, 0, "over_wall"},
		{"below it", token, harvest.PageFacts{}, harvest.Position{}, 21, 0, ""},
		{"rough total", token, harvest.PageFacts{}, harvest.Position{}, 20, 20, "over_wall"},
		{"rough total, below it", token, harvest.PageFacts{}, harvest.Position{}, 21, 20, ""},
		{"exact total", exact(token), harvest.PageFacts{}, harvest.Position{}, 20, 20, ""},
		{"exact total behind it", exact(token), harvest.PageFacts{}, harvest.Position{}, 20, 70, "over_wall"},
		{"exact total not told", exact(token), harvest.PageFacts{}, harvest.Position{}, 20, 0, "over_wall"},
		{"second page", token, harvest.PageFacts{}, harvest.Position{Token: "t", Pages: 1, Seen: 20, Rows: 20}, 40, 0, "over_wall"},
		// A wall counts what it gives, the same item twice as well.
		{"second page, some known", token, harvest.PageFacts{}, harvest.Position{Token: "t", Pages: 1, Seen: 15, Rows: 20}, 40, 0, "over_wall"},
		{"second page of an older walk", token, harvest.PageFacts{}, harvest.Position{Token: "t", Pages: 1, Seen: 20}, 40, 0, "over_wall"},
		{"no link", harvest.Paging{Type: harvest.PageURL, End: []harvest.EndProof{harvest.EndNoURL}}, harvest.PageFacts{}, harvest.Position{}, 20, 0, "over_wall"},
		{"scroll", harvest.Paging{Type: harvest.PageScroll, TokenContinues: true, End: []harvest.EndProof{harvest.EndNoToken}}, harvest.PageFacts{}, harvest.Position{}, 20, 0, "over_wall"},
		{
			"token comes again",
			harvest.Paging{Type: harvest.PageToken, End: []harvest.EndProof{harvest.EndRepeat}},
			harvest.PageFacts{Token: "t"},
			harvest.Position{Token: "t"},
			20, 0, "over_wall",
		},
		{
			"no more, token",
			harvest.Paging{Type: harvest.PageToken, TokenContinues: true, End: []harvest.EndProof{harvest.EndHasMore}},
			harvest.PageFacts{Token: "t", HasMore: new(false)},
			harvest.Position{},
			20, 0, "over_wall",
		},
		{
			"no more, offset",
			harvest.Paging{Type: harvest.PageOffset, Snapshot: true, End: []harvest.EndProof{harvest.EndHasMore}},
			harvest.PageFacts{HasMore: new(false)},
			harvest.Position{Offset: 20, Seen: 15, Pages: 1},
			40, 0, "over_wall",
		},
		{
			"no more, page",
			harvest.Paging{Type: harvest.PageNumber, End: []harvest.EndProof{harvest.EndHasMore}},
			harvest.PageFacts{HasMore: new(false)},
			harvest.Position{Page: 1, Seen: 15, Pages: 1},
			40, 0, "over_wall",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.paging.Size, c.paging.MaxItems = 20, c.wall
			c.facts.IDs = endless(20, harvest.Position{Pages: c.had.Pages}).IDs
			if c.total > 0 {
				c.facts.Total = &c.total
			}
			next, end, err := c.paging.Step(c.had, c.facts, never)
			if next.Tail != nil && err == nil { // it is asked for once more
				_, end, err = c.paging.Step(next, c.facts, never)
			}
			f, _ := harvest.FaultOf(err)
			if string(f.Code) != c.want || (end != "") != (c.want == "") || c.want != "" && f.Reaction != harvest.CutSlice {
				t.Errorf("ended with %q, %v, want %q", end, err, c.want)
			}
		})
	}
}

// TestR25_TwoWalksAreComparedByWhatTheySaw: not by how it was spread over pages,
// but by every id and its update time.
func TestR25_TwoWalksAreComparedByWhatTheySaw(t *testing.T) {
	p := harvest.Paging{Type: harvest.PageNumber, Size: 3}
	walk := func(pages ...[]int) *harvest.Position {
		var pos harvest.Position
		var ids []string
		for _, page := range pages {
			var f harvest.PageFacts
			for _, n := range page { // n is the id, n/100 the version
				f.IDs, f.Updated = append(f.IDs, fmt.Sprint(n%100)), append(f.Updated, t0.Add(time.Duration(n/100)*time.Microsecond))
			}
			next, _, err := p.Step(pos, f, func(h uint64) bool {
				return slices.ContainsFunc(ids, func(id string) bool { return harvest.IDHash(id) == h })
			})
			if err != nil {
				t.Fatal(err)
			}
			// As after a crash between any two pages.
			pos, err = harvest.ParsePosition(next.String())
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, f.IDs...)
		}
		return &pos
	}
	first := walk([]int{1, 2, 3}, []int{4, 5, 6}, []int{7})
	for _, c := range []struct {
		name string
		walk *harvest.Position
		same bool
	}{
		{"the same", walk([]int{1, 2, 3}, []int{4, 5, 6}, []int{7}), true},
		{"another order", walk([]int{7, 5, 3}, []int{1, 2, 4}, []int{6}), true},
		{"other pages", walk([]int{1, 2}, []int{3, 4}, []int{5, 6, 7}), true},
		{"one row twice", walk([]int{1, 2, 3}, []int{3, 4, 5}, []int{6, 7}), false}, // something pushed it on
		{"one fewer", walk([]int{1, 2, 3}, []int{4, 5, 6}), false},
		{"one more", walk([]int{1, 2, 3}, []int{4, 5, 6}, []int{7, 8}), false},
		{"one for another", walk([]int{1, 2, 3}, []int{4, 5, 6}, []int{8}), false},
		{"one a microsecond newer", walk([]int{1, 2, 3}, []int{4, 105, 6}, []int{7}), false},
	} {
		if got := p.Confirmed(*c.walk, first); got != c.same {
			t.Errorf("%s: confirmed %v", c.name, got)
		}
	}
	if p.Confirmed(*first, nil) {
		t.Error("confirmed by no other walk")
	}
	if !p.Confirmed(*walk([]int{1, 2}), nil) {
		t.Error("a single page needs no second walk")
	}
	p.Snapshot = true
	if !p.Confirmed(*first, nil) {
		t.Error("a snapshot needs no second walk")
	}
}
