package sources_test

import (
	"bytes"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/domain/work"
)

// library are the records of all recordings, each once. A pack of testdata that reads
// another form of a source's records counts as a source of its own, which holds the same
// papers.
type library struct {
	t       *testing.T
	records []work.Record
	known   map[work.Key]bool
}

// add takes up the records of a recorded reply.
func (l *library) add(pack string, op harvest.Operation, purpose source.Purpose, body []byte) {
	l.t.Helper()
	page, err := decoder(l.t, compile(l.t, pack, op), purpose).Page(body)
	if err != nil {
		l.t.Fatal(err)
	}
	for _, it := range page.Items {
		// One whose date cannot be read is kept apart when it is harvested; what it says of
		// itself is read here all the same.
		fields := it.Mapped()
		key := work.Key{Source: pack, Type: "work", ID: it.ID}
		if len(fields) == 0 || it.ID == "" || l.known[key] {
			continue
		}
		r, err := work.Read(key, fields)
		if err != nil {
			l.t.Fatal(err)
		}
		l.known[key] = true
		r.Number = int64(len(l.records) + 1)
		l.records = append(l.records, r)
	}
}

// recorded decodes every recording that holds records.
func recorded(t *testing.T) *library {
	l := &library{t: t, known: map[work.Key]bool{}}
	for _, p := range allPacks() {
		for _, w := range p.pages {
			body := read(t, p.name+"/"+w.file)
			if w.as != nil {
				body = w.as(body)
			}
			l.add(p.name, p.ops[0], source.ForSearch, body)
		}
	}
	for _, r := range pubmedRecords {
		body := read(t, "pubmed/"+r.file)
		if i := bytes.Index(body, []byte("<PubmedArticle")); !bytes.Contains(body, []byte("<PubmedArticleSet")) {
			body = slices.Concat([]byte("<PubmedArticleSet>"), body[i:], []byte("</PubmedArticleSet>"))
		}
		l.add("pubmed", harvest.Harvest, source.ForDetail, body)
	}
	for _, r := range crossrefRecords {
		l.add("crossref", harvest.Harvest, source.ForSearch, asList(read(t, "crossref/"+r.file)))
	}
	for _, w := range replies {
		spec := compile(t, w.pack, operationOf(w.pack))
		if w.means != "" || w.items == 0 || w.purpose == source.ForCount || !spec.Maps(spec.Endpoint(w.purpose)) {
			continue
		}
		body := read(t, w.file)
		if w.as != nil {
			body = w.as(body)
		}
		l.add(w.pack, operationOf(w.pack), w.purpose, body)
	}
	return l
}

// name is how the list of verdicts calls a record.
func (l *library) name(number int64) string {
	k := l.records[number-1].Key
	return k.Source + "/" + k.ID
}

// pairs are what the rules say of the recordings: which two records are one work, by
// identifiers alone, and what else they relate or suggest.
func (l *library) pairs() map[string]bool {
	out := map[string]bool{}
	say := func(what string, a, b int64) {
		names := []string{l.name(a), l.name(b)}
		if !strings.Contains(what, "-of") {
			slices.Sort(names)
		}
		out[what+"\t"+names[0]+"\t"+names[1]] = true
	}
	holders := map[work.ID]int{}
	for _, r := range l.records {
		for _, c := range r.Claims {
			holders[c.ID]++
		}
	}
	resolved := work.Resolve(slices.Clone(l.records), nil, func(id work.ID) bool { return holders[id] > work.MostHolders })
	of := map[int64]int64{}
	for _, members := range resolved.Works {
		for i, a := range members {
			of[a] = members[0]
			for _, b := range members[i+1:] {
				say("one", a, b)
			}
		}
	}
	edges := resolved.Edges
	between := map[[2]int64][]work.Edge{}
	for _, p := range l.neighbours() {
		in := [2]int64{of[p[0]], of[p[1]]}
		if slices.Sort(in[:]); in[0] != in[1] {
			between[in] = append(between[in], work.Compare(&l.records[p[0]-1], &l.records[p[1]-1])...)
		}
	}
	for _, list := range between {
		edges = append(edges, work.Telling(list)...)
	}
	for _, e := range edges {
		switch {
		case e.Polarity == work.Relates:
			say(string(e.Relation), e.From, e.To)
		case e.Polarity == work.Suggests:
			say("perhaps"+strings.TrimPrefix(" "+string(e.Relation), " "), e.From, e.To)
		}
	}
	return out
}

// neighbours are pairs of records that a key leads from one to the other.
func (l *library) neighbours() [][2]int64 {
	held := map[work.LookupKey][]int64{}
	for i := range l.records {
		for _, k := range l.records[i].Keys() {
			held[k] = append(held[k], l.records[i].Number)
		}
	}
	found := map[[2]int64]bool{}
	for i := range l.records {
		n := l.records[i].Number
		for _, k := range l.records[i].Keys() {
			if beside, ok := k.Beside(); ok {
				k = beside
			}
			for _, other := range held[k] {
				if other != n && len(held[k]) <= k.Most() {
					found[[2]int64{min(n, other), max(n, other)}] = true
				}
			}
		}
	}
	return slices.Collect(maps.Keys(found))
}

// verdict is what a person said of two records after reading both.
type verdict struct {
	what string // one, or how the first is related to the second
	a, b string
	// missed: nothing that the records say leads from one to the other.
	missed bool
}

// verdicts reads the list of them.
func verdicts(t *testing.T) map[string]verdict {
	t.Helper()
	text, err := os.ReadFile("testdata/works.txt")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]verdict{}
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		if len(words) == 0 || words[0] == "#" {
			continue
		}
		missed := words[0] == "missed"
		if missed {
			words = words[1:]
		}
		if len(words) != 3 {
			t.Fatalf("not a verdict: %q", line)
		}
		v := verdict{what: words[0], a: words[1], b: words[2], missed: missed}
		out[strings.Join(words, "\t")] = v
	}
	return out
}

// TestWorks_LinksOfTheRecordings holds what the rules make of all recordings against
// what a person said of each pair. A link, a relation or a suggestion that is not in the
// list is wrong until somebody has read both records; so the links by identifiers have a
// precision of 1 here, or the test fails.
func TestWorks_LinksOfTheRecordings(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat(fixtures); err != nil {
		t.Skipf("no recordings at %s", fixtures)
	}
	l := recorded(t)
	found := l.pairs()
	want := verdicts(t)
	var linked, missed int
	for _, pair := range slices.Sorted(maps.Keys(found)) {
		v, known := want[pair]
		switch {
		case !known:
			t.Errorf("nobody has read these two: %s", pair)
		case v.missed:
			t.Errorf("no longer missed: %s", pair)
		case v.what == "one":
			linked++
		}
	}
	for _, pair := range slices.Sorted(maps.Keys(want)) {
		v := want[pair]
		if v.missed && v.what == "one" {
			missed++
		}
		if !v.missed && !found[pair] {
			t.Errorf("not found: %s", pair)
		}
	}
	t.Logf("%d records: %d pairs are one work by identifiers, all of them right; %d more are one and have no identifier in common",
		len(l.records), linked, missed)
	if linked == 0 {
		t.Error("the recordings link nothing")
	}
}
