package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/papertrace/patra/internal/patratest"
	"github.com/papertrace/patra/internal/sim"
)

// walked is what somebody finds who begins at the overview while a fault is on.
type walked struct {
	fault sim.Fault
	// names is the word by which the overview names the cause; empty: the work goes on,
	// and there is nothing to find.
	names string
	// finds is what the page that the overview leads to calls the cause, if by another word.
	finds string
	// heals: what is begun again gets further each time, so that the overview may have had
	// something to name, or not.
	heals bool
}

var walks = []walked{
	{fault: sim.HTTP500, names: "http_500"},
	{fault: sim.HTTP502HTML, names: "http_502"},
	{fault: sim.HTTP503, names: "http_503"},
	{fault: sim.HTTP503Date, names: "http_503"},
	{fault: sim.HTTP504HTML, names: "http_504"},
	{fault: sim.HTTP429, names: "http_429"},
	{fault: sim.HTTP429RetryAfter, names: "http_429"},
	{fault: sim.ResetBeforeHeader, names: "network"},
	{fault: sim.ResetMidBody, names: "network"},
	{fault: sim.TruncatedBody, names: "bad_reply"},
	{fault: sim.ServedLost, names: "network"},
	{fault: sim.Slow},
	{fault: sim.HTML200, names: "unexpected_html"},
	{fault: sim.Empty200, names: "bad_reply"},
	{fault: sim.Error200, names: "schema_drift"},
	{fault: sim.Viewer400, names: "viewer_failed"},
	{fault: sim.InvalidUTF8, names: "in quarantine", finds: "The item holds bytes that are no text."},
	{fault: sim.BadJSON, names: "bad_reply"},
	{fault: sim.ShortPage},
	{fault: sim.EmptyMiddlePage, names: "total_not_reached"},
	{fault: sim.RepeatedPage, names: "page_repeats"},
	{fault: sim.CursorExpired, names: "http_410"},
	{fault: sim.WebEnvLost, names: "session_lost", heals: true},
	{fault: sim.DetailMissing, names: "without details"},
	{fault: sim.DetailExtra},
	{fault: sim.DetailBadItem, names: "in quarantine", finds: "The item has no id, or none of the source's form."},
	{fault: sim.TotalWrong, names: "total_not_reached"},
	{fault: sim.Errorlist, names: "query_widened"},
	{fault: sim.RetryAfterOn200},
	{fault: sim.TokenDropped, names: "token_missing"},
	{fault: sim.TokenDroppedShort, names: "token_missing"},
	{fault: sim.TotalDropped, names: "schema_drift"},
}

// always are one fault of each way in which they are seen.
var always = []sim.Fault{sim.HTTP503, sim.HTTP429, sim.HTML200, sim.InvalidUTF8, sim.TotalWrong, sim.DetailMissing, sim.Slow}

// TestDemo_EveryFaultIsFoundInThreeClicks: each fault is switched on at its page in a real
// browser. Whoever then begins at the overview sees the source and the cause there, and in
// at most three clicks a page that names it in a sentence. What keeps nothing from going on
// leaves the overview as it was. PATRA_SOAK walks for all of them, else one is walked for of
// each way in which a fault is seen: a browser and a demo each are much for a small machine.
func TestDemo_EveryFaultIsFoundInThreeClicks(t *testing.T) {
	if len(walks) != len(sim.AllFaults) {
		t.Errorf("%d of %d faults are walked", len(walks), len(sim.AllFaults))
	}
	browser := startBrowser(t)
	for _, w := range walks {
		if os.Getenv("PATRA_SOAK") == "" && !slices.Contains(always, w.fault) {
			continue
		}
		t.Run(string(w.fault), func(t *testing.T) {
			t.Parallel()
			p := openDemo(t, browser)
			p.click(fmt.Sprintf(`#switch-%s, [data-id="switch-%s"]`, w.fault, w.fault))
			if w.names == "" || w.heals {
				p.staysQuiet(w)
				return
			}
			p.walk(w)
		})
	}
}

// startBrowser begins a browser whose tabs the tests share.
func startBrowser(t *testing.T) context.Context {
	t.Helper()
	name, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("there is no chromium on this machine: apt-get install chromium")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(name), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.UserDataDir(patratest.BrowserDir(t)))
	ctx, stop := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(stop)
	ctx, cancel := chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	if err := chromedp.Run(ctx); err != nil {
		t.Fatalf("start the browser: %v", err)
	}
	return ctx
}

// person looks at a demo.
type person struct {
	*testing.T
	tab     context.Context
	address string
	clicks  int
}

// openDemo begins a demo and opens the page of its faults.
func openDemo(t *testing.T, browser context.Context) *person {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	out := seekIn(`faults:  (http://\S+)/demo`)
	ended := make(chan int, 1)
	go func() { ended <- run(ctx, []string{"demo", "--no-browser"}, out, io.Discard) }()
	t.Cleanup(func() {
		stop()
		if code := <-ended; code != 0 {
			t.Errorf("the demo ends with %d", code)
		}
	})
	tab, leave := chromedp.NewContext(browser)
	t.Cleanup(leave)
	tab, end := context.WithTimeout(tab, 4*time.Minute)
	t.Cleanup(end)
	p := &person{T: t, tab: tab}
	select {
	case m := <-out.found:
		p.address = m[1]
	case code := <-ended:
		ended <- code
		t.Fatalf("the demo ends with %d\n%s", code, out.text.String())
	}
	p.open("/")
	p.until("every source was harvested once", `(document.querySelector("main").innerText.match(/on time/g) || []).length >= 5`)
	p.open("/demo")
	return p
}

