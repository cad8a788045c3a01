package work

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"testing"
)

// labelled are the records of the labelled pairs, as of several sources.
func labelled(t testing.TB) []Record {
	t.Helper()
	text, err := os.ReadFile("testdata/pairs.json")
	if err != nil {
		t.Fatal(err)
	}
	type half struct{ Fields json.RawMessage }
	var pairs []struct{ A, B half }
	if err := json.Unmarshal(text, &pairs); err != nil {
		t.Fatal(err)
	}
	var out []Record
	for i, p := range pairs {
		for _, doc := range []json.RawMessage{p.A.Fields, p.B.Fields} {
			for _, source := range []string{"crossref", "pubmed", "europepmc"} {
				r, err := Read(Key{source, "work", fmt.Sprint(31452104 + i)}, doc)
				if err != nil {
					t.Fatal(err)
				}
				out = append(out, r)
			}
		}
	}
	return out
}

func withEverything() Record {
	r := Record{
		Key: Key{"openalex", "work", "W1"}, MergedInto: "W2", Class: Preprint, Title: "a title: with more", MainLen: 7, Authors: []string{"berg", "tal"}, Year: 2021,
		Volume: "3", Page: "e12", ISSN: []string{"12345678"}, Journal: []string{"annals", "ann"}, Language: "en", Dead: true, Stems: []string{"doi:10.1/x"},
	}
	for i, s := range packedSchemes {
		r.Claims = append(r.Claims, Claim{ID{s, fmt.Sprint(i)}, Strength(i % 4)})
	}
	for i, rel := range packedRelations {
		r.Pointers = append(r.Pointers, Pointer{Relation: rel, To: ID{DOI, fmt.Sprint(i)}, Back: i%2 == 0})
	}
	return r
}

// TestPack_ReadsBackWhatWasKnown: nothing is lost, and what is cut short is refused.
func TestPack_ReadsBackWhatWasKnown(t *testing.T) {
	for _, want := range append(labelled(t), withEverything(), Record{}) {
		packed := want.Pack(nil)
		got, err := Unpack(packed)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("got  %+v %v\nwant %+v", got, err, want)
		}
	}
	r := withEverything()
	packed := r.Pack(nil)
	for n := range packed {
		if got, err := Unpack(packed[:n]); err == nil {
			t.Errorf("the first %d of %d bytes are %+v", n, len(packed), got)
		}
	}
	packed[0]++
	if _, err := Unpack(packed); err == nil {
		t.Error("what other rules have packed is taken")
	}
}

func FuzzUnpack(f *testing.F) {
	r := withEverything()
	f.Add(r.Pack(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := Unpack(b)
		if err != nil {
			return
		}
		again, err := Unpack(r.Pack(nil))
		if err != nil || !reflect.DeepEqual(again, r) {
			t.Errorf("%+v is %+v %v when packed again", r, again, err)
		}
	})
}

// TestMark_HidesNoLikeness: where marks say that two records are not alike, comparing
// them says so too.
func TestMark_HidesNoLikeness(t *testing.T) {
	records := labelled(t)
	rng := rand.New(rand.NewPCG(5, 6))
	pick := func(list ...string) string { return list[rng.IntN(len(list))] }
	hidden, alikes := 0, 0
	for i := range 20_000 {
		a := records[rng.IntN(len(records))]
		b := a
		if i%4 == 0 {
			b = records[rng.IntN(len(records))]
		}
		b.Key.Source = pick("crossref", "pubmed", "hal")
		for _, r := range []*Record{&a, &b} {
			r.Claims = nil
			if doi := pick("", "10.1/a", "10.1/b"); doi != "" {
				r.Claims = []Claim{{ID{DOI, doi}, Listed}}
			}
			r.Page = pick("", "1", "2", r.Page)
			r.Volume = pick("", "7", "8", r.Volume)
			r.Year = []int{0, 2019, 2020, 2021, 2026, r.Year}[rng.IntN(6)]
			r.Class = []Class{Unknown, Article, Preprint, Dataset, Review, Article}[rng.IntN(6)]
		}
		may := a.Mark().MayBeLike(b.Mark(), a.Key.Source == b.Key.Source)
		if may != b.Mark().MayBeLike(a.Mark(), a.Key.Source == b.Key.Source) {
			t.Fatalf("one way and not the other:\n%+v\n%+v", a, b)
		}
		_, found := alike(&a, &b)
		if found {
			alikes++
		}
		if !may {
			hidden++
			if found {
				t.Fatalf("hidden:\n%+v\n%+v", a, b)
			}
		}
	}
	if hidden < 1000 || alikes < 300 {
		t.Errorf("%d pairs are hidden, %d are alike: too few to tell", hidden, alikes)
	}
}
