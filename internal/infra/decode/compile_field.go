package decode

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/papertrace/patra/internal/domain/source"
)

// mapping compiles the fields of an item, and what else is read of it.
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

// presences compiles the places whose being there says something about an item.
func (c *compiler) presences(at string, list []source.Presence) (out []presence) {
	for i, p := range list {
		if steps, ok := c.steps(at+"["+strconv.Itoa(i)+"].path", p.Path); ok {
			slot := c.slot(c.item, steps, end{level: ofItem})
			out = append(out, presence{pick{slot: slot, label: -1}, p.In, p.Self})
		}
	}
	return out
}

// fields compiles fields relative to root, each of a name of its own.
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

// field compiles one field by its kind.
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
	if s.Split != "" {
		f.split = []byte(s.Split)
		if s.Kind != source.FieldObjects {
			c.fail(at+".split", errors.New("only objects are made of the parts of a text"))
		}
	}
	c.values(at, &f, s)
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

// values compiles what a field says of the values it may have.
func (c *compiler) values(at string, f *field, s *source.Field) {
	if len(s.Allowed) > 0 {
		f.allowed = make(map[string]bool, len(s.Allowed))
		for _, v := range s.Allowed {
			f.allowed[v] = true
		}
	}
	var err error
	f.pattern, err = s.Matcher()
	if err != nil {
		c.fail(at+".pattern", err)
	}
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

// quotedKey is a name as it stands before a value in JSON.
func quotedKey(name string) []byte {
	b, _ := jsontext.AppendQuote(nil, strings.ToValidUTF8(name, "\uFFFD"))
	return append(b, ':')
}
