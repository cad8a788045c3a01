package query

import (
	"fmt"
	"slices"
	"strings"

	"github.com/papertrace/patra/internal/domain/template"
)

// Emit says what a rule produces.
type Emit string

// The products of rules.
const (
	EmitQuery  Emit = "QUERY"  // a piece of the query text
	EmitParams Emit = "PARAMS" // parameters under standard keys
)

// Finds says how the set that a source finds compares with the set that is asked for.
type Finds string

// The ways in which the two sets compare.
const (
	FindsExact    Finds = "EXACT"
	FindsSuperset Finds = "SUPERSET" // all of it and more: stemming, synonyms, the words in any order
	FindsSubset   Finds = "SUBSET"   // nothing else, but perhaps not all of it
	// FindsRanked is a superset that is sorted by how well it fits: what it counts are
	// no matches, and only a walk to its end has seen all of them.
	FindsRanked Finds = "RANKED"
)

var findsKinds = []Finds{FindsExact, FindsSuperset, FindsSubset, FindsRanked}

// noLess reports whether all that is asked for is found.
func (f Finds) noLess() bool { return f != FindsSubset }

// noMore reports whether only what is asked for is found.
func (f Finds) noMore() bool { return f == FindsExact || f == FindsSubset }

// Rule says how one kind of node is written for a source (a row of
// reg_prov_expr_render_rule).
//
// Rules of TERM, IN, RANGE, EXISTS and TOKEN name a field. Their templates know
// ${value} (TERM, TOKEN, and each item of IN), ${items} (IN, the items joined),
// ${from} and ${to} (RANGE). A template of Params in which a bound is absent is
// left out; in the query text that needs a default(...).
//
// Rules of AND, OR, NOT and ALL have no field and say how the query text is put
// together: AND and OR by their Joiner, WrapGroup allowing groups in groups;
// NOT either by a Template with ${items}, written before its operand, or by a
// Joiner, written between what is wanted and what is not; ALL by a Template, which
// also stands for what is wanted where nothing else is.
type Rule struct {
	Field string `json:"field,omitempty" yaml:"field,omitempty"`
	Op    Op     `json:"op" yaml:"op"`
	// Match and ValueType restrict the rule; empty means any. On IN, a Match other
	// than EXACT makes it the rule of alternatives of that match in one field.
	Match     Match `json:"match,omitempty" yaml:"match,omitempty"`
	ValueType Type  `json:"valueType,omitempty" yaml:"valueType,omitempty"`
	// Negated: the rule writes NOT of the node.
	Negated bool `json:"negated,omitempty" yaml:"negated,omitempty"`
	Emit    Emit `json:"emit,omitempty" yaml:"emit,omitempty"` // empty means QUERY

	Template     string `json:"template,omitempty" yaml:"template,omitempty" doc:"a piece of query text; knows value, items, or from and to"`
	ItemTemplate string `json:"itemTemplate,omitempty" yaml:"itemTemplate,omitempty" doc:"of IN: what each value becomes"`
	Joiner       string `json:"joiner,omitempty" yaml:"joiner,omitempty"`
	WrapGroup    bool   `json:"wrapGroup,omitempty" yaml:"wrapGroup,omitempty"`
	// Params are templates by standard key.
	Params map[string][]string `json:"params,omitempty" yaml:"params,omitempty" doc:"templates by standard key; left out if a bound is absent"`
	// Finds says how what the source then finds compares with what is asked, by the
	// meaning of [Evaluate]; empty means EXACT. A rule that is Negated is compared with
	// what does not have it.
	Finds Finds `json:"finds,omitempty" yaml:"finds,omitempty" doc:"how what is found compares with what is asked; empty means EXACT"`
	// Values translates unified values to the source's own, before any transform.
	// One that is not listed goes as it is. Letters match in any case.
	Values map[string]string `json:"values,omitempty" yaml:"values,omitempty"`
}

