package source_test

import (
	"strings"
	"testing"

	"github.com/papertrace/patra/internal/domain/source"
)

// TestR64_WhatTotalsAreWorth is written in one word, and read in the forms that
// people give it.
func TestR64_WhatTotalsAreWorth(t *testing.T) {
	for written, want := range map[source.TotalWorth]struct {
		exact  bool
		within int
		fails  string
	}{
		"":          {},
		"exact":     {exact: true},
		"UNKNOWN":   {},
		"rough":     {},
		"ABOUT 5%":  {within: 5},
		"about 5 %": {within: 5},
		"ABOUT5%":   {within: 5},
		"ABOUT 50%": {within: 50},
		"ABOUT":     {fails: "write how much of it a walk may miss"},
		"ABOUT 5":   {fails: "write how much of it a walk may miss"},
		"ABOUT 0%":  {fails: "write how much of it a walk may miss"},
		"ABOUT 51%": {fails: "write how much of it a walk may miss"},
		"EXACT 5%":  {fails: "only ABOUT has percents"},
		"NEARLY":    {fails: "NEARLY"},
	} {
		d := def()
		d.Pagination.Total = written
		spec, _, err := source.Compile(d.Canonical(), harvesting)
		switch {
		case want.fails != "":
			if err == nil || !strings.Contains(err.Error(), want.fails) || !strings.Contains(err.Error(), "pagination.total") {
				t.Errorf("%q: %v", written, err)
			}
		case err != nil:
			t.Errorf("%q: %v", written, err)
		case spec.Paging.TotalExact != want.exact || spec.Paging.TotalWithin != want.within:
			t.Errorf("%q: exact %v, within %d%%", written, spec.Paging.TotalExact, spec.Paging.TotalWithin)
		}
	}
}
