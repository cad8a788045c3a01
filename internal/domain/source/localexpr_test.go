package source_test

import (
	"strings"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/domain/query"
	"github.com/papertrace/patra/internal/domain/source"
)

// specOf is a spec that selects by a query; none selects everything.
func specOf(t *testing.T, text string) *source.Spec {
	t.Helper()
	s := &source.Spec{Source: "generic", Window: source.Window{Key: "updated"}}
	if text == "" {
		return s
	}
	e, err := query.Parse(text, query.Default())
	if err != nil {
		t.Fatal(err)
	}
	sel := query.NewSelection(e)
	s.Query = &source.Selection{JSON: string(sel.JSON()), Hash: sel.Hash()}
	return s
}

func localExpr(t *testing.T, s *source.Spec, p harvest.Part) string {
	t.Helper()
	expr, err := source.LocalExpr(s, p)
	if err != nil {
		t.Fatal(err)
	}
	return expr
}

// TestR66_TwoSelectionsOverOneWindowHaveTwoExpressions: what is stored of a slice is
// all that it selects, in the canonical form: the selection and the bounds.
func TestR66_TwoSelectionsOverOneWindowHaveTwoExpressions(t *testing.T) {
	day := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	part := harvest.Part{Span: harvest.Window{From: day, To: day.AddDate(0, 0, 1)}.Span()}
	all := localExpr(t, specOf(t, ""), part)
	const window = `{"op":"RANGE","field":"updated","type":"DATE","from":{"value":"2026-03-01T00:00:00.000000Z"},` +
		`"to":{"value":"2026-03-02T00:00:00.000000Z","open":true}}`
	if all != window {
		t.Errorf("everything in the window is\n%s, want\n%s", all, window)
	}
	heart := localExpr(t, specOf(t, `ti:heart`), part)
	lung := localExpr(t, specOf(t, `ti:lung`), part)
	if heart == lung || !strings.Contains(heart, window) || !strings.Contains(heart, `"text":"heart"`) {
		t.Errorf("two selections over one window are\n%s\n%s", heart, lung)
	}
	once := localExpr(t, specOf(t, `ti:heart AND ab:stent`), part)
	again := localExpr(t, specOf(t, `ab:stent AND ti:heart`), part)
	if once != again {
		t.Errorf("one selection in two orders is\n%s\n%s", once, again)
	}
	if strings.Count(once, `"op":"AND"`) != 1 {
		t.Errorf("the bounds do not stand beside the parts of the selection: %s", once)
	}
}

// TestLocalExpr_NamesTheBucket, so that slices over other buckets have another
// expression.
func TestLocalExpr_NamesTheBucket(t *testing.T) {
	day := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	part := harvest.Part{Span: harvest.Window{From: day, To: day.AddDate(0, 0, 1)}.Span(), Range: harvest.NewBucket(5, 8)}
	got := localExpr(t, specOf(t, ""), part)
	const want = `"field":"bucket of 8","type":"NUMBER","from":{"value":"5"},"to":{"value":"6","open":true}`
	if !strings.Contains(got, want) {
		t.Errorf("%s, want %s in it", got, want)
	}
}

// TestCandidateExpr_NamesTheActivity: two updates freeze candidates of their own
// under the same numbers.
func TestCandidateExpr_NamesTheActivity(t *testing.T) {
	of := harvest.NewRange(harvest.RangeOrdinal, 0, 200)
	one, err := source.CandidateExpr(specOf(t, ""), "night-1", of)
	if err != nil {
		t.Fatal(err)
	}
	two, err := source.CandidateExpr(specOf(t, ""), "night-2", of)
	if err != nil {
		t.Fatal(err)
	}
	if one == two {
		t.Errorf("two activities are both %s", one)
	}
}
