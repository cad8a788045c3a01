package source_test

import (
	"fmt"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// Compile checks a description whole and freezes it for one operation; what it
// leaves open is filled with defaults, each named by a warning.
func ExampleCompile() {
	description := def()
	description.Retry = nil
	spec, warnings, err := source.Compile(*description, source.Trigger{Operation: harvest.Harvest})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(spec.Source, spec.Paging.Type, spec.Paging.Size)
	for _, w := range warnings {
		fmt.Println(w)
	}
	// Output:
	// demo TOKEN 100
	// retry: not given, taken as 5 attempts, 100ms doubling up to 30s
}

// All that is wrong is told at once, each with its place.
func ExampleCompile_violations() {
	description := def()
	description.RateLimit.QPS = 5
	description.Pagination.PageSize = -1
	_, _, err := source.Compile(*description, source.Trigger{Operation: harvest.Harvest})
	fmt.Println(err)
	// Output:
	// rateLimit: 5 a second with a burst of 1, arriving up to 50ms early or late, exceeds the provider's limit of 3 in 1s; next: qps: 2.7 or less
	// pagination.pageSize: -1 is below 1
}
