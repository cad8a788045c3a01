package control

import (
	"context"
	"time"

	"github.com/papertrace/patra/internal/domain/credential"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// maxPassed is how many rows that do not count are told of one part: a source that is
// described anew every day has many.
const maxPassed = 20

// PassedRow is a row that does not count, and why.
type PassedRow struct {
	Row    int64             `json:"row"`
	From   string            `json:"from"` // TASK or SOURCE
	Task   harvest.Operation `json:"operation,omitempty"`
	Begins *Time             `json:"effective_from,omitempty"`
	Ends   *Time             `json:"effective_to,omitempty"`
	Why    string            `json:"why"`
}

// CredentialChoice is the key that an endpoint is asked with first, and why; no row if there is none.
type CredentialChoice struct {
	Endpoint string             `json:"endpoint"`
	Row      int64              `json:"row,omitempty"`
	Name     string             `json:"name,omitempty"`
	From     string             `json:"from,omitempty"`
	Why      string             `json:"why"`
	Passed   []PassedCredential `json:"passed,omitempty"`
}

// PassedCredential is a key that the endpoint is not asked with, or later, and why.
type PassedCredential struct {
	Row  int64  `json:"row"`
	Name string `json:"name"`
	Why  string `json:"why"`
}

// ExplainSource is [Control.SourceContract] with what every part was picked over: the
// table of its rows, those that do not count, and which credential goes with which
// endpoint.
func (c *Control) ExplainSource(ctx context.Context, code string, op harvest.Operation, at time.Time) (SourceContract, error) {
	out, e, err := c.contractAt(ctx, code, op, at)
	if err != nil || out.DescribedFrom != nil {
		return out, err
	}
	for i, ch := range e.Choices {
		v := &out.Choices[i]
		v.Values = nil
		v.Table = c.store.Table(ch.Dimension)
		passed := ch.Passed
		if len(passed) > maxPassed {
			v.PassedMore = len(passed) - maxPassed
			passed = passed[:maxPassed]
		}
		for _, p := range passed {
			v.Passed = append(v.Passed, PassedRow{
				Row: p.Row.ID, From: string(p.Row.Scope), Task: p.Row.Task,
				Begins: optional(p.Row.From), Ends: optional(p.Row.To), Why: p.Why,
			})
		}
	}
	if e.Contract.Spec == nil || e.Contract.Spec.Auth == nil {
		return out, nil
	}
	out.Credentials, err = c.credentialChoices(ctx, e.Contract.Spec, op, e.At)
	return out, err
}

// credentialChoices tells for every endpoint of a contract which key it is asked with.
func (c *Control) credentialChoices(ctx context.Context, spec *source.Spec, op harvest.Operation, at time.Time) ([]CredentialChoice, error) {
	all, _, err := c.keys.List(ctx, spec.Auth.Pool)
	if err != nil {
		return nil, err
	}
	var out []CredentialChoice
	for _, endpoint := range spec.EndpointNames() {
		choice := CredentialChoice{Endpoint: endpoint, Why: "there is none that fits"}
		for _, j := range credential.Judge(all, credential.Aim{Endpoint: endpoint, Task: op}, at) {
			if j.First {
				choice.Row = j.Credential.ID
				choice.Name = j.Credential.Name
				choice.From = string(j.Credential.Scope)
				choice.Why = j.Why
				continue
			}
			choice.Passed = append(choice.Passed, PassedCredential{Row: j.Credential.ID, Name: j.Credential.Name, Why: j.Why})
		}
		if len(choice.Passed) > maxPassed {
			choice.Passed = choice.Passed[:maxPassed]
		}
		out = append(out, choice)
	}
	return out, nil
}
