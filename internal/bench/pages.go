package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/app/role"
	"github.com/papertrace/patra/internal/infra/console"
)

// What is asked of the pages of the console.
const (
	pageWithin = 200     // milliseconds, of 95 in 100 answers of each
	pageBytes  = 100_000 // of each, packed
)

// newPages makes the pages of the console over what the desk asks.
func (d *desk) newPages(board *role.Board) (*console.Console, error) {
	return console.New(console.Config{
		Control: d.node.Control, Board: board, Build: control.Build{Version: "bench"}, Redact: func(s string) string { return s }, Logger: slog.New(slog.DiscardHandler),
	})
}

// addPages makes the desk ask for the pages too, filled in with what the store is full
// of, and notes how large each is. Pages about things that the store has none of are left
// out.
func (d *desk) addPages(patterns []string, ids map[string]int64) error {
	for _, pattern := range patterns {
		of := strings.Split(pattern, "/")[1]
		path := strings.NewReplacer("{$}", "", "{code}", seeded, "{source}", seeded, "{id}", fmt.Sprint(ids[of]), "{run}", fmt.Sprint(ids["runs"]), "{no}", "1", "{batch}", "1",
			"{key}", url.PathEscape(seededRecord)).Replace(pattern)
		if of == "records" {
			path = strings.ReplaceAll(path, "/0", "/"+url.PathEscape(seededRecord))
		}
		if strings.Contains(path, "{") || strings.Contains(path, "/0") {
			continue
		}
		body, status := d.ask(path)
		if status == http.StatusNotFound || status == http.StatusSeeOther {
			continue
		}
		if status != http.StatusOK {
			return fmt.Errorf("%s: %d %.300s", path, status, body)
		}
		packed := &bytes.Buffer{}
		z := gzip.NewWriter(packed)
		if _, err := z.Write(body); err != nil {
			return err
		}
		if err := z.Close(); err != nil {
			return err
		}
		d.packed[path] = packed.Len()
		d.paths = append(d.paths, path)
	}
	if len(d.packed) == 0 {
		return fmt.Errorf("the console has no pages: %q", patterns)
	}
	return nil
}
