//go:build !linux

package admission

// lowerThread does nothing: only Linux knows priorities of single threads.
func lowerThread() {}
