package node

import (
	"os"
	"runtime/debug"
)

// heapGrowth is by how many percent the heap may grow between two collections. What a
// harvest holds is a few pages of records, which is little beside the caches of its store,
// and to collect as often as the runtime does it by itself took 6 % of a harvest. Behind a
// large body the client puts it back to that.
const heapGrowth = 200

// SetCollector is for the beginning of a program. Whoever started the process and has said
// how its memory is to be collected is not overruled.
func SetCollector() {
	for _, name := range []string{"GOGC", "GOMEMLIMIT"} {
		if _, chosen := os.LookupEnv(name); chosen {
			return
		}
	}
	debug.SetGCPercent(heapGrowth)
}
