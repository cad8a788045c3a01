package console_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/papertrace/patra/internal/patratest"
)

// browser starts a browser of its own, or skips the test where there is none.
func (h *house) browser() context.Context {
	h.Helper()
	name := ""
	for _, n := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(n); err == nil {
			name = found
			break
		}
	}
	if name == "" {
		h.Skip("there is no chromium on this machine: apt-get install chromium")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(name), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.UserDataDir(patratest.BrowserDir(h)))
	ctx, stop := chromedp.NewExecAllocator(context.Background(), options...)
	h.Cleanup(stop)
	ctx, cancel := chromedp.NewContext(ctx)
	h.Cleanup(cancel)
	ctx, end := context.WithTimeout(ctx, browserLimit)
	h.Cleanup(end)
	if err := chromedp.Run(ctx); err != nil {
		h.Fatalf("start the browser: %v", err)
	}
	return ctx
}

// browserLimit is how long a browser may be needed, for pictures of all pages or on a
// machine that has much else to do. One page may take pageLimit.
const (
	browserLimit = 25 * time.Minute
	pageLimit    = 5 * time.Minute
)

// TestScreens_OfEveryPage makes a picture of the pages that are named, for people to look
// at: PATRA_SCREENS=DIR PATRA_PAGES="/ /plans" go test -run Screens. Without PATRA_PAGES it takes all.
func TestScreens_OfEveryPage(t *testing.T) {
	dir := os.Getenv("PATRA_SCREENS")
	if dir == "" {
		t.Skip("PATRA_SCREENS says no folder for the pictures")
	}
	h, _, _ := newDemoHouse(t, nil)
	h.refuseEvents("pubmed")
	h.harvest("crossref")
	h.harvestHostile()
	h.furnish()
	ctx := h.browser()
	pages := strings.Fields(os.Getenv("PATRA_PAGES"))
	if len(pages) == 0 {
		pages = slices.Concat(everyPage, opsPages, hostilePages, previewPages, furnishedPages)
	}
	for _, theme := range []string{"light", "dark"} {
		for _, width := range []int64{360, 768, 1280} {
			for _, page := range pages {
				name := strings.Trim(notOfNames.ReplaceAllString(page, "_"), "_")
				if name == "" {
					name = "overview"
				}
				h.screenshot(ctx, page, theme, width, filepath.Join(dir, fmt.Sprintf("%.60s-%s-%d.png", name, theme, width)))
			}
		}
	}
}

// notOfNames is what of an address does not stand in the name of its picture.
var notOfNames = regexp.MustCompile(`[^A-Za-z0-9.-]+`)

// previewPages are the page of faults, and changes before they are made.
var previewPages = []string{
	"/demo", "/outbox/1", "/change?do=/outbox/messages/1/retry&from=/outbox", "/change?do=/sources/pubmed/pause&from=/sources/pubmed", "/change?do=/quarantine/1/discard&from=/quarantine/1",
}

// furnishedPages are there in a house that was furnished.
var furnishedPages = []string{"/searches/insulin", "/searches/insulin/report", "/schedules/nightly"}

// everyPage are the pages of a house in which pubmed and crossref were harvested.
var everyPage = []string{
	"/", "/sources", "/plans",
	"/cursors", "/cursors?source=pubmed&span=1y", "/cursors/1", "/coverage", "/coverage?source=crossref&span=1y", "/rate", "/rate/pubmed",
	"/searches", "/works", "/works/suggestions", "/works/identifiers", "/works/1",
	"/records", "/records?source=crossref&status=ACTIVE", "/errors", "/errors?state=ALL", "/quarantine", "/blackbox", "/blackbox/1", "/blackbox/1/1?replay=offline",
	"/plans?open=true&state=READY", "/plans/1", "/plans/1?colour=records", "/plans/1/spec", "/plans/1/slices", "/plans/1/slices?state=FAILED", "/slices/1", "/queue", "/tasks", "/tasks?plan=1&state=SUCCEEDED",
	"/settings", "/help", "/tasks/1", "/runs", "/runs?plan=1", "/runs?state=FAILED", "/runs/1", "/runs/1/batches/1",
}

func (h *house) screenshot(ctx context.Context, page, theme string, width int64, file string) {
	h.Helper()
	var picture []byte
	err := chromedp.Run(ctx,
		emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}}),
		chromedp.EmulateViewport(width, 900),
		chromedp.Navigate(h.URL+page),
		chromedp.WaitReady(`html[data-ready]`, chromedp.ByQuery),
		chromedp.FullScreenshot(&picture, 100),
	)
	if err != nil {
		h.Fatalf("%s: %v", page, err)
	}
	if err := os.WriteFile(file, picture, 0o644); err != nil {
		h.Fatal(err)
	}
}
