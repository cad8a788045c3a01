package console_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/papertrace/patra/internal/app/control"
)

// opsPages are those of an operator in a house in which pubmed was harvested.
var opsPages = []string{
	"/sources/pubmed", "/sources/pubmed?at=2026-11-17T00:00:00Z", "/sources/pubmed/timeline", "/sources/pubmed/diff?from=2020-01-01", "/sources/new", "/sources/pubmed/edit", "/sources/pubmed/check", "/audit/1", "/schedules", "/schedules/new",
	"/alerts?all=on", "/outbox", "/outbox?parked=on", "/audit?all=on", "/search?q=nothing-of-that-name",
}

// TestOperatorPages_AnswerAndLeadOn: every page of an operator is there with its words;
// what is searched for is found by its name, number or id; a form leads to the preview of
// what it asks for; a change stands in the audit with its reason.
func TestOperatorPages_AnswerAndLeadOn(t *testing.T) {
	h := newHouse(t, nil)
	h.harvest("pubmed")
	v := h.visitor()
	for _, page := range opsPages {
		status, html := v.send(http.MethodGet, page, nil, nil)
		if status != http.StatusOK || strings.Contains(html, "%!") {
			t.Errorf("%s answers %d", page, status)
		}
	}
	for page, want := range map[string]string{
		"/sources/pubmed":                      "asked at",
		"/sources/pubmed/timeline":             "<rect class=\"f-ok\"",
		"/sources/pubmed?at=2020-01-01":        "first row begins",
		"/plans/1/spec":                        "as it was frozen",
		"/sources/pubmed/diff?from=2020-01-01": "<th scope=\"col\">before</th>",
		"/alerts":                              "source_stopped",
		"/search?q=pubmed":                     "<h1>pubmed</h1>",
		"/search?q=1":                          "Run 1",
	} {
		if _, html := v.send(http.MethodGet, page, nil, nil); !strings.Contains(strings.ToLower(html), strings.ToLower(want)) {
			t.Errorf("%s does not say %q", page, want)
		}
	}
	if _, html := v.send(http.MethodGet, "/sources/pubmed?at=2020-01-01", nil, nil); strings.Contains(html, "is required") {
		t.Error("before its first row a source has mistakes")
	}
	if status, _ := v.send(http.MethodGet, "/sources/nobody", nil, nil); status != http.StatusNotFound {
		t.Errorf("a source that is not there answers %d", status)
	}
	if status, _ := v.send(http.MethodGet, "/sources/pubmed?at=yesterday", nil, nil); status != http.StatusUnprocessableEntity {
		t.Errorf("an instant that is none answers %d", status)
	}

	filled := url.Values{"do": {"/schedules"}, "from": {"/schedules"}, "with.name": {"nightly"}, "with.source": {"pubmed"}, "with.operation": {"HARVEST"}, "with.cron": {"@daily"}, "with.query": {""}}
	status, preview := v.send(http.MethodGet, "/change?"+filled.Encode(), nil, nil)
	if status != http.StatusOK || !strings.Contains(preview, "nightly") || !strings.Contains(preview, "cron=%40daily") {
		t.Fatalf("the preview of a schedule answers %d\n%s", status, preview)
	}
	order := control.ScheduleOrder{By: control.By{Actor: "ada", Reason: "fresh every morning"}, Name: "nightly", Source: "pubmed", Cron: "@daily"}
	if _, err := h.node.Control.SetSchedule(t.Context(), order); err != nil {
		t.Fatal(err)
	}
	for page, want := range map[string]string{"/schedules/nightly": "@daily", "/audit": "fresh every morning", "/audit?object=schedule%2Fnightly": "ada"} {
		if _, html := v.send(http.MethodGet, page, nil, nil); !strings.Contains(html, want) {
			t.Errorf("%s does not say %q", page, want)
		}
	}
	list, err := h.node.Control.Audit(t.Context(), control.AuditQuery{Limit: 1})
	if err != nil || len(list.Audit) != 1 {
		t.Fatalf("%v, %v", list, err)
	}
	if status, html := v.send(http.MethodGet, fmt.Sprintf("/audit/%d", list.Audit[0].ID), nil, nil); status != http.StatusOK || !strings.Contains(html, "fresh every morning") {
		t.Errorf("the page of a change answers %d", status)
	}
}
