package sources_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

func TestELife(t *testing.T) {
	packTest{
		name: "elife",
		ops:  threeOps,
		asks: []askWant{
			{source.ForSearch, "", harvest.Position{}, "/articles order=desc page=1 per-page=100"},
			{source.ForSearch, "", harvest.Position{Page: 6, Pages: 6}, "/articles order=desc page=7 per-page=100"},
		},
	}.run(t)
}

// TestELife_EndsAfterAWholePageBeforeTheWindow: a hundred articles in a row that are
// older than the window end the walk, one fewer do not, and neither does the total.
func TestELife_EndsAfterAWholePageBeforeTheWindow(t *testing.T) {
	spec := compile(t, "elife", harvest.Harvest)
	paging := spec.Paging
	paging.Window = harvest.Window{From: time.Date(2026, 8, 1, 0, 0, 0, 0, time.UTC), To: time.Date(2026, 8, 2, 0, 0, 0, 0, time.UTC)}
	for _, c := range []struct {
		older int
		end   harvest.EndProof
	}{{100, harvest.EndSorted}, {99, ""}} {
		var pos harvest.Position
		var end harvest.EndProof
		for page, body := range []string{elifePage(1, 100, paging.Window.From.Add(time.Hour)), elifePage(101, 100-c.older, paging.Window.From), elifePage(301, c.older, paging.Window.From.Add(-time.Hour))} {
			read, err := decoder(t, spec, source.ForSearch).Page([]byte(body))
			if err != nil {
				t.Fatal(err)
			}
			if len(read.Items) == 0 {
				continue
			}
			pos, end, err = paging.Step(pos, read.Facts(), func(uint64) bool { return false })
			if err != nil {
				t.Fatalf("page %d: %v", page, err)
			}
		}
		if end != c.end {
			t.Errorf("after %d articles before the window: %q, want %q", c.older, end, c.end)
		}
	}
}

// elifePage is a page of so many articles of one instant.
func elifePage(first, count int, at time.Time) string {
	var body strings.Builder
	body.WriteString(`{"total":300,"items":[`)
	for i := range count {
		if i > 0 {
			body.WriteString(",")
		}
		fmt.Fprintf(&body, `{"id":"%05d","version":1,"title":"t","versionDate":%q}`, first+i, at.Format(time.RFC3339))
	}
	return body.String() + "]}"
}
