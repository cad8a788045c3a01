package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/papertrace/patra/internal/patratest"
)

// followedLine is what a line of --follow says.
type followedLine struct {
	No     int64
	ID     string
	Effect string
	Fields map[string]any
}

// TestExport_FollowWritesWhatComes: what is stored is written, what comes later too,
// and whoever goes on from a place gets what came behind it.
func TestExport_FollowWritesWhatComes(t *testing.T) {
	t.Parallel()
	dsn := patratest.SQLite.DSN(t)
	storeRecords(t, dsn, "crossref", harvest.Record{ID: "1", Raw: []byte("1"), Fields: []byte(`{"title":"One","doi":"10.1000/1"}`)})
	begin := func(args ...string) (next func() followedLine, end func() int) {
		ctx, cancel := context.WithCancel(t.Context())
		r, w := io.Pipe()
		done := make(chan int, 1)
		var said strings.Builder
		go func() {
			done <- run(ctx, append([]string{"export", "--follow", "--db", dsn}, args...), w, &said)
			w.Close() //nolint:errcheck // never fails
		}()
		lines := bufio.NewScanner(r)
		next = func() (l followedLine) {
			t.Helper()
			if !lines.Scan() {
				t.Fatalf("ended: %s", &said)
			}
			if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
				t.Fatal(err)
			}
			return l
		}
		return next, func() int { cancel(); return <-done }
	}
	next, end := begin("--fields", "title")
	first := next()
	if first.ID != "1" || first.Effect != "inserted" || fmt.Sprint(first.Fields) != "map[title:One]" {
		t.Errorf("got %+v", first)
	}
	storeRecords(t, dsn, "pubmed", harvest.Record{ID: "2", Raw: []byte("2"), Fields: []byte(`{"title":"Two"}`)})
	second := next()
	if second.ID != "2" || second.No <= first.No {
		t.Errorf("got %+v behind %+v", second, first)
	}
	if code := end(); code != exitDone {
		t.Errorf("ended with %d", code)
	}
	next, end = begin("--after", fmt.Sprint(first.No), "--source", "pubmed")
	if got := next(); got.ID != "2" {
		t.Errorf("behind the first came %+v", got)
	}
	end()
}

// TestExport_FollowGoesOnWithAFile: the last whole line of a file says where to go on,
// what was not finished is cut off, and a file of another kind is left alone.
func TestExport_FollowGoesOnWithAFile(t *testing.T) {
	long := strings.Repeat("x", 3*outBuffer)
	for name, c := range map[string]struct {
		holds, keeps string
		last         int64
	}{
		"empty":     {"", "", 0},
		"torn":      {`{"no":1`, "", 0},
		"one":       {"{\"no\":1}\n", "{\"no\":1}\n", 1},
		"two":       {"{\"no\":1}\n{\"no\":7}\n", "{\"no\":1}\n{\"no\":7}\n", 7},
		"torn end":  {"{\"no\":1}\n{\"no\":7}\n{\"no\":8", "{\"no\":1}\n{\"no\":7}\n", 7},
		"long line": {"{\"no\":1}\n{\"no\":9,\"x\":\"" + long + "\"}\n{\"no\":10,\"x\":\"" + long, "{\"no\":1}\n{\"no\":9,\"x\":\"" + long + "\"}\n", 9},
		"other":     {"TY  - JOUR\n", "TY  - JOUR\n", -1},
		"export":    {"{\"id\":\"1\"}\n", "{\"id\":\"1\"}\n", -1},
		"one text":  {"a thesis", "a thesis", -1},
		"text":      {"a thesis\nits end", "a thesis\nits end", -1},
		"text end":  {"{\"no\":1}\nits end", "{\"no\":1}\nits end", -1},
		"empty end": {"{\"no\":1}\n\n", "{\"no\":1}\n\n", -1},
	} {
		file := filepath.Join(t.TempDir(), "f")
		if err := os.WriteFile(file, []byte(c.holds), 0o600); err != nil {
			t.Fatal(err)
		}
		f, last, err := openFollowed(file)
		if (err != nil) != (c.last < 0) || err == nil && last != c.last {
			t.Errorf("%s: %d, %v", name, last, err)
		}
		keeps := c.keeps
		if err == nil {
			if _, err := f.WriteString("next\n"); err != nil {
				t.Fatal(err)
			}
			f.Close() //nolint:errcheck // read below
			keeps += "next\n"
		}
		if b, err := os.ReadFile(file); err != nil || string(b) != keeps {
			t.Errorf("%s: holds %.100q, %v", name, b, err)
		}
	}
}
