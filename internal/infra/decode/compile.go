package decode

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// Compile makes the decoder of an endpoint. Without a mapping items have ids
// and times but no fields: the search phase of a two-phase source. All that is
// wrong with the paths is reported at once.
func Compile(ep *source.Endpoint, id source.Identity, m *source.Mapping, cal harvest.Calendar) (*Decoder, error) {
	c := &compiler{d: &Decoder{json: ep.Format == source.FormatJSON, zone: cal.Zone, root: new(node)}, item: new(node)}
	if c.d.zone == nil {
		c.d.zone = time.UTC
	}
	if !c.d.json && ep.Format != source.FormatXML {
		return nil, fmt.Errorf("format %q is neither JSON nor XML", ep.Format)
	}
	c.d.itemRoot, c.d.parallelFrom = c.item, 256<<10
	c.d.largeFrom = largeBody
	c.d.nulls = c.d.json && byIDs(ep)
	c.namespaces(ep.Response.Namespaces)
	c.response(&ep.Response, id)
	if m != nil {
		if len(ep.Response.Items) == 0 {
			c.fail("response.items", errors.New("a mapping needs items"))
		}
		c.mapping(m)
	}
	if err := errors.Join(c.errs...); err != nil {
		return nil, err
	}
	c.d.root.seal()
	return c.d, nil
}

// compiler makes a decoder, and gathers what is wrong with its description.
type compiler struct {
	d    *Decoder
	item *node // root of all paths relative to an item
	errs []error
	// spaces are the numbers of the namespaces that prefixes stand for.
	spaces map[string]int32
}

// namespaces gives every namespace a number, from 1.
func (c *compiler) namespaces(byPrefix map[string]string) {
	c.spaces = make(map[string]int32, len(byPrefix))
	for _, prefix := range slices.Sorted(maps.Keys(byPrefix)) {
		n := slices.Index(c.d.spaces, byPrefix[prefix])
		if n < 0 {
			n = len(c.d.spaces)
			c.d.spaces = append(c.d.spaces, byPrefix[prefix])
		}
		c.spaces[prefix] = int32(n + 1)
		c.d.prefixes = append(c.d.prefixes, outerBinding{prefix: prefix, space: int32(n + 1)})
	}
}

func (c *compiler) fail(at string, err error) { c.errs = append(c.errs, fmt.Errorf("%s: %w", at, err)) }

// steps parses a path; ok is false if that was reported as an error.
func (c *compiler) steps(at, path string) (steps []step, ok bool) {
	var err error
	if c.d.json {
		steps, err = parseJSONPath(path)
	} else {
		steps, err = parseXMLPath(path)
		bind(steps, func(prefix string) int32 { return c.spaces[prefix] })
	}
	if err != nil {
		c.fail(at, err)
	}
	return steps, err == nil
}

// slot gives the place steps lead to from root a number.
func (c *compiler) slot(root *node, steps []step, e end) int32 {
	n := &c.d.slots
	if e.level == ofReply {
		n = &c.d.replySlots
	}
	e.slot = int32(*n)
	*n++
	root.add(steps, e)
	return e.slot
}

// response compiles what is read of a reply beside its items: their ids and times,
// the totals, and where the next page is.
func (c *compiler) response(r *source.Response, id source.Identity) {
	d := c.d
	c.items(r)
	switch d.idForm = id.Form; d.idForm {
	case "":
		d.idForm = formText
	case formText, formDOI, formNumber:
	default:
		c.fail("identity.form", fmt.Errorf("%q is not TEXT, DOI or NUMBER", id.Form))
	}
	if len(r.Items) > 0 && len(r.ID) == 0 {
		c.fail("response.id", errors.New("items need an id"))
	}
	d.id = c.picks("response.id", c.item, r.ID, "")
	d.updated = c.picks("response.updatedAt", c.item, r.Updated(), "")
	d.version = c.picks("response.version", c.item, r.Version, "")
	d.idPath, d.updatedPath = pathOf(r.ID), pathOf(r.Updated())
	d.deleted = c.presences("response.deleted", r.Deleted)

	d.total = c.replyPick("response.total", inBody(r.Total))
	d.token = c.replyPick("response.nextToken", inBody(r.Token))
	d.url = c.replyPick("response.nextUrl", inBody(r.URL))
	d.more = c.replyPick("response.hasMore", r.HasMore)
	d.paths.total = r.Total
	d.paths.more = r.HasMore
	d.paths.token = r.Token
	d.paths.url = r.URL
	for _, name := range slices.Sorted(maps.Keys(r.Held)) {
		if p := c.replyPick("response.held."+name, r.Held[name]); p != nil {
			d.held = append(d.held, namedPick{name, *p})
		} else if r.Held[name] == "" {
			c.fail("response.held."+name, errEmptyPath)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.Signals)) {
		if p := c.replyPick("response.signals."+name, r.Signals[name]); p != nil {
			d.signals = append(d.signals, namedPick{name, *p})
		} else if r.Signals[name] == "" {
			c.fail("response.signals."+name, errEmptyPath)
		}
	}
	switch {
	case r.Root != "":
		if s, ok := c.steps("response.root", r.Root); ok {
			d.must = append(d.must, must{path: r.Root, slots: []int32{c.slot(d.root, s, end{})}})
		}
	case len(r.Items) == 0 && d.total != nil:
		// A count that is not there is no count.
		d.must = append(d.must, must{path: r.Total, slots: []int32{d.total.slot}})
	}
}

