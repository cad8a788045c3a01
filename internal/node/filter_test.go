package node_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/app/registry"
	"github.com/papertrace/patra/internal/domain/query"
	"github.com/papertrace/patra/internal/patratest"
	"github.com/papertrace/patra/internal/sim"
)

// paper is what of a stored record the queries below are about.
type paper struct {
	Title, Abstract, Type, Published, Language string
	Types                                      []string
	Authors                                    []struct{ Family, Name string }
}

// says reports whether words stand side by side in a text, by means that share nothing
// with those that are tested.
func says(text, words string) bool {
	plain := strings.NewReplacer("-", " ", ".", " ", ",", " ", ":", " ", "\n", " ", "(", " ", ")", " ", "’", " ", "–", " ", "[", " ", "]", " ")
	return strings.Contains(" "+plain.Replace(strings.ToLower(text))+" ", " "+words+" ")
}

func (p paper) tiab(words string) bool { return says(p.Title, words) || says(p.Abstract, words) }

func (p paper) is(kind string) bool { return p.Type == kind || slices.Contains(p.Types, kind) }

func (p paper) by(family string) bool {
	return slices.ContainsFunc(p.Authors, func(a struct{ Family, Name string }) bool {
		return strings.EqualFold(a.Family, family) || says(a.Name, family)
	})
}

// asked are queries, and what each means of a record.
var asked = []struct {
	query string
	holds func(p paper) bool
}{
	{`ti:trial`, func(p paper) bool { return says(p.Title, "trial") }},
	{`ab:"insulin resistance"`, func(p paper) bool { return says(p.Abstract, "insulin resistance") }},
	{`tiab:"resistance insulin"`, func(paper) bool { return false }},
	{`ti:cohort OR ti:survey*`, func(p paper) bool {
		return says(p.Title, "cohort") || says(p.Title, "survey") || says(p.Title, "surveys")
	}},
	{`tiab:hypoxia NOT type:review`, func(p paper) bool { return p.tiab("hypoxia") && !p.is("Review") }},
	{`tiab:hypoxia AND year:2025`, func(p paper) bool { return p.tiab("hypoxia") && (p.Published == "" || p.Published[:4] == "2025") }},
	{`NOT (tiab:hypoxia OR ti:study)`, func(p paper) bool { return !p.tiab("hypoxia") && !says(p.Title, "study") }},
	{`au:kowalski OR (ti:trial AND tiab:infection)`, func(p paper) bool {
		return p.by("kowalski") || says(p.Title, "trial") && p.tiab("infection")
	}},
}

// TestQuery_KeepsWhatItMeans: whatever a source can be asked for, what is kept is what
// the query means on the records that the source has, all of it and nothing else; and
// every item that came is accounted for.
func TestQuery_KeepsWhatItMeans(t *testing.T) {
	t.Parallel()
	heavy, err := sim.ParseFaults("heavy")
	if err != nil {
		t.Fatal(err)
	}
	for _, code := range []string{"pubmed", "crossref", "europepmc"} {
		oracle, err := sim.New(sim.Config{Sources: []string{code}, Records: 150, Seed: 21, LimitRPS: -1, Now: time.Date(2026, 3, 10, 15, 0, 0, 0, time.UTC)})
		if err != nil {
			t.Fatal(err)
		}
		harvest := func(query string) (*control.Report, map[string]paper) {
			r := patratest.NewRig(t, patratest.RigConfig{DSN: patratest.SQLite.SpareDSN(t), Oracle: oracle, Packs: map[string]registry.Pack{
				code: patratest.ShippedPack(t, code, patratest.Fast),
			}})
			rep, err := r.Node.Control.Harvest(t.Context(), control.HarvestRequest{
				Source: code, Query: query, BaseURL: r.BaseOf(code), From: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
			})
			if err != nil {
				t.Fatalf("%s, %s: %v", code, query, err)
			}
			patratest.MustVerify(t, r.Node.Store)
			return rep, held(t, r, code)
		}
		_, all := harvest("")
		if err := oracle.SetFaults(heavy); err != nil {
			t.Fatal(err)
		}
		for _, one := range asked {
			t.Run(code+" "+one.query, func(t *testing.T) {
				want := maps.Clone(all)
				maps.DeleteFunc(want, func(_ string, p paper) bool { return !one.holds(p) })
				rep, got := harvest(one.query)
				for id := range want {
					if _, ok := got[id]; !ok {
						t.Errorf("%s is lost: %+v", id, all[id])
					}
				}
				for id, p := range got {
					if _, ok := want[id]; !ok {
						t.Errorf("%s is not what was asked for: %+v", id, p)
					}
				}
				if rep.Status != "COMPLETED" || rep.BadIDs > 0 || rep.Records.Undecided > 0 {
					t.Errorf("%s, %d bad ids, %+v: what is filtered came, and every record here can tell", rep.Status, rep.BadIDs, rep.Records)
				}
				t.Logf("%d of %d kept, %d filtered, %d undecided", len(got), len(all), rep.Records.Filtered, rep.Records.Undecided)
			})
		}
	}
}

