package httpapi

import (
	"context"

	"github.com/papertrace/patra/internal/app/control"
)

type auditInput struct {
	Object string `query:"object" maxLength:"255" doc:"Lines about one object, such as source/crossref"`
	All    bool   `query:"all" doc:"Also what patra did by itself"`
	Page
}

type credentialsInput struct {
	Source string `query:"source" maxLength:"64" doc:"Of this source only"`
	All    bool   `query:"all" doc:"Also those that have ended"`
}

type tokensInput struct {
	All bool `query:"all" doc:"Also those that have expired or were revoked"`
}

type OfToken struct {
	Name string `path:"name" maxLength:"64" doc:"Name of the token"`
}

type revokeInput struct {
	OfToken
	ChangeHeaders
	Body struct {
		Seen
	}
}

// declareAccess adds the audit, and what only an admin sees: credentials by their
// names and places, and tokens by their names.
func (d *Door) declareAccess() {
	declare(d, look("/audit", "audit", "Who changed what, when and why, the newest first"),
		func(ctx context.Context, in *auditInput) (control.AuditList, error) {
			before, err := in.Page.page().Number()
			if err != nil {
				return control.AuditList{}, err
			}
			return d.control.Audit(ctx, control.AuditQuery{Object: in.Object, All: in.All, Before: before, Limit: in.Limit})
		})
	credentials := look("/credentials", "access", "The credentials of sources: where each is, never what")
	credentials.needs = control.Admin
	declare(d, credentials, func(ctx context.Context, in *credentialsInput) (control.CredentialList, error) {
		return d.control.Credentials(ctx, in.Source, in.All)
	})
	tokens := look("/tokens", "access", "Who may come: tokens by their names")
	tokens.needs = control.Admin
	declare(d, tokens, func(ctx context.Context, in *tokensInput) (control.TokenList, error) {
		return d.control.Tokens(ctx, in.All)
	})
	declare(d, preview("/tokens/{name}/revoke", "access", control.Admin, "The token that would be ended"),
		func(ctx context.Context, in *OfToken) (control.TokenEnded, error) {
			return d.control.PreviewRevoke(ctx, in.Name)
		})
	declare(d, act("/tokens/{name}/revoke", "access", control.Admin, "End a token at once"),
		func(ctx context.Context, in *revokeInput) (control.TokenEnded, error) {
			return d.control.RevokeToken(ctx, in.Name, in.Body.by(ctx))
		})
}
