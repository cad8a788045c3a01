package control

import (
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/problem"
)

// inTheWay says why a source could not be asked, in a line among those of other sources, and of
// a query that is to blame what to do about it.
func (c *Control) inTheWay(err error) string {
	text := c.clean(err.Error())
	if f, ok := harvest.FaultOf(err); ok && f.Code == harvest.CodeQueryWidened {
		text += "; " + f.Next("")
	}
	return text
}

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
