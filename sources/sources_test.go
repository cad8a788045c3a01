package sources_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/infra/decode"
	"github.com/papertrace/patra/internal/infra/sourcefile"
	"github.com/papertrace/patra/sources"
)

const fixtures = "../../shared/fixtures"

var newYork = must(time.LoadLocation("America/New_York"))

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func compile(t *testing.T, name string, op harvest.Operation) *source.Spec {
	t.Helper()
	data, err := sources.FS.ReadFile(name + ".yaml")
	shipped := err == nil
	if !shipped {
		data, err = os.ReadFile(filepath.Join("testdata", name+".yaml"))
	}
	if err != nil {
		t.Fatal(err)
	}
	pack, err := sourcefile.Parse("sources/"+name+".yaml", data)
	if err != nil {
		t.Fatal(err)
	}
	spec, warnings, err := pack.Compile(source.Trigger{
		Operation: op, Vars: map[string]string{"contact": "ops@example.org", "tool": "patra"},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range warnings {
		open := slices.ContainsFunc(leftOpen[name], func(said string) bool { return strings.Contains(w.Text, said) })
		if shipped && !open {
			t.Errorf("a shipped pack leaves nothing open: %s", w)
		}
	}
	return spec
}

// What a pack cannot help leaving to the source.
var leftOpen = map[string][]string{
	"arxiv":        {noPageSize, oneSlice}, // OAI-PMH has no word for it
	"pmc":          {noPageSize, oneSlice},
	"doaj-oai":     {noPageSize, oneSlice},
	"zenodo-oai":   {noPageSize, oneSlice},
	"datacite-oai": {noPageSize, oneSlice},
	"biorxiv":      {noPageSize},
	"medrxiv":      {noPageSize},
	"unpaywall":    {noPageSize},
	"elife":        {twoWalks, oneSlice, fromTheTop}, // the list has no filter
	"scielo":       {plainHTTP},                      // and nobody says that it can be had otherwise
}

const (
	noPageSize = "no template uses ${page.size}"
	plainHTTP  = "requests may go over plain http"
	twoWalks   = "a slice of more than one page is walked until two walks agree"
	fromTheTop = "a plan is one slice, read from the newest record on"
	oneSlice   = "a plan begins as one slice, which is cut where its walk shows the need"
)

// decoder of an endpoint, as the Executor makes it.
func decoder(t *testing.T, spec *source.Spec, p source.Purpose) *decode.Decoder {
	t.Helper()
	cal, err := spec.Window.Calendar()
	if err != nil {
		t.Fatal(err)
	}
	var mapping *source.Mapping
	if spec.Maps(spec.Endpoint(p)) {
		mapping = &spec.Mapping
	}
	d, err := decode.Compile(spec.Endpoint(p), spec.ID, mapping, cal)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	if _, err := os.Stat(fixtures); err != nil {
		t.Skipf("no recordings at %s", fixtures)
	}
	b, err := os.ReadFile(filepath.Join(fixtures, file))
	if err != nil {
		t.Fatal(err)
	}
	if strings.HasSuffix(file, ".gz") {
		z, err := gzip.NewReader(bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		b, err = io.ReadAll(z)
		if err != nil {
			t.Fatal(err)
		}
	}
	return b
}

func TestPacks_CompileForEveryOperation(t *testing.T) {
	for _, name := range []string{"pubmed", "crossref"} {
		for _, op := range []harvest.Operation{harvest.Harvest, harvest.Backfill, harvest.Update} {
			spec := compile(t, name, op)
			b, err := spec.Canonical()
			if err != nil {
				t.Fatal(err)
			}
			again, err := source.ParseSpec(b)
			if err != nil {
				t.Fatal(err)
			}
			c, err := again.Canonical()
			if err != nil || !bytes.Equal(b, c) {
				t.Errorf("%s %s: the snapshot changes when stored: %v", name, op, err)
			}
			for _, p := range []source.Purpose{source.ForSearch, source.ForCount, source.ForDetail} {
				if spec.Endpoint(p) != nil {
					decoder(t, spec, p)
				}
			}
		}
	}
}

// C19 on the packs themselves: what is filtered by is what is read.
func TestPacks_MismatchedDateIsRefused(t *testing.T) {
	for _, c := range []struct{ name, old, new, want string }{
		{"crossref", "from-index-date:$", "from-update-date:$", "filters by deposited, but the window is of indexed"},
		{"crossref", "path: indexed.date-time", "path: deposited.date-time", "which is the date deposited, not indexed"},
		{"crossref", "key: indexed\n  filters", "key: deposited\n  filters", "but the window is of deposited"},
		{"pubmed", "[mdat]", "[edat]", "edat filters by edat, but the window is of mdat"},
		{"pubmed", "- key: mdat", "- key: crdt", "is the date crdt, but the window is of mdat"},
	} {
		data, err := sources.FS.ReadFile(c.name + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		text := strings.Replace(string(data), c.old, c.new, 1)
		pack, err := sourcefile.Parse(c.name+".yaml", []byte(text))
		if err != nil || text == string(data) {
			t.Fatalf("%s: %v", c.old, err)
		}
		_, _, err = pack.Compile(source.Trigger{Operation: harvest.Harvest})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s for %s: %v", c.new, c.old, err)
		}
	}
}

// The values that decide about lost records and over-asked upstreams.
func TestPacks_SayWhatWasRuled(t *testing.T) {
	p, c := compile(t, "pubmed", harvest.Harvest), compile(t, "crossref", harvest.Harvest)
	for _, x := range []struct {
		what      string
		got, want any
	}{
		{"pubmed wall", p.Paging.MaxItems, int64(9999)},
		{"pubmed page", p.Paging.Size, 9999},
		{"pubmed snapshot", p.Paging.Snapshot, true},
		{"pubmed zone", p.Window.Zone, "America/New_York"},
		{"pubmed precision", p.Window.Precision, harvest.PrecisionDay},
		{"pubmed bound", p.Window.Closed(), true},
		{"pubmed overlap, the zone being derived", p.Window.Overlap.D(), 24 * time.Hour},
		{"pubmed lag", p.Window.SafetyLag.D(), 24 * time.Hour},
		{"pubmed two phases", p.TwoPhase(), true},
		{"pubmed ids", p.Batching.IDs, 200},
		{"pubmed rate", fmt.Sprint(p.Rate.QPS, p.Rate.Burst), "2.7 1"},
		{"crossref stateful", c.Paging.Stateful, true},
		{"crossref repeat", c.Paging.TokenContinues, true},
		{"crossref end", fmt.Sprint(c.Paging.End), "[EMPTY_PAGE]"},
		{"crossref total", c.Paging.TotalExact, true},
		{"crossref pages", c.Paging.MaxPages, 50},
		{"crossref precision", c.Window.Precision, harvest.PrecisionSecond},
		{"crossref bound", c.Window.Closed(), true},
		{"crossref volatile", fmt.Sprint(c.Mapping.Volatile), "[indexed score is-referenced-by-count]"},
		{"crossref rate", fmt.Sprint(c.Rate.QPS, c.Rate.Burst, c.Rate.Concurrency), "2.7 1 1"},
	} {
		if x.got != x.want {
			t.Errorf("%s: %v, want %v", x.what, x.got, x.want)
		}
	}
}

func TestPubMed_Records(t *testing.T) {
	d := decoder(t, compile(t, "pubmed", harvest.Harvest), source.ForDetail)
	for _, r := range pubmedRecords {
		t.Run(r.id, func(t *testing.T) {
			body := read(t, "pubmed/"+r.file)
			if !bytes.Contains(body, []byte("<PubmedArticleSet")) { // cut out of its set by the recorder
				i := bytes.Index(body, []byte("<PubmedArticle"))
				body = slices.Concat([]byte("<PubmedArticleSet>"), body[i:], []byte("</PubmedArticleSet>"))
			}
			checkPage(t, d, body, r, true)
		})
	}
}

// No chapter was recorded; this is the form of the DTD.
func TestPubMed_BookChapter(t *testing.T) {
	const chapter = `<PubmedArticleSet><PubmedBookArticle><BookDocument><PMID Version="1">21413253</PMID>
		<ArticleIdList><ArticleId IdType="bookaccession">NBK1247</ArticleId><ArticleId IdType="doi">10.1016/B978-0-12.X</ArticleId></ArticleIdList>
		<Book><Publisher><PublisherName>RTI Press</PublisherName></Publisher><BookTitle book="gene">A Book</BookTitle>
			<PubDate><MedlineDate>2003-2009</MedlineDate></PubDate>
			<AuthorList Type="editors"><Author><LastName>Adam</LastName><ForeName>Margaret</ForeName></Author></AuthorList>
			<AuthorList Type="authors"><Author><LastName>Whole</LastName></Author></AuthorList><Isbn>9781934831007</Isbn></Book>
		<ArticleTitle book="gene" part="x">A <i>Chapter</i></ArticleTitle><Language>eng</Language>
		<AuthorList Type="authors"><Author><LastName>Petrucelli</LastName><ForeName>Nancie</ForeName><AffiliationInfo><Affiliation>Detroit</Affiliation></AffiliationInfo></Author><Author><CollectiveName>A Group</CollectiveName></Author></AuthorList>
		<PublicationType UI="D016454">Review</PublicationType><Abstract><AbstractText Label="AIM">One.</AbstractText><AbstractText>Two.</AbstractText></Abstract>
		<ContributionDate><Year>1998</Year><Month>09</Month><Day>04</Day></ContributionDate><DateRevised><Year>2025</Year><Month>3</Month><Day>20</Day></DateRevised>
		<ReferenceList><Reference><Citation>a</Citation></Reference><ReferenceList><Reference><Citation>b</Citation></Reference></ReferenceList></ReferenceList>
		</BookDocument></PubmedBookArticle></PubmedArticleSet>`
	const same = `
		publisher = RTI Press
		type = Review
		language = eng
		journal = -
		doi = 10.1016/b978-0-12.x
		other_ids.isbn = 9781934831007
		abstract.0 = AIM: One.
		abstract.1 = Two.
		references_count = 2
		updated = 2025-03-20`
	d := decoder(t, compile(t, "pubmed", harvest.Harvest), source.ForDetail)
	checkPage(t, d, []byte(chapter), recording{"chapter", "21413253", `
		title = A Chapter
		authors# = 2
		authors.0 = Petrucelli, Nancie
		authors.0.affiliations = Detroit
		authors.1 = A Group
		published = 1998-09-04` + same}, true)
	book := cut(chapter, "<ArticleTitle", "</ArticleTitle>")
	book = cut(book, "<AuthorList Type=\"authors\"><Author><LastName>Petr", "</AuthorList>")
	book = cut(book, "<ContributionDate>", "</ContributionDate>")
	checkPage(t, d, []byte(book), recording{"book", "21413253", `
		title = A Book
		authors# = 1
		authors.0.family = Whole
		published = 2003` + same}, true)
}

// cut takes the first stretch from one text to another out.
func cut(s, from, to string) string {
	before, rest, _ := strings.Cut(s, from)
	_, after, _ := strings.Cut(rest, to)
	return before + after
}

func TestCrossref_Records(t *testing.T) {
	d := decoder(t, compile(t, "crossref", harvest.Harvest), source.ForSearch)
	for _, r := range crossrefRecords {
		t.Run(r.id, func(t *testing.T) {
			checkPage(t, d, asList(read(t, "crossref/"+r.file)), r, false)
		})
	}
}

// asList makes a page of works of a single one, or of a bare list.
func asList(body []byte) []byte {
	list := func(items []byte) []byte {
		return slices.Concat([]byte(`{"message":{"total-results":1,"items":`), items, []byte(`}}`))
	}
	body = bytes.TrimSpace(body)
	if body[0] == '[' {
		return list(body)
	}
	var reply struct {
		Type    string          `json:"message-type"`
		Message json.RawMessage `json:"message"`
	}
	if err := json.Unmarshal(body, &reply); err != nil {
		panic(err)
	}
	switch reply.Type {
	case "work-list":
		return body
	case "work":
		body = reply.Message
	}
	return list(slices.Concat([]byte("["), body, []byte("]")))
}

func checkPage(t *testing.T, d *decode.Decoder, body []byte, r recording, day bool) {
	t.Helper()
	page, err := d.Page(body)
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, it := range page.Items {
		if it.ID == r.id || r.id == "*" {
			found = true
			checkRecord(t, it, day, r.want)
		}
	}
	if !found {
		t.Errorf("%s has no record %s", r.file, r.id)
	}
}

// Every recorded record, also those nobody read by eye, has an id, a date and
// at most the problems known.
func TestRecordings_AllDecode(t *testing.T) {
	for _, c := range []struct {
		source, glob string
		purpose      source.Purpose
		least, bad   int
	}{
		{"pubmed", "efetch/*.xml", source.ForDetail, 47, 2},               // both contrived
		{"pubmed", "updatefiles/*.gz", source.ForDetail, 100, 0},          // baseline and update files
		{"crossref", "works-lists/*.json", source.ForSearch, 500, 20 + 1}, // two lists with select
	} {
		d := decoder(t, compile(t, c.source, harvest.Harvest), c.purpose)
		items, bad := 0, 0
		for _, f := range glob(t, c.source, c.glob) {
			body := read(t, f)
			if c.source == "crossref" {
				body = asList(body)
			}
			page, err := d.Page(body)
			if shape, ok := errors.AsType[*decode.ShapeError](err); ok && shape.Path == "PubmedArticleSet" {
				items++ // cut out of its set by the recorder; tested above
				continue
			}
			if err != nil {
				t.Errorf("%s: %v", f, err)
				continue
			}
			for _, it := range page.Items {
				items++
				if it.Problem != nil {
					bad++
				} else if it.ID == "" || it.UpdatedAt.IsZero() || len(it.Fields) < 3 {
					t.Errorf("%s: item %q of %s is incomplete: %s", f, it.ID, it.UpdatedAt, it.Fields)
				}
			}
		}
		if items < c.least || bad != c.bad {
			t.Errorf("%s %s: %d items, %d with problems; want at least %d and %d", c.source, c.glob, items, bad, c.least, c.bad)
		}
	}
}

func glob(t *testing.T, source, pattern string) (files []string) {
	t.Helper()
	root := filepath.Join(fixtures, source)
	if _, err := os.Stat(root); err != nil {
		t.Skipf("no recordings at %s", root)
	}
	found, err := filepath.Glob(filepath.Join(root, pattern))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range found {
		if !strings.HasSuffix(f, ".meta.json") {
			files = append(files, source+strings.TrimPrefix(f, root))
		}
	}
	return files
}

var searchAnswers = []struct {
	file  string
	ids   int
	first string
	total int64
}{
	{"esearch/json_3_ids.json", 3, "32150788", 3},
	{"esearch/json_pretty_281.json", 2, "42765352", 281},
	{"reconstructed/200_esearch_zero_hits.json", 0, "", 0}, // "No items found." is no fault
}

func TestPubMed_SearchAnswers(t *testing.T) {
	spec := compile(t, "pubmed", harvest.Harvest)
	search, count := decoder(t, spec, source.ForSearch), decoder(t, spec, source.ForCount)
	for _, c := range searchAnswers {
		body := read(t, "pubmed/"+c.file)
		page, err := search.Page(body)
		if err != nil {
			t.Errorf("%s: %v", c.file, err)
			continue
		}
		if len(page.Items) != c.ids || c.ids > 0 && page.Items[0].ID != c.first || page.Total == nil || *page.Total != c.total || len(page.Signals) > 0 {
			t.Errorf("%s: %d ids, total %v, signals %v", c.file, len(page.Items), page.Total, page.Signals)
		}
		counted, err := count.Page(body)
		if err != nil || counted.Total == nil || *counted.Total != c.total {
			t.Errorf("%s: counted %+v, %v", c.file, counted, err)
		}
	}
}

func TestPubMed_OverTheWallIsCut(t *testing.T) {
	spec := compile(t, "pubmed", harvest.Harvest)
	page, err := decoder(t, spec, source.ForSearch).Page(read(t, "pubmed/reconstructed/200_esearch_retstart_9998_clamped.json"))
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = spec.Paging.Step(harvest.Position{}, page.Facts(), func(uint64) bool { return false })
	if f, ok := harvest.FaultOf(err); !ok || f.Reaction != harvest.CutSlice {
		t.Errorf("got %v", err)
	}
}

// The walk recorded in 2019 page by page, and those of 2022 and 2026 with one
// token for all pages.
func TestCrossref_Walks(t *testing.T) {
	spec := compile(t, "crossref", harvest.Harvest)
	d := decoder(t, spec, source.ForSearch)
	for _, c := range []struct {
		pattern string
		end     harvest.EndProof
		seen    int64
	}{
		{"works-lists/cursor_created_date_2019_p*.json", harvest.EndEmpty, 30},
		{"works-lists/cursor_query_widget_p*.json", "", 60},
		{"works-lists/cursor_query_ecology_2022_p*.json", "", 90},
	} {
		var pos harvest.Position
		var end harvest.EndProof
		seen := map[uint64]bool{}
		for _, f := range glob(t, "crossref", c.pattern) {
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
		if end != c.end || pos.Seen != c.seen {
			t.Errorf("%s: end %q after %d", c.pattern, end, pos.Seen)
		}
	}
	count, err := decoder(t, spec, source.ForCount).Page(read(t, "crossref/works-lists/until_update_date_rows0_2016.json"))
	if err != nil || count.Total == nil || *count.Total != 43695 {
		t.Errorf("count: %+v %v", count, err)
	}
}

// errorRecordings are those of the two sources with folders for them.
func errorRecordings() map[string]map[string]errorWant {
	const (
		search = source.ForSearch
		detail = source.ForDetail
	)
	return map[string]map[string]errorWant{
		"pubmed": {
			"errors/200_efetch_id_empty.xml":                                {detail, "L2 STOP request_refused"},
			"errors/200_efetch_unknown_ids_empty_set.xml":                   {detail, "page"},
			"errors/429_rate_limit.json":                                    {search, "L1 RETRY throttled"},
			"esearch/json_error_invalid_db.generated.json":                  {search, "L2 STOP request_refused"},
			"esearch/json_count_40362_retmax100.json":                       {search, "L2 STOP query_widened"}, // a phrase was not found; the hits are of the rest
			"esearch/json_phrase_not_found_with_hits.generated.json":        {search, "L2 STOP query_widened"},
			"reconstructed/200_esearch_backend_unresolved.json":             {search, "L1 RETRY backend_unavailable"},
			"reconstructed/200_esearch_database_not_supported.json":         {search, "L1 RETRY backend_unavailable"},
			"reconstructed/200_esearch_retstart_9998_clamped.json":          {search, "page"}, // its total is over the wall: the walk is cut
			"reconstructed/200_esearch_retstart_over_9998.xml":              {search, "L1 CUT over_wall"},
			"reconstructed/200_esearch_retstart_over_9998_escaped.json":     {search, "L1 CUT over_wall"},
			"reconstructed/200_esearch_retstart_over_9998_raw_newline.json": {search, "L1 CUT over_wall"},
			"reconstructed/200_esearch_webenv_expired.json":                 {search, "L1 RESTART session_lost"},
			"reconstructed/200_esearch_zero_hits.json":                      {search, "page"},
			"reconstructed/200_prolog_only.xml":                             {detail, "shape cut"},
			"reconstructed/400_efetch_all_ids_invalid.xml":                  {detail, "L2 STOP request_refused"},
			"reconstructed/400_efetch_history_out_of_range.xml":             {detail, "L1 CUT over_wall"},
			"reconstructed/400_efetch_history_retstart_over_9998.xml":       {detail, "L1 CUT over_wall"},
			"reconstructed/400_efetch_viewer_timeout.xml":                   {detail, "L1 RETRY viewer_failed"},
			"reconstructed/4xx_negative_eutils_lb.json":                     {search, "L4 STOP blocked"},
			"reconstructed/500_www_error_diagnostic.html":                   {search, "L1 RETRY http_500"},
		},
		"crossref": {
			"errors/301_http_to_https.html":                   {search, "L1 RETRY unexpected_redirect"},
			"errors/400_filter_not_available.json":            {search, "L2 STOP request_refused"},
			"errors/400_integer_not_valid.json":               {search, "L2 STOP request_refused"},
			"errors/400_parameter_not_allowed.json":           {search, "L2 STOP request_refused"},
			"errors/400_two_failures_2025.json":               {search, "L2 STOP request_refused"},
			"errors/404_cursor_invalid.json":                  {search, "L1 RESTART token_expired"},
			"errors/404_unknown_doi.txt":                      {search, "L2 STOP http_404"},
			"errors/500_cursor_exception_2022.json":           {search, "L1 RETRY http_500"},
			"errors/504_gateway_timeout.html":                 {search, "L1 RETRY http_504"},
			"reconstructed/429_html_2016.html":                {search, "L1 RETRY http_429"},
			"reconstructed/works_empty_with_cursor_2021.json": {search, "page"},
		},
	}
}

type errorWant struct {
	purpose source.Purpose
	want    string
}

// What every error recording means. "page" is a good page; "shape" a reply that
// no rule speaks of and the decoder refuses.
func TestFaults_EveryErrorRecording(t *testing.T) {
	want := errorRecordings()
	for name, files := range want {
		spec := compile(t, name, harvest.Harvest)
		c, err := source.NewClassifier(spec)
		if err != nil {
			t.Fatal(err)
		}
		tested := 0
		for _, pattern := range []string{"errors/*", "reconstructed/*"} {
			for _, f := range glob(t, name, pattern) {
				f = strings.TrimPrefix(f, name+"/")
				if strings.HasSuffix(f, "_fragment.json") { // records, tested above
					continue
				}
				if _, ok := files[f]; !ok {
					t.Errorf("%s/%s: nobody said what it means", name, f)
				}
				tested++
			}
		}
		if tested == 0 {
			t.Errorf("%s: no recordings", name)
		}
		for f, x := range files {
			if got := meaning(t, spec, c, x.purpose, f, read(t, name+"/"+f)); got != x.want {
				t.Errorf("%s/%s: %s, want %s", name, f, got, x.want)
			}
		}
	}
}

// meaning goes the way of the Executor: rules on status and head, the table,
// then decoder and signals.
func meaning(t *testing.T, spec *source.Spec, c *source.Classifier, p source.Purpose, file string, body []byte) string {
	t.Helper()
	status := 200
	if n, err := strconv.Atoi(filepath.Base(file)[:3]); err == nil {
		status = n
	} else if strings.HasPrefix(filepath.Base(file), "4xx") {
		status = 400
	}
	return meaningOf(t, spec, c, p, status, body)
}

func meaningOf(t *testing.T, spec *source.Spec, c *source.Classifier, p source.Purpose, status int, body []byte) string {
	t.Helper()
	r := source.Reply{Purpose: p, Status: status, Head: body[:min(len(body), source.HeadSize)]}
	verdict := func(v harvest.Fault) string { return fmt.Sprintf("%s %s %s", v.Level, v.Reaction, v.Code) }
	if v, bad := c.Ruled(r); bad {
		return verdict(v)
	}
	if v, bad := c.Default(r); bad {
		return verdict(v)
	}
	page, err := decoder(t, spec, p).Page(body)
	if page != nil {
		if v, bad := c.Signalled(r, page.Signals); bad {
			return verdict(v)
		}
	}
	if shape, ok := errors.AsType[*decode.ShapeError](err); ok {
		return "shape " + string(shape.Kind)
	}
	if err != nil {
		return err.Error()
	}
	return "page"
}
