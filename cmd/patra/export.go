package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"unicode/utf8"

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
			n, err := c.openRead(cmd.Context())
			if err != nil {
				return err
			}
			defer n.Close() //nolint:errcheck // nothing was written to it
			if q.Provenance != "" {
				if err := c.known(cmd.Context(), n, q.Provenance); err != nil {
					return err
				}
			}
			var count int64
			write := func(w io.Writer) error {
				return n.Store.Export(cmd.Context(), q, func(e *control.Exported) error {
					count++
					return writeJSONL(w, e)
				})
			}
			if err := writeOut(c.out, out, write); err != nil {
				return err
			}
			c.notef("%d records exported\n", count)
			return nil
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

// exportLine is one line of JSONL. The record as it came is a string that holds
// exactly its bytes, JSON included: embedded as a value it would lose its white
// space, and with it the hash.
type exportLine struct {
	Source     string          `json:"source"`
	Type       string          `json:"type"`
	ID         string          `json:"id"`
	Status     string          `json:"status"`
	MergedInto string          `json:"merged_into,omitempty"`
	Revision   int64           `json:"revision"`
	UpdatedAt  *control.Time   `json:"updated_at,omitempty"`
	RawSHA256  string          `json:"raw_sha256"`
	Fields     json.RawMessage `json:"fields"`
	Provenance exportOrigin    `json:"provenance"`
	Raw        *string         `json:"raw,omitempty"`
	RawBase64  []byte          `json:"raw_base64,omitempty"` // bytes that are not UTF-8
}

type exportOrigin struct {
	Plan           int64        `json:"plan"`
	Slice          int64        `json:"slice"`
	Task           int64        `json:"task"`
	Run            int64        `json:"run"`
	Batch          int64        `json:"batch"`
	MappingVersion string       `json:"mapping_version"`
	FetchedAt      control.Time `json:"fetched_at"`
}

func writeJSONL(w io.Writer, e *control.Exported) error {
	line := exportLine{
		Source: e.Provenance, Type: e.Type, ID: e.ID, Status: string(e.Status), MergedInto: e.MergedInto, Revision: e.Revision, RawSHA256: e.RawSHA256, Fields: e.Fields,
		Provenance: exportOrigin{int64(e.Plan), int64(e.Slice), int64(e.Task), int64(e.Run), int64(e.Batch), e.MappingVersion, control.Time(e.FetchedAt)},
	}
	if !e.UpdatedAt.IsZero() {
		at := control.Time(e.UpdatedAt)
		line.UpdatedAt = &at
	}
	switch {
	case e.Raw == nil:
	case utf8.Valid(e.Raw):
		raw := string(e.Raw)
		line.Raw = &raw
	default:
		line.RawBase64 = e.Raw
	}
	b, err := marshalPlain(line)
	if err != nil {
		return fmt.Errorf("record %s %s: %w", e.Provenance, e.ID, err)
	}
	_, err = w.Write(append(b, '\n'))
	return err
}

// marshalPlain is json.Marshal that leaves <, > and & as they are.
func marshalPlain(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
