package sources_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
)

// replyWant is a recorded reply, the pack that reads it, and what reading it by
// eye or with another reader says is in it. Packs that are not shipped lie in
// testdata.
type replyWant struct {
	pack    string
	purpose source.Purpose
	file    string
	as      func([]byte) []byte // makes a reply of it; nil: it is one
	status  int                 // 0: 200
	means   string              // "": a page

	items       int
	first, last string // ids
	total       int64  // -1: none
	next        string // token or link; ... stands for the rest of a long one
	gone, bad   int    // tombstones, items with a problem
	held        string // name=value, sorted
	records     map[string]string
}

// allPacks are the tests of packs that say what every file of a folder means.
func allPacks() []packTest {
	return []packTest{
		arxivPack(), clinicaltrialsPack(), datacitePack(), doajPack(), europepmcPack(), halPack(), openalexPack(), plosPack(),
		semanticscholarPack(), zenodoPack(),
	}
}

// Every recording is named by an expectation: a new one that nobody has read
// fails here.
func TestRecordings_EveryOneIsExpected(t *testing.T) {
	if _, err := os.Stat(fixtures); err != nil {
		t.Skipf("no recordings at %s", fixtures)
	}
	expected := map[string]bool{}
	for _, r := range replies {
		expected[r.file] = true
	}
	for _, p := range allPacks() {
		for _, w := range p.pages {
			expected[p.name+"/"+w.file] = true
		}
		for f := range p.faults {
			expected[p.name+"/"+f] = true
		}
	}
	for name, files := range errorRecordings() {
		for f := range files {
			expected[name+"/"+f] = true
		}
	}
	for name, list := range map[string][]recording{"pubmed": pubmedRecords, "crossref": crossrefRecords} {
		for _, r := range list {
			expected[name+"/"+r.file] = true
		}
	}
	for _, a := range searchAnswers {
		expected["pubmed/"+a.file] = true
	}
	found := 0
	err := filepath.WalkDir(fixtures, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name := filepath.ToSlash(strings.TrimPrefix(path, filepath.Clean(fixtures)+string(filepath.Separator)))
		switch base := filepath.Base(name); {
		case base == "INDEX.md", base == "index.json", strings.HasSuffix(base, ".meta.json"):
			return nil
		}
		found++
		if !expected[name] {
			t.Errorf("%s: nobody said what it means", name)
		}
		delete(expected, name)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for f := range expected {
		t.Errorf("%s: expected, but not recorded", f)
	}
	t.Logf("%d recordings", found)
}

func TestRecordings_Replies(t *testing.T) {
	for _, w := range replies {
		t.Run(w.pack+"/"+filepath.Base(w.file), func(t *testing.T) { w.check(t) })
	}
}

func (w replyWant) check(t *testing.T) {
	spec := compile(t, w.pack, operationOf(w.pack))
	c := must(source.NewClassifier(spec))
	body := read(t, w.file)
	if w.as != nil {
		body = w.as(body)
	}
	status := w.status
	if status == 0 {
		status = 200
	}
	means := w.means
	if means == "" {
		means = "page"
	}
	if got := meaningOf(t, spec, c, w.purpose, status, body); got != means {
		t.Fatalf("means %s, want %s", got, means)
	}
	if means != "page" {
		return
	}
	d := decoder(t, spec, w.purpose)
	page, err := d.Page(body)
	if err != nil {
		t.Fatal(err)
	}
	got := replyWant{items: len(page.Items), total: -1, next: page.Token + page.URL}
	if head, cut := strings.CutSuffix(w.next, "..."); cut && strings.HasPrefix(got.next, head) {
		got.next = w.next
	}
	if page.Total != nil {
		got.total = *page.Total
	}
	var held []string
	for k, v := range page.Held {
		held = append(held, k+"="+v)
	}
	slices.Sort(held)
	got.held = strings.Join(held, " ")
	for i, it := range page.Items {
		if i == 0 {
			got.first = it.ID
		}
		got.last = it.ID
		if it.Status == harvest.RecordGone {
			got.gone++
		}
		if it.Problem != nil {
			got.bad++
		}
	}
	for _, x := range []struct {
		what      string
		got, want any
	}{
		{"items", got.items, w.items},
		{"first", got.first, w.first},
		{"last", got.last, w.last},
		{"total", got.total, w.total},
		{"next", got.next, w.next},
		{"gone", got.gone, w.gone},
		{"bad", got.bad, w.bad},
		{"held", got.held, w.held},
	} {
		if x.got != x.want {
			t.Errorf("%s: %v, want %v", x.what, x.got, x.want)
		}
	}
	for id, want := range w.records {
		checkPage(t, d, body, recording{w.file, id, want}, w.pack == "pubmed")
	}
}

// operationOf is one that the pack can do: some have no window, or none that
// tells of changes.
func operationOf(pack string) harvest.Operation {
	switch pack {
	case "europepmc-xml", "scopus", "scopus-xml": // no date of change
		return harvest.Backfill
	case "oai-pmh-repository", "scielo-issue", "unpaywall", "core-batch", "core-history", "pmc-cloud", "pubmed-xml", "pubmed-esummary", "pubmed-epost":
		return harvest.Update
	}
	return harvest.Harvest
}

// The packs in testdata are whole: all they say compiles, also what no recording
// shows.
func TestTestPacks_Compile(t *testing.T) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, f := range files {
		name := strings.TrimSuffix(filepath.Base(f), ".yaml")
		t.Run(name, func(t *testing.T) {
			spec := compile(t, name, operationOf(name))
			if _, err := source.NewClassifier(spec); err != nil {
				t.Error(err)
			}
			for _, p := range []source.Purpose{source.ForSearch, source.ForCount, source.ForDetail} {
				if spec.Endpoint(p) != nil {
					decoder(t, spec, p)
				}
			}
			if !slices.ContainsFunc(replies, func(r replyWant) bool { return r.pack == name }) {
				t.Error("no recording is read by it")
			}
		})
	}
}

