package source_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// TestCheck_ASourceReadByIDsOnly: a source that lists nothing has no window. With a
// DETAIL endpoint that is no mistake, and a note says it; without one it is.
func TestCheck_ASourceReadByIDsOnly(t *testing.T) {
	response := source.Response{Root: "doi", Items: []string{"$"}, ID: []source.Pick{{Path: "doi"}}}
	def := source.Definition{
		Source: "x", BaseURL: "https://x.example", Zone: "UTC", RecordType: "work", Identity: "DOI",
		Pagination: &source.PaginationConfig{Type: harvest.PageNumber, PageSize: 10, MaxPages: 1, End: []harvest.EndProof{harvest.EndEmpty}},
		Batching:   &source.Batching{IDs: 1},
		Endpoints: []source.Endpoint{
			{Name: "list", Usage: source.UsageSearch, Path: "/list", Format: "JSON", Query: map[string]string{"page": "${page.no}"}, Response: response},
			{Name: "one", Usage: source.UsageDetail, Path: "/${ids[0]}", Format: "JSON", Response: response},
		},
	}
	bad, notes := source.Check(def, nil, nil)
	if len(bad) > 0 || !slices.ContainsFunc(notes, func(w source.Warning) bool { return strings.Contains(w.Text, "read by ids only") }) {
		t.Errorf("%v %v", bad, notes)
	}
	def.Endpoints, def.Batching = def.Endpoints[:1], nil
	if bad, _ := source.Check(def, nil, nil); !strings.Contains(bad.Error(), "window: is required for HARVEST") {
		t.Errorf("%v", bad)
	}
}
