package console

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"
)

// TestSort_ByTheColumnThatTheAddressNames: a list that is shown whole is ordered by numbers as
// numbers, by instants and by words, either way, and what says nothing comes last. A part
// of a list stays as it is and offers no order.
func TestSort_ByTheColumnThatTheAddressNames(t *testing.T) {
	instantOf := func(hour int) cell { return instant(time.Date(2026, 1, 1, hour, 0, 0, 0, time.UTC)) }
	page := func() *view {
		return &view{Panels: []panel{{ID: "list", Table: &table{
			Head: []column{{Text: "name"}, {Text: "count", Num: true}, {Text: "seen"}, {Text: "lag", Num: true}},
			Rows: []row{
				{Cells: []cell{text("b"), count(1200), instantOf(3), text("2 d").of(2 * 86400)}},
				{Cells: []cell{text("A"), count(90), instantOf(1), text("50 min").of(3000)}},
				{Cells: []cell{text("c"), {}, instantOf(2), text("3 h").of(10800)}},
			},
		}}}}
	}
	sorted := func(address string, p *view) (names []string) {
		v := &visit{Request: httptest.NewRequest(http.MethodGet, address, nil)}
		v.sortLists(p)
		for _, r := range p.Panels[0].Table.Rows {
			names = append(names, r.Cells[0].Text)
		}
		return names
	}
	for address, want := range map[string][]string{
		"/x": {"b", "A", "c"}, "/x?sort=1": {"A", "b", "c"}, "/x?sort=-1": {"c", "b", "A"}, "/x?sort=2": {"A", "b", "c"}, "/x?sort=-2": {"b", "A", "c"},
		"/x?sort=3": {"A", "c", "b"}, "/x?sort=4": {"A", "c", "b"}, "/x?sort=99": {"b", "A", "c"}, "/x?sort=1&after=50": {"b", "A", "c"},
	} {
		if got := sorted(address, page()); !slices.Equal(got, want) {
			t.Errorf("%s lists %q, wanted %q", address, got, want)
		}
	}
	p := page()
	sorted("/x?sort=2", p)
	if head := p.Panels[0].Table.Head[1]; head.Order != "ascending" || head.Sort != "/x?sort=-2" {
		t.Errorf("the head of the column is %+v", head)
	}
	part := page()
	part.Panels[0].Next = "/x?after=3"
	if got := sorted("/x?sort=1", part); got[0] != "b" || part.Panels[0].Table.Head[0].Sort != "" {
		t.Error("a part of a list is put in another order")
	}
}
