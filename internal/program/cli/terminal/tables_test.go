package terminal

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rivo/uniseg"
)

func TestTextOfOthersCannotDriveTheTerminal(t *testing.T) {
	if got := Clean("a\x1b[2Jb\x07\u009bc\td\n\u202ee\u2066f"); got != "a�[2Jb��c\td\n�e�f" {
		t.Errorf("got %q", got)
	}
}

func TestTablesFitTheTerminalByCells(t *testing.T) {
	var out bytes.Buffer
	r := &Run{Printer: Printer{Env: Env{Width: 40}}}
	r.Table(&out, slices.Concat(Whole.Columns("who"), Cut.Columns("text")), [][]string{{"아다", strings.Repeat("한국어 ", 20)}, {"ada", "short"}})
	lines := strings.Split(out.String(), "\n")
	if !strings.HasPrefix(lines[1], "아다  한국어") || !strings.HasPrefix(lines[2], "ada   short") || !strings.HasSuffix(lines[1], "…") {
		t.Errorf("columns shift:\n%s", out.String())
	}
}

func TestPagesStopAtTheLimitAndSayThatThereIsMore(t *testing.T) {
	stored := 25
	for _, c := range []struct {
		limit AtMost
		want  int
		more  bool
	}{{0, 25, false}, {10, 10, true}, {12, 12, true}, {25, 25, false}, {99, 25, false}} {
		have := 0
		more, err := Pages(c.limit, 10, func(size int32, _ string) (int, string, error) {
			have = min(have+int(size), stored)
			if have == stored {
				return have, "", nil
			}
			return have, "next", nil
		})
		if err != nil || have != c.want || more != "" != c.more {
			t.Errorf("limit %d: %d gathered, more is %q, %v", c.limit, have, more, err)
		}
	}
}

func TestATableFitsItsWidth(t *testing.T) {
	text := strings.Repeat("我住在柏林 👩‍👩‍👧‍👦 나는 비건입니다 ❤️ 日本語の会話 e\u0301\u0301 ", 9) // wide characters, and characters of several code points
	columns := slices.Concat(Whole.Columns("id"), Cut.Columns("who", "text"), Wrapped.Columns("notes"))
	rows := [][]string{{"0199aaaa", "ada", text, text}, {"0199aaab", strings.Repeat("a", 300), "short", strings.Repeat("b", 300)}}
	for _, width := range []int{40, 80, 81, 200} {
		t.Run(fmt.Sprintf("of %d columns", width), func(t *testing.T) {
			var out bytes.Buffer
			WriteTable(&out, columns, rows, width)
			for line := range strings.Lines(out.String()) {
				if got := uniseg.StringWidth(strings.TrimSuffix(line, "\n")); got > width {
					t.Errorf("%d columns: %s", got, line)
				}
			}
			if !strings.Contains(out.String(), "0199aaab") {
				t.Errorf("an id was cut:\n%s", out.String())
			}
		})
	}
	t.Run("nothing of a cell that is wrapped is lost", func(t *testing.T) {
		if got := strings.Join(wrapTo(text, 11), ""); strings.ReplaceAll(got, " ", "") != strings.ReplaceAll(text, " ", "") {
			t.Errorf("got %q of %q", got, text)
		}
	})
	t.Run("without a width nothing is cut", func(t *testing.T) {
		var out bytes.Buffer
		WriteTable(&out, columns, rows, 0)
		if strings.Contains(out.String(), ellipsis) || strings.Count(out.String(), "\n") != 3 {
			t.Errorf("got\n%s", out.String())
		}
	})
	t.Run("a column in which nothing stands is left out before anything is cut", func(t *testing.T) {
		var out bytes.Buffer
		WriteTable(&out, Cut.Columns("first", "empty", "last"), [][]string{{strings.Repeat("a", 19), "", strings.Repeat("b", 19)}}, 40)
		if strings.Contains(out.String(), "EMPTY") || strings.Contains(out.String(), ellipsis) {
			t.Errorf("got\n%s", out.String())
		}
	})
}

func TestShortIDsTellTheIDsOfATableApart(t *testing.T) {
	for name, c := range map[string]struct{ ids, want []string }{
		"an id has at least eight characters":           {[]string{"3fa85f6457174562"}, []string{"3fa85f64"}},
		"more where another begins alike":               {[]string{"3fa85f645717", "3fa85f645799"}, []string{"3fa85f64571", "3fa85f64579"}},
		"an id that another begins with is whole":       {[]string{"3fa85f645", "3fa85f6457"}, []string{"3fa85f645", "3fa85f6457"}},
		"the same id twice is the same":                 {[]string{"3fa85f6457", "3fa85f6457"}, []string{"3fa85f64", "3fa85f64"}},
		"an id that begins with the time has all of it": {[]string{"0199aaaa-bbbb-7ccc-8ddd-eeeeeeeeeeee"}, []string{"0199aaaa-bbbb"}},
		"none is none":         {[]string{"", "ab"}, []string{"", "ab"}},
		"no character is torn": {[]string{"가나다라마", "가나다라바"}, []string{"가나다라마", "가나다라바"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := ShortIDs(c.ids); !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
