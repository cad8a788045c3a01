package source_test

import (
	"strings"
	"testing"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// afterKey makes d a source that is asked for what comes after a record.
func afterKey(d *source.Definition) {
	d.Identity = "TEXT"
	d.Pagination = &source.PaginationConfig{
		Type: "KEYSET", PageSize: 100, Order: "indexed asc, DOI asc", End: []harvest.EndProof{harvest.EndEmpty},
	}
	d.Endpoints[0].Query = map[string]string{
		"from-index-date": "${iso(page.after)}", "after": "${page.afterId}", "until-index-date": "${iso(window.last)}", "rows": "${page.size}",
	}
	d.Endpoints[0].Response.Token = ""
	d.Endpoints[0].Response.ID = []source.Pick{{Path: "DOI"}}
}

// TestR75_WhatACompositeOffsetMaySay: what a source needs that is asked for what comes
// after (date, id), and what would make it pass over records.
func TestR75_WhatACompositeOffsetMaySay(t *testing.T) {
	for _, offset := range []source.OffsetType{"", source.OffsetComposite} {
		d := def()
		afterKey(d)
		d.Window.Offset = offset
		spec, _, err := source.Compile(*d, source.Trigger{Operation: harvest.Harvest})
		if err != nil || !spec.Paging.Ascending {
			t.Fatalf("offset %q: ascending %v, %v", offset, spec != nil && spec.Paging.Ascending, err)
		}
		if spec.Version != 8 {
			t.Errorf("version %d: an older process knows no place after a record", spec.Version)
		}
	}
	for _, c := range []struct {
		name  string
		spoil func(*source.Definition)
		want  string // path: part of the text
	}{
		{"no id in the request", func(d *source.Definition) { delete(d.Endpoints[0].Query, "after") }, "endpoints.works: paging KEYSET needs ${page.afterId} in a template"},
		{"no date in the request", func(d *source.Definition) { d.Endpoints[0].Query["from-index-date"] = "${iso(window.from)}" }, "endpoints.works: paging KEYSET needs ${page.after} in a template"},
		{"no upper bound", func(d *source.Definition) { delete(d.Endpoints[0].Query, "until-index-date") }, "endpoints.works: the templates must ask for"},
		{"a filter by another date", func(d *source.Definition) {
			delete(d.Endpoints[0].Query, "from-index-date")
			d.Endpoints[0].Query["from-update-date"] = "${iso(page.after)}"
		}, "from-update-date filters by deposited, but the window is of indexed"},
		{"no order", func(d *source.Definition) { d.Pagination.Order = "" }, "pagination.order: KEYSET needs a list that is sorted by the date of the window and then by the id, such as \"indexed asc, id asc\""},
		{"by the date alone", func(d *source.Definition) { d.Pagination.Order = "indexed asc" }, "pagination.order: KEYSET needs"},
		{"newest first", func(d *source.Definition) { d.Pagination.Order = "indexed desc, DOI asc" }, "pagination.order: KEYSET needs"},
		{"by another date", func(d *source.Definition) { d.Pagination.Order = "created asc, DOI asc" }, "pagination.order: KEYSET needs"},
		{"ids in another form", func(d *source.Definition) { d.Identity = "DOI" }, "identity: DOI changes how an id is written"},
		{"an id that is made", func(d *source.Definition) { d.Endpoints[0].Response.ID[0].Clean = []string{"lower"} }, "endpoints.works.response.id: has to be one place"},
		{"an id put together", func(d *source.Definition) { d.Endpoints[0].Response.ID[0].All = []string{"a", "b"} }, "endpoints.works.response.id: has to be one place"},
		{"no dates", func(d *source.Definition) { d.Window.UpdatedAt = "WINDOW"; d.Endpoints[0].Response.UpdatedAt = nil }, "window.updatedAt: KEYSET needs PATH"},
		{"a wall", func(d *source.Definition) { d.Pagination.MaxItems = 1000 }, "pagination.maxItems: has no use with KEYSET"},
		{"a strategy", func(d *source.Definition) { d.Window.Strategy = harvest.StrategyLandmark }, "window.strategy: CURSOR_LANDMARK does not go with KEYSET"},
		{"a short page as the end", func(d *source.Definition) { d.Pagination.End = []harvest.EndProof{harvest.EndShortPage} }, "end proof SHORT_PAGE does not fit paging KEYSET"},
		{"another offset", func(d *source.Definition) { d.Window.Offset = source.OffsetDate }, "window.offset: DATE is not how the source is read: strategy and paging make it COMPOSITE"},
		{"an offset of ids", func(d *source.Definition) { d.Window.Offset = source.OffsetID }, "window.offset: ID needs strategy ID_RANGE"},
		{"no offset of that name", func(d *source.Definition) { d.Window.Offset = "BOTH" }, "window.offset: BOTH is not known"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := def()
			afterKey(d)
			c.spoil(d)
			_, _, err := source.Compile(*d, source.Trigger{Operation: harvest.Harvest})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
	d := def()
	d.Window.Offset = source.OffsetComposite
	_, _, err := source.Compile(*d, source.Trigger{Operation: harvest.Harvest})
	if err == nil || !strings.Contains(err.Error(), "window.offset: COMPOSITE needs paging KEYSET") {
		t.Errorf("COMPOSITE by tokens: %v", err)
	}
}
