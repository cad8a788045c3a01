package node_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/app/prisma"
	"github.com/papertrace/patra/internal/app/retention"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/infra/archive"
	"github.com/papertrace/patra/internal/patratest"
	"github.com/papertrace/patra/internal/sim"
)

// searchRig is a node over the oracle's PubMed and Crossref, with a search over both.
type searchRig struct {
	*patratest.Rig
	t *testing.T
}

// searched is the query of the search: both sources can be asked for it, and it selects a
// part of what each has.
const searched = "pubdate:1999-10-05..2000-12-31"

func newSearchRig(t *testing.T, c patratest.RigConfig) *searchRig {
	t.Helper()
	r := &searchRig{Rig: patratest.NewRig(t, c), t: t}
	r.save(searched, "pubmed", "crossref")
	return r
}

func (r *searchRig) save(query string, codes ...string) control.SearchChange {
	r.t.Helper()
	v, err := r.Node.Control.SaveSearch(r.t.Context(), control.SearchOrder{
		By: control.By{Actor: "test", Reason: "a test"}, Name: "review", Query: query, Sources: codes,
	})
	if err != nil || !v.Applied {
		r.t.Fatalf("%+v, %v", v, err)
	}
	return v
}

func (r *searchRig) run() control.SearchRan {
	r.t.Helper()
	return r.runAt(map[string]string{"pubmed": r.BaseOf("pubmed"), "crossref": r.BaseOf("crossref")})
}

func (r *searchRig) runAt(hosts map[string]string) control.SearchRan {
	r.t.Helper()
	v, err := r.Node.Control.RunSearch(r.t.Context(), control.SearchRunRequest{By: control.By{Actor: "test"}, Name: "review", BaseURL: hosts})
	if err != nil {
		r.t.Fatal(err)
	}
	return v
}

// truth are the ids that an oracle has of the query and changed before an instant, asked
// without patra.
func truth(t *testing.T, o *sim.Sim, code string, before time.Time) map[string]bool {
	t.Helper()
	ask := func(path string, into any) {
		w := httptest.NewRecorder()
		o.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		if err := json.Unmarshal(w.Body.Bytes(), into); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
	}
	out := map[string]bool{}
	if code == "pubmed" {
		var reply struct {
			Result struct{ IDList []string } `json:"esearchresult"`
		}
		ask("/pubmed/entrez/eutils/esearch.fcgi?db=pubmed&retmode=json&retmax=9999&term="+url.QueryEscape("1999/10/05:2000/12/31[pdat]"), &reply)
		for _, id := range reply.Result.IDList {
			out[id] = true
		}
	} else {
		var reply struct {
			Message struct{ Items []struct{ DOI string } }
		}
		ask("/crossref/works?mailto=a@example.org&rows=1000&filter="+url.QueryEscape("from-pub-date:1999-10-05,until-pub-date:2000-12-31"), &reply)
		for _, item := range reply.Message.Items {
			out[strings.ToLower(item.DOI)] = true
		}
	}
	for row := range o.Truth(code) {
		if !row.UpdatedAt.Before(before) {
			delete(out, strings.ToLower(row.ID))
		}
	}
	if len(out) == 0 {
		t.Fatalf("the oracle has nothing of %s", code)
	}
	return out
}

// members are the ids of the records of a source that the search has found.
func (r *searchRig) members(code string) map[string]bool {
	r.t.Helper()
	out := map[string]bool{}
	s, err := r.Node.Store.Search(r.t.Context(), "review")
	if err != nil {
		r.t.Fatal(err)
	}
	for _, src := range s.Sources {
		if src.Source != code {
			continue
		}
		err := r.Node.Store.Export(r.t.Context(), control.ExportQuery{Selections: []control.SelectionPart{{Selection: src.Selection}}}, func(e *control.Exported) error {
			out[e.ID] = true
			return nil
		})
		if err != nil {
			r.t.Fatal(err)
		}
	}
	return out
}

