package console_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/infra/httpapi"
)

// complaints are what a browser has to say about the pages it shows.
type complaints struct {
	mu   sync.Mutex
	said []string // guarded by mu
}

func (c *complaints) add(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.said = append(c.said, fmt.Sprintf(format, args...))
}

// take returns what was said since it was last asked.
func (c *complaints) take() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := c.said
	c.said = nil
	return out
}

// listen collects every message of the browser's console: errors of scripts, what the
// content security policy refused, what could not be loaded.
func listen(ctx context.Context) *complaints {
	out := &complaints{}
	chromedp.ListenTarget(ctx, func(event any) {
		switch e := event.(type) {
		case *runtime.EventConsoleAPICalled:
			for _, a := range e.Args {
				out.add("console %s: %s", e.Type, a.Value)
			}
		case *runtime.EventExceptionThrown:
			out.add("exception: %s", e.ExceptionDetails.Error())
		case *cdplog.EventEntryAdded:
			out.add("%s %s: %s %s", e.Entry.Source, e.Entry.Level, e.Entry.Text, e.Entry.URL)
		}
	})
	return out
}

// open goes to a page and waits until its script has done its part.
func (h *house) open(ctx context.Context, path string) {
	h.Helper()
	within, cancel := context.WithTimeout(ctx, pageLimit)
	defer cancel()
	if err := chromedp.Run(within, chromedp.Navigate(h.URL+path), chromedp.WaitReady(`html[data-ready]`, chromedp.ByQuery)); err != nil {
		h.Fatalf("open %s: %v", path, err)
	}
}

// eval asks the page something.
func eval[T any](h *house, ctx context.Context, js string) T {
	h.Helper()
	var out T
	if err := chromedp.Run(ctx, chromedp.Evaluate(js, &out)); err != nil {
		h.Fatalf("%.80s: %v", js, err)
	}
	return out
}

// until waits until the page says yes.
func (h *house) until(ctx context.Context, what, js string) {
	h.Helper()
	within, cancel := context.WithTimeout(ctx, pageLimit)
	defer cancel()
	for {
		yes := false
		err := chromedp.Run(within, chromedp.Evaluate("Boolean("+js+")", &yes))
		switch {
		case within.Err() != nil:
			h.Fatalf("waited in vain: %s", what)
		case err == nil && yes:
			return
		}
		time.Sleep(20 * time.Millisecond) // a page that is just being left answers with an error
	}
}

// widerThanTheirPlace lists the tables that do not fit into what is around them.
const widerThanTheirPlace = `[...document.querySelectorAll(".scroll")].filter(e => e.scrollWidth > e.clientWidth + 1).map(e => e.getAttribute("aria-label"))`

// TestBrowser_NoPageComplains walks over every page of a house with invented and with
// hostile records in a real browser: nothing is written to its console, nothing is
// refused by the policy, no text of an upstream becomes a script, no page and no table is
// wider than a telephone, and axe finds nothing that keeps people out.
func TestBrowser_NoPageComplains(t *testing.T) {
	h, _, _ := newDemoHouse(t, nil) // so that the page of faults is among them
	h.refuseEvents("pubmed")
	h.harvest("crossref")
	h.harvestHostile()
	h.furnish()
	ctx := h.browser()
	said := listen(ctx)
	axe := axeScript(t)
	if err := chromedp.Run(ctx, cdplog.Enable(), runtime.Enable()); err != nil {
		t.Fatal(err)
	}
	for _, page := range slices.Concat(everyPage, opsPages, hostilePages, previewPages, furnishedPages) {
		if err := chromedp.Run(ctx, chromedp.EmulateViewport(360, 800)); err != nil {
			t.Fatal(err)
		}
		h.open(ctx, page)
		if wide := eval[int](h, ctx, `document.documentElement.scrollWidth`); wide > 360 {
			t.Errorf("%s is %d pixels wide on a telephone of 360", page, wide)
		}
		if wider := eval[[]string](h, ctx, widerThanTheirPlace); len(wider) > 0 {
			t.Errorf("%s has tables that must be pushed aside on a telephone of 360: %q", page, wider)
		}
		if small := eval[[]string](h, ctx, smallTargets); len(small) > 0 {
			t.Errorf("%s has targets smaller than 24 pixels: %q", page, small)
		}
		if eval[bool](h, ctx, `window.hacked === 1`) {
			t.Errorf("%s: a text of an upstream ran as a script", page)
		}
		if err := chromedp.Run(ctx, chromedp.EmulateViewport(1280, 900)); err != nil {
			t.Fatal(err)
		}
		if axe != "" {
			for _, v := range h.violations(ctx, axe) {
				t.Errorf("%s: %s", page, v)
			}
		}
		for _, text := range said.take() {
			t.Errorf("%s: the browser says %s", page, text)
		}
	}
}

