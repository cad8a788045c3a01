package control_test

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/papertrace/patra/internal/app/control"
)

// readBack counts the references of one file while it is written.
type readBack struct {
	bytes   int64
	records int
	titles  []string
	to      *io.PipeWriter
	done    chan error
}

func (r *readBack) Write(p []byte) (int, error) {
	r.bytes += int64(len(p))
	return r.to.Write(p)
}

// end is called when the file is whole.
func (r *readBack) end() error {
	return errors.Join(r.to.Close(), <-r.done)
}

// recordMarks are what stands once in each reference of a format.
var recordMarks = map[string]string{"ris": "ER  -", "nbib": "PMID- ", "endnote": "<record>", "bibtex": "@article{"}

var titleOf = regexp.MustCompile(`Title \d+ of many`)

func newReadBack(format string) *readBack {
	from, to := io.Pipe()
	r := &readBack{to: to, done: make(chan error, 1)}
	go func() {
		if format == "csv" {
			r.done <- r.readCSV(from)
			return
		}
		r.done <- r.readLines(from, recordMarks[format])
	}()
	return r
}

func (r *readBack) readLines(from io.Reader, mark string) error {
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, 4<<20)
	for lines.Scan() {
		line := lines.Bytes()
		r.records += bytes.Count(line, []byte(mark))
		if bytes.Contains(line, []byte("Title ")) {
			r.titles = append(r.titles, titleOf.FindAllString(string(line), -1)...)
		}
	}
	return lines.Err()
}

func (r *readBack) readCSV(from io.Reader) error {
	rows := csv.NewReader(from)
	for {
		row, err := rows.Read()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if found := slices.IndexFunc(row, func(cell string) bool { return strings.HasPrefix(cell, "Title ") }); found >= 0 {
			r.records++
			r.titles = append(r.titles, row[found])
		}
	}
}

// TestExport_SplitsAtWhatProgramsTake: an export for Covidence or Rayyan that is more than one
// file may hold becomes several, none of them larger and none of them left half empty, which
// together have every record once.
func TestExport_SplitsAtWhatProgramsTake(t *testing.T) {
	t.Parallel()
	short := strings.Repeat("word ", 25)
	long := strings.Repeat("word ", 200_000) // a million bytes
	const covidenceRecords, covidenceBytes, rayyanBytes = 15_000, 50_000_000, 100_000_000
	for _, c := range []struct {
		tool, format string
		records      int
		words        string
		most         int // records of a file; 0: no limit
		bytes        int64
		files        int
	}{
		{"covidence", "ris", 2*covidenceRecords + 1, short, covidenceRecords, covidenceBytes, 3},
		{"covidence", "nbib", covidenceRecords + 1, short, covidenceRecords, covidenceBytes, 2},
		{"covidence", "endnote", covidenceRecords + 1, short, covidenceRecords, covidenceBytes, 2},
		{"covidence", "ris", 51, long, covidenceRecords, covidenceBytes, 2},
		{"rayyan", "ris", 101, long, 0, rayyanBytes, 2},
		{"rayyan", "csv", 101, long, 0, rayyanBytes, 2},
		{"rayyan", "ris", covidenceRecords + 1, short, 0, rayyanBytes, 1},
	} {
		t.Run(fmt.Sprintf("%s %s %d", c.tool, c.format, c.records), func(t *testing.T) {
			t.Parallel()
			files := exportedFiles(t, control.ExportOrder{For: c.tool, Format: c.format}, library{records: c.records, words: c.words, reached: func(int) {}})
			if len(files) != c.files {
				t.Errorf("%d files, want %d", len(files), c.files)
			}
			seen := map[string]bool{}
			for i, file := range files {
				if file.records != len(file.titles) || file.records == 0 {
					t.Errorf("file %d has %d references and %d titles", i, file.records, len(file.titles))
				}
				if file.bytes > c.bytes || c.most > 0 && file.records > c.most {
					t.Errorf("file %d has %d bytes and %d references", i, file.bytes, file.records)
				}
				room := c.bytes - file.bytes
				if i < len(files)-1 && room > 2*int64(len(c.words)) && file.records != c.most {
					t.Errorf("file %d ends with room for %d bytes, at %d references", i, room, file.records)
				}
				for _, title := range file.titles {
					seen[title] = true
				}
			}
			if len(seen) != c.records {
				t.Errorf("%d different records were read back, want %d", len(seen), c.records)
			}
		})
	}
}

// exportedFiles carries an order out and reads each file back while it is written.
func exportedFiles(t *testing.T, o control.ExportOrder, l library) []*readBack {
	t.Helper()
	x, err := control.New(control.Parts{Store: l}).Export(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	var files []*readBack
	end := func() error {
		if len(files) == 0 {
			return nil
		}
		return files[len(files)-1].end()
	}
	s, err := x.Write(t.Context(), func(control.ExportFile) (io.Writer, error) {
		if err := end(); err != nil {
			return nil, err
		}
		files = append(files, newReadBack(o.Format))
		return files[len(files)-1], nil
	})
	if err := errors.Join(err, end()); err != nil {
		t.Fatal(err)
	}
	if s.Records != int64(l.records) || len(s.Files) != len(files) {
		t.Errorf("the summary tells of %d records in %d files, there are %d in %d", s.Records, len(s.Files), l.records, len(files))
	}
	return files
}
