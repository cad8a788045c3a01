package executor_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/papertrace/patra/internal/sim"
)

// untold is a source that counts exactly and whose pages tell no total.
func untold() manner {
	m := manners["token"].exact()
	m.query += "\n      total: absent"
	return m
}

// planned is how often the planner counts: the first time shows it the upstream's
// clock, which moves the window.
const planned = 2

// counts is how often the oracle was asked for a count.
func (b *bench) counts() (n int) {
	for _, r := range b.Sim.Requests() {
		if r.Params.Get("only") == "count" {
			n++
		}
	}
	return n
}

// TestR64_TheCountProvesTheEnd: a walk that has seen what the planner counted is
// over without asking again.
func TestR64_TheCountProvesTheEnd(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		b := newBench(t, untold(), setup{})
		b.exact()
		if b.pages() != 4 || b.counts() != planned {
			t.Errorf("%d pages and %d counts for 70 records, 20 to a page", b.pages(), b.counts())
		}
	})
}

// TestR64_AnOldCountIsTakenAnew: records that left the window after it was counted
// are not waited for. One request tells, and the walk is over.
func TestR64_AnOldCountIsTakenAnew(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		b := newBench(t, untold(), setup{})
		b.onPage(1, func(*http.Request) {
			b.shift("remove", 0)
			b.shift("remove", 0)
		})
		b.exact()
		if n := b.ask(walks); n != 1 || b.pages() != 4 || b.counts() != planned+1 {
			t.Errorf("%d walks, %d pages, %d counts", n, b.pages(), b.counts())
		}
	})
}

// TestR64_WhatWasCountedMustCome: tokens are left out twice in a row, so that
// asking again shows nothing, and no page tells a total. The count does: the slice
// is walked again until all has come.
func TestR64_WhatWasCountedMustCome(t *testing.T) {
	t.Parallel()
	for page := range 3 {
		t.Run(fmt.Sprint("page ", page+1), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				b := newBench(t, untold(), setup{faults: []sim.Script{{Fault: sim.TokenDropped, When: isSearch, After: page, Times: 2}}})
				b.exact()
				if n := b.ask(walks); n < 2 || n > 3 || b.Sim.Scripted() != 0 {
					t.Errorf("%d walks", n)
				}
			})
		})
	}
}

func isSearch(q *http.Request) bool {
	return strings.HasSuffix(q.URL.Path, "/items") && q.Form.Get("only") != "count"
}
