package control

import (
	"github.com/papertrace/patra/internal/app/keyring"
	"github.com/papertrace/patra/internal/domain/credential"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// IsCredentialName reports whether a text can be the name of a credential.
func IsCredentialName(text string) bool { return credential.IsName(text) }

// SecretOffer is a key that a person gives a source: where its secret is, or the
// secret itself, and what the key is to be used for.
type SecretOffer struct {
	Name string
	// Endpoint and Task are all that it is used for; empty: everything.
	Endpoint string
	Task     harvest.Operation
	// Preferred keys are used before others, which take turns by weight.
	Preferred bool
	Weight    int
	// Env is the variable that holds the secret, or several with commas between;
	// File the file, by its whole path. Neither is given with a secret.
	Env, File string
	// Later: it will be there only where patra runs.
	Later bool

	secret credential.Secret
}

// Enclose puts the secret itself into the offer, to be sealed in the store. It
// refuses one that could not be sent or kept out of messages, and does not repeat it.
func (o *SecretOffer) Enclose(secret string) error {
	o.secret = credential.NewSecret(secret)
	return credential.CheckSecret(o.secret)
}

// of is the offer as one for a source.
func (o *SecretOffer) of(pool string) keyring.Offer {
	c := credential.Credential{
		Pool: pool, Name: o.Name, Endpoint: o.Endpoint, Scope: source.ScopeSource, Task: o.Task, Preferred: o.Preferred, Weight: o.Weight,
	}
	if o.Task != "" {
		c.Scope = source.ScopeTask
	}
	switch {
	case o.Env != "":
		c.Secret = credential.SecretRef{Kind: credential.SecretEnv, Ref: o.Env}
	case o.File != "":
		c.Secret = credential.SecretRef{Kind: credential.SecretFile, Ref: o.File}
	}
	return keyring.Offer{Credential: c, Secret: o.secret}
}

// Permission is what others may do with a source's credentials and rate limit.
type Permission struct {
	// Origins that its credentials may be sent to.
	Origins []string
	// Pools and Rates are the sources that may use its credentials and share its
	// rate limit.
	Pools, Rates []string
	// Withdraw takes all this back.
	Withdraw bool
}

// Empty reports whether nothing is named.
func (p Permission) Empty() bool { return len(p.grants()) == 0 }

func (p Permission) grants() (out []credential.Grant) {
	add := func(kind credential.GrantKind, values []string) {
		for _, v := range values {
			out = append(out, credential.Grant{Kind: kind, Value: v})
		}
	}
	add(credential.GrantOrigin, p.Origins)
	add(credential.GrantPool, p.Pools)
	add(credential.GrantRate, p.Rates)
	return out
}
