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

// TestEditor_ASourceWrittenInTheBrowserHarvests: from the skeleton to records: mistakes
// are told by their line, a check shows request, reply and fields side by side, a
// preview comes before the change, the change has its reason, and the source harvests.
func TestEditor_ASourceWrittenInTheBrowserHarvests(t *testing.T) {
	h := newHouse(t, nil)
	v := h.visitor()
	updated := time.Now().UTC().Add(-time.Hour).Format(time.RFC3339)
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"total":1,"items":[{"id":"a1","updated":%q,"v":1,"title":"On <b>testing</b>"}]}`, updated)
	}))
	defer upstream.Close()
	pack := strings.ReplaceAll(fmt.Sprintf(hostilePack, upstream.URL), "hostile", "written")
	send := func(do, pack string, more url.Values) (int, string) {
		form := url.Values{"form_token": {v.token()}, "do": {do}, "pack": {pack}}
		maps.Copy(form, more)
		return v.send(http.MethodPost, "/sources/edit", form, nil)
	}
	if status, html := v.send(http.MethodGet, "/sources/new", nil, nil); status != http.StatusOK || !strings.Contains(html, "source: mysource") {
		t.Fatalf("the editor answers %d", status)
	}
	wrong := strings.Replace(pack, "precision: SECOND", "precision: SECONDS", 1)
	line := strings.Count(wrong[:strings.Index(wrong, "SECONDS")], "\n") + 1
	if status, html := send("lint", wrong, nil); status != http.StatusOK || !strings.Contains(html, fmt.Sprintf(">%d</span>", line)) {
		t.Errorf("a mistake is not told by its line %d (%d)", line, status)
	}
	status, html := send("", pack, nil)
	for _, want := range []string{"GET " + upstream.URL + "/items?", "&#34;id&#34;:&#34;a1&#34;", ">title<", "On &lt;b&gt;testing"} {
		if status != http.StatusOK || !strings.Contains(html, want) {
			t.Errorf("the check answers %d without %s", status, want)
		}
	}
	if _, err := h.node.Control.Source(t.Context(), "written"); err == nil {
		t.Error("a check applied the source")
	}
	status, html = send("preview", pack, nil)
	token := regexp.MustCompile(`name="token" value="([^"]+)"`).FindStringSubmatch(html)
	if status != http.StatusOK || token == nil {
		t.Fatalf("the preview answers %d without a token", status)
	}
	if status, _ := send("apply", pack+"# moved\n", url.Values{"token": {"stale"}, "reason": {"x"}}); status < 400 {
		t.Errorf("a token of another preview is answered %d", status)
	}
	status, html = send("apply", pack, url.Values{"token": {token[1]}, "reason": {"our own repository"}})
	if status != http.StatusOK || !strings.Contains(html, "<h1>written</h1>") {
		t.Fatalf("applying answers %d", status)
	}
	if _, html := v.send(http.MethodGet, "/audit?object=source%2Fwritten", nil, nil); !strings.Contains(html, "our own repository") {
		t.Error("the audit does not say why")
	}
	r, err := h.node.Control.Harvest(t.Context(), control.HarvestRequest{Source: "written", BaseURL: upstream.URL, Watch: new(control.Watch)})
	if err != nil || r.Records.Inserted != 1 {
		t.Errorf("harvested %+v, %v", r, err)
	}
	if status, _ := v.send(http.MethodPost, "/sources/edit", url.Values{"form_token": {"not ours"}, "pack": {pack}}, nil); status < 400 {
		t.Errorf("a form that is not ours is answered %d", status)
	}
}
