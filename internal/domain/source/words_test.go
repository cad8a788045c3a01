package source_test

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// TestWords_OneForAKey: a key has one word, in a pack as in a snapshot. What has no
// word in a pack is named here, with what it is made of.
func TestWords_OneForAKey(t *testing.T) {
	word := func(f reflect.StructField, tag string) string {
		w, _, _ := strings.Cut(f.Tag.Get(tag), ",")
		return w
	}
	for _, one := range []reflect.Type{
		reflect.TypeFor[source.HTTP](), reflect.TypeFor[source.RedirectConfig](), reflect.TypeFor[source.Auth](),
		reflect.TypeFor[source.AuthPlace](), reflect.TypeFor[source.TokenConfig](), reflect.TypeFor[source.Rate](),
		reflect.TypeFor[source.QuotaConfig](), reflect.TypeFor[source.BudgetConfig](), reflect.TypeFor[source.Retry](),
		reflect.TypeFor[source.Batching](), reflect.TypeFor[source.NextConfig](),
	} {
		for f := range one.Fields() {
			if word(f, "yaml") != word(f, "json") {
				t.Errorf("%s.%s is %q in a pack and %q in a snapshot", one.Name(), f.Name, word(f, "yaml"), word(f, "json"))
			}
		}
	}
	for _, two := range []struct {
		pack, snapshot reflect.Type
		made           []string
	}{
		{reflect.TypeFor[source.Definition](), reflect.TypeFor[source.Spec](), []string{
			"specVersion", "operation", "vars", // of the trigger
			"search", "count", "detail", "lookup", // of endpoints, by their usage
		}},
		{reflect.TypeFor[source.WindowConfig](), reflect.TypeFor[source.Window](), []string{
			"budget", // of maxRequests, maxRecords and maxDuration: what a slice carries with it
		}},
		{reflect.TypeFor[source.PaginationConfig](), reflect.TypeFor[harvest.Paging](), []string{
			"tokenContinues",                   // of tokenRepeat
			"tokenLifetimeNs",                  // of tokenLifetime
			"totalExact", "totalWithinPercent", // of total
			"ascending", // of order and window.key
		}},
		{reflect.TypeFor[source.EndpointConfig](), reflect.TypeFor[source.Endpoint](), []string{
			"name", // the key that the endpoint is under
		}},
		{reflect.TypeFor[source.ResponseConfig](), reflect.TypeFor[source.Response](), nil},
	} {
		var words []string
		for f := range two.pack.Fields() {
			words = append(words, cmp.Or(word(f, "yaml"), "-"))
		}
		for f := range two.snapshot.Fields() {
			w := word(f, "json")
			if w != "-" && !slices.Contains(words, w) && !slices.Contains(two.made, w) {
				t.Errorf("%s.%s is %q in a snapshot, and no pack says that", two.snapshot.Name(), f.Name, w)
			}
		}
	}
}
