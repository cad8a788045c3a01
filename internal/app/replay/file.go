package replay

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

// A black box as a file is a stream of lines, each a JSON object, compressed by zstd:
//
//	{"blackbox":1,"batch":"17/3",...}      the box without its items
//	{"item":{...}}                         once for each item
//	{"end":{"items":50,"sha256":"..."}}    over all bytes before this line
//
// The last line is what tells a whole file from one that was cut.

// line is any line but the first.
type line struct {
	Item *Item    `json:"item,omitempty"`
	End  *endLine `json:"end,omitempty"`
}

type endLine struct {
	Items  int    `json:"items"`
	SHA256 string `json:"sha256"`
}

// maxLine bounds a line: a record has at most as many bytes as a reply.
const maxLine = 256 << 20

// Write writes the box as a file.
func (b *Box) Write(w io.Writer) error {
	packed, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return fmt.Errorf("write black box: %w", err)
	}
	digest := sha256.New()
	to := json.NewEncoder(io.MultiWriter(packed, digest))
	to.SetEscapeHTML(false)
	head := *b
	head.Items = []Item{}
	err = to.Encode(head)
	for i := range b.Items {
		if err == nil {
			err = to.Encode(line{Item: &b.Items[i]})
		}
	}
	if err == nil {
		end := endLine{Items: len(b.Items), SHA256: hex.EncodeToString(digest.Sum(nil))}
		err = to.Encode(line{End: &end})
	}
	if err = errors.Join(err, packed.Close()); err != nil {
		return fmt.Errorf("write black box: %w", err)
	}
	return nil
}

// BrokenError says that a file is no whole black box.
type BrokenError struct {
	// Box is what could be read of it, nil if nothing could.
	Box   *Box
	Cause error
}

func (e *BrokenError) Error() string { return "the file is no whole black box: " + e.Cause.Error() }

func (e *BrokenError) Unwrap() error { return e.Cause }

var (
	errCut   = errors.New("it ends before its end")
	errOther = errors.New("its contents are not those that were written")
)

// Read reads a box from a file. The error is a [*BrokenError] if it is not whole.
func Read(r io.Reader) (*Box, error) {
	packed, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxLine))
	if err != nil {
		return nil, &BrokenError{Cause: err}
	}
	defer packed.Close()
	in := bufio.NewReaderSize(packed, 1<<16)
	digest := sha256.New()
	first, err := readLine(in)
	if err != nil {
		return nil, &BrokenError{Cause: err}
	}
	digest.Write(first)
	box := new(Box)
	if err := json.Unmarshal(first, box); err != nil {
		return nil, &BrokenError{Cause: err}
	}
	if box.Format < 1 || box.Format > Format {
		return nil, &BrokenError{Cause: fmt.Errorf("it has version %d, and this patra reads up to %d", box.Format, Format)}
	}
	box.Items = []Item{}
	for {
		text, err := readLine(in)
		var next line
		if err == nil {
			err = json.Unmarshal(text, &next)
		}
		switch {
		case err != nil:
			return nil, &BrokenError{Box: box, Cause: err}
		case next.Item != nil:
			digest.Write(text)
			box.Items = append(box.Items, *next.Item)
			continue
		case next.End == nil || next.End.Items != len(box.Items) || next.End.SHA256 != hex.EncodeToString(digest.Sum(nil)):
			return nil, &BrokenError{Box: box, Cause: errOther}
		}
		return box, nil
	}
}

// readLine reads a line with its end.
func readLine(in *bufio.Reader) ([]byte, error) {
	var text []byte
	for {
		part, err := in.ReadSlice('\n')
		text = append(text, part...)
		switch {
		case len(text) > maxLine:
			return nil, errors.New("a line of it is too long")
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
			return nil, errCut
		case err != nil:
			return nil, err
		}
		return bytes.Clone(text), nil
	}
}

// Report is the report about a file that is no whole black box: nothing can be replayed
// of what may be missing.
func (e *BrokenError) Report(name string, probe bool) Report {
	r := newReport(name, probe)
	if e.Box != nil {
		r.Batch = e.Box.Batch
		r.Correlation = e.Box.Correlation
		r.Source = e.Box.Lineage.Source
	}
	r.blame(NotReproduced, e.Error())
	return r.conclude()
}
