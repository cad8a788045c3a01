package harvest

import (
	"cmp"
	"strings"
	"time"
)

// A list that is sorted by date and then by id can be asked for what comes after one of
// its records, by the date and the id of that record (R75):
//
//	| d1 a | d1 b | d2 c |  after (d2, c):  | d2 e | d2 f | d3 a |  after (d3, a): ...
//
// However many records are of one instant, each of them has a place of its own. Nothing
// is counted, so that records which are added, changed or deleted while the list is read
// shift no other. All this needs is the order: a page that is out of it proves that the
// source would pass over records, and is refused.

// followKey keeps the date and the id of the last record of the page, after which the
// next page begins. A record whose date or id cannot be read has no place in the order:
// it is kept aside as any other that is spoilt, and the page goes by its neighbours.
func (s *step) followKey() error {
	order := keyOrder{at: s.from.At, id: s.from.LastID}
	for i, id := range s.page.IDs {
		at := Instant(s.page.updatedAt(i))
		if at.IsZero() || isUnread(id) {
			continue
		}
		again := i == 0 && id == s.from.LastID && at.Equal(s.from.At)
		if again { // some sources count the record itself among those after it
			continue
		}
		if !order.follows(at, id) {
			return walkFault(RestartWalk, CodeNotSorted)
		}
	}
	s.to.At = order.at
	s.to.LastID = order.id
	return nil
}

// moveKey goes on after the last record of the page. One that has no record behind that
// which it was asked after would come again and again.
func (s *step) moveKey() error {
	if s.to.LastID == s.from.LastID && s.to.At.Equal(s.from.At) {
		return walkFault(RestartWalk, CodeNoNextKey)
	}
	return nil
}

// keyOrder follows records that are sorted by date and id. Which order ids have is the
// source's to say: by their bytes, without regard to capital letters, or with the
// numbers in them taken as such. Records of one page must ascend by one of these.
type keyOrder struct {
	at time.Time
	id string
	// not are the orders that ids of one instant were seen not to have.
	not [3]bool
}

// follows moves on to a record, and reports whether it lies behind the one before.
func (o *keyOrder) follows(at time.Time, id string) bool {
	if o.id != "" && at.Before(o.at) {
		return false
	}
	if o.id != "" && at.Equal(o.at) {
		before, after := strings.ToLower(o.id), strings.ToLower(id)
		o.not[0] = o.not[0] || id <= o.id
		o.not[1] = o.not[1] || after <= before
		o.not[2] = o.not[2] || compareNumbered(after, before) <= 0
	}
	o.at = at
	o.id = id
	return o.not != [3]bool{true, true, true}
}

// compareNumbered compares texts in which runs of digits are numbers: PMC99 is before PMC100.
func compareNumbered(a, b string) int {
	for a != "" && b != "" {
		x, restA := leadingNumber(a)
		y, restB := leadingNumber(b)
		if x == "" || y == "" { // not both begin with a number
			if a[0] != b[0] {
				return cmp.Compare(a[0], b[0])
			}
			a = a[1:]
			b = b[1:]
			continue
		}
		x = strings.TrimLeft(x, "0")
		y = strings.TrimLeft(y, "0")
		if c := cmp.Or(cmp.Compare(len(x), len(y)), cmp.Compare(x, y)); c != 0 {
			return c
		}
		a = restA
		b = restB
	}
	return cmp.Compare(len(a), len(b))
}

// leadingNumber parts a text behind the digits with which it begins.
func leadingNumber(s string) (digits, rest string) {
	rest = strings.TrimLeft(s, "0123456789")
	return s[:len(s)-len(rest)], rest
}
