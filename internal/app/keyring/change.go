package keyring

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/papertrace/patra/internal/domain/credential"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/problem"
	"github.com/papertrace/patra/internal/domain/source"
)

// Order is how a change is to be made.
type Order struct {
	Audit source.Audit
	// DryRun changes nothing and returns what would be done.
	DryRun bool
}

// Offer is a credential as an operator gives it: a reference, or a secret to be
// sealed.
type Offer struct {
	Credential credential.Credential
	Secret     credential.Secret
}

// UnknownError names the credentials there are.
type UnknownError struct {
	Pool, Name string
	Known      []string
}

func (e *UnknownError) Error() string {
	if len(e.Known) == 0 {
		return fmt.Sprintf("source %s has no credential %q, nor any other", e.Pool, e.Name)
	}
	return fmt.Sprintf("source %s has no credential %q; known: %s", e.Pool, e.Name, strings.Join(e.Known, ", "))
}

// Problem implements problem.Error.
func (e *UnknownError) Problem() problem.Problem {
	return problem.Problem{Code: "unknown_credential", Kind: problem.NotFound, Title: e.Error(), Next: "patra credential list " + e.Pool}
}

// ErrAbsent: there is nothing at the place that a credential says its secret is.
var ErrAbsent = errors.New("nothing is there")

var errDryRun = errors.New("dry run")

// List returns all rows of a pool, ended ones included, and the store's time.
func (r *Ring) List(ctx context.Context, pool string) ([]credential.Credential, time.Time, error) {
	return r.store.Credentials(ctx, pool)
}

// Set puts a credential into a pool, in place of the one of the same name, bound
// to where the source is by the description in force.
func (r *Ring) Set(ctx context.Context, o Offer, how Order) ([]credential.Change, error) {
	c, err := r.prepare(o)
	if err != nil {
		return nil, err
	}
	c.Origins, err = r.where(ctx, c.Pool)
	if err != nil {
		return nil, err
	}
	how.Audit.Action = "CREDENTIAL_SET"
	return r.change(ctx, c.Pool, c.Name, how, func(all []credential.Credential, now time.Time) ([]credential.Change, error) {
		return supersede(all, c, now), nil
	})
}

// Rotate gives the credential of a name another secret, keeping what else is
// said of it. The row before ends as this one begins.
func (r *Ring) Rotate(ctx context.Context, o Offer, how Order) ([]credential.Change, error) {
	pool, name := o.Credential.Pool, o.Credential.Name
	how.Audit.Action = "CREDENTIAL_ROTATE"
	return r.change(ctx, pool, name, how, func(all []credential.Credential, now time.Time) ([]credential.Change, error) {
		old, err := find(all, pool, name, now)
		if err != nil {
			return nil, err
		}
		ref := o.Credential.Secret
		o.Credential = old
		o.Credential.Secret, o.Credential.Status = ref, credential.Active
		c, err := r.prepare(o)
		if err != nil {
			return nil, err
		}
		return supersede(all, c, now), nil
	})
}

// Reseal seals every sealed secret of a pool that is not under the current key,
// or whose hash is of an older kind, anew. The secrets stay what they are.
func (r *Ring) Reseal(ctx context.Context, pool string, how Order) ([]credential.Change, error) {
	how.Audit.Action = "CREDENTIAL_RESEAL"
	return r.change(ctx, pool, "", how, func(all []credential.Credential, now time.Time) ([]credential.Change, error) {
		var out []credential.Change
		var errs []error
		for _, c := range all {
			if c.Secret.Kind != credential.SecretSealed || !open(c, now) {
				continue
			}
			done, err := r.vault.Current(c.Secret)
			if err != nil {
				return nil, err
			}
			s, err := r.vault.Resolve(c)
			if err != nil {
				errs = append(errs, err)
				continue
			}
			ref, err := r.vault.Seal(c, s)
			errs = append(errs, err)
			if !done || ref.MAC != c.Secret.MAC {
				out = append(out, credential.Change{Reseal: c.ID, Secret: &ref})
			}
		}
		return out, errors.Join(errs...)
	})
}

// Disable takes a credential out of use.
func (r *Ring) Disable(ctx context.Context, pool, name string, how Order) ([]credential.Change, error) {
	how.Audit.Action = "CREDENTIAL_DISABLE"
	return r.change(ctx, pool, name, how, func(all []credential.Credential, now time.Time) ([]credential.Change, error) {
		c, err := find(all, pool, name, now)
		if err != nil || c.Status == credential.Disabled {
			return nil, err
		}
		return []credential.Change{{Disable: c.ID}}, nil
	})
}

// prepare checks an offer and seals its secret if there is one.
func (r *Ring) prepare(o Offer) (credential.Credential, error) {
	c := o.Credential
	c.Weight, c.Status = max(1, c.Weight), cmp.Or(c.Status, credential.Active)
	c.ID = 0
	c.Refused = 0
	c.RefusedUntil = time.Time{}
	c.To = time.Time{}
	if !o.Secret.Empty() {
		r.learn(o.Secret)
		ref, err := r.vault.Seal(c, o.Secret)
		if err != nil {
			return c, err
		}
		c.Secret = ref
	}
	return c, credential.Check(c)
}

func (r *Ring) change(ctx context.Context, pool, name string, how Order, decide func([]credential.Credential, time.Time) ([]credential.Change, error)) ([]credential.Change, error) {
	how.Audit.Object = "credential/" + strings.TrimSuffix(pool+"/"+name, "/")
	var done []credential.Change
	step := func(all []credential.Credential, now time.Time) ([]credential.Change, error) {
		var err error
		done, err = decide(all, now)
		if err == nil && how.DryRun {
			err = errDryRun
		}
		return done, err
	}
	err := r.store.ChangeCredentials(ctx, pool, how.Audit, step)
	if how.DryRun && errors.Is(err, harvest.ErrNotFound) { // it would be made first
		_, err = step(nil, time.Time{})
	}
	if errors.Is(err, errDryRun) {
		err = nil
	}
	return done, err
}

// supersede puts c in place of the row of its name.
func supersede(all []credential.Credential, c credential.Credential, now time.Time) []credential.Change {
	c.From = now
	var out []credential.Change
	if old, err := find(all, c.Pool, c.Name, now); err == nil {
		c.Supersedes = old.ID
		out = append(out, credential.Change{Close: old.ID})
	}
	return append(out, credential.Change{Add: &c})
}

// open reports whether a row has not ended.
func open(c credential.Credential, now time.Time) bool { return c.To.IsZero() || c.To.After(now) }

// find returns the row of a name that has not ended.
func find(all []credential.Credential, pool, name string, now time.Time) (credential.Credential, error) {
	unknown := &UnknownError{Pool: pool, Name: name}
	for _, c := range slices.Backward(all) {
		if !open(c, now) {
			continue
		}
		if c.Name == name {
			return c, nil
		}
		unknown.Known = append(unknown.Known, c.Name)
	}
	return credential.Credential{}, unknown
}