func (p *person) open(path string) {
	p.Helper()
	if err := chromedp.Run(p.tab, chromedp.Navigate(p.address+path), chromedp.WaitReady(`html[data-ready]`, chromedp.ByQuery)); err != nil {
		p.Fatalf("open %s: %v", path, err)
	}
}

// click clicks on something and waits for the page that it leads to. A page that follows
// what happens may draw it anew between the look and the click, which then was none, or met
// something else: it is made again.
func (p *person) click(selector string) {
	p.Helper()
	var was float64
	listens := fmt.Sprintf(`window.met = false
		addEventListener("click", e => { window.met ||= e.target.closest(%q) !== null }, {capture: true})
		performance.timeOrigin`, selector)
	for {
		err := chromedp.Run(p.tab, chromedp.Evaluate(listens, &was), chromedp.Click(selector, chromedp.ByQuery))
		if err == nil && p.hasMet(was) {
			break
		}
		if p.tab.Err() != nil || err != nil && !strings.Contains(err.Error(), "Could not find node") {
			p.Fatalf("click on %s: %v", selector, err)
		}
	}
	p.clicks++
	p.until("the next page", fmt.Sprintf(`performance.timeOrigin > %f && document.documentElement.dataset.ready`, was))
}

// hasMet reports whether a click met what it was meant for: it says so, or the page is gone.
func (p *person) hasMet(origin float64) (met bool) {
	p.Helper()
	err := chromedp.Run(p.tab, chromedp.Evaluate(fmt.Sprintf(`performance.timeOrigin > %f || window.met`, origin), &met))
	return met || err != nil
}

// until waits until the page says yes. If it never does, what it said last is told.
func (p *person) until(what, js string) {
	p.Helper()
	said := ""
	for {
		var answer struct {
			Yes  bool   `json:"yes"`
			Said string `json:"said"`
		}
		err := chromedp.Run(p.tab, chromedp.Evaluate("({yes: Boolean("+js+"), said: document.querySelector(\"main\").innerText})", &answer))
		if err == nil {
			said = answer.Said
		}
		switch {
		case p.tab.Err() != nil:
			p.Fatalf("waited in vain: %s; the page says:\n%s", what, said)
		case err == nil && answer.Yes:
			return
		}
		time.Sleep(50 * time.Millisecond) // a page that is just being left answers with an error
	}
}

// reads is the text of the page.
func (p *person) reads() string {
	p.Helper()
	text := ""
	if err := chromedp.Run(p.tab, chromedp.Evaluate(`document.querySelector("main").innerText`, &text)); err != nil {
		p.Fatal(err)
	}
	return text
}

// walk finds the cause of a fault, from the overview on. What was named there may be over
// by the time the next page is made; then the walk begins again, as a person would. So it does
// if nothing is named for a while: the browser has many tabs, and one that is behind another
// does not follow what happens.
func (p *person) walk(w walked) {
	p.Helper()
	for {
		p.open("/")
		p.clicks = 0
		names := fmt.Sprintf(`document.querySelector("main").innerText.includes(%q)`, w.names)
		p.until("the overview names "+w.names, fmt.Sprintf(`%s || performance.now() > 20000`, names))
		text, found := p.follow(w)
		switch {
		case found && p.clicks > 3:
			p.Fatalf("it took %d clicks", p.clicks)
		case found:
			return
		case p.tab.Err() != nil:
			p.Fatalf("after %d clicks nothing tells of %s:\n%s", p.clicks, w.names, text)
		}
	}
}

// follow goes where the overview leads from what it names, and looks for the cause there.
func (p *person) follow(w walked) (text string, found bool) {
	p.Helper()
	to := ""
	find := fmt.Sprintf(`(() => {
		const says = [...document.querySelectorAll(".needs li, tbody tr")].find((e) => e.innerText.includes(%q));
		const a = says && says.querySelector("a[href]");
		return a ? a.getAttribute("href") : "";
	})()`, w.names)
	if err := chromedp.Run(p.tab, chromedp.Evaluate(find, &to)); err != nil || to == "" {
		return "", false
	}
	p.click(fmt.Sprintf(`main a[href=%q]`, to))
	text = p.reads()
	return text, strings.Contains(text, cmp.Or(w.finds, w.names))
}

// staysQuiet holds that a fault has befallen requests, and nobody is troubled by it.
func (p *person) staysQuiet(w walked) {
	p.Helper()
	p.until("a request was befallen by "+string(w.fault), fmt.Sprintf(
		`[...document.querySelectorAll("tbody tr")].some((r) => r.cells[0].innerText.trim() === %q && Number(r.cells[r.cells.length-1].innerText) > 0)`, w.fault))
	p.open("/")
	text := p.reads()
	healing := w.heals && strings.Contains(text, w.names)
	if !strings.Contains(text, "Nothing needs you") && !healing {
		p.Errorf("the overview troubles somebody:\n%s", text)
	}
}
