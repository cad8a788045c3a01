package sources_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/infra/sourcefile"
	"github.com/papertrace/patra/sources"
)

// TestShipped_SentinelsTuneLags: packs that send a sentinel have a lag that is tuned by
// what it finds, dates in their items by which that is known, and windows that are cheap
// to read again. Nothing of a shipped pack begins by itself.
func TestShipped_SentinelsTuneLags(t *testing.T) {
	var sent []string
	for _, file := range must(sources.FS.ReadDir(".")) {
		code, isPack := strings.CutSuffix(file.Name(), ".yaml")
		if !isPack || strings.HasSuffix(code, ".cases") {
			continue
		}
		p := must(sourcefile.Parse(file.Name(), must(sources.FS.ReadFile(file.Name()))))
		if p.Definition.Scheduled() {
			t.Errorf("%s begins by itself", code)
		}
		if p.Definition.Schedule == nil || !p.Definition.Schedule.Sentinel {
			continue
		}
		sent = append(sent, code)
		spec, _, err := p.Compile(source.Trigger{Operation: harvest.Harvest, Vars: map[string]string{"contact": "ops@example.org", "tool": "patra"}})
		if err != nil {
			t.Fatal(err)
		}
		bounds := spec.Window.LagBounds().Filled()
		lag := spec.Window.SafetyLag.D()
		if lag < bounds.Least || lag > bounds.Most || spec.Window.UpdatedAt != source.UpdatedInItem {
			t.Errorf("%s: a lag of %s, dates by %s", code, lag, spec.Window.UpdatedAt)
		}
		if requests := spec.Window.Target / int64(spec.Paging.Size); requests > 20 {
			t.Errorf("%s: a window takes about %d requests", code, requests)
		}
	}
	slices.Sort(sent)
	if want := []string{"crossref", "datacite", "doaj", "zenodo"}; !slices.Equal(sent, want) {
		t.Errorf("sentinels of %v, want %v", sent, want)
	}
}
