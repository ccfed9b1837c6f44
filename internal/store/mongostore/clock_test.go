package mongostore_test

import (
	"testing"
	"time"
)

func TestReplicasGoByTheServersClock(t *testing.T) {
	a, b, _ := pair(t)
	if !a.ServerTold() || !b.ServerTold() {
		t.Fatal("the server did not tell its time")
	}
	// A reading is off by half of what it took, on a machine that does other work by more than one would think.
	if apart := a.Now().Sub(b.Now()).Abs(); apart > 20*time.Second {
		t.Errorf("the replicas' clocks are %v apart", apart)
	}
}
