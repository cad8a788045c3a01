package source

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

func (c *compiler) endpoints() {
	c.cfg, c.used = map[string]EndpointConfig{}, map[string]template{}
	if len(c.def.Endpoints) == 0 {
		c.fail("endpoints", "is required: at least one with usage SEARCH")
		return
	}
	names := map[string]bool{}
	for _, e := range c.def.Endpoints {
		path := join("endpoints", e.Name)
		if e.Name == "" || names[e.Name] {
			c.fail(path, "endpoints need names of their own")
		}
		names[e.Name] = true
		if !coded(c, path+".usage", DictUsage, e.Usage) {
			continue
		}
		if other, twice := c.cfg[e.Usage]; twice {
			c.fail(path+".usage", "%s is already the %s endpoint", other.Name, e.Usage)
			continue
		}
		c.cfg[e.Usage] = e
		out := c.endpoint(path, e)
		switch e.Usage {
		case UsageSearch:
			c.spec.Search = out
		case UsageCount:
			c.spec.Count = &out
		case UsageDetail:
			c.spec.Detail = &out
		}
	}
	if _, ok := c.cfg[UsageSearch]; !ok {
		c.fail("endpoints", "none has usage SEARCH")
	}
}

func (c *compiler) endpoint(path string, e EndpointConfig) Endpoint {
	out := Endpoint{
		Name: e.Name, Method: cmp.Or(e.Method, "GET"), Path: e.Path, Format: e.Format,
		Query: maps.Clone(e.Query), Form: maps.Clone(e.Form), Headers: maps.Clone(e.Headers),
	}
	coded(c, path+".method", DictMethod, out.Method)
	coded(c, path+".format", DictFormat, out.Format)
	if out.Method == "GET" && len(e.Form) > 0 {
		c.fail(path+".form", "a GET has no form; say method: POST or use query")
	}
	switch {
	case e.Path != "" && !strings.HasPrefix(e.Path, "/"):
		c.fail(path+".path", "%q does not begin with /", e.Path)
	case strings.ContainsAny(e.Path, "?#") || slices.Contains(strings.Split(e.Path, "/"), ".."):
		c.fail(path+".path", "%q holds more than a path; parameters belong under query", e.Path)
	}
	c.headers(path+".headers", e.Headers)
	c.used[e.Usage] = c.templates(path, e)
	out.Response = c.response(path+".response", e)
	return out
}

// templates checks all templates of an endpoint and returns what they use.
func (c *compiler) templates(path string, e EndpointConfig) template {
	var all template
	check := func(path, s string) {
		t, err := parseTemplate(s)
		if err != nil {
			c.fail(path, "%v", err)
		}
		for _, v := range t.vars {
			if name, held := strings.CutPrefix(v, "page.held."); held && e.Usage == UsageSearch && e.Response.Held[name] == "" {
				c.fail(path, "%s is not among the endpoint's response.held", v)
			}
			switch phase, _, _ := strings.Cut(v, "."); {
			case phase == "ids" && e.Usage != UsageDetail:
				c.fail(path, "ids are known to a DETAIL endpoint only")
			case phase == "page" && e.Usage == UsageDetail, phase == "window" && e.Usage == UsageDetail:
				c.fail(path, "%s is not known to a DETAIL endpoint: it is asked by ids", v)
			}
		}
		all.vars = append(all.vars, t.vars...)
	}
	check(path+".path", e.Path)
	for _, group := range []struct {
		name   string
		values map[string]string
	}{{"query", e.Query}, {"form", e.Form}, {"headers", e.Headers}} {
		for _, k := range keysOf(group.values) {
			check(join(path+"."+group.name, k), group.values[k])
		}
	}
	return all
}

func (c *compiler) response(path string, e EndpointConfig) Response {
	r := e.Response
	out := Response{
		Items: slices.Clone(r.Items), Root: r.Root, ID: slices.Clone(r.ID), Version: slices.Clone(r.Version),
		Total: r.Total, Token: r.NextToken, URL: r.NextURL, HasMore: r.HasMore,
		Held: maps.Clone(r.Held), Signals: maps.Clone(r.Signals),
	}
	for i, p := range r.UpdatedAt {
		c.pick(fmt.Sprintf("%s.updatedAt[%d]", path, i), p.Pick)
		out.UpdatedAt = append(out.UpdatedAt, p.Pick)
	}
	for i, p := range r.ID {
		c.pick(fmt.Sprintf("%s.id[%d]", path, i), p)
	}
	for i, p := range r.Version {
		c.pick(fmt.Sprintf("%s.version[%d]", path, i), p)
	}
	if e.Usage == UsageCount {
		if r.Total == "" {
			c.fail(path+".total", "is required: a COUNT endpoint is asked for its total")
		}
		return out
	}
	if len(r.Items) == 0 {
		c.fail(path+".items", "is required: where the items are")
	}
	if len(r.ID) == 0 {
		c.fail(path+".id", "is required: where an item's id is")
	}
	return out
}

// The transforms and date formats a pick may name.
var (
	cleans      = []string{"text", "jats", "lower", "upper", "trim", "doi", "strip_doi_url", "orcid", "number"}
	pickFormats = []string{"RFC3339", "EPOCH_S", "EPOCH_MS", "YEAR"}
)

func (c *compiler) pick(path string, p Pick) {
	if (p.Path == "") == (p.Parts == nil) {
		c.fail(path, "needs a path or the parts of a date, and not both")
	}
	if p.Parts != nil && (p.Parts.List == "") == (p.Parts.Year == "") {
		c.fail(path, "a date is a list or has at least a year, and not both")
	}
	for _, name := range p.Clean {
		if !slices.Contains(cleans, name) {
			c.fail(path, "clean %s is not known%s", name, Suggest(name, cleans))
		}
	}
	if p.Format != "" && !slices.Contains(pickFormats, p.Format) && !strings.Contains(p.Format, "2006") {
		c.fail(path, "format %s is neither %s nor a layout such as 2006-01-02", p.Format, strings.Join(pickFormats, ", "))
	}
}
