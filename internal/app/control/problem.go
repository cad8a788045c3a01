package control

import (
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/problem"
)

// Problem is an error as its reader needs it: what is wrong, and what to do next.
type Problem = problem.Problem

// Explain finds the problem in an error. A fault of a source says what to do about
// that source unless something beneath it, such as a full disk, knows better.
func Explain(err error, code string) (Problem, bool) {
	if p, ok := problem.Of(err); ok {
		return p, true
	}
	if f, ok := harvest.FaultOf(err); ok {
		return Problem{Code: string(f.Code), Kind: problem.Upstream, Title: err.Error(), Next: f.Next(code)}, true
	}
	return Problem{}, false
}
