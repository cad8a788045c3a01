package control

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/problem"
	"github.com/papertrace/patra/internal/domain/source"
)

// Access is what somebody may do who comes by HTTP. Each includes those before it.
type Access string

// The kinds of access.
const (
	Viewer   Access = "viewer"   // looks
	Operator Access = "operator" // and does what can be taken back: pauses, retries, plans
	Admin    Access = "admin"    // and what cannot: cancels, forces, looks after credentials and tokens
)

var accessOrder = map[Access]int{Viewer: 1, Operator: 2, Admin: 3}

// ParseAccess reads a kind of access.
func ParseAccess(s string) (Access, bool) {
	_, known := accessOrder[Access(s)]
	return Access(s), known
}

// Covers reports whether who has a may do what needs b.
func (a Access) Covers(b Access) bool { return accessOrder[a] > 0 && accessOrder[a] >= accessOrder[b] }

// TokenRow is a token as it is shown: never the token itself.
type TokenRow struct {
	Name      string    `json:"name"`
	Role      Access    `json:"role"`
	State     string    `json:"state"` // ACTIVE, EXPIRED or REVOKED
	ExpiresAt time.Time `json:"expires_at,omitzero"`
	RevokedAt time.Time `json:"revoked_at,omitzero"`
	CreatedBy string    `json:"created_by"`
	CreatedAt time.Time `json:"created_at"`
}

// Words for what a token is good for.
const (
	TokenActive  = "ACTIVE"
	TokenExpired = "EXPIRED"
	TokenRevoked = "REVOKED"
)

// TokenFamily is the family of such a word.
func TokenFamily(word string) Family {
	if word == TokenActive {
		return OK
	}
	return Off
}

// word says what a token is good for at an instant.
func (t TokenRow) word(now time.Time) string {
	switch {
	case !t.RevokedAt.IsZero():
		return TokenRevoked
	case !t.ExpiresAt.IsZero() && !t.ExpiresAt.After(now):
		return TokenExpired
	default:
		return TokenActive
	}
}

// TokenStore keeps tokens by their hash.
type TokenStore interface {
	// SaveToken keeps a token; [ErrTokenTaken] if one of its name is not revoked.
	// TrySaveToken tells the same and keeps nothing.
	SaveToken(ctx context.Context, t TokenRow, hash string, a source.Audit) (TokenRow, error)
	TrySaveToken(ctx context.Context, t TokenRow) (TokenRow, error)
	// Tokens lists them, the newest first.
	Tokens(ctx context.Context) ([]TokenRow, error)
	// TokenOf finds a token by its hash, [harvest.ErrNotFound] if there is none.
	TokenOf(ctx context.Context, hash string) (TokenRow, error)
	// RevokeToken ends a token and tells how it stands then; [harvest.ErrNotFound]
	// if none of the name is in use. TryRevokeToken changes nothing.
	RevokeToken(ctx context.Context, name string, a source.Audit) (TokenRow, error)
	TryRevokeToken(ctx context.Context, name string) (TokenRow, error)
	// TokensInUse reports whether there are tokens that are not revoked.
	TokensInUse(ctx context.Context) (bool, error)
}

// ErrTokenTaken says that a name stands for another token.
var ErrTokenTaken = problem.New("a token of that name is in use", problem.Problem{
	Code: "token_taken", Kind: problem.Conflict, Next: "choose another name, or end the one there is: patra token revoke NAME --reason TEXT",
})

var tokenName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// TokenOrder says which token is made.
type TokenOrder struct {
	By
	Name   string
	Role   Access
	Expire time.Duration // after how long; 0: never
	DryRun bool
}

// TokenMade is a token that was made, or would be. Secret is shown once: nothing
// that is kept can tell it again.
type TokenMade struct {
	Applied bool     `json:"applied"`
	Token   TokenRow `json:"token"`
	Secret  string   `json:"secret,omitempty"`
	// Seen, of a preview, lets [Control.NewToken] make exactly such a one.
	Seen string `json:"preview_token,omitempty"`
}

// NewToken makes a token for whoever is to come by HTTP.
func (c *Control) NewToken(ctx context.Context, o TokenOrder) (TokenMade, error) {
	if !tokenName.MatchString(o.Name) {
		return TokenMade{}, badToken("the name of a token has letters, digits, dots, dashes and underscores, 64 at most")
	}
	if _, known := accessOrder[o.Role]; !known {
		return TokenMade{}, badToken("the role of a token is viewer, operator or admin")
	}
	if o.Expire < 0 {
		return TokenMade{}, badToken("a token cannot have expired before it was made")
	}
	now, err := c.store.Now(ctx)
	if err != nil {
		return TokenMade{}, err
	}
	row := TokenRow{Name: o.Name, Role: o.Role, State: TokenActive, CreatedBy: o.Actor, CreatedAt: now}
	if o.Expire > 0 {
		row.ExpiresAt = now.Add(o.Expire)
	}
	const action = "TOKEN_NEW"
	wanted := []any{o.Role, o.Expire}
	if o.DryRun {
		row, err = c.store.TrySaveToken(ctx, row)
		if err != nil {
			return TokenMade{}, err
		}
		seen, err := c.seenToken(ctx, action, o.Name, wanted)
		return TokenMade{Token: row, Seen: seen}, err
	}
	if err := c.checkSeen(ctx, o.By.Token, action, o.Name, wanted); err != nil {
		return TokenMade{}, err
	}
	secret := tokenPrefix + base64.RawURLEncoding.EncodeToString(randomBytes())
	row, err = c.store.SaveToken(ctx, row, hashToken(secret), o.line(action, "token/"+o.Name))
	if err != nil {
		return TokenMade{}, err
	}
	return TokenMade{Applied: true, Token: row, Secret: secret}, nil
}

