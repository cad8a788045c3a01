package query

import (
	"slices"
	"strings"
)

// Pushdown is an expression divided between a source and those who ask it. What is
// sent finds at least all that is asked for; what is found is then held against the
// rest.
type Pushdown struct {
	// Sent is what the source is asked for, [All] if it can be asked for nothing.
	Sent Expr
	// Finds compares what Sent finds with what it asks for.
	Finds Finds
	// Rest is what is decided here, on each record that comes; [All] if the source
	// decides everything. Values are also those that the source has for them.
	Rest Expr
	// Fields are what Rest looks at, in their order.
	Fields []string
	// Spelt are fields that are sent and whose source tells accents: a word is found
	// there only as it is spelt in the query, or without its accents.
	Spelt []string
}

// Split divides e by the direction in which each condition may be wrong: above any NOT
// the source may find more than is asked, under one only less. Of an AND any parts may
// be sent, of an OR all or none. The problems are those that nobody can mend here: text
// in the language of a source, and values that cannot be there.
func (r *Renderer) Split(e Expr) (Pushdown, Problems) {
	e = Canonical(sendable(e))
	if problems := r.impossible(e); len(problems) > 0 {
		return Pushdown{}, problems
	}
	conditions := []Expr{e}
	if and, ok := e.(And); ok {
		conditions = and.Of
	}
	s := splitter{renderer: r, conditions: conditions, sent: map[int]half{}}
	s.sendAll(false)
	s.sendAll(true)  // what is ranked has the least to say
	s.sendAll(false) // what can only be taken away from something else
	out := Pushdown{Sent: s.sentExpr(e.Place()), Finds: FindsExact, Rest: All{}}
	var rest []Expr
	for i, c := range conditions {
		h, sent := s.sent[i]
		if !sent || h.finds != FindsExact {
			rest = append(rest, c)
		}
		if sent && (h.finds == FindsRanked || out.Finds == FindsExact) {
			out.Finds = h.finds
		}
	}
	if problems := unsentTokens(r.source, conditions, s.sent); len(problems) > 0 {
		return Pushdown{}, problems
	}
	if len(rest) > 0 {
		out.Rest = r.InOwnWords(all(rest, e.Place()))
	}
	out.Fields = fieldsIn(out.Rest)
	out.Spelt = slices.DeleteFunc(fieldsIn(out.Sent), func(field string) bool { return !r.tellsAccents(field) })
	return out, nil
}

// unsentTokens are texts in the source's own language that cannot be sent where they
// stand. Nobody else understands them.
func unsentTokens(source string, conditions []Expr, sent map[int]half) Problems {
	var problems Problems
	var walk func(Expr)
	walk = func(e Expr) {
		if t, ok := e.(Token); ok {
			problems.add(t.At, "ask for it on its own, or beside conditions that it can be sent",
				"%s cannot be sent its own words in this place", source)
		}
		for _, k := range kids(e) {
			walk(k)
		}
	}
	for no, c := range conditions {
		if _, ok := sent[no]; !ok {
			walk(c)
		}
	}
	return problems.sorted()
}

// half is a part of an expression as a source can be asked for it.
type half struct {
	expr  Expr
	finds Finds
}

// splitter is one division of the conditions that all have to hold.
type splitter struct {
	renderer   *Renderer
	conditions []Expr
	sent       map[int]half // by the number of the condition
}

// sendAll sends what can be sent of the conditions that are ranked, or of the others,
// each as long as the source has room for it beside those that are sent already.
func (s *splitter) sendAll(ranked bool) {
	for more := true; more; {
		more = false
		for no, c := range s.conditions {
			h, ok := s.renderer.atLeast(c)
			if _, done := s.sent[no]; done || !ok || (h.finds == FindsRanked) != ranked {
				continue
			}
			s.sent[no] = h
			if len(s.renderer.Check(s.sentExpr(Place{}))) > 0 {
				delete(s.sent, no)
				continue
			}
			more = true
		}
	}
}

func (s *splitter) sentExpr(at Place) Expr {
	var of []Expr
	for no := range s.conditions {
		if h, ok := s.sent[no]; ok {
			of = append(of, h.expr)
		}
	}
	return Canonical(And{Of: of, At: at})
}

