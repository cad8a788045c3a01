package query

import (
	"errors"
	"strings"
)

// emit writes one condition as parameters, or says why it cannot be said.
func (run *rendering) emit(e Expr) {
	switch e := e.(type) {
	case Or:
		run.emitOr(e)
	case Not:
		run.emitNot(e)
	case And:
		// Only reached under NOT NOT, which canonical forms do not have.
		run.problems.add(e.At, "", "%s cannot say this group", run.source)
	case All:
	default:
		if c, ok := run.leafRule(e, false, EmitParams); ok {
			run.params1(c, e)
			return
		}
		run.problems.add(e.Place(), "", "%s has no way to say this of `%s`", run.source, fieldOf(e))
	}
}

// emitOr: alternatives of one field and one match, by the rule of IN.
func (run *rendering) emitOr(e Or) {
	first, _ := e.Of[0].(Term)
	in := In{Field: first.Field, At: e.At}
	for _, k := range e.Of {
		t, ok := k.(Term)
		if !ok || t.Field != first.Field || t.Match != first.Match || t.CaseSensitive != first.CaseSensitive {
			run.cannotOr(e)
			return
		}
		in.Values = append(in.Values, Value{t.Text, t.At})
	}
	c, ok := run.rules[ruleKey{first.Field, OpIn, first.Match, "", false, EmitParams}]
	if !ok {
		run.cannotOr(e)
		return
	}
	run.params1(c, in)
}

func (run *rendering) cannotOr(e Or) {
	if _, ok := run.structure(OpOr); ok {
		for _, k := range e.Of {
			if !run.inQuery(k) {
				run.problems.add(e.At, "ask in several queries",
					"%s sends %s as a parameter, and a parameter cannot be one side of an OR", run.source, describe(k))
				return
			}
		}
	}
	run.problems.add(e.At, "ask in several queries", "%s can only OR values of one filter", run.source)
}

func describe(e Expr) string {
	if f := fieldOf(e); f != "" {
		return "`" + f + "`"
	}
	return "a part of this"
}

// emitNot: NOT of a condition that has a rule for it, or of an OR of such.
func (run *rendering) emitNot(e Not) {
	switch of := e.Of.(type) {
	case Or:
		for _, k := range of.Of {
			run.emit(Canonical(Not{Of: k, At: e.At}))
		}
		return
	case And:
		run.problems.add(e.At, "exclude each on its own", "%s cannot exclude what has several marks together", run.source)
		return
	case All:
		run.problems.add(e.At, "", "NOT of everything finds nothing")
		return
	case In:
		if _, ok := run.leafRule(of, true, EmitParams); ok {
			break
		}
		if c, ok := run.rule(of, OpTerm, MatchExact, true, EmitParams); ok {
			for _, v := range of.Values {
				run.params1(c, Term{Field: of.Field, Text: v.Text, Match: MatchExact, At: v.At})
			}
			return
		}
	}
	if c, ok := run.leafRule(e.Of, true, EmitParams); ok {
		run.params1(c, e.Of)
		return
	}
	run.problems.add(e.At, "leave out the NOT", "%s cannot exclude by `%s`", run.source, fieldOf(e.Of))
}

// params1 writes the parameters of one rule. What has no value is left out.
func (run *rendering) params1(c compiled, e Expr) {
	run.conditions++
	values, ok := run.values(c, e)
	if !ok {
		return
	}
	for _, key := range sortedKeys(c.params) {
		for _, t := range c.params[key] {
			text, err := execute(t, values)
			if errors.Is(err, errAbsent) {
				continue
			}
			if err == nil {
				text, err = run.Renderer.params[key].apply(text)
			}
			if err != nil {
				run.problems.add(e.Place(), "", "%s: %v", run.source, err)
				continue
			}
			run.used += len(text)
			if run.used > MaxRendered {
				run.problems.add(e.Place(), "ask in several queries", "%v", errTooLong)
				return
			}
			run.params[key] = append(run.params[key], emitted{text, run.conditions, e.Place()})
		}
	}
}

// once refuses what a source would read otherwise than it was meant: a parameter
// said twice, or two conditions under a name whose values are alternatives.
func (run *rendering) once() {
	for _, key := range sortedKeys(run.params) {
		p, list := run.Renderer.params[key], run.params[key]
		if p.Joiner == "" && !p.Repeat && len(list) > 1 {
			run.problems.add(list[1].at, "ask in several queries", "%s takes one %s, and it is already used", run.source, key)
		}
		if p.NameMark == "" {
			continue
		}
		owner := make(map[string]int)
		for _, one := range list {
			for text := range strings.SplitSeq(one.text, p.Joiner) {
				name, _, _ := strings.Cut(text, p.NameMark)
				if o, taken := owner[name]; taken && o != one.condition {
					run.problems.add(one.at, "ask in several queries", "%s reads several `%s` as alternatives: they cannot all be wanted", run.source, name)
				}
				owner[name] = one.condition
			}
		}
	}
}
