package source_test

import (
	"strings"
	"testing"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// TestC6_AscendingIsDeclaredNeverAssumed: only an order that begins with the
// window's date and is ascending throughout lets a cut keep a beginning (R13).
func TestC6_AscendingIsDeclaredNeverAssumed(t *testing.T) {
	for order, want := range map[string]bool{
		"":                         false,
		"indexed":                  false, // no direction
		"indexed,id":               false,
		"indexed asc":              true,
		"indexed:asc":              true,
		"indexed:ASC, id:asc":      true,
		"indexed,id asc":           true,
		"indexed asc, id":          false,
		"indexed desc":             false,
		"indexed asc, id desc":     false,
		"indexed desc, id asc":     false,
		"id asc":                   false,
		"id asc, indexed asc":      false,
		"indexed-date asc":         false,
		"indexed asc nulls, DOI a": false,
	} {
		for _, bend := range []func(*source.Definition){nil, twoPhase, func(d *source.Definition) {
			d.Window.UpdatedAt, d.Endpoints[0].Response.UpdatedAt = "WINDOW", nil
		}} {
			d := def()
			d.Pagination.Order = order
			if bend != nil {
				bend(d)
			}
			spec, _, err := source.Compile(*d, harvesting)
			if err != nil {
				t.Fatalf("%q: %v", order, err)
			}
			if got := spec.Paging.Ascending; got != (want && bend == nil) {
				t.Errorf("%q, bent %v: ascending %v", order, bend != nil, got)
			}
		}
	}
}

// TestCompile_LandmarksNeedTokensThatGoOn: a part of a walk begins at a token and
// must be able to tell its end.
func TestCompile_LandmarksNeedTokensThatGoOn(t *testing.T) {
	for text, bend := range map[string]func(*source.Definition){
		"":                             func(*source.Definition) {},
		"needs a budget":               func(d *source.Definition) { d.Window.MaxRequests = 0 },
		"no maxItems behind":           func(d *source.Definition) { d.Pagination.MaxItems = 10_000 },
		"needs an end proof besides":   func(d *source.Definition) { d.Pagination.End = []harvest.EndProof{harvest.EndTotal} },
		"tokens that are not stateful": func(d *source.Definition) { d.Pagination.TokenStateful = true },
	} {
		d := def()
		d.Window.Strategy, d.Window.MaxRequests = harvest.StrategyLandmark, 100
		bend(d)
		_, _, err := source.Compile(*d, harvesting)
		if (err == nil) != (text == "") || err != nil && !strings.Contains(err.Error(), text) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