// smallTargets lists what can be clicked and is smaller than 24 pixels, but for links
// within a sentence.
const smallTargets = `[...document.querySelectorAll("a[href], button, input:not([type=hidden]), select, textarea, summary")].filter((e) => {
	const r = e.getBoundingClientRect();
	if (r.width === 0 || r.height === 0 || e.closest("p, .said, .skip, svg, .facts")) return false;
	return r.height < 24 || r.width < 24;
}).map((e) => e.outerHTML.slice(0, 120))`

// axeScript is the program that looks for what keeps people out, where `make test-deps`
// puts it; empty where it is not, and then that is said.
func axeScript(t *testing.T) string {
	t.Helper()
	at := filepath.Join(cmp.Or(os.Getenv("PATRA_AXE"), "/opt/patra-axe"), "node_modules", "axe-core", "axe.min.js")
	b, err := os.ReadFile(at)
	if err != nil {
		t.Logf("axe-core is not installed (make test-deps), so nobody looks whether pages keep people out: %v", err)
		return ""
	}
	return string(b)
}

// violations are what axe finds on the page that is open.
func (h *house) violations(ctx context.Context, axe string) []string {
	h.Helper()
	var found string
	wait := func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }
	err := chromedp.Run(ctx,
		chromedp.Evaluate(axe+"; true", nil),
		chromedp.Evaluate(`axe.run(document, {resultTypes: ["violations"]}).then((r) => JSON.stringify(r.violations.map((v) =>
			({id: v.id, help: v.help, nodes: v.nodes.slice(0, 3).map((n) => n.html.slice(0, 160) + " :: " + (n.any[0] || n.all[0] || n.none[0] || {message: ""}).message)}))))`, &found, wait))
	if err != nil {
		h.Fatalf("axe: %v", err)
	}
	var all []struct {
		ID, Help string
		Nodes    []string
	}
	if err := json.Unmarshal([]byte(found), &all); err != nil {
		h.Fatal(err)
	}
	var out []string
	for _, v := range all {
		out = append(out, v.ID+": "+v.Help+"\n\t"+strings.Join(v.Nodes, "\n\t"))
	}
	return out
}

// TestBrowser_LiveKeysAndBack: a page shows what moved without being asked, stands still
// when it is told to, says when it has lost its server; keys lead from room to room; the
// address holds the filters.
func TestBrowser_LiveKeysAndBack(t *testing.T) {
	h := newHouse(t, nil)
	ctx := h.browser()
	h.open(ctx, "/")
	h.until(ctx, "the first event", `document.getElementById("main").dataset.live !== undefined`)
	h.harvest("pubmed")
	h.until(ctx, "the overview shows the harvest", `document.querySelector("#sources td a")?.textContent === "pubmed"`)

	if err := chromedp.Run(ctx, chromedp.Click("#pause", chromedp.ByID)); err != nil {
		t.Fatal(err)
	}
	seen := eval[string](h, ctx, `document.getElementById("main").dataset.live`)
	h.harvest("crossref")
	h.until(ctx, "an event while paused", `document.getElementById("main").dataset.live !== "`+seen+`"`)
	if shown := eval[int](h, ctx, `document.querySelectorAll("#sources tbody tr").length`); shown != 1 {
		t.Errorf("a page that stands still shows %d sources", shown)
	}
	if err := chromedp.Run(ctx, chromedp.Click("#pause", chromedp.ByID)); err != nil {
		t.Fatal(err)
	}
	h.until(ctx, "it goes on", `document.querySelectorAll("#sources tbody tr").length === 2`)

	if err := chromedp.Run(ctx, chromedp.Evaluate(`document.activeElement.blur()`, nil), chromedp.KeyEvent("g"), chromedp.KeyEvent("p")); err != nil {
		t.Fatal(err)
	}
	h.until(ctx, "g p leads to the plans", `location.pathname === "/plans" && document.documentElement.dataset.ready === "1"`)
	if err := chromedp.Run(ctx, chromedp.KeyEvent("j"), chromedp.KeyEvent("j")); err != nil {
		t.Fatal(err)
	}
	h.until(ctx, "j goes down the rows", `document.activeElement.closest("tr") === document.querySelectorAll("tbody tr")[1]`)
	// A page that is shown anew does not throw whoever is on a row back to before the first.
	seq := eval[string](h, ctx, `document.getElementById("main").dataset.seq || ""`)
	if err := chromedp.Run(ctx, chromedp.KeyEvent("k"), chromedp.KeyEvent("p"), chromedp.KeyEvent("p")); err != nil {
		t.Fatal(err)
	}
	h.until(ctx, "the page is shown anew", `document.getElementById("main").dataset.seq !== undefined && document.getElementById("main").dataset.seq !== "`+seq+`"`)
	if err := chromedp.Run(ctx, chromedp.KeyEvent("j")); err != nil {
		t.Fatal(err)
	}
	h.until(ctx, "j goes down from there", `document.activeElement.closest("tr") === document.querySelectorAll("tbody tr")[1]`)
	if err := chromedp.Run(ctx, chromedp.KeyEvent("/")); err != nil {
		t.Fatal(err)
	}
	h.until(ctx, "/ leads to the search", `document.activeElement.name === "q"`)
	if err := chromedp.Run(ctx, chromedp.KeyEvent(kb.Escape)); err != nil {
		t.Fatal(err)
	}

	h.open(ctx, "/plans?source=pubmed")
	only := `[...document.querySelectorAll("tbody tr td:nth-child(2)")].map((e) => e.textContent.trim()).join() === "pubmed"`
	h.until(ctx, "the filter of the address", only)
	if err := chromedp.Run(ctx, chromedp.Reload(), chromedp.WaitReady(`html[data-ready]`, chromedp.ByQuery)); err != nil {
		t.Fatal(err)
	}
	h.until(ctx, "the filter after a reload", only)
	h.open(ctx, "/sources")
	if err := chromedp.Run(ctx, chromedp.NavigateBack()); err != nil {
		t.Fatal(err)
	}
	h.until(ctx, "the filter after Back", `location.search === "?source=pubmed" && `+only)

	h.open(ctx, "/")
	h.until(ctx, "the first event", `document.getElementById("main").dataset.live !== undefined`)
	h.stop()
	h.until(ctx, "it says that the link is lost", `!document.getElementById("lost").hidden`)
}