// Key names the rule: no two rules of a source have the same.
func (r Rule) Key() string {
	emit := r.Emit
	if emit == "" {
		emit = EmitQuery
	}
	parts := []string{r.Field, string(r.Op), string(r.Match), string(r.ValueType), string(emit)}
	if r.Negated {
		parts = append(parts, "NOT")
	}
	return strings.Join(parts, "/")
}

// ruleKey is what a rule is found by.
type ruleKey struct {
	field   string
	op      Op
	match   Match
	typ     Type
	negated bool
	emit    Emit
}

// compiled is a rule ready to be used.
type compiled struct {
	Rule
	template *template.Template
	item     *template.Template
	params   map[string][]*template.Template
	values   map[string]string
	// asked: values are text that somebody asked for and that may hold anything.
	asked bool
}

func compileRule(r Rule, dict *FieldDict, std map[string]ParamMap, path string, problems *Problems) (compiled, bool) {
	before := len(*problems)
	c := compiled{Rule: r, params: make(map[string][]*template.Template), values: make(map[string]string)}
	c.template = new(template.Template)
	c.item = new(template.Template)
	say := func(key, hint, format string, args ...any) {
		problems.add(Place{Path: path + key}, hint, format, args...)
	}
	if c.Emit == "" {
		c.Emit = EmitQuery
	}
	if c.Finds == "" {
		c.Finds = FindsExact
	}
	if !slices.Contains(findsKinds, c.Finds) {
		say(".finds", fmt.Sprintf("known are %v", findsKinds), "finds %s is not known", quoted(string(c.Finds)))
	}
	leaf := slices.Contains([]Op{OpTerm, OpIn, OpRange, OpExists, OpToken}, r.Op)
	structure := slices.Contains([]Op{OpAnd, OpOr, OpNot, OpAll}, r.Op)
	names := places{}
	need := []string{}
	switch {
	case !leaf && !structure:
		say(".op", suggest(string(r.Op), []string{"TERM", "IN", "RANGE", "EXISTS", "TOKEN", "AND", "OR", "NOT", "ALL"}), "op %s is not known", quoted(string(r.Op)))
		return c, false
	case structure:
		if r.Field != "" || c.Emit != EmitQuery || r.Negated || len(r.Params) > 0 || r.ItemTemplate != "" || r.Finds != "" {
			say("", "", "a rule of %s says how query text is put together, nothing else", r.Op)
		}
		c.structure(names, &need, say)
	default:
		f, ok := dict.Lookup(r.Field)
		if !ok || f.Key != r.Field {
			say(".field", suggest(r.Field, dict.keys()), "field %s is not known", quoted(r.Field))
			return c, false
		}
		if r.ValueType != "" && r.ValueType != f.Type() {
			say(".valueType", "", "%s is of type %s", r.Field, f.Type())
		}
		c.leaf(f, names, &need, say)
	}
	if c.Emit != EmitQuery && c.Emit != EmitParams {
		say(".emit", "known are QUERY, PARAMS", "emit %s is not known", quoted(string(c.Emit)))
	}
	if err := cleanText(r.Joiner); err != nil {
		say(".joiner", "", "the joiner %v", err)
	}
	for _, k := range sortedKeys(r.Values) {
		v := r.Values[k]
		if cleanText(v) != nil || plainText(v) == "" {
			say(".values", "", "the value for %s is empty or holds control characters", quoted(k))
		}
		c.values[strings.ToLower(k)] = v
	}
	c.compile(names, need, std, say)
	return c, len(*problems) == before
}

type sayer func(key, hint, format string, args ...any)

// structure checks a rule of AND, OR, NOT or ALL.
func (c *compiled) structure(names places, need *[]string, say sayer) {
	switch {
	case (c.Op == OpAnd || c.Op == OpOr) && (c.Joiner == "" || c.Template != ""):
		say("", "", "a rule of %s has a joiner and no template", c.Op)
	case c.Op == OpNot && (c.Joiner == "") == (c.Template == ""):
		say("", "", "a rule of NOT has either a template or a joiner")
	case c.Op == OpAll && c.Template == "":
		say(".template", "", "a rule of ALL has a template")
	}
	if c.Op == OpNot && c.Template != "" {
		names["items"] = template.Encoded{}
		*need = append(*need, "items")
	}
}

