package admission

import (
	"runtime"
	"syscall"
)

// lowered is by how much the nice value of a heavy call's thread is higher than the process's. Beside a thread of a small call that is
// ready it gets about a tenth of a processor, enough not to be late for the collector's pauses; alone it gets all of it.
const lowered = 10

// highestNice is that of the thread that waits for all others.
const highestNice = 19

// lowerThread has the kernel run the goroutine after others of the process, as long as it lives: a thread may not raise itself again, so
// that it ends with its goroutine, and the runtime starts no other from it. Where the kernel does not allow it nothing changes.
func lowerThread() {
	runtime.LockOSThread() // and never unlocked, which ends the thread
	const thisThread = 0
	priority, err := syscall.Getpriority(syscall.PRIO_PROCESS, thisThread)
	if err != nil {
		return
	}
	nice := 20 - priority // the system call returns it so, to have no negative result
	_ = syscall.Setpriority(syscall.PRIO_PROCESS, thisThread, min(nice+lowered, highestNice))
}