// atLeast is what of e can be sent so that all of e is found.
func (r *Renderer) atLeast(e Expr) (half, bool) {
	switch e := e.(type) {
	case All:
		return half{}, false
	case And:
		of, finds := parts(e.Of, r.atLeast)
		return half{And{Of: of, At: e.At}, finds}, len(of) > 0
	case Or:
		of, finds := parts(e.Of, r.atLeast)
		return half{Or{Of: of, At: e.At}, r.listFinds(of, finds)}, len(of) == len(e.Of)
	case Not:
		if finds, ok := r.ownNot(e); ok {
			return half{e, finds}, finds.noLess()
		}
		h, ok := r.atMost(e.Of)
		if ok && h.finds == FindsSubset {
			h.finds = FindsSuperset
		}
		return half{Not{Of: h.expr, At: e.At}, h.finds}, ok
	}
	for _, f := range forms(e) {
		if f.expr.Op() == OpAnd { // of words
			h, ok := r.atLeast(f.expr)
			return half{h.expr, notExact(h.finds)}, ok
		}
		finds, ok := r.leafFinds(f.expr, false)
		if !ok || !finds.noLess() {
			continue
		}
		if f.wider {
			finds = notExact(finds)
		}
		return half{r.spellings(f.expr), finds}, true
	}
	return half{}, false
}

// notExact is what a wider form of a condition finds.
func notExact(f Finds) Finds {
	if f == FindsExact {
		return FindsSuperset
	}
	return f
}

// atMost is what of e can be sent so that nothing but e is found.
func (r *Renderer) atMost(e Expr) (half, bool) {
	switch e := e.(type) {
	case All:
		return half{}, false
	case And:
		of, finds := parts(e.Of, r.atMost)
		return half{And{Of: of, At: e.At}, finds}, len(of) == len(e.Of)
	case Or:
		of, finds := parts(e.Of, r.atMost)
		if len(of) < len(e.Of) {
			finds = FindsSubset
		}
		return half{Or{Of: of, At: e.At}, finds}, len(of) > 0
	case Not:
		h, ok := r.atLeast(e.Of)
		if h.finds != FindsExact {
			h.finds = FindsSubset
		}
		return half{Not{Of: h.expr, At: e.At}, h.finds}, ok
	}
	finds, ok := r.leafFinds(e, true)
	return half{e, finds}, ok && finds.noMore()
}

// parts are those halves of the parts of a group that there are, and what they find
// together: that is exact only if each is, and none is left out.
func parts(of []Expr, halfOf func(Expr) (half, bool)) ([]Expr, Finds) {
	var out []Expr
	finds := FindsExact
	for _, k := range of {
		h, ok := halfOf(k)
		switch {
		case !ok && finds == FindsExact:
			finds = FindsSuperset
		case ok && (finds == FindsExact || h.finds == FindsRanked):
			finds = h.finds
		}
		if ok {
			out = append(out, h.expr)
		}
	}
	return out, finds
}

// listFinds is what an OR finds that a rule of IN writes as one list.
func (r *Renderer) listFinds(of []Expr, finds Finds) Finds {
	if len(of) == 0 || finds != FindsExact {
		return finds
	}
	first, ok := of[0].(Term)
	if !ok {
		return finds
	}
	if c, ok := r.rules[ruleKey{first.Field, OpIn, first.Match, "", false, EmitParams}]; ok {
		return c.Finds
	}
	return finds
}

// leafFinds is what the source finds for a condition that it can be sent, or that it
// can be sent under a NOT.
func (r *Renderer) leafFinds(e Expr, negated bool) (Finds, bool) {
	asked := e
	if negated {
		asked = Not{Of: e, At: e.Place()}
	}
	if len(Check(asked, r.source, r.capabilities)) > 0 {
		return "", false
	}
	if _, problems := r.render(e); len(problems) > 0 {
		return "", false
	}
	c, ok := r.positiveRule(e)
	return c.Finds, ok
}

// ownNot is what the source finds for a NOT that has a rule of its own.
func (r *Renderer) ownNot(e Not) (Finds, bool) {
	if len(Check(e, r.source, r.capabilities)) > 0 {
		return "", false
	}
	for _, emit := range []Emit{EmitQuery, EmitParams} {
		if c, ok := r.leafRule(e.Of, true, emit); ok {
			return c.Finds, true
		}
		if _, ok := e.Of.(In); !ok {
			continue
		}
		if c, ok := r.rule(e.Of, OpTerm, MatchExact, true, emit); ok {
			return c.Finds, true
		}
	}
	return "", false
}

func (r *Renderer) positiveRule(e Expr) (compiled, bool) {
	for _, emit := range []Emit{EmitQuery, EmitParams} {
		if c, ok := r.leafRule(e, false, emit); ok {
			return c, true
		}
	}
	return compiled{}, false
}

// form is a condition in other words, which may be wider.
type form struct {
	expr  Expr
	wider bool
}

