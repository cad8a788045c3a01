package console_test

import (
	"html"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
)

// TestBlackBoxes_AreFoundAndTakenOut: the newest runs lead to the black boxes of their
// pages, a correlation id leads straight to one, and one is given out as a file with a
// reason that the audit keeps, and not without.
func TestBlackBoxes_AreFoundAndTakenOut(t *testing.T) {
	h := newHouse(t, nil)
	h.harvest("pubmed")
	v := h.visitor()
	_, room := v.send(http.MethodGet, "/blackbox", nil, nil)
	if !strings.Contains(room, `href="/blackbox/1/1"`) {
		t.Error("the room leads to no black box")
	}
	if status, page := v.send(http.MethodGet, "/search?q=ing-1-1", nil, nil); status != http.StatusOK || !strings.Contains(page, "<h1>Black box 1/1</h1>") {
		t.Errorf("a correlation id is answered %d", status)
	}
	if status, _ := v.send(http.MethodPost, "/blackbox/1/1/export", url.Values{"form_token": {v.token()}, "reason": {" "}}, nil); status != http.StatusUnprocessableEntity {
		t.Errorf("without a reason it is answered %d", status)
	}
	status, file := v.send(http.MethodPost, "/blackbox/1/1/export", url.Values{"form_token": {v.token()}, "reason": {"for the library"}}, nil)
	if status != http.StatusOK || !strings.HasPrefix(file, "\x28\xb5\x2f\xfd") {
		t.Errorf("the file is answered %d and begins %q", status, file[:min(8, len(file))])
	}
	if _, page := v.send(http.MethodGet, "/audit", nil, nil); !strings.Contains(page, "for the library") || !strings.Contains(page, "EXPORT_BLACKBOX") {
		t.Error("the audit does not tell of it")
	}
}

// TestSource_HeldEndpointsAndPacing: the page of a source lists the endpoint that is paused
// by itself and lets it go on, and that of a plan tells how it is worked on.
func TestSource_HeldEndpointsAndPacing(t *testing.T) {
	h := newHouse(t, nil)
	manner := control.Manner{Pacing: harvest.Pacing{Spread: time.Second, Bounds: harvest.Bounds{PageSize: 40}}}
	if _, err := h.node.Control.Harvest(t.Context(), control.HarvestRequest{Source: "pubmed", BaseURL: h.base + "/pubmed", Manner: manner, Watch: new(control.Watch)}); err != nil {
		t.Fatal(err)
	}
	v := h.visitor()
	if _, page := v.send(http.MethodGet, "/plans/1", nil, nil); !strings.Contains(page, "begun over 1s, pages of 40") {
		t.Error("the page of the plan does not tell how it is worked on")
	}
	if _, err := h.node.Control.PauseSource(t.Context(), control.HoldOrder{Source: "pubmed/esearch", By: control.By{Actor: "ada", Reason: "slow"}}); err != nil {
		t.Fatal(err)
	}
	_, page := v.send(http.MethodGet, "/sources/pubmed", nil, nil)
	if !strings.Contains(page, "Endpoints that are held") || !strings.Contains(page, "esearch") {
		t.Error("the page of the source does not tell of the paused endpoint")
	}
	if _, other := v.send(http.MethodGet, "/sources/crossref", nil, nil); strings.Contains(other, "Endpoints that are held") {
		t.Error("endpoints are said to be held that are not")
	}
	resume := "/sources/pubmed/resume?endpoint=esearch"
	if !strings.Contains(page, html.EscapeString(resume)) {
		t.Error("the page has no way to let the endpoint go on")
	}
	if status, answer := v.send(http.MethodPost, "/change", url.Values{"form_token": {v.token()}, "do": {resume}, "from": {"/sources/pubmed"}}, nil); status >= 400 {
		t.Fatalf("answered %d: %s", status, answer)
	}
	row, err := h.node.Control.Source(t.Context(), "pubmed")
	if err != nil {
		t.Fatal(err)
	}
	if len(row.PausedEndpoints) != 0 {
		t.Errorf("%v are still paused", row.PausedEndpoints)
	}
}

