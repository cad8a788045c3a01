package bus

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/papertrace/patra/internal/app/relay"
)

const (
	// linesAtOnce is how many events are written before the file is synced.
	linesAtOnce = 1000
	// rotateAt is how large a file gets unless its address says otherwise.
	rotateAt = 256 << 20
	// leastRotate is how small it may be told to stay.
	leastRotate = 1 << 10
)

// fileTarget appends events to a file, a line each.
//
// A line that a crash has cut is taken off before the next is written: its event was not
// taken, and comes again whole. Who writes holds a lock on the file while he does, so that
// one that was paused in the midst of it and one that took over from him do not mix theirs.
type fileTarget struct {
	name string
	path string
	// rotate is the size from which on a new file is begun; 0: never.
	rotate int64
}

func newFile(a *address) (relay.Target, error) {
	if err := a.only("rotate"); err != nil {
		return nil, err
	}
	path, err := url.PathUnescape(a.url.Opaque) // of a path that begins where we are
	if a.url.Path != "" {
		path = a.url.Path
	}
	if err != nil || a.url.Host != "" || path == "" {
		return nil, errors.New("it names no file: write file:PATH")
	}
	t := &fileTarget{name: a.name, rotate: rotateAt}
	t.path, err = filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if text := a.options.Get("rotate"); text != "" {
		t.rotate, err = parseSize(text)
		if err != nil || t.rotate != 0 && t.rotate < leastRotate {
			return nil, errors.New("its rotate= is no size: write 256M, 1G, or 0 for one file that grows")
		}
	}
	return t, nil
}

// parseSize reads a number of bytes, or of K, M or G of them.
func parseSize(text string) (int64, error) {
	unit := int64(1)
	switch strings.ToUpper(text[len(text)-1:]) {
	case "K":
		unit = 1 << 10
	case "M":
		unit = 1 << 20
	case "G":
		unit = 1 << 30
	}
	if unit > 1 {
		text = text[:len(text)-1]
	}
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n < 0 {
		return 0, errors.New("no size")
	}
	return n * unit, nil
}

func (t *fileTarget) Name() string { return t.name }

func (t *fileTarget) Kind() string { return kindFile }

func (t *fileTarget) Most() int { return linesAtOnce }

// Publish writes the events and syncs the file: all were taken then, or none.
func (t *fileTarget) Publish(ctx context.Context, ms []relay.Message) []error {
	return same(len(ms), t.write(ctx, ms))
}

func (t *fileTarget) write(ctx context.Context, ms []relay.Message) (err error) {
	f, size, err := t.open(ctx)
	if err != nil {
		return withoutPath(err)
	}
	defer func() { err = withoutPath(errors.Join(err, f.Close())) }()
	var b bytes.Buffer
	for _, m := range ms {
		b.Write(m.Body)
		b.WriteByte('\n')
	}
	if isOver(ctx) {
		return relay.ErrNotTried
	}
	// What of it is in the file after a failure is told by the file the next time.
	if _, err := f.Write(b.Bytes()); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if size == 0 { // the file may be new
		return syncDir(filepath.Dir(t.path))
	}
	return nil
}

// isOver reports whether the time of a context is over, also if nobody has noticed yet:
// a process that was paused goes on before its timers do.
func isOver(ctx context.Context) bool {
	end, has := ctx.Deadline()
	return ctx.Err() != nil || has && !time.Now().Before(end)
}

// open opens the file with a lock on it, and begins another if it is large enough. It
// tells how large the file is.
func (t *fileTarget) open(ctx context.Context) (*os.File, int64, error) {
	for {
		f, err := os.OpenFile(t.path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o640)
		if err != nil {
			return nil, 0, err
		}
		size, again, err := t.settle(ctx, f)
		if err == nil && !again {
			return f, size, nil
		}
		err = errors.Join(err, f.Close())
		if err != nil {
			return nil, 0, err
		}
	}
}

