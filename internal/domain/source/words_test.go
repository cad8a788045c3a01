package source_test

import (
	"cmp"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

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
		reflect.TypeFor[source.Endpoint](), reflect.TypeFor[source.Response](),
	} {
		for f := range one.Fields() {
			if f.Name == "Name" && one == reflect.TypeFor[source.Endpoint]() {
				continue // in a pack it is the key that the endpoint is under
			}
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
			"specVersion", "operation", "vars", "bound", "beside", // of the trigger
			"search", "count", "detail", "lookup", "head", // of endpoints, by their usage
		}},
		{reflect.TypeFor[source.WindowConfig](), reflect.TypeFor[source.Window](), []string{
			"budget", // of maxRequests, maxRecords and maxDuration: what a slice carries with it
		}},
		{reflect.TypeFor[source.PaginationConfig](), reflect.TypeFor[harvest.Paging](), []string{
			"tokenContinues",                   // of tokenRepeat
			"tokenLifetimeNs",                  // of tokenLifetime
			"totalExact", "totalWithinPercent", // of total
			"ascending",   // of order and window.key
			"newestFirst", // of end
		}},
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

// TestWords_RowsOfBefore: rows that were written when these parts had no words of
// their own in JSON say what they said, and so are not taken for changed.
func TestWords_RowsOfBefore(t *testing.T) {
	var response source.Response
	stored := `{"Items":["items"],"Root":"","ID":[{"path":"doi"}],"UpdatedAt":[{"path":"updated","format":"RFC3339","Key":"updated"}],` +
		`"Version":null,"Total":"","NextToken":"header:X-Next","TokenParam":"cursor","NextURL":"next","HasMore":"","Deleted":null,` +
		`"Complete":true,"Namespaces":null,"Held":{"session":"data.session"},"Signals":null}`
	if err := json.Unmarshal([]byte(stored), &response); err != nil {
		t.Fatal(err)
	}
	if want := (source.Response{
		Items: []string{"items"}, ID: []source.Pick{{Path: "doi"}},
		UpdatedAt: []source.DatedPick{{Pick: source.Pick{Path: "updated", Format: "RFC3339"}, Key: "updated"}},
		Token:     "header:X-Next", TokenParam: "cursor", URL: "next", Complete: true, Held: map[string]string{"session": "data.session"},
	}); !reflect.DeepEqual(response, want) {
		t.Errorf("%+v, want %+v", response, want)
	}
	var rate source.Rate
	stored = `{"Limit":10,"Window":"1s","QPS":8,"Burst":1,"Jitter":"0s","Concurrency":0,"Key":"","Scope":"PER_KEY",` +
		`"LimitHeaders":null,"Quotas":null,"Budget":null,"RetryAfterOn":null}`
	if err := json.Unmarshal([]byte(stored), &rate); err != nil {
		t.Fatal(err)
	}
	want := source.Rate{Limit: 10, Window: source.Duration(time.Second), QPS: 8, Burst: 1, Scope: source.RatePerKey}
	if !reflect.DeepEqual(rate, want) {
		t.Errorf("%+v, want %+v", rate, want)
	}
}
