package harvest_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// TestR64_WhatProvesTheEnd: a page that comes without its token or link ends a
// walk only if something else says that it is the last; else it is asked for once
// more, or where the server holds the place the walk is left unproven.
func TestR64_WhatProvesTheEnd(t *testing.T) {
	const (
		over     = "over"
		again    = "asked for again"
		unproven = "over, to be walked again"
	)
	ids := func(n int) []string { return endless(n, harvest.Position{}).IDs }
	second := harvest.Position{Token: "t", URL: "u", Pages: 1, Seen: 20}
	exact := func(p *harvest.Paging) { p.TotalExact = true }
	about := func(p *harvest.Paging) { p.TotalWithin = 10 }
	stateful := func(p *harvest.Paging) { p.Stateful = true }
	counted := func(n int64) func(*harvest.Paging) { return func(p *harvest.Paging) { p.Counted = &n } }
	ends := func(e ...harvest.EndProof) func(*harvest.Paging) { return func(p *harvest.Paging) { p.End = e } }
	for _, c := range []struct {
		name  string
		tweak []func(*harvest.Paging)
		facts harvest.PageFacts
		total int64 // 0 for none
		pos   harvest.Position
		want  string
	}{
		{"nothing but a missing token", nil, harvest.PageFacts{IDs: ids(20)}, 0, second, again},
		{"the same on a short page", nil, harvest.PageFacts{IDs: ids(3)}, 0, second, again},
		{"the same on the first page", nil, harvest.PageFacts{IDs: ids(3)}, 0, harvest.Position{}, again},
		{"the same on an empty page", nil, harvest.PageFacts{}, 0, second, again},
		{"a total that is worth nothing", nil, harvest.PageFacts{IDs: ids(20)}, 40, second, again},
		{"an exact total", []func(*harvest.Paging){exact}, harvest.PageFacts{IDs: ids(20)}, 40, second, over},
		{"an exact total, not told", []func(*harvest.Paging){exact}, harvest.PageFacts{IDs: ids(20)}, 0, second, again},
		{"an exact total, not reached", []func(*harvest.Paging){exact}, harvest.PageFacts{IDs: ids(20)}, 41, second, "total_not_reached"},
		{"an exact total over pages of another slice", []func(*harvest.Paging){exact}, harvest.PageFacts{IDs: ids(20)}, 40, harvest.Position{Token: "t", Before: 1, Seen: 20}, again},
		{"a near total", []func(*harvest.Paging){about}, harvest.PageFacts{IDs: ids(20)}, 40, second, again},
		{"a near total, missed by less", []func(*harvest.Paging){about}, harvest.PageFacts{IDs: ids(20)}, 44, second, again},
		{"a near total, missed by more", []func(*harvest.Paging){about}, harvest.PageFacts{IDs: ids(20)}, 45, second, "total_not_reached"},
		{"a near total, missed, whatever the proof", []func(*harvest.Paging){about, ends(harvest.EndHasMore)}, harvest.PageFacts{IDs: ids(20), HasMore: new(false)}, 45, second, "total_not_reached"},
		{"what was counted", []func(*harvest.Paging){exact, counted(40)}, harvest.PageFacts{IDs: ids(20)}, 0, second, over},
		{"what was counted, not reached", []func(*harvest.Paging){exact, counted(41)}, harvest.PageFacts{IDs: ids(20)}, 0, second, string(harvest.CodeCountMissed)},
		{"what was counted, not reached, but the total", []func(*harvest.Paging){exact, counted(41)}, harvest.PageFacts{IDs: ids(20)}, 40, second, string(harvest.CodeCountMissed)},
		{"what was counted, nearly reached", []func(*harvest.Paging){about, counted(44)}, harvest.PageFacts{IDs: ids(20)}, 0, second, again},
		{"what was counted, without the overlap", []func(*harvest.Paging){exact, counted(40), func(p *harvest.Paging) { p.Overlaps = true }}, harvest.PageFacts{IDs: ids(20)}, 0, second, again},
		{"a word that there is no more", nil, harvest.PageFacts{IDs: ids(20), HasMore: new(false)}, 0, second, over},
		{"a word that there is more", nil, harvest.PageFacts{IDs: ids(20), HasMore: new(true)}, 0, second, "token_missing"},
		{"an empty token, declared", []func(*harvest.Paging){ends(harvest.EndNoToken, harvest.EndNextEmpty)}, harvest.PageFacts{IDs: ids(20), NextEmpty: true}, 0, second, over},
		{"an empty token, not declared", nil, harvest.PageFacts{IDs: ids(20), NextEmpty: true}, 0, second, again},
		{"a missing token where an empty one is declared", []func(*harvest.Paging){ends(harvest.EndNextEmpty)}, harvest.PageFacts{IDs: ids(20)}, 0, second, "token_missing"},
		{"a short page where pages are filled", []func(*harvest.Paging){ends(harvest.EndShortPage, harvest.EndNoToken)}, harvest.PageFacts{IDs: ids(19)}, 0, second, over},
		{"a full page where pages are filled", []func(*harvest.Paging){ends(harvest.EndShortPage, harvest.EndNoToken)}, harvest.PageFacts{IDs: ids(20)}, 0, second, again},
		{"a short page with a token", []func(*harvest.Paging){ends(harvest.EndShortPage, harvest.EndNoToken)}, harvest.PageFacts{IDs: ids(19), Token: "more"}, 0, second, ""},
		{"a link", []func(*harvest.Paging){func(p *harvest.Paging) { p.Type = harvest.PageURL }, ends(harvest.EndNoURL)}, harvest.PageFacts{IDs: ids(20)}, 0, second, again},
		{"where the server holds the place", []func(*harvest.Paging){stateful}, harvest.PageFacts{IDs: ids(20)}, 0, second, unproven},
		{"the same on the first page, which it does not hold", []func(*harvest.Paging){stateful}, harvest.PageFacts{IDs: ids(20)}, 0, harvest.Position{}, again},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := harvest.Paging{Type: harvest.PageToken, Size: 20, TokenContinues: true, End: []harvest.EndProof{harvest.EndNoToken}}
			for _, f := range c.tweak {
				f(&p)
			}
			if c.total > 0 {
				c.facts.Total = &c.total
			}
			next, end, err := p.Step(c.pos, c.facts, never)
			f, _ := harvest.FaultOf(err)
			got := string(f.Code)
			switch {
			case err != nil:
			case next.Unproven:
				got = unproven
			case end != "":
				got = over
			case next.Tail != nil:
				got = again
			}
			if got != c.want || next.Unproven && end == "" {
				t.Errorf("%s, want %s: %+v", got, c.want, next)
			}
			if next.Tail != nil && (next.Token != c.pos.Token || next.URL != c.pos.URL || next.Pages != c.pos.Pages) {
				t.Errorf("another page is asked for: %+v", next)
			}
		})
	}
}

