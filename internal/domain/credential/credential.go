// Package credential holds the keys that sources are asked with: whose turn it is,
// how long a refused one rests, where one may be sent, and what may be one at all.
//
// It promises that a [Secret] does not print: where a secret is kept is known here
// ([SecretRef]), what it is is told to who calls Reveal and nobody else.
package credential

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// SecretKind is where a secret is kept.
type SecretKind string

// The kinds of secrets.
const (
	SecretEnv    SecretKind = "ENV"    // in an environment variable
	SecretFile   SecretKind = "FILE"   // in a file
	SecretSealed SecretKind = "SEALED" // encrypted, in the store
)

// SecretRef is where a secret is, and nothing of the secret itself.
type SecretRef struct {
	Kind SecretKind `json:"kind"`
	// Ref is the variable's name, or several with commas between, one for each
	// secret, or the file's path.
	Ref string `json:"ref,omitempty"`
	// Sealed is the encrypted value. MAC tells two of them apart without
	// telling what they are; it needs the sealing key to be made.
	Sealed []byte `json:"-"`
	MAC    string `json:"mac,omitempty"`
}

// Where says where the secret is, as people read it.
func (r SecretRef) Where() string {
	if r.Kind == SecretSealed {
		return "sealed, hash " + r.MAC
	}
	return strings.ToLower(string(r.Kind)) + " " + r.Ref
}

// States of a credential.
const (
	Active   = "ACTIVE"
	Disabled = "DISABLED"
)

// Credential is one key of a source's pool, in force in [From, To).
type Credential struct {
	ID   int64  `json:"id"`
	Pool string `json:"source"`
	Name string `json:"name"`
	// Endpoint it is bound to; empty: all of them.
	Endpoint string            `json:"endpoint,omitempty"`
	Scope    source.Scope      `json:"scope"`
	Task     harvest.Operation `json:"task,omitempty"` // of TASK only
	Secret   SecretRef         `json:"secret"`
	// Preferred keys are used before others of the same standing.
	Preferred bool `json:"preferred"`
	// Weight is its share among keys that are used in turn.
	Weight int       `json:"weight"`
	Status string    `json:"status"`
	From   time.Time `json:"from"`
	To     time.Time `json:"to,omitzero"`
	// Origins it may be sent to, those of the source when it was set; nil for one of
	// which nobody has said it yet.
	Origins []string `json:"origins,omitempty"`
	// Supersedes is the row this one was put in place of.
	Supersedes int64 `json:"supersedes,omitzero"`
	// Refused counts refusals in a row; until RefusedUntil the key rests.
	Refused      int       `json:"refused,omitzero"`
	RefusedUntil time.Time `json:"refused_until,omitzero"`
}

// InForce reports whether the credential holds at an instant.
func (c Credential) InForce(at time.Time) bool {
	return c.Status == Active && !c.From.After(at) && (c.To.IsZero() || c.To.After(at))
}

// Resting reports whether the credential was refused of late.
func (c Credential) Resting(at time.Time) bool { return c.RefusedUntil.After(at) }

// Aim is what a credential is wanted for.
type Aim struct {
	Endpoint string
	Task     harvest.Operation
}

// fits reports whether a credential may be used for an aim at all.
func (c Credential) fits(a Aim) bool {
	return (c.Endpoint == "" || c.Endpoint == a.Endpoint) && (c.Scope == source.ScopeSource || c.Task == a.Task)
}

// Serves reports whether a credential is there for an aim, resting or not.
func (c Credential) Serves(a Aim, at time.Time) bool { return c.fits(a) && c.InForce(at) }

// standing orders credentials that differ in kind: bound to the endpoint before
// global, TASK before SOURCE, preferred before others (R45).
func (c Credential) standing() int {
	n := 0
	if c.Endpoint == "" {
		n += 4
	}
	if c.Scope == source.ScopeSource {
		n += 2
	}
	if !c.Preferred {
		n++
	}
	return n
}

// Candidates lists the credentials for an aim that are in force and not
// resting, best first: by standing, then the newest start, then the highest id
// (M1.4, R45).
func Candidates(all []Credential, aim Aim, at time.Time) []Credential {
	var out []Credential
	for _, c := range all {
		if c.Serves(aim, at) && !c.Resting(at) {
			out = append(out, c)
		}
	}
	slices.SortFunc(out, func(a, b Credential) int {
		return cmp.Or(cmp.Compare(a.standing(), b.standing()), b.From.Compare(a.From), cmp.Compare(b.ID, a.ID))
	})
	return out
}

