package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/patratest"
)

// TestExport_WhatOnlyGoesWithAnotherIsRefused: an option that would do nothing where it
// stands is refused with what to add or to leave out, and no file is touched: it would hold
// other records than were asked for.
func TestExport_WhatOnlyGoesWithAnotherIsRefused(t *testing.T) {
	t.Parallel()
	dsn := patratest.SQLite.DSN(t)
	storeRecords(t, dsn, "crossref", harvest.Record{ID: "1", Raw: []byte("1"), Fields: []byte(`{"title":"one"}`)})
	out := filepath.Join(t.TempDir(), "out.jsonl")
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"--new"}, "add --search NAME, or leave --new out"},
		{[]string{"--follow", "--new"}, "add --search NAME, or leave --new out"},
		{[]string{"--after", "5"}, "add --follow, or leave --after out"},
		{[]string{"--after", "0"}, "add --follow, or leave --after out"},
		{[]string{"--follow", "--dedupe", "exact"}, "leave --dedupe out"},
		{[]string{"--follow", "--search", "s", "--new"}, "leave --query and --search out"},
	} {
		code, _, e := patra(t, append([]string{"export", "--db", dsn, "--out", out}, c.args...)...)
		if code != exitUsage {
			t.Errorf("export %v: exit %d", c.args, code)
		}
		says(t, e, c.says)
		if _, err := os.Stat(out); !os.IsNotExist(err) {
			t.Fatalf("export %v has made %s", c.args, out)
		}
	}
}
