package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/spf13/cobra"
)

func (c *cli) exportCmd() *cobra.Command {
	var q control.ExportQuery
	var format, out string
	cmd := &cobra.Command{
		Use:     "export",
		Short:   "Write the records out",
		Example: "  patra export --source crossref --out crossref.jsonl\n  patra export --raw --out -",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if format != "jsonl" {
				return &usageError{cmd: "patra export", err: fmt.Errorf("--format %q is not known; use jsonl", format)}
			}
			return c.reading(cmd.Context(), func(ctl *control.Control) error {
				records, err := ctl.Export(cmd.Context(), q)
				if err != nil {
					return err
				}
				err = writeOut(c.out, out, func(w io.Writer) error { return records.WriteJSONL(cmd.Context(), w) })
				if err != nil {
					return err
				}
				c.notef("%d records exported\n", records.Count)
				return nil
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&q.Provenance, "source", "", "only this source")
	f.StringVar(&format, "format", "jsonl", "jsonl")
	f.BoolVar(&q.Raw, "raw", false, "add each record as it came: the same bytes, as a string")
	f.Int64Var(&q.SinceRevision, "since-revision", 0, "only records with a greater revision")
	f.StringVar(&out, "out", "-", "file, or - for stdout")
	return cmd
}

// writeOut writes to stdout, or to a file that appears under its name only when
// it is whole. A link is followed, also to a file that is not there yet. A new
// file can be read by its owner alone, one that is there keeps its mode; what is
// no file, such as a pipe or a device, is written to as it is.
func writeOut(stdout io.Writer, name string, write func(io.Writer) error) error {
	if name == "-" {
		w := bufio.NewWriterSize(stdout, 1<<16)
		return errors.Join(write(w), w.Flush())
	}
	name, err := followLinks(name)
	if err != nil {
		return err
	}
	is, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return replaceFile(name, 0o600, write)
	case err != nil:
		return fmt.Errorf("write %s: %w", name, err)
	case is.IsDir():
		return &usageError{err: fmt.Errorf("--out %s is a folder; name a file in it", name)}
	case is.Mode().IsRegular():
		return replaceFile(name, is.Mode().Perm(), write)
	}
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	w := bufio.NewWriterSize(f, 1<<16)
	return errors.Join(write(w), w.Flush(), f.Close())
}

// followLinks returns the file that a name leads to, which need not be there.
func followLinks(name string) (string, error) {
	if to, err := filepath.EvalSymlinks(name); err == nil {
		return to, nil
	}
	first := name
	for range 40 { // as many as Linux follows
		to, err := os.Readlink(name)
		if err != nil {
			return name, nil // no link
		}
		if !filepath.IsAbs(to) {
			dir, err := filepath.EvalSymlinks(filepath.Dir(name))
			if err != nil {
				return "", fmt.Errorf("write %s: %w", first, err)
			}
			to = filepath.Join(dir, to)
		}
		name = to
	}
	return "", &usageError{err: fmt.Errorf("--out %s is a link that leads back to itself; name a file", first)}
}

// replaceFile puts a file with this mode, whatever the umask, under its name when
// it is whole.
func replaceFile(name string, mode fs.FileMode, write func(io.Writer) error) (err error) {
	put := fmt.Sprintf("%s.%d.tmp", name, os.Getpid())
	f, err := os.OpenFile(put, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(put))
		}
	}()
	w := bufio.NewWriterSize(f, 1<<16)
	if err := errors.Join(f.Chmod(mode), write(w), w.Flush(), f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(put, name)
}
