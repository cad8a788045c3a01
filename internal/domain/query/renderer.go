package query

import (
	"fmt"
	"slices"
	"strings"
)

// MaxRendered is the longest query text or parameter, in bytes.
const MaxRendered = 64 << 10

var errTooLong = fmt.Errorf("the rendered text is longer than %d bytes", MaxRendered)

// Dialect is all a source says about searching it: plain data, as it stands in a
// source pack and in a plan's snapshot.
type Dialect struct {
	Source       string       `json:"source" yaml:"source"`
	Capabilities []Capability `json:"capabilities" yaml:"capabilities"`
	Rules        []Rule       `json:"rules" yaml:"rules"`
	Params       []ParamMap   `json:"params" yaml:"params"`
}

// Rendered is an expression in a source's words.
type Rendered struct {
	// Query is the query text; empty if all is in parameters, or all is wanted.
	Query string
	// Params are values by standard key, one for each condition.
	Params map[string][]string
	// Sent is the whole as the source gets it, the query text under [KeyQuery].
	Sent []Sent
}

// Renderer writes expressions for one source. It is safe for concurrent use.
//
// Conditions at the top, joined by AND, may go some into the query text and some
// into parameters. What goes into parameters can be:
//
//   - a single condition, or NOT of one that has a rule for it (Negated);
//   - an OR of exact values of one field (an IN), or of terms of one match of one
//     field, that has a rule for it;
//   - NOT of an OR, if each part can be excluded on its own.
//
// Every other OR or NOT must be whole in the query text.
type Renderer struct {
	source       string
	capabilities []Capability
	rules        map[ruleKey]compiled
	params       map[string]param
}

// NewRenderer compiles a dialect. The error is [Problems]: all that is wrong, each
// with its path.
func NewRenderer(d Dialect, dict *FieldDict) (*Renderer, error) {
	r := &Renderer{source: d.Source, capabilities: d.Capabilities, rules: make(map[ruleKey]compiled), params: make(map[string]param)}
	var problems Problems
	if d.Source == "" {
		problems.add(Place{Path: "source"}, "", "the source is missing")
	}
	std, names := make(map[string]ParamMap), make(map[string]bool)
	for i, m := range d.Params {
		path := fmt.Sprintf("params[%d]", i)
		if _, twice := std[m.StdKey]; twice {
			problems.add(Place{Path: path + ".stdKey"}, "", "%s is declared twice", quoted(m.StdKey))
		}
		if names[m.Name] {
			problems.add(Place{Path: path + ".name"}, "", "%s is named twice", quoted(m.Name))
		}
		std[m.StdKey], names[m.Name] = m, true
		r.params[m.StdKey] = compileParam(m, path, &problems)
	}
	able := make(map[string]bool)
	for i, c := range d.Capabilities {
		path := fmt.Sprintf("capabilities[%d]", i)
		if able[c.Field] {
			problems.add(Place{Path: path + ".field"}, "", "%s is declared twice", quoted(c.Field))
		}
		able[c.Field] = true
		c.validate(dict, path, &problems)
	}
	for i, rule := range d.Rules {
		path := fmt.Sprintf("rules[%d]", i)
		c, ok := compileRule(rule, dict, std, path, &problems)
		if !ok {
			continue
		}
		key := ruleKey{c.Field, c.Op, c.Match, c.ValueType, c.Negated, c.Emit}
		if _, twice := r.rules[key]; twice {
			problems.add(Place{Path: path}, "", "there is another rule for the same")
		}
		r.rules[key] = c
		if _, ok := std[KeyQuery]; !ok && c.Emit == EmitQuery {
			problems.add(Place{Path: path}, "declare the standard key "+KeyQuery, "the source has no parameter for query text")
		}
	}
	for i, c := range d.Capabilities {
		for _, op := range c.Ops {
			matches := c.TermMatches
			if op != OpTerm || len(matches) == 0 {
				matches = []Match{""}
			}
			for _, m := range matches {
				if !r.written(c.Field, op, m) {
					problems.add(Place{Path: fmt.Sprintf("capabilities[%d].ops", i)}, "add a rule",
						"no rule writes %s", strings.TrimSpace(fmt.Sprintf("%s %s of `%s`", m, op, c.Field)))
				}
			}
		}
	}
	return r, slices.Compact(problems).Err()
}

// written reports whether there is a rule for what a capability promises.
func (r *Renderer) written(field string, op Op, match Match) bool {
	for key := range r.rules {
		if key.field == field && key.op == op && !key.negated && (match == "" || key.match == "" || key.match == match) {
			return true
		}
	}
	return false
}

// Check reports all that the source cannot do or say, each at its place.
func (r *Renderer) Check(e Expr) Problems {
	able := Check(e, r.source, r.capabilities)
	_, more := r.render(e)
	problems := slices.Clip(able)
	for _, p := range more {
		// What the source cannot do at all needs no second word on its form.
		if !slices.ContainsFunc(able, func(q Problem) bool { return q.At.within(p.At) }) {
			problems = append(problems, p)
		}
	}
	return problems.sorted()
}

// Render writes e, having checked it. The error wraps [Problems].
func (r *Renderer) Render(e Expr) (Rendered, error) {
	if problems := r.Check(e); len(problems) > 0 {
		return Rendered{}, fmt.Errorf("render query for %s: %w", r.source, problems)
	}
	out, _ := r.render(e)
	return out, nil
}
