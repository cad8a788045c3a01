package control

import (
	"context"

	"github.com/papertrace/patra/internal/app/oaipmh"
	"github.com/papertrace/patra/internal/app/sourcecheck"
	"github.com/papertrace/patra/internal/domain/harvest"
)

// PackFromOAI asks an OAI-PMH repository about itself and writes a pack for it, or
// for one of its sets. Without a code its host gives one. Nothing is stored.
func (c *Control) PackFromOAI(ctx context.Context, code, address, set string) (string, error) {
	a, err := oaipmh.ParseAddress(address)
	if err != nil {
		return "", err
	}
	if code == "" {
		code = a.Code()
	}
	questions, err := a.Questions(code, c.packs.Vars())
	if err != nil {
		return "", err
	}
	up, _ := c.tester.Wire(&sourcecheck.Subject{Source: code, Operation: harvest.Backfill, Spec: questions[0]}, nil)
	defer up.Close()
	r, err := oaipmh.Ask(ctx, up, questions)
	if err != nil {
		return "", err
	}
	return r.Pack(a, code, set), nil
}
