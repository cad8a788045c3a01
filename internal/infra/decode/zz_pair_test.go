package decode

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"os"
	"syscall"
	"testing"
	"time"
)

func cpu() time.Duration {
	var r syscall.Rusage
	syscall.Getrusage(0, &r)
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

func TestPair(t *testing.T) {
	if os.Getenv("PAIR") == "" {
		t.Skip()
	}
	ep, id, m := crossref()
	d := compile(t, ep, id, m)
	seq := compile(t, ep, id, m)
	seq.parallelFrom = 1 << 30
	ex, ix, mx := pubmed()
	dx := compile(t, ex, ix, mx)
	body := crossrefPage(1000, 12)
	real := realPage(&testing.B{})
	xb := pubmedPage(1300)
	fs := []struct {
		name string
		f    func()
	}{
		{"json", func() { d.Page(body) }},
		{"jsonseq", func() { seq.Page(body) }},
		{"jsonstd", func() { var m map[string]any; json.Unmarshal(body, &m) }},
		{"real", func() { d.Page(real) }},
		{"realseq", func() { seq.Page(real) }},
		{"realvalid", func() { validateJSON(real) }},
		{"realstd", func() { var m map[string]any; json.Unmarshal(real, &m) }},
		{"xml", func() { dx.Page(xb) }},
		{"xmlstd", func() { var set struct{ PubmedArticle []xmlArticle }; xml.Unmarshal(xb, &set) }},
	}
	wall, cp := map[string]time.Duration{}, map[string]time.Duration{}
	for range 12 {
		for _, f := range fs {
			f.f()
			s, c := time.Now(), cpu()
			f.f()
			f.f()
			w, u := time.Since(s)/2, (cpu()-c)/2
			if wall[f.name] == 0 || w < wall[f.name] {
				wall[f.name] = w
			}
			if cp[f.name] == 0 || u < cp[f.name] {
				cp[f.name] = u
			}
		}
	}
	fmt.Println("bytes", len(body), len(real), len(xb))
	for _, f := range fs {
		fmt.Printf("%-10s wall %8.1fms cpu %8.1fms\n", f.name, wall[f.name].Seconds()*1e3, cp[f.name].Seconds()*1e3)
	}
}
