package remote

import (
	"testing"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/program/cli/terminal"
)

func TestHighlightsCountCodePoints(t *testing.T) {
	hit := &memoryv1.MessageHit{Snippet: "저는 비건 입니다", Highlights: []*memoryv1.TextRange{{Start: 3, End: 5}, {Start: 4, End: 99}}}
	if got := highlighted(terminal.Palette{On: true}, hit); got != "저는 \x1b[33m비건\x1b[0m 입니다" {
		t.Errorf("got %q", got)
	}
	if got := highlighted(terminal.Palette{}, hit); got != "저는 비건 입니다" {
		t.Errorf("got %q", got)
	}
}
