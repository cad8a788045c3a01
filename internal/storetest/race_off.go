//go:build !race

package storetest

// Race reports that the race detector slows everything down.
const Race = false
