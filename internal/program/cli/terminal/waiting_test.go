package terminal

import (
	"testing"
	"time"
)

func TestACommandThatWaitsLongAsksSeldom(t *testing.T) {
	const inOneCall = 10 * time.Second // by default the server waits no longer
	for longest, atMost := range map[time.Duration]int{5 * time.Second: 1, time.Minute: 6, time.Hour: 50, 24 * time.Hour: 85} {
		questions := 0
		for waited := time.Duration(0); waited < longest; questions++ {
			if questions > 0 {
				pause := pauseBetween(waited, longest-waited)
				if pause > waited/10 {
					t.Fatalf("after %s: a pause of %s, so that the end is seen late", waited, pause)
				}
				waited += pause
			}
			waited += min(inOneCall, longest-waited)
		}
		if questions > atMost {
			t.Errorf("%s: %d questions, each with an entry in the audit", longest, questions)
		}
	}
}
