package decode

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/papertrace/patra/internal/domain/source"
)

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

// pick compiles one place of a value, or the places it is put together from. ok is
// false if something was reported as an error.
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
