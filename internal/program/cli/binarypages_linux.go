package cli

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// releaseBinary gives back the pages of the program's own file, code and read-only data. Those that are used again are mapped again
// from the page cache, or read when the system has dropped them there. A start runs through initialisers, tables and drivers all over
// the file, and the system maps the pages around each one that is touched: a server at rest needs a fraction of them.
func releaseBinary() error {
	program, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return fmt.Errorf("find the program's file: %w", err)
	}
	f, err := os.Open("/proc/self/smaps")
	if err != nil {
		return fmt.Errorf("read the process's mappings: %w", err)
	}
	defer f.Close() //nolint:errcheck // only read
	found, err := unchangedMappings(f, program)
	if err != nil {
		return err
	}
	for _, m := range found {
		if !m.code {
			// For one entry of a table its huge page would be mapped whole, where the file's system keeps those. A kernel without
			// huge pages refuses, and need not be asked.
			_ = m.advise(unix.MADV_NOHUGEPAGE)
		}
		if err := m.advise(unix.MADV_DONTNEED); err != nil {
			return fmt.Errorf("give back pages %x to %x of %s: %w", m.from, m.to, program, err)
		}
	}
	return nil
}

// mapping is a range of addresses.
type mapping struct {
	from, to  uintptr
	code      bool
	anonymous bool // whether pages of it differ from the file, so that they would be lost
}

func (m mapping) advise(advice uintptr) error {
	if _, _, errno := unix.Syscall(unix.SYS_MADVISE, m.from, m.to-m.from, advice); errno != 0 {
		return errno
	}
	return nil
}

// unchangedMappings reads /proc/PID/smaps and returns where the file is mapped for reading alone and no page was changed: not by
// relocations before it became read-only, not by a debugger. Source: proc_pid_smaps(5).
func unchangedMappings(smaps io.Reader, file string) ([]mapping, error) {
	var found []mapping
	inFile := false
	lines := bufio.NewScanner(smaps)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 2 {
			continue
		}
		if strings.HasSuffix(fields[0], ":") {
			if inFile && fields[0] == "Anonymous:" {
				found[len(found)-1].anonymous = fields[1] != "0"
			}
			continue
		}
		// address, permissions, offset, device, inode, path
		inFile = len(fields) > 5 && strings.Join(fields[5:], " ") == file && !strings.Contains(fields[1], "w")
		if !inFile {
			continue
		}
		m, err := addresses(fields[0])
		if err != nil {
			return nil, err
		}
		m.code = strings.Contains(fields[1], "x")
		m.anonymous = true // until its line has come
		found = append(found, m)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read the process's mappings: %w", err)
	}
	return slices.DeleteFunc(found, func(m mapping) bool { return m.anonymous }), nil
}

// addresses reads "from-to", in hexadecimal digits.
func addresses(s string) (m mapping, err error) {
	from, to, _ := strings.Cut(s, "-")
	for _, part := range []struct {
		digits string
		at     *uintptr
	}{{from, &m.from}, {to, &m.to}} {
		n, err := strconv.ParseUint(part.digits, 16, strconv.IntSize)
		if err != nil {
			return mapping{}, fmt.Errorf("read the addresses %q of a mapping: %w", s, err)
		}
		*part.at = uintptr(n)
	}
	return m, nil
}
