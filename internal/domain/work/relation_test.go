package work_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/papertrace/patra/internal/domain/work"
)

// told is a record by what tells it from the others of a test.
type told struct {
	source, id, kind string
	title, author    string
	fields           map[string]any
}

func (r told) record(t *testing.T, number int64) work.Record {
	t.Helper()
	f := map[string]any{"title": r.title, "type": r.kind, "published": "2021", "authors": []map[string]string{{"family": r.author}}}
	maps.Copy(f, r.fields)
	doc, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	return *read(t, number, r.source, r.id, doc)
}

func ids(pairs ...string) map[string]any {
	out := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		out[pairs[i]] = pairs[i+1]
	}
	return map[string]any{"other_ids": out}
}

func withDOI(doi string, more map[string]any) map[string]any {
	out := map[string]any{"doi": doi}
	maps.Copy(out, more)
	return out
}

// TestWorks_RelationsAreNotIdentity: what sources tell of how records are related makes
// families and never works; only what a registry calls identical, and reads alike, is
// one.
func TestWorks_RelationsAreNotIdentity(t *testing.T) {
	t.Parallel()
	const rivers = "Rivers of the plain and those who measure them"
	const wool = "Wool and its many uses in a cold winter"
	preprint := told{"crossref", "10.1101/2021.01.01.400001", "posted-content", rivers, "Berg", withDOI("10.1101/2021.01.01.400001", nil)}
	article := told{"crossref", "10.1000/a", "journal-article", rivers, "Berg", withDOI("10.1000/a", nil)}
	twin := told{"crossref", "10.2000/b", "journal-article", rivers, "Berg", withDOI("10.2000/b", nil)}
	other := told{"crossref", "10.2000/w", "journal-article", wool, "Tal", withDOI("10.2000/w", nil)}
	in := func(r told, more map[string]any) told {
		fields := map[string]any{}
		maps.Copy(fields, r.fields)
		maps.Copy(fields, more)
		r.fields = fields
		return r
	}
	for _, c := range []struct {
		name string
		a, b told
		want string
	}{
		{
			"a preprint names its article", in(preprint, ids("preprint_of", "10.1000/A")), article,
			"FAMILY 13 preprint-of crossref/10.1101/2021.01.01.400001 crossref/10.1000/a",
		},
		{
			"an article names its preprint", preprint, in(article, ids("has_preprint", "10.1101/2021.01.01.400001")),
			"FAMILY 13 preprint-of crossref/10.1101/2021.01.01.400001 crossref/10.1000/a",
		},
		{
			"an e-print is called a version of its article", in(preprint, ids("version_of", "10.1000/a")), article,
			"FAMILY 13 preprint-of crossref/10.1101/2021.01.01.400001 crossref/10.1000/a",
		},
		{
			"an article updates its preprint", preprint, in(article, ids("version_of", "10.1101/2021.01.01.400001")),
			"FAMILY 13 preprint-of crossref/10.1101/2021.01.01.400001 crossref/10.1000/a",
		},
		{
			"bioRxiv names the article",
			told{
				"biorxiv", "10.1101/2021.01.01.400001", "preprint", rivers, "Berg",
				withDOI("10.1101/2021.01.01.400001", ids("article_doi", "10.1000/a")),
			},
			article,
			"FAMILY 13 preprint-of biorxiv/10.1101/2021.01.01.400001 crossref/10.1000/a",
		},
		{
			"Europe PMC found the article",
			told{"europepmc", "PPR77", "Preprint", rivers, "Berg", ids("corpus", "PPR", "preprint_of", "11")},
			told{"pubmed", "11", "Journal Article", rivers, "Berg", map[string]any{"pmid": "11"}},
			"FAMILY 13 preprint-of europepmc/PPR77 pubmed/11",
		},
		{
			"Europe PMC found the preprint",
			told{"europepmc", "PPR77", "Preprint", rivers, "Berg", ids("corpus", "PPR")},
			told{"europepmc", "11", "Journal Article", rivers, "Berg", ids("corpus", "MED", "has_preprint", "PPR77")},
			"FAMILY 13 preprint-of europepmc/PPR77 europepmc/11",
		},
		{
			"a link that cannot be", in(preprint, ids("preprint_of", "10.2000/w")), other,
			"SUGGEST 13 preprint-of crossref/10.1101/2021.01.01.400001 crossref/10.2000/w",
		},
		{
			"a retraction, told by the paper", in(article, map[string]any{"retracted_by": "10.2000/w"}), other,
			"FAMILY 14 retraction-of crossref/10.2000/w crossref/10.1000/a",
		},
		{"an expression of concern", in(other, ids("concerns", "10.1000/a")), article, "FAMILY 14 notice-of crossref/10.2000/w crossref/10.1000/a"},
		{"a comment", in(other, ids("comments_on", "10.1000/a")), article, "FAMILY 13 comment-on crossref/10.2000/w crossref/10.1000/a"},
		{"a report of a referee", in(other, ids("reviews", "10.1000/a")), article, "FAMILY 13 review-of crossref/10.2000/w crossref/10.1000/a"},
		{"a figure of a paper", in(other, ids("part_of", "10.1000/a")), article, "FAMILY 13 part-of crossref/10.2000/w crossref/10.1000/a"},
		{"identical, and alike", in(article, ids("identical_to", "10.2000/b")), twin, "LINK 4  crossref/10.1000/a crossref/10.2000/b"},
		{"identical, and another title", in(article, ids("identical_to", "10.2000/w")), other, "SUGGEST 4  crossref/10.1000/a crossref/10.2000/w"},
		{
			"identical, and another author", in(article, ids("identical_to", "10.2000/b")),
			told{"crossref", "10.2000/b", "journal-article", rivers, "Feld", withDOI("10.2000/b", nil)},
			"SUGGEST 4  crossref/10.1000/a crossref/10.2000/b",
		},
		{
			"identical, and part two", in(article, ids("identical_to", "10.2000/b")),
			told{"crossref", "10.2000/b", "journal-article", rivers + ". Part II", "Berg", withDOI("10.2000/b", nil)},
			"SUGGEST 4  crossref/10.1000/a crossref/10.2000/b",
		},
		{
			"identical, and a preprint", in(article, ids("identical_to", "10.1101/2021.01.01.400001")), preprint,
			"FAMILY 13 preprint-of crossref/10.1101/2021.01.01.400001 crossref/10.1000/a",
		},
		{
			"the newest of all versions",
			told{"crossref", "10.7554/elife.1", "posted-content", rivers, "Berg", withDOI("10.7554/elife.1", ids("identical_to", "10.7554/elife.1.2"))},
			told{"crossref", "10.7554/elife.1.2", "posted-content", rivers, "Berg", withDOI("10.7554/elife.1.2", nil)},
			"FAMILY 13 version-of crossref/10.7554/elife.1 crossref/10.7554/elife.1.2",
		},
		{
			"a reply under the DOI of the letter",
			told{"pubmed", "21", "Letter", rivers, "Berg", map[string]any{"pmid": "21", "doi": "10.1000/l"}},
			told{"europepmc", "22", "Letter", rivers, "Berg", map[string]any{"pmid": "22", "doi": "10.1000/l", "other_ids": map[string]string{"corpus": "MED", "comments_on": "21"}}},
			"FAMILY 13 comment-on europepmc/22 pubmed/21",
		},
	} {
		if got := saidOf(c.a.record(t, 1), c.b.record(t, 2)); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		if got := saidOf(c.b.record(t, 1), c.a.record(t, 2)); got != c.want {
			t.Errorf("%s, the other way round: %q, want %q", c.name, got, c.want)
		}
	}
}

