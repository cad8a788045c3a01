package sourcefile

import (
	"fmt"
	"io"
	"io/fs"
	"os"
)

// ReadFile reads the text of a pack. Only a regular file is opened, and no more
// of it is read than a pack may have: a pipe would keep its reader waiting, a
// device might never end.
func ReadFile(name string) ([]byte, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	return read(info, name, func() (io.ReadCloser, error) { return os.Open(name) })
}

// ReadFS is [ReadFile] for a file of a file system.
func ReadFS(fsys fs.FS, name string) ([]byte, error) {
	info, err := fs.Stat(fsys, name)
	if err != nil {
		return nil, err
	}
	return read(info, name, func() (io.ReadCloser, error) { return fsys.Open(name) })
}

func read(info fs.FileInfo, name string, open func() (io.ReadCloser, error)) ([]byte, error) {
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is %s, not a file; write the pack to a file first", name, kindOfFile(info.Mode()))
	}
	f, err := open()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	// One byte more than allowed lets Parse see that the file is too large.
	return io.ReadAll(io.LimitReader(f, MaxSize+1))
}

func kindOfFile(m fs.FileMode) string {
	switch {
	case m.IsDir():
		return "a folder"
	case m&fs.ModeNamedPipe != 0:
		return "a pipe"
	case m&fs.ModeDevice != 0:
		return "a device"
	case m&fs.ModeSocket != 0:
		return "a socket"
	}
	return "something else"
}
