package credential

import (
	"fmt"
	"slices"
)

// GrantKind is what a source's owner lets others do.
type GrantKind string

// The kinds of grants.
const (
	GrantOrigin GrantKind = "ORIGIN" // the source's credentials may be sent to an origin
	GrantPool   GrantKind = "POOL"   // another source may use the source's credentials
	GrantRate   GrantKind = "RATE"   // another source may share the source's rate limit
)

// Grant is something that packs cannot take by themselves: an operator gives it.
type Grant struct {
	Kind GrantKind `json:"kind"`
	// Value is an origin, or the code of the other source.
	Value string `json:"value"`
}

// String says what is allowed.
func (g Grant) String() string {
	switch g.Kind {
	case GrantOrigin:
		return "its credentials may be sent to " + g.Value
	case GrantPool:
		return "source " + g.Value + " may use its credentials"
	}
	return "source " + g.Value + " may share its rate limit"
}

// Unbound lists the origins that a credential may not be sent to.
func (c Credential) Unbound(origins []string, grants []Grant) (out []string) {
	for _, o := range origins {
		if !slices.Contains(c.Origins, o) && !slices.Contains(grants, Grant{GrantOrigin, o}) {
			out = append(out, o)
		}
	}
	return out
}

// NotAllowed is what a source lacks the owner's word for.
type NotAllowed struct {
	Pool  string // whose word
	Grant Grant
	Text  string
}

func (e *NotAllowed) Error() string { return e.Text + "; to allow it: " + e.Command() }

// Command is how it is given.
func (e *NotAllowed) Command() string {
	flag := map[GrantKind]string{GrantOrigin: "--origin", GrantPool: "--pool-for", GrantRate: "--rate-for"}[e.Grant.Kind]
	return fmt.Sprintf("patra credential allow %s %s %s --reason WHY", e.Pool, flag, e.Grant.Value)
}
