package upstream

import (
	"os"
	"runtime/debug"
	"sync"
)

// frugality has the collector run often while a large body is held. As a rule it
// lets the heap grow to twice what is in use, which for a body of 32 MiB, its items
// and their fields is far more than a process may grow (R50).
var frugality thrift

// SetCollector lets the heap of a process that begins grow further between two
// collections than the runtime does by itself: what a harvest holds is a few pages of
// records, which is little beside the caches of its store, and to collect as often took 6 %
// of a harvest. Behind a large body it is put back.
func SetCollector() {
	if !collectorChosen() {
		debug.SetGCPercent(amongPagesGC)
	}
}

// amongPagesGC is by how many percent the heap may grow while no body is large.
const amongPagesGC = 175

// thriftyGC is by how many percent the heap may then grow between collections.
const thriftyGC = 3

// ordinaryGC is by how many percent it may grow at most once there was a large body: where
// one was, its page is still being stored, and others may follow.
const ordinaryGC = 100

// thrift counts who wants the collector to run often, which is a setting of the
// whole process.
type thrift struct {
	mu     sync.Mutex
	wanted int
	before int // the setting to go back to
}

// begin has the collector run often until end is called as often.
func (t *thrift) begin() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.wanted++
	if t.wanted == 1 && !collectorChosen() {
		t.before = debug.SetGCPercent(thriftyGC)
	}
}

// collect gives back to the system what nobody uses, so that a large page does not come on
// top of what earlier ones have left.
func (t *thrift) collect() { debug.FreeOSMemory() }

func (t *thrift) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.wanted--
	if t.wanted == 0 && !collectorChosen() {
		debug.SetGCPercent(min(t.before, ordinaryGC))
	}
}

// collectorChosen reports whether whoever started the process has said how the
// collector is to run; then it does so throughout.
func collectorChosen() bool {
	_, percent := os.LookupEnv("GOGC")
	_, limit := os.LookupEnv("GOMEMLIMIT")
	return percent || limit
}
