package source_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

func mustCompile(t *testing.T, d *source.Definition, op harvest.Operation) *source.Spec {
	t.Helper()
	spec, _, err := source.Compile(*d, source.Trigger{Operation: op})
	if err != nil {
		t.Fatal(err)
	}
	return spec
}

// TestR71_NamesOfParametersStandForTemplates: a description by the names of parameters gives the same contract as one by
// templates. The endpoint's names go before those of the paging, and a template before both.
func TestR71_NamesOfParametersStandForTemplates(t *testing.T) {
	for name, c := range map[string]struct {
		templates, names func(d *source.Definition)
	}{
		"token": {
			func(d *source.Definition) { d.Endpoints[0].Query["cursor"] = "${page.token}" },
			func(d *source.Definition) {
				delete(d.Endpoints[0].Query, "cursor")
				delete(d.Endpoints[0].Query, "rows")
				d.Endpoints[0].Response.Token = ""
				d.Endpoints[0].SizeParam = "rows"
				d.Pagination.SizeParam = "other"
				d.Pagination.CursorParam = "cursor"
				d.Pagination.NextToken = "next"
			},
		},
		"a template first": {
			func(*source.Definition) {},
			func(d *source.Definition) {
				d.Pagination.CursorParam = "cursor"
				d.Pagination.SizeParam = "rows"
				d.Pagination.NextToken = "elsewhere"
			},
		},
		"page": {
			func(d *source.Definition) {
				numbered(d)
				d.Endpoints[0].Query["p"] = "${page.no}"
			},
			func(d *source.Definition) {
				numbered(d)
				d.Pagination.PageParam = "p"
			},
		},
		"format": {
			func(*source.Definition) {},
			func(d *source.Definition) {
				d.Endpoints[0].Format = ""
				d.Endpoints[0].ContentType = "application/vnd.api+json; charset=utf-8"
			},
		},
		"ids": {
			func(d *source.Definition) {
				twoPhase(d)
				d.Endpoints[1].Form["id"] = "${join(ids, '\\'')}"
				d.Endpoints[1].Form["db"] = "x"
			},
			func(d *source.Definition) {
				twoPhase(d)
				d.Endpoints[1].Form = map[string]string{"db": "x"}
				d.Batching.Param = "id"
				d.Batching.Separator = "'"
			},
		},
		"auth": {
			func(d *source.Definition) { keyed(d).Restricted = []string{"works"} },
			func(d *source.Definition) {
				keyed(d)
				d.Endpoints[0].AuthRequired = true
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			want, got := def(), def()
			c.templates(want)
			c.names(got)
			if d := cmp.Diff(mustCompile(t, want, harvest.Harvest), mustCompile(t, got, harvest.Harvest)); d != "" {
				t.Error(d)
			}
		})
	}
}

func numbered(d *source.Definition) {
	delete(d.Endpoints[0].Query, "cursor")
	d.Endpoints[0].Response.Token = ""
	d.Pagination.Type = "PAGE_NUMBER"
	d.Pagination.TokenRepeat = ""
}

func keyed(d *source.Definition) *source.Auth {
	d.Auth = &source.Auth{Type: source.AuthAPIKey, In: source.InHeader, Name: "k", Open: true}
	return d.Auth
}

