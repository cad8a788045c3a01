package source

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// endpoints compiles the endpoints that are asked: one of each usage. It is an
// [EndpointError] if the trigger names one that the operation cannot go through.
func (c *compiler) endpoints() error {
	c.cfg = map[Usage]Endpoint{}
	c.used = map[Usage]readNames{}
	c.parts = map[Usage][]placedPart{}
	if len(c.def.Endpoints) == 0 {
		c.fail("endpoints", "is required: at least one with usage SEARCH")
		return nil
	}
	chosen, err := c.choose()
	if err != nil {
		return err
	}
	for _, e := range chosen {
		c.cfg[e.Usage] = e
		out := c.endpoint(join("endpoints", e.Name), e)
		switch e.Usage {
		case UsageSearch:
			c.spec.Search = out
		case UsageCount:
			c.spec.Count = &out
		case UsageDetail:
			c.spec.Detail = &out
		case UsageLookup:
			c.spec.Lookup = &out
		case UsageHead:
			c.spec.Head = &out
		}
	}
	c.lookup()
	if _, ok := c.cfg[UsageSearch]; !ok {
		c.fail("endpoints", "none has usage SEARCH")
	}
	return nil
}

// lookup checks that ids which a list cannot hold have another way.
func (c *compiler) lookup() {
	lookup, there := c.cfg[UsageLookup]
	detail, two := c.cfg[UsageDetail]
	at := join("endpoints", lookup.Name)
	switch {
	case there && !c.used[UsageLookup].uses("ids"):
		c.fail(at, "a LOOKUP endpoint needs ${ids[0]} in a template")
	case there && !two:
		c.fail(at, "is for ids that a DETAIL endpoint cannot be asked for or leaves out, and there is none")
	case !there && two && detail.IDPattern != "":
		c.fail(join("endpoints", detail.Name)+".idPattern", "ids that do not match have no way: no endpoint has usage LOOKUP")
	}
	for _, e := range c.def.Endpoints {
		if e.IDPattern == "" {
			continue
		}
		path := join("endpoints", e.Name) + ".idPattern"
		if e.Usage != UsageDetail {
			c.fail(path, "belongs to a DETAIL endpoint")
		}
		if _, err := wholeID(e.IDPattern); err != nil {
			c.fail(path, "%v", err)
		}
	}
}

// literalOf is a template without its expressions.
func literalOf(text string) string {
	t, err := ParseTemplate(text)
	if err != nil {
		return text // said elsewhere
	}
	var b strings.Builder
	for _, p := range t.Parts {
		b.WriteString(p.Text)
	}
	return b.String()
}

func (c *compiler) endpoint(path string, e Endpoint) Endpoint {
	out := e.clone()
	out.Method = cmp.Or(e.Method, "GET")
	out.PageParam = ""
	out.SizeParam = ""
	out.CursorParam = ""
	out.Default = false // it was chosen
	out.Of = ""
	out.AuthRequired = false // it is among the restricted endpoints of the auth
	if out.Method == "GET" {
		out.ContentType = ""
	}
	coded(c, path+".method", DictMethod, out.Method)
	coded(c, path+".format", DictFormat, out.Format)
	if out.Method == "GET" && len(e.Form) > 0 {
		c.fail(path+".form", "a GET has no form; say method: POST or use query")
	}
	switch {
	case e.Path != "" && !strings.HasPrefix(e.Path, "/"):
		c.fail(path+".path", "%q does not begin with /", e.Path)
	case strings.ContainsAny(literalOf(e.Path), "?#") || slices.Contains(strings.Split(e.Path, "/"), ".."):
		c.fail(path+".path", "%q holds more than a path; parameters belong under query", e.Path)
	}
	c.headers(path+".headers", e.Headers)
	c.body(path, e, &out)
	c.used[e.Usage] = c.templates(path, e)
	c.response(path+".response", e)
	return out
}