// leaf says which places a rule's templates may and must have.
func (c *compiled) leaf(f Field, names places, need *[]string, say sayer) {
	c.asked = f.Type() == TypeText
	switch c.Op {
	case OpTerm:
		names["value"] = placeOf(f.Type())
		if f.DataType != DataBool {
			*need = append(*need, "value")
		}
	case OpToken:
		if c.Field != FieldToken {
			say(".field", "write "+FieldToken, "rules of TOKEN have no field of their own")
		}
		names["value"] = template.Raw{}
		*need = append(*need, "value")
	case OpIn:
		names["items"] = template.Encoded{}
		*need = append(*need, "items")
		if c.Template == "" && c.Emit == EmitQuery {
			c.Template = "${items}"
		}
		item, err := compileTemplate(c.ItemTemplate, places{"value": placeOf(f.Type())})
		switch {
		case err != nil:
			say(".itemTemplate", "", "%v", err)
		case !item.Uses("value"):
			say(".itemTemplate", "", "${value} is missing")
		}
		c.item = item
	case OpRange:
		names["from"] = placeOf(f.Type())
		names["to"] = placeOf(f.Type())
		*need = append(*need, "from", "to")
	}
	if c.Op != OpIn && c.ItemTemplate != "" {
		say(".itemTemplate", "", "only rules of IN have items")
	}
}

// compile the templates and see that no value is lost.
func (c *compiled) compile(names places, need []string, std map[string]ParamMap, say sayer) {
	var all []*template.Template
	broken := false
	if c.Emit == EmitParams {
		if c.Template != "" || len(c.Params) == 0 {
			say("", "", "a rule that emits PARAMS has params and no template")
		}
		for _, key := range sortedKeys(c.Params) {
			list := c.Params[key]
			if _, declared := std[key]; !declared {
				say(".params."+key, suggest(key, sortedKeys(std)), "no parameter is declared for the standard key %s", quoted(key))
			}
			for i, text := range list {
				t, err := compileTemplate(text, names)
				if err != nil {
					broken = true
					say(fmt.Sprintf(".params.%s[%d]", key, i), "", "%v", err)
				}
				c.encoding(t, std[key], say)
				c.params[key] = append(c.params[key], t)
				all = append(all, t)
			}
		}
	} else {
		if len(c.Params) > 0 {
			say(".params", "", "a rule that emits QUERY has no params")
		}
		t, err := compileTemplate(c.Template, names)
		switch {
		case err != nil:
			broken = true
			say(".template", "", "%v", err)
		case c.Template == "" && c.Op != OpAnd && c.Op != OpOr && c.Op != OpNot && c.Op != OpAll:
			broken = true
			say(".template", "", "the template is missing")
		}
		c.encoding(t, ParamMap{Joiner: "text"}, say)
		c.template = t
		all = append(all, t)
	}
	c.encoding(c.item, ParamMap{Joiner: "text"}, say)
	for _, name := range need {
		if !broken && !slices.ContainsFunc(all, func(t *template.Template) bool { return t.Uses(name) }) {
			say("", "", "${%s} is in no template: the value would be lost", name)
		}
	}
}

// encoding sees that encoders for special places stand in those.
func (c *compiled) encoding(t *template.Template, m ParamMap, say sayer) {
	for _, p := range t.Parts {
		switch {
		case calls(p, "plain") && (len(t.Parts) > 1 || plainText(m.Joiner) != "" || m.NameMark != ""):
			say("", "", "${plain(%s)} must be a whole parameter: beside other text the value could pass for it", p.Names[0])
		case calls(p, "token") && c.Op != OpToken:
			say("", "", "only a TOKEN may be written as it is")
		}
	}
}

// translate gives the source's own word for a value.
func (c compiled) translate(value string) string {
	if own, ok := c.values[strings.ToLower(value)]; ok {
		return own
	}
	return value
}
