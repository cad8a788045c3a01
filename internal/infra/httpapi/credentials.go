package httpapi

import (
	"context"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
)

// CredentialWish is a credential that a source is to have: where its secret is, never
// the secret, which does not travel this way.
type CredentialWish struct {
	Source    string `json:"source" minLength:"1" maxLength:"64" doc:"Code of the source"`
	Name      string `json:"name" minLength:"1" maxLength:"64" pattern:"^[A-Za-z0-9._-]+$" doc:"Its name, in place of one that has it"`
	Env       string `json:"env,omitempty" maxLength:"255" pattern:"^([A-Za-z_][A-Za-z0-9_]*(,[A-Za-z_][A-Za-z0-9_]*)*)?$" doc:"The variable that holds the secret where patra runs"`
	File      string `json:"file,omitempty" maxLength:"1000" pattern:"^(/.*)?$" doc:"The file that holds it, by its whole path"`
	Later     bool   `json:"later,omitempty" doc:"It is not there yet"`
	Endpoint  string `json:"endpoint,omitempty" maxLength:"64" doc:"For this endpoint only"`
	Operation string `json:"operation,omitempty" enum:"HARVEST,BACKFILL,UPDATE" doc:"For this operation only"`
	Preferred bool   `json:"preferred,omitempty" doc:"Used before others of its standing"`
	Weight    int    `json:"weight,omitempty" minimum:"1" maximum:"1000" default:"1" doc:"Its share among those that take turns"`
}

// offer is the wish as control takes it.
func (w CredentialWish) offer() (control.SecretOffer, error) {
	if (w.Env == "") == (w.File == "") {
		return control.SecretOffer{}, refusal(422, "usage", "say where the secret is: one of env and file",
			"a secret itself is sealed by `patra credential set SOURCE NAME --stdin`")
	}
	return control.SecretOffer{
		Name: w.Name, Endpoint: w.Endpoint, Task: harvest.Operation(w.Operation), Preferred: w.Preferred, Weight: w.Weight, Env: w.Env, File: w.File, Later: w.Later,
	}, nil
}

// credentialHelp is where it stands how credentials are asked for.
const credentialHelp = "see /api/v1/openapi.json for what this route takes"

type credentialPreviewInput struct {
	Body CredentialWish
}

func (in credentialPreviewInput) sourceCode() string { return in.Body.Source }

type credentialInput struct {
	ChangeHeaders
	Body struct {
		Seen
		CredentialWish
	}
}

func (in credentialInput) sourceCode() string { return in.Body.Source }

// OfCredential names a credential in the path.
type OfCredential struct {
	OfSource
	Name string `path:"name" maxLength:"64" pattern:"^[A-Za-z0-9._-]+$" doc:"Name of the credential"`
}

type disableInput struct {
	OfCredential
	ChangeHeaders
	Body struct{ Seen }
}

// declareCredentials adds how sources are given keys, by reference.
func (d *Door) declareCredentials() {
	const tag = "access"
	declare(d, act("/credentials/preview", tag, control.Admin, "What giving a source a credential would change"),
		func(ctx context.Context, in *credentialPreviewInput) (control.CredentialChanges, error) {
			offer, err := in.Body.offer()
			if err != nil {
				return control.CredentialChanges{}, err
			}
			return d.control.SetCredential(ctx, offer, control.CredentialOrder{Source: in.Body.Source, DryRun: true, Help: credentialHelp})
		})
	declare(d, act("/credentials", tag, control.Admin, "Give a source a credential, in place of one of that name"),
		func(ctx context.Context, in *credentialInput) (control.CredentialChanges, error) {
			offer, err := in.Body.offer()
			if err != nil {
				return control.CredentialChanges{}, err
			}
			return d.control.SetCredential(ctx, offer, control.CredentialOrder{By: in.Body.by(ctx), Source: in.Body.Source, Help: credentialHelp})
		})
	declare(d, preview("/credentials/{code}/{name}/disable", tag, control.Admin, "What taking a credential out of use would change"),
		func(ctx context.Context, in *OfCredential) (control.CredentialChanges, error) {
			return d.control.DisableCredential(ctx, in.Name, control.CredentialOrder{Source: in.Code, DryRun: true, Help: credentialHelp})
		})
	declare(d, act("/credentials/{code}/{name}/disable", tag, control.Admin, "Take a credential out of use at once"),
		func(ctx context.Context, in *disableInput) (control.CredentialChanges, error) {
			return d.control.DisableCredential(ctx, in.Name, control.CredentialOrder{By: in.Body.by(ctx), Source: in.Code, Help: credentialHelp})
		})
}
