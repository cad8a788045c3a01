package decode

import (
	"testing"

	"github.com/papertrace/patra/internal/domain/source"
)

// A list or an object where the reply should say how it goes on, or how much there is, is no
// absence: a walk that took it for one would end with what it has.
func TestPage_ListsAndObjectsAreNoAbsence(t *testing.T) {
	d := compile(t, &source.Endpoint{Format: source.FormatJSON, Response: source.Response{
		Items: []string{"i"}, ID: at("id"), Total: "total", HasMore: "more", Token: "next.token", URL: "links.next",
	}}, source.Identity{}, nil)
	for reply, want := range map[string]string{
		`"next":{"token":{"value":"20"}}`:       "next.token: is an object, not a text",
		`"next":{"token":["20"]}`:               "next.token: is a list, not a text",
		`"links":{"next":{"href":"/a"}}`:        "links.next: is an object, not a text",
		`"total":{"value":120,"relation":"eq"}`: "total: is an object, not a number",
		`"total":[120]`:                         "total: is a list, not a number",
		`"more":{"x":true}`:                     "more: is an object, not true or false",
	} {
		_, err := d.Page([]byte(`{"i":[{"id":1}],` + reply + `}`))
		if err == nil {
			t.Errorf("%s: is taken for absent, want %q", reply, want)
			continue
		}
		if e := shapeOf(t, err); !e.Schema() || e.Path+": "+e.Detail != want {
			t.Errorf("%s: %v, want %q", reply, err, want)
		}
	}
	for _, absent := range []string{
		`"x":1`,
		`"next":null,"links":null`,
		`"next":[],"links":{}`,
		`"next":{"token":null},"links":{"next":null},"total":null,"more":null`,
		`"next":{"token":{}},"links":{"next":[]},"total":[ ],"more":{}`,
		`"next":{"token":""},"links":{"next":""},"total":"","more":""`,
	} {
		p := page(t, d, `{"i":[{"id":1}],`+absent+`}`)
		if p.Token != "" || p.URL != "" || p.Total != nil || p.HasMore != nil {
			t.Errorf("%s: %+v", absent, p)
		}
	}
}