// settle locks an open file and takes a cut line off it; again: it is not the one to be
// written to any more.
func (t *fileTarget) settle(ctx context.Context, f *os.File) (size int64, again bool, err error) {
	if err := lockFile(ctx, f); err != nil {
		return 0, false, err
	}
	is, err := isAt(f, t.path)
	if err != nil || !is {
		return 0, true, err // whoever had the lock has begun another
	}
	size, err = dropCutLine(f)
	if err != nil || t.rotate == 0 || size < t.rotate {
		return size, false, err
	}
	return 0, true, t.rename()
}

// isAt reports whether an open file is the one at a path.
func isAt(f *os.File, path string) (bool, error) {
	open, err := f.Stat()
	if err != nil {
		return false, err
	}
	there, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return os.SameFile(open, there), nil
}

// eventBegins is how every event begins.
const eventBegins = `{"specversion":`

// errOtherText is what a file ends in that somebody else has written.
var errOtherText = errors.New("the file does not end in an event; name another one")

// dropCutLine takes off what stands of an event behind the last end of a line, and tells the size
// that is left. What is of no event is left as it is.
func dropCutLine(f *os.File) (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	size := info.Size()
	buf := make([]byte, 64<<10)
	for at := size; at > 0; {
		n := min(at, int64(len(buf)))
		if _, err := f.ReadAt(buf[:n], at-n); err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
		if i := bytes.LastIndexByte(buf[:n], '\n'); i >= 0 {
			return cutTo(f, size, at-n+int64(i)+1)
		}
		at -= n
	}
	return cutTo(f, size, 0)
}

func cutTo(f *os.File, size, to int64) (int64, error) {
	if size == to {
		return to, nil
	}
	cut := make([]byte, min(size-to, int64(len(eventBegins))))
	if _, err := f.ReadAt(cut, to); err != nil {
		return 0, err
	}
	if !strings.HasPrefix(eventBegins, string(cut)) {
		return 0, errOtherText
	}
	if err := f.Truncate(to); err != nil {
		return 0, err
	}
	return to, f.Sync()
}

// rename gives the file the next free number behind its name: PATH.1 is the oldest.
func (t *fileTarget) rename() error {
	last, err := lastRotated(t.path)
	if err != nil {
		return err
	}
	if err := os.Rename(t.path, t.path+"."+strconv.Itoa(last+1)); err != nil {
		return err
	}
	return syncDir(filepath.Dir(t.path))
}

// lastRotated is the greatest number behind the name of a file that is taken.
func lastRotated(path string) (int, error) {
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return 0, err
	}
	last := 0
	for _, e := range entries {
		rest, ours := strings.CutPrefix(e.Name(), filepath.Base(path)+".")
		n, err := strconv.Atoi(rest)
		if ours && err == nil {
			last = max(last, n)
		}
	}
	return last, nil
}

// syncDir makes durable which files a directory has.
func syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Close implements relay.Target.
func (t *fileTarget) Close() error { return nil }

// withoutPath is an error of a file that tells what failed.
func withoutPath(err error) error {
	if e, is := errors.AsType[*os.PathError](err); is {
		return fmt.Errorf("%s %s: %w", e.Op, filepath.Base(e.Path), e.Err)
	}
	return err
}

// stdoutTarget writes events to the standard output, a line each.
type stdoutTarget struct {
	name string
	out  io.Writer
}

func newStdout(a *address, out *os.File) (relay.Target, error) {
	if out == nil {
		out = os.Stdout
	}
	return &stdoutTarget{name: a.name, out: out}, a.only()
}

func (t *stdoutTarget) Name() string { return t.name }

func (t *stdoutTarget) Kind() string { return kindStdout }

func (t *stdoutTarget) Most() int { return linesAtOnce }

func (t *stdoutTarget) Close() error { return nil }

// Publish implements relay.Target.
func (t *stdoutTarget) Publish(_ context.Context, ms []relay.Message) []error {
	var b bytes.Buffer
	for _, m := range ms {
		b.Write(m.Body)
		b.WriteByte('\n')
	}
	_, err := t.out.Write(b.Bytes())
	return same(len(ms), err)
}