// saidOf are the edges between two records, those of identifiers first.
func saidOf(a, b work.Record) string {
	names := map[int64]string{}
	for _, r := range []work.Record{a, b} {
		names[r.Number] = r.Key.Source + "/" + r.Key.ID
	}
	resolved := work.Resolve([]work.Record{a, b}, nil, nil)
	edges := resolved.Edges
	if len(resolved.Works) == 2 {
		edges = append(edges, work.Compare(&a, &b)...)
	}
	var out []string
	for _, e := range edges {
		out = append(out, fmt.Sprintf("%s %d %s %s %s", e.Polarity, e.Rule, e.Relation, names[e.From], names[e.To]))
	}
	slices.Sort(out)
	return strings.Join(slices.Compact(out), "; ")
}

// TestWorks_AliasJoinsWhatBothNamesHave: records that hold one or the other of two DOIs
// of one article become one work, and the value is not thought ill of.
func TestWorks_AliasJoinsWhatBothNamesHave(t *testing.T) {
	t.Parallel()
	const rivers = "Rivers of the plain and those who measure them"
	records := []work.Record{
		told{"crossref", "10.1000/a", "journal-article", rivers, "Berg", withDOI("10.1000/a", ids("identical_to", "10.2000/b"))}.record(t, 1),
		told{"crossref", "10.2000/b", "journal-article", rivers, "Berg", withDOI("10.2000/b", nil)}.record(t, 2),
		told{"pubmed", "11", "Journal Article", rivers, "Berg", map[string]any{"pmid": "11", "doi": "10.2000/b"}}.record(t, 3),
		told{"hal", "hal-1", "ART", rivers, "Berg", withDOI("10.1000/a", nil)}.record(t, 4),
	}
	got := work.Resolve(records, nil, nil)
	if len(got.Works) != 1 || len(got.Bad) != 0 {
		t.Errorf("%v, not believed %v", got.Works, got.Bad)
	}
}