// A walk over four recorded pages, the last of which has an empty token.
func TestOAI_Walk(t *testing.T) {
	spec := compile(t, "oai-pmh-ids", harvest.Harvest)
	d := decoder(t, spec, source.ForSearch)
	var pos harvest.Position
	var end harvest.EndProof
	seen := map[uint64]bool{}
	for _, f := range glob(t, "oai-pmh", "nsdl-listidentifiers-p?.xml") {
		page, err := d.Page(read(t, f))
		if err != nil {
			t.Fatalf("%s: %v", f, err)
		}
		pos, end, err = spec.Paging.Step(pos, page.Facts(), func(h uint64) bool { return seen[h] })
		if err != nil {
			t.Fatalf("%s: %v", f, err)
		}
		for _, it := range page.Items {
			seen[harvest.IDHash(it.ID)] = true
		}
	}
	if end != harvest.EndNoToken || pos.Seen != 733 {
		t.Errorf("end %q after %d", end, pos.Seen)
	}
}

// What OAI-PMH says instead of records.
func TestOAI_Errors(t *testing.T) {
	spec := compile(t, "oai-pmh", harvest.Harvest)
	c := must(source.NewClassifier(spec))
	for code, want := range map[string]string{
		"noRecordsMatch":     " EMPTY no_records",
		"badResumptionToken": "L1 RESTART token_expired",
		"badArgument":        "L2 STOP request_refused",
		"InternalException":  "L1 RETRY oai_error",
	} {
		body := `<OAI-PMH xmlns="http://www.openarchives.org/OAI/2.0/"><error code="` + code + `">x</error></OAI-PMH>`
		if got := meaningOf(t, spec, c, source.ForSearch, 200, []byte(body)); got != want {
			t.Errorf("%s: %q, want %q", code, got, want)
		}
	}
}

// lines makes a list of works of a file with one on each line.
func lines(body []byte) []byte {
	return slices.Concat([]byte(`{"message":{"total-results":0,"items":[`), bytes.Join(bytes.Split(bytes.TrimSpace(body), []byte("\n")), []byte(",")), []byte(`]}}`))
}
