package sourcefile_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/papertrace/patra/internal/infra/sourcefile"
)

// A file that is no pack is refused without reading it to its end: a pipe has
// no end, and a device gives bytes for ever.
func TestReadFile_OpensNothingThatMayNotEnd(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe.yaml")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "endless.yaml")
	if err := os.Symlink("/dev/zero", link); err != nil {
		t.Fatal(err)
	}
	for name, kind := range map[string]string{pipe: "a pipe", link: "a device", dir: "a folder"} {
		_, err := sourcefile.ReadFile(name)
		if err == nil || !strings.Contains(err.Error(), kind) {
			t.Errorf("%s: got error %v, want one that says %q", name, err, kind)
		}
	}
	if _, err := sourcefile.ReadFS(os.DirFS(dir), "pipe.yaml"); err == nil {
		t.Error("a pipe in a folder of packs was read")
	}
}

func TestReadFile_ReadsNoMoreThanAPackMayHave(t *testing.T) {
	name := filepath.Join(t.TempDir(), "large.yaml")
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(name, 1<<40); err != nil {
		t.Fatal(err)
	}
	b, err := sourcefile.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if len(b) != sourcefile.MaxSize+1 {
		t.Errorf("read %d bytes of a terabyte", len(b))
	}
	if _, err := sourcefile.Parse(name, b); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Errorf("parsed it: %v", err)
	}
}

// The parser's time grows with the square of the keys of a map: a file within
// the size of a pack once took minutes.
func TestParse_ManyUnknownKeysEndAtOnce(t *testing.T) {
	var b strings.Builder
	b.WriteString("source: evil\n")
	for i := range 90_000 {
		fmt.Fprintf(&b, "k%05d: 1\n", i)
	}
	_, err := sourcefile.Parse("evil.yaml", []byte(b.String()))
	if err == nil || !strings.Contains(err.Error(), "the file says too much") {
		t.Errorf("got %.200v", err)
	}
}

func TestParse_ListsNoMoreThanAHundredMistakes(t *testing.T) {
	var b strings.Builder
	b.WriteString("source: evil\n")
	for i := range 2_000 {
		fmt.Fprintf(&b, "k%05d: 1\n", i)
	}
	_, err := sourcefile.Parse("evil.yaml", []byte(b.String()))
	problems, ok := err.(sourcefile.Problems)
	if !ok || len(problems) != 101 {
		t.Fatalf("got %d mistakes listed, want 100 and a last line", len(problems))
	}
	if last := problems[100].String(); !strings.Contains(last, "there are more mistakes") {
		t.Errorf("the last line says %q", last)
	}
}
