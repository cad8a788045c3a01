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
	r, err := query.NewRenderer(c.queryPart().dialect(c.def.Source), dict)
	if err != nil {
		c.problems(path, err, "")
		return
	}
	c.olderForms(path)
	c.otherNames(path)
	text := strings.TrimSpace(c.t.Query)
	if text == "" {
		return
	}
	e, err := query.Parse(text, dict)
	if err != nil {
		c.problems("--query", err, text)
		return
	}
	sel := query.NewSelection(e)
	if sel.All() {
		return
	}
	halves, refused := r.Split(e)
	if len(refused) > 0 {
		c.problems("--query", refused, text)
		return
	}
	out, err := r.Render(halves.Sent)
	if err != nil {
		c.problems("--query", err, text)
		return
	}
	c.spec.Query = &Selection{
		Text: query.Format(sel.Expr(), dict), JSON: string(sel.JSON()), Hash: sel.Hash(), Values: map[string]string{},
		Sent: string(query.JSON(halves.Sent)), Finds: halves.Finds, Spelt: halves.Spelt,
		whole: r.InOwnWords(sel.Expr()), showing: c.showing(),
	}
	for _, p := range out.Sent {
		c.send(path, p)
	}
	c.leave(halves)
}

// queryPart is the declared query part; one that has rules without what they need is
// none, and whatever is asked for is then looked for in the records.
func (c *compiler) queryPart() *QueryConfig {
	q := c.def.Query
	if q == nil {
		return &QueryConfig{}
	}
	searches := slices.ContainsFunc(q.Capabilities, func(one query.Capability) bool { return len(one.Ops) > 0 })
	if len(q.Capabilities) == 0 || searches && (len(q.Rules) == 0 || len(q.Params) == 0) {
		c.note("query", "lacks capabilities, rules or params: the source is asked for everything, and its records are searched here")
		c.def.Query = nil
		return &QueryConfig{}
	}
	return q
}

// leave freezes the half of the query that is decided here. What can neither be sent
// nor be seen in any record would keep all that the source has: it is refused.
func (c *compiler) leave(halves query.Pushdown) {
	if halves.Rest.Op() == query.OpAll {
		return
	}
	q := c.spec.Query
	q.Rest = string(query.JSON(halves.Rest))
	f := Filter{kept: keptFields(c.spec.Mapping.Fields)}
	for _, field := range halves.Fields {
		if !f.sees(field) {
			q.Unseen = append(q.Unseen, field)
		}
	}
	q.Shown = q.showing
	if q.Whole() && len(q.Unseen) == len(halves.Fields) {
		c.fail("--query", "%s neither searches `%s` nor shows it in its records, so nothing of this query can be decided; %s",
			c.def.Source, strings.Join(q.Unseen, "`, `"), c.insteadOf(f))
	}
}

// showing are the fields that the source's records do not show always; nil if there is none.
func (c *compiler) showing() map[string]query.Shown {
	var out map[string]query.Shown
	for _, one := range c.queryPart().Capabilities {
		if one.Shown == "" {
			continue
		}
		if out == nil {
			out = map[string]query.Shown{}
		}
		out[one.Field] = one.Shown
	}
	return out
}

// insteadOf names the fields that a query for the source can use.
func (c *compiler) insteadOf(f Filter) string {
	var works []string
	for _, field := range query.Default().Fields() {
		searched := slices.ContainsFunc(c.queryPart().Capabilities, func(one query.Capability) bool {
			return one.Field == field.Key && len(one.Ops) > 0
		})
		if !field.Hidden && (searched || f.sees(field.Key)) {
			works = append(works, field.Key)
		}
	}
	return "fields that work: " + strings.Join(works, ", ")
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
