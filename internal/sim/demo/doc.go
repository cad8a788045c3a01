// Package demo is a stage for showing patra: simulated upstreams whose clock goes with
// the real one, source packs that lead to them, and a switch for every fault that the
// simulator knows. It knows nothing of who harvests: it is told how to have a source
// asked, and asks for that when a fault is switched on, so that it is seen soon.
package demo
