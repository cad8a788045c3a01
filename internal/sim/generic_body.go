package sim

import (
	"encoding/json"
	"fmt"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// walkNames are the parameters that say which page of what is asked for.
var walkNames = []string{"from", "to", "size", "limit", "offset", "page", "token", "page[cursor]", "scroll_id", "bucket", "buckets"}

// readBody takes the parameters out of a posted object or text. Those of a login
// stay where they are.
func (g *generic) readBody(q *request) {
	if q.path == "/login" || len(q.body) == 0 {
		return
	}
	var found url.Values
	switch kind := q.mediaType(); kind {
	case "application/json":
		var v any
		d := json.NewDecoder(strings.NewReader(string(q.body)))
		d.UseNumber()
		q.bodyErr = d.Decode(&v)
		if q.bodyErr == nil && d.More() {
			q.bodyErr = fmt.Errorf("more than one value in the body")
		}
		found = url.Values{}
		gather(found, "", v)
	case "text/plain":
		found, q.bodyErr = readQueryText(string(q.body))
	}
	maps.Copy(q.form, found)
}

func (q *request) mediaType() string {
	kind, _, _ := mime.ParseMediaType(q.http.Header.Get("Content-Type"))
	return kind
}

// gather lists the leaves of a JSON value by their own names.
func gather(out url.Values, name string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for name, inner := range v {
			gather(out, name, inner)
		}
	case []any:
		for _, inner := range v {
			gather(out, name, inner)
		}
	case nil:
	default:
		out.Add(name, fmt.Sprint(v))
	}
}

var queryText = regexp.MustCompile(`(?s)^search items(?: where updated >= "([^"]*)" and updated < "([^"]*)")? return items(?: limit (\d+))?(?: skip (\d+))?\s*$`)

// readQueryText reads
//
//	search items where updated >= "T" and updated < "T" return items limit 20 skip 40
func readQueryText(s string) (url.Values, error) {
	m := queryText.FindStringSubmatch(strings.Join(strings.Fields(s), " "))
	if m == nil {
		return nil, fmt.Errorf("query does not parse: %.200s", s)
	}
	out := url.Values{}
	for k, name := range []string{"from", "to", "size", "offset"} {
		if m[k+1] != "" {
			out.Set(name, m[k+1])
		}
	}
	return out, nil
}

// misplaced refuses a request that does not carry its parameters where the style
// wants them.
func misplaced(q *request, st GenericStyle) *reply {
	if st.Body == "none" {
		return unreadable(q)
	}
	if q.http.Method != http.MethodPost {
		rep := problem(http.StatusMethodNotAllowed, "use POST")
		rep.set("Allow", http.MethodPost)
		return rep
	}
	want := map[string]string{"json": "application/json", "form": "application/x-www-form-urlencoded", "text": "text/plain"}[st.Body]
	if got := q.mediaType(); got != want {
		return problem(http.StatusUnsupportedMediaType, "the body must be "+want)
	}
	for name := range q.http.URL.Query() {
		if slices.Contains(walkNames, name) {
			return refuse(name + " must stand in the body")
		}
	}
	return unreadable(q)
}

func unreadable(q *request) *reply {
	if q.bodyErr != nil {
		return refuse(q.bodyErr.Error())
	}
	return nil
}
