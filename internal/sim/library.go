package sim

import (
	"cmp"
	"net/http"
	"slices"
	"time"
)

// library simulates a service that searches papers and lists what it finds, page by
// page, with the habits that are known of it.
type library struct {
	habits
	people  *population
	sim     *Sim
	entries map[uint32]*entry // what searches have looked into
}

// habits are what tells one service from another.
type habits struct {
	requests int // in a window
	window   time.Duration
	grain    int64         // of the instants in its index, in microseconds
	steps    time.Duration // between the instants that items show; 0: they show all of them
	analysis analysis
	columns  map[string]column
	unknown  func(l *library, field string, v termValue) (clause, error) // nil: no hits
	// What a walk has that can go wrong.
	totals  bool // pages tell how many there are
	cursors bool // a token or a link leads to the next page
	always  bool // the last page has one, too
	pages   bool // places are numbers of pages: a page is never short, but for the last

	class func(path string) string // of a request, for statistics; "": there is no such path
	id    func(b []byte, i uint32) []byte
	index func(id string) (uint32, bool)
	// order is a record's place in lists; nil: by index.
	order func(i uint32, r *record) uint64
	write func(b []byte, e *entry) []byte
	// ask reads a request; what cannot be read is answered with a refusal.
	ask func(l *library, q *request) (asking, *reply)
	// page puts an envelope around items.
	page func(q *request, s slip) *reply
	// broken is the service's own way to say that it is out of order.
	broken func() *reply
	// expired refuses a token; nil: tokens never die.
	expired func() *reply
}

func newLibrary(s *Sim, p *population, h habits) *library {
	return &library{habits: h, people: p, sim: s, entries: map[uint32]*entry{}}
}

// asking is a request that was understood.
type asking struct {
	match  paperTest // nil: everything
	size   int
	at     int    // place of the first item, where places are numbers
	mark   string // the token that was sent
	after  uint64 // the order of the last item before the page, where there is a token
	counts bool   // only the total is wanted
}

func (a asking) walking() bool { return a.mark != "" }

// slip is a page before it is put into its envelope.
type slip struct {
	asking
	rows  []row
	write func(b []byte, r *row) []byte
	total int // -1: left out
	from  int // place of the first item
	to    int // place behind the last
	next  uint64
	last  bool // nothing follows
	lost  bool // what leads to the next page is left out
}

// more says whether the page tells how to go on.
func (s slip) more() bool { return !s.last && !s.lost }

// around makes a reply of the text before and behind the items.
func (s slip) around(head, tail string) *reply {
	return &reply{
		status: http.StatusOK, kind: jsonType, head: []byte(head), tail: tail, between: ",", records: len(s.rows), rows: s.rows, write: s.write,
	}
}

func (l *library) appendID(b []byte, i uint32) []byte { return l.id(b, i) }

func (l *library) find(id string) (uint32, bool) { return l.index(id) }

func (l *library) updatedAt(v version) time.Time {
	at := time.Unix(int64(v.updated), int64(v.micro)*1000).UTC()
	return at.Truncate(l.steps)
}

func (l *library) route(q *request) string { return l.class(q.path) }

func (l *library) allowance(q *request) allowance {
	return allowance{key: q.caller, requests: l.requests, window: l.window}
}

func (l *library) limits(*request, *reply, allowance, verdict) {}

func (l *library) tooMany(*request, allowance, verdict) *reply {
	return gatewayPage(http.StatusTooManyRequests, "429 Too Many Requests")
}

func (l *library) failure(*request, Fault) *reply { return l.broken() }

func (l *library) orderOf(i uint32) uint64 {
	if l.order == nil {
		return uint64(i)
	}
	return l.order(i, &l.people.records[i])
}

// found lists what matches, in the order of the service's lists.
func (l *library) found(a asking) []uint32 {
	var ids []uint32
	for _, key := range l.people.index() {
		i := uint32(key)
		if a.match == nil || a.match(i, &l.people.records[i]) {
			ids = append(ids, i)
		}
	}
	slices.SortFunc(ids, func(a, b uint32) int { return cmp.Compare(l.orderOf(a), l.orderOf(b)) })
	return ids
}

// place is where a page begins in a list.
func (l *library) place(a asking, ids []uint32) int {
	if a.walking() {
		at, _ := slices.BinarySearchFunc(ids, a.after+1, func(i uint32, key uint64) int { return cmp.Compare(l.orderOf(i), key) })
		return at
	}
	return min(a.at, len(ids))
}

func (l *library) suits(q *request, f Fault) bool {
	a, refused := l.ask(l, q)
	if refused != nil || a.counts {
		return false
	}
	ids := l.found(a)
	at := l.place(a, ids)
	left := len(ids) - at
	switch f {
	case TotalWrong, TotalDropped:
		return l.totals && left > 0
	case TokenDropped:
		return l.cursors && (left > a.size || l.always && left > 0)
	case TokenDroppedShort:
		return (l.cursors || !l.pages) && min(left, a.size) > 1
	case ShortPage:
		return !l.pages && left > a.size && a.size > 2
	case EmptyMiddlePage:
		return l.cursors && !l.pages && a.walking() && left > 0
	case CursorExpired:
		return l.expired != nil && a.walking()
	}
	return false
}

func (l *library) answer(q *request) *reply {
	a, refused := l.ask(l, q)
	if refused != nil {
		return refused
	}
	if q.fault == CursorExpired {
		return l.expired()
	}
	ids := l.found(a)
	s := slip{asking: a, total: len(ids), from: l.place(a, ids), write: l.row, last: true}
	s.to = s.from
	if !a.counts {
		s.to = min(s.from+a.size, len(ids))
		switch {
		case q.fault.shortens():
			s.to -= max(1, (s.to-s.from)/4)
		case q.fault == EmptyMiddlePage:
			s.to = s.from
		}
		s.rows = l.people.rows(ids[s.from:s.to])
		s.last = s.to >= len(ids)
		s.lost = q.fault.dropsToken()
	}
	s.next = a.after
	if s.to > s.from {
		s.next = l.orderOf(ids[s.to-1])
	}
	switch q.fault {
	case TotalWrong:
		s.total += 3 + s.total/50
	case TotalDropped:
		s.total = -1
	}
	return l.page(q, s)
}

func (l *library) row(b []byte, r *row) []byte { return l.append(b, r.index, &r.record) }

// append writes an item.
func (l *library) append(b []byte, i uint32, r *record) []byte {
	return l.write(b, newEntry(l.people.seed, i, r))
}

// undatedLibrary is one whose items do not have the date that it goes by.
type undatedLibrary struct{ *library }

func (undatedLibrary) undated() {}
