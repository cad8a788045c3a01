package problem_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/papertrace/patra/internal/domain/problem"
)

var errStale = problem.New("the preview is stale", problem.Problem{Code: "stale", Kind: problem.Conflict, Next: "look again"})

type packError struct{ err error }

func (e *packError) Error() string { return "pack: " + e.err.Error() }

func (e *packError) Unwrap() error { return e.err }

func (e *packError) Problem() problem.Problem {
	return problem.Problem{Code: "pack", Kind: problem.Usage, Title: "a pack has mistakes", Detail: e.err.Error()}
}

func TestOf_TheOutermostErrorThatKnowsSpeaks(t *testing.T) {
	wrapped := fmt.Errorf("apply crossref: %w", errStale)
	p, ok := problem.Of(wrapped)
	if want := (problem.Problem{Code: "stale", Kind: problem.Conflict, Title: "apply crossref: the preview is stale", Next: "look again"}); !ok || p != want {
		t.Errorf("got %+v, want %+v", p, want)
	}
	if !errors.Is(wrapped, errStale) {
		t.Error("callers cannot branch on it")
	}
	p, ok = problem.Of(fmt.Errorf("open: %w", &packError{wrapped}))
	if !ok || p.Code != "pack" || p.Title != "a pack has mistakes" {
		t.Errorf("got %+v", p)
	}
	if p, ok := problem.Of(errors.New("plain")); ok {
		t.Errorf("a plain error has %+v", p)
	}
}