// held are the records of a source in a rig's store by their ids.
func held(t *testing.T, r *patratest.Rig, code string) map[string]paper {
	t.Helper()
	out := map[string]paper{}
	err := r.Node.Store.Export(t.Context(), control.ExportQuery{Sources: []string{code}}, func(e *control.Exported) error {
		var p paper
		err := json.Unmarshal([]byte(e.Fields), &p)
		out[e.ID] = p
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestQuery_ExplainTellsBothHalves: what is sent, what is filtered here, what nobody
// knows, and how many the source counts, which is one request.
func TestQuery_ExplainTellsBothHalves(t *testing.T) {
	t.Parallel()
	r := patratest.NewRig(t, patratest.RigConfig{
		DSN: patratest.SQLite.SpareDSN(t), Sim: sim.Config{Records: 60, Seed: 3, LimitRPS: -1, Now: time.Date(2026, 3, 10, 15, 0, 0, 0, time.UTC)},
	})
	explain := func(query string) map[string]control.SourceQuery {
		t.Helper()
		v, err := r.Node.Control.ExplainQuery(t.Context(), control.QueryRequest{
			Query: query, Sources: []string{"pubmed", "crossref"}, Count: true, Base: r.BaseOf,
		})
		if err != nil {
			t.Fatal(err)
		}
		out := map[string]control.SourceQuery{}
		for _, s := range v.Sources {
			out[s.Source] = s
		}
		return out
	}
	got := explain(`ti:study AND oa:true NOT lang:fr`)
	want := map[string]control.SourceQuery{
		"pubmed": {
			Source: "pubmed", Sent: `term=study[ti] NOT "fre"[la]`, Params: []control.QueryParam{{Name: "term", Value: `study[ti] NOT "fre"[la]`}},
			Finds: query.FindsSuperset, FilteredHere: []string{"oa:true", "ti:study"}, Unknown: []string{"oa"},
			Notes: []string{"records do not show oa: what depends on it is kept and counted as undecided"},
		},
		"crossref": {
			Source: "crossref", Sent: `query.title=study`, Params: []control.QueryParam{{Name: "query.title", Value: "study"}},
			Finds: query.FindsRanked, FilteredHere: []string{"NOT lang:fr", "oa:true", "ti:study"}, Unknown: []string{"oa"},
			Notes: []string{
				"what is sent is ranked, not selected: it is complete only when walked to its end, which is done",
				"accents may be told apart in ti: a word is found as it is spelt here, or without its accents",
				"records do not show oa: what depends on it is kept and counted as undecided",
				"its count is not one of matches: it counts all that has any of the words",
			},
		},
	}
	for code, w := range want {
		g := got[code]
		if g.Count == nil || *g.Count == 0 || g.Exact {
			t.Errorf("%s counts %v, exact %t: of a superset the count is an upper bound", code, g.Count, g.Exact)
		}
		g.Count = nil
		if d := cmp.Diff(w, g); d != "" {
			t.Errorf("%s: -want +got\n%s", code, d)
		}
		if n := r.Sim.Stats().Sources[code].Requests; n != 1 {
			t.Errorf("%s was asked %d times", code, n)
		}
	}
	if g := explain(`type:journal-article`)["crossref"]; !g.Exact || len(g.FilteredHere) > 0 {
		t.Errorf("what the source decides by itself: %+v", g)
	}
}
