package work_test

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/papertrace/patra/internal/domain/work"
)

// labelled is a pair of invented records, and whether they are of one work.
type labelled struct {
	Kind string
	Same bool
	A, B struct {
		Source, ID string
		Fields     json.RawMessage
	}
}

// TestWorks_SuggestionsOnLabelledPairs: of pairs that sources write differently, and of
// the known traps, nine tenths of the same are found and 95 of 100 suggestions are
// right. A pair counts as found only if a key leads from one record to the other.
func TestWorks_SuggestionsOnLabelledPairs(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("testdata/pairs.json")
	if err != nil {
		t.Fatal(err)
	}
	var pairs []labelled
	if err := json.Unmarshal(raw, &pairs); err != nil {
		t.Fatal(err)
	}
	var right, wrong, missed int
	byKind := map[string]int{}
	for _, p := range pairs {
		a := read(t, 1, p.A.Source, p.A.ID, p.A.Fields)
		b := read(t, 2, p.B.Source, p.B.ID, p.B.Fields)
		found := false
		for _, e := range work.Compare(a, b) {
			found = found || e.Polarity == work.Suggests && e.Relation == "" && shareKey(a, b)
			if e.Polarity == work.Links {
				t.Errorf("%s: likeness alone links", p.Kind)
			}
		}
		switch {
		case found && p.Same:
			right++
		case found:
			wrong++
			byKind["suggested: "+p.Kind]++
		case p.Same:
			missed++
			byKind["missed: "+p.Kind]++
		}
	}
	precision := float64(right) / float64(right+wrong)
	recall := float64(right) / float64(right+missed)
	t.Logf("%d pairs, %d of them the same: precision %.3f, recall %.3f", len(pairs), right+missed, precision, recall)
	for _, k := range slices.Sorted(maps.Keys(byKind)) {
		t.Logf("%4d %s", byKind[k], k)
	}
	if precision < 0.95 || recall < 0.9 {
		t.Errorf("precision %.3f, want 0.95; recall %.3f, want 0.9", precision, recall)
	}
}

func read(t testing.TB, number int64, source, id string, fields []byte) *work.Record {
	t.Helper()
	r, err := work.Read(work.Key{Source: source, Type: "work", ID: id}, fields)
	if err != nil {
		t.Fatal(err)
	}
	r.Number = number
	return &r
}

func shareKey(a, b *work.Record) bool {
	keys := b.Keys()
	for _, k := range a.Keys() {
		if k.IsAlike() && slices.Contains(keys, k) {
			return true
		}
	}
	return false
}
