package source_test

import (
	"strings"
	"testing"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// bucketed makes d a source that is cut by hash buckets.
func bucketed(d *source.Definition) {
	d.Pagination.MaxItems = 4000
	d.Window.Strategy, d.Window.Split = "HYBRID", &source.SplitConfig{Buckets: 64}
	d.Endpoints[0].Query["bucket"], d.Endpoints[0].Query["of"] = "${bucket}", "${buckets}"
}

// alone leaves a source nothing but its buckets.
func alone(d *source.Definition) {
	bucketed(d)
	d.Window.Strategy = "HASH"
	d.Window.UpdatedAt = "NONE"
	d.Window.Bound = ""
	d.Window.Filters = nil
	delete(d.Endpoints[0].Query, "filter")
	d.Endpoints[0].Response.UpdatedAt = nil
}

func TestCompile_Split(t *testing.T) {
	for name, c := range map[string]struct {
		bend func(*source.Definition)
		want string // empty: compiles
	}{
		"by buckets": {func(*source.Definition) {}, ""},
		"HASH, with a date": {func(d *source.Definition) {
			d.Window.Strategy, d.Pagination.MaxItems = "HASH", 0
		}, ""},
		"HASH, without any":   {alone, ""},
		"HASH, with a bound":  {func(d *source.Definition) { alone(d); d.Window.Bound = "OPEN" }, ""},
		"a number of its own": {func(d *source.Definition) { d.Window.Split.Buckets = 100 }, ""},

		"both kinds": {
			func(d *source.Definition) { d.Window.Split.Key, d.Window.Split.Max = "uid", 999 },
			"window.split: is by ids that are numbers (key and max) or by hash buckets (buckets), not by both",
		},
		"neither":        {func(d *source.Definition) { d.Window.Split = &source.SplitConfig{} }, "window.split: needs a key of its own and the greatest id there can be, or buckets"},
		"a reserved key": {func(d *source.Definition) { d.Window.Split = &source.SplitConfig{Key: "bucket", Max: 9} }, "window.split: needs a key of its own"},
		"one bucket":     {func(d *source.Definition) { d.Window.Split.Buckets = 1 }, "window.split.buckets: 1 is not a number of buckets from 2 to 1048576"},
		"below zero":     {func(d *source.Definition) { d.Window.Split.Buckets = -4 }, "window.split.buckets: -4 is not a number"},
		"too many":       {func(d *source.Definition) { d.Window.Split.Buckets = 1<<20 + 1 }, "window.split.buckets: 1048577 is not a number"},
		"no wall":        {func(d *source.Definition) { d.Pagination.MaxItems = 0 }, "window.split: has no use without pagination.maxItems"},
		"not sent": {func(d *source.Definition) {
			delete(d.Endpoints[0].Query, "bucket")
		}, "endpoints.works: window.split.buckets needs ${bucket} and ${buckets} in a template"},
		"number not sent": {func(d *source.Definition) {
			delete(d.Endpoints[0].Query, "of")
		}, "endpoints.works: window.split.buckets needs ${bucket} and ${buckets}"},
		"not counted by": {func(d *source.Definition) {
			e := d.Endpoints[0]
			e.Name = "count"
			e.Usage = "COUNT"
			e.Query = map[string]string{"filter": e.Query["filter"]}
			d.Endpoints = append(d.Endpoints, e)
		}, "endpoints.count: window.split.buckets needs"},
		"sent, not declared": {func(d *source.Definition) { d.Window.Strategy, d.Window.Split = "", nil }, "endpoints.works: ${bucket} and ${buckets} are known with window.split.buckets only"},
		"sent for ids": {func(d *source.Definition) {
			d.Window.Split = &source.SplitConfig{Key: "uid", Max: 9}
		}, "endpoints.works: ${bucket} and ${buckets} are known with window.split.buckets only"},
		"a range of buckets": {func(d *source.Definition) {
			d.Endpoints[0].Query["ids"] = "${range.on ? text(range.from) : ''}"
		}, "endpoints.works: range.* is known with window.split by key and max only"},
		"HASH without buckets": {func(d *source.Definition) {
			d.Window.Strategy, d.Window.Split = "HASH", nil
		}, "window.strategy: HASH needs window.split.buckets"},
		"HASH by ids": {func(d *source.Definition) {
			d.Window.Strategy, d.Window.Split = "HASH", &source.SplitConfig{Key: "uid", Max: 9}
		}, "window.strategy: HASH needs window.split.buckets"},
		"half a date": {func(d *source.Definition) {
			alone(d)
			d.Endpoints[0].Query["since"] = "${iso(window.from)}"
		}, "window.bound: is required"},
		"half a date, with a bound": {func(d *source.Definition) {
			alone(d)
			d.Window.Bound, d.Endpoints[0].Query["since"] = "OPEN", "${iso(window.from)}"
		}, "endpoints.works: the templates must ask for ${window.from} and ${window.last}"},
		"no date, by time": {func(d *source.Definition) {
			alone(d)
			d.Window.Strategy, d.Window.Bound = "HYBRID", "OPEN"
		}, "endpoints.works: the templates must ask for ${window.from} and ${window.last}"},
		"a date that is not sent": {func(d *source.Definition) {
			alone(d)
			d.Window.UpdatedAt, d.Window.Bound = "WINDOW", "OPEN"
		}, "endpoints.works: the templates must ask for ${window.from} and ${window.last}"},
	} {
		d := def()
		bucketed(d)
		c.bend(d)
		spec, _, err := source.Compile(*d, source.Trigger{Operation: harvest.Backfill})
		switch {
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v, want %s", name, err, c.want)
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.want == "" && *spec.Window.Split != harvest.Split{Key: harvest.RangeBucket, Buckets: d.Window.Split.Buckets}:
			t.Errorf("%s: split %+v", name, spec.Window.Split)
		}
	}
}
