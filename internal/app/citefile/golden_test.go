package citefile_test

import (
	"bytes"
	"flag"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/papertrace/patra/internal/app/citefile"
	"github.com/papertrace/patra/internal/domain/citation"
)

var update = flag.Bool("update", false, "write the golden files anew")

// written is a file of these citations that the format can hold, and which those are.
func written(t testing.TB, f citefile.Format, o citefile.Options, all []*citation.Citation) ([]byte, []*citation.Citation) {
	t.Helper()
	var b bytes.Buffer
	w, err := citefile.New(f, o, func() (io.Writer, error) { return &b, nil })
	if err != nil {
		t.Fatal(err)
	}
	var held []*citation.Citation
	for _, c := range all {
		if f.Refusal(c) != "" {
			continue
		}
		held = append(held, c)
		if err := w.Write(c); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), held
}

// TestR54_GoldenFiles: every format as people reviewed it, hostile values and all.
func TestR54_GoldenFiles(t *testing.T) {
	t.Parallel()
	for _, f := range citefile.Formats {
		if f == citefile.Parquet {
			continue // held against what a reader says
		}
		got, _ := written(t, f, citefile.Options{}, corpus(t))
		name := filepath.Join("testdata", "corpus"+f.Extension())
		if *update {
			if err := os.WriteFile(name, got, 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s differs (-want +got), -update writes it anew:\n%s", name, diff)
		}
	}
}
