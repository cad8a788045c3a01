package credential

import (
	"fmt"
	"slices"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// Judged is a credential and why it is used first for an aim, later, or not at all.
type Judged struct {
	Credential Credential
	First      bool
	Why        string
}

// Judge says of every credential what it is good for: those that can be used, in their
// order, then the others.
func Judge(all []Credential, aim Aim, at time.Time) []Judged {
	var out []Judged
	usable := Candidates(all, aim, at)
	for i, c := range usable {
		j := Judged{Credential: c, First: i == 0, Why: c.claim()}
		switch {
		case i == 0:
		case c.standing() == usable[0].standing():
			j.Why = fmt.Sprintf("takes turns with %s, by weight", usable[0].Name)
		default:
			j.Why = fmt.Sprintf("comes after %s, which %s", usable[0].Name, usable[0].claim())
		}
		out = append(out, j)
	}
	for _, c := range all {
		if !slices.ContainsFunc(usable, func(u Credential) bool { return u.ID == c.ID }) {
			out = append(out, Judged{Credential: c, Why: c.whyNot(aim, at)})
		}
	}
	return out
}

// claim is what the standing of a credential comes from.
func (c Credential) claim() string {
	switch {
	case c.Endpoint != "":
		return "is bound to the endpoint"
	case c.Scope == source.ScopeTask:
		return fmt.Sprintf("is for %s alone", c.Task)
	case c.Preferred:
		return "is preferred"
	}
	return "is the source's"
}

// whyNot says why a credential cannot be used for an aim.
func (c Credential) whyNot(aim Aim, at time.Time) string {
	switch {
	case c.Endpoint != "" && c.Endpoint != aim.Endpoint:
		return "is bound to the endpoint " + c.Endpoint
	case c.Scope == source.ScopeTask && c.Task != aim.Task:
		return fmt.Sprintf("is for %s", c.Task)
	case c.Status != Active:
		return "is disabled"
	case c.From.After(at):
		return "begins at " + harvest.FormatInstant(c.From)
	case !c.InForce(at):
		return "ended at " + harvest.FormatInstant(c.To)
	}
	return "rests until " + harvest.FormatInstant(c.RefusedUntil) + ", since it was refused"
}
