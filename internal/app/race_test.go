//go:build race

package app_test

// raceSlows is how many times longer than usual all may take: the race detector makes these tests three to four times slower.
const raceSlows = 4
