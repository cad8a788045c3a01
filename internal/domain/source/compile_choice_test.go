package source_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// besides gives a source a second SEARCH endpoint, and each of both a COUNT endpoint.
func besides(d *source.Definition) {
	search := d.Endpoints[0]
	search.Name = "beside"
	search.Path = "/beside"
	count := source.Endpoint{
		Name: "count", Usage: source.UsageCount, Path: "/count", Format: "JSON", Query: map[string]string{"filter": d.Endpoints[0].Query["filter"]},
		Response: source.Response{Root: "total", Total: "total"},
	}
	other := count
	other.Name = "count-beside"
	other.Of = "beside"
	d.Endpoints[0].Default = true
	d.Endpoints = []source.Endpoint{d.Endpoints[0], search, count, other}
}

// TestR72_EndpointIsChosenByName: of several endpoints of a usage the one that is named is
// asked, else the default, and with it what belongs to it.
func TestR72_EndpointIsChosenByName(t *testing.T) {
	t.Parallel()
	d := def()
	besides(d)
	for _, c := range []struct {
		named, search, count string
		beside               bool
	}{
		{"", "works", "count", false},
		{"works", "works", "count", false},
		{"beside", "beside", "count-beside", true},
	} {
		spec, _, err := source.Compile(*d, source.Trigger{Operation: harvest.Harvest, Endpoint: c.named})
		if err != nil {
			t.Errorf("%q: %v", c.named, err)
			continue
		}
		if spec.Search.Name != c.search || spec.Count == nil || spec.Count.Name != c.count || spec.Beside != c.beside {
			t.Errorf("%q asks %s and %+v, beside %t", c.named, spec.Search.Name, spec.Count, spec.Beside)
		}
		if spec.Search.Default || spec.Count.Of != "" {
			t.Errorf("%q: what chose the endpoints is in the snapshot", c.named)
		}
	}
	_, _, err := source.Compile(*d, source.Trigger{Operation: harvest.Harvest, Endpoint: "count"})
	refusal, is := errors.AsType[*source.EndpointError](err)
	if !is || strings.Join(refusal.Known, " ") != "works beside" {
		t.Errorf("a COUNT endpoint as the way of a HARVEST: %v", err)
	}
}

// TestR72_OneDefaultOfAUsage: several endpoints of a usage have one default.
func TestR72_OneDefaultOfAUsage(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, want string
		bend       func(*source.Definition)
	}{
		{"none", "works, beside are all SEARCH endpoints: say of one of them", func(d *source.Definition) { d.Endpoints[0].Default = false }},
		{"two", "works, beside are all the default", func(d *source.Definition) { d.Endpoints[1].Default = true }},
		{"stray", `"nosuch" is no SEARCH endpoint`, func(d *source.Definition) { d.Endpoints[3].Of = "nosuch" }},
	} {
		d := def()
		besides(d)
		c.bend(d)
		_, _, err := source.Compile(*d, harvesting)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	d := def()
	besides(d)
	d.Endpoints[1].Path = "beside" // of the one that is asked only by its name
	bad, _ := source.Check(*d, nil, nil)
	if !strings.Contains(bad.Error(), "endpoints.beside.path") {
		t.Errorf("a mistake in what is asked by its name: %v", bad)
	}
}

// TestR73_BoundsOnlyLower: a plan's bounds are at most those of the source, with a key or
// without, and an executor that does not know them leaves its tasks alone.
func TestR73_BoundsOnlyLower(t *testing.T) {
	t.Parallel()
	spec := &source.Spec{Version: 7, Source: "s", Operation: "HARVEST", Rate: source.Rate{QPS: 3, Concurrency: 2}, Paging: harvest.Paging{Size: 100}}
	spec.Auth = &source.Auth{Rate: &source.Rate{QPS: 10}}
	for _, c := range []struct {
		b    harvest.Bounds
		good bool
	}{
		{harvest.Bounds{}, true},
		{harvest.Bounds{Rate: 10, Concurrency: 50, PageSize: 100}, true}, // with a key
		{harvest.Bounds{Rate: 10.1}, false},
		{harvest.Bounds{PageSize: 101}, false},
	} {
		got, err := spec.Within(c.b)
		if (err == nil) != c.good {
			t.Errorf("%+v: %v", c.b, err)
			continue
		}
		if err == nil && c.b.Rate > 0 && (got.Version != 8 || got.Bound.QPS != c.b.Rate || spec.Bound != nil || spec.Version != 7) {
			t.Errorf("%+v: %+v", c.b, got)
		}
	}
}
