package httpapi

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/problem"
)

// TestOnlyAnUnknownOutcomeIsNoRefusal: whatever somebody can explain has changed nothing,
// unless the commit itself was lost; of what nobody foresaw, or took too long, nobody knows.
func TestOnlyAnUnknownOutcomeIsNoRefusal(t *testing.T) {
	full := problem.New("the disk is full", problem.Problem{Code: "disk_full", Kind: problem.Failed})
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for name, c := range map[string]struct {
		ctx  context.Context
		err  error
		want bool
	}{
		"a full disk":           {t.Context(), full, true},
		"the source":            {t.Context(), harvest.Fault{Level: harvest.Fatal, Code: harvest.CodeAuthRefused}, true},
		"a store that is away":  {t.Context(), fmt.Errorf("pause: %w", harvest.ErrStoreAway), true},
		"a lost commit":         {t.Context(), fmt.Errorf("commit: %w: %w", harvest.ErrUnknownOutcome, full), false},
		"nobody foresaw it":     {t.Context(), errors.New("oops"), false},
		"it took too long":      {over, context.Canceled, false},
		"a lost commit at once": {t.Context(), fmt.Errorf("commit: %w: %w", harvest.ErrUnknownOutcome, harvest.ErrStoreAway), false},
	} {
		came := new(outcome)
		explain(context.WithValue(c.ctx, outcomeKey{}, came), c.err, "", slog.New(slog.DiscardHandler))
		if came.refused != c.want {
			t.Errorf("%s: refused %v, want %v", name, came.refused, c.want)
		}
	}
}
