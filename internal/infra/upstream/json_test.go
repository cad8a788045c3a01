package upstream

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/papertrace/patra/internal/domain/source"
)

// TestR51_ListStaysAListInABody: json() gives a list whose texts are what they
// were, and inside quotes it is one text.
func TestR51_ListStaysAListInABody(t *testing.T) {
	var body []byte
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ = io.ReadAll(r.Body)
		io.WriteString(w, goodReply)
	}))
	defer srv.Close()
	c := newClient(Config{Credentials: &pool{keys: []string{"k"}}, Rand: steady}, new(free), jsonDecoder{})
	defer c.Close()
	for _, value := range append([]string{"plain", `a","b`, `"]}`}, hostileValues...) {
		spec := authSpec(source.Auth{Type: source.AuthAPIKey, In: source.InQuery, Name: "api_key"})
		spec.HTTP = source.HTTP{BaseURL: srv.URL, AllowHTTP: true, AllowPrivate: true}
		spec.Detail = &source.Endpoint{
			Path: "/batch", Method: "POST", Format: source.FormatJSON, ContentType: "application/json",
			Body: `{"ids":${json(ids)},"text":"${json(ids)}"}`,
		}
		ids := []string{"first", value}
		body = nil
		if _, err := c.Ask(t.Context(), spec, source.Call{Purpose: source.ForDetail, IDs: ids}); err != nil && body == nil {
			continue // refused: nothing left
		}
		var got struct {
			IDs  []string
			Text string
		}
		if err := json.Unmarshal(body, &got); err != nil || !slices.Equal(got.IDs, ids) {
			t.Errorf("%q: %s, %v", value, body, err)
		}
		var again []string
		if err := json.Unmarshal([]byte(got.Text), &again); err != nil || !slices.Equal(again, ids) {
			t.Errorf("%q in quotes: %s, %v", value, got.Text, err)
		}
	}
}
