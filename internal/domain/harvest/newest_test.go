package harvest_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// newestDay is the day d of a month, at noon.
func newestDay(d int) time.Time { return time.Date(2024, 3, d, 12, 0, 0, 0, time.UTC) }

// newestList is a list by days, newest first, and how it is read for the days from 10 on
// and before 20.
func newestList(kind harvest.PagingType, size int) harvest.Paging {
	return harvest.Paging{
		Type: kind, Size: size, NewestFirst: true, End: []harvest.EndProof{harvest.EndSorted, harvest.EndEmpty},
		Window:   harvest.Window{From: time.Date(2024, 3, 10, 0, 0, 0, 0, time.UTC), To: time.Date(2024, 3, 20, 0, 0, 0, 0, time.UTC)},
		Calendar: harvest.Calendar{Precision: harvest.PrecisionSecond},
	}
}

// TestR75_AWholePageBeforeTheWindowEndsTheWalk, and nothing less: neither a record that
// is out of its place, nor a page that came short, nor a list that does not go back in
// time.
func TestR75_AWholePageBeforeTheWindowEndsTheWalk(t *testing.T) {
	for _, c := range []struct {
		name  string
		pages [][]int // days, of pages of 4
		ends  int     // number of the page that ends the walk, 0 for none
	}{
		{"in order", [][]int{{21, 19, 18, 15}, {12, 11, 9, 8}, {7, 6, 5, 4}}, 3},
		{"a record before its time", [][]int{{21, 19, 18, 9}, {12, 11, 9, 8}, {7, 6, 5, 4}}, 3},
		{"short pages", [][]int{{21, 19, 18, 15}, {9}, {8}, {7, 6}}, 4},
		{"short pages, and one of the window behind", [][]int{{21, 19, 18, 15}, {9}, {14}, {7, 6, 5, 4}}, 4},
		{"nothing of the window", [][]int{{9, 8, 7, 6}}, 1},
		{"oldest first", [][]int{{1, 2, 3, 4}, {5, 6, 7, 8}}, 0},
		{"all of one instant", [][]int{{5, 5, 5, 5}, {5, 5, 5, 5}, {5, 4, 4, 4}}, 3},
		{"undated ones", [][]int{{21, 19, 18, 15}, {9, 8, 0, 7}, {6, 5, 4, 3}}, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newestList(harvest.PageNumber, 4)
			p.Snapshot = true
			seen := map[uint64]bool{}
			var pos harvest.Position
			for n, days := range c.pages {
				f := harvest.PageFacts{}
				for i, d := range days {
					f.IDs = append(f.IDs, fmt.Sprint(n, "-", i))
					at := time.Time{}
					if d > 0 {
						at = newestDay(d)
					}
					f.Updated = append(f.Updated, at)
				}
				next, end, err := p.Step(pos, f, func(h uint64) bool { return seen[h] })
				if err != nil {
					t.Fatalf("page %d: %v", n+1, err)
				}
				if want := n+1 == c.ends; (end == harvest.EndSorted) != want {
					t.Fatalf("page %d: ended by %q, want it %v", n+1, end, want)
				}
				for _, id := range f.IDs {
					seen[harvest.IDHash(id)] = true
				}
				pos = next
			}
		})
	}
}

// TestR75_ARecordFarFromItsPlaceIsRefused: then nothing proves that no more of the
// window comes.
func TestR75_ARecordFarFromItsPlaceIsRefused(t *testing.T) {
	p := newestList(harvest.PageNumber, 2)
	p.Snapshot = true
	var pos harvest.Position
	var err error
	for n, days := range [][]int{{19, 13}, {12, 11}, {18, 10}} {
		f := harvest.PageFacts{IDs: []string{fmt.Sprint(n, "a"), fmt.Sprint(n, "b")}, Updated: []time.Time{newestDay(days[0]), newestDay(days[1])}}
		pos, _, err = p.Step(pos, f, never)
		if last := n == 2; (err != nil) != last {
			t.Fatalf("page %d: %v", n+1, err)
		}
	}
	if f, _ := harvest.FaultOf(err); f.Code != harvest.CodeNotSorted || f.Reaction != harvest.RestartWalk {
		t.Errorf("refused as %v", err)
	}
}

// TestR75_APageThatDoesNotJoinIsReadLater: where deletions pulled the list up past the
// place of the next page, the walk goes back until it finds what it has read, and
// counts nothing until then.
func TestR75_APageThatDoesNotJoinIsReadLater(t *testing.T) {
	list := []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"}
	p := newestList(harvest.PageOffset, 4)
	p.Order = "updated desc"
	seen := map[uint64]bool{}
	read := map[string]bool{}
	var pos harvest.Position
	back := 0
	for asked := 0; ; asked++ {
		if asked > 20 {
			t.Fatal("the walk does not end")
		}
		if asked == 2 { // all that was read is deleted, but for the first
			list = append([]string{"a"}, list[7:]...)
		}
		f := harvest.PageFacts{}
		for i := int(pos.Offset); i < min(len(list), int(pos.Offset)+4); i++ {
			f.IDs = append(f.IDs, list[i])
			f.Updated = append(f.Updated, newestDay(19-int(list[i][0]-'a')/2))
		}
		next, end, err := p.Step(pos, f, func(h uint64) bool { return seen[h] })
		if err != nil {
			t.Fatalf("%v at %+v: %v", f.IDs, pos, err)
		}
		if next.Back > 0 {
			back++
		} else {
			for _, id := range f.IDs {
				seen[harvest.IDHash(id)] = true
				read[id] = true
			}
		}
		if end != "" {
			break
		}
		pos = next
	}
	if back == 0 {
		t.Error("the walk never went back")
	}
	for _, id := range list {
		if !read[id] {
			t.Errorf("%s was not read", id)
		}
	}
}
