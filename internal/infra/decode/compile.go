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

	"github.com/go-json-experiment/json/jsontext"
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
	d.updated = c.picks("response.updatedAt", c.item, r.UpdatedAt, "")
	d.version = c.picks("response.version", c.item, r.Version, "")
	d.idPath, d.updatedPath = pathOf(r.ID), pathOf(r.UpdatedAt)
	d.deleted = c.presences("response.deleted", r.Deleted)

	d.total = c.replyPick("response.total", inBody(r.Total))
	d.token = c.replyPick("response.nextToken", inBody(r.Token))
	d.url = c.replyPick("response.nextUrl", inBody(r.URL))
	d.more = c.replyPick("response.hasMore", r.HasMore)
	d.paths.total, d.paths.more = r.Total, r.HasMore
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

// picks compiles alternatives relative to root. With a label every match is a
// scope of its own.
func (c *compiler) picks(at string, root *node, list []source.Pick, label string) []pick {
	var out []pick
	for i := range list {
		at := at + "[" + strconv.Itoa(i) + "]"
		if p, ok := c.pick(at, root, &list[i], label); ok {
			out = append(out, p)
		}
	}
	return out
}

func (c *compiler) pick(at string, root *node, s *source.Pick, label string) (p pick, ok bool) {
	p = pick{label: -1}
	before := len(c.errs)
	var err error
	err = p.transforms(s.Clean, c.d.json && s.Path != "")
	if err != nil {
		c.fail(at+".clean", err)
	}
	p.form, err = newTimeForm(s.Format)
	if err != nil {
		c.fail(at+".format", err)
	}
	p.raw = !c.d.json && len(s.Clean) > 0 && s.Clean[0] == "jats"
	switch {
	case s.Path != "" && s.Parts != nil:
		c.fail(at, errors.New("path and parts exclude each other"))
	case len(s.All) > 0 && (s.Path != "" || s.Parts != nil):
		c.fail(at, errors.New("all excludes path and parts"))
	case len(s.All) > 0:
		c.composed(at, root, s, label, &p)
	case s.Parts != nil:
		if s.Format != "" || len(s.Clean) > 0 {
			c.fail(at, errors.New("parts take neither format nor transforms"))
		}
		c.parts(at+".parts", root, s.Parts, &p)
	default:
		e := end{level: ofItem}
		if label != "" {
			e.under = new(node)
			if steps, ok := c.steps(at+".label", label); ok {
				p.label = c.slot(e.under, steps, end{level: ofItem})
			}
		}
		if steps, ok := c.steps(at+".path", s.Path); ok {
			p.slot = c.slot(root, steps, e)
		}
	}
	return p, len(c.errs) == before
}

// composed compiles the places of a value that is put together.
func (c *compiler) composed(at string, root *node, s *source.Pick, label string, p *pick) {
	if label != "" {
		c.fail(at+".label", errors.New("a value put together has no label"))
	}
	if len(s.All) > maxComposed {
		c.fail(at+".all", fmt.Errorf("more than %d places", maxComposed))
		return
	}
	p.raw, p.sep = false, []byte(s.Sep)
	for i, path := range s.All {
		if steps, ok := c.steps(at+".all["+strconv.Itoa(i)+"]", path); ok {
			p.all = append(p.all, c.slot(root, steps, end{level: ofItem}))
		}
	}
}

// parts compiles the places of a date. What year, month and day have in common
// becomes one place, so that they are never taken from two dates.
func (c *compiler) parts(at string, root *node, s *source.DateParts, p *pick) {
	p.parts = &parts{list: s.List != "", sub: [3]int32{-1, -1, -1}}
	if p.parts.list {
		switch {
		case !c.d.json:
			c.fail(at+".list", errors.New("XML has no arrays"))
		case s.Year != "" || s.Month != "" || s.Day != "":
			c.fail(at, errors.New("list and year exclude each other"))
		default:
			if steps, ok := c.steps(at+".list", s.List); ok {
				p.slot = c.slot(root, steps, end{level: ofItem})
			}
		}
		return
	}
	if s.Month == "" && s.Day != "" {
		c.fail(at, errors.New("a day needs a month"))
	}
	var paths [3][]step
	common := -1
	for i, x := range []struct{ name, path string }{{".year", s.Year}, {".month", s.Month}, {".day", s.Day}} {
		if x.path == "" && i > 0 {
			continue
		}
		steps, ok := c.steps(at+x.name, x.path)
		if !ok {
			return
		}
		paths[i] = steps
		if i == 0 {
			common = max(0, len(steps)-1)
			continue
		}
		n := 0
		for n < min(common, len(steps)) && steps[n].equal(paths[0][n]) {
			n++
		}
		common = n
	}
	under := new(node)
	p.slot = c.slot(root, paths[0][:common], end{level: ofItem, under: under})
	for i, given := range []bool{true, s.Month != "", s.Day != ""} {
		if given {
			p.parts.sub[i] = c.slot(under, paths[i][common:], end{level: ofItem})
		}
	}
}

