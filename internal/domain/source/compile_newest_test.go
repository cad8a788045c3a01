package source_test

import (
	"strings"
	"testing"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// sorted makes d a source that can only sort by date.
func sorted(d *source.Definition) {
	d.Window = &source.WindowConfig{Key: "indexed", Precision: "SECOND", UpdatedAt: "PATH"}
	d.Pagination = &source.PaginationConfig{
		Type: "OFFSET", PageSize: 100, Order: "indexed desc, DOI", End: []harvest.EndProof{harvest.EndSorted, harvest.EndEmpty},
	}
	d.Endpoints[0].Query = map[string]string{"sort": "indexed", "rows": "${page.size}", "offset": "${page.offset}"}
	d.Endpoints[0].Response.Token = ""
}

// TestR77_ZonesThatAreHintsWaitForAnExecutorThatKnowsThem: by its zone a list that is read
// newest first is told to be past a window; an executor that looks for it with the bounds
// leaves such a plan alone. All others read bounds only.
func TestR77_ZonesThatAreHintsWaitForAnExecutorThatKnowsThem(t *testing.T) {
	for _, c := range []struct {
		zone   string
		newest bool
		want   bool
	}{{"America/New_York", true, true}, {"UTC", true, false}, {"America/New_York", false, false}} {
		d := def()
		d.Zone = c.zone
		if c.newest {
			sorted(d)
		}
		spec, _, err := source.Compile(*d, source.Trigger{Operation: harvest.Harvest})
		if err != nil {
			t.Fatal(err)
		}
		if waits := spec.Version == source.SpecVersion; waits != c.want {
			t.Errorf("%+v has version %d", c, spec.Version)
		}
	}
}

// TestR75_WhatAListWithoutAFilterMaySay: what a source needs that is read newest first,
// and what only one has that can be asked for a window.
func TestR75_WhatAListWithoutAFilterMaySay(t *testing.T) {
	d := def()
	sorted(d)
	spec, _, err := source.Compile(*d, source.Trigger{Operation: harvest.Harvest})
	if err != nil || !spec.Paging.NewestFirst {
		t.Fatalf("newest first %v, %v", spec != nil && spec.Paging.NewestFirst, err)
	}
	if r := spec.SliceRequest(harvest.Span{}, harvest.Calendar{}); r.Step != 0 || r.Target != 0 || r.Cap != 0 {
		t.Errorf("it would be cut: %+v", r)
	}
	for _, c := range []struct {
		name  string
		spoil func(*source.Definition)
		want  string // path: part of the text
	}{
		{"oldest first", func(d *source.Definition) { d.Pagination.Order = "indexed asc" }, "pagination.order: SORTED_PAST needs a list whose order begins with the date of the window, newest first, such as \"indexed desc, id desc\""},
		{"by another date", func(d *source.Definition) { d.Pagination.Order = "created desc" }, "pagination.order: SORTED_PAST needs"},
		{"no dates", func(d *source.Definition) { d.Window.UpdatedAt = "WINDOW"; d.Endpoints[0].Response.UpdatedAt = nil }, "window.updatedAt: SORTED_PAST needs PATH"},
		{"dates with the details alone", func(d *source.Definition) { twoPhase(d) }, "endpoints.works.response.updatedAt: is required with SORTED_PAST"},
		{"a window in the request", func(d *source.Definition) { d.Endpoints[0].Query["from"] = "${iso(window.from)}" }, "endpoints.works: asks for a window, so that SORTED_PAST is of no use"},
		{"a count", func(d *source.Definition) {
			d.Endpoints = append(d.Endpoints, source.Endpoint{Name: "count", Usage: "COUNT", Path: "/count", Format: "JSON", Response: source.Response{Total: "total"}})
		}, "endpoints.count: counts the whole list, not a window"},
		{"filters", func(d *source.Definition) { d.Window.Filters = map[string]string{"from": "indexed"} }, "window.filters: is of no use with SORTED_PAST"},
		{"a step", func(d *source.Definition) { d.Window.Step = sec(3600) }, "window: step, split, strategy and budgets are of no use with SORTED_PAST"},
		{"a budget", func(d *source.Definition) { d.Window.MaxRequests = 5 }, "window: step, split, strategy and budgets are of no use with SORTED_PAST"},
		{"a total", func(d *source.Definition) { d.Pagination.Total = "EXACT" }, "pagination.total: is that of the whole list"},
		{"no other end", func(d *source.Definition) { d.Pagination.End = d.Pagination.End[:1] }, "pagination.end: needs another proof besides SORTED_PAST"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := def()
			sorted(d)
			c.spoil(d)
			_, _, err := source.Compile(*d, source.Trigger{Operation: harvest.Harvest})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

// byIDs makes d a source that is harvested by ids that grow.
func byIDs(d *source.Definition) {
	d.Window = &source.WindowConfig{Key: "pmid", Strategy: harvest.StrategyID, UpdatedAt: "PATH"}
	d.Pagination = &source.PaginationConfig{Type: "OFFSET", PageSize: 100, Order: "pmid asc", End: []harvest.EndProof{harvest.EndEmpty}}
	d.Endpoints[0].Query = map[string]string{"ids": "${range.from}-${range.last}", "rows": "${page.size}", "offset": "${page.offset}"}
	d.Endpoints[0].Response.Token = ""
	d.Endpoints = append(d.Endpoints, source.Endpoint{Name: "newest", Usage: "HEAD", Path: "/newest", Format: "JSON", Response: source.Response{Total: "newest.pmid"}})
}

// TestR75_WhatASourceByIDsMaySay: what a source needs that is harvested by ids that grow,
// and what only one has that is harvested by time.
func TestR75_WhatASourceByIDsMaySay(t *testing.T) {
	d := def()
	byIDs(d)
	spec, _, err := source.Compile(*d, source.Trigger{Operation: harvest.Harvest})
	if err != nil || !spec.ByID() || spec.Head == nil {
		t.Fatalf("by ids %v, %v", spec != nil && spec.ByID(), err)
	}
	if _, _, err := source.Compile(*d, source.Trigger{Operation: harvest.Backfill}); err == nil || !strings.Contains(err.Error(), "window.strategy: ID_RANGE allows no BACKFILL") {
		t.Errorf("a backfill: %v", err)
	}
	for _, c := range []struct {
		name  string
		spoil func(*source.Definition)
		want  string // path: part of the text
	}{
		{"no head", func(d *source.Definition) { d.Endpoints = d.Endpoints[:1] }, "endpoints: none has usage HEAD"},
		{"a head that tells nothing", func(d *source.Definition) { d.Endpoints[1].Response.Total = "" }, "endpoints.newest.response.total: is required: where the greatest id is"},
		{"a head of a range", func(d *source.Definition) { d.Endpoints[1].Query = map[string]string{"from": "${range.from}"} }, "endpoints.newest: a HEAD endpoint is asked before"},
		{"no range", func(d *source.Definition) { d.Endpoints[0].Query["ids"] = "${range.from}" }, "endpoints.works: ID_RANGE needs ${range.from} and ${range.last}"},
		{"a time", func(d *source.Definition) { d.Endpoints[0].Query["from"] = "${iso(window.from)}" }, "endpoints.works: asks for a time"},
		{"a count", func(d *source.Definition) {
			d.Endpoints = append(d.Endpoints, source.Endpoint{Name: "count", Usage: "COUNT", Path: "/count", Format: "JSON", Query: map[string]string{"ids": "${range.from}-${range.last}"}, Response: source.Response{Total: "total"}})
		}, "endpoints.count: has no use with ID_RANGE"},
		{"a lag", func(d *source.Definition) { d.Window.SafetyLag = new(sec(60)) }, "window: filters, bound, split, step, baseline, overlap and safetyLag are of times"},
		{"newest first", func(d *source.Definition) { d.Pagination.End = append(d.Pagination.End, harvest.EndSorted) }, "pagination.end: SORTED_PAST is of a list"},
		{"a word of patra's", func(d *source.Definition) { d.Window.Key = "ordinal" }, "window.key: ordinal is a word of patra's own"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := def()
			byIDs(d)
			c.spoil(d)
			_, _, err := source.Compile(*d, source.Trigger{Operation: harvest.Harvest})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

// TestR75_ASourceByIDsPassesItsCheck: a source by ids allows no BACKFILL, and that alone
// is no mistake of its description; a mistake of another part is found as ever.
func TestR75_ASourceByIDsPassesItsCheck(t *testing.T) {
	d := def()
	byIDs(d)
	bad, _ := source.Check(*d, nil, nil)
	if len(bad) > 0 {
		t.Errorf("a source by ids: %v", bad)
	}
	d.Endpoints[0].Query["ids"] = "${range.from}"
	bad, _ = source.Check(*d, nil, nil)
	if len(bad) != 1 || !strings.Contains(bad.Error(), "ID_RANGE needs ${range.from} and ${range.last}") {
		t.Errorf("one without the end of a range: %v", bad)
	}
}
