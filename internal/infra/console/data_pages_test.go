package console_test

import "testing"

// TestData_EveryPageAnswers: each page about data is there once something was harvested.
func TestData_EveryPageAnswers(t *testing.T) {
	h := newHouse(t, nil)
	h.harvest("pubmed")
	h.harvest("crossref")
	if err := h.node.Control.LinkWorks(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, page := range []string{
		"/records", "/errors", "/quarantine", "/cursors", "/cursors/1", "/coverage", "/coverage?source=crossref", "/rate", "/rate/pubmed", "/searches", "/works", "/works/suggestions",
		"/works/identifiers", "/works/1", "/blackbox/1", "/blackbox/1/1?replay=offline",
	} {
		if status, body := h.get(page); status != 200 {
			t.Errorf("%s answers %d: %.300s", page, status, body)
		}
	}
}
