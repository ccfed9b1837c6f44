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
	if apart := a.Now().Sub(b.Now()).Abs(); apart > time.Second {
		t.Errorf("the replicas' clocks are %v apart", apart)
	}
}
