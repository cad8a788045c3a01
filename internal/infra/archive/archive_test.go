package archive_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/papertrace/patra/internal/app/retention"
	"github.com/papertrace/patra/internal/infra/archive"
)

// lines are rows of five plans, more than one frame of them, with keys that no order and no
// field of a line is made for.
func lines() (out []retention.Line) {
	for i := range 3000 {
		row, err := json.Marshal(map[string]any{"id": i, "text": strings.Repeat(fmt.Sprint(i, " "), 100)})
		if err != nil {
			panic(err)
		}
		out = append(out, retention.Line{Table: "ing_task", Row: row, Keys: []string{
			fmt.Sprint("task/", i), fmt.Sprint("plan/", i%5), fmt.Sprintf("record/odd\t\\\n%d", i),
		}})
	}
	return out
}

func write(t *testing.T, dir *archive.Dir, name string) retention.Written {
	t.Helper()
	w, err := dir.Write(t.Context(), name, func(add func(retention.Line) error) error {
		for _, l := range lines() {
			if err := add(l); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// TestArchive_EveryRowIsFoundByEachKey: before and after the file has got its name.
func TestArchive_EveryRowIsFoundByEachKey(t *testing.T) {
	t.Parallel()
	dir := archive.New(filepath.Join(t.TempDir(), "new"))
	w := write(t, dir, "a.jsonl.zst")
	if w.Rows != 3000 || w.Bytes == 0 || len(w.SHA256) != 64 {
		t.Errorf("%+v", w)
	}
	find := func(key string) (ids []string) {
		t.Helper()
		if err := dir.Find(t.Context(), w.File, key, func(l retention.Line) error {
			ids = append(ids, l.Keys[0])
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		return ids
	}
	for i, l := range lines() {
		if i%97 != 0 && i != 1 && i != 2999 {
			continue
		}
		for _, key := range []string{l.Keys[0], l.Keys[2]} {
			if got := find(key); !slices.Equal(got, l.Keys[:1]) {
				t.Errorf("%q finds %q", key, got)
			}
		}
		if i == 1455 {
			if err := dir.Keep(t.Context(), w.File); err != nil {
				t.Fatal(err)
			}
		}
	}
	if got := find("plan/3"); len(got) != 600 {
		t.Errorf("plan/3 finds %d rows", len(got))
	}
	for _, key := range []string{"", "plan/", "plan/7", "zzz", "a"} {
		if got := find(key); len(got) != 0 {
			t.Errorf("%q finds %q", key, got)
		}
	}
	if err := dir.Check(t.Context(), w, true); err != nil {
		t.Error(err)
	}
}

// TestArchive_WhatIsNotFinishedIsNoArchive: a file that could not be written whole has no
// name; one that was begun long ago goes, and no other does.
func TestArchive_WhatIsNotFinishedIsNoArchive(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	dir := archive.New(path)
	full := errors.New("disk full")
	_, err := dir.Write(t.Context(), "b.jsonl.zst", func(add func(retention.Line) error) error {
		if err := add(lines()[0]); err != nil {
			return err
		}
		return full
	})
	if !errors.Is(err, full) || dir.Keep(t.Context(), "c.jsonl.zst") == nil {
		t.Errorf("%v", err)
	}
	w := write(t, dir, "known.jsonl.zst")
	write(t, dir, "dead.jsonl.zst")
	write(t, dir, "young.jsonl.zst")
	if err := os.WriteFile(filepath.Join(path, "mine.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	long := time.Now().Add(-48 * time.Hour)
	for _, name := range []string{"known.jsonl.zst.begun", "dead.jsonl.zst.begun", "dead.jsonl.zst.index.begun", "b.jsonl.zst.begun", "mine.txt"} {
		if err := os.Chtimes(filepath.Join(path, name), long, long); err != nil {
			t.Fatal(err)
		}
	}
	if err := dir.Sweep(t.Context(), func(name string) bool { return name == w.File }); err != nil {
		t.Fatal(err)
	}
	var left []string
	files, err := os.ReadDir(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		left = append(left, f.Name())
	}
	want := []string{"known.jsonl.zst.begun", "known.jsonl.zst.index.begun", "mine.txt", "young.jsonl.zst.begun", "young.jsonl.zst.index.begun"}
	if !slices.Equal(left, want) {
		t.Errorf("left are %v", left)
	}
	if err := dir.Keep(t.Context(), w.File); err != nil {
		t.Fatal(err)
	}
	if err := dir.Keep(t.Context(), w.File); err != nil {
		t.Errorf("kept again: %v", err)
	}
	// A bit that turned is seen.
	file := filepath.Join(path, w.File)
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)/2] ^= 1
	if err := os.WriteFile(file, b, 0o600); err != nil {
		t.Fatal(err)
	}
	if dir.Check(t.Context(), w, false) != nil || dir.Check(t.Context(), w, true) == nil {
		t.Error("a bit has turned")
	}
}
