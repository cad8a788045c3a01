package pace_test

import (
	"fmt"
	"time"

	"github.com/papertrace/patra/internal/domain/pace"
)

// Whoever wants to ask reserves a slot and waits for it. A key that nothing is
// known of has one token; after that slots are evenly spaced.
func ExampleReserve() {
	limit := pace.Limit{QPS: 2, Burst: 1}
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	var state pace.State
	for range 3 {
		var slot pace.Slot
		state, slot = pace.Reserve(state, limit, 1, now, 0)
		fmt.Println(slot.At.Sub(now))
	}
	// Output:
	// 0s
	// 500ms
	// 1s
}

// An upstream that asks us to stay away is left alone for that long, by everybody
// who shares the key.
func ExampleThrottle() {
	limit := pace.Limit{QPS: 2, Burst: 1}
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	state, _ := pace.Reserve(pace.State{}, limit, 1, now, 0)
	state = pace.Throttle(state, limit, now, time.Minute)
	_, slot := pace.Reserve(state, limit, 1, now, 0)
	fmt.Println(slot.At.Sub(now))
	// Output: 1m0s
}

// Spacing requests evenly uses more of a small limit than a bucket can: of three
// a second, 2.7 fit although each may be 50 ms late, but no burst beside them.
func ExampleFits() {
	fmt.Println(pace.Fits(2.7, 1, 3, time.Second, pace.Jitter))
	fmt.Println(pace.Fits(2.7, 2, 3, time.Second, pace.Jitter))
	// Output:
	// true
	// false
}
