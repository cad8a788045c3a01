package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
)

// decoding is how a page is read, against the standard library.
type decoding struct {
	Name  string  `json:"name"`
	Ratio float64 `json:"ratio"`
	// Hashed is the ratio when the two SHA-256 of every item, which records
	// need and the standard library does not make, are counted in.
	Hashed   float64 `json:"hashed_ratio"`
	AllocsOf float64 `json:"allocs_per_item"`
	Least    float64 `json:"least"`
}

// decodings runs the benchmarks of the decoder, which take turns with the
// standard library on the same bytes.
func decodings(ctx context.Context, o options) ([]decoding, error) {
	ns, allocs := map[string]float64{}, map[string]float64{}
	for range o.rounds {
		if err := decodeRound(ctx, o, ns, allocs); err != nil {
			return nil, err
		}
	}
	var all []decoding
	for _, d := range []struct {
		name, bench string
		items       float64
		least       float64
	}{{"JSON, 6 MB Crossref page", "BenchmarkJSONPage", 1000, 6}, {"XML, 20 MB EFetch page", "BenchmarkXMLPage", 1300, 5}} {
		if ns[d.bench] == 0 || ns[d.bench+"Stdlib"] == 0 || ns[d.bench+"Hashed"] == 0 {
			return nil, fmt.Errorf("no figures of %s", d.bench)
		}
		std := ns[d.bench+"Stdlib"]
		all = append(all, decoding{d.name, std / ns[d.bench], std / ns[d.bench+"Hashed"], allocs[d.bench] / d.items, d.least})
	}
	return all, nil
}

// decodeRound runs every benchmark once and keeps the least disturbed time of each.
func decodeRound(ctx context.Context, o options, ns, allocs map[string]float64) error {
	args := []string{"test", "-run", "^$", "-bench", "^Benchmark(JSON|XML)Page(Stdlib|Hashed)?$", "-benchmem", "-count", "1", "./internal/infra/decode"}
	if o.quick {
		args = append(args, "-benchtime", "3x")
	}
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("benchmarks of the decoder: %w", err)
	}
	for line := range bytes.Lines(out) {
		f := strings.Fields(string(line))
		if len(f) < 4 || !strings.HasPrefix(f[0], "Benchmark") {
			continue
		}
		name, _, _ := strings.Cut(f[0], "-")
		for i := 2; i+1 < len(f); i += 2 {
			v, err := strconv.ParseFloat(f[i], 64)
			switch {
			case err != nil:
			case f[i+1] == "ns/op" && (ns[name] == 0 || v < ns[name]):
				ns[name] = v
			case f[i+1] == "allocs/op":
				allocs[name] = v
			}
		}
	}
	return nil
}
