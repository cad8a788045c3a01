package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/papertrace/patra/internal/domain/harvest"
	"github.com/spf13/cobra"
)

func (c *cli) exportCmd() *cobra.Command {
	var o control.ExportOrder
	var since, out string
	var plan, after int64
	var follow bool
	var statuses []string
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Write the records out",
		Long: "Writes records to files: as they are (jsonl), as a table (csv, parquet), or as references that other programs\n" +
			"read. --for chooses format, columns and size of files for a program. Ends with how many were written, and how\n" +
			"many were left out and why; the same, with hashes, stands in FILE.manifest.json beside each file.",
		Example: "  patra export --source crossref --out crossref.jsonl\n  patra export --for zotero --source pubmed --out pubmed.ris\n" +
			"  patra export --for covidence --out ./upload/       one file a source, split where it is too large\n" +
			"  patra export --follow --out changes.jsonl",
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			o.Since, err = parseTime("since", since)
			if err != nil {
				return err
			}
			o.Plan = harvest.PlanID(plan)
			o.Statuses, err = recordStatuses(statuses)
			if err != nil {
				return err
			}
			out = outName(out)
			o.Apart = o.For != "" && isFolder(out)
			if err := o.Check(); err != nil {
				return err
			}
			if cmd.Flags().Changed("after") && !follow {
				return misuse(cmd, "--after is a place of the feed, which only --follow reads: add --follow, or leave --after out")
			}
			if follow {
				return c.follow(cmd, o, after, out)
			}
			return c.reading(cmd.Context(), func(ctl *control.Control) error {
				x, err := ctl.Export(cmd.Context(), o)
				if err != nil {
					return err
				}
				if out == "-" && x.MaySplit() {
					return misuse(cmd, "--for %s may need more than one file; name one with --out FILE, or a folder", o.For)
				}
				files := &exportFiles{stdout: c.out, out: out, apart: o.Apart, of: cmp.Or(o.Search, "patra"), exporting: x}
				summary, err := x.Write(cmd.Context(), files.next)
				if err == nil {
					err = files.placeAll(&summary)
				}
				if err != nil {
					return errors.Join(err, files.discardAll())
				}
				return c.tellExport(summary, out == "-")
			})
		},
	}
	f := cmd.Flags()
	f.StringArrayVar(&o.Sources, "source", nil, "only this source; may be given more than once")
	f.StringVar(&o.Search, "search", "", "only what this saved search has found by its last run")
	f.BoolVar(&o.NewOnly, "new", false, "with --search: only what no run before the last had seen")
	f.Int64Var(&plan, "plan", 0, "only records that this plan brought or changed")
	f.StringVar(&since, "since", "", "only records stored or changed here since: an instant, a date, or an age such as -7d")
	f.StringArrayVar(&statuses, "status", nil, "only records that are ACTIVE, RETRACTED, MERGED or GONE; may be given more than once")
	f.StringVar(&o.Format, "format", "", strings.Join(control.ExportFormats(), ", ")+" (default jsonl, or what --for reads best)")
	f.StringVar(&o.For, "for", "", "the program that shall read it: "+strings.Join(control.ExportTools(), ", "))
	f.StringVar(&o.Query, "query", "", "only records that fit this expression, held against what is stored")
	f.StringVar(&o.Dedupe, "dedupe", "none", "exact writes records of one work as one, with the best fields of each; probable also those that are alike; or none")
	f.StringSliceVar(&o.Fields, "fields", nil, "only these fields of records, such as title,doi; of csv these columns")
	f.BoolVar(&o.Raw, "raw", false, "add each record as it came: the same bytes, as a string")
	f.Int64Var(&o.SinceRevision, "since-revision", 0, "only records with a greater revision")
	f.BoolVar(&follow, "follow", false, "write every revision as it is stored, until ended; goes on behind the last line of --out")
	f.Int64Var(&after, "after", 0, "with --follow: begin behind this place of the feed")
	f.StringVar(&out, "out", "-", "file, with --for also a folder for one file a source, or - for stdout")
	f.BoolVar(&c.json, "json", false, "print the counts as one JSON object; to stderr where the records go to stdout")
	return cmd
}

