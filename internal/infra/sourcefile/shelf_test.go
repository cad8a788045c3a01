package sourcefile_test

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"os"
	"path/filepath"
	"slices"
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

// TestShelf_OneAtATime: packs that are read when they are asked for are the same as
// when all are read, also where a folder has another of the same source, or one with a
// schedule.
func TestShelf_OneAtATime(t *testing.T) {
	dir := t.TempDir()
	for name, becomes := range map[string]string{"crossref.yaml": "source: crossref\n", "mine.yaml": "source: mine\nschedule:\n  harvest: \"@hourly\"\n"} {
		text, err := sources.FS.ReadFile("crossref.yaml")
		if err != nil {
			t.Fatal(err)
		}
		changed := strings.Replace(string(text), "source: crossref\n", becomes, 1)
		changed = strings.Replace(changed, "pageSize: 1000", "pageSize: 500", 1)
		if name == "mine.yaml" {
			changed = strings.Replace(changed, "schedule:\n  sentinel: true\n", "", 1) // it has its own
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(changed), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	shelf := &sourcefile.Shelf{Shipped: sources.FS, Dir: dir}
	all, err := shelf.Load()
	if err != nil {
		t.Fatal(err)
	}
	packs, err := shelf.Open()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := packs.Codes(), slices.Sorted(maps.Keys(all)); !slices.Equal(got, want) {
		t.Fatalf("sources %v, want %v", got, want)
	}
	for code, want := range all {
		got, known, err := packs.Pack(code)
		if err != nil || !known || got.Hash != want.Hash || got.Origin != want.Origin || got.Definition.Source != code {
			t.Errorf("%s: %v %s %s, %v; want %s %s", code, known, got.Origin, got.Hash, err, want.Origin, want.Hash)
		}
	}
	// A sentinel of a shipped pack has nothing begin by itself.
	if got, err := packs.Scheduled(); err != nil || !slices.Equal(got, []string{"mine"}) {
		t.Errorf("scheduled: %v, %v", got, err)
	}
	for _, no := range []string{"nobody", "", "../crossref", "crossref.cases", "/etc/passwd"} {
		if _, known, err := packs.Pack(no); known || err != nil {
			t.Errorf("pack %q: %v, %v", no, known, err)
		}
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