// forms are the ways to ask for a condition, the best first: a phrase of one word is
// that word, a longer one is among what has all its words, and letters as they are
// written are among those that are written anyhow. A beginning is that of one word,
// since sources do not agree on what parts words. The words of a name are no way to
// find it: sources differ in which of them they know.
func forms(e Expr) []form {
	t, ok := e.(Term)
	if !ok {
		return []form{{expr: e}}
	}
	loose := t
	loose.CaseSensitive = false
	list := wordsOf(t.Text)
	word := loose
	word.Match = MatchWords
	var out []form
	if t.Match == MatchPrefix && len(list) > 0 && !wholeValued[t.Field] {
		last := loose
		last.Text = list[len(list)-1]
		if len(list) == 1 {
			return []form{{last, t.CaseSensitive || last.Text != t.Text}}
		}
		word.Text = strings.Join(list[:len(list)-1], " ")
		return []form{{And{Of: []Expr{wordTerms(word), last}, At: t.At}, true}}
	}
	if t.Match == MatchPhrase && len(list) == 1 && list[0] == t.Text {
		out = append(out, form{word, t.CaseSensitive})
	}
	out = append(out, form{t, false})
	if t.CaseSensitive {
		out = append(out, form{loose, true})
	}
	if t.Match == MatchPhrase && len(list) > 1 && t.Field != "au" {
		word.Text = strings.Join(list, " ")
		out = append(out, form{wordTerms(word), true})
	}
	return out
}

// spellings asks a source that tells accents for a text with and without them.
func (r *Renderer) spellings(e Expr) Expr {
	t, ok := e.(Term)
	if !ok || !r.tellsAccents(t.Field) {
		return e
	}
	plain := t
	plain.Text = folded(t.Text)
	if plain.Text == strings.ToLower(t.Text) {
		return e
	}
	return Or{Of: []Expr{t, plain}, At: t.At}
}

func (r *Renderer) tellsAccents(field string) bool {
	return slices.ContainsFunc(r.capabilities, func(c Capability) bool { return c.Field == field && c.Accents })
}

// impossible are the problems of e that no reading of records can mend.
func (r *Renderer) impossible(e Expr) Problems {
	c := checker{source: r.source, byField: make(map[string]Capability)}
	for _, one := range r.capabilities {
		c.byField[one.Field] = one
	}
	c.impossible(e)
	return c.problems.sorted()
}

func (c *checker) impossible(e Expr) {
	able := c.byField[fieldOf(e)]
	switch e := e.(type) {
	case Not:
		if e.Of.Op() == OpAll {
			c.problems.add(e.At, "", "NOT of everything finds nothing")
		}
	case Token:
		c.leaf(e, false)
	case Term:
		if wholeValued[e.Field] {
			c.pattern(e.Text, able.TermPattern, e.Field, e.At)
		}
	case In:
		for _, v := range e.Values {
			c.pattern(v.Text, able.TermPattern, e.Field, v.At)
		}
	}
	for _, k := range kids(e) {
		c.impossible(k)
	}
}

// InOwnWords adds to the values of e those that the source has for them.
func (r *Renderer) InOwnWords(e Expr) Expr {
	switch e := e.(type) {
	case And:
		return And{Of: each(e.Of, r.InOwnWords), At: e.At}
	case Or:
		return Or{Of: each(e.Of, r.InOwnWords), At: e.At}
	case Not:
		return Not{Of: r.InOwnWords(e.Of), At: e.At}
	case Term:
		if c, ok := r.positiveRule(e); ok && e.Match == MatchExact {
			return ownWords(c, In{Field: e.Field, Values: []Value{{e.Text, e.At}}, CaseSensitive: e.CaseSensitive, At: e.At})
		}
	case In:
		if c, ok := r.positiveRule(e); ok {
			return ownWords(c, e)
		}
	}
	return e
}

func ownWords(c compiled, e In) Expr {
	values := slices.Clip(e.Values)
	for _, v := range e.Values {
		values = append(values, Value{c.translate(v.Text), v.At})
	}
	e.Values = values
	return canonicalIn(e)
}

func each(of []Expr, change func(Expr) Expr) []Expr {
	out := make([]Expr, len(of))
	for i, k := range of {
		out[i] = change(k)
	}
	return out
}

// fieldsIn are the fields that conditions of e look at, each once, in their order.
func fieldsIn(e Expr) []string {
	var out []string
	var walk func(Expr)
	walk = func(e Expr) {
		if f := fieldOf(e); f != "" && f != FieldToken && !slices.Contains(out, f) {
			out = append(out, f)
		}
		for _, k := range kids(e) {
			walk(k)
		}
	}
	walk(e)
	return out
}