func (c *compiler) mapping(m *source.Mapping) {
	d := c.d
	d.mapped = true
	d.fields = c.fields("mapping.fields", c.item, m.Fields)
	for i, name := range m.Required {
		k := slices.IndexFunc(d.fields, func(f field) bool { return f.name == name })
		if k < 0 {
			if !slices.ContainsFunc(m.Fields, func(f source.Field) bool { return f.Name == name }) {
				c.fail("mapping.required["+strconv.Itoa(i)+"]", fmt.Errorf("there is no field %q", name))
			}
			continue
		}
		d.fields[k].required = true
	}
	for i, path := range m.Volatile {
		at := "mapping.volatile[" + strconv.Itoa(i) + "]"
		steps, ok := c.steps(at, path)
		switch {
		case !ok:
		case len(steps) == 0:
			c.fail(at, errors.New("not all of an item can be volatile"))
		default:
			d.volatile = append(d.volatile, c.slot(c.item, steps, end{level: ofItem, outer: true}))
		}
	}
	d.retracted = c.presences("mapping.retracted", m.Retracted)
}

func (c *compiler) presences(at string, list []source.Presence) (out []presence) {
	for i, p := range list {
		if steps, ok := c.steps(at+"["+strconv.Itoa(i)+"].path", p.Path); ok {
			slot := c.slot(c.item, steps, end{level: ofItem})
			out = append(out, presence{pick{slot: slot, label: -1}, p.In, p.Self})
		}
	}
	return out
}

func (c *compiler) fields(at string, root *node, list []source.Field) []field {
	var out []field
	seen := make(map[string]bool)
	for i := range list {
		s := &list[i]
		at := at + "." + s.Name
		if s.Name == "" || seen[s.Name] {
			c.fail(at, fmt.Errorf("field %d has no name of its own", i))
			continue
		}
		seen[s.Name] = true
		out = append(out, c.field(at, root, s))
	}
	return out
}

func (c *compiler) field(at string, root *node, s *source.Field) field {
	f := field{name: s.Name, key: quotedKey(s.Name), kind: s.Kind, join: s.Join}
	if s.Label != "" && s.Join == "" {
		c.fail(at+".label", errors.New("a label needs a join"))
	}
	if s.Join != "" && s.Kind != source.FieldText {
		c.fail(at+".join", errors.New("only TEXT is joined"))
	}
	if len(s.Count) > 0 && s.Kind != source.FieldNumber {
		c.fail(at+".count", errors.New("only a NUMBER counts"))
	}
	switch s.Kind {
	case source.FieldText, source.FieldNumber, source.FieldBool, source.FieldList:
		if len(s.From)+len(s.Count) == 0 {
			c.fail(at+".from", errors.New("nothing to take it from"))
		}
		f.picks = c.picks(at+".from", root, s.From, s.Label)
		for _, path := range s.Count {
			if steps, ok := c.steps(at+".count", path); ok {
				f.count = append(f.count, c.eachSlot(root, steps, nil))
			}
		}
	case source.FieldObjects:
		if len(s.Fields) == 0 {
			c.fail(at+".fields", errors.New("objects need fields"))
		}
		if len(s.Each) == 0 {
			c.fail(at+".each", errEmptyPath)
		}
		// Every alternative has places of its own: groups of a slot must not
		// overlap.
		for i, path := range s.Each {
			var o objects
			under := new(node)
			if steps, ok := c.steps(at+".each", path); ok {
				o.each = c.eachSlot(root, steps, under)
			}
			said := len(c.errs)
			o.fields = c.fields(at+".fields", under, s.Fields)
			if i > 0 {
				c.errs = c.errs[:said] // the first has said it
			}
			f.objects = append(f.objects, o)
		}
	case source.FieldMap:
		if len(s.Entries) == 0 {
			c.fail(at+".entries", errors.New("a map needs entries"))
		}
		for _, e := range s.Entries {
			at := at + ".entries." + e.Key
			if len(e.From) == 0 {
				c.fail(at, errors.New("nothing to take it from"))
			}
			f.entries = append(f.entries, entry{quotedKey(e.Key), c.picks(at, root, e.From, "")})
		}
	default:
		c.fail(at+".kind", fmt.Errorf("%q is no kind of field", s.Kind))
	}
	return f
}

// eachSlot numbers a repeated element. A JSON path that ends at an array means
// its elements, with or without [*].
func (c *compiler) eachSlot(root *node, steps []step, under *node) int32 {
	e := end{level: ofItem, under: under}
	if !c.d.json || len(steps) > 0 && steps[len(steps)-1].kind != stepName {
		return c.slot(root, steps, e)
	}
	e.notArray = true
	e.slot = c.slot(root, steps, e)
	e.notArray = false
	root.add(append(slices.Clip(steps), step{kind: stepEach}), e)
	return e.slot
}

func quotedKey(name string) []byte {
	b, _ := jsontext.AppendQuote(nil, strings.ToValidUTF8(name, "\uFFFD"))
	return append(b, ':')
}
