//go:build !race

package app_test

// raceSlows is how many times longer than usual all may take.
const raceSlows = 1