// TestPages_ByOtherNames: a plan is found by its key, a slice tells what was asked of it
// and what came, and a change that can be taken back offers that on its line of the audit.
func TestPages_ByOtherNames(t *testing.T) {
	h := newHouse(t, nil)
	h.harvest("pubmed")
	v := h.visitor()
	plan, err := h.node.Control.Plan(t.Context(), 1, 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	if status, page := v.send(http.MethodGet, "/plans/"+plan.Plan.Key, nil, nil); status != http.StatusOK || !strings.Contains(page, "Plan 1: pubmed") {
		t.Errorf("the key of a plan is answered %d", status)
	}
	if status, _ := v.send(http.MethodGet, "/plans/nobody", nil, nil); status != http.StatusNotFound {
		t.Errorf("a key that is none is answered %d", status)
	}
	if _, page := v.send(http.MethodGet, "/slices/1", nil, nil); !strings.Contains(page, " expected</span>") || !strings.Contains(page, "RANGE") {
		t.Error("a slice does not tell what was expected and asked for")
	}
	if _, err := h.node.Control.PauseSource(t.Context(), control.HoldOrder{By: control.By{Actor: "ada", Reason: "a rest"}, Source: "pubmed"}); err != nil {
		t.Fatal(err)
	}
	list, err := h.node.Control.Audit(t.Context(), control.AuditQuery{Limit: 1})
	if err != nil || len(list.Audit) != 1 {
		t.Fatalf("%v, %v", list, err)
	}
	if _, page := v.send(http.MethodGet, "/audit/"+strconv.FormatInt(list.Audit[0].ID, 10), nil, nil); !strings.Contains(page, "/change?do=%2fsources%2fpubmed%2fresume") {
		t.Error("a pause does not offer to be taken back")
	}
}

// TestSourceCheck_AsksAndStoresNothing: the check of a source is made at a click, by a form
// of this console, and shows what was asked and what came.
func TestSourceCheck_AsksAndStoresNothing(t *testing.T) {
	h := newHouse(t, nil)
	h.harvestHostile()
	v := h.visitor()
	if status, _ := v.send(http.MethodPost, "/sources/hostile/check", url.Values{"form_token": {"wrong"}}, nil); status == http.StatusOK {
		t.Error("a form of others was taken")
	}
	status, page := v.send(http.MethodPost, "/sources/hostile/check", url.Values{"form_token": {v.token()}}, nil)
	if status != http.StatusOK || !strings.Contains(page, "/items?") || !strings.Contains(page, "Nothing is stored") || strings.Contains(page, "<script>window.hacked") {
		t.Errorf("the check is answered %d", status)
	}
}

// TestBrowser_TabsShareOneStream: a second tab has no stream of its own, is told all the
// same, and takes the stream over when the first is closed.
func TestBrowser_TabsShareOneStream(t *testing.T) {
	h := newHouse(t, nil)
	ctx := h.browser()
	first, closeFirst := chromedp.NewContext(ctx)
	if err := chromedp.Run(first); err != nil { // the tab lives as long as the context that opened it
		t.Fatal(err)
	}
	h.open(first, "/")
	h.until(first, "the first tab listens", `document.getElementById("main").dataset.live !== undefined && document.getElementById("main").dataset.stream === "own"`)
	h.open(ctx, "/")
	h.until(ctx, "the second tab is told by the first", `document.getElementById("main").dataset.live !== undefined`)
	if stream := eval[string](h, ctx, `document.getElementById("main").dataset.stream`); stream != "shared" {
		t.Errorf("the second tab has a stream that is %s", stream)
	}
	h.harvest("pubmed")
	h.until(ctx, "the second tab shows the harvest", `document.querySelector("#sources td a")?.textContent === "pubmed"`)
	closeFirst()
	h.until(ctx, "the second tab listens", `document.getElementById("main").dataset.stream === "own"`)
	h.harvest("crossref")
	h.until(ctx, "it shows what came after", `document.querySelectorAll("#sources tbody tr").length === 2`)
}

// TestBrowser_WhatMovesBeforeTheFirstMessageIsShown: a page that was made before something
// moved shows it, also where the first message came after that.
func TestBrowser_WhatMovesBeforeTheFirstMessageIsShown(t *testing.T) {
	h := newHouse(t, nil)
	console, err := url.Parse(h.URL)
	if err != nil {
		t.Fatal(err)
	}
	moved := make(chan struct{})
	pass := httputil.NewSingleHostReverseProxy(console)
	pass.FlushInterval = -1
	late := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/live" {
			<-moved
		}
		pass.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		h.stop()
		late.CloseClientConnections()
		late.Close()
	})
	h.URL = late.URL
	ctx := h.browser()
	h.open(ctx, "/plans") // which time alone does not change
	h.harvest("pubmed")
	close(moved)
	h.until(ctx, "the plan that was made meanwhile", `document.querySelector("tbody tr td:nth-child(2)")?.textContent.trim() === "pubmed"`)
}
