package archive

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/klauspost/compress/zstd"
	"github.com/papertrace/patra/internal/app/retention"
)

// Find hands those lines of a file to f that have a key. It reads the frames that the index
// names and no others.
func (d *Dir) Find(ctx context.Context, name, key string, f func(retention.Line) error) (err error) {
	frames, err := d.lookUp(name+indexEnding, encodeKey(key))
	if err != nil {
		return fmt.Errorf("index of archive %s: %w", name, err)
	}
	if len(frames) == 0 {
		return nil
	}
	file, err := d.open(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return err
	}
	defer dec.Close()
	for _, at := range frames {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := findInFrame(file, dec, at, key, f); err != nil {
			return fmt.Errorf("archive %s: %w", name, err)
		}
	}
	return nil
}

// findInFrame hands those lines of a frame to f that have a key.
func findInFrame(file io.ReaderAt, dec *zstd.Decoder, at frame, key string, f func(retention.Line) error) error {
	packed := make([]byte, at.length)
	if _, err := file.ReadAt(packed, at.at); err != nil {
		return err
	}
	text, err := dec.DecodeAll(packed, nil)
	if err != nil {
		return err
	}
	for line := range bytes.Lines(text) {
		var l retention.Line
		if err := json.Unmarshal(line, &l); err != nil {
			return err
		}
		if !slices.Contains(l.Keys, key) {
			continue
		}
		if err := f(l); err != nil {
			return err
		}
	}
	return nil
}

// lookUp finds the frames of a key in an index by halving it: lines are sorted by key.
func (d *Dir) lookUp(index, key string) (frames []frame, err error) {
	f, err := d.open(index)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	// Lines that begin before low have smaller keys, those that begin at high or after do not.
	low := int64(0)
	high := info.Size()
	for low < high {
		middle := low + (high-low)/2
		at, line, err := lineAfter(f, middle, info.Size())
		if err != nil {
			return nil, err
		}
		if at >= high || line == "" {
			high = middle
			continue
		}
		if k, _, _ := strings.Cut(line, "\t"); k < key {
			low = at + int64(len(line)) + 1
		} else {
			high = middle
		}
	}
	at, _, err := lineAfter(f, low, info.Size())
	if err != nil {
		return nil, err
	}
	r := bufio.NewReader(io.NewSectionReader(f, at, info.Size()-at))
	for {
		line, err := r.ReadString('\n')
		if errors.Is(err, io.EOF) && line == "" {
			return frames, nil
		}
		if err != nil {
			return nil, err
		}
		k, place, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if k != key {
			return frames, nil
		}
		one, err := parseFrame(place)
		if err != nil {
			return nil, err
		}
		frames = append(frames, one)
	}
}

// lineAfter reads the first line that begins at a place or after it, and says where; empty
// if there is none.
func lineAfter(f io.ReaderAt, place, size int64) (at int64, line string, err error) {
	from := max(0, place-1)
	r := bufio.NewReader(io.NewSectionReader(f, from, size-from))
	at = place
	if place > 0 {
		// The rest of the line before it, of which the last character may be all.
		skipped, err := r.ReadString('\n')
		if errors.Is(err, io.EOF) {
			return size, "", nil
		}
		if err != nil {
			return 0, "", err
		}
		at = from + int64(len(skipped))
	}
	line, err = r.ReadString('\n')
	if errors.Is(err, io.EOF) {
		return size, "", nil
	}
	return at, strings.TrimSuffix(line, "\n"), err
}

func parseFrame(place string) (f frame, err error) {
	at, length, ok := strings.Cut(place, "\t")
	if !ok {
		return f, fmt.Errorf("%q is no place of a frame", place)
	}
	f.at, err = strconv.ParseInt(at, 10, 64)
	if err != nil {
		return f, err
	}
	f.length, err = strconv.ParseInt(length, 10, 64)
	return f, err
}