// mustBeExact fails the test unless the search has found what an oracle has of the query,
// as far as its source is proven.
func (r *searchRig) mustBeExact(o *sim.Sim, code string) {
	r.t.Helper()
	v, err := r.Node.Control.Search(r.t.Context(), "review")
	if err != nil {
		r.t.Fatal(err)
	}
	at := slices.IndexFunc(v.Selections, func(s control.SearchSelection) bool { return s.Source == code })
	proven, err := time.Parse(time.RFC3339Nano, v.Selections[at].ProvenTo)
	if err != nil {
		r.t.Fatal(err)
	}
	want, got := truth(r.t, o, code, proven), r.members(code)
	if !maps.Equal(want, got) {
		r.t.Errorf("%s: %d are there and %d were found", code, len(want), len(got))
	}
	if v.Selections[at].Records.Count != int64(len(got)) {
		r.t.Errorf("%s: %d are counted and %d were found", code, v.Selections[at].Records.Count, len(got))
	}
}

// searchTwice runs a search of which one source fails and another has an item that cannot be
// read, saves another version of it, ends it, and archives what it did.
func searchTwice(t *testing.T, w *columnWatch) {
	spoil := func(path string, body []byte) []byte {
		if path != "/crossref/works" {
			return body
		}
		return bytes.Replace(body, []byte(`"DOI":"`), []byte(`"NO":"`), 1)
	}
	c := patratest.RigConfig{DSN: patratest.SQLite.SpareDSN(t), Sim: sim.Config{Records: 60, Seed: 5, LimitRPS: -1}, Bend: spoil}
	c.Node.Instance.Build.Version = "test"
	r := newSearchRig(t, c)
	db := patratest.Raw(t, c.DSN)
	v := r.runAt(map[string]string{"pubmed": r.Base + "/nowhere", "crossref": r.BaseOf("crossref")})
	if v.Status != control.SearchPartial {
		t.Errorf("%+v", v)
	}
	time.Sleep(48 * time.Hour)
	r.Sim.Advance(48 * time.Hour)
	r.run()
	by := control.By{Actor: "test", Reason: "a test"}
	_, err := r.Node.Control.SaveSearch(t.Context(), control.SearchOrder{
		By: by, Name: "review", Query: searched, Sources: []string{"crossref"}, Begins: time.Now().Add(-90 * 24 * time.Hour),
	})
	if err != nil {
		t.Error(err)
	}
	w.look(db)
	if _, err := r.Node.Control.RemoveSearch(t.Context(), control.SearchHold{By: by, Name: "review"}); err != nil {
		t.Error(err)
	}
	soon := time.Now().Add(24 * time.Hour)
	keeper := retention.New(retention.Config{Pause: time.Nanosecond}, r.Node.Store, archive.New(t.TempDir()), slog.New(slog.DiscardHandler))
	if _, err := keeper.Archive(t.Context(), retention.Cut{Trail: soon, Versions: soon}, source.Audit{Actor: "test", Reason: "old"}); err != nil {
		t.Error(err)
	}
	w.look(db)
	patratest.MustVerify(t, r.Node.Store)
}

// TestSearch_MembershipIsExact: what a search has found at each of its sources is what the
// source has of its query, whatever was held before, however often it is asked again, and
// whatever faults come between.
func TestSearch_MembershipIsExact(t *testing.T) {
	t.Parallel()
	servedBubble(t, func(t *testing.T) {
		faults, err := sim.ParseFaults("heavy")
		if err != nil {
			t.Fatal(err)
		}
		r := newSearchRig(t, patratest.RigConfig{DSN: patratest.SQLite.SpareDSN(t), Sim: sim.Config{Records: 200, Seed: 5, LimitRPS: -1, Faults: faults}})
		r.MustHarvest("crossref") // some are held before the search is run
		v := r.run()
		for range 5 {
			if v.Status == control.SearchCompleted {
				break
			}
			time.Sleep(24 * time.Hour)
			v = r.run()
		}
		if v.Status != control.SearchCompleted {
			t.Fatalf("%+v", v)
		}
		clean, err := sim.New(sim.Config{Records: 200, Seed: 5, LimitRPS: -1})
		if err != nil {
			t.Fatal(err)
		}
		for _, code := range []string{"pubmed", "crossref"} {
			r.mustBeExact(clean, code)
		}
		patratest.MustVerify(t, r.Node.Store)
	})
}

