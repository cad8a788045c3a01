// Package source holds what a source says about itself: how it is asked, how
// its answers are read, how fast it may be asked and what its failures mean.
//
// A [Definition] is what a person writes; [Compile] checks it whole and freezes
// it into a [Spec], the snapshot a plan carries. Nothing that runs a plan ever
// looks at the definition again. The package does no I/O.
package source
