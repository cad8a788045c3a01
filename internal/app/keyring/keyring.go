// Package keyring hands out the credentials of sources, one per request, and
// changes them.
//
// It promises that a change acts on the next request, whatever plan it belongs
// to (R47); that a key which was refused rests and the next one takes its
// place; and that a source which is not open is never asked without a key (R42).
// It keeps no secret longer than a request; who keeps them out of everything
// written is told each of them first.
package keyring

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/papertrace/patra/internal/domain/credential"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/domain/trace"
)

// Store keeps credentials. Credentials reads all rows of a pool, and the clock
// before them; a pool that is not there is empty. ChangeCredentials gives decide
// the rows under a lock and makes the changes it returns with an audit line, in
// one transaction; it returns [harvest.ErrNotFound] if the source is not there.
// NoteRefusal stores the health of a key if it is still what it was when read.
// Grants reads what others may do with a source's credentials and rate limit,
// and RateOwner who first used a rate limit that is named after no source, nobody
// if empty.
type Store interface {
	Credentials(ctx context.Context, pool string) ([]credential.Credential, time.Time, error)
	ChangeCredentials(ctx context.Context, pool string, a source.Audit, decide func([]credential.Credential, time.Time) ([]credential.Change, error)) error
	// BindCredential says where a credential may be sent of which nobody has said it, and
	// reports whether it did: if another was first, theirs stands.
	BindCredential(ctx context.Context, id int64, origins []string, a source.Audit) (bool, error)
	NoteRefusal(ctx context.Context, id int64, was, refused int, rest time.Duration) error
	Grants(ctx context.Context, code string) ([]credential.Grant, error)
	RateOwner(ctx context.Context, key string) (string, error)
}

// Origins tells where the requests of a source go by the description in force. It
// returns [harvest.ErrNotFound] for a source that is not described.
type Origins func(ctx context.Context, code string) ([]string, error)

// Vault turns references into secrets and secrets into sealed ones.
type Vault interface {
	Resolve(c credential.Credential) (credential.Secret, error)
	Seal(c credential.Credential, s credential.Secret) (credential.SecretRef, error)
	// Current reports whether a sealed secret is under the current key.
	Current(r credential.SecretRef) (bool, error)
}

// Ring is the credentials of all sources. It is safe for concurrent use.
type Ring struct {
	store Store
	vault Vault
	learn func(credential.Secret)
	where Origins
	log   *slog.Logger

	mu     sync.Mutex
	turns  map[string]uint64 // guarded by mu; by pool and endpoint
	warned map[int64]bool    // guarded by mu; credentials that could not be read
}

// New returns a ring. learn is told every secret before it is handed out, to keep
// it out of what is said; a credential is bound to where its source is when it is set.
func New(store Store, vault Vault, learn func(credential.Secret), where Origins, log *slog.Logger) *Ring {
	return &Ring{store: store, vault: vault, learn: learn, where: where, log: log.With("component", "keyring"), turns: map[string]uint64{}, warned: map[int64]bool{}}
}

// Pick returns the key for a request, leaving out those already tried; false if
// the request is to go without. It hands out none that may not be sent to one of
// the origins. An error wraps a [harvest.Fault].
func (r *Ring) Pick(ctx context.Context, spec *source.Spec, p source.Purpose, to []string, tried []int64) (credential.Key, bool, error) {
	if spec.Auth == nil {
		return credential.Key{}, false, nil
	}
	pool, aim := spec.Auth.Pool, credential.Aim{Task: harvest.Operation(spec.Operation)}
	if e := spec.Endpoint(p); e != nil {
		aim.Endpoint = e.Name
	}
	all, now, grants, err := r.pool(ctx, spec, to)
	if err != nil {
		f := harvest.Fault{Level: harvest.Transient, Reaction: harvest.Retry, Code: harvest.CodeCredentialsLost}
		return credential.Key{}, false, fmt.Errorf("credentials of %s: %w: %w", pool, f, err)
	}
	var unreadable, withheld []error
	for _, c := range credential.Turn(credential.Candidates(all, aim, now), r.turn(pool+"/"+aim.Endpoint)) {
		if slices.Contains(tried, c.ID) {
			continue
		}
		if lacks := barred(spec, c, to, grants); lacks != nil {
			withheld = append(withheld, lacks)
			r.warn(c, lacks)
			continue
		}
		s, err := r.vault.Resolve(c)
		if err == nil {
			err = s.Fits(spec.Auth)
			if err != nil {
				err = fmt.Errorf("credential %s of %s: %w", c.Name, c.Pool, err)
			}
		}
		if err != nil {
			unreadable = append(unreadable, err)
			r.warn(c, err)
			continue
		}
		r.learn(s)
		return credential.Key{Credential: c, Secret: s}, true, nil
	}
	if spec.Anonymous(p) {
		return credential.Key{}, false, nil
	}
	if len(withheld) > 0 {
		f := harvest.Fault{Level: harvest.Fatal, Reaction: harvest.GiveUp, Code: harvest.CodeWithheld}
		return credential.Key{}, false, fmt.Errorf("%w: %w", f, withheld[0])
	}
	return credential.Key{}, false, missing(pool, all, now, len(tried) > 0, errors.Join(unreadable...))
}

