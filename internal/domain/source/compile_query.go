package source

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/papertrace/patra/internal/domain/query"
	"github.com/papertrace/patra/internal/domain/template"
)

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
		r, err = query.NewRenderer(c.def.Query.dialect(c.def.Source), dict)
		if err != nil {
			c.problems(path, err, "")
			return
		}
	}
	c.olderForms(path)
	c.otherNames(path)
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
	c.spec.Query = &Selection{Text: query.Format(sel.Expr(), dict), JSON: string(sel.JSON()), Hash: sel.Hash(), Values: map[string]string{}}
	for _, p := range out.Sent {
		c.send(path, p)
	}
}

// queryKey is the name under which templates read a standard key.
func queryKey(stdKey string) string {
	if stdKey == query.KeyQuery {
		return "text"
	}
	return stdKey
}

// send puts a parameter of the selection into the requests that search and count.
func (c *compiler) send(path string, p query.Sent) {
	key := queryKey(p.StdKey)
	if len(p.Values) == 1 {
		c.spec.Query.Values[key] = p.Values[0]
	} else {
		if c.spec.Query.Repeated == nil {
			c.spec.Query.Repeated = map[string][]string{}
		}
		c.spec.Query.Repeated[key] = p.Values
	}
	for _, usage := range []Usage{UsageSearch, UsageCount} {
		e, known := c.cfg[usage]
		if !known {
			continue
		}
		if c.used[usage].uses("query." + key) {
			c.repeatable(path, e, key)
			continue
		}
		c.sendByName(path, usage, key, p.Name)
	}
}

// repeatable checks that a key of several values is read where each can be sent:
// by parameters, one key at a time.
func (c *compiler) repeatable(path string, e Endpoint, key string) {
	repeated := c.spec.Query.Repeated
	if repeated[key] == nil {
		return
	}
	reads := func(text string) (this, others bool) {
		t, err := ParseBody(text)
		if err != nil {
			return false, false // said
		}
		for _, name := range t.Names() {
			other, isKey := strings.CutPrefix(name, "query.")
			this = this || isKey && other == key
			others = others || isKey && other != key && repeated[other] != nil
		}
		return this, others
	}
	next := NextConfig{}
	if e.Next != nil {
		next = *e.Next
	}
	sentOnce := append([]string{e.Path, e.Body, next.Body}, valuesOf(e.Headers.Texts())...)
	for _, text := range sentOnce {
		if this, _ := reads(text); this {
			c.fail(path, "%s has several values, and endpoint %s reads ${query.%s} in a place that is sent once: let a parameter read it",
				key, e.Name, key)
			return
		}
	}
	parameters := slices.Concat(valuesOf(e.Query), valuesOf(e.Form), valuesOf(next.Query), valuesOf(next.Form))
	for _, text := range parameters {
		if this, others := reads(text); this && others {
			c.fail(path, "a parameter of endpoint %s reads ${query.%s} and another key of several values: it can be sent for the values of one",
				e.Name, key)
			return
		}
	}
}

// sendByName gives a key that no template of the endpoint reads a parameter of its
// own, by the name that the source has for it. The snapshot holds it as a template
// like any other.
func (c *compiler) sendByName(path string, usage Usage, key, name string) {
	e := c.cfg[usage]
	to := &c.spec.Search
	if usage == UsageCount {
		to = c.spec.Count
	}
	into := &to.Query
	if len(to.Form) > 0 {
		into = &to.Form
	}
	_, taken := (*into)[name]
	switch {
	case to.Body != "":
		c.fail(path, "the query needs %s, which no template of endpoint %s reads as ${query.%s}", key, e.Name, key)
		return
	case taken:
		c.fail(path, "the query needs %s, which is sent as %s, and endpoint %s has a parameter of that name: let its template read ${query.%s}",
			key, name, e.Name, key)
		return
	case c.carriesSecret(name):
		c.fail(path, "the query needs %s, which is sent as %s, and so is a credential", key, name)
		return
	}
	with := maps.Clone(*into)
	if with == nil {
		with = map[string]string{}
	}
	with[name] = "${query." + key + "}"
	*into = with
}

// carriesSecret reports whether a parameter of that name carries a credential.
func (c *compiler) carriesSecret(name string) bool {
	a := c.def.Auth
	if a == nil {
		return false
	}
	return slices.ContainsFunc(append([]AuthPlace{{In: a.In, Name: a.Name}}, a.Also...), func(p AuthPlace) bool {
		return p.In != InHeader && strings.EqualFold(p.Name, name)
	})
}

// otherNames notes parameters whose name says nothing, because a template puts
// them into another.
func (c *compiler) otherNames(path string) {
	e, known := c.cfg[UsageSearch]
	if !known || c.def.Query == nil {
		return
	}
	for i, p := range c.def.Query.Params {
		key := queryKey(p.StdKey)
		var readers []string
		for _, group := range []map[string]string{e.Query, e.Form} {
			for _, name := range keysOf(group) {
				t, err := ParseTemplate(group[name])
				if err == nil && t.Uses("query."+key) {
					readers = append(readers, name)
				}
			}
		}
		if len(readers) > 0 && !slices.Contains(readers, p.Name) {
			c.note(fmt.Sprintf("%s.params[%d].name", path, i), "is not used: the template of %s reads ${query.%s}", strings.Join(readers, ", "), key)
		}
	}
}

func valuesOf(m map[string]string) []string {
	var values []string
	for _, k := range keysOf(m) {
		values = append(values, m[k])
	}
	return values
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
