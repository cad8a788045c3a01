// Package pace is the arithmetic of asking politely: when the next request may
// go out, how the rate falls when the upstream complains and rises again, and
// how long to wait before a repetition.
//
// It promises that in any span of time w no more than rate x w + burst slots are
// handed out, whatever comes between, that no quota is exceeded in any span as
// long as its window, and that no wait is shorter than what the upstream asked
// for. Every function takes state and instant and gives back
// state: no clock, no I/O. Keeping the state where all processes see it, and
// sleeping, are left to the gate.
package pace
