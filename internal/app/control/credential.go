package control

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/papertrace/patra/internal/app/keyring"
	"github.com/papertrace/patra/internal/domain/credential"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/problem"
	"github.com/papertrace/patra/internal/domain/source"
)

// Vault gets the secret of a credential. One that is not where the credential says
// is [keyring.ErrAbsent].
type Vault interface {
	Resolve(c credential.Credential) (credential.Secret, error)
}

// Words for what a credential is good for.
const (
	CredentialActive   = "ACTIVE"
	CredentialResting  = "RESTING"
	CredentialFuture   = "FUTURE"
	CredentialDisabled = "DISABLED"
	CredentialEnded    = "ENDED"
)

// CredentialFamily is the family of such a word.
func CredentialFamily(word string) Family {
	switch word {
	case CredentialActive:
		return OK
	case CredentialResting, CredentialFuture:
		return Waiting
	default:
		return Off
	}
}

// CredentialRow is a credential as it is shown: where its secret is, never what.
type CredentialRow struct {
	credential.Credential
	State string `json:"state"`
}

// CredentialList are the credentials of a source, or of all.
type CredentialList struct {
	Credentials []CredentialRow `json:"credentials"`
}

// Credentials lists the credentials of a source, or of all if none is named; those
// that have ended only if all are asked for.
func (c *Control) Credentials(ctx context.Context, pool string, all bool) (CredentialList, error) {
	out := CredentialList{Credentials: []CredentialRow{}}
	if err := c.known(ctx, pool); err != nil {
		return out, err
	}
	creds, now, err := c.keys.List(ctx, pool)
	if err != nil {
		return out, err
	}
	for _, cred := range creds {
		word := credentialWord(cred, now)
		if all || word != CredentialEnded {
			out.Credentials = append(out.Credentials, CredentialRow{cred, word})
		}
	}
	return out, nil
}

// credentialWord says what a credential is good for at an instant.
func credentialWord(c credential.Credential, now time.Time) string {
	switch {
	case !c.To.IsZero() && !c.To.After(now):
		return CredentialEnded
	case c.Status == credential.Disabled:
		return CredentialDisabled
	case c.From.After(now):
		return CredentialFuture
	case c.Resting(now):
		return CredentialResting
	default:
		return CredentialActive
	}
}

// CredentialOrder says who changes the credentials of a source.
type CredentialOrder struct {
	By
	Source string
	DryRun bool
	// Help is the command that tells how it is asked for, for those who are refused.
	Help string
}

func (o CredentialOrder) order() keyring.Order {
	return keyring.Order{Audit: source.Audit{Actor: o.Actor, Reason: o.Reason}, DryRun: o.DryRun}
}

// refuse is an error about what was asked for.
func (o CredentialOrder) refuse(format string, args ...any) error {
	return problem.New(fmt.Sprintf(format, args...), problem.Problem{Code: "usage", Kind: problem.Usage, Next: o.Help})
}

// CredentialChanges is what was done to the credentials of a source, or would be.
type CredentialChanges struct {
	Changes []CredentialChange `json:"changes"`
	DryRun  bool               `json:"dry_run"`
	Source  string             `json:"source"`
	// Token, of a preview, lets exactly this be done.
	Token string `json:"token,omitempty"`
}

// CredentialChange is one thing that is done to the credentials of a source.
type CredentialChange struct{ credential.Change }

// changeCredentials makes a change, or shows what it would be. wanted is what is asked
// for, without a secret.
func (c *Control) changeCredentials(
	ctx context.Context, o CredentialOrder, wanted any, do func() ([]credential.Change, error),
) (CredentialChanges, error) {
	out := CredentialChanges{Changes: []CredentialChange{}, DryRun: o.DryRun, Source: o.Source}
	// A shipped source that nobody has used yet is put into the registry here.
	if _, err := c.registry.Contents(ctx, o.Source); err != nil {
		return out, err
	}
	shown, err := c.credentialsAs(ctx, o.Source, wanted)
	if err != nil {
		return out, err
	}
	const action = "CREDENTIAL"
	if !o.DryRun {
		if err := c.checkSeen(ctx, o.Token, action, o.Source, shown); err != nil {
			return out, err
		}
	}
	changes, err := do()
	for _, ch := range changes {
		out.Changes = append(out.Changes, CredentialChange{ch})
	}
	if err != nil || !o.DryRun {
		return out, err
	}
	out.Token, err = c.seenToken(ctx, action, o.Source, shown)
	return out, err
}

// credentialsAs is how the credentials of a source stand, beside what is wanted of them.
func (c *Control) credentialsAs(ctx context.Context, pool string, wanted any) ([]any, error) {
	all, _, err := c.keys.List(ctx, pool)
	out := []any{wanted}
	for _, cred := range all {
		out = append(out, []any{cred.ID, cred.Status, cred.To})
	}
	return out, err
}

// SetCredential gives a source a key, in place of the one of the same name.
func (c *Control) SetCredential(ctx context.Context, offer SecretOffer, o CredentialOrder) (CredentialChanges, error) {
	given := offer.of(o.Source)
	if err := c.checkPlace(given, offer.Later, o); err != nil {
		return CredentialChanges{}, err
	}
	return c.changeCredentials(ctx, o, given.Credential, func() ([]credential.Change, error) {
		if err := c.refuseUseless(ctx, given, o); err != nil {
			return nil, err
		}
		return c.keys.Set(ctx, given, o.order())
	})
}

