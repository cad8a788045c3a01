package sqlstore

import "strings"

// state is one of the domain's states, which knows what it may come from.
type state[S any] interface {
	~string
	From() []S
}

// mayBecome is the condition under which a row may take a state: that it is in one
// which the domain's table lets change into it. Every statement that changes a state
// ends with it, so that a change which the table does not know finds no row.
func mayBecome[S state[S]](to S) string { return isOneOf("status_code", to.From()) }

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
