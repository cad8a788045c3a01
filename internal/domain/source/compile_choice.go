package source

import (
	"fmt"
	"slices"
	"strings"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/problem"
)

// EndpointError says that an operation cannot go through the endpoint that was named.
type EndpointError struct {
	Source    string
	Operation harvest.Operation
	Named     string
	Known     []string // the names of those it can go through
}

func (e *EndpointError) Error() string {
	return fmt.Sprintf("%s has no %s endpoint %q, which %s would go through; it has %s",
		e.Source, mainUsage(e.Operation), e.Named, e.Operation, strings.Join(e.Known, ", "))
}

// Problem implements problem.Error.
func (e *EndpointError) Problem() problem.Problem {
	return problem.Problem{
		Code: "no_endpoint", Kind: problem.Usage, Title: e.Error(), Next: "name one of these, or leave --endpoint out",
	}
}

// mainUsage is what the endpoint is for that an operation goes through.
func mainUsage(op harvest.Operation) Usage {
	if op == harvest.Update {
		return UsageDetail
	}
	return UsageSearch
}

// At is the endpoint that an operation goes through.
func (s *Spec) At(op harvest.Operation) harvest.EndpointOf {
	at := harvest.EndpointOf{Provenance: s.Source, Endpoint: s.Search.Name}
	if op == harvest.Update && s.Detail != nil {
		at.Endpoint = s.Detail.Name
	}
	return at
}

// EndpointsOf lists the endpoints that an operation may go through, by name.
func (d Definition) EndpointsOf(op harvest.Operation) []string {
	var out []string
	for _, e := range d.Endpoints {
		if e.Usage == mainUsage(op) {
			out = append(out, e.Name)
		}
	}
	return out
}

// choose picks the endpoints that are asked, one of each usage (R72): the one that the
// trigger names, of the others those that belong to the SEARCH endpoint, else the one
// that is the only one or the default.
func (c *compiler) choose() ([]Endpoint, error) {
	byUsage := map[Usage][]Endpoint{}
	names := map[string]bool{}
	for _, e := range c.def.Endpoints {
		e = c.withParams(e)
		path := join("endpoints", e.Name)
		if e.Name == "" || names[e.Name] {
			c.fail(path, "endpoints need names of their own")
		}
		names[e.Name] = true
		if !coded(c, path+".usage", DictUsage, e.Usage) {
			continue
		}
		if e.Usage == UsageMetrics || e.Usage == UsageToken {
			c.note(path, "%s: it is described, and no run asks it", e.Usage)
			continue
		}
		byUsage[e.Usage] = append(byUsage[e.Usage], e)
	}
	main := mainUsage(c.t.Operation)
	if c.t.Endpoint != "" {
		i := slices.IndexFunc(byUsage[main], func(e Endpoint) bool { return e.Name == c.t.Endpoint })
		if i < 0 {
			return nil, &EndpointError{Source: c.def.Source, Operation: c.t.Operation, Named: c.t.Endpoint, Known: c.def.EndpointsOf(c.t.Operation)}
		}
		usual, _ := c.usual(byUsage[main])
		c.spec.Beside = usual.Name != c.t.Endpoint
		byUsage[main] = byUsage[main][i : i+1]
	}
	search, found := c.usual(byUsage[UsageSearch])
	var out []Endpoint
	if found {
		out = append(out, search)
	}
	for _, usage := range []Usage{UsageCount, UsageDetail, UsageLookup, UsageHead} {
		e, found := c.usual(c.belonging(byUsage[usage], search))
		if found {
			out = append(out, e)
		}
	}
	return out, nil
}

// belonging are the endpoints of a usage that go with a SEARCH endpoint: its own if it
// has some, else those that go with all.
func (c *compiler) belonging(all []Endpoint, search Endpoint) []Endpoint {
	var own, shared []Endpoint
	for _, e := range all {
		switch {
		case e.Of == "":
			shared = append(shared, e)
		case !slices.ContainsFunc(c.def.Endpoints, func(s Endpoint) bool { return s.Name == e.Of && s.Usage == UsageSearch }):
			c.fail(join("endpoints", e.Name)+".of", "%q is no SEARCH endpoint", e.Of)
		case e.Of == search.Name:
			own = append(own, e)
		}
	}
	if len(own) > 0 {
		return own
	}
	return shared
}

// usual is the one of several endpoints of a usage that is asked unless another is named.
func (c *compiler) usual(all []Endpoint) (Endpoint, bool) {
	switch len(all) {
	case 0:
		return Endpoint{}, false
	case 1:
		return all[0], true
	}
	var marked, names []string
	at := 0
	for i, e := range all {
		names = append(names, e.Name)
		if e.Default {
			marked = append(marked, e.Name)
			at = i
		}
	}
	path := join("endpoints", all[at].Name) + ".default"
	switch len(marked) {
	case 0:
		c.fail(path, "%s are all %s endpoints: say of one of them that it is the default", strings.Join(names, ", "), all[0].Usage)
	case 1:
	default:
		c.fail(path, "%s are all the default of the %s endpoints: only one can be", strings.Join(marked, ", "), all[0].Usage)
	}
	return all[at], true
}
