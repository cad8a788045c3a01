package console_test

import (
	"bytes"
	"compress/gzip"
	"html"
	"regexp"
	"strings"
	"testing"

	"github.com/papertrace/patra/internal/patratest"
)

// manySlices gives the first plan 40,000 slices of an hour each in place of its own, of
// which every 997th has failed.
func (h *house) manySlices() {
	h.Helper()
	h.harvest("pubmed")
	db := patratest.Raw(h.T, h.dsn)
	for _, q := range []string{
		`WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i+1 FROM n WHERE i<39999)
			INSERT INTO ing_plan_slice (plan_id, cursor_id, provenance_code, slice_no, slice_signature_hash, slice_spec, window_from, window_to, expr_hash, expr_snapshot,
				status_code, expected, records, pages_asked, latency_ms, http_429, created_at, updated_at)
			SELECT s.plan_id, s.cursor_id, s.provenance_code, 1000+n.i, 'many-' || n.i, s.slice_spec, strftime('%Y-%m-%d %H:%M:%S.000000', '2020-01-01', '+' || n.i || ' hours'),
				strftime('%Y-%m-%d %H:%M:%S.000000', '2020-01-01', '+' || (n.i+1) || ' hours'), s.expr_hash, s.expr_snapshot, CASE WHEN n.i % 997 = 996 THEN 'FAILED' ELSE 'DONE' END,
				20, n.i / 1000, 2, 300, CASE WHEN n.i % 5000 = 0 THEN 1 ELSE 0 END, s.created_at, s.updated_at
			FROM (SELECT * FROM ing_plan_slice WHERE plan_id=1 ORDER BY id LIMIT 1) s, n`,
		`DELETE FROM ing_plan_slice WHERE plan_id=1 AND slice_no<1000`,
		`UPDATE ing_plan SET window_from='2020-01-01 00:00:00.000000', window_to='2024-07-25 16:00:00.000000', sliced_to='2024-07-25 16:00:00.000000',
			group_digits=10 WHERE id=1`, // by days
	} {
		if _, err := db.Exec(q); err != nil {
			h.Fatal(err)
		}
	}
	patratest.Recount(h, db)
}

// cellOf finds the cells of a drawing: where each leads to and what it says.
var cellOf = regexp.MustCompile(`<a href="([^"]+)" tabindex="-?\d" aria-label="([^"]+)">`)

// TestMatrix_OfManySlicesIsBounded: a plan of 40,000 slices is drawn in a few hundred
// cells at most and sent in few bytes; a cell leads to a finer drawing while it stands for
// many, and in the end to exactly the slices that it stands for.
func TestMatrix_OfManySlicesIsBounded(t *testing.T) {
	h := newHouse(t, nil)
	h.manySlices()
	status, page := h.get("/plans/1")
	cells := cellOf.FindAllStringSubmatch(page, -1)
	if status != 200 || len(cells) < 50 || len(cells) > 400 {
		t.Fatalf("status %d, %d cells", status, len(cells))
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	z.Write([]byte(page))
	z.Close()
	if packed.Len() > 40<<10 {
		t.Errorf("the page has %d bytes packed", packed.Len())
	}
	if !strings.Contains(page, "Slices: 40\u202f000,") {
		t.Error("the summary does not say how many slices there are")
	}
	month := cells[1] // February 2020: 696 slices
	if !strings.Contains(month[2], "695 done, ✕ 1 failed") || !strings.HasPrefix(month[1], "/plans/1?") {
		t.Fatalf("the second cell is %q", month)
	}
	_, finer := h.get(html.UnescapeString(month[1]))
	days := cellOf.FindAllStringSubmatch(finer, -1)
	if len(days) != 29 || !strings.HasPrefix(days[10][1], "/plans/1/slices?") {
		t.Fatalf("February has %d cells, the eleventh is %q", len(days), days[min(10, len(days)-1)])
	}
	failed := 0
	for _, day := range days {
		_, list := h.get(html.UnescapeString(day[1]))
		rows := strings.Count(list, `<a href="/slices/`)
		if rows != 24 {
			t.Errorf("%s: its list has %d slices", day[2], rows)
		}
		if strings.Contains(day[2], "failed") != strings.Contains(list, "f-failed") {
			t.Errorf("%s: its list says otherwise", day[2])
		}
		if strings.Contains(day[2], "failed") {
			failed++
		}
	}
	if failed != 1 {
		t.Errorf("%d days of February have a failed slice", failed)
	}
	_, heat := h.get("/plans/1?colour=records")
	shades := strings.Count(heat, `class="heat h5`)
	if cellOf.FindAllString(heat, -1) == nil || shades < 2 || shades > 50 || !strings.Contains(heat, "2 pages, 150 ms a page") && !strings.Contains(heat, "150 ms a page") {
		t.Errorf("coloured by records it has %d cells of the darkest shade", shades)
	}
	if !strings.Contains(heat, "799\u202f000 read") && !strings.Contains(heat, "800\u202f000 expected") {
		t.Error("what was expected is not held against what came")
	}
	if status, _ := h.get("/plans/1?zoom=second"); status != 422 {
		t.Errorf("seconds of four years: status %d", status)
	}
	if status, said := h.get("/plans/1/slices?from=%3Cscript%3E"); status != 422 || strings.Contains(said, "<script>") {
		t.Errorf("a place that is none: status %d", status)
	}
}