// TestForms_OnlyOurOwn: a change is made by a form of this console and by no other, and
// not at all where the console is for reading.
func TestForms_OnlyOurOwn(t *testing.T) {
	h := newHouse(t, nil)
	send := func(form string, header http.Header, cookies ...*http.Cookie) int {
		r, err := http.NewRequest(http.MethodPost, h.URL+"/change", strings.NewReader(form))
		if err != nil {
			t.Fatal(err)
		}
		r.Header = header
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		for _, c := range cookies {
			r.AddCookie(c)
		}
		client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
		answer, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		return answer.StatusCode
	}
	held := func() string {
		s, err := h.node.Control.Source(t.Context(), "pubmed")
		if err != nil {
			t.Fatal(err)
		}
		return s.State
	}
	h.harvest("pubmed")
	ready := held()
	ours := &http.Cookie{Name: "patra_form", Value: "abc"}
	pause := "do=%2Fsources%2Fpubmed%2Fpause&from=%2Fsources&form_token="
	for name, status := range map[string]int{
		"of another site":      send(pause+"abc", http.Header{"Sec-Fetch-Site": {"cross-site"}, "Origin": {"http://evil.example"}}, ours),
		"without our token":    send(pause, http.Header{}, ours),
		"with a wrong token":   send(pause+"abd", http.Header{}, ours),
		"without our cookie":   send(pause+"abc", http.Header{}),
		"with both empty":      send(pause, http.Header{}),
		"for no change at all": send("do=https%3A%2F%2Fevil.example&form_token=abc", http.Header{}, ours),
	} {
		if status < 400 {
			t.Errorf("a form %s is answered %d", name, status)
		}
	}
	if now := held(); now != ready {
		t.Fatalf("one of them changed the source to %s", now)
	}
	if status := send(pause+"abc", http.Header{"Sec-Fetch-Site": {"same-origin"}}, ours); status != http.StatusSeeOther {
		t.Errorf("our own form is answered %d", status)
	}
	if now := held(); now == ready {
		t.Error("our own form changed nothing")
	}
}

// TestReadOnly_ShowsNoButtons: what cannot be done is not offered, to those who read
// only and to a viewer.
func TestReadOnly_ShowsNoButtons(t *testing.T) {
	h := newHouse(t, func(c *httpapi.Config) { c.ReadOnly = true })
	h.harvest("pubmed")
	for _, page := range slices.Concat(everyPage, opsPages) {
		_, html := h.get(page)
		if strings.Contains(html, `action="/change"`) || strings.Contains(html, `href="/change?`) {
			t.Errorf("%s offers a change", page)
		}
	}
	if _, html := h.get("/"); !strings.Contains(html, "READ-ONLY") {
		t.Error("nothing says that it is for reading only")
	}
}

// TestLogin_ATokenLetsIn: where tokens are in use a page asks for one, takes one, and says
// that a wrong one is none.
func TestLogin_ATokenLetsIn(t *testing.T) {
	h := newHouse(t, nil)
	made, err := h.node.Control.NewToken(t.Context(), control.TokenOrder{By: control.By{Actor: "test", Reason: "test"}, Name: "reader", Role: control.Viewer})
	if err != nil {
		t.Fatal(err)
	}
	if status, page := h.get("/"); status != http.StatusUnauthorized || !strings.Contains(page, `name="secret"`) || strings.Contains(page, `class="rail"`) {
		t.Errorf("without a token the overview answers %d", status)
	}
	for secret, want := range map[string]int{made.Secret: http.StatusOK, "wrong": http.StatusUnauthorized} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, h.URL+"/", nil)
		r.RequestURI = ""
		r.AddCookie(&http.Cookie{Name: "patra_token", Value: secret})
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != want {
			t.Errorf("a token is answered %d, wanted %d", answer.StatusCode, want)
		}
	}
}
