package work

import (
	"strings"
	"testing"
)

// BenchmarkKeysOf: every record that is stored has its keys found.
func BenchmarkKeysOf(b *testing.B) {
	doc := []byte(`{"title":"Determinants of coastal diffusion in greenhouse tomatoes: evidence from <i>field</i> trials","authors":[` +
		strings.Repeat(`{"family":"Berg","given":"Ben","affiliation":["University of the Plain, Department of Rivers"]},`, 7) +
		`{"family":"Quispe","given":"Anna"}],"published":"2008-03-01","abstract":"` + strings.Repeat("The treated group showed a modest rise in everything. ", 25) +
		`","journal":"Annals of Imaginary Ecology","issn":["2222-3333"],"volume":"54","issue":"2","pages":"414-420","type":"journal-article","doi":"10.9192/inv.1"}`)
	key := Key{"crossref", "work", "10.9192/inv.1"}
	b.Run("keys", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := KeysOf(key, doc); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("record", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := Read(key, doc); err != nil {
				b.Fatal(err)
			}
		}
	})
}
