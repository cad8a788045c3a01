package sourcefile_test

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/papertrace/patra/internal/domain/source"
	"github.com/papertrace/patra/internal/infra/sourcefile"
	"github.com/papertrace/patra/sources"
)

// TestShelf_KeepsWhatComesWithPatra: a shipped pack is taken apart once in a process. It
// is the same whenever it is loaded, whatever was made of it meanwhile, and another text
// is another pack.
func TestShelf_KeepsWhatComesWithPatra(t *testing.T) {
	shelf := &sourcefile.Shelf{Shipped: sources.FS}
	first, err := shelf.Load()
	if err != nil || len(first) < 10 {
		t.Fatalf("%d packs, %v", len(first), err)
	}
	for code, d := range first {
		for _, op := range source.Operations {
			if _, _, err := source.Compile(d.Definition.For(op), source.Trigger{Operation: op}); err != nil {
				t.Logf("%s has no %s: %v", code, op, err)
			}
		}
		d.Definition.Name = "changed by somebody"
	}
	again, err := shelf.Load()
	if err != nil || len(again) != len(first) {
		t.Fatalf("%d packs, then %d, %v", len(first), len(again), err)
	}
	for code, d := range again {
		sum := sha256.Sum256(sourcefile.Format(d.Definition))
		if hex.EncodeToString(sum[:]) != d.Hash || d.Hash != first[code].Hash {
			t.Errorf("%s is not what it was:\n%s", code, sourcefile.Format(d.Definition))
		}
	}

	text, err := sources.FS.ReadFile("crossref.yaml")
	if err != nil {
		t.Fatal(err)
	}
	other := strings.Replace(string(text), "pageSize: 1000", "pageSize: 500", 1)
	changed, err := (&sourcefile.Shelf{Shipped: fstest.MapFS{"crossref.yaml": {Data: []byte(other)}}}).Load()
	if err != nil || len(changed) != 1 || changed["crossref"].Hash == first["crossref"].Hash {
		t.Errorf("a pack with another text: %+v, %v", changed["crossref"].Hash, err)
	}
}

func BenchmarkShelf_Load(b *testing.B) {
	shelf := &sourcefile.Shelf{Shipped: sources.FS}
	for b.Loop() {
		if _, err := shelf.Load(); err != nil {
			b.Fatal(err)
		}
	}
}
