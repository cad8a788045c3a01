package source

import (
	"slices"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// byID reports whether the source is harvested by ids that grow (R75).
func (c *compiler) byID() bool {
	w := c.def.Window
	return w != nil && w.Strategy == harvest.StrategyID
}

// ids checks what a source has to say that is harvested by ids that grow, and what it
// cannot have.
func (c *compiler) ids() {
	if !c.byID() {
		return
	}
	const path = "window.strategy"
	if c.t.Operation == harvest.Backfill {
		c.fail(path, "ID_RANGE allows no BACKFILL: the source is harvested from its first id on, and cannot be asked for a time")
	}
	head, known := c.cfg[UsageHead]
	if !known {
		c.fail("endpoints", "none has usage HEAD, which ID_RANGE needs: the greatest id there is ends the window of a plan")
	}
	if known && len(c.used[UsageHead]) > 0 && slices.ContainsFunc(c.used[UsageHead], isPlace) {
		c.fail(join("endpoints", head.Name), "a HEAD endpoint is asked before there is a window or a range")
	}
	search, known := c.cfg[UsageSearch]
	used := c.used[UsageSearch]
	if known && (!used.uses("range.from") || !used.uses("range.last")) {
		c.fail(join("endpoints", search.Name), "ID_RANGE needs ${range.from} and ${range.last}, the first and the last id asked for, in templates")
	}
	if known && slices.ContainsFunc([]string{"window.from", "window.to", "window.last"}, used.uses) {
		c.fail(join("endpoints", search.Name), "asks for a time, but the window is one of ids")
	}
	cfg := c.def.Window
	if e, counts := c.cfg[UsageCount]; counts {
		c.fail(join("endpoints", e.Name), "has no use with ID_RANGE: no more records than ids lie in a range")
	}
	if len(cfg.Filters) > 0 || cfg.Split != nil || cfg.Step != 0 || cfg.Baseline != 0 || cfg.Overlap != nil || cfg.Bound != "" || cfg.SafetyLag != nil {
		c.fail("window", "filters, bound, split, step, baseline, overlap and safetyLag are of times, and ID_RANGE has none")
	}
	if c.newestFirst() {
		c.fail("pagination.end", "SORTED_PAST is of a list that cannot be asked for a window, and this one can be, by ids")
	}
	for _, key := range []string{harvest.RangeOrdinal, harvest.RangePage, harvest.RangeBucket} {
		if cfg.Key == key {
			c.fail("window.key", "%s is a word of patra's own: say what the source calls its ids", key)
		}
	}
}

// isPlace reports whether a variable of templates tells a place in a window.
func isPlace(name string) bool {
	return slices.Contains([]string{"window.from", "window.to", "window.last", "range.from", "range.last", "page.offset", "page.no", "page.token", "page.after", "page.afterId"}, name)
}
