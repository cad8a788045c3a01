package query

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/papertrace/patra/internal/domain/template"
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
		out.Query = run.queryText(all(text, e.Place()))
	}
	if out.Query != "" {
		out.Sent = append(out.Sent, r.params[KeyQuery].sent([]string{out.Query}))
	}
	run.once()
	for _, key := range sortedKeys(run.params) {
		if out.Params == nil {
			out.Params = make(map[string][]string)
		}
		for _, one := range run.params[key] {
			out.Params[key] = append(out.Params[key], one.text)
		}
		out.Sent = append(out.Sent, r.params[key].sent(out.Params[key]))
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

// queryText is the whole query text, in the form that its parameter wants.
func (run *rendering) queryText(e Expr) string {
	text := run.query(e)
	if text == "" {
		return "" // said
	}
	text, err := run.Renderer.params[KeyQuery].apply(text)
	if err != nil {
		run.problems.add(e.Place(), "", "%s: %v", run.source, err)
	}
	return text
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
		return run.everything()
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
			text, err := execute(not.template, places{"items": template.Safe(run.operand(n.Of))})
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
		if _, ok := run.structure(OpAll); !ok {
			run.problems.add(at, "say what is wanted, too", "%s can only take away from something", run.source)
			return ""
		}
		wanted = []string{run.everything()}
	}
	text := append([]string{strings.Join(wanted, and.Joiner)}, unwanted...)
	return run.bounded(strings.Join(text, not.Joiner), at)
}

// everything is the text that finds all there is. Its template reads nothing, so
// that it gives what it gave when it was compiled.
func (run *rendering) everything() string {
	c, _ := run.structure(OpAll)
	text, _ := execute(c.template, nil)
	return text
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
	text, err := execute(c.template, values)
	switch {
	case errors.Is(err, errAbsent):
		run.problems.add(e.Place(), "give both bounds", "%s needs both bounds of `%s`", run.source, c.Field)
	case err != nil:
		run.problems.add(e.Place(), "", "%s: %v", run.source, err)
	}
	return run.bounded(text, e.Place())
}

// values are what the places of a rule's templates hold.
func (run *rendering) values(c compiled, e Expr) (places, bool) {
	values := make(places)
	switch e := e.(type) {
	case Term:
		values["value"] = c.value(c.translate(e.Text))
	case Token:
		values["value"] = template.Asked(e.Text)
	case In:
		items, ok := run.items(c, e)
		values["items"] = template.Safe(items)
		return values, ok
	case Range:
		for name, b := range map[string]Bound{"from": e.From, "to": e.To} {
			if b.Absent() {
				continue
			}
			values[name] = c.value(b.Value)
			if e.Type != TypeDate {
				continue
			}
			t, err := time.Parse(InstantLayout, b.Value)
			if err != nil {
				run.problems.add(e.At, "", "%s is not an instant", quoted(b.Value))
				return nil, false
			}
			values[name] = template.At(t)
		}
	}
	return values, true
}

// value is a text in the type that the rule's templates were compiled for.
func (c compiled) value(text string) any {
	if c.asked {
		return template.Asked(text)
	}
	return text
}

func (run *rendering) items(c compiled, e In) (string, bool) {
	var items []string
	good := true
	for _, v := range e.Values {
		text, err := execute(c.item, places{"value": c.value(c.translate(v.Text))})
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
