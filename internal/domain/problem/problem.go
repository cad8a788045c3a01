// Package problem is how an error tells a person about itself: what is wrong, and
// what to do next. The package that makes an error knows both; whoever meets the
// person, a command or an API, only asks for them with [Of].
package problem

import (
	"cmp"
	"errors"
)

// Kind says who has to do something about a problem.
type Kind string

// The kinds.
const (
	Failed   Kind = "failed"    // something of this machine or its store
	Usage    Kind = "usage"     // what was asked for, or how this patra is set up
	NotFound Kind = "not_found" // what was named is not there
	Conflict Kind = "conflict"  // something has moved, or stands in the way
	Upstream Kind = "upstream"  // the source
)

// Exit is the exit code of a command that ends with such a problem.
func (k Kind) Exit() int {
	switch k {
	case Usage:
		return 2
	case NotFound:
		return 3
	case Conflict:
		return 5
	case Upstream:
		return 7
	default:
		return 1
	}
}

// Problem is an error as its reader needs it.
type Problem struct {
	Code string // a stable word for it
	Kind Kind
	// Title says what is wrong in a line. Empty: the error's own text does.
	Title string
	// Detail has what does not fit into a line.
	Detail string
	// Next is what to do about it. The words SOURCE, CODE, NAME and FILE stand for
	// what the reader has to fill in.
	Next string
}

// Error is an error that knows its own problem.
type Error interface {
	error
	Problem() Problem
}

// Of finds the problem in err: that of the outermost error that knows one.
func Of(err error) (Problem, bool) {
	e, ok := errors.AsType[Error](err)
	if !ok {
		return Problem{}, false
	}
	p := e.Problem()
	p.Title = cmp.Or(p.Title, err.Error())
	return p, true
}

// Each lists the errors that were joined into one, or the one that was not.
func Each(err error) []error {
	if err == nil {
		return nil
	}
	if many, ok := err.(interface{ Unwrap() []error }); ok { //nolint:errorlint // as errors.Join made it
		return many.Unwrap()
	}
	return []error{err}
}

// New returns an error for an outcome that callers branch on, with what to say
// about it.
func New(text string, p Problem) error { return &outcome{text, p} }

type outcome struct {
	text    string
	problem Problem
}

func (o *outcome) Error() string { return o.text }

// Problem implements [Error].
func (o *outcome) Problem() Problem { return o.problem }
