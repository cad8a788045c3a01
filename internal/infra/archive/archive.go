// Package archive keeps rows that were moved out of the database: files of JSON lines,
// compressed with zstd, and beside each an index of what its rows are found by.
//
// A file is made of frames that can be read alone, each of whole lines, so that a row is
// found by reading one frame. The index is text: lines of key, place and length of a frame,
// sorted by key. It holds nothing that the file does not.
//
// It promises that a file which it calls written is whole, synced and was read back, and
// that one which was begun and not finished never bears the name of a whole one.
package archive

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/papertrace/patra/internal/app/retention"
)

// Dir is a directory of archives.
type Dir struct{ path string }

// New is the archive in a directory, which is made when it is first written to.
func New(path string) *Dir { return &Dir{path: path} }

// At is [New], and nothing for no directory.
func At(path string) retention.Files {
	if path == "" {
		return nil
	}
	return New(path)
}

// Beside is the directory for the archives of a store that is a file; empty if it is none.
func Beside(dsn string) string {
	path, isFile := strings.CutPrefix(dsn, "sqlite:")
	if !isFile || path == "" {
		return ""
	}
	return strings.TrimPrefix(path, "//") + ".archive"
}

// Where it is.
func (d *Dir) Where() string { return d.path }

const (
	indexEnding = ".index"
	begun       = ".begun"
	// frameSize is about how many bytes of lines one frame holds.
	frameSize = 256 << 10
)

// frame is a part of a file that can be read alone.
type frame struct{ at, length int64 }

// writer writes the frames of a file.
type writer struct {
	out    io.Writer
	enc    *zstd.Encoder
	whole  hash.Hash // of the file
	lines  hash.Hash // of what it holds
	buf    bytes.Buffer
	packed []byte
	keys   map[string]bool // of the frame that is being filled
	at     int64
	rows   int64
	index  []entry
}

// entry is a line of the index, with its key as it is written there.
type entry struct {
	key string
	frame
}

func (w *writer) add(l retention.Line) error {
	text, err := json.Marshal(l)
	if err != nil {
		return fmt.Errorf("marshal a row of %s: %w", l.Table, err)
	}
	w.buf.Write(text)
	w.buf.WriteByte('\n')
	w.rows++
	for _, k := range l.Keys {
		w.keys[k] = true
	}
	if w.buf.Len() < frameSize {
		return nil
	}
	return w.endFrame()
}

// endFrame writes what was gathered as a frame.
func (w *writer) endFrame() error {
	if w.buf.Len() == 0 {
		return nil
	}
	w.lines.Write(w.buf.Bytes())
	w.packed = w.enc.EncodeAll(w.buf.Bytes(), w.packed[:0])
	if _, err := w.out.Write(w.packed); err != nil {
		return err
	}
	w.whole.Write(w.packed)
	f := frame{at: w.at, length: int64(len(w.packed))}
	for k := range w.keys {
		w.index = append(w.index, entry{key: encodeKey(k), frame: f})
	}
	clear(w.keys)
	w.buf.Reset()
	w.at += f.length
	return nil
}

// Write makes a file of the rows that write adds, with its index: both synced, and the file
// read back. They get their names from [Dir.Keep].
func (d *Dir) Write(ctx context.Context, name string, write func(add func(retention.Line) error) error) (retention.Written, error) {
	out := retention.Written{File: name}
	if err := os.MkdirAll(d.path, 0o700); err != nil {
		return out, err
	}
	root, err := os.OpenRoot(d.path)
	if err != nil {
		return out, err
	}
	defer root.Close()
	w, err := writeRows(root, name+begun, write)
	if err != nil {
		return out, err
	}
	if err := readBack(ctx, root, name+begun, w); err != nil {
		return out, fmt.Errorf("read back what was written: %w", err)
	}
	if err := writeIndex(root, name+indexEnding+begun, w.index); err != nil {
		return out, err
	}
	if err := syncDir(root); err != nil {
		return out, err
	}
	out.SHA256 = hex.EncodeToString(w.whole.Sum(nil))
	out.Bytes = w.at
	out.Rows = w.rows
	return out, nil
}

// Keep gives a file that was written, and its index, their names.
func (d *Dir) Keep(_ context.Context, name string) error {
	root, err := os.OpenRoot(d.path)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, n := range []string{name + indexEnding, name} {
		_, err := root.Stat(n)
		if err == nil {
			continue
		}
		if err := root.Rename(n+begun, n); err != nil {
			return err
		}
	}
	return syncDir(root)
}

