package app

import (
	"os"
	"os/exec"
	"runtime"
	"testing"
)

// warmUpChild is set in the process of a promise that needs one of its own.
const warmUpChild = "STRATA_TEST_CHILD"

// What is built at its first use is built once in a process, so this has a process of its own.
func TestAWarmServerBuildsNoTablesAfterwards(t *testing.T) {
	if os.Getenv(warmUpChild) == "" {
		program, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), program, "-test.run=^"+t.Name()+"$", "-test.v") //nolint:gosec // this program
		cmd.Env = append(os.Environ(), warmUpChild+"=1")
		out, err := cmd.CombinedOutput()
		t.Logf("%s", out)
		if err != nil {
			t.Error(err)
		}
		return
	}
	warming := allocatedBy(warmUp)
	first := allocatedBy(func() { warmUpWith("My new flat in Porto has a garden.") })
	t.Logf("allocated: %d bytes to warm up, %d for the first statement then", warming, first)
	if first > warming/10 {
		t.Errorf("the first statement allocates %d bytes, of %d that warming up did: it builds tables", first, warming)
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

func TestTheStatementOfTheWarmUpIsLearnt(t *testing.T) {
	if facts := warmUpWith("I moved to Lyon last week."); len(facts) != 1 {
		t.Errorf("%d facts, want one", len(facts))
	}
}