// tokenPrefix lets people and scanners of leaked secrets know a token when they see
// one.
const tokenPrefix = "patra_"

func randomBytes() []byte {
	b := make([]byte, 32)
	_, _ = rand.Read(b) // it never fails
	return b
}

// hashToken is what is kept of a token. It is random and long, so that a plain hash
// cannot be turned back.
func hashToken(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

func badToken(text string) error {
	return problem.New(text, problem.Problem{Code: "usage", Kind: problem.Usage, Next: "patra token new --help"})
}

// TokenList are the tokens there are, the newest first.
type TokenList struct {
	Tokens []TokenRow `json:"tokens"`
}

// Tokens lists tokens; those that can be used no more only if all are asked for.
func (c *Control) Tokens(ctx context.Context, all bool) (TokenList, error) {
	out := TokenList{Tokens: []TokenRow{}}
	now, err := c.store.Now(ctx)
	if err != nil {
		return out, err
	}
	rows, err := c.store.Tokens(ctx)
	for _, row := range rows {
		row.State = row.word(now)
		if all || row.State == TokenActive {
			out.Tokens = append(out.Tokens, row)
		}
	}
	return out, err
}

// TokenEnded is a token that was revoked, or would be.
type TokenEnded struct {
	Applied bool     `json:"applied"`
	Token   TokenRow `json:"token"`
	// Seen, of a preview, lets [Control.RevokeToken] end exactly this one.
	Seen string `json:"preview_token,omitempty"`
}

// RevokeToken ends a token at once.
func (c *Control) RevokeToken(ctx context.Context, name string, by By) (TokenEnded, error) {
	if by.Token != "" {
		shown, err := c.store.TryRevokeToken(ctx, name)
		if err != nil {
			return TokenEnded{}, err
		}
		if err := c.checkSeen(ctx, by.Token, "TOKEN_REVOKE", name, shown); err != nil {
			return TokenEnded{}, err
		}
	}
	row, err := c.store.RevokeToken(ctx, name, by.line("TOKEN_REVOKE", "token/"+name))
	if err != nil {
		return TokenEnded{}, err
	}
	row.State = TokenRevoked
	return TokenEnded{Applied: true, Token: row}, nil
}

// PreviewRevoke shows the token that [Control.RevokeToken] would end.
func (c *Control) PreviewRevoke(ctx context.Context, name string) (TokenEnded, error) {
	row, err := c.store.TryRevokeToken(ctx, name)
	if err != nil {
		return TokenEnded{}, err
	}
	seen, err := c.seenToken(ctx, "TOKEN_REVOKE", name, row)
	row.State = TokenActive
	return TokenEnded{Token: row, Seen: seen}, err
}

// Caller is who comes by HTTP.
type Caller struct {
	// Actor is their name in the audit.
	Actor string
	Role  Access
}

// ErrNoCaller says that a token is none that may be used.
var ErrNoCaller = errors.New("no such token, or not any more")

// Authenticate finds whose token it is.
func (c *Control) Authenticate(ctx context.Context, secret string) (Caller, error) {
	row, err := c.store.TokenOf(ctx, hashToken(secret))
	if errors.Is(err, harvest.ErrNotFound) {
		return Caller{}, ErrNoCaller
	}
	if err != nil {
		return Caller{}, err
	}
	now, err := c.store.Now(ctx)
	if err != nil {
		return Caller{}, err
	}
	if row.word(now) != TokenActive {
		return Caller{}, fmt.Errorf("token %s: %w", row.Name, ErrNoCaller)
	}
	return Caller{Actor: "token/" + row.Name, Role: row.Role}, nil
}

// NeedsToken reports whether tokens are in use: then nobody comes without one.
// One that has expired counts, so that time alone opens no door.
func (c *Control) NeedsToken(ctx context.Context) (bool, error) { return c.store.TokensInUse(ctx) }

// Visit is somebody who looks at the pages of the console.
type Visit struct {
	Caller
	// ReadOnly: nothing can be changed here, whoever asks.
	ReadOnly bool
	// Refused says why the visitor is not let in; Status is then the status of that
	// answer in HTTP, and 0 otherwise.
	Refused Problem
	Status  int
}

// May reports whether the visitor may do what needs a role.
func (v Visit) May(needs Access) bool { return v.Status == 0 && !v.ReadOnly && v.Role.Covers(needs) }
