package decode

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/papertrace/patra/internal/domain/source"
)

// fixtures lists recorded replies; the test is skipped where they are not.
func fixtures(t *testing.T, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("../../../../shared/fixtures", pattern))
	if err != nil {
		t.Fatal(err)
	}
	files = slicesWithout(files, ".meta.json")
	if len(files) == 0 {
		t.Skipf("no recordings at shared/fixtures/%s", pattern)
	}
	return files
}

func slicesWithout(files []string, suffix string) (out []string) {
	for _, f := range files {
		if !strings.HasSuffix(f, suffix) {
			out = append(out, f)
		}
	}
	return out
}

func recorded(t *testing.T, file string) []byte {
	t.Helper()
	body, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if strings.HasSuffix(file, ".gz") {
		z, err := gzip.NewReader(bytes.NewReader(body))
		if err == nil {
			body, err = io.ReadAll(z)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return body
}

type fields struct {
	Title, Abstract, Published, DOI string
	Authors                         []struct{ Family, Name string }
}

func TestFixtures_PubMed(t *testing.T) {
	ep, id, m := pubmed()
	d := compile(t, ep, id, m)
	total := 0
	for _, file := range append(fixtures(t, "pubmed/efetch/*.xml"), fixtures(t, "pubmed/updatefiles/*.gz")...) {
		name := filepath.Base(file)
		body := recorded(t, file)
		p, err := d.Page(body)
		if bytes.Contains(body, []byte("<PubmedArticle>")) && !bytes.Contains(body, []byte("<PubmedArticleSet>")) { // cut out of its set
			shapeOf(t, err)
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if len(p.Items) == 0 {
			t.Errorf("%s: no items", name)
		}
		if n := bytes.Count(body, []byte("<PubmedArticle>")) + bytes.Count(body, []byte("<PubmedBookArticle>")); n != len(p.Items) && !strings.HasPrefix(name, "contrived") {
			t.Errorf("%s: %d items of %d", name, len(p.Items), n)
		}
		for _, it := range p.Items {
			var f fields
			if err := json.Unmarshal(it.Fields, &f); err != nil {
				t.Errorf("%s %s: %v", name, it.ID, err)
			}
			if it.Problem != nil || f.Title == "" || it.UpdatedAt.IsZero() {
				t.Errorf("%s %s: %+v %q %v", name, it.ID, it.Problem, f.Title, it.UpdatedAt)
			}
			total++
		}
	}
	t.Logf("%d articles", total)
}

func TestFixtures_PubMedErrors(t *testing.T) {
	ep, id, m := pubmed()
	d := compile(t, ep, id, m)
	for _, file := range append(fixtures(t, "pubmed/reconstructed/400_*.xml"), fixtures(t, "pubmed/errors/200_efetch_id_empty.xml")...) {
		p, err := d.Page(recorded(t, file))
		if e := shapeOf(t, err); e.Kind != ShapeSchema || p == nil || p.Signals["error"] == "" {
			t.Errorf("%s: %v %+v", file, err, p)
		}
	}
	for _, file := range fixtures(t, "pubmed/errors/200_efetch_unknown_ids_empty_set.xml") {
		if p := page(t, d, string(recorded(t, file))); len(p.Items) != 0 {
			t.Errorf("%s: %+v", file, p)
		}
	}
}

func TestFixtures_PubMedSearch(t *testing.T) {
	js := compile(t, &source.Endpoint{Format: source.FormatJSON, Response: source.Response{
		Items: []string{"esearchresult.idlist"}, ID: at("$"), Total: "esearchresult.count",
		Signals: map[string]string{"error": "esearchresult.ERROR", "phrases": "esearchresult.errorlist.phrasesnotfound"},
	}}, source.Identity{Form: "NUMBER"}, nil)
	xm := compile(t, &source.Endpoint{Format: source.FormatXML, Response: source.Response{
		Items: []string{"eSearchResult/IdList/Id"}, ID: at("."), Total: "eSearchResult/Count",
		Signals: map[string]string{"error": "eSearchResult/ERROR", "phrases": "eSearchResult/ErrorList/PhraseNotFound"},
	}}, source.Identity{Form: "NUMBER"}, nil)
	for _, file := range append(fixtures(t, "pubmed/esearch/*"), fixtures(t, "pubmed/reconstructed/200_esearch*")...) {
		d, name := js, filepath.Base(file)
		if strings.HasSuffix(name, ".xml") {
			d = xm
		}
		p, err := d.Page(recorded(t, file))
		switch {
		case strings.Contains(name, "raw_newline"):
			if shapeOf(t, err).Kind != ShapeSyntax {
				t.Errorf("%s: %v", name, err)
			}
		case p == nil:
			t.Errorf("%s: %v", name, err)
		case err != nil:
			if shapeOf(t, err); p.Signals["error"] == "" {
				t.Errorf("%s: %v without a signal", name, err)
			}
		default:
			if p.Total == nil || p.Signals["error"] != "" || strings.Contains(name, "phrase_not_found") && p.Signals["phrases"] == "" {
				t.Errorf("%s: %+v", name, p)
			}
			for _, it := range p.Items {
				if it.Problem != nil {
					t.Errorf("%s: %s: %+v", name, it.Raw, it.Problem)
				}
			}
		}
	}
}

func TestFixtures_Crossref(t *testing.T) {
	ep, id, m := crossref()
	d := compile(t, ep, id, m)
	total := 0
	for _, file := range fixtures(t, "crossref/works-lists/*.json") {
		name := filepath.Base(file)
		body := recorded(t, file)
		p, err := d.Page(body)
		if err != nil {
			if strings.HasPrefix(name, "items_only") { // the recorder kept the list only
				shapeOf(t, err)
				continue
			}
			t.Errorf("%s: %v", name, err)
			continue
		}
		var ref struct {
			Message struct {
				Items []struct {
					Title []string `json:"title"`
				}
			}
		}
		if err := json.Unmarshal(body, &ref); err != nil || len(ref.Message.Items) != len(p.Items) {
			t.Fatalf("%s: %d items of %d, %v", name, len(p.Items), len(ref.Message.Items), err)
		}
		selected := strings.Contains(name, "select") // without indexed or even DOI
		for i, it := range p.Items {
			var f fields
			if err := json.Unmarshal(it.Fields, &f); err != nil {
				t.Errorf("%s %s: %v", name, it.ID, err)
			}
			if it.Problem != nil && !selected {
				t.Errorf("%s %s: %+v", name, it.ID, it.Problem)
			}
			if want := strings.Join(ref.Message.Items[i].Title, ""); (strings.TrimSpace(want) == "") != (f.Title == "") || strings.ContainsAny(f.Title, "\n\u00a0") {
				t.Errorf("%s %s: title %q of %q", name, it.ID, f.Title, want)
			}
			total++
		}
	}
	for _, file := range fixtures(t, "crossref/errors/*.json") {
		p, err := d.Page(recorded(t, file))
		if shapeOf(t, err); p == nil || len(p.Signals) == 0 {
			t.Logf("%s: %v %+v", filepath.Base(file), err, p)
		}
	}
	t.Logf("%d works", total)
}
