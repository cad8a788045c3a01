package citefile_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/papertrace/patra/internal/app/citefile"
	"github.com/papertrace/patra/internal/domain/citation"
)

// read is what a reader says of one record.
type read = map[string]any

// TestR54_ReadBackByOthers: programs that others wrote find every record in every
// format, as many as were written, and in each what was put into it: no hostile value
// leaves its field. Each reader is started once, over the whole corpus.
func TestR54_ReadBackByOthers(t *testing.T) {
	t.Parallel()
	home := os.Getenv("PATRA_READERS")
	if home == "" {
		home = "/opt/patra-readers"
	}
	_, noReaders := os.Stat(filepath.Join(home, "ready"))
	_, noBibutils := exec.LookPath("ris2xml")
	if err := errors.Join(noReaders, noBibutils); err != nil {
		t.Skip("the readers of others are not installed (make test-deps)")
	}
	dir := t.TempDir()
	held := map[citefile.Format][]*citation.Citation{}
	for _, f := range citefile.Formats {
		var o citefile.Options
		if f == citefile.CSV {
			o.Tool = citefile.Rayyan // a program: cells are exact
			o.Columns = []string{"source", "id", "title", "abstract", "doi", "volume"}
		}
		var b []byte
		b, held[f] = written(t, f, o, corpus(t))
		if err := os.WriteFile(filepath.Join(dir, "corpus"+f.Extension()), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, convert := range [][]string{{"ris2xml", "corpus.ris", "ris.mods"}, {"bib2xml", "corpus.bib", "bib.mods"}, {"endx2xml", "corpus.xml", "endx.mods"}} {
		mods := run(t, dir, convert[0], "-i", "unicode", convert[1])
		if err := os.WriteFile(filepath.Join(dir, convert[2]), mods, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	here, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string][]read{}
	for _, answer := range [][]byte{
		run(t, dir, filepath.Join(home, "py", "bin", "python"), filepath.Join(here, "readers.py"), dir, filepath.Join(home, "rispy09")),
		run(t, filepath.Join(home, "js"), "node", filepath.Join(here, "readers.js"), dir),
	} {
		if err := json.Unmarshal(answer, &found); err != nil {
			t.Fatal(err)
		}
	}
	for reader, c := range expected {
		want := held[c.format]
		got := found[reader]
		if len(got) != len(want) || len(got) == 0 {
			t.Errorf("%s finds %d records, %d were written", reader, len(got), len(want))
			continue
		}
		for i := range want {
			for field, value := range c.fields(want[i]) {
				written := plainJSON(t, value)
				read := got[i][field]
				if reader == "bib2xml" || reader == "bibtexparser" {
					read = replaced(asTyped, read)
				}
				if reader == "bibtexparser" && hasLoneBrace(want[i].Title) {
					written = replaced(noBraces, written) // it knows no name for a lone one, and leaves it out
					read = replaced(noBraces, read)
				}
				if diff := cmp.Diff(written, read); diff != "" {
					t.Errorf("%s: %s of record %s (-written +read):\n%s", reader, field, want[i].RecordID, diff)
				}
			}
		}
	}
}

// run starts a program in a folder, which finds libraries of JavaScript there too,
// and returns what it prints.
func run(t *testing.T, dir, name string, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "NODE_PATH="+filepath.Join(dir, "node_modules"), "PYTHONDONTWRITEBYTECODE=1")
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", name, err, said.Bytes())
	}
	return out
}

// plainJSON is a value as it is when it has been JSON.
func plainJSON(t *testing.T, v any) (out any) {
	t.Helper()
	b, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(b, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// expected is what each reader has to find in a record, as far as it has a name for it.
var expected = map[string]struct {
	format citefile.Format
	fields func(*citation.Citation) read
}{
	"rispy 0.9":    {citefile.RIS, rispyFields},
	"rispy 0.10":   {citefile.RIS, rispyFields},
	"bibtexparser": {citefile.BibTeX, texFields},
	"nbib": {citefile.NBIB, func(c *citation.Citation) read {
		return read{
			"title": c.Title, "abstract": c.Abstract, "doi": c.DOI, "pmid": c.PMID, "journal": c.Container, "volume": c.Volume, "issue": c.Issue, "pages": c.Pages.Range("-"),
			"authors": persons(c.Authors), "keywords": append([]string{}, c.Keywords...), "language": c.BookLanguage(),
		}
	}},
	"csv": {citefile.CSV, func(c *citation.Citation) read {
		return read{"source": c.Source, "id": c.RecordID, "title": c.Title, "abstract": c.Abstract, "doi": c.DOI, "volume": c.Volume}
	}},
	"pyarrow":            {citefile.Parquet, arrowFields},
	"ris2xml":            {citefile.RIS, risModsFields},
	"bib2xml":            {citefile.BibTeX, modsFields},
	"endx2xml":           {citefile.EndNote, modsFields},
	"citation-js ris":    {citefile.RIS, risFields},
	"citation-js bibtex": {citefile.BibTeX, citationJSFields},
	"citation-js csl":    {citefile.CSL, cslFields},
}

func inverted(names []citation.Name) []string {
	out := []string{}
	for _, n := range names {
		out = append(out, n.Inverted())
	}
	return out
}

// persons are names that are not of groups, which NBIB writes apart.
func persons(names []citation.Name) []string {
	out := []string{}
	for _, n := range names {
		if n.Literal == "" {
			out = append(out, n.Inverted())
		}
	}
	return out
}

func rispyFields(c *citation.Citation) read {
	return read{
		"title": c.Title, "abstract": c.Abstract, "year": c.Issued.YearText(), "doi": c.DOI, "volume": c.Volume, "issue": c.Issue, "accession": c.Accession(),
		"authors": withoutStars(inverted(c.Authors)), "journal": withoutStars([]string{c.Container})[0],
		"first": c.Pages.First, "last": c.Pages.Last, "language": c.Language, "urls": listOf(c.URL), "date": slashed(c.Issued),
		"keywords": keywordsOfRIS(c.Subjects()), "type": typeWords[c.Type].ris,
	}
}

// listOf is a list of a text, or an empty one of none.
func listOf(s string) []string {
	if s == "" {
		return []string{}
	}
	return []string{s}
}

// slashed is a date as RIS has it, where the month is known.
func slashed(d citation.Date) string {
	switch d.Precision() {
	case "month":
		return d.Join("/") + "/"
	case "day":
		return d.Join("/")
	}
	return ""
}

func withoutStars(list []string) []string {
	for i, s := range list {
		list[i] = citation.Line(strings.ReplaceAll(s, "*", ""))
	}
	return list
}

// texNames are names as BibTeX orders their parts.
func texNames(names []citation.Name) []string {
	out := []string{}
	for _, n := range names {
		parts := []string{n.Literal + n.Family}
		if n.Suffix != "" {
			parts = append(parts, n.Suffix)
		}
		if n.Given != "" {
			parts = append(parts, n.Given)
		}
		out = append(out, strings.Join(parts, ", "))
	}
	return out
}

func texFields(c *citation.Citation) read {
	return read{
		"title": c.Title, "abstract": c.Abstract, "year": c.Issued.YearText(), "doi": c.DOI, "pmid": c.PMID, "volume": c.Volume, "issue": c.Issue,
		"authors": texNames(c.Authors), "journal": c.Container, "date": c.Issued.String(), "pages": c.Pages.Range("--"), "language": c.Language, "url": c.URL,
		"type": typeWords[c.Type].bibtex,
	}
}

// asTyped are the signs that readers of BibTeX make of those that were typed, and a
// command that one of them does not know.
var asTyped = strings.NewReplacer("”", `"`, "’", "'", "–", "--", "⌃", "^", "ˆ", "^", `\textbackslash`, `\`)

// hasLoneBrace reports whether a brace of a text has no other.
func hasLoneBrace(s string) bool {
	depth := 0
	for _, r := range s {
		switch r {
		case '{':
			depth++
		case '}':
			depth--
		}
		if depth < 0 {
			return true
		}
	}
	return depth != 0
}

var noBraces = strings.NewReplacer("{", "", "}", "")

// replaced is a text or a list of them after a replacement.
func replaced(r *strings.Replacer, v any) any {
	switch v := v.(type) {
	case string:
		return r.Replace(v)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = replaced(r, v[i])
		}
		return out
	}
	return v
}

// typeWords are the words of formats for types; those in journals are an article in all.
var typeWords = map[citation.Type]struct{ ris, bibtex, csl string }{
	citation.Article: anArticle, citation.Review: anArticle, citation.ClinicalTrial: anArticle, citation.Editorial: anArticle, citation.Letter: anArticle, citation.Notice: anArticle,
	citation.Preprint:     {"UNPB", "misc", "article"},
	citation.Book:         {"BOOK", "book", "book"},
	citation.Chapter:      {"CHAP", "incollection", "chapter"},
	citation.Proceedings:  {"CONF", "inproceedings", "paper-conference"},
	citation.Dataset:      {"DATA", "misc", "dataset"},
	citation.Software:     {"COMP", "misc", "document"},
	citation.Thesis:       {"THES", "phdthesis", "thesis"},
	citation.Report:       {"RPRT", "techreport", "report"},
	citation.Registration: {"DBASE", "misc", "document"},
	citation.Other:        {"GEN", "misc", "document"},
}

var anArticle = struct{ ris, bibtex, csl string }{"JOUR", "article", "article-journal"}

// keywordsOfRIS are keywords without the signs at which readers part them.
func keywordsOfRIS(list []string) []string {
	out := []string{}
	for _, k := range list {
		k = citation.Line(strings.NewReplacer(";", ",", "--", "-", "*", "").Replace(k))
		if k != "" {
			out = append(out, k)
		}
	}
	if len(out) == 1 {
		out[0] = citation.Line(strings.ReplaceAll(out[0], ",", " -")) // one alone is parted at commas too
	}
	return out
}

// isHostile reports whether a record of the corpus has a hostile text in all of its fields. What
// such a text is as a name, a volume or a language is for every reader to guess.
func isHostile(c *citation.Citation) bool { return strings.HasPrefix(c.PMID, "7000") }

// modsFields are those that bibutils has a place for: what stands in no journal has no volume.
func modsFields(c *citation.Citation) read {
	out := read{
		"title": c.Title, "abstract": c.Abstract, "doi": c.DOI, "year": c.Issued.YearText(), "language": c.Language, "urls": listOf(c.URL),
	}
	if c.Type.InJournal() {
		out["volume"] = c.Volume
		out["issue"] = c.Issue
	}
	if c.Type.InJournal() && !isHostile(c) {
		out["journal"] = c.Container
		out["first"] = c.Pages.First
		out["last"] = c.Pages.Last
	}
	return out
}

func citationJSFields(c *citation.Citation) read {
	out := read{"title": c.Title, "abstract": c.Abstract, "doi": c.DOI, "year": c.Issued.YearText(), "url": c.URL}
	if c.Type.InJournal() {
		out["volume"] = c.Volume
		out["issue"] = c.Issue
		out["pages"] = c.Pages.Range("-")
		out["journal"] = c.Container
	}
	if !isHostile(c) {
		out["language"] = c.Language
		out["authors"] = literally(c.Authors)
	}
	return out
}

// literally are names with all of their signs, commas too, which RIS cannot hold.
func literally(names []citation.Name) []string {
	out := []string{}
	for _, n := range names {
		var parts []string
		for _, part := range []string{n.Literal, n.Family, n.Given, n.Suffix} {
			if part != "" {
				parts = append(parts, part)
			}
		}
		out = append(out, strings.Join(parts, ", "))
	}
	return out
}

// cslFields are those of the format that has a member for each, hostile or not.
func cslFields(c *citation.Citation) read {
	return read{
		"title": c.Title, "abstract": c.Abstract, "doi": c.DOI, "year": c.Issued.YearText(), "url": c.URL, "volume": c.Volume, "issue": c.Issue, "pages": c.Pages.Range("-"),
		"journal": c.Container, "language": c.Language, "authors": literally(c.Authors), "pmid": c.PMID, "type": typeWords[c.Type].csl, "date": datePartsOf(c.Issued),
	}
}

func datePartsOf(d citation.Date) []int {
	out := []int{}
	for _, n := range []int{d.Year, d.Month, d.Day} {
		if n > 0 {
			out = append(out, n)
		}
	}
	return out
}

// risFields are what citation-js reads of RIS, in which a group has no comma and nobody a star.
func risFields(c *citation.Citation) read {
	out := citationJSFields(c)
	if _, has := out["authors"]; has {
		out["authors"] = withoutStars(inverted(c.Authors))
	}
	if _, has := out["journal"]; has {
		out["journal"] = withoutStars([]string{c.Container})[0]
	}
	return out
}

// risModsFields are what bibutils reads of RIS, where it takes the journal for an abbreviation.
func risModsFields(c *citation.Citation) read {
	out := modsFields(c)
	delete(out, "journal")
	return out
}

// arrowFields are the columns of a row; nothing is null.
func arrowFields(c *citation.Citation) read {
	orNull := func(s string) any {
		if s == "" {
			return nil
		}
		return s
	}
	authors := []read{}
	for i, n := range c.Authors {
		authors = append(authors, read{
			"family": orNull(n.Family), "given": orNull(n.Given), "suffix": orNull(n.Suffix), "literal": orNull(n.Literal), "orcid": orNull(n.ORCID), "sequence": i + 1,
		})
	}
	mesh := []read{}
	for _, h := range c.Mesh {
		mesh = append(mesh, read{"heading": h.Term, "major": h.Major, "qualifiers": append([]string{}, h.Qualifiers...)})
	}
	var retracted any
	if c.Retracted {
		retracted = true
	}
	return read{
		"source": c.Source, "record_id": c.RecordID, "type": c.Type, "title": orNull(c.Title), "abstract": orNull(c.Abstract), "doi": orNull(c.DOI), "pmid": orNull(c.PMID),
		"container_title": orNull(c.Container), "volume": orNull(c.Volume), "issue": orNull(c.Issue), "page_first": orNull(c.Pages.First), "page_last": orNull(c.Pages.Last),
		"issued": orNull(c.Issued.String()), "issued_year": c.Issued.Year, "issued_precision": orNull(c.Issued.Precision()),
		"updated_at": c.UpdatedAt.Format("2006-01-02T15:04:05.000000-07:00"), "keywords": append([]string{}, c.Keywords...),
		"authors": authors, "mesh": mesh, "is_retracted": retracted, "retracted_by": orNull(c.RetractedBy),
	}
}
