package source

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// updatedAt checks that the filter sent and the date read are of the date which the
// window is named for (R57, C19).
func (c *compiler) updatedAt(cfg *WindowConfig) {
	const path = "window.updatedAt"
	items, ok := c.cfg[UsageDetail]
	if !ok {
		items = c.cfg[UsageSearch]
	}
	how := cfg.UpdatedAt
	if how == "" && len(items.Response.UpdatedAt) > 0 {
		how = UpdatedInItem
		c.note(path, "not given, taken as PATH")
	}
	c.spec.Window.UpdatedAt = how
	if !coded(c, path, DictUpdatedAt, how) {
		return
	}
	c.dated(cfg, how, items)
	if lookup, ok := c.cfg[UsageLookup]; ok {
		c.dated(cfg, how, lookup)
	}
	if how == UpdatedNever {
		if c.t.Operation == harvest.Harvest && !c.byID() {
			c.fail(path, "NONE allows no HARVEST: the source gives no date of change; run a backfill instead")
		}
		return
	}
	if c.walksWindow() && !c.newestFirst() && !c.byID() {
		c.filters(cfg)
	}
}

// walksWindow reports whether the operation asks for windows. One that reads known
// records again asks by ids, whatever date windows are of.
func (c *compiler) walksWindow() bool { return c.t.Operation != harvest.Update }

// dated checks the update times of an endpoint's items.
func (c *compiler) dated(cfg *WindowConfig, how UpdatedAt, e Endpoint) {
	picks, at := e.Response.UpdatedAt, join("endpoints", e.Name)+".response.updatedAt"
	switch {
	case how == UpdatedInItem && len(picks) == 0 && e.Name != "":
		c.fail(at, "is required: window.updatedAt is PATH")
	case how != UpdatedInItem && len(picks) > 0:
		c.fail(at, "is given although window.updatedAt is %s", how)
	}
	if how == UpdatedNever {
		return
	}
	dates := slices.Collect(maps.Values(cfg.Filters))
	for i, p := range picks {
		at := fmt.Sprintf("%s[%d]", at, i)
		switch {
		case p.Key == "":
			c.fail(at, "needs key: the name of the date found there, to be held against window.key")
		case p.Key != cfg.Key && c.walksWindow() && !c.byID():
			c.fail(at, "is the date %s, but the window is of %s", p.Key, cfg.Key)
		}
		head := pathHead(p.Path)
		if head != p.Key && slices.Contains(dates, head) {
			c.fail(at, "reads %s, which is the date %s, not %s", p.Path, head, p.Key)
		}
	}
}

// filters checks that the words next to the window's bounds filter by its key.
func (c *compiler) filters(cfg *WindowConfig) {
	if len(cfg.Filters) == 0 {
		c.fail("window.filters", "is required: which word of the request filters by which date")
		return
	}
	for _, usage := range []Usage{UsageSearch, UsageCount} {
		e, ok := c.cfg[usage]
		if !ok || !c.used[usage].uses("window.from") && !c.used[usage].uses("page.after") {
			continue
		}
		// The words stand beside the bounds, as in from-date:${window.from}; only
		// where they do not, a constant may name the date, as in datetype=mdat.
		found := c.filterWords(cfg, e, isBound, hasWord) ||
			c.filterWords(cfg, e, func(value string) bool { return !strings.Contains(value, "${") }, func(s, word string) bool { return s == word })
		if !found {
			c.fail(join("endpoints", e.Name), "no word of window.filters occurs in the request")
		}
	}
}

// isBound reports whether a parameter tells where a window, or a page of it, begins or ends.
func isBound(value string) bool {
	return strings.Contains(value, "window.") || strings.Contains(value, "page.after")
}

// filterWords looks for the declared words in the parameters that count, and
// refuses those that filter by another date than the window's.
func (c *compiler) filterWords(cfg *WindowConfig, e Endpoint, counts func(value string) bool, has func(s, word string) bool) (found bool) {
	for _, group := range []struct {
		name   string
		values map[string]string
	}{{"query", e.Query}, {"form", e.Form}, {"path", map[string]string{"": e.Path}}, {"body", map[string]string{"": e.Body}}} {
		for _, k := range keysOf(group.values) {
			if !counts(group.values[k]) {
				continue
			}
			for _, word := range keysOf(cfg.Filters) {
				if !has(k, word) && !has(group.values[k], word) {
					continue
				}
				found = true
				if date := cfg.Filters[word]; date != cfg.Key {
					c.fail(join(join("endpoints", e.Name)+"."+group.name, k),
						"%s filters by %s, but the window is of %s", word, date, cfg.Key)
				}
			}
		}
	}
	return found
}

// hasWord reports whether word stands in s, not as a part of a longer one.
func hasWord(s, word string) bool {
	part := func(b byte) bool {
		return b == '-' || b == '_' || b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z'
	}
	for at := 0; ; {
		i := strings.Index(s[at:], word)
		if i < 0 || word == "" {
			return false
		}
		i += at
		end := i + len(word)
		if (i == 0 || !part(s[i-1])) && (end == len(s) || !part(s[end])) {
			return true
		}
		at = i + 1
	}
}

// pathHead is the first name of a path.
func pathHead(path string) string {
	head := strings.TrimPrefix(strings.TrimPrefix(path, "$"), ".")
	if i := strings.IndexAny(head, ".[/"); i >= 0 {
		head = head[:i]
	}
	return head
}
