// Package pace is the arithmetic of asking politely: when the next request may
// go out, how the rate falls when the upstream complains and rises again, and
// how long to wait before a repetition.
//
// It promises:
//
//   - In any span of time w no more than rate x w + burst slots are handed out,
//     whatever comes between.
//   - No quota is exceeded in any span as long as its window.
//   - No wait is shorter than what the upstream asked for.
//
// A slot is the instant at which one request may go out, a seat the right to have one
// in flight. Every function takes the state of a key and an instant and gives back the
// new state: there is no clock here and no I/O. Keeping the state where all processes
// see it, and sleeping until a slot has come, are left to package gate.
package pace
