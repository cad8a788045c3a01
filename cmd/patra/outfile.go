package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// outFile is written beside the place where it belongs, and put there when it is
// whole. A link is followed, also to a file that is not there yet. A new file can be
// read by its owner alone, one that is there keeps its mode; what is no file, such as
// stdout, a pipe or a device, is written to as it is.
type outFile struct {
	*bufio.Writer
	file *os.File
	temp string // where it is until it is whole; empty for what is no file
}

const outBuffer = 1 << 16

// outName is "-" for every name of stdout, such as /dev/stdout: what goes there is not put in the
// place of anything, and nothing is written beside it.
func outName(name string) string {
	is, err := os.Stat(name)
	own, ownErr := os.Stdout.Stat()
	if err == nil && ownErr == nil && os.SameFile(is, own) {
		return "-"
	}
	return name
}

// openOut opens what a name leads to; "-" is stdout.
func openOut(stdout io.Writer, name string) (*outFile, error) {
	if outName(name) == "-" {
		return &outFile{Writer: bufio.NewWriterSize(stdout, outBuffer)}, nil
	}
	// Before links are followed: one to a pipe may lead to no path.
	is, err := os.Stat(name)
	switch {
	case err == nil && is.IsDir():
		return nil, &usageError{err: fmt.Errorf("--out %s is a folder; name a file in it", name)}
	case err == nil && !is.Mode().IsRegular():
		f, err := os.OpenFile(name, os.O_WRONLY, 0)
		if err != nil {
			return nil, fmt.Errorf("write %s: %w", name, err)
		}
		return &outFile{Writer: bufio.NewWriterSize(f, outBuffer), file: f}, nil
	}
	name, err = followLinks(name)
	if err != nil {
		return nil, err
	}
	return tempOut(name)
}

// tempOut opens a file beside the one it shall be.
func tempOut(name string) (*outFile, error) {
	for no := 0; ; no++ {
		temp := fmt.Sprintf("%s.%d-%d.tmp", name, os.Getpid(), no)
		f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		switch {
		case errors.Is(err, fs.ErrExist) && no < 10_000:
			continue // another file of the same export
		case err != nil:
			return nil, fmt.Errorf("write %s: %w", name, err)
		}
		return &outFile{Writer: bufio.NewWriterSize(f, outBuffer), file: f, temp: temp}, nil
	}
}

// finish makes durable what was written.
func (o *outFile) finish() error {
	err := o.Flush()
	if o.file == nil {
		return err
	}
	if o.temp != "" {
		err = errors.Join(err, o.file.Sync())
	}
	return errors.Join(err, o.file.Close())
}

// place puts a finished file under its name.
func (o *outFile) place(name string) error {
	if o.temp == "" {
		return nil
	}
	name, err := followLinks(name)
	if err != nil {
		return err
	}
	mode := fs.FileMode(0o600)
	if is, err := os.Stat(name); err == nil {
		mode = is.Mode().Perm()
	}
	if err := os.Chmod(o.temp, mode); err != nil {
		return err
	}
	return os.Rename(o.temp, name)
}

// discard removes a file that was not put under its name.
func (o *outFile) discard() error {
	if o.temp == "" {
		return nil
	}
	err := os.Remove(o.temp)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// writeOut writes one file, whole or not at all.
func writeOut(stdout io.Writer, name string, write func(io.Writer) error) error {
	f, err := openOut(stdout, name)
	if err != nil {
		return err
	}
	err = errors.Join(write(f), f.finish())
	if err == nil {
		err = f.place(name)
	}
	if err != nil {
		return errors.Join(err, f.discard())
	}
	return nil
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
