package console_test

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/app/control"
)

// writtenPack describes a source as quiet as the hostile one is loud.
var writtenPack = strings.NewReplacer("'Hostile <script>window.hacked=1</script>'", "Our own repository", "hostile", "written").Replace(hostilePack)

// TestEditor_ASourceWrittenInTheBrowserHarvests: from the skeleton to records: mistakes
// are told by their line, a check shows request, reply and fields side by side, a
// preview comes before the change, the change has its reason, and the source harvests.
func TestEditor_ASourceWrittenInTheBrowserHarvests(t *testing.T) {
	h := newHouse(t, nil)
	v := h.visitor()
	updated := time.Now().UTC().Add(-time.Hour).Format(time.RFC3339)
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if updated < r.FormValue("from") || updated >= r.FormValue("to") { // instants in one form, in one zone
			fmt.Fprint(w, `{"total":0,"items":[]}`)
			return
		}
		fmt.Fprintf(w, `{"total":1,"items":[{"id":"a1","updated":%q,"v":1,"title":"On <b>testing</b>"}]}`, updated)
	}))
	defer upstream.Close()
	pack := fmt.Sprintf(writtenPack, upstream.URL)
	told := &transcript{host: strings.TrimPrefix(upstream.URL, "http://")}
	send := func(do, pack string, more url.Values) (int, string) {
		form := url.Values{"form_token": {v.token()}, "do": {do}, "pack": {pack}}
		maps.Copy(form, more)
		return v.send(http.MethodPost, "/sources/edit", form, nil)
	}
	if status, html := v.send(http.MethodGet, "/sources/new", nil, nil); status != http.StatusOK || !strings.Contains(html, "source: mysource") {
		t.Fatalf("the editor answers %d", status)
	} else {
		told.step("`/sources/new` (**New source** on the page of sources) begins with the skeleton. For an OAI-PMH repository its address is enough: **Ask it** writes the pack.", html, "title", "start", "editor")
	}
	wrong := strings.Replace(pack, "precision: SECOND", "precision: SECONDS", 1)
	line := strings.Count(wrong[:strings.Index(wrong, "SECONDS")], "\n") + 1
	if status, html := send("lint", wrong, nil); status != http.StatusOK || !strings.Contains(html, fmt.Sprintf(">%d</span>", line)) {
		t.Errorf("a mistake is not told by its line %d (%d)", line, status)
	} else {
		told.step("With the answers in place, and `SECONDS` where `SECOND` belongs, **Only look for mistakes** names the line:", html, "messages")
	}
	status, html := send("", pack, nil)
	for _, want := range []string{"GET " + upstream.URL + "/items?", "&#34;id&#34;:&#34;a1&#34;", ">title<", "On &lt;b&gt;testing"} {
		if status != http.StatusOK || !strings.Contains(html, want) {
			t.Errorf("the check answers %d without %s", status, want)
		}
	}
	told.step("Mended, **Check** asks the source and shows request, reply and fields side by side. Nothing is stored:", html, "messages", "request-1", "reply-1", "fields", "checked")
	if _, err := h.node.Control.Source(t.Context(), "written"); err == nil {
		t.Error("a check applied the source")
	}
	status, html = send("preview", pack, nil)
	token := regexp.MustCompile(`name="token" value="([^"]+)"`).FindStringSubmatch(html)
	if status != http.StatusOK || token == nil {
		t.Fatalf("the preview answers %d without a token", status)
	}
	told.step("**Apply…** shows what would change and asks why:", html, "preview", "confirm")
	if status, _ := send("apply", pack+"# moved\n", url.Values{"token": {"stale"}, "reason": {"x"}}); status < 400 {
		t.Errorf("a token of another preview is answered %d", status)
	}
	status, html = send("apply", pack, url.Values{"token": {token[1]}, "reason": {"our own repository"}})
	if status != http.StatusOK || !strings.Contains(html, "<h1>written</h1>") {
		t.Fatalf("applying answers %d", status)
	}
	told.step("**Apply**, with \"our own repository\" as the reason, leads to the source:", html, "title", "status", "contract")
	if _, html := v.send(http.MethodGet, "/audit?object=source%2Fwritten", nil, nil); !strings.Contains(html, "our own repository") {
		t.Error("the audit does not say why")
	}
	do := url.Values{"do": {"/plans?operation=HARVEST&source=written"}, "from": {"/sources/written"}}
	status, html = v.send(http.MethodGet, "/change?"+do.Encode(), nil, nil)
	if status != http.StatusOK || !strings.Contains(html, `name="token"`) {
		t.Fatalf("the preview of a harvest answers %d", status)
	}
	told.step("**Harvest now…** on that page shows the plan before it is made:", html, "title", "preview", "confirm")
	do.Set("token", hiddenValue(html, "token"))
	do.Set("reason", "the first harvest")
	do.Set("form_token", v.token())
	if status, html := v.send(http.MethodPost, "/change", do, nil); status != http.StatusOK {
		t.Fatalf("the harvest is answered %d: %s", status, spokenPart(html, "trouble"))
	}
	r, err := h.node.Control.Harvest(t.Context(), control.HarvestRequest{Source: "written", Watch: new(control.Watch)})
	if err != nil || r.Records.Inserted != 1 {
		t.Errorf("harvested %+v, %v", r, err)
	}
	_, html = v.send(http.MethodGet, "/plans/1", nil, nil)
	told.step("A served patra works it off by itself (`patra up` has all roles in it). The page of the plan follows:", html, "title", "progress")
	_, html = v.send(http.MethodGet, "/records?source=written", nil, nil)
	told.step("The records of the source:", html, "list")
	_, html = v.send(http.MethodGet, "/records/written/a1", nil, nil)
	told.step("One of them, with its fields and where it came from:", html, "title", "fields", "origin")
	told.stands(t)
	if status, _ := v.send(http.MethodPost, "/sources/edit", url.Values{"form_token": {"not ours"}, "pack": {pack}}, nil); status < 400 {
		t.Errorf("a form that is not ours is answered %d", status)
	}
}
