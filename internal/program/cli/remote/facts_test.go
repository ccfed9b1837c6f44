package remote

import (
	"strings"
	"testing"

	"github.com/stratamem/strata/internal/program/cli/terminal"
)

func TestAnEditNamesWhatItChanges(t *testing.T) {
	text, pinned := "x", false
	req, err := (&factsEditCmd{User: "ada", Fact: "f", Text: &text, Pinned: &pinned, Current: true}).request()
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(req.GetUpdateMask().GetPaths(), " "); got != "text valid_to pinned" || req.GetFact().GetValidTo() != nil {
		t.Errorf("got %s, %v", got, req.GetFact())
	}
	if _, err := (&factsEditCmd{Current: true, ValidTo: &terminal.Instant{}}).request(); err == nil {
		t.Error("a fact that holds and does not was accepted")
	}
}
