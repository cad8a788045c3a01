package console_test

import (
	"maps"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/papertrace/patra/internal/infra/console"
	"github.com/papertrace/patra/internal/infra/httpapi"
	"github.com/papertrace/patra/internal/sim"
	"github.com/papertrace/patra/internal/sim/demo"
)

// newDemoHouse is a house of a demonstration. It tells which sources were to be asked.
func newDemoHouse(t *testing.T, change func(*httpapi.Config)) (h *house, stage *demo.Stage, asked *[]string) {
	t.Helper()
	stage, err := demo.New(demo.Config{Records: 60, Seed: 7})
	if err != nil {
		t.Fatal(err)
	}
	asked = new([]string)
	stage.OnSwitch(func(code string) error {
		*asked = append(*asked, code)
		return nil
	})
	return newHouseWith(t, func(c *console.Config) { c.Demo = stage }, change), stage, asked
}

// visitor is a browser without script: it keeps cookies and sends forms of pages.
type visitor struct {
	*house
	http.Client
}

func (h *house) visitor() *visitor {
	h.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		h.Fatal(err)
	}
	out := &visitor{house: h, Client: http.Client{Jar: jar}}
	out.send(http.MethodGet, "/", nil, nil)
	return out
}

// token is what the forms of this visitor carry.
func (v *visitor) token() string {
	u, err := url.Parse(v.URL)
	if err != nil {
		v.Fatal(err)
	}
	for _, c := range v.Jar.Cookies(u) {
		if c.Name == "patra_form" {
			return c.Value
		}
	}
	return ""
}

// send asks for a page or sends a form, and returns where that led and what was there.
func (v *visitor) send(method, path string, form url.Values, header http.Header) (status int, html string) {
	v.Helper()
	r, err := http.NewRequestWithContext(v.Context(), method, v.URL+path, strings.NewReader(form.Encode()))
	if err != nil {
		v.Fatal(err)
	}
	maps.Copy(r.Header, header)
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	answer, err := v.Do(r)
	if err != nil {
		v.Fatal(err)
	}
	return answer.StatusCode, readAll(answer.Body)
}

// TestDemo_EveryFaultCanBeSwitchedOnAndOff: the page has a switch for every fault that the
// simulator knows, with a sentence of its own; on, the source that shows it is asked at
// once; off, nothing is left of it.
func TestDemo_EveryFaultCanBeSwitchedOnAndOff(t *testing.T) {
	h, stage, asked := newDemoHouse(t, nil)
	v := h.visitor()
	sentences, err := os.ReadFile("words/en/demo.json")
	if err != nil {
		t.Fatal(err)
	}
	_, page := v.send(http.MethodGet, "/demo", nil, nil)
	for _, f := range sim.AllFaults {
		kind := string(f)
		if !strings.Contains(page, `id="switch-`+kind+`"`) {
			t.Errorf("%s has no switch", kind)
		}
		if !strings.Contains(string(sentences), `"`+kind+`": "`) {
			t.Errorf("no sentence says what %s does", kind)
		}
		turn := func(to string) string {
			status, html := v.send(http.MethodPost, "/demo", url.Values{"form_token": {v.token()}, "fault": {kind}, "to": {to}}, nil)
			if status != http.StatusOK {
				t.Fatalf("%s %s: %d", kind, to, status)
			}
			return html
		}
		*asked = nil
		if html := turn("on"); !stage.IsOn(kind) || !strings.Contains(html, "1 on") || !slices.Equal(*asked, []string{stage.SourceOf(kind)}) {
			t.Errorf("%s is not on, or %q were asked", kind, *asked)
		}
		if html := turn("off"); stage.IsOn(kind) || strings.Contains(html, "1 on") {
			t.Errorf("%s is not off", kind)
		}
	}
	if status, _ := v.send(http.MethodPost, "/demo", url.Values{"form_token": {v.token()}, "fault": {"flood"}, "to": {"on"}}, nil); status != http.StatusUnprocessableEntity {
		t.Errorf("a fault that nobody knows is answered %d", status)
	}
}

// TestDemo_OnlyOurOwnFormsSwitch: a form of another site, one without our token, and one
// where nothing can be changed, switch nothing. Where nothing is invented there is no such
// page.
func TestDemo_OnlyOurOwnFormsSwitch(t *testing.T) {
	h, stage, _ := newDemoHouse(t, nil)
	v := h.visitor()
	form := func(token string) url.Values {
		return url.Values{"form_token": {token}, "fault": {"http_500"}, "to": {"on"}}
	}
	foreign := http.Header{"Sec-Fetch-Site": {"cross-site"}, "Origin": {"http://evil.example"}}
	for name, send := range map[string]func() (int, string){
		"of another site":   func() (int, string) { return v.send(http.MethodPost, "/demo", form(v.token()), foreign) },
		"without our token": func() (int, string) { return v.send(http.MethodPost, "/demo", form(""), nil) },
	} {
		if status, _ := send(); status < 400 || stage.IsOn("http_500") {
			t.Errorf("a form %s is answered %d", name, status)
		}
	}
	closed, untouched, _ := newDemoHouse(t, func(c *httpapi.Config) { c.ReadOnly = true })
	reader := closed.visitor()
	if _, html := reader.send(http.MethodGet, "/demo", nil, nil); strings.Contains(html, `id="switch-`) {
		t.Error("a page for reading offers switches")
	}
	if status, _ := reader.send(http.MethodPost, "/demo", form(reader.token()), nil); status < 400 || untouched.IsOn("http_500") {
		t.Errorf("where nothing can be changed a switch is answered %d", status)
	}
	plain := newHouse(t, nil).visitor()
	if status, _ := plain.send(http.MethodGet, "/demo", nil, nil); status != http.StatusNotFound {
		t.Errorf("where nothing is invented the page of faults answers %d", status)
	}
}
