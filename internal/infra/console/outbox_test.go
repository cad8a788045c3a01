package console_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/app/relay"
)

// refuseEvents has a target of events told of what is harvested, of which it refuses the first two
// revisions: one is parked, the other is tried again in an hour.
func (h *house) refuseEvents(source string) {
	h.Helper()
	store := h.node.Store
	if _, err := store.EnsureTarget(h.Context(), "lake", "webhook"); err != nil {
		h.Fatal(err)
	}
	h.harvest(source)
	l, mine, err := store.ClaimTarget(h.Context(), relay.Claim{Target: "lake", Owner: "a relay", TTL: time.Minute})
	if err != nil || !mine {
		h.Fatal(mine, err)
	}
	b, err := store.NextRevisions(h.Context(), l, 2)
	if err != nil || len(b.Fresh) != 2 {
		h.Fatalf("%d revisions, %v", len(b.Fresh), err)
	}
	parked := relay.Refusal{Revision: b.Fresh[0], Error: "HTTP 422: <b>too long</b>", Parked: true}
	parked.Attempts = relay.Tries
	later := relay.Refusal{Revision: b.Fresh[1], Error: "HTTP 400", Rest: time.Hour}
	later.Attempts = 1
	if err := store.Settle(h.Context(), l, relay.Outcome{To: b.To, Refused: []relay.Refusal{parked, later}, Leave: true}); err != nil {
		h.Fatal(err)
	}
}

// TestOutbox_ShowsWhatWasNotTakenAndTriesAgain: who is told, how far behind and why stands on the page,
// with what was refused; the overview leads there; a message is tried again after a preview and
// with a reason that the audit keeps.
func TestOutbox_ShowsWhatWasNotTakenAndTriesAgain(t *testing.T) {
	h := newHouse(t, nil)
	v := h.visitor()
	if _, page := v.send(http.MethodGet, "/outbox", nil, nil); !strings.Contains(page, "Nobody is told") || !strings.Contains(page, "Nothing was refused") {
		t.Error("an outbox for nobody does not say so")
	}
	h.refuseEvents("pubmed")
	for page, wants := range map[string][]string{
		"/":                   {"the target lake refused 1 message, parked", `href="/outbox"`},
		"/outbox":             {"lake", "webhook", "parked", "HTTP 422: &lt;b&gt;too long&lt;/b&gt;", "HTTP 400", "/change?do=%2foutbox%2fmessages%2f1%2fretry", "/change?do=%2foutbox%2fretry%3ftarget%3dlake"},
		"/outbox?parked=on":   {"HTTP 422"},
		"/outbox/1":           {"Message 1", "pubmed/", "HTTP 422", "/change?do=%2foutbox%2fmessages%2f1%2fretry"},
		"/outbox?target=none": {"Nothing matches"},
	} {
		status, html := v.send(http.MethodGet, page, nil, nil)
		for _, want := range wants {
			if status != http.StatusOK || !strings.Contains(strings.ToLower(html), strings.ToLower(want)) {
				t.Errorf("%s answers %d and does not say %q", page, status, want)
			}
		}
	}
	if _, html := v.send(http.MethodGet, "/outbox?parked=on", nil, nil); strings.Contains(html, "HTTP 400") {
		t.Error("among those that are parked one is listed that is not")
	}
	for page, want := range map[string]int{"/outbox/99": http.StatusNotFound, "/outbox/none": http.StatusNotFound, "/outbox.json": http.StatusOK, "/outbox/1.json": http.StatusOK} {
		if status, _ := v.send(http.MethodGet, page, nil, nil); status != want {
			t.Errorf("%s answers %d, not %d", page, status, want)
		}
	}

	do := url.Values{"do": {"/outbox/messages/1/retry"}, "from": {"/outbox"}}
	status, preview := v.send(http.MethodGet, "/change?"+do.Encode(), nil, nil)
	if status != http.StatusOK || !strings.Contains(preview, "<h1>Try again</h1>") {
		t.Fatalf("the preview answers %d\n%s", status, preview)
	}
	do.Set("form_token", v.token())
	do.Set("token", hiddenValue(preview, "token"))
	if status, _ := v.send(http.MethodPost, "/change", do, nil); status == http.StatusOK {
		t.Error("without a reason it was tried again")
	}
	do.Set("reason", "the field is longer now")
	if status, html := v.send(http.MethodPost, "/change", do, nil); status != http.StatusOK {
		t.Fatalf("to try again answers %d\n%s", status, html)
	}
	m, err := h.node.Control.OutboxMessage(t.Context(), 1)
	if err != nil || m.State != control.MessageWaiting || m.Attempts != 0 {
		t.Errorf("%+v, %v", m, err)
	}
	if _, html := v.send(http.MethodGet, "/audit", nil, nil); !strings.Contains(html, "the field is longer now") || !strings.Contains(html, "OUTBOX_RETRY") {
		t.Error("the audit does not tell of it")
	}
}
