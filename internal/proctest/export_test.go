package proctest

import (
	"database/sql"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Of an export of a million records each format must keep to this, with the works told
// and without.
const (
	exported   = 1_000_000
	mostExport = 150 * mib
)

// TestExport_AMillionRecordsIn150MiB writes a store in which every paper stands twice, once
// from each of two sources, to every format by a process of its own, and asks the system for
// the most memory that each has taken.
func TestExport_AMillionRecordsIn150MiB(t *testing.T) {
	if os.Getenv("PATRA_SOAK") == "" {
		t.Skip("a million records take minutes: PATRA_SOAK=1 runs it")
	}
	dir := t.TempDir()
	dsn := "sqlite:" + filepath.Join(dir, "p.db")
	fillTwice(t, dsn, exported)
	orders := [][]string{{"--for", "covidence"}, {"--search", "all"}, {"--search", "all", "--dedupe", "exact"}}
	for _, format := range []string{"jsonl", "csv", "parquet", "ris", "nbib", "bibtex", "csl-json", "endnote"} {
		orders = append(orders, []string{"--format", format}, []string{"--format", format, "--dedupe", "exact"})
	}
	for _, order := range orders {
		t.Run(strings.Join(order, " "), func(t *testing.T) { exportWithin(t, dsn, order) })
	}
}

// exportWithin carries an order out, and looks at how many records it wrote, how many it left
// out, and what it took.
func exportWithin(t *testing.T, dsn string, order []string) {
	out := filepath.Join(t.TempDir(), "out")
	cmd := exec.Command(binary, append([]string{"export", "--db", dsn, "--out", out, "--json"}, order...)...)
	var said lockedBuffer
	cmd.Stderr = &said
	began := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	peak, err := peakOf(cmd)
	took := time.Since(began)
	if err != nil {
		t.Fatalf("%v: %s", err, said.String())
	}
	manifests, err := filepath.Glob(out + "*.manifest.json")
	if err != nil || len(manifests) == 0 {
		t.Fatalf("no manifest: %v", err)
	}
	var records, size int64
	var left int64
	for _, name := range manifests {
		var m struct {
			Records, Bytes, Total int64
			Parts                 int
			LeftOut               []struct{ Records int64 } `json:"left_out"`
		}
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(b, &m); err != nil {
			t.Fatal(err)
		}
		if m.Parts != len(manifests) {
			t.Errorf("%s is one of %d parts, there are %d", name, m.Parts, len(manifests))
		}
		records += m.Records
		size += m.Bytes
		left = 0
		for _, l := range m.LeftOut {
			left += l.Records
		}
	}
	want := int64(exported)
	if strings.Contains(strings.Join(order, " "), "exact") {
		want /= 2
	}
	if records != want || records+left != exported {
		t.Errorf("%d records were written and %d left out, want %d of %d", records, left, want, exported)
	}
	t.Logf("%d records, %d files, %d MB, %v (%v of a processor), %.0f MiB", records, len(manifests), size/1e6, took.Round(100*time.Millisecond),
		(cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Round(100*time.Millisecond), float64(peak)/mib)
	if peak > mostExport {
		t.Errorf("it took %d MiB, more than %d", peak/mib, mostExport/mib)
	}
}

// fillTwice fills a store with so many records by statements over whole tables: the same papers
// from two sources, compared and found to be the same, and all of them found by one search.
func fillTwice(t *testing.T, dsn string, records int) {
	t.Helper()
	if out, err := exec.Command(binary, "db", "migrate", "--db", dsn).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	db, err := sql.Open("sqlite", "file:"+strings.TrimPrefix(dsn, "sqlite:")+"?_pragma=journal_mode(OFF)&_pragma=synchronous(OFF)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close() //nolint:errcheck // a test's own
	db.SetMaxOpenConns(1)
	const now = `'2026-01-02 03:04:05.000006'`
	const hash = `X'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'`
	words := strings.Repeat("insulin resistance and other words of an abstract that goes on, ", 50)
	fields := `printf('{"title":"Title <i>%d</i> of many papers","abstract":"BACKGROUND: %d %s","pmid":"%d","doi":"10.1000/%d","type":"Journal Article","journal":"Journal %d",` +
		`"volume":"%d","pages":"%d-%d","published":"2020-01-02","authors":[{"family":"Family%d","given":"G. %d"},{"family":"B","given":"C"},{"family":"D","given":"E"}],` +
		`"mesh":[{"term":"Humans","qualifiers":["blood"]}],"keywords":["a","b%d"],"issn":["1234-5678"]}', p, p, substr(?, 1+p%1600, 1200), p+1, p, p%5000, p%99, p, p+9, p, p, p)`
	numbers := `WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i+1 FROM n WHERE i+1 < ?), r AS (SELECT i+1 AS id, i/2 AS p, CASE i%2 WHEN 0 THEN 'pubmed' ELSE 'crossref' END AS source FROM n)`
	for _, step := range []struct {
		statement string
		args      []any
	}{
		{`INSERT INTO ing_record (id, provenance_code, record_type, ext_id, status_code, revision, updated_at, observed_at, content_hash, raw_sha256, mapping_version, created_at,
			changed_at) ` + numbers + ` SELECT id, source, 'article', printf('%09d', p), 'ACTIVE', 1, ` + now + `, ` + now + `, ` + hash + `, ` + hash + `, 'v', ` + now + `, ` + now + ` FROM r`, []any{records}},
		{`INSERT INTO ing_record_version (record_id, revision, effect_code, status_code, updated_at, observed_at, content_hash, raw_sha256, mapping_version, batch_id, raw, fields,
			created_at) ` + numbers + ` SELECT id, 1, 'inserted', 'ACTIVE', ` + now + `, ` + now + `, ` + hash + `, ` + hash + `, 'v', 1, X'', ` + fields + `, ` + now + ` FROM r`, []any{records, words}},
		{`INSERT INTO ing_work_record (record_id, revision, lookup_keys) SELECT id, 1, X'' FROM ing_record`, nil},
		{`INSERT INTO ing_work_member (record_id, work_id, since) SELECT id, id-(id-1)%2, ` + now + ` FROM ing_record`, nil},
		{`INSERT INTO ing_selection (id, provenance_code, selection_hash, query_text, created_at) VALUES (1, 'pubmed', 'h', 'x', ` + now + `), (2, 'crossref', 'h', 'x', ` + now + `)`, nil},
		{`INSERT INTO ing_selection_record (selection_id, record_id, first_batch_id, last_batch_id, first_seen_at, last_seen_at)
			SELECT 1+(id-1)%2, id, 1, 1, ` + now + `, ` + now + ` FROM ing_record ORDER BY 1, 2`, nil},
		{`INSERT INTO ing_search (id, search_name, version_no, query_text, created_at) VALUES (1, 'all', 1, 'x', ` + now + `)`, nil},
		{`INSERT INTO ing_search_source (search_id, ordinal, provenance_code, selection_id) VALUES (1, 1, 'pubmed', 1), (1, 2, 'crossref', 2)`, nil},
		{`INSERT INTO ing_search_run (id, search_id, run_no, status_code, program_version, started_at, ended_at) VALUES (1, 1, 1, 'COMPLETED', 'v', ` + now + `, ` + now + `)`, nil},
		{`PRAGMA journal_mode=WAL`, nil},
		{`INSERT INTO ing_search_outcome (run_id, provenance_code, status_code, members, first_seen, facts)
			VALUES (1, 'pubmed', 'COMPLETED', ?, ?, '{}'), (1, 'crossref', 'COMPLETED', ?, ?, '{}')`, []any{records / 2, records / 2, records / 2, records / 2}},
	} {
		if _, err := db.ExecContext(t.Context(), step.statement, step.args...); err != nil {
			t.Fatalf("%.60s: %v", step.statement, err)
		}
	}
}
