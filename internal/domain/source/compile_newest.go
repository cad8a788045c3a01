package source

import (
	"slices"
	"strings"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// newestFirst reports whether the source cannot be asked for a window: its list has
// the newest records first, and is read until it is past the window (R75).
func (c *compiler) newestFirst() bool {
	p := c.def.Pagination
	return p != nil && slices.Contains(p.End, harvest.EndSorted)
}

// newest checks what a source has to say that is read by its order alone, and what it
// cannot have.
func (c *compiler) newest() {
	if !c.newestFirst() || c.def.Window == nil {
		return
	}
	c.spec.Paging.NewestFirst = true
	c.newestOrder()
	c.newestWindow(c.def.Window)
	c.newestEnds(c.def.Pagination)
}

// newestOrder checks that pages tell their order: they are sorted by the date of the
// window, the newest first, and say what it is.
func (c *compiler) newestOrder() {
	first, _, _ := strings.Cut(c.spec.Paging.Order, ",")
	words := strings.FieldsFunc(first, func(r rune) bool { return r == ' ' || r == ':' })
	key := c.spec.Window.Key
	if len(words) != 2 || words[0] != key || !strings.EqualFold(words[1], "desc") {
		c.fail("pagination.order", "SORTED_PAST needs a list whose order begins with the date of the window, newest first, such as %q", key+" desc, id desc")
	}
	if c.spec.Window.UpdatedAt != UpdatedInItem {
		c.fail("window.updatedAt", "SORTED_PAST needs PATH: by the dates of its items a page is known to lie before the window")
	}
	search, known := c.cfg[UsageSearch]
	if known && len(search.Response.UpdatedAt) == 0 {
		c.fail(join("endpoints", search.Name)+".response.updatedAt", "is required with SORTED_PAST: the list itself has to tell the dates it is sorted by")
	}
}

// newestWindow refuses what only a source has that can be asked for a window.
func (c *compiler) newestWindow(cfg *WindowConfig) {
	for _, usage := range []Usage{UsageSearch, UsageCount} {
		e, known := c.cfg[usage]
		if known && slices.ContainsFunc([]string{"window.from", "window.to", "window.last"}, c.used[usage].uses) {
			c.fail(join("endpoints", e.Name), "asks for a window, so that SORTED_PAST is of no use: end its walks by another proof")
		}
	}
	if e, counts := c.cfg[UsageCount]; counts {
		c.fail(join("endpoints", e.Name), "counts the whole list, not a window: with SORTED_PAST there is nothing to count")
	}
	if len(cfg.Filters) > 0 {
		c.fail("window.filters", "is of no use with SORTED_PAST: no word of a request filters by a date")
	}
	if cfg.Strategy != "" && cfg.Strategy != harvest.StrategyTime || cfg.Split != nil || cfg.Step != 0 || c.spec.Window.Budget != nil {
		c.fail("window", "step, split, strategy and budgets are of no use with SORTED_PAST: each part of a window would be read from the newest record again")
	}
}

// newestEnds checks that a walk has an end where the window begins before the list
// does, and that no total is taken for that of a window.
func (c *compiler) newestEnds(cfg *PaginationConfig) {
	if c.spec.Paging.TotalExact || c.spec.Paging.TotalWithin > 0 || slices.Contains(cfg.End, harvest.EndTotal) {
		c.fail("pagination.total", "is that of the whole list, which proves nothing of a window: leave it out, and TOTAL of end")
	}
	if len(cfg.End) < 2 {
		c.fail("pagination.end", "needs another proof besides SORTED_PAST, for a list that ends before the window begins, such as EMPTY_PAGE")
	}
	c.note("pagination.end", "SORTED_PAST: a plan is one slice, read from the newest record on, which costs the more the longer ago its window is")
}
