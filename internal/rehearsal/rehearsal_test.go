package rehearsal

import (
	"os"
	"os/exec"
	"runtime"
	"testing"
)

// child is set in the process of a promise that needs one of its own.
const child = "STRATA_TEST_CHILD"

// What is built at its first use is built once in a process, so this has a process of its own.
func TestWhoHasRehearsedBuildsNoTablesAfterwards(t *testing.T) {
	if os.Getenv(child) == "" {
		program, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), program, "-test.run=^"+t.Name()+"$", "-test.v") //nolint:gosec // this program
		cmd.Env = append(os.Environ(), child+"=1")
		out, err := cmd.CombinedOutput()
		t.Logf("%s", out)
		if err != nil {
			t.Error(err)
		}
		return
	}
	rehearsing := allocatedBy(Run)
	first := allocatedBy(func() { learn("My new flat in Porto has a garden.") })
	t.Logf("allocated: %d bytes to rehearse, %d for the first statement then", rehearsing, first)
	if first > rehearsing/10 {
		t.Errorf("the first statement allocates %d bytes, of %d that rehearsing did: it builds tables", first, rehearsing)
	}
}

// allocatedBy is how many bytes f allocates.
func allocatedBy(f func()) int64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return int64(after.TotalAlloc - before.TotalAlloc) //nolint:gosec // bytes of this process
}

func TestAStatementIsLearnt(t *testing.T) {
	if facts := learn("I moved to Lyon last week."); len(facts) != 1 {
		t.Errorf("%d facts, want one", len(facts))
	}
}
