package cli

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReleaseBinary(t *testing.T) {
	t.Run("the program goes on with fewer pages of its file", func(t *testing.T) {
		before := filePages(t)
		if err := releaseBinary(); err != nil {
			t.Fatal(err)
		}
		if after := filePages(t); after >= before {
			t.Errorf("%d KiB of files are mapped after %d KiB", after, before)
		}
	})
}

// filePages is how much of files this process has in memory, in KiB.
func filePages(t *testing.T) int {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "RssFile:"); ok {
			n, err := strconv.Atoi(strings.Fields(rest)[0])
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatal("the kernel does not say how much of files is in memory")
	return 0
}

const smaps = `00400000-01eba000 r-xp 00000000 fe:00 247026                             /opt/a b/strata
Rss:               19616 kB
Anonymous:             0 kB
VmFlags: rd ex mr mw me
01eba000-04fc5000 r--p 01aba000 fe:00 247026                             /opt/a b/strata
Anonymous:             0 kB
04fc5000-05000000 r--p 04bc5000 fe:00 247026                             /opt/a b/strata
Anonymous:            12 kB
05000000-05160000 rw-p 04c00000 fe:00 247026                             /opt/a b/strata
Anonymous:             0 kB
05160000-071b8000 rw-p 00000000 00:00 0
Anonymous:             0 kB
7f0000000000-7f0000010000 r--s 00000000 fe:00 99                         /data/strata.db-shm
Anonymous:             0 kB
7f0000010000-7f0000020000 r--p 00000000 fe:00 247026                     /opt/a b/strata
Rss:                   4 kB
`

func TestUnchangedMappings(t *testing.T) {
	t.Run("code and read-only data of the file are found, and nothing that was or may be changed", func(t *testing.T) {
		got, err := unchangedMappings(strings.NewReader(smaps), "/opt/a b/strata")
		if err != nil {
			t.Fatal(err)
		}
		want := []mapping{{from: 0x400000, to: 0x1eba000, code: true}, {from: 0x1eba000, to: 0x4fc5000}}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(mapping{})); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("addresses that cannot be read are an error", func(t *testing.T) {
		for _, line := range []string{"x-2 r--p 0 fe:00 1 /strata\n", "1 r--p 0 fe:00 1 /strata\n"} {
			if got, err := unchangedMappings(strings.NewReader(line), "/strata"); err == nil {
				t.Errorf("%q: %v", line, got)
			}
		}
	})
}
