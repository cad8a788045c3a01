package query

import (
	"errors"
	"slices"
	"strings"
	"time"
)

// rendering is one run.
type rendering struct {
	*Renderer
	problems Problems
	params   map[string][]emitted
	// conditions counts those written as parameters, used their bytes.
	conditions, used int
}

// emitted is one value of a parameter and the condition it comes from.
type emitted struct {
	text      string
	condition int
	at        Place
}

func (r *Renderer) render(e Expr) (Rendered, Problems) {
	run := &rendering{Renderer: r, params: make(map[string][]emitted)}
	e = Canonical(e)
	conditions := []Expr{e}
	switch e := e.(type) {
	case And:
		conditions = e.Of
	case All:
		if _, ok := r.rule(e, OpAll, "", false, EmitQuery); !ok {
			conditions = nil
		}
	}
	var text []Expr
	for _, c := range conditions {
		if r.inQuery(c) {
			text = append(text, c)
			continue
		}
		run.emit(c)
	}
	var out Rendered
	if len(text) > 0 {
		out.Query = run.query(all(text, e.Place()))
	}
	run.once()
	for key, list := range run.params {
		for _, one := range list {
			if out.Params == nil {
				out.Params = make(map[string][]string)
			}
			out.Params[key] = append(out.Params[key], one.text)
		}
	}
	return out, run.problems.sorted()
}

func all(of []Expr, at Place) Expr {
	if len(of) == 1 {
		return of[0]
	}
	return And{Of: of, At: at}
}

// rule finds the most exact rule for a node.
func (r *Renderer) rule(e Expr, op Op, match Match, negated bool, emit Emit) (compiled, bool) {
	typ := Type("")
	if ranged, ok := e.(Range); ok {
		typ = ranged.Type
	}
	for _, m := range slices.Compact([]Match{match, ""}) {
		for _, t := range slices.Compact([]Type{typ, ""}) {
			if c, ok := r.rules[ruleKey{fieldOf(e), op, m, t, negated, emit}]; ok {
				return c, true
			}
		}
	}
	return compiled{}, false
}

func matchOf(e Expr) Match {
	switch e := e.(type) {
	case Term:
		return e.Match
	case In:
		return MatchExact
	}
	return ""
}

// leafRule finds the rule of a leaf.
func (r *Renderer) leafRule(e Expr, negated bool, emit Emit) (compiled, bool) {
	return r.rule(e, e.Op(), matchOf(e), negated, emit)
}

func (r *Renderer) structure(op Op) (compiled, bool) {
	c, ok := r.rules[ruleKey{op: op, emit: EmitQuery}]
	return c, ok
}

// inQuery reports whether e can be whole in the query text.
func (r *Renderer) inQuery(e Expr) bool {
	switch e := e.(type) {
	case And, Or:
		_, ok := r.structure(e.Op())
		return ok && !slices.ContainsFunc(kids(e), func(k Expr) bool { return !r.inQuery(k) })
	case Not:
		if _, ok := r.leafRule(e.Of, true, EmitQuery); ok {
			return true
		}
		_, ok := r.structure(OpNot)
		return ok && r.inQuery(e.Of)
	case All:
		_, ok := r.structure(OpAll)
		return ok
	}
	_, ok := r.leafRule(e, false, EmitQuery)
	return ok
}

// query writes e as query text.
func (run *rendering) query(e Expr) string {
	switch e := e.(type) {
	case And:
		return run.and(e.Of, e.At)
	case Or:
		or, _ := run.structure(OpOr)
		var parts []string
		for _, k := range e.Of {
			parts = append(parts, run.operand(k))
		}
		return run.bounded(strings.Join(parts, or.Joiner), e.At)
	case Not:
		if c, ok := run.leafRule(e.Of, true, EmitQuery); ok {
			return run.leaf(c, e.Of)
		}
		return run.and([]Expr{e}, e.At)
	case All:
		c, _ := run.structure(OpAll)
		return c.Rule.Template
	}
	c, _ := run.leafRule(e, false, EmitQuery)
	return run.leaf(c, e)
}