// RotateCredential gives a credential another secret.
func (c *Control) RotateCredential(ctx context.Context, offer SecretOffer, o CredentialOrder) (CredentialChanges, error) {
	given := offer.of(o.Source)
	if err := c.checkPlace(given, offer.Later, o); err != nil {
		return CredentialChanges{}, err
	}
	return c.changeCredentials(ctx, o, given.Credential, func() ([]credential.Change, error) {
		con, err := c.registry.Contract(ctx, o.Source, harvest.Harvest)
		if err == nil && con.Spec.Auth != nil { // else whoever uses it will tell
			if err := c.refuseUnfit(con.Spec, given, o); err != nil {
				return nil, err
			}
		}
		return c.keys.Rotate(ctx, given, o.order())
	})
}

// ResealCredentials seals the secrets of a source anew under the current key.
func (c *Control) ResealCredentials(ctx context.Context, o CredentialOrder) (CredentialChanges, error) {
	return c.changeCredentials(ctx, o, "reseal", func() ([]credential.Change, error) { return c.keys.Reseal(ctx, o.Source, o.order()) })
}

// DisableCredential takes a credential out of use at once.
func (c *Control) DisableCredential(ctx context.Context, name string, o CredentialOrder) (CredentialChanges, error) {
	return c.changeCredentials(ctx, o, "disable "+name, func() ([]credential.Change, error) { return c.keys.Disable(ctx, o.Source, name, o.order()) })
}

// checkPlace refuses a secret that is not where it is said to be. Nothing given is
// repeated in an error: it may be a secret in the wrong place.
func (c *Control) checkPlace(offer keyring.Offer, later bool, o CredentialOrder) error {
	if !offer.Secret.Empty() {
		return nil
	}
	_, err := c.vault.Resolve(offer.Credential)
	absent := errors.Is(err, keyring.ErrAbsent)
	switch {
	case absent && !later:
		return o.refuse("there is no secret at that place now; if there will be where patra runs, say --later")
	case err != nil && !absent: // what is there would never do
		return o.refuse("%s", err)
	}
	return nil
}

// refuseUseless refuses a credential that no request would ever use.
func (c *Control) refuseUseless(ctx context.Context, offer keyring.Offer, o CredentialOrder) error {
	cred := offer.Credential
	op := harvest.Harvest
	if cred.Scope == source.ScopeTask {
		op = cred.Task
	}
	con, err := c.registry.Contract(ctx, cred.Pool, op)
	if err != nil {
		return err
	}
	if con.Spec.Auth == nil {
		return o.refuse("source %s declares no auth, so nothing would use a credential; add an auth part to its pack first", cred.Pool)
	}
	var names []string
	for _, p := range source.Purposes() {
		if e := con.Spec.Endpoint(p); e != nil {
			names = append(names, e.Name)
		}
	}
	if cred.Endpoint != "" && !slices.Contains(names, cred.Endpoint) {
		return o.refuse("source %s has no endpoint %q; known: %s", cred.Pool, cred.Endpoint, strings.Join(names, ", "))
	}
	return c.refuseUnfit(con.Spec, offer, o)
}

// refuseUnfit refuses a credential with more or fewer secrets than the source
// sends. One that cannot be read yet is believed.
func (c *Control) refuseUnfit(spec *source.Spec, offer keyring.Offer, o CredentialOrder) error {
	secret := offer.Secret
	if secret.Empty() {
		var err error
		secret, err = c.vault.Resolve(offer.Credential)
		if err != nil {
			return nil //nolint:nilerr // it will be there later
		}
	}
	if err := secret.Fits(spec.Auth); err != nil {
		return o.refuse("%s: %s", offer.Credential.Pool, err)
	}
	return nil
}

// GrantList is what is allowed of a source's credentials beyond where they were set.
type GrantList struct {
	Allowed []credential.Grant `json:"allowed"`
	Source  string             `json:"source"`
}

// Grants lists what is allowed of a source's credentials.
func (c *Control) Grants(ctx context.Context, code string) (GrantList, error) {
	out := GrantList{Source: code, Allowed: []credential.Grant{}}
	if err := c.known(ctx, code); err != nil {
		return out, err
	}
	grants, err := c.keys.Grants(ctx, code)
	out.Allowed = append(out.Allowed, grants...)
	return out, err
}

// Allow lets the credentials of a source go elsewhere, or another source use them or
// its rate limit; or it takes that back.
func (c *Control) Allow(ctx context.Context, p Permission, o CredentialOrder) (CredentialChanges, error) {
	grants := p.grants()
	return c.changeCredentials(ctx, o, p, func() ([]credential.Change, error) {
		for _, g := range grants {
			if g.Kind == credential.GrantOrigin {
				continue
			}
			if err := c.known(ctx, g.Value); err != nil {
				return nil, err
			}
		}
		return c.keys.Allow(ctx, keyring.Permission{Pool: o.Source, Grants: grants, Withdraw: p.Withdraw}, o.order())
	})
}