// clone shares nothing with e that is changed in a snapshot, so that the description
// it is made of stays as it is.
func (e Endpoint) clone() Endpoint {
	e.Query = maps.Clone(e.Query)
	e.Form = maps.Clone(e.Form)
	e.Headers = maps.Clone(e.Headers)
	if e.Next != nil {
		e.Next = &NextConfig{Query: maps.Clone(e.Next.Query), Form: maps.Clone(e.Next.Form), Body: e.Next.Body}
	}
	r := &e.Response
	r.Items = slices.Clone(r.Items)
	r.ID = slices.Clone(r.ID)
	r.UpdatedAt = slices.Clone(r.UpdatedAt)
	r.Version = slices.Clone(r.Version)
	r.Deleted = slices.Clone(r.Deleted)
	r.Namespaces = maps.Clone(r.Namespaces)
	r.Held = maps.Clone(r.Held)
	r.Signals = maps.Clone(r.Signals)
	return e
}

// body checks what a request carries besides its URL.
func (c *compiler) body(path string, e Endpoint, out *Endpoint) {
	next := NextConfig{}
	if e.Next != nil {
		next = *e.Next
		if e.Usage != UsageSearch {
			c.fail(path+".next", "only a SEARCH has following pages")
		}
		if next.Query == nil && next.Form == nil && next.Body == "" {
			c.fail(path+".next", "is empty")
		}
	}
	hasBody := e.Body != "" || next.Body != ""
	switch {
	case hasBody && (len(e.Form) > 0 || len(next.Form) > 0):
		c.fail(path+".body", "form and body exclude each other")
	case hasBody && out.Method == "GET":
		c.fail(path+".body", "a GET has no body; say method: POST")
	case !hasBody && e.ContentType != "" && out.Method != "GET":
		c.fail(path+".contentType", "goes with body")
	case len(next.Form) > 0 && out.Method == "GET":
		c.fail(path+".next.form", "a GET has no form; say method: POST or use query")
	}
	if hasBody {
		out.ContentType = cmp.Or(e.ContentType, "application/json")
		if strings.ContainsAny(out.ContentType, "\r\n\x00") {
			c.fail(path+".contentType", "a header holds no line break")
		}
	}
	if e.PostOver < 0 || e.PostOver > 0 && out.Method != "GET" {
		c.fail(path+".postOver", "goes with GET, and is a length")
	}
	if e.Cost < 0 {
		c.fail(path+".cost", "%d is below 1", e.Cost)
	}
}

// templates checks all templates of an endpoint and returns what they read.
func (c *compiler) templates(path string, e Endpoint) readNames {
	var all readNames
	byIDs := e.Usage == UsageDetail || e.Usage == UsageLookup
	bodies := []string{path + ".body", path + ".next.body"}
	check := func(path, s string) {
		t, err := ParseBody(s)
		if err != nil {
			c.fail(path, "%v", err)
			return
		}
		for _, name := range t.Blanks() {
			if !slices.Contains(bodies, path) {
				c.fail(path, "secret.%s stands in a body only", name)
			}
		}
		for _, v := range t.Names() {
			group, _, _ := strings.Cut(v, ".")
			held, isHeld := strings.CutPrefix(v, "page.held.")
			switch {
			case isHeld && e.Usage == UsageSearch && e.Response.Held[held] == "":
				c.fail(path, "%s is not among the endpoint's response.held", v)
			case group == "ids" && !byIDs:
				c.fail(path, "ids are known to a DETAIL endpoint only")
			case group == "page" && byIDs, group == "window" && byIDs:
				c.fail(path, "%s is not known to a %s endpoint: it is asked by ids", v, e.Usage)
			}
		}
		c.instanceValues(path, t)
		all = append(all, t.Names()...)
		for _, part := range t.Parts {
			c.parts[e.Usage] = append(c.parts[e.Usage], placedPart{path, part})
		}
	}
	check(path+".path", e.Path)
	check(path+".body", e.Body)
	next := NextConfig{}
	if e.Next != nil {
		next = *e.Next
	}
	check(path+".next.body", next.Body)
	c.secrets(path+".body", e.Body)
	c.secrets(path+".next.body", next.Body)
	for _, group := range []struct {
		name   string
		values map[string]string
	}{{"query", e.Query}, {"form", e.Form}, {"headers", e.Headers.Texts()}, {"next.query", next.Query}, {"next.form", next.Form}} {
		for _, k := range keysOf(group.values) {
			check(join(path+"."+group.name, k), group.values[k])
		}
	}
	return all
}