// TestR64_TheLastPageAskedForAgain: it is the last if it has no token this time
// either, and the same ids, in any order; after a crash as well.
func TestR64_TheLastPageAskedForAgain(t *testing.T) {
	p := harvest.Paging{Type: harvest.PageToken, Size: 20, MaxItems: 35, TokenContinues: true, End: []harvest.EndProof{harvest.EndNoToken}}
	for _, c := range []struct {
		name  string
		facts harvest.PageFacts
		end   harvest.EndProof
		code  harvest.Code
	}{
		{"the same", harvest.PageFacts{IDs: []string{"a", "b", "c"}}, harvest.EndNoToken, ""},
		{"in another order", harvest.PageFacts{IDs: []string{"c", "a", "b"}}, harvest.EndNoToken, ""},
		{"one more", harvest.PageFacts{IDs: []string{"a", "b", "c", "d"}}, "", "last_page_differs"},
		{"one fewer", harvest.PageFacts{IDs: []string{"a", "b"}}, "", "last_page_differs"},
		{"none", harvest.PageFacts{}, "", "last_page_differs"},
		{"with a token", harvest.PageFacts{IDs: []string{"a", "b", "c"}, Token: "next"}, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			seen := map[uint64]bool{}
			known := func(h uint64) bool { return seen[h] }
			pos, _, err := p.Step(harvest.Position{Token: "t", Pages: 1, Seen: 20, Rows: 20}, harvest.PageFacts{IDs: []string{"a", "b", "c"}}, known)
			if err != nil || pos.Tail == nil {
				t.Fatal(pos, err)
			}
			for _, id := range []string{"a", "b", "c"} {
				seen[harvest.IDHash(id)] = true
			}
			pos, err = harvest.ParsePosition(pos.String())
			if err != nil {
				t.Fatal(err)
			}
			next, end, err := p.Step(pos, c.facts, known)
			f, _ := harvest.FaultOf(err)
			if end != c.end || f.Code != c.code || c.code != "" && f.Reaction != harvest.RestartWalk {
				t.Fatalf("ended by %q, %v", end, err)
			}
			if err == nil && (next.Seen != 23 || next.Rows != 23 || next.Pages != 2 || next.Tail != nil || next.Token != "next" && end == "") {
				t.Errorf("then at %+v", next)
			}
		})
	}
}

