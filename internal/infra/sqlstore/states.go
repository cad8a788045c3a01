package sqlstore

import (
	"fmt"
	"strings"

	"github.com/papertrace/patra/internal/domain/harvest"
)

// state is one of the domain's states, which knows what it may come from.
type state[S any] interface {
	~string
	From() []S
}

// mayBecome is the condition under which a row may take a state: that it is in one
// which the domain's table lets change into it. Every statement that changes a state
// ends with it, so that a change which the table does not know finds no row.
func mayBecome[S state[S]](to S) string { return isOneOf("status_code", to.From()) }

// become runs a statement with [mayBecome] whose one row must be there and in a state
// that allows the change, as everything before it in the transaction says. Where it
// finds none the store is not as it should be, and going on would leave a row behind
// that nobody closes: the whole transaction is refused.
func (x *tx) become(what string, query string, args ...any) error {
	n, err := x.exec(query, args...)
	if err != nil {
		return fmt.Errorf("change the state of %s: %w", what, err)
	}
	if n == 0 {
		return notAsLeft(what)
	}
	return nil
}

// notAsLeft is the error of a row that is not there, or not in a state from which it
// may change.
func notAsLeft(what string) error {
	return fmt.Errorf("%s is not as it was left, nothing was changed (`patra verify` says more): %w", what, harvest.ErrTransition)
}

// isOneOf is the condition that a column holds one of several states.
func isOneOf[S ~string](column string, states []S) string {
	return column + " IN (" + quoted(states) + ")"
}

// isNoneOf is the condition that a column holds none of several states.
func isNoneOf[S ~string](column string, states []S) string {
	return column + " NOT IN (" + quoted(states) + ")"
}

// quoted is a list of states for a statement.
func quoted[S ~string](states []S) string {
	var b strings.Builder
	for i, s := range states {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString("'" + string(s) + "'")
	}
	return b.String()
}
