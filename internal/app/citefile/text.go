package citefile

import (
	"errors"
	"fmt"
	"io"

	"github.com/papertrace/patra/internal/domain/citation"
)

// Writer writes citations to files.
type Writer interface {
	// Write adds one.
	Write(c *citation.Citation) error
	// EndFile ends the file; what is written next begins another.
	EndFile() error
	// Close ends the last file. Without a record there is one, with none in it.
	Close() error
}

// Options are what else a writer is told.
type Options struct {
	Tool  Tool
	Limit Limit
	// Columns are those of a table, in their order; nil: those of the format.
	Columns []string
	// Meta is told of the file where the format has a place for it.
	Meta map[string]string
}

// New makes a writer of a format. It asks next for a file when it has something to
// write to it, again when a file is full.
func New(f Format, o Options, next func() (io.Writer, error)) (Writer, error) {
	if f == Parquet {
		return newParquet(o, next), nil
	}
	enc, err := encoderOf(f, o)
	if err != nil {
		return nil, err
	}
	return &text{enc: enc, limit: o.Limit, next: next}, nil
}

func encoderOf(f Format, o Options) (encoder, error) {
	switch f {
	case RIS:
		return &ris{tool: o.Tool}, nil
	case NBIB:
		return nbib{}, nil
	case BibTeX:
		return bibtex{}, nil
	case CSL:
		return &csl{tool: o.Tool}, nil
	case EndNote:
		return &endnote{}, nil
	case CSV:
		return newTable(o)
	}
	return nil, fmt.Errorf("there is no writer for the format %q", f)
}

// encoder is a format whose records are texts, one behind the other.
type encoder interface {
	head() string
	// appendRecord appends a record to bytes; first: of its file.
	appendRecord(dst []byte, c *citation.Citation, first bool) []byte
	tail() string
}

// text writes records as text, and begins another file where the limit asks for it.
type text struct {
	enc   encoder
	limit Limit
	next  func() (io.Writer, error)

	file    io.Writer // nil between files
	files   int
	records int   // of the file
	bytes   int64 // of the file
	buf     []byte
}

func (t *text) Write(c *citation.Citation) error {
	t.buf = t.enc.appendRecord(t.buf[:0], c, t.records == 0)
	if t.file != nil && t.isFull() {
		if err := t.EndFile(); err != nil {
			return err
		}
		t.buf = t.enc.appendRecord(t.buf[:0], c, true)
	}
	if err := t.begin(); err != nil {
		return err
	}
	t.records++
	return t.put(t.buf)
}

// isFull reports whether the file cannot take the record that was made.
func (t *text) isFull() bool {
	if t.limit.Records > 0 && t.records >= t.limit.Records {
		return true
	}
	return t.limit.Bytes > 0 && t.bytes+int64(len(t.buf)+len(t.enc.tail())) > t.limit.Bytes
}

func (t *text) begin() error {
	if t.file != nil {
		return nil
	}
	file, err := t.next()
	if err != nil {
		return err
	}
	t.file = file
	t.files++
	t.bytes = 0
	return t.put([]byte(t.enc.head()))
}

func (t *text) put(b []byte) error {
	t.bytes += int64(len(b))
	_, err := t.file.Write(b)
	return err
}

func (t *text) EndFile() error {
	if t.file == nil {
		return nil
	}
	err := t.put([]byte(t.enc.tail()))
	t.file = nil
	t.records = 0
	return err
}

func (t *text) Close() error {
	if t.files == 0 {
		if err := t.begin(); err != nil {
			return err
		}
	}
	return errors.Join(t.EndFile())
}
