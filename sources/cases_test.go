package sources_test

import (
	"strings"
	"testing"

	"github.com/papertrace/patra/internal/infra/sourcefile"
	"github.com/papertrace/patra/internal/node"
	"github.com/papertrace/patra/sources"
)

// TestCases_EveryShippedPackHolds runs the cases beside each pack, as `patra source
// test` does, and wants a page and a fault of each.
func TestCases_EveryShippedPackHolds(t *testing.T) {
	files, err := sources.FS.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		name, isPack := strings.CutSuffix(f.Name(), ".yaml")
		if !isPack || sourcefile.IsCases(f.Name()) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			all, err := node.TestPacks(t.Context(), []string{name})
			if err != nil {
				t.Fatal(err)
			}
			tested := all.Packs[0]
			for _, r := range tested.Results {
				for _, d := range r.Differences {
					t.Errorf("%s:%d: %s: %s", tested.Cases, r.Line, r.Name, d)
				}
			}
			data := must(sources.FS.ReadFile(tested.Cases))
			records, faults := 0, 0
			for _, c := range must(sourcefile.ParseCases(tested.Cases, data)) {
				records += len(c.Want.Records)
				if c.Want.Fault != nil {
					faults++
				}
			}
			if records == 0 || faults == 0 {
				t.Errorf("%d records and %d faults are expected by its cases; write at least one of each", records, faults)
			}
		})
	}
}
