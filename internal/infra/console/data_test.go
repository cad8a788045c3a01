package console_test

import (
	"html"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// TestData_TheFailingPathIsMarked: the page of an item in quarantine marks in its bytes
// what the cause names, and nothing of it is more than text.
func TestData_TheFailingPathIsMarked(t *testing.T) {
	h := newHouse(t, nil)
	h.harvestHostile()
	status, page := h.get("/quarantine/1")
	if status != http.StatusOK {
		t.Fatalf("the item answers %d", status)
	}
	_, rest, _ := strings.Cut(page, "<mark>")
	marked, _, is := strings.Cut(rest, "</mark>")
	if !is || !strings.Contains(html.UnescapeString(marked), "window.hacked=1") || !strings.HasPrefix(html.UnescapeString(marked), `"`) {
		t.Errorf("marked is %q", marked)
	}
	if strings.Contains(page, "<script>window.hacked") || strings.Contains(page, "<img src=x") {
		t.Error("a text of the upstream is more than text")
	}
	if !strings.Contains(page, "What updated leads to is marked.") {
		t.Error("nothing says what is marked")
	}
}

// TestData_DocumentsOfRecordsWithSlashes: the document of a page is found whatever is in
// the id that its address has.
func TestData_DocumentsOfRecordsWithSlashes(t *testing.T) {
	h := newHouse(t, nil)
	h.harvestHostile()
	status, doc := h.get("/records/hostile/" + url.PathEscape(hostile) + ".json")
	if status != http.StatusOK || !strings.Contains(doc, `"source":"hostile"`) {
		t.Errorf("the document answers %d %.80s", status, doc)
	}
}

// TestData_DiscardAsksForTheName: an item is thrown away only by whoever types its name.
func TestData_DiscardAsksForTheName(t *testing.T) {
	h := newHouse(t, nil)
	h.harvestHostile()
	_, page := h.get("/change?do=" + url.QueryEscape("/quarantine/1/discard") + "&from=/quarantine/1")
	if !strings.Contains(page, "Type broken to confirm") {
		t.Fatal("nothing asks for the name")
	}
	token := hiddenValue(page, "token")
	if token == "" {
		t.Fatal("the preview has no token")
	}
	send := func(name string) int {
		form := url.Values{"do": {"/quarantine/1/discard"}, "from": {"/quarantine/1"}, "form_token": {"abc"}, "token": {token}, "reason": {"test"}, "name": {name}}
		r, err := http.NewRequest(http.MethodPost, h.URL+"/change", strings.NewReader(form.Encode()))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.AddCookie(&http.Cookie{Name: "patra_form", Value: "abc"})
		client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
		answer, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		return answer.StatusCode
	}
	if status := send("1"); status < 400 {
		t.Errorf("a wrong name is answered %d", status)
	}
	if status := send("broken"); status != http.StatusSeeOther {
		t.Errorf("the name is answered %d", status)
	}
	if _, page := h.get("/quarantine?discarded=on"); !strings.Contains(page, "broken") {
		t.Error("the item is not among those that were discarded")
	}
}

// hiddenValue is the value of a hidden field of a page.
func hiddenValue(page, name string) string {
	_, rest, _ := strings.Cut(page, `name="`+name+`" value="`)
	value, _, _ := strings.Cut(rest, `"`)
	return html.UnescapeString(value)
}
