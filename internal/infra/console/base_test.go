package console_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
)

// TestBase_PagesStandBelowAPath: behind a proxy that gives patra a path, every link, form,
// style and script of every page leads below that path, and so does the API.
func TestBase_PagesStandBelowAPath(t *testing.T) {
	h := newHouseAt(t, "/patra", nil)
	h.harvest("pubmed")
	leads := regexp.MustCompile(` (?:href|src|action|data-base)="([^"]*)"`)
	for _, page := range everyPage {
		status, html := h.get("/patra" + page)
		if status != http.StatusOK {
			t.Errorf("%s answers %d", page, status)
		}
		for _, m := range leads.FindAllStringSubmatch(html, -1) {
			if to := m[1]; strings.HasPrefix(to, "/") && to != "/patra" && !strings.HasPrefix(to, "/patra/") {
				t.Errorf("%s leads to %s", page, to)
			}
		}
	}
	style := regexp.MustCompile(`href="([^"]*patra\.css)"`)
	_, html := h.get("/patra/")
	for path, want := range map[string]int{
		style.FindStringSubmatch(html)[1]: http.StatusOK, "/patra/api/v1/sources": http.StatusOK, "/patra/sources.json": http.StatusOK,
		"/patra/healthz": http.StatusOK, "/healthz": http.StatusOK, "/": http.StatusNotFound,
	} {
		if status, _ := h.get(path); status != want {
			t.Errorf("%s answers %d, wanted %d", path, status, want)
		}
	}
}