// TestSearch_UpdateFindsWhatIsNew: a run finds exactly what no run before had seen, of each
// source as far as it answers. One that fails leaves the others whole, and is made up for by
// the next run. The report tells the same each time it is asked for, and its numbers add up;
// where they do not there is no report.
func TestSearch_UpdateFindsWhatIsNew(t *testing.T) {
	t.Parallel()
	servedBubble(t, func(t *testing.T) {
		c := patratest.RigConfig{DSN: patratest.SQLite.SpareDSN(t), Sim: sim.Config{Records: 120, Seed: 5, LimitRPS: -1, Churn: &sim.Churn{New: 20}}}
		r := newSearchRig(t, c)
		first := r.runAt(map[string]string{"pubmed": r.Base + "/nowhere", "crossref": r.BaseOf("crossref")})
		if first.Status != control.SearchPartial || first.Sources[0].Status != control.SearchFailed || first.Sources[0].Reason == "" ||
			first.Sources[1].Status != control.SearchCompleted {
			t.Errorf("the first run: %+v", first)
		}
		r.mustBeExact(r.Sim, "crossref")
		seen := map[string]map[string]bool{"pubmed": {}, "crossref": r.members("crossref")}
		for range 2 {
			time.Sleep(24 * time.Hour)
			r.Sim.Advance(24 * time.Hour)
			run := r.run()
			if run.Status != control.SearchCompleted || run.New == 0 {
				t.Fatalf("%+v", run)
			}
			for _, src := range run.Sources {
				now := r.members(src.Source)
				r.mustBeExact(r.Sim, src.Source)
				if want := int64(len(now) - len(seen[src.Source])); src.New != want || src.Records != int64(len(now)) {
					t.Errorf("run %d of %s: %d records, %d new; want %d and %d", run.Run, src.Source, src.Records, src.New, len(now), want)
				}
				seen[src.Source] = now
			}
		}
		report := func() string {
			t.Helper()
			v, err := r.Node.Control.SearchReport(t.Context(), "review")
			if err != nil {
				t.Fatal(err)
			}
			kept := v.Flow.Identified - v.Flow.Ineligible - v.Flow.ReadAgain
			if kept != int64(len(seen["pubmed"])+len(seen["crossref"])) || v.Flow.Screened+v.Flow.Removed != v.Flow.Identified || len(v.Runs) != 3 {
				t.Errorf("%+v", v.Flow)
			}
			b, err := v.Write("html")
			if err != nil {
				t.Fatal(err)
			}
			return string(b)
		}
		before := report()
		time.Sleep(time.Hour)
		if after := report(); after != before || strings.Contains(before, "test@example.org") {
			t.Error("the report is another an hour later, or tells an address")
		}
		if !strings.Contains(before, "1999/10/05:2000/12/31[pdat]") {
			t.Error("the report does not tell what PubMed was sent")
		}
		if _, err := patratest.Raw(t, c.DSN).Exec(`DELETE FROM ing_selection_record WHERE record_id=(SELECT MAX(record_id) FROM ing_selection_record)`); err != nil {
			t.Fatal(err)
		}
		_, err := r.Node.Control.SearchReport(t.Context(), "review")
		if _, is := errors.AsType[*prisma.SumError](err); !is {
			t.Errorf("a report of numbers that do not add up: %v", err)
		}
	})
}
