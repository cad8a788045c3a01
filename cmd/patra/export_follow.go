package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/papertrace/patra/internal/app/control"
	"github.com/spf13/cobra"
)

// follow writes revisions of records to a file or stdout as they come. The file
// itself remembers how far it is: its last line has the place in the feed.
func (c *cli) follow(cmd *cobra.Command, o control.ExportOrder, after int64, out string) error {
	if o.Format != "" && o.Format != control.JSONL || o.For != "" {
		return misuse(cmd, "--follow writes revisions one by one, which only jsonl holds; leave --format and --for out")
	}
	if o.Query != "" || o.Search != "" {
		return misuse(cmd, "--follow writes all that is stored of its sources; leave --query and --search out")
	}
	if o.Raw || o.SinceRevision != 0 || !o.Since.IsZero() {
		return misuse(cmd, "--follow begins at a place of the feed; use --after in place of --since and --since-revision, and leave --raw out")
	}
	if o.Dedupe != "" && o.Dedupe != control.DedupeNone {
		return misuse(cmd, "--follow writes each revision of each record by itself; leave --dedupe out")
	}
	var w io.Writer = c.out
	flush := func() error { return nil }
	if out != "-" {
		f, last, err := openFollowed(out)
		if err != nil {
			return err
		}
		defer f.Close() //nolint:errcheck // flushed below
		after = max(after, last)
		b := bufio.NewWriterSize(f, outBuffer)
		w = b
		flush = func() error { return errors.Join(b.Flush(), f.Sync()) }
	}
	return c.changing(cmd.Context(), func(ctl *control.Control) error {
		at, err := ctl.Follow(cmd.Context(), o, after, w, flush)
		if cmd.Context().Err() != nil {
			c.notef("written up to place %d of the feed\n", at)
			return nil // ended by whoever began it
		}
		return err
	})
}

// openFollowed opens a file to write behind its last line, and tells the place in the
// feed that this line has. A line that was not finished is cut off. A file that somebody
// else has written is refused, and stays as it is.
func openFollowed(name string) (*os.File, int64, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, 0, err
	}
	last, err := goOn(f)
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, last, nil
}

// lineBegins is how every line begins that follow writes.
const lineBegins = `{"no":`

// goOn cuts off what of a file is not finished, and returns the place that its last line has, 0 if
// there is no line.
func goOn(f *os.File) (last int64, err error) {
	refused := func(why string) error {
		return &usageError{err: fmt.Errorf("--out %s %s; name another file", f.Name(), why)}
	}
	is, err := f.Stat()
	if err != nil {
		return 0, err
	}
	if !is.Mode().IsRegular() {
		return 0, refused("is no file, behind whose last line --follow could go on (for a pipe use --out -)")
	}
	end, whole, err := lastLine(f)
	if err != nil {
		return 0, fmt.Errorf("go on with %s: %w", f.Name(), err)
	}
	torn := make([]byte, min(max(is.Size()-end, 0), int64(len(lineBegins))))
	if _, err := f.ReadAt(torn, end); err != nil {
		return 0, fmt.Errorf("go on with %s: %w", f.Name(), err)
	}
	var line struct {
		No *int64 `json:"no"`
	}
	if end > 0 {
		err = json.Unmarshal(whole, &line)
	}
	if err != nil || end > 0 && line.No == nil || !strings.HasPrefix(lineBegins, string(torn)) {
		return 0, refused("does not end in a line that --follow wrote")
	}
	if err := errors.Join(f.Truncate(end), seek(f, end)); err != nil {
		return 0, fmt.Errorf("go on with %s: %w", f.Name(), err)
	}
	if line.No != nil {
		last = *line.No
	}
	return last, nil
}

func seek(f *os.File, to int64) error {
	_, err := f.Seek(to, io.SeekStart)
	return err
}

// lastLine finds the last line that is whole, and where it ends.
func lastLine(f *os.File) (end int64, line []byte, err error) {
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return 0, nil, err
	}
	var tail []byte
	for from := size; from > 0; {
		part := make([]byte, min(from, outBuffer))
		from -= int64(len(part))
		if _, err := f.ReadAt(part, from); err != nil {
			return 0, nil, err
		}
		tail = append(part, tail...)
		stop := bytes.LastIndexByte(tail, '\n')
		if stop < 0 {
			continue
		}
		begin := bytes.LastIndexByte(tail[:stop], '\n')
		if begin >= 0 || from == 0 {
			return from + int64(stop) + 1, tail[begin+1 : stop], nil
		}
	}
	return 0, nil, nil // no whole line
}