// inBody is the path, or nothing if that leads to a header: whoever has the
// headers reads those.
func inBody(path string) string {
	if strings.HasPrefix(path, source.HeaderPath) {
		return ""
	}
	return path
}

// byIDs reports whether an endpoint is asked for the items of given ids.
func byIDs(ep *source.Endpoint) bool {
	if asksIDs.MatchString(ep.Path) || asksIDs.MatchString(ep.Body) {
		return true
	}
	for _, params := range []map[string]string{ep.Query, ep.Form, ep.Headers.Texts()} {
		for _, v := range params {
			if asksIDs.MatchString(v) {
				return true
			}
		}
	}
	return false
}

var asksIDs = regexp.MustCompile(`\$\{[^}]*\bids\b`)

// pathOf names the first pick in problems.
func pathOf(picks []source.Pick) string {
	switch {
	case len(picks) == 0:
		return ""
	case picks[0].Parts != nil:
		return picks[0].Parts.List + picks[0].Parts.Year
	case len(picks[0].All) > 0:
		return strings.Join(picks[0].All, " and ")
	}
	return picks[0].Path
}

// items grafts the trie of the item under the paths of the items.
func (c *compiler) items(r *source.Response) {
	m := must{path: strings.Join(r.Items, " or "), list: c.d.json}
	item := end{level: isItem, under: c.item}
	for i, path := range r.Items {
		at := "response.items[" + strconv.Itoa(i) + "]"
		steps, ok := c.steps(at, path)
		if !ok {
			continue
		}
		if c.d.json {
			elem := step{kind: stepEach}
			if n := len(steps); n > 0 && steps[n-1].kind == stepEach {
				elem, steps = steps[n-1], steps[:n-1]
			}
			m.slots = append(m.slots, c.slot(c.d.root, steps, end{}))
			c.d.root.add(append(slices.Clip(steps), elem), item)
			if len(r.Items) == 1 && len(elem.tests) == 0 {
				c.d.ahead = keysOf(steps)
			}
			if r.Root != "" {
				// The root proves the shape: here a single item will do.
				single := item
				single.objectOnly = true
				c.d.root.add(steps, single)
			}
			continue
		}
		n := len(steps)
		switch {
		case n == 0 || steps[n-1].kind == stepAttr:
			c.fail(at, fmt.Errorf("%q is no element", path))
			continue
		case n == 1 && r.Root == "":
			// The root element is the item.
			m.slots = append(m.slots, c.slot(c.d.root, steps, end{}))
		case r.Root == "":
			m.slots = append(m.slots, c.slot(c.d.root, steps[:n-1], end{}))
		}
		c.d.root.add(steps, item)
	}
	if len(r.Items) > 0 && r.Root == "" {
		c.d.must = append(c.d.must, m)
	}
}

// keysOf returns the keys of a path that consists of nothing else, or nil.
func keysOf(steps []step) []string {
	var keys []string
	for _, s := range steps {
		if s.kind != stepName || s.name == "" || s.numeric {
			return nil
		}
		keys = append(keys, s.name)
	}
	return keys
}

// replyPick compiles a path of the reply; nil if there is none.
func (c *compiler) replyPick(at, path string) *pick {
	if path == "" {
		return nil
	}
	steps, ok := c.steps(at, path)
	if !ok {
		return nil
	}
	if !c.d.json && len(steps) == 0 {
		c.fail(at, errors.New("a path of the reply begins with the root element"))
		return nil
	}
	return &pick{slot: c.slot(c.d.root, steps, end{}), label: -1}
}
