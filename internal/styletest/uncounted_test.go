package styletest

import (
	"strings"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/sim"
)

const fourteenMonths = 425 * 24 * time.Hour

// uncounted are sources without a COUNT endpoint, as a person would describe them:
// without a step. most is how many requests 97 records over 14 months may take.
var uncounted = []struct {
	row
	most int
}{
	{
		most: 8,
		row: row{
			name:   "OAI-PMH",
			oracle: sim.GenericStyle{Format: "oai"},
			pack:   years(oaiPack("SECOND")),
			search: oaiSearch("iso(window.from)", "iso(window.last)"),
		},
	},
	{
		most: 8,
		row: row{
			name:   "OAI-PMH without a total",
			oracle: sim.GenericStyle{Format: "oai"},
			pack:   years(oaiPack("SECOND")),
			search: strings.Replace(oaiSearch("iso(window.from)", "iso(window.last)"), "  total: OAI-PMH/ListRecords/resumptionToken/@completeListSize\n", "", 1),
		},
	},
	{
		most: 8,
		row: row{
			name:     "links",
			oracle:   sim.GenericStyle{Paging: "url", Total: "absent"},
			pack:     plainYears + `pagination: {type: URL, pageSize: 20, end: NO_URL}`,
			response: "nextUrl: next\ntotal:",
		},
	},
	{
		// Halving to slices of 25 asks for each of them and for what was cut.
		most: 24,
		row: row{
			name:     "one reply per window, full at 25",
			oracle:   sim.GenericStyle{Paging: "time", Most: 25, Total: "absent"},
			pack:     plainYears + `pagination: {type: TIME, pageSize: 25, maxItems: 25, end: ONE_REPLY}`,
			response: "total:",
		},
	},
	{
		// What a wall cuts off is walked again: twice the pages, and those that show the wall.
		most: 40,
		row: row{
			name:     "a wall at 40",
			oracle:   sim.GenericStyle{Paging: "token", Depth: 40, Beyond: "cut", Total: "absent"},
			pack:     plainYears + `pagination: {type: TOKEN, pageSize: 20, end: NO_TOKEN, maxItems: 40}`,
			query:    "token: ${page.token}",
			response: "nextToken: next_token\ntotal:",
		},
	},
}

const plainYears = `window: {key: updated, filters: {from: updated, to: updated, updated: updated}, precision: SECOND, bound: OPEN, updatedAt: PATH, safetyLag: 10m, baseline: 425d, minStep: 1h}
`

// years is a pack of windows with a baseline of 14 months and no step.
func years(pack string) string {
	return strings.NewReplacer("  baseline: 30d\n", "  baseline: 425d\n", "  step: 30d\n", "").Replace(pack)
}

// TestUncounted_OneSliceUntilAWalkShowsTheNeed: a source that cannot count is not
// cut into days beforehand. Its plan is one slice, and so is the next.
func TestUncounted_OneSliceUntilAWalkShowsTheNeed(t *testing.T) {
	for _, c := range uncounted {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := c.row
				w.count = "none"
				w.records = 97
				w.span = fourteenMonths
				r := newRun(t, w, sim.Faults{})
				r.exact()
				if n := len(r.Sim.Requests()); n > c.most {
					t.Errorf("97 records over 14 months took %d requests, want at most %d\n%s", n, c.most, r.asked())
				}
				if c.most <= 8 { // the others are cut where records lie, which nobody can foresee
					foreseen, err := r.spec.Forecast(harvest.Window{From: r.rep.Window.From.Time(), To: r.rep.Window.To.Time()}, 97)
					if err != nil {
						t.Fatal(err)
					}
					// The last page may be asked for once more.
					if n := int64(len(r.Sim.Requests())); n < foreseen.Requests || n > foreseen.Requests+1 || foreseen.Slices != 1 {
						t.Errorf("%d requests were sent, %d foreseen in %d slices\n%s", n, foreseen.Requests, foreseen.Slices, r.asked())
					}
				}
				before := len(r.Sim.Requests())
				r.Sim.Advance(4 * 24 * time.Hour)
				r.exact()
				if n := len(r.Sim.Requests()) - before; n > c.most {
					t.Errorf("the four days after took %d requests, want at most %d", n, c.most)
				}
				t.Logf("%d requests, then %d", before, len(r.Sim.Requests())-before)
			})
		})
	}
}