// recordStatuses reads statuses of records in any case.
func recordStatuses(words []string) ([]harvest.RecordStatus, error) {
	known := []harvest.RecordStatus{harvest.RecordActive, harvest.RecordRetracted, harvest.RecordMerged, harvest.RecordGone}
	var out []harvest.RecordStatus
	for _, w := range words {
		status := harvest.RecordStatus(strings.ToUpper(w))
		if !slices.Contains(known, status) {
			return nil, &usageError{cmd: "patra export", err: fmt.Errorf("--status %q is none of ACTIVE, RETRACTED, MERGED, GONE", w)}
		}
		out = append(out, status)
	}
	return out, nil
}

// tellExport says what came of an export: as data on stdout unless that is the file, in words on
// stderr.
func (c *cli) tellExport(s control.ExportSummary, isOnStdout bool) error {
	if c.json && !isOnStdout {
		return c.printData(s, "")
	}
	if c.json {
		b, err := json.Marshal(s)
		if err != nil {
			return err
		}
		c.notef("%s\n", b)
		return nil
	}
	c.notef("%d records exported\n", s.Records)
	if s.Undecided > 0 {
		c.notef("%d of them cannot tell whether they fit the query: their source does not show what it asks for\n", s.Undecided)
	}
	for _, i := range s.Incomplete {
		c.notef("note: %s was not read to the end by the last run of the search (%s), so more may be missing\n", i.Source, cmp.Or(i.Reason, string(i.Status)))
	}
	for _, l := range s.LeftOut {
		c.notef("%d left out: %s\n", l.Records, l.Reason)
	}
	if len(s.Files) > 1 || len(s.LeftOut) > 0 {
		for _, f := range s.Files {
			if f.Name != "" {
				c.notef("  %s  %s, %d bytes\n", f.Name, control.Count(int(f.Records), "record"), f.Bytes)
			}
		}
	}
	return nil
}

// isFolder reports whether a name is that of a folder, which is there or is written
// as one.
func isFolder(name string) bool {
	if strings.HasSuffix(name, "/") {
		return true
	}
	is, err := os.Stat(name)
	return err == nil && is.IsDir()
}

// exportFiles are the files of one export. They appear together, when all are whole.
type exportFiles struct {
	stdout    io.Writer
	out       string
	apart     bool   // out is a folder
	of        string // the search, or patra
	exporting *control.Exporting
	files     []*outFile
	sources   []string
}

// next begins another file; the one before is whole.
func (e *exportFiles) next(f control.ExportFile) (io.Writer, error) {
	if n := len(e.files); n > 0 {
		if err := e.files[n-1].finish(); err != nil {
			return nil, err
		}
	}
	name := e.out
	if e.apart {
		if err := os.MkdirAll(e.out, 0o700); err != nil {
			return nil, err
		}
		name = filepath.Join(e.out, "patra")
	}
	file, err := openOut(e.stdout, name)
	if err != nil {
		return nil, err
	}
	e.files = append(e.files, file)
	e.sources = append(e.sources, f.Source)
	return file, nil
}

// placeAll puts the files under their names, each with its manifest.
func (e *exportFiles) placeAll(s *control.ExportSummary) error {
	last := e.files[len(e.files)-1]
	if err := last.finish(); err != nil {
		return err
	}
	if last.temp == "" {
		return nil // no file, so there is no place beside it
	}
	for i := range e.files {
		s.Files[i].Name = e.name(i)
	}
	for i, f := range e.files {
		name := s.Files[i].Name
		manifest, err := e.exporting.Manifest(*s, i)
		if err != nil {
			return err
		}
		if err := f.place(name); err != nil {
			return err
		}
		err = writeOut(e.stdout, name+".manifest.json", func(w io.Writer) error {
			_, err := w.Write(manifest)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// name is where a file goes: the name that was given, with the number of the file if
// there are several; in a folder one by search, source and date.
func (e *exportFiles) name(i int) string {
	first := slices.Index(e.sources, e.sources[i])
	last := len(e.sources) - 1
	for e.sources[last] != e.sources[i] {
		last--
	}
	stem := strings.TrimSuffix(e.out, filepath.Ext(e.out))
	extension := filepath.Ext(e.out)
	if e.apart {
		of := strings.Join([]string{e.of, e.sources[i], e.exporting.Day()}, "_")
		stem = filepath.Join(e.out, strings.ReplaceAll(of, "__", "_")) // no source: there was no record
		extension = e.exporting.Extension()
	}
	if first == last {
		return stem + extension
	}
	return fmt.Sprintf("%s-%d%s", stem, i-first+1, extension)
}

func (e *exportFiles) discardAll() error {
	var all error
	for _, f := range e.files {
		all = errors.Join(all, f.discard())
	}
	return all
}
