package work_test

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/papertrace/patra/internal/domain/work"
)

// labelled is a pair of invented records, and whether they are of one work, or of two
// that are related.
type labelled struct {
	Kind     string
	Same     bool
	Relation work.Relation
	A, B     struct {
		Source, ID string
		Fields     json.RawMessage
	}
}

// TestWorks_SuggestionsOnLabelledPairs: of pairs that sources write differently, and of
// the known traps, nine tenths of the same are found and 95 of 100 suggestions are
// right. A pair counts as found only if a key leads from one record to the other, and
// their marks do not keep them apart.
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
	doubles := score{name: "the same"}
	preprints := score{name: "preprint and article"}
	for _, p := range pairs {
		a := read(t, 1, p.A.Source, p.A.ID, p.A.Fields)
		b := read(t, 2, p.B.Source, p.B.ID, p.B.Fields)
		var same, related bool
		for _, e := range work.Compare(a, b) {
			if e.Polarity == work.Links {
				t.Errorf("%s: likeness alone links", p.Kind)
			}
			same = same || e.Polarity == work.Suggests && e.Relation == "" && shareKey(a, b)
			related = related || e.Polarity == work.Suggests && e.Relation == work.PreprintOf && shareKey(a, b)
		}
		doubles.count(p.Kind, same, p.Same)
		preprints.count(p.Kind, related, p.Relation == work.PreprintOf)
	}
	for _, s := range []score{doubles, preprints} {
		s.check(t, len(pairs))
	}
}

// score counts suggestions of one kind that are right, wrong and missing.
type score struct {
	name                 string
	right, wrong, missed int
	kinds                map[string]*[2]int // pairs of a kind: all, and those judged wrongly
}

func (s *score) count(kind string, found, is bool) {
	switch {
	case found && is:
		s.right++
	case found:
		s.wrong++
	case is:
		s.missed++
	}
	if s.kinds == nil {
		s.kinds = map[string]*[2]int{}
	}
	if s.kinds[kind] == nil {
		s.kinds[kind] = &[2]int{}
	}
	s.kinds[kind][0]++
	if found != is {
		s.kinds[kind][1]++
	}
}

// check wants nine tenths of what there is to be found, 95 of 100 suggestions to be
// right, and no kind of pair to be judged wrongly more often than one time in ten.
func (s *score) check(t *testing.T, pairs int) {
	precision := float64(s.right) / float64(s.right+s.wrong)
	recall := float64(s.right) / float64(s.right+s.missed)
	t.Logf("%d pairs, %d of them %s: precision %.3f, recall %.3f", pairs, s.right+s.missed, s.name, precision, recall)
	if precision < 0.95 || recall < 0.9 {
		t.Errorf("%s: precision %.3f, want 0.95; recall %.3f, want 0.9", s.name, precision, recall)
	}
	for _, kind := range slices.Sorted(maps.Keys(s.kinds)) {
		all, wrong := s.kinds[kind][0], s.kinds[kind][1]
		if 10*wrong > all {
			t.Errorf("%s: of %d pairs %q %d are judged wrongly", s.name, all, kind, wrong)
		}
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
	if !a.Mark().MayBeLike(b.Mark(), a.Key.Source == b.Key.Source) {
		return false
	}
	keys := b.Keys()
	for _, k := range a.Keys() {
		if k.IsAlike() && slices.Contains(keys, k) {
			return true
		}
	}
	return false
}
