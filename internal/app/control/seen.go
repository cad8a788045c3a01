package control

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/papertrace/patra/internal/domain/problem"
)

// A preview of a change carries a token: until when it holds, and a hash over what
// would be changed and how it stood. Whoever sends the token with the change wants
// that and nothing else. It guards against surprise, not against people: everybody
// who may make the change may also make the token.

// errMoved says that something is not as the preview showed it.
var errMoved = problem.New("something has moved since the preview was made", problem.Problem{
	Code: "moved", Kind: problem.Conflict, Next: "look at a new preview; nothing was changed",
})

// errSeen says that a text is no token of a preview of this change.
var errSeen = problem.New("not the token of a preview of this", problem.Problem{
	Code: "bad_token", Kind: problem.Usage, Next: "send the token that the preview of this change has",
})

// seenToken is the token of a preview: of an action on an object, and of what was
// shown of it.
func (c *Control) seenToken(ctx context.Context, action, object string, shown any) (string, error) {
	now, err := c.store.Now(ctx)
	if err != nil {
		return "", err
	}
	until := now.Add(TokenLife).Unix()
	sum, err := seenSum(until, action, object, shown)
	return strconv.FormatInt(until, 10) + "." + sum, err
}

// checkSeen refuses a change that was looked at when things stood otherwise. An empty
// token was not asked to be held to.
func (c *Control) checkSeen(ctx context.Context, token, action, object string, shown any) error {
	if token == "" {
		return nil
	}
	text, sum, _ := strings.Cut(token, ".")
	until, err := strconv.ParseInt(text, 10, 64)
	if err != nil || len(sum) != 2*seenBytes {
		return errSeen
	}
	now, err := c.store.Now(ctx)
	if err != nil {
		return err
	}
	is, err := seenSum(until, action, object, shown)
	if err != nil {
		return err
	}
	if is != sum || now.After(time.Unix(until, 0)) {
		return errMoved
	}
	return nil
}

const seenBytes = 16

func seenSum(until int64, action, object string, shown any) (string, error) {
	b, err := json.Marshal([]any{until, action, object, shown})
	if err != nil {
		return "", fmt.Errorf("marshal preview: %w", err)
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:seenBytes]), nil
}
