package citefile_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/papertrace/patra/internal/app/citefile"
	"github.com/papertrace/patra/internal/domain/citation"
)

// numbered is a citation with a number and an abstract of some length.
func numbered(t testing.TB, n, length int) *citation.Citation {
	t.Helper()
	c, err := citation.New(citation.Record{
		Source: "pubmed", Type: "article", ID: fmt.Sprint(n),
		Fields: fmt.Appendf(nil, `{"title":"Title %d","pmid":"%d","abstract":"%s"}`, n, n+1, strings.Repeat("x", length)),
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestSplit_NoFileIsOverTheLimit: files end before they hold too many records or bytes,
// each is whole by itself, and together they hold every record once.
func TestSplit_NoFileIsOverTheLimit(t *testing.T) {
	t.Parallel()
	for _, limit := range []citefile.Limit{{Records: 3}, {Bytes: 1500}, {Records: 4, Bytes: 2500}} {
		for _, f := range []citefile.Format{citefile.RIS, citefile.NBIB, citefile.EndNote, citefile.CSL} {
			var files []*bytes.Buffer
			w, err := citefile.New(f, citefile.Options{Limit: limit}, func() (io.Writer, error) {
				files = append(files, new(bytes.Buffer))
				return files[len(files)-1], nil
			})
			if err != nil {
				t.Fatal(err)
			}
			const records = 10
			for n := range records {
				if err := w.Write(numbered(t, n, 100*n)); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			found := 0
			for i, file := range files {
				here := strings.Count(file.String(), "Title ")
				found += here
				if limit.Records > 0 && here > limit.Records || limit.Bytes > 0 && int64(file.Len()) > limit.Bytes || here == 0 {
					t.Errorf("%s, %+v: file %d has %d records and %d bytes", f, limit, i, here, file.Len())
				}
				if f == citefile.CSL && !json.Valid(file.Bytes()) {
					t.Errorf("file %d is no JSON: %s", i, file)
				}
				if f == citefile.EndNote && (!strings.HasPrefix(file.String(), "<?xml") || !strings.HasSuffix(file.String(), "</records></xml>\n")) {
					t.Errorf("file %d is no XML: %s", i, file)
				}
			}
			if found != records || len(files) < 3 {
				t.Errorf("%s, %+v: %d records in %d files", f, limit, found, len(files))
			}
		}
	}
}

// TestProfiles: each tool gets what it takes and nothing else, Covidence no file with
// more than it accepts.
func TestProfiles(t *testing.T) {
	t.Parallel()
	for _, p := range citefile.Profiles {
		f, chosen, err := citefile.Choose("", p.Tool)
		if err != nil || f != p.Formats[0] || chosen.Tool != p.Tool {
			t.Errorf("%s: %s, %v", p.Tool, f, err)
		}
		for _, f := range p.Formats {
			if _, err := citefile.New(f, citefile.Options{Tool: p.Tool}, nil); err != nil {
				t.Errorf("%s: %v", p.Tool, err)
			}
		}
	}
	_, covidence, err := citefile.Choose(citefile.RIS, citefile.Covidence)
	if err != nil || covidence.Limit != (citefile.Limit{Records: 15_000, Bytes: 50_000_000}) {
		t.Errorf("covidence: %+v, %v", covidence, err)
	}
	if _, _, err := citefile.Choose(citefile.CSV, citefile.Covidence); err == nil || !strings.Contains(err.Error(), "it takes ris, nbib, endnote") {
		t.Errorf("csv for covidence: %v", err)
	}
	groups := []*citation.Citation{numbered(t, 1, 1)}
	groups[0].Authors = []citation.Name{{Literal: "Diabetes and Endocrinology Group"}, {Family: "King", Given: "Martin", Suffix: "Jr"}}
	for _, c := range []struct {
		tool   citefile.Tool
		format citefile.Format
		want   string
	}{
		{citefile.AnyTool, citefile.RIS, "AU  - Diabetes and Endocrinology Group\r\n"},
		{citefile.ForEN, citefile.RIS, "AU  - Diabetes and Endocrinology Group,\r\n"},
		{citefile.ForEN, citefile.EndNote, "<author>Diabetes and Endocrinology Group,</author>"},
		{citefile.Zotero, citefile.RIS, "M2  - PMID: 2\r\n"},
		{citefile.Zotero, citefile.CSL, `{"family":"King","given":"Martin, Jr"}`},
		{citefile.Rayyan, citefile.CSV, `"Diabetes & Endocrinology Group; King, Martin, Jr"`},
		{citefile.ASReview, citefile.CSV, `"Diabetes and Endocrinology Group;King, Martin, Jr"`},
		{citefile.Excel, citefile.CSV, "\ufeff\"source\","},
	} {
		b, _ := written(t, c.format, citefile.Options{Tool: c.tool}, groups)
		if !strings.Contains(string(b), c.want) {
			t.Errorf("%s for %s lacks %q:\n%s", c.format, c.tool, c.want, b)
		}
	}
}

// TestR54_FormulasOfSpreadsheets: a cell that a spreadsheet would run begins with ', in
// files for programs nothing is changed.
func TestR54_FormulasOfSpreadsheets(t *testing.T) {
	t.Parallel()
	for title, guarded := range map[string]bool{
		"=1+1": true, "+1": true, "-1": true, "@SUM(B2)": true, "＝1": true, "－1": true, "\t=1": true, "\r\n@x": true,
		"Plain": false, "a=1": false, "'=1": false, `"=1"`: false,
	} {
		c := numbered(t, 1, 1)
		c.Title = citation.Plain(title)
		c.Volume = c.Title
		for tool, prefix := range map[citefile.Tool]string{citefile.AnyTool: "'", citefile.Excel: "'", citefile.ASReview: "", citefile.Rayyan: ""} {
			want := c.Title
			if guarded {
				want = prefix + want
			}
			b, _ := written(t, citefile.CSV, citefile.Options{Tool: tool}, []*citation.Citation{c})
			rows, err := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(b, []byte("\ufeff")))).ReadAll()
			if err != nil || len(rows) != 2 {
				t.Fatalf("%q: %v, %v", title, rows, err)
			}
			for i, column := range rows[0] {
				if (column == "title" || column == "volume") && rows[1][i] != want {
					t.Errorf("%q for %q: %s is %q, want %q", title, tool, column, rows[1][i], want)
				}
			}
		}
	}
}
