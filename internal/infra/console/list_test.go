package console_test

import (
	"encoding/csv"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/app/control"
)

// TestExport_EveryListIsAFile: what a list shows under its filters can be had as a file, all
// parts of it and not only the first, and no cell of it is a formula.
func TestExport_EveryListIsAFile(t *testing.T) {
	h := newHouse(t, nil)
	h.harvest("pubmed")
	h.harvest("crossref")
	_, page := h.get("/records?source=crossref")
	if !strings.Contains(page, `href="/records?as=csv&amp;source=crossref"`) {
		t.Error("the list of records leads to no file")
	}
	if _, page := h.get("/alerts"); strings.Contains(page, "as=csv") {
		t.Error("a list of nothing leads to a file")
	}
	for path, atLeast := range map[string]int{
		"/records?source=crossref&as=csv": 300, "/plans?as=csv": 2, "/tasks?as=csv": 2, "/runs?as=csv": 2, "/audit?all=on&as=csv": 2, "/sources?as=csv": 10, "/plans/1/slices?as=csv": 1,
	} {
		answer, err := http.Get(h.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		kind := answer.Header.Get("Content-Type")
		rows, err := csv.NewReader(strings.NewReader(readAll(answer.Body))).ReadAll()
		if err != nil || kind != "text/csv; charset=utf-8" || len(rows) < atLeast+1 {
			t.Errorf("%s is %s of %d rows: %v", path, kind, len(rows), err)
			continue
		}
		ids := map[string]bool{}
		for _, r := range rows {
			ids[strings.Join(r, "|")] = true
			for _, cell := range r {
				if strings.HasPrefix(cell, "=") || strings.HasPrefix(cell, "@") {
					t.Errorf("%s has the formula %s", path, cell)
				}
			}
		}
		if len(ids) != len(rows) {
			t.Errorf("%s has rows twice", path)
		}
	}
}

// TestSearch_FindsByTitleAndIdentifier: a record is found by its DOI, by its PMID and by its
// title, in the box of every page, in the list and by the API.
func TestSearch_FindsByTitleAndIdentifier(t *testing.T) {
	h := newHouse(t, nil)
	h.harvest("pubmed")
	if err := h.node.Control.LinkWorks(t.Context()); err != nil {
		t.Fatal(err)
	}
	list, err := h.node.Control.Records(t.Context(), control.RecordQuery{Source: "pubmed", Page: control.Page{Limit: 300}})
	if err != nil {
		t.Fatal(err)
	}
	tried := 0
	for _, r := range list.Records {
		one, err := h.node.Control.Record(t.Context(), "pubmed", r.ID)
		if err != nil {
			t.Fatal(err)
		}
		doi := strings.Trim(string(one.Identifiers["doi"]), `"`)
		if doi == "" || len(r.Title) < 60 || tried >= 6 {
			continue
		}
		for _, typed := range []string{doi, "https://doi.org/" + strings.ToUpper(doi), r.Title} {
			found, err := h.node.Control.Records(t.Context(), control.RecordQuery{Find: typed})
			if err != nil {
				t.Fatal(err)
			}
			if len(found.Records) == 0 {
				t.Logf("%q finds nothing", typed)
				continue
			}
			tried++
			if _, page := h.get("/records?find=" + url.QueryEscape(typed)); !strings.Contains(page, "/records/pubmed/"+r.ID) {
				t.Errorf("the list does not find %s by %q", r.ID, typed)
			}
			if _, page := h.get("/search?q=" + url.QueryEscape(typed)); !strings.Contains(page, r.ID) {
				t.Errorf("the box does not find %s by %q", r.ID, typed)
			}
		}
	}
	if tried < 6 {
		t.Errorf("only %d searches found something", tried)
	}
	if found, err := h.node.Control.Records(t.Context(), control.RecordQuery{Find: "nothing is called like this, not even in invented records"}); err != nil || len(found.Records) != 0 {
		t.Errorf("a title of nothing finds %v, %v", found, err)
	}
}

// TestSettings_TellOriginAndNoSecret: settings tell what was configured and by what, help
// tells the keys and words, and a viewer is told less.
func TestSettings_TellOriginAndNoSecret(t *testing.T) {
	h := newHouse(t, nil)
	v := h.visitor()
	for page, want := range map[string]string{"/settings": "the one this patra works with", "/help": "patra explain", "/settings.json": `"groups"`} {
		if status, html := v.send(http.MethodGet, page, nil, nil); status != http.StatusOK || !strings.Contains(html, want) {
			t.Errorf("%s answers %d without %q", page, status, want)
		}
	}
	made, err := h.node.Control.NewToken(t.Context(), control.TokenOrder{By: control.By{Actor: "test", Reason: "test"}, Name: "reader", Role: control.Viewer})
	if err != nil {
		t.Fatal(err)
	}
	seen := http.Header{"Cookie": {"patra_token=" + made.Secret}}
	if status, html := v.send(http.MethodGet, "/settings", nil, seen); status != http.StatusOK || strings.Contains(html, "the one this patra works with") || strings.Contains(html, made.Secret) {
		t.Errorf("a viewer is answered %d, with too much", status)
	}
}

// TestDiff_ManyValuesComeInParts: what differs is shown in parts of a list, however much it
// is, and the file has all of it.
func TestDiff_ManyValuesComeInParts(t *testing.T) {
	h := newHouse(t, nil)
	h.harvest("pubmed")
	const first = "/sources/pubmed/diff?from=2020-01-01"
	_, page := h.get(first)
	if rows := strings.Count(page, "<tr>"); !strings.Contains(page, "after=50") || rows > 200 {
		t.Errorf("the first part has %d rows, or leads to no other", rows)
	}
	if status, page := h.get(first + "&after=50"); status != http.StatusOK || !strings.Contains(page, "Those from 51 to 100") {
		t.Errorf("the second part is answered %d", status)
	}
	if status, _ := h.get(first + "&after=100000"); status != http.StatusUnprocessableEntity {
		t.Errorf("a part that is none is answered %d", status)
	}
	_, all := h.get(first + "&as=csv")
	diff, err := h.node.Control.DiffSource(t.Context(), "pubmed", time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC), time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(strings.NewReader(all)).ReadAll()
	if err != nil || len(rows) != len(diff.Fields)+1 {
		t.Errorf("the file has %d rows for %d values: %v", len(rows), len(diff.Fields), err)
	}
}

// TestOverview_LooksBackOverATimeOfChoice: the overview tells what came in a time that the
// address names, the document and the page say the same, and what is no time is refused.
func TestOverview_LooksBackOverATimeOfChoice(t *testing.T) {
	h := newHouse(t, nil)
	h.harvest("pubmed")
	held, err := h.node.Control.StatusOver(t.Context(), "pubmed", "1h")
	if err != nil || held.Sources[0].Throughput == nil {
		t.Fatalf("%+v, %v", held.Sources, err)
	}
	came := held.Sources[0].Throughput
	plan, err := h.node.Control.Plan(t.Context(), 1, 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	stored := plan.Records.Inserted
	if came.Records != stored || int64(came.PerHour+0.5) != stored || came.Pages != 3 || came.Sent != plan.Requests {
		t.Errorf("of pubmed it tells %+v, and the plan %+v", came, plan.Records)
	}
	if _, page := h.get("/?range=1h"); !strings.Contains(page, `aria-current="true">1h</a>`) || !strings.Contains(page, "Records/h") || !strings.Contains(page, ">"+strconv.FormatInt(stored, 10)+"<") {
		t.Error("the page does not tell of the last hour")
	}
	if _, page := h.get("/"); !strings.Contains(page, `aria-current="true">24h</a>`) {
		t.Error("without a choice it is not the last day")
	}
	if _, page := h.get("/?range=3d"); !strings.Contains(page, `aria-current="true">3d</a>`) {
		t.Error("a time of one's own is not offered")
	}
	if _, doc := h.get("/index.json?range=1h"); !strings.Contains(doc, `"records":`+strconv.FormatInt(stored, 10)) {
		t.Errorf("the document tells %s", doc)
	}
	for _, wrong := range []string{"5x", "10s", "400d", "-1h"} {
		if status, _ := h.get("/?range=" + wrong); status != http.StatusUnprocessableEntity {
			t.Errorf("a range of %s is answered %d", wrong, status)
		}
	}
}
