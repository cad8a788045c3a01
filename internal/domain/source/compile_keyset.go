package source

import (
	"strings"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// byKey reports whether the source is asked for what comes after a record, by its date
// and its id (R75).
func (c *compiler) byKey() bool {
	p := c.def.Pagination
	return p != nil && p.Type == harvest.PageKeyset
}

// keyset checks what a source has to say that is asked for what comes after a record, and
// what it cannot have.
func (c *compiler) keyset() {
	if !c.byKey() || c.def.Window == nil {
		return
	}
	c.keysetOrder()
	c.keysetID()
	if c.spec.Window.UpdatedAt != UpdatedInItem {
		c.fail("window.updatedAt", "KEYSET needs PATH: the date of the last record is a part of the next request")
	}
	if c.def.Pagination.MaxItems > 0 {
		c.fail("pagination.maxItems", "has no use with KEYSET: every page is the beginning of a list of its own")
	}
	if s := c.def.Window.Strategy; s != "" && s != harvest.StrategyTime && s != harvest.StrategyVolume {
		c.fail("window.strategy", "%s does not go with KEYSET, which walks windows of time: leave it out", s)
	}
}

// keysetOrder checks that the list is sorted by the date of the window and then by one
// more, which has to be the id, both ascending.
func (c *compiler) keysetOrder() {
	key := c.spec.Window.Key
	terms := strings.Split(c.spec.Paging.Order, ",")
	fits := len(terms) == 2 && isAscending(terms[0]) && isAscending(terms[1]) && hasWord(terms[0], key)
	if !fits {
		c.fail("pagination.order", "KEYSET needs a list that is sorted by the date of the window and then by the id, such as %q", key+" asc, id asc")
	}
}

// isAscending reports whether a term of an order says what it is by, and that it ascends.
func isAscending(term string) bool {
	words := strings.FieldsFunc(term, func(r rune) bool { return r == ' ' || r == ':' })
	return len(words) == 2 && strings.EqualFold(words[1], "asc")
}

// keysetID checks that the list itself tells date and id, and that the id is kept as it
// came: it is sent back, and the source compares it with its own.
func (c *compiler) keysetID() {
	search, known := c.cfg[UsageSearch]
	if !known {
		return
	}
	response := join("endpoints", search.Name) + ".response."
	if len(search.Response.UpdatedAt) == 0 {
		c.fail(response+"updatedAt", "is required with KEYSET: the list itself has to tell the dates it is sorted by")
	}
	if c.spec.ID.Form != "TEXT" {
		c.fail("identity", "%s changes how an id is written, and KEYSET sends it back as it came: use TEXT", c.spec.ID.Form)
	}
	for _, p := range search.Response.ID {
		if len(search.Response.ID) > 1 || len(p.All) > 0 || len(p.Clean) > 0 {
			c.fail(response+"id", "has to be one place, as it is there: KEYSET sends the id back as it came")
			return
		}
	}
}

// offset checks what is said of how far the source was read against the way it is walked.
func (c *compiler) offset() {
	cfg := c.def.Window
	if cfg == nil || cfg.Offset == "" || !coded(c, "window.offset", DictOffset, cfg.Offset) {
		return
	}
	is := OffsetDate
	switch {
	case c.byID():
		is = OffsetID
	case c.byKey():
		is = OffsetComposite
	}
	if cfg.Offset == is || c.def.Pagination == nil {
		return
	}
	switch cfg.Offset {
	case OffsetID:
		c.fail("window.offset", "ID needs strategy ID_RANGE: windows are ranges of ids then")
	case OffsetComposite:
		c.fail("window.offset", "COMPOSITE needs paging KEYSET: pages are asked for by the date and the id of the last record")
	default:
		c.fail("window.offset", "%s is not how the source is read: strategy and paging make it %s", cfg.Offset, is)
	}
}
