package source

import (
	"errors"
	"fmt"
	"strings"

	"github.com/papertrace/patra/internal/domain/query"
	"github.com/papertrace/patra/internal/domain/template"
)

// QueryConfig is what a source can be searched for and how that is written
// there. Without it a source can only be harvested whole.
type QueryConfig struct {
	Capabilities []query.Capability `yaml:"capabilities" doc:"what the source can do with each field"`
	Rules        []query.Rule       `yaml:"rules" doc:"how each kind of condition is written for the source"`
	Params       []query.ParamMap   `yaml:"params" doc:"standard keys that rules write to, and how several values become one"`
}

// Selection is what of a source is wanted, in the source's own words, as bound
// at plan time. Windows are never part of it (R7).
type Selection struct {
	// Text is the canonical form for people, JSON that for programs.
	Text string `json:"text"`
	JSON string `json:"json"`
	Hash string `json:"hash"`
	// Values are what the source is sent, by standard key; templates read them
	// as query.KEY, the query text as query.text.
	Values map[string]string `json:"values,omitempty"`
}

// everything is the selection of no query at all.
var everything = query.NewSelection(query.All{})

// Selected is the selection of the spec: what was asked for, or everything.
func (s *Spec) Selected() (json, hash string) {
	if s.Query == nil {
		return string(everything.JSON()), everything.Hash()
	}
	return s.Query.JSON, s.Query.Hash
}

// dialect is the query part in the form the renderer takes.
func (q *QueryConfig) dialect(code string) query.Dialect {
	return query.Dialect{Source: code, Capabilities: q.Capabilities, Rules: q.Rules, Params: q.Params}
}

// query renders the trigger's selection for the source.
func (c *compiler) query() {
	const path = "query"
	dict := query.Default()
	var r *query.Renderer
	if q := c.def.Query; q != nil && (len(q.Capabilities) == 0 || len(q.Rules) == 0 || len(q.Params) == 0) {
		c.note(path, "lacks capabilities, rules or params: the source can only be harvested whole")
		c.def.Query = nil
	}
	if c.def.Query != nil {
		var err error
		if r, err = query.NewRenderer(c.def.Query.dialect(c.def.Source), dict); err != nil {
			c.problems(path, err, "")
			return
		}
	}
	c.olderForms(path)
	text := strings.TrimSpace(c.t.Query)
	if text == "" {
		return
	}
	if r == nil {
		c.fail(path, "source %s declares no query part: it can only be harvested whole", c.def.Source)
		return
	}
	e, err := query.Parse(text, dict)
	if err != nil {
		c.problems("--query", err, text)
		return
	}
	out, err := r.Render(e)
	if err != nil {
		c.problems("--query", err, text)
		return
	}
	sel := query.NewSelection(e)
	if sel.All() {
		return
	}
	got := &Selection{Text: query.Format(sel.Expr(), dict), JSON: string(sel.JSON()), Hash: sel.Hash(), Values: map[string]string{}}
	if out.Query != "" {
		got.Values["text"] = out.Query
	}
	for key, values := range out.Params {
		got.Values[key] = strings.Join(values, c.joiner(key))
	}
	for key := range got.Values {
		if !c.used[UsageSearch].uses("query." + key) {
			c.fail(path, "the query needs %s, which no template of endpoint %s reads as ${query.%s}", key, c.spec.Search.Name, key)
		}
	}
	c.spec.Query = got
}

// olderForms notes templates that are written as they were before requests and
// rules had one language. They are read for ever: rows of a registry hold them.
func (c *compiler) olderForms(path string) {
	if c.def.Query == nil {
		return
	}
	note := func(path, text string, translate func(string) (string, bool)) {
		if today, isOlder := translate(text); isOlder {
			c.note(path, "is in an older form; today it is written %s", today)
		}
	}
	for i, rule := range c.def.Query.Rules {
		at := fmt.Sprintf("%s.rules[%d]", path, i)
		note(at+".template", rule.Template, template.FromPipes)
		note(at+".itemTemplate", rule.ItemTemplate, template.FromPipes)
		for _, key := range keysOf(rule.Params) {
			for n, text := range rule.Params[key] {
				note(fmt.Sprintf("%s[%d]", join(at+".params", key), n), text, template.FromPipes)
			}
		}
	}
	for i, p := range c.def.Query.Params {
		note(fmt.Sprintf("%s.params[%d].transform", path, i), p.Transform, template.FromChain)
	}
}

func (c *compiler) joiner(key string) string {
	for _, p := range c.def.Query.Params {
		if p.StdKey == key {
			return p.Joiner
		}
	}
	return ""
}

// problems turns those of the query language into violations, with a caret
// under the place where there is a text.
func (c *compiler) problems(path string, err error, text string) {
	if ps, ok := errors.AsType[query.Problems](err); ok {
		for _, p := range ps {
			where := path
			if p.At.Path != "" {
				where += "." + strings.TrimPrefix(p.At.Path, ".")
			}
			if text != "" {
				c.fail(path, "%s", query.Problems{p}.Show(text))
				continue
			}
			c.fail(where, "%s", strings.TrimSpace(p.Message+" "+p.Hint))
		}
		return
	}
	c.fail(path, "%v", err)
}
