package decode

import (
	"fmt"
	"testing"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// TestR29_GivenIDsHaveTheFormOfItemsIDs: an id that a person types is the id
// under which the item is kept.
func TestR29_GivenIDsHaveTheFormOfItemsIDs(t *testing.T) {
	for _, form := range []string{"TEXT", "DOI", "NUMBER"} {
		for _, id := range []string{
			"10.1000/ABC", " https://doi.org/10.1000/AbC ", "HTTP://DX.doi.org/10.1/x", "doi:10.1/É", "doi.org/doi: 10.1/a", "10.1000", "www.doi.org/10.1/2/3",
			"7", "007", "000", "12x", "9223372036854775808", "NCT01", "https://openalex.org/W1", "g-1",
		} {
			want, err := source.Identity{Form: form}.Canonical(id)
			ep := &source.Endpoint{Format: source.FormatJSON, Response: source.Response{Items: []string{"i"}, ID: []source.Pick{{Path: "id"}}}}
			d, cerr := Compile(ep, source.Identity{Form: form}, nil, harvest.Calendar{})
			if cerr != nil {
				t.Fatal(cerr)
			}
			page, perr := d.Page(fmt.Appendf(nil, `{"i":[{"id":%q}]}`, id))
			if perr != nil {
				t.Fatal(perr)
			}
			if got := page.Items[0]; got.ID != want || (got.Problem == nil) != (err == nil) {
				t.Errorf("%s %q: item %q %v, given %q %v", form, id, got.ID, got.Problem, want, err)
			}
		}
	}
}