// TestR64_TwoStatefulWalksMustSeeTheSameIDs, whatever the pages they come on.
func TestR64_TwoStatefulWalksMustSeeTheSameIDs(t *testing.T) {
	p := harvest.Paging{Type: harvest.PageToken, Size: 3, Stateful: true, TokenContinues: true, End: []harvest.EndProof{harvest.EndNoToken}}
	walk := func(pages ...string) *harvest.Position {
		var pos harvest.Position
		seen := map[uint64]bool{}
		for i, page := range pages {
			f := harvest.PageFacts{IDs: strings.Fields(page)}
			if i < len(pages)-1 {
				f.Token = "t"
			}
			next, _, err := p.Step(pos, f, func(h uint64) bool { return seen[h] })
			if err != nil {
				t.Fatal(err)
			}
			for _, id := range f.IDs {
				seen[harvest.IDHash(id)] = true
			}
			pos = next
		}
		return &pos
	}
	first := walk("a b c", "d e f", "g")
	if !first.Unproven || p.Confirmed(*first, nil) {
		t.Error("believed without another walk")
	}
	for _, c := range []struct {
		name string
		walk *harvest.Position
		same bool
	}{
		{"the same", walk("a b c", "d e f", "g"), true},
		{"on other pages, one twice", walk("g a", "a b c", "f e d"), true},
		{"cut off", walk("a b c", "d e f"), false},
		{"another one", walk("a b c", "d e f", "h"), false},
	} {
		if got := p.Confirmed(*c.walk, first); got != c.same {
			t.Errorf("%s: confirmed %v", c.name, got)
		}
	}
}

// TestR64_OldSnapshotsAreReadSafely: a plan from before says nothing of how an end
// is proven, so its last page is asked for again; what was counted for its slices
// is held against the walk.
func TestR64_OldSnapshotsAreReadSafely(t *testing.T) {
	var p harvest.Paging
	if err := json.Unmarshal([]byte(`{"type":"TOKEN","pageSize":20,"end":["NO_TOKEN"],"tokenContinues":true}`), &p); err != nil {
		t.Fatal(err)
	}
	if next, end, err := p.Step(harvest.Position{}, harvest.PageFacts{IDs: endless(20, harvest.Position{}).IDs}, never); err != nil || end != "" || next.Tail == nil {
		t.Errorf("%q, %+v, %v", end, next, err)
	}
	p.TotalExact = true
	slice := harvest.SliceSpec{Strategy: harvest.StrategyTime, Hints: &harvest.SliceHints{ExpectedRecords: 21, EstimatedBy: harvest.ByCount}}
	_, _, err := p.Of(slice).Step(harvest.Position{}, harvest.PageFacts{IDs: endless(20, harvest.Position{}).IDs}, never)
	if f, _ := harvest.FaultOf(err); f.Code != harvest.CodeCountMissed {
		t.Errorf("20 of 21 that were counted: %v", err)
	}
	slice.Hints.EstimatedBy = harvest.ByHistory
	if _, _, err := p.Of(slice).Step(harvest.Position{}, harvest.PageFacts{IDs: endless(20, harvest.Position{}).IDs}, never); err != nil {
		t.Errorf("20 of 21 that were guessed: %v", err)
	}
}