// and writes what is wanted, then what is not.
func (run *rendering) and(of []Expr, at Place) string {
	and, _ := run.structure(OpAnd)
	not, _ := run.structure(OpNot)
	var wanted, unwanted []string
	for _, k := range of {
		n, negated := k.(Not)
		if negated {
			_, own := run.leafRule(n.Of, true, EmitQuery)
			negated = !own
		}
		switch {
		case !negated:
			wanted = append(wanted, run.operandIn(k, len(of) > 1))
		case not.Rule.Template != "":
			text, err := not.template.execute(map[string]slot{"items": {kind: slotSafe, text: run.operand(n.Of)}})
			if err != nil {
				run.problems.add(n.At, "", "%v", err)
			}
			unwanted = append(unwanted, text)
		default:
			unwanted = append(unwanted, run.operand(n.Of))
		}
	}
	if not.Rule.Template != "" {
		return run.bounded(strings.Join(append(wanted, unwanted...), and.Joiner), at)
	}
	if len(wanted) == 0 && len(unwanted) > 0 {
		all, ok := run.structure(OpAll)
		if !ok {
			run.problems.add(at, "say what is wanted, too", "%s can only take away from something", run.source)
			return ""
		}
		wanted = []string{all.Rule.Template}
	}
	text := append([]string{strings.Join(wanted, and.Joiner)}, unwanted...)
	return run.bounded(strings.Join(text, not.Joiner), at)
}

func (run *rendering) operand(e Expr) string { return run.operandIn(e, true) }

// operandIn writes a part of a group, in parentheses if it is a group itself.
func (run *rendering) operandIn(e Expr, inGroup bool) string {
	op := e.Op()
	if n, ok := e.(Not); ok {
		if _, own := run.leafRule(n.Of, true, EmitQuery); own {
			return run.query(e)
		}
		op = OpAnd // written as a group
	}
	if op != OpAnd && op != OpOr || !inGroup {
		return run.query(e)
	}
	if c, ok := run.structure(op); ok && !c.WrapGroup {
		run.problems.add(e.Place(), "write it without parentheses", "%s has no groups within groups", run.source)
		return ""
	}
	return "(" + run.query(e) + ")"
}

// bounded guards the length.
func (run *rendering) bounded(text string, at Place) string {
	if len(text) > MaxRendered {
		run.problems.add(at, "ask in several queries", "%v", errTooLong)
		return ""
	}
	return text
}

// leaf writes one condition by its rule.
func (run *rendering) leaf(c compiled, e Expr) string {
	values, ok := run.values(c, e)
	if !ok {
		return ""
	}
	text, err := c.template.execute(values)
	switch {
	case errors.Is(err, errAbsent):
		run.problems.add(e.Place(), "give both bounds", "%s needs both bounds of `%s`", run.source, c.Field)
	case err != nil:
		run.problems.add(e.Place(), "", "%s: %v", run.source, err)
	}
	return run.bounded(text, e.Place())
}

// values are what the places of a rule's templates hold.
func (run *rendering) values(c compiled, e Expr) (map[string]slot, bool) {
	values := make(map[string]slot)
	switch e := e.(type) {
	case Term:
		values["value"] = slot{kind: slotText, text: c.translate(e.Text)}
	case Token:
		values["value"] = slot{kind: slotText, text: e.Text}
	case In:
		items, ok := run.items(c, e)
		values["items"] = slot{kind: slotSafe, text: items}
		return values, ok
	case Range:
		for name, b := range map[string]Bound{"from": e.From, "to": e.To} {
			if b.Absent() {
				continue
			}
			s := slot{kind: slotOf(e.Type), text: b.Value}
			if e.Type == TypeDate {
				t, err := time.Parse(InstantLayout, b.Value)
				if err != nil {
					run.problems.add(e.At, "", "%s is not an instant", quoted(b.Value))
					return nil, false
				}
				s = slot{kind: slotTime, at: t}
			}
			values[name] = s
		}
	}
	return values, true
}

func (run *rendering) items(c compiled, e In) (string, bool) {
	var items []string
	good := true
	for _, v := range e.Values {
		text, err := c.item.execute(map[string]slot{"value": {kind: slotText, text: c.translate(v.Text)}})
		if err != nil {
			run.problems.add(v.At, "", "%s: %v", run.source, err)
			good = false
		}
		items = append(items, text)
	}
	joined := strings.Join(items, c.Joiner)
	if len(items) > 1 && c.WrapGroup {
		joined = "(" + joined + ")"
	}
	return joined, good
}
