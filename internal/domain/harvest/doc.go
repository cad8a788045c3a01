// Package harvest holds the rules of collecting: windows and how they are cut,
// the states of plan, slice, task, run and batch, leases and their fences,
// cursors and the coverage that moves them, the order in which versions of a
// record supersede each other, and what a failed request means.
//
// It promises that the same input gives the same answer: it does no I/O, reads
// no clock and starts no goroutine. Storage, transport and scheduling are left
// to others, who take these rules as given.
package harvest
