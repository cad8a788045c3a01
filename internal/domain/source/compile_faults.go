package source

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/papertrace/patra/internal/domain/harvest"
)

var faultCode = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

func (c *compiler) faults() {
	used := map[string]bool{}
	for i, f := range c.def.Faults {
		path := fmt.Sprintf("faults[%d]", i)
		if !faultCode.MatchString(f.Code) {
			c.fail(path+".code", "%q is not a word such as token_expired", f.Code)
		}
		coded(c, path+".reaction", DictReaction, f.Reaction)
		if f.Reaction == harvest.NoItems {
			if f.Level != "" {
				c.fail(path+".level", "an empty page is no fault and has none")
			}
		} else {
			oneOf(c, path+".level", f.Level, harvest.Transient, harvest.Rejected, harvest.Fatal)
		}
		if f.Reaction == harvest.Retry && f.Level != harvest.Transient {
			c.fail(path+".reaction", "a request that is retried is %s, not %s", harvest.Transient, f.Level)
		}
		if f.Reaction == harvest.RestartWalk && f.Level != harvest.Transient {
			c.fail(path+".reaction", "a walk that is begun again is %s, not %s: no new walk mends a refusal", harvest.Transient, f.Level)
		}
		if len(f.Status) == 0 && f.Body == "" && f.Signal == "" {
			c.fail(path, "has no condition: status, body or signal")
		}
		for _, s := range f.Status {
			if s < 100 || s > 599 {
				c.fail(path+".status", "%d is not an HTTP status", s)
			}
		}
		for _, x := range []struct{ name, pattern string }{{"body", f.Body}, {"match", f.Match}} {
			if _, err := regexp.Compile(x.pattern); err != nil {
				c.fail(path+"."+x.name, "%v", err)
			}
		}
		if f.Match != "" && f.Signal == "" {
			c.fail(path+".match", "needs the signal it is matched against")
		}
		if f.Endpoint != "" && !slices.ContainsFunc(c.def.Endpoints, f.canComeFrom) {
			c.fail(path+".endpoint", "%s is not an endpoint of this source", f.Endpoint)
		}
		if f.Signal != "" {
			used[f.Signal] = true
			c.signal(path+".signal", f)
		}
	}
	c.spec.Faults = append(slices.Clone(c.def.Faults), statusRules(c.def.Retry)...)
	for _, e := range c.def.Endpoints {
		for _, name := range keysOf(e.Response.Signals) {
			if !used[name] {
				c.note(join(join("endpoints", e.Name)+".response.signals", name), "no fault rule refers to it")
			}
		}
	}
}

// canComeFrom reports whether the rule speaks of the endpoint, which it may name
// by its own name or by its usage.
func (f FaultRule) canComeFrom(e Endpoint) bool {
	return f.Endpoint == "" || strings.EqualFold(f.Endpoint, e.Name) || strings.EqualFold(f.Endpoint, string(e.Usage))
}

func (c *compiler) signal(path string, f FaultRule) {
	var known []string
	for _, e := range c.def.Endpoints {
		if f.canComeFrom(e) {
			known = append(known, keysOf(e.Response.Signals)...)
		}
	}
	if !slices.Contains(known, f.Signal) {
		c.fail(path, "%s is not a signal of an endpoint it can come from%s", f.Signal, Suggest(f.Signal, known))
	}
}
