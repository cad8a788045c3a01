// Package control is the operator's room: everything a person may see of a patra
// or do with it, whichever door they come by, command line, API or console.
//
// A view is a struct with its JSON, read by one method of [Control]; the same
// value is printed for people and for programs, so no door computes a truth of its
// own. A use case is a method that does one thing a person asked for and leaves its
// line in the audit, with who asked and why ([By]). Where something can be looked
// at before it is done, a method of its own, whose name begins with Preview,
// returns what would come of it and changes nothing.
//
// What is remembered is behind the ports of ports.go, each as small as its use; the
// store satisfies them and answers in the structs of this package, and the SQL
// stays there. The package may use the other app packages, which know nothing of it
// nor of each other.
package control
