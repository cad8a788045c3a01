package keyring

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/papertrace/patra/internal/domain/credential"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// pool reads the credentials that a spec may want, and what their source allows
// others if that matters. Those that were set without saying where they may be sent are
// bound here, at first sight, to where their source is now.
func (r *Ring) pool(ctx context.Context, spec *source.Spec, to []string) ([]credential.Credential, time.Time, []credential.Grant, error) {
	pool := spec.Auth.Pool
	all, now, err := r.store.Credentials(ctx, pool)
	if err != nil {
		return nil, now, nil, err
	}
	if slices.ContainsFunc(all, func(c credential.Credential) bool { return unbound(c, now) }) {
		if err := r.bind(ctx, pool, all, now); err != nil {
			return nil, now, nil, err
		}
		all, now, err = r.store.Credentials(ctx, pool)
		if err != nil {
			return nil, now, nil, err
		}
	}
	if spec.Source == pool && !slices.ContainsFunc(all, func(c credential.Credential) bool { return len(c.Unbound(to, nil)) > 0 }) {
		return all, now, nil, nil
	}
	grants, err := r.store.Grants(ctx, pool)
	return all, now, grants, err
}

// unbound reports whether nobody has said where a credential may be sent.
func unbound(c credential.Credential, now time.Time) bool { return c.Origins == nil && open(c, now) }

// bind binds those that are not bound yet, each with an audit line of its own. It needs no
// right to write the registry: a credential that was entered by SQL works in a fleet too.
func (r *Ring) bind(ctx context.Context, pool string, all []credential.Credential, now time.Time) error {
	origins, err := r.where(ctx, pool)
	if err != nil {
		return fmt.Errorf("where credentials of %s may be sent: %w", pool, err)
	}
	a := source.Audit{
		Actor: "patra", Action: "CREDENTIAL_BIND", Object: "credential/" + pool,
		Reason: "set without saying where it may be sent; bound to the origins of the source at first sight",
	}
	for _, c := range all {
		if !unbound(c, now) {
			continue
		}
		bound, err := r.store.BindCredential(ctx, c.ID, origins, a)
		if err != nil {
			return fmt.Errorf("bind credential %s of %s: %w", c.Name, pool, err)
		}
		if bound {
			r.log.Warn("credential bound to where its source is", "source", pool, "credential", c.Name, "origins", strings.Join(origins, " "))
		}
	}
	return nil
}

// barred says why a spec may not send a credential to origins.
func barred(spec *source.Spec, c credential.Credential, to []string, grants []credential.Grant) *credential.NotAllowed {
	if g := (credential.Grant{Kind: credential.GrantPool, Value: spec.Source}); spec.Source != c.Pool && !slices.Contains(grants, g) {
		return &credential.NotAllowed{Pool: c.Pool, Grant: g, Text: fmt.Sprintf("source %s wants the credentials of %s, which nobody has allowed", spec.Source, c.Pool)}
	}
	if out := c.Unbound(to, grants); len(out) > 0 {
		return &credential.NotAllowed{Pool: c.Pool, Grant: credential.Grant{Kind: credential.GrantOrigin, Value: out[0]}, Text: fmt.Sprintf(
			"credential %s of %s would be sent to %s; it was set for %s", c.Name, c.Pool, out[0], strings.Join(c.Origins, ", "))}
	}
	return nil
}

// foreignRates finds the rate limits of other sources that a spec counts its
// requests under: what its upstream complains of would slow those down.
func (r *Ring) foreignRates(ctx context.Context, spec *source.Spec) (bad source.Violations, err error) {
	keys := spec.RateKeys()
	for _, path := range slices.Sorted(maps.Keys(keys)) {
		key := keys[path]
		if key == spec.Source || key == "" {
			continue
		}
		owner := key
		if !r.known(ctx, key) {
			owner, err = r.store.RateOwner(ctx, key)
			if err != nil {
				return nil, err
			}
		}
		if owner == "" || owner == spec.Source {
			continue
		}
		grants, err := r.store.Grants(ctx, owner)
		if err != nil {
			return nil, err
		}
		if g := (credential.Grant{Kind: credential.GrantRate, Value: spec.Source}); !slices.Contains(grants, g) {
			e := &credential.NotAllowed{Pool: owner, Grant: g, Text: fmt.Sprintf("counts its requests under %s, the rate limit of %s, which nobody has allowed", key, owner)}
			bad = append(bad, source.Violation{Path: path, Text: e.Error(), Allow: e.Command()})
		}
	}
	return bad, nil
}

// known reports whether a source of that name is described, used or not.
func (r *Ring) known(ctx context.Context, code string) bool {
	_, err := r.where(ctx, code)
	return !errors.Is(err, harvest.ErrNotFound)
}

// Permission is what an owner gives others, or takes back.
type Permission struct {
	Pool     string
	Grants   []credential.Grant
	Withdraw bool
}

// Allow gives a permission or takes it back; what is so already is left alone.
// Whoever may use a pool may send its credentials to where that source is now.
func (r *Ring) Allow(ctx context.Context, p Permission, how Order) ([]credential.Change, error) {
	how.Audit.Action = "CREDENTIAL_ALLOW"
	if p.Withdraw {
		how.Audit.Action = "CREDENTIAL_WITHDRAW"
	}
	have, err := r.store.Grants(ctx, p.Pool)
	if err != nil {
		return nil, err
	}
	want := slices.Clone(p.Grants)
	for _, g := range p.Grants {
		if g.Kind != credential.GrantPool || p.Withdraw {
			continue
		}
		origins, err := r.where(ctx, g.Value)
		if err != nil {
			return nil, err
		}
		for _, o := range origins {
			want = append(want, credential.Grant{Kind: credential.GrantOrigin, Value: o})
		}
	}
	return r.change(ctx, p.Pool, "", how, func([]credential.Credential, time.Time) (out []credential.Change, _ error) {
		for i, g := range want {
			switch there := slices.Contains(have, g); {
			case slices.Contains(want[:i], g):
			case p.Withdraw && there:
				out = append(out, credential.Change{Withdraw: &g})
			case !p.Withdraw && !there:
				out = append(out, credential.Change{Allow: &g})
			}
		}
		return out, nil
	})
}

// Grants lists what others may do with a source's credentials and rate limit.
func (r *Ring) Grants(ctx context.Context, pool string) ([]credential.Grant, error) {
	return r.store.Grants(ctx, pool)
}
