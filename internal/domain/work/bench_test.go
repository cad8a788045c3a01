package work

import (
	"strings"
	"testing"
)

// BenchmarkRead: every record that is stored is read so, and its keys are found; every
// one that shares a key with another is unpacked.
func BenchmarkRead(b *testing.B) {
	doc := []byte(`{"title":"Determinants of coastal diffusion in greenhouse tomatoes: evidence from <i>field</i> trials","authors":[` +
		strings.Repeat(`{"family":"Berg","given":"Ben","affiliation":["University of the Plain, Department of Rivers"]},`, 7) +
		`{"family":"Quispe","given":"Anna"}],"published":"2008-03-01","abstract":"` + strings.Repeat("The treated group showed a modest rise in everything. ", 25) +
		`","journal":"Annals of Imaginary Ecology","issn":["2222-3333"],"volume":"54","issue":"2","pages":"414-420","type":"journal-article","doi":"10.9192/inv.1"}`)
	key := Key{"crossref", "work", "10.9192/inv.1"}
	b.Run("fields", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := Read(key, doc); err != nil {
				b.Fatal(err)
			}
		}
	})
	r, err := Read(key, doc)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("keys", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			r.Keys()
		}
	})
	var packed []byte
	b.Run("pack", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			packed = r.Pack(packed[:0])
		}
	})
	b.Run("unpack", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := Unpack(packed); err != nil {
				b.Fatal(err)
			}
		}
	})
}