// writeRows writes a file and syncs it.
func writeRows(root *os.Root, name string, write func(add func(retention.Line) error) error) (w *writer, err error) {
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	w = &writer{out: f, enc: enc, whole: sha256.New(), lines: sha256.New(), keys: map[string]bool{}}
	if err := write(w.add); err != nil {
		return nil, err
	}
	if err := w.endFrame(); err != nil {
		return nil, err
	}
	return w, f.Sync()
}

// readBack holds a file against what was to be written.
func readBack(ctx context.Context, root *os.Root, name string, w *writer) (err error) {
	f, err := root.Open(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	whole := sha256.New()
	lines := sha256.New()
	dec, err := zstd.NewReader(io.TeeReader(f, whole), zstd.WithDecoderConcurrency(1))
	if err != nil {
		return err
	}
	defer dec.Close()
	rows := int64(0)
	r := bufio.NewReaderSize(dec, frameSize)
	for {
		line, err := r.ReadBytes('\n')
		lines.Write(line)
		if len(line) > 0 {
			rows++
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	if rows != w.rows || !bytes.Equal(lines.Sum(nil), w.lines.Sum(nil)) || !bytes.Equal(whole.Sum(nil), w.whole.Sum(nil)) {
		return fmt.Errorf("%d rows of %d came back, or not as they were: is the disk sound?", rows, w.rows)
	}
	return nil
}

// writeIndex writes the index of a file and syncs it. A key is there once for every frame
// with a row that has it.
func writeIndex(root *os.Root, name string, index []entry) (err error) {
	slices.SortFunc(index, func(a, b entry) int { return cmp.Or(strings.Compare(a.key, b.key), cmp.Compare(a.at, b.at)) })
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	out := bufio.NewWriter(f)
	for _, e := range index {
		if _, err := fmt.Fprintf(out, "%s\t%d\t%d\n", e.key, e.at, e.length); err != nil {
			return err
		}
	}
	if err := out.Flush(); err != nil {
		return err
	}
	return f.Sync()
}

// encodeKey writes a key so that it is one field of one line.
func encodeKey(key string) string {
	return strings.NewReplacer("\\", `\\`, "\t", `\t`, "\n", `\n`).Replace(key)
}

// syncDir makes names durable.
func syncDir(root *os.Root) (err error) {
	dir, err := root.Open(".")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	return dir.Sync()
}

// begunLongAgo is how old a file must be that was begun and not finished to be removed: by
// then nobody writes it any more, be it the archiver of another store.
const begunLongAgo = 24 * time.Hour

// Sweep removes files that were begun long ago and are not to be kept.
func (d *Dir) Sweep(_ context.Context, keep func(name string) bool) error {
	root, err := os.OpenRoot(d.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer root.Close()
	files, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return err
	}
	for _, f := range files {
		name, isBegun := strings.CutSuffix(f.Name(), begun)
		if !isBegun || keep(strings.TrimSuffix(name, indexEnding)) {
			continue
		}
		info, err := f.Info()
		if err != nil {
			return err
		}
		if time.Since(info.ModTime()) < begunLongAgo {
			continue
		}
		if err := root.Remove(f.Name()); err != nil {
			return err
		}
	}
	return nil
}

// Check holds a file against its size, and if deep is set against its hash.
func (d *Dir) Check(ctx context.Context, w retention.Written, deep bool) (err error) {
	f, err := d.open(w.File)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if info.Size() != w.Bytes {
		return fmt.Errorf("it has %d bytes, %d were written", info.Size(), w.Bytes)
	}
	if !deep {
		return nil
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, &heeding{ctx: ctx, r: f}); err != nil {
		return err
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != w.SHA256 {
		return fmt.Errorf("its bytes hash to %s, recorded is %s", got, w.SHA256)
	}
	return nil
}

// heeding reads until its context ends.
type heeding struct {
	ctx context.Context
	r   io.Reader
}

func (h *heeding) Read(p []byte) (int, error) {
	if h.ctx.Err() != nil {
		return 0, context.Cause(h.ctx)
	}
	return h.r.Read(p)
}

func (d *Dir) open(name string) (*os.File, error) {
	root, err := os.OpenRoot(d.path)
	if err != nil {
		return nil, err
	}
	f, err := root.Open(name)
	if errors.Is(err, fs.ErrNotExist) { // it was written and has not got its name yet
		f, err = root.Open(name + begun)
	}
	return f, errors.Join(err, root.Close())
}
