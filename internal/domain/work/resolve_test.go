package work_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/domain/work"
)

// TestWorks_OrderDoesNotMatter: over random records that share identifiers, right and
// wrong, any order of records and decisions gives the same works and the same edges.
func TestWorks_OrderDoesNotMatter(t *testing.T) {
	t.Parallel()
	sources := []string{"crossref", "pubmed", "europepmc", "openalex", "hal", "doaj", "datacite"}
	names := []string{"Berg", "Tal", "Wald", "See"}
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 1))
		var recs []work.Record
		for i := range int64(3 + rng.IntN(10)) {
			f := map[string]any{
				"title": fmt.Sprintf("A title of the text number %d in a long row", rng.IntN(3)), "type": "article",
				"doi": fmt.Sprintf("10.1000/%d", rng.IntN(4)), "pmid": fmt.Sprint(1 + rng.IntN(3)),
				"authors": []map[string]string{{"family": names[rng.IntN(len(names))]}},
			}
			doc, err := json.Marshal(f)
			if err != nil {
				t.Fatal(err)
			}
			recs = append(recs, *read(t, i+1, sources[rng.IntN(len(sources))], fmt.Sprint(100+i), doc))
		}
		decisions := []work.Decision{{ID: 1, Split: true, Parts: [][]int64{{1}, {2}}}, {ID: 2, Parts: [][]int64{{2, 3}}}}
		first := fmt.Sprintf("%+v", work.Resolve(slices.Clone(recs), decisions, nil))
		for range 4 {
			rng.Shuffle(len(recs), func(i, j int) { recs[i], recs[j] = recs[j], recs[i] })
			slices.Reverse(decisions)
			if got := fmt.Sprintf("%+v", work.Resolve(slices.Clone(recs), decisions, nil)); got != first {
				t.Fatalf("seed %d: another order, other works:\n%s\n%s", seed, first, got)
			}
		}
	}
}

// TestWorks_BestFields: each field comes from the source that knows it best, whatever the
// order; nothing never beats something, and a retraction is not lost.
func TestWorks_BestFields(t *testing.T) {
	t.Parallel()
	member := func(source, id, fields string, retracted bool) work.Member {
		return work.Member{Key: work.Key{Source: source, Type: "w", ID: id}, Revision: 1, Fields: []byte(fields), Retracted: retracted}
	}
	members := []work.Member{
		member("crossref", "10.1000/a", `{"title":"ALL IN CAPITAL LETTERS","doi":"10.1000/a","journal":"J","volume":"3","authors":[{"family":"B"}],"published":"2021-05"}`, false),
		member("pubmed", "11", `{"title":"All in capital letters","abstract":"Long.","journal":"K","issue":"9","pmid":"11","doi":"10.1000/a","type":"Review",
			"authors":[{"family":"B","given":"Anna"}],"published":"2021"}`, true),
		member("openalex", "W1", `{"title":"","abstract":"Much longer than the other.","pmid":"99","published":"2020","keywords":["x"]}`, false),
	}
	want := map[string]string{
		"title": `"All in capital letters" pubmed`, "abstract": `"Long." pubmed`, "doi": `"10.1000/a" crossref`, "pmid": `"11" pubmed`,
		"journal": `"J" crossref`, "volume": `"3" crossref`, "authors": `[{"family":"B","given":"Anna"}] pubmed`, "published": `"2020" openalex`,
		"type": `"Review" pubmed`, "retracted": `true pubmed`, "keywords": `["x"] openalex`, "issue": "",
	}
	for _, order := range [][]int{{0, 1, 2}, {2, 1, 0}, {1, 2, 0}} {
		var list []work.Member
		for _, i := range order {
			list = append(list, members[i])
		}
		got, err := work.Best(list, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
		if err != nil {
			t.Fatal(err)
		}
		for name, w := range want {
			text := ""
			if v, there := got[name]; there {
				text = string(v.Value) + " " + v.From[0].Source
			}
			if text != w {
				t.Errorf("order %v: %s is %s, want %s", order, name, text, w)
			}
		}
	}
}

// TestSuggestion_TellsHowAlikeTheRecordsAre: what an identifier alone speaks for is suggested with
// the score of what both records say, and with words for it, never as if it were certain.
func TestSuggestion_TellsHowAlikeTheRecordsAre(t *testing.T) {
	t.Parallel()
	one := `{"title":"Insulin resistance in adults of two towns","type":"article","doi":"10.1000/a","published":"2021","authors":[{"family":"Berg"}]}`
	for name, c := range map[string]struct {
		source, crossref, other string
		score                   float64
		why                     string
	}{
		"titles and authors differ": {
			"doaj", one, `{"title":"Mycelium of birch forests","type":"article","doi":"10.1000/a","published":"2009","authors":[{"family":"Tal"}]}`,
			0.2, "titles and authors differ; title 0.",
		},
		"only an aggregator says so, and all else is the same": {"openalex", strings.Replace(one, `"published"`, `"pmid":"11","published"`, 1), strings.Replace(one, `"doi":"10.1000/a"`, `"pmid":"11"`, 1), 1, "only aggregators say so; title 1.00, authors, year"},
		"nothing to compare": {
			"datacite", `{"type":"article","doi":"10.1000/a","pmid":"11"}`, `{"type":"article","doi":"10.1000/b","pmid":"11"}`,
			0, "each has a DOI of its own: 10.1000/a, 10.1000/b; nothing to compare",
		},
	} {
		a := read(t, 1, "crossref", "10.1000/a", []byte(c.crossref))
		b := read(t, 2, c.source, "x", []byte(c.other))
		edges := work.Resolve([]work.Record{*a, *b}, nil, nil).Edges
		if len(edges) != 1 || edges[0].Polarity != work.Suggests {
			t.Fatalf("%s: %+v", name, edges)
		}
		e := edges[0]
		if e.Score > c.score || e.Score < c.score-0.2 || !strings.HasPrefix(e.Why, c.why) || e.Evidence == "" {
			t.Errorf("%s: score %.2f, %q for %q", name, e.Score, e.Why, e.Evidence)
		}
	}
}
