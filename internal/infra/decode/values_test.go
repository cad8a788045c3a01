package decode

import (
	"strings"
	"testing"

	"github.com/papertrace/patra/internal/domain/source"
)

// TestValues_OnlyThoseThatAreAllowed: an item of which a field has a value that the
// description does not allow is put aside, with the field and the value; one that has no
// value, or that is gone, is not.
func TestValues_OnlyThoseThatAreAllowed(t *testing.T) {
	ep, m := smallJSON()
	ep.Response.Deleted = []source.Presence{{Path: "gone"}}
	for i := range m.Fields {
		f := &m.Fields[i]
		switch f.Name {
		case "title":
			f.Allowed = []string{"article", "review"}
		case "l":
			f.Pattern = `\d{4}-\d{3}[\dX]`
		case "j":
			f.Allowed = []string{"x; y"}
		case "o":
			f.Fields[0].Pattern = "[a-z]+"
		}
	}
	for _, c := range []struct{ item, path, value string }{
		{`{"id":"a","title":"article","l":["1234-567X","1234-5678"],"o":[{"a":"abc"}]}`, "", ""},
		{`{"id":"a"}`, "", ""},
		{`{"id":"a","title":"Article"}`, "title", "Article"},
		{`{"id":"a","title":"articles"}`, "title", "articles"},
		{`{"id":"a","l":["1234-5678","x1234-5678"]}`, "l", "x1234-5678"},
		{`{"id":"a","l":["1234-5678\n"]}`, "l", `1234-5678\n`}, // the whole of it
		{`{"id":"a","j1":["x","y"]}`, "", ""},
		{`{"id":"a","j1":["x","z"]}`, "j", "x; z"},
		{`{"id":"a","o":[{"a":"abc"},{"a":"A"}]}`, "a", "A"},
		{`{"id":"a","title":"` + strings.Repeat("x", 5000) + `"}`, "title", strings.Repeat("x", 60)},
		{`{"id":"a","gone":true,"title":"Article"}`, "", ""},
	} {
		it := page(t, compile(t, ep, source.Identity{}, m), `{"r":{"items":[`+c.item+`]}}`).Items[0]
		switch {
		case c.path == "" && it.Problem != nil:
			t.Errorf("%.80s: %+v", c.item, *it.Problem)
		case c.path == "":
		case it.Problem == nil:
			t.Errorf("%.80s: is taken", c.item)
		case it.Problem.Code != "bad_value" || it.Problem.Path != c.path || !strings.HasSuffix(it.Problem.Detail, `: "`+c.value+`"`):
			t.Errorf("%.80s: %+v", c.item, *it.Problem)
		}
	}
}