// missing says why there is no key where one is needed.
func missing(pool string, all []credential.Credential, now time.Time, tried bool, unreadable error) error {
	f := harvest.Fault{Level: harvest.Fatal, Reaction: harvest.GiveUp, Code: harvest.CodeNoCredential}
	resting := slices.ContainsFunc(all, func(c credential.Credential) bool { return c.InForce(now) && c.Resting(now) })
	switch {
	case tried || resting:
		f.Code = harvest.CodeAuthRefused
		return fmt.Errorf("every credential of %s was refused: %w", pool, f)
	case unreadable != nil:
		f.Code = harvest.CodeCredentialUnreadable
		return fmt.Errorf("%w: %w", f, unreadable)
	}
	return fmt.Errorf("%s needs a credential and none is in force: %w", pool, f)
}

func (r *Ring) turn(key string) uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := r.turns[key]
	r.turns[key] = n + 1
	return n
}

// warn tells once of a credential that cannot be read: the next one, or none,
// is used in its place.
func (r *Ring) warn(c credential.Credential, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.warned[c.ID] {
		r.warned[c.ID] = true
		r.log.Warn("credential left out", "source", c.Pool, "credential", c.Name, "err", err)
	}
}

// Report tells what the upstream made of a key. It does not fail: a key whose
// refusal could not be noted is refused again.
func (r *Ring) Report(ctx context.Context, k credential.Key, o credential.Outcome) {
	c := k.Credential
	refused, rest := 0, time.Duration(0)
	if o == credential.Refused {
		refused = c.Refused + 1
		rest = credential.Rest(refused)
	} else if c.Refused == 0 {
		return // nothing new
	}
	// It must be known to the others even if our own caller is leaving.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := r.store.NoteRefusal(ctx, c.ID, c.Refused, refused, rest); err != nil {
		r.log.Warn("health of a credential not noted", "source", c.Pool, "credential", c.Name, "err", err)
		return
	}
	if o == credential.Refused {
		r.log.Warn("credential refused", "source", c.Pool, "credential", c.Name, "correlation", trace.CorrelationOf(ctx), "rest", rest)
	}
}

// Check says what would keep a request of the spec from having the credential
// it needs, and what the spec takes of other sources without their owner's word,
// before anything is asked; all findings at once. It reports whether searches
// would go with a key.
func (r *Ring) Check(ctx context.Context, spec *source.Spec) (keyed bool, err error) {
	bad, err := r.foreignRates(ctx, spec)
	if err != nil {
		return false, err
	}
	if spec.Auth == nil {
		return false, or(bad)
	}
	all, now, grants, err := r.pool(ctx, spec, spec.Origins())
	if err != nil {
		return false, err
	}
	for _, p := range source.Purposes() {
		e := spec.Endpoint(p)
		if e == nil {
			continue
		}
		aim := credential.Aim{Endpoint: e.Name, Task: harvest.Operation(spec.Operation)}
		there := false
		for _, c := range all {
			if !c.Serves(aim, now) {
				continue
			}
			there = true
			if lacks := barred(spec, c, spec.Origins(), grants); lacks != nil {
				bad = add(bad, source.Violation{Path: "auth", Text: lacks.Error(), Allow: lacks.Command()})
			}
		}
		if p == source.ForSearch {
			keyed = there
		}
		if !there && !spec.Anonymous(p) {
			text := fmt.Sprintf("endpoint %s needs a credential and none of %s is in force; patra credential set %s NAME", e.Name, spec.Auth.Pool, spec.Auth.Pool)
			bad = add(bad, source.Violation{Path: "auth", Text: text})
		}
	}
	return keyed, or(bad)
}

// add says everything once.
func add(bad source.Violations, v source.Violation) source.Violations {
	said := slices.ContainsFunc(bad, func(b source.Violation) bool { return b.Path == v.Path && b.Text == v.Text })
	if said {
		return bad
	}
	return append(bad, v)
}

func or(bad source.Violations) error {
	if len(bad) > 0 {
		return bad
	}
	return nil
}
