package ledger

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

const fileMode = 0o600

// File keeps lines in a file, for one process at a time.
type File struct {
	path string
	mu   sync.Mutex
}

var _ Lines = (*File)(nil)

// OpenFile returns the lines at path. The file is made when the first line is appended.
func OpenFile(path string) *File { return &File{path: path} }

// AppendLine implements Lines. A line that a crash cut short is ended first, so that it does not take the new one with it.
func (f *File) AppendLine(ctx context.Context, line []byte) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	_, err := os.Stat(f.path)
	isNew := errors.Is(err, fs.ErrNotExist)
	file, err := os.OpenFile(f.path, os.O_CREATE|os.O_RDWR|os.O_APPEND, fileMode)
	if err != nil {
		return err
	}
	cut, err := isCut(file)
	if err == nil {
		var b []byte
		if cut {
			b = append(b, '\n')
		}
		_, err = file.Write(append(append(b, line...), '\n'))
	}
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil || !isNew {
		return err
	}
	return syncDir(filepath.Dir(f.path))
}

// isCut reports whether the file does not end with the end of a line.
func isCut(f *os.File) (bool, error) {
	st, err := f.Stat()
	if err != nil || st.Size() == 0 {
		return false, err
	}
	last := make([]byte, 1)
	_, err = f.ReadAt(last, st.Size()-1)
	return last[0] != '\n', err
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Lines implements Lines. A line that does not end as an object does was cut short by a crash before it was acknowledged.
func (f *File) Lines(ctx context.Context) ([][]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	f.mu.Lock()
	data, err := os.ReadFile(f.path)
	f.mu.Unlock()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all [][]byte
	for line := range bytes.SplitSeq(data, []byte{'\n'}) {
		if bytes.HasSuffix(line, []byte{'}'}) {
			all = append(all, line)
		}
	}
	return all, nil
}