// TestR71_WindowsOfTheCalendar: they lie at whole multiples of their length.
func TestR71_WindowsOfTheCalendar(t *testing.T) {
	d := def()
	d.Window.Mode = "calendar"
	d.Window.Align = 0
	if got := mustCompile(t, d, harvest.Harvest).Window.Align.D(); got != time.Hour {
		t.Errorf("bounds are multiples of %s", got)
	}
	for want, change := range map[string]func(*source.WindowConfig){
		"window.step: is required":           func(w *source.WindowConfig) { w.Step = 0 },
		"window.align: 1s is not the step":   func(w *source.WindowConfig) { w.Align = sec(1) },
		"window.mode: MONTHLY is not known:": func(w *source.WindowConfig) { w.Mode = "MONTHLY" },
	} {
		d := def()
		d.Window.Mode = source.WindowCalendar
		d.Window.Align = 0
		change(d.Window)
		_, _, err := source.Compile(*d, source.Trigger{Operation: harvest.Harvest})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}

// TestR71_AuthThatIsRequiredIsThere: an endpoint that is never asked without a credential needs to know which.
func TestR71_AuthThatIsRequiredIsThere(t *testing.T) {
	d := def()
	d.Endpoints[0].AuthRequired = true
	_, _, err := source.Compile(*d, source.Trigger{Operation: harvest.Harvest})
	if err == nil || !strings.Contains(err.Error(), "endpoints.works.authRequired: needs auth") {
		t.Error(err)
	}
}

// TestR71_WhatSQLLeavesOutIsThePacks: rows written by SQL are filled in from the source's pack, value by value, and no
// others. What asks for pages in another way than the rows is left out, and nothing is changed in the pack.
func TestR71_WhatSQLLeavesOutIsThePacks(t *testing.T) {
	at := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	row := func(d source.Dimension, name string, body any) source.Row {
		return source.Row{Slot: source.Slot{Dimension: d, Scope: source.ScopeSource, Name: name}, From: at, Body: body, BySQL: true}
	}
	pack := def()
	whole := source.Contents{
		Provenance: source.Provenance{Code: "demo", BaseURL: "https://api.example.org", Origin: source.OriginSQL}, ReadAt: at,
		Rows: []source.Row{
			row(source.DimPagination, "", &source.PaginationConfig{CursorParam: "after", PageSize: 7}),
			row(source.DimHTTP, "", &source.HTTP{Headers: source.Headers{"From": new("me")}}),
		},
	}
	got, _ := whole.Filled(*pack).At(harvest.Harvest, at)
	if _, _, err := source.Compile(got, source.Trigger{Operation: harvest.Harvest}); err != nil {
		t.Error(err)
	}
	if p := got.Pagination; p.PageSize != 7 || p.Type != "TOKEN" || p.Total != "EXACT" || got.HTTP.ReadTimeout != sec(30) || got.RecordType != "work" {
		t.Errorf("%+v %+v %+v", p, got.HTTP, got.RecordType)
	}
	if e := got.Endpoints[0]; e.Path != "/v1/works" || got.BaseURL != "https://api.example.org" {
		t.Errorf("asked at %s under %s", e.Path, got.BaseURL)
	}

	// An endpoint by SQL: its parameters under the rows' names.
	whole.Rows = append(whole.Rows, row(source.DimEndpoint, "mine", &source.Endpoint{Usage: "SEARCH", Path: "/mine", Query: map[string]string{"rows": "5"}}))
	got, _ = whole.Filled(*pack).At(harvest.Harvest, at)
	want := map[string]string{"filter": pack.Endpoints[0].Query["filter"], "rows": "5", "after": "${coalesce(page.token, '*')}"}
	if d := cmp.Diff(want, got.Endpoints[0].Query); d != "" || len(got.Endpoints) != 1 {
		t.Errorf("%d endpoints, %s", len(got.Endpoints), d)
	}
	whole.Rows[0] = row(source.DimPagination, "", &source.PaginationConfig{Type: "PAGE_NUMBER", PageParam: "p"})
	got, _ = whole.Filled(*pack).At(harvest.Harvest, at)
	if _, there := got.Endpoints[0].Query["cursor"]; there || got.Pagination.TokenRepeat != "" {
		t.Errorf("a token for pages by number: %+v", got)
	}

	// Of a source that patra wrote, only a row by SQL is filled in, and nothing is added.
	whole.Provenance.Origin = "SHIPPED"
	whole.Rows[1].BySQL = false
	filled := whole.Filled(*pack)
	got, _ = filled.At(harvest.Harvest, at)
	if len(filled.Rows) != len(whole.Rows) || got.Pagination.PageSize != 100 || got.HTTP.ReadTimeout != 0 || got.RecordType != "" {
		t.Errorf("%d rows, %+v %+v", len(filled.Rows), got.Pagination, got.HTTP)
	}
	if d := cmp.Diff(def(), pack); d != "" {
		t.Errorf("the pack was changed: %s", d)
	}
}

// TestR71_StatusesAreRules: lists of statuses say what is repeated and what is not; the rules of the source go before
// them, and what is repeated anyway stays as it is.
func TestR71_StatusesAreRules(t *testing.T) {
	d := def()
	d.Retry.RetryOn = []int{404, 429, 500}
	d.Retry.GiveUpOn = []int{501}
	spec := mustCompile(t, d, harvest.Harvest)
	want := append(slices.Clone(d.Canonical().Faults),
		source.FaultRule{Status: []int{404}, Level: harvest.Transient, Reaction: harvest.Retry, Code: "status_retried"},
		source.FaultRule{Status: []int{501}, Level: harvest.Rejected, Reaction: harvest.GiveUp, Code: "status_given_up"},
	)
	if d := cmp.Diff(want, spec.Faults); d != "" {
		t.Error(d)
	}
	c, err := source.NewClassifier(spec)
	if err != nil {
		t.Fatal(err)
	}
	if f, is := c.Ruled(source.Reply{Status: 404}); !is || f.Reaction != harvest.Retry {
		t.Errorf("404: %+v %v", f, is)
	}
	if f, is := c.Ruled(source.Reply{Status: 429}); is {
		t.Errorf("429: %+v", f)
	}
	for want, r := range map[string]source.Retry{
		"retry.retryOn[0]: 404 is among giveUpOn": {Attempts: 5, Base: sec(1), Max: sec(2), RetryOn: []int{404}, GiveUpOn: []int{404}},
		"retry.giveUpOn[0]: 429 asks":             {Attempts: 5, Base: sec(1), Max: sec(2), GiveUpOn: []int{429}},
		"retry.retryOn[0]: 200 is no":             {Attempts: 5, Base: sec(1), Max: sec(2), RetryOn: []int{200}},
	} {
		d := def()
		d.Retry = &r
		_, _, err := source.Compile(*d, source.Trigger{Operation: harvest.Harvest})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}

// TestR71_UsagesThatNoRunAsks: endpoints of metrics and tokens can be described beside the others, several of each.
func TestR71_UsagesThatNoRunAsks(t *testing.T) {
	d := def()
	d.Endpoints = append(d.Endpoints, source.Endpoint{Name: "m", Usage: "metrics"}, source.Endpoint{Name: "n", Usage: "METRICS"}, source.Endpoint{Name: "t", Usage: "TOKEN"})
	if d := cmp.Diff(mustCompile(t, def(), harvest.Harvest), mustCompile(t, d, harvest.Harvest)); d != "" {
		t.Error(d)
	}
}