// response checks where things are said to be in a reply.
func (c *compiler) response(path string, e Endpoint) {
	r := e.Response
	for i, p := range r.UpdatedAt {
		c.pick(fmt.Sprintf("%s.updatedAt[%d]", path, i), p.Pick)
	}
	for i, p := range r.ID {
		c.pick(fmt.Sprintf("%s.id[%d]", path, i), p)
	}
	for i, p := range r.Version {
		c.pick(fmt.Sprintf("%s.version[%d]", path, i), p)
	}
	for i, p := range r.Deleted {
		c.presence(fmt.Sprintf("%s.deleted[%d]", path, i), p)
	}
	for _, prefix := range keysOf(r.Namespaces) {
		switch at := join(path+".namespaces", prefix); {
		case e.Format != FormatXML:
			c.fail(at, "only XML has namespaces")
		case !prefixPattern.MatchString(prefix) || strings.HasPrefix(strings.ToLower(prefix), "xml"):
			c.fail(at, "%q is no prefix", prefix)
		case r.Namespaces[prefix] == "":
			c.fail(at, "is empty")
		}
	}
	if r.Complete && e.Usage != UsageDetail {
		c.fail(path+".complete", "belongs to a DETAIL endpoint: a %s is not asked for a list of ids", e.Usage)
	}
	if r.TokenParam != "" && r.Token == "" {
		c.fail(path+".tokenParam", "goes with nextToken")
	}
	for name, p := range map[string]string{"total": r.Total, "nextToken": r.Token, "nextUrl": r.URL} {
		if h, is := strings.CutPrefix(p, HeaderPath); is && !headerName.MatchString(h) {
			c.fail(path+"."+name, "%q is not a header name", h)
		}
	}
	if e.Usage == UsageCount || e.Usage == UsageHead {
		if r.Total == "" && e.Usage == UsageCount {
			c.fail(path+".total", "is required: a COUNT endpoint is asked for its total")
		}
		if r.Total == "" && e.Usage == UsageHead {
			c.fail(path+".total", "is required: where the greatest id is")
		}
		return
	}
	if len(r.Items) == 0 {
		c.fail(path+".items", "is required: where the items are")
	}
	if len(r.ID) == 0 {
		c.fail(path+".id", "is required: where an item's id is")
	}
}

// prefixPattern is what stands before the colon of a name in XML.
var prefixPattern = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]*$`)

// HeaderPath begins a path that leads to a header of the reply.
const HeaderPath = "header:"

// The transforms and date formats a pick may name. Those of cleanArgs have an
// argument behind a colon (P26, P27).
var (
	cleans      = []string{"text", "jats", "lower", "upper", "trim", "doi", "strip_doi_url", "orcid", "number", "inverted_index"}
	cleanArgs   = []string{"regex", "prefix", "lead", "map", "split"}
	pickFormats = []string{"RFC3339", "EPOCH_S", "EPOCH_MS", "YEAR"}
)

func (c *compiler) pick(path string, p Pick) {
	given := 0
	for _, is := range []bool{p.Path != "", p.Parts != nil, len(p.All) > 0} {
		if is {
			given++
		}
	}
	if given != 1 {
		c.fail(path, "needs a path, the parts of a date, or all the paths of a value put together, and only one of these")
	}
	if slices.Contains(p.All, "") {
		c.fail(path+".all", "holds an empty path")
	}
	if p.Parts != nil && (p.Parts.List == "") == (p.Parts.Year == "") {
		c.fail(path, "a date is a list or has at least a year, and not both")
	}
	for _, name := range p.Clean {
		word, arg, has := strings.Cut(name, ":")
		switch {
		case has && slices.Contains(cleanArgs, word):
			if arg == "" {
				c.fail(path, "clean %s: nothing stands behind the colon", word)
			}
			if _, err := regexp.Compile(arg); word == "regex" && err != nil {
				c.fail(path, "clean regex: %v", err)
			}
		case !slices.Contains(cleans, name):
			c.fail(path, "clean %s is not known%s", name, Suggest(word, append(slices.Clone(cleans), cleanArgs...)))
		}
	}
	if p.Format != "" && !slices.Contains(pickFormats, p.Format) && !strings.Contains(p.Format, "2006") {
		c.fail(path, "format %s is neither %s nor a layout such as 2006-01-02", p.Format, strings.Join(pickFormats, ", "))
	}
}
