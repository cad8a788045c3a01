package harvest_test

import (
	"testing"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// keyed is a page of records, by their ids and days; day 0 is none.
func keyed(records ...any) harvest.PageFacts {
	var f harvest.PageFacts
	for i := 0; i < len(records); i += 2 {
		at := time.Time{}
		if d := records[i+1].(int); d > 0 {
			at = newestDay(d)
		}
		f.IDs = append(f.IDs, records[i].(string))
		f.Updated = append(f.Updated, at)
	}
	return f
}

// TestR75_CompositeGoesOnAfterDateAndID: the next page begins after the last record whose
// date and id can be read, and a page that does not lead behind the one before, or is not
// sorted, is refused.
func TestR75_CompositeGoesOnAfterDateAndID(t *testing.T) {
	after := harvest.Position{At: newestDay(5), LastID: "c", Pages: 1}
	for _, c := range []struct {
		name  string
		from  harvest.Position
		page  harvest.PageFacts
		day   int
		id    string
		end   harvest.EndProof
		fault harvest.Code
	}{
		{name: "first page", page: keyed("x", 4, "b", 5, "c", 5), day: 5, id: "c"},
		{name: "more of one instant", from: after, page: keyed("d", 5, "e", 5), day: 5, id: "e"},
		{name: "on to the next", from: after, page: keyed("d", 5, "a", 6), day: 6, id: "a"},
		{name: "the record itself once more", from: after, page: keyed("c", 5, "d", 5), day: 5, id: "d"},
		{name: "one without a date at the end", from: after, page: keyed("d", 5, "e", 0), day: 5, id: "d"},
		{name: "one without an id at the end", from: after, page: keyed("d", 5, "unread:00", 6), day: 5, id: "d"},
		{name: "the end", from: after, page: keyed(), end: harvest.EndEmpty, day: 5, id: "c"},
		{name: "ids in capital letters too", from: after, page: keyed("D", 5, "e", 5, "F", 5), day: 5, id: "F"},
		{name: "ids that are numbers", page: keyed("9", 5, "10", 5, "100", 5), day: 5, id: "100"},
		{name: "numbers in ids", page: keyed("PMC9", 5, "PMC10", 5, "PMC011", 5), day: 5, id: "PMC011"},
		{name: "nothing but the record itself", from: after, page: keyed("c", 5), fault: harvest.CodeNoNextKey},
		{name: "nothing that can be read", from: after, page: keyed("d", 0, "unread:00", 5), fault: harvest.CodeNoNextKey},
		{name: "the date goes back", from: after, page: keyed("d", 6, "e", 5), fault: harvest.CodeNotSorted},
		{name: "a date before that asked for", from: after, page: keyed("z", 4), fault: harvest.CodeNotSorted},
		{name: "an id before that asked for", from: after, page: keyed("b", 5, "d", 5), fault: harvest.CodeNotSorted},
		{name: "ids of one instant in no order", page: keyed("a", 5, "c", 5, "b", 5), fault: harvest.CodeNotSorted},
		{name: "numbers in no order", page: keyed("10", 5, "9", 5, "100", 5), fault: harvest.CodeNotSorted},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := harvest.Paging{Type: harvest.PageKeyset, Size: 3, Ascending: true, End: []harvest.EndProof{harvest.EndEmpty}}
			next, end, err := p.Step(c.from, c.page, func(uint64) bool { return false })
			fault, _ := harvest.FaultOf(err)
			if fault.Code != c.fault || end != c.end {
				t.Fatalf("end %q, fault %q", end, fault.Code)
			}
			if c.fault == "" && (next.LastID != c.id || !next.At.Equal(newestDay(c.day))) {
				t.Errorf("goes on after %q of %s", next.LastID, next.At)
			}
		})
	}
}
