//go:build !linux

package sqlitestore

import "os"

// openLocked opens the file and creates it when there is none. Here every lock on the file itself would meet SQLite's own.
func openLocked(path string) (f *os.File, held bool, err error) {
	f, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE, fileMode)
	return f, false, err
}