// Turn lets candidates of the same standing take turns by weight: the one whose
// turn it is comes first, the others stay in order behind it, to fall back on.
func Turn(candidates []Credential, turn uint64) []Credential {
	if len(candidates) == 0 {
		return nil
	}
	peers, total := 0, uint64(0)
	for peers < len(candidates) && candidates[peers].standing() == candidates[0].standing() {
		total += uint64(max(1, candidates[peers].Weight))
		peers++
	}
	at := turn % total
	first := 0
	for ; first < peers-1; first++ {
		w := uint64(max(1, candidates[first].Weight))
		if at < w {
			break
		}
		at -= w
	}
	out := make([]Credential, 0, len(candidates))
	out = append(out, candidates[first])
	out = append(out, candidates[:first]...)
	return append(out, candidates[first+1:]...)
}

// Rests after a refusal: the breaker of a key. Whoever has mended the key sets
// it anew, which ends the rest.
const (
	firstRest = 5 * time.Minute
	maxRest   = 24 * time.Hour
)

// Rest is how long a key rests after so many refusals in a row; afterwards it
// is tried once more.
func Rest(refused int) time.Duration {
	d := firstRest
	for i := 1; i < refused && d < maxRest; i++ {
		d *= 2
	}
	return min(d, maxRest)
}

// Key is a credential with its secret, picked for one request.
type Key struct {
	Credential Credential
	Secret     Secret
}

// Outcome is what an upstream made of a key.
type Outcome string

// The outcomes.
const (
	Accepted Outcome = "ACCEPTED"
	Refused  Outcome = "REFUSED"
)

// Change is one thing done to a pool.
type Change struct {
	Add *Credential `json:"add,omitempty"`
	// Close ends a row now, Disable takes it out of use.
	Close   int64 `json:"close,omitempty"`
	Disable int64 `json:"disable,omitempty"`
	// Reseal replaces how a row's secret is kept, not the secret.
	Reseal int64      `json:"reseal,omitempty"`
	Secret *SecretRef `json:"secret,omitempty"`
	// Allow gives others something of the source, Withdraw takes it back.
	Allow    *Grant `json:"allow,omitempty"`
	Withdraw *Grant `json:"withdraw,omitempty"`
}

var namePattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// IsName reports whether s can be the name of a credential.
func IsName(s string) bool { return namePattern.MatchString(s) }

// Check looks at a credential before it is written; all findings at once.
func Check(c Credential) error {
	var bad source.Violations
	fail := func(path, format string, args ...any) {
		bad = append(bad, source.Violation{Path: path, Text: fmt.Sprintf(format, args...)})
	}
	if !IsName(c.Name) {
		// It may be a secret in the wrong place: it is not repeated.
		fail("name", "is not a name: up to 64 letters, digits, dots, - and _")
	}
	if (c.Scope == source.ScopeTask) != (c.Task != "") || c.Scope != source.ScopeTask && c.Scope != source.ScopeSource {
		fail("scope", "a TASK credential names its operation, a SOURCE one none")
	}
	if c.Weight < 1 || c.Weight > 1000 {
		fail("weight", "%d is not within [1, 1000]", c.Weight)
	}
	switch c.Secret.Kind {
	case SecretEnv, SecretFile:
		if c.Secret.Ref == "" || strings.ContainsFunc(c.Secret.Ref, control) || len(c.Secret.Ref) > 255 {
			fail("secret", "a reference has 1 to 255 printable characters")
		}
	case SecretSealed:
		if len(c.Secret.Sealed) == 0 {
			fail("secret", "is empty")
		}
	default:
		fail("secret", "kind %q is not known", c.Secret.Kind)
	}
	if len(bad) > 0 {
		return bad
	}
	return nil
}

// CheckSecret refuses a value that cannot be sent or could not be kept out of
// messages. Of several, one a line, each is looked at.
func CheckSecret(s Secret) error {
	if len(s.Reveal()) > 8<<10 {
		return errors.New("the secret is longer than 8 KiB")
	}
	for _, p := range s.Parts() {
		if err := checkText(p.Reveal(), "secret"); err != nil {
			return err
		}
	}
	return nil
}

// CheckToken refuses a token that could not be kept out of what is stored, or
// could be taken for something else there.
func CheckToken(s Secret) error { return checkText(s.Reveal(), "token") }

func checkText(v, what string) error {
	switch {
	case len(v) < MinSecret:
		return fmt.Errorf("the %s is shorter than %d bytes, too short to be kept out of records without spoiling them", what, MinSecret)
	case strings.Contains(v, Hidden):
		return fmt.Errorf("the %s holds %s, which is what patra writes in place of secrets", what, Hidden)
	case strings.ContainsFunc(v, control):
		return fmt.Errorf("the %s holds a control character, or the mark that some editors put before a text", what)
	}
	return nil
}

func control(r rune) bool { return r < ' ' || r == 0x7f || r == '\ufeff' }
