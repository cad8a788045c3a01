package decode

import "testing"

func BenchmarkSeq(b *testing.B) {
	body := realPage(b)
	ep, id, m := crossref()
	d := compile(b, ep, id, m)
	d.parallelFrom = 1 << 30
	b.ReportAllocs()
	for b.Loop() {
		d.Page(body)
	}
}
