package console_test

import (
	"net/http"
	"strings"
	"testing"
)

// TestPages_AnswerWithoutScript: every page is whole in its first answer, under the
// policy that lets no foreign script run.
func TestPages_AnswerWithoutScript(t *testing.T) {
	h := newHouse(t, nil)
	for _, page := range everyPage {
		answer, err := http.Get(h.URL + page)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if csp := answer.Header.Get("Content-Security-Policy"); !strings.Contains(csp, "script-src 'self'") || !strings.Contains(csp, "require-trusted-types-for 'script'") {
			t.Errorf("%s has the policy %q", page, csp)
		}
	}
	if status, page := h.get("/"); status != http.StatusOK || !strings.Contains(page, "<h1>Overview</h1>") || strings.Contains(page, "style=") || strings.Contains(page, "onclick") {
		t.Errorf("overview answers %d", status)
	}
	if status, page := h.get("/nothing-here"); status != http.StatusNotFound || !strings.Contains(page, "nothing at this address") {
		t.Errorf("what is not there answers %d", status)
	}
	if status, doc := h.get("/sources.json"); status != http.StatusOK || !strings.HasPrefix(doc, `{"sources":`) {
		t.Errorf("the document of a page answers %d %.40s", status, doc)
	}
	if status, doc := h.get("/index.json"); status != http.StatusOK || !strings.Contains(doc, `"needs_you"`) {
		t.Errorf("the document of the overview answers %d %.40s", status, doc)
	}
}
