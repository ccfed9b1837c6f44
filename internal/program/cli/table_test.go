package cli

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rivo/uniseg"

	"github.com/stratamem/strata/internal/program/cli/terminal"
	"github.com/stratamem/strata/internal/program/config"
)

// wideText has characters of two columns and characters that are made of several code points.
const wideText = "我住在柏林 👩‍👩‍👧‍👦 나는 비건입니다 ❤️ 日本語の会話 e\u0301\u0301 "

// fits checks that no line is wider than a terminal.
func fits(t *testing.T, printed string, width int) {
	t.Helper()
	for line := range strings.Lines(printed) {
		if line = strings.TrimSuffix(line, "\n"); uniseg.StringWidth(line) > width {
			t.Errorf("%d columns: %s", uniseg.StringWidth(line), line)
		}
	}
}

func TestATokenStandsInOneLine(t *testing.T) {
	cfg := config.Default()
	cfg.Data = filepath.Join(t.TempDir(), "strata.db")
	served(t, cfg, func(server string) {
		for _, width := range []int{0, 40} {
			made := must(t, terminal.Env{Width: width}, "keys", "create", "--role", "agent", "--server", server)
			key := strings.Fields(must(t, terminal.Env{}, "keys", "list", "-o", "quiet", "--server", server))[0]
			for command, printed := range map[string]string{
				"create": made, "rotate": must(t, terminal.Env{Width: width}, "keys", "rotate", key, "--server", server),
			} {
				if !regexp.MustCompile(`(?m)^token strata_[A-Za-z0-9]{12}_[A-Za-z0-9]{40,}$`).MatchString(printed) {
					t.Errorf("%s, %d columns:\n%s", command, width, printed)
				}
			}
		}
	})
}

func TestTheTablesOfEveryCommandFit80Columns(t *testing.T) {
	user, session := strings.Repeat("用户", 40), strings.Repeat("session-with-a-long-name-", 10)
	cfg := config.Default()
	cfg.Data = filepath.Join(t.TempDir(), "strata.db")
	cfg.Retention = config.RetentionReport
	profile := cfg.Profiles["default"]
	profile.Retention.MaxMessages, profile.Retention.MaxFacts = 1, 1
	cfg.Profiles["default"] = profile
	served(t, cfg, func(server string) {
		strata := func(args ...string) string {
			t.Helper()
			return must(t, terminal.Env{}, append(args, "--server", server)...)
		}
		for i, text := range []string{"I live in Berlin. " + wideText, "나는 비건입니다. " + wideText, "I am vegan now and I work for ACME. " + wideText} {
			name := strings.Repeat("이름", 30)
			strata("record", user, session, strings.Repeat(text, 4), "--id", fmt.Sprintf("%s%d", strings.Repeat("message-", 25), i), "--name", name)
		}
		strata("record", user, session+"2", "I live in Rome.")
		strata("jobs", "wait", user, session, "--for", "1m", "--timeout", "2m")
		strata("users", "edit", user, "--timezone", "America/Argentina/Buenos_Aires", "--state", `{"notes/tone": "`+strings.Repeat("formal ", 50)+`"}`)
		strata("sessions", "edit", user, session, "--title", strings.Repeat("제목", 40), "--metadata", `{"tags": ["`+strings.Repeat("label", 60)+`"]}`)
		strata("summaries", "now", user, session)
		strata("summaries", "edit", user, session, strings.Repeat(wideText, 9), "--author", strings.Repeat("이름", 40))
		fact := strings.TrimSpace(strata("facts", "add", user, strings.Repeat("Prefers tea ", 40), "--tag", strings.Repeat("t", 60),
			"--attribute", strings.Repeat("drink_", 10), "--subject", strings.Repeat("언니", 40), "-o", "quiet"))
		strata("facts", "edit", user, fact, "--text", strings.Repeat("Prefers coffee ", 40), "--author", strings.Repeat("이름", 40))
		strata("facts", "restore", user, fact, "--revision", "1")
		job := strings.Fields(strata("jobs", "list", "--user", user, "--state", "applied", "--kind", "extract", "-o", "quiet"))[0]
		message := strings.Fields(strata("messages", "list", user, session, "-o", "quiet"))[0]
		namespace, key := strings.Repeat("여행기록", 15)+"/"+strings.Repeat("namespace", 20), strings.Repeat("키", 80)

		for _, args := range [][]string{
			{"users", "list"},
			{"users", "show", user},
			{"sessions", "list", user},
			{"sessions", "show", user, session},
			{"messages", "list", user, session},
			{"messages", "show", user, session, message},
			{"messages", "hide", user, session, message},
			{"messages", "unhide", user, session, message},
			{"facts", "list", user, "--past"},
			{"facts", "show", user, fact},
			{"facts", "history", user, fact},
			{"facts", "search", user, "tea"},
			{"facts", "search", user, "tea", "--explain"},
			{"facts", "quarantine", user},
			{"summaries", "list", user},
			{"summaries", "history", user, session},
			{"jobs", "list"},
			{"jobs", "list", "--user", user, "--state", "applied"},
			{"jobs", "show", user, job},
			{"jobs", "wait", user, session},
			{"jobs", "revert", user, job},
			{"context", user, session, "--render", "structured"},
			{"retention"},
			{"documents", "put", user, namespace, key, `{"note": "` + strings.Repeat("harbour ", 90) + `"}`, "--ttl", "720h"},
			{"documents", "list", user},
			{"documents", "search", user, "harbour"},
			{"reembed", "--model", "builtin:hash-128", "--wait"},
			{"messages", "pop", user, session},
			{"messages", "delete", user, session, "1", "--yes", "--wait", "20s"},
			{"sessions", "delete", user, session + "2", "--yes", "--wait", "20s"},
		} {
			t.Run(strings.Join(args[:min(2, len(args))], " "), func(t *testing.T) {
				printed := strata(args...)
				fits(t, printed, 80)
				if printed == "" {
					t.Error("nothing was printed, so that nothing was measured")
				}
			})
		}
		t.Run("with --wide nothing of a list is cut", func(t *testing.T) {
			if printed := strata("sessions", "list", user, "--wide"); !strings.Contains(printed, session) || strings.Contains(printed, "…") {
				t.Errorf("got\n%s", printed)
			}
		})
		t.Run("a session's last seq is not called a number of messages: deleted ones keep their places", func(t *testing.T) {
			list, show := strata("sessions", "list", user), strata("sessions", "show", user, session)
			if strings.Contains(strings.ToLower(list), "messages") || !strings.Contains(strings.ToLower(list), "last seq") || !strings.Contains(show, "last seq") {
				t.Errorf("got\n%s%s", list, show)
			}
		})
		t.Run("what show prints is whole", func(t *testing.T) {
			printed := strata("users", "show", user)
			if n := strings.Count(printed, "户"); n != 40 {
				t.Errorf("%d of the id's 40 characters:\n%s", n, printed)
			}
		})
	})
}
