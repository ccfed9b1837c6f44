package cli

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stratamem/strata/internal/program/cli/terminal"
	"github.com/stratamem/strata/internal/program/config"
)

func TestWhatIsDueIsListedAndErased(t *testing.T) {
	cfg := config.Default()
	cfg.Data = filepath.Join(t.TempDir(), "strata.db")
	served(t, cfg, func(server string) {
		must(t, terminal.Env{}, "record", "ada", "old", "I am vegan", "--at", "2020-03-01T10:00:00Z", "--server", server)
		must(t, terminal.Env{}, "record", "ada", "pinned", "keep this", "--at", "2020-03-01T10:00:00Z", "--server", server)
		must(t, terminal.Env{}, "messages", "pin", "ada", "pinned", "1", "--server", server)
		must(t, terminal.Env{}, "record", "ada", "pinned", "let this go", "--at", "2020-03-01T11:00:00Z", "--server", server)
		must(t, terminal.Env{}, "record", "ada", "mixed", "long ago", "--at", "2020-03-02T10:00:00Z", "--server", server)
		must(t, terminal.Env{}, "record", "ada", "mixed", "today", "--server", server)
		must(t, terminal.Env{}, "record", "bea", "taught", "I am allergic to walnuts", "--at", "2020-03-01T10:00:00Z", "--server", server)
		must(t, terminal.Env{}, "record", "bea", "taught", "I like rain", "--at", "2020-03-01T10:01:00Z", "--server", server)
		must(t, terminal.Env{}, "jobs", "wait", "bea", "taught", "--for", "1m", "--timeout", "2m", "--server", server)
		for _, id := range strings.Fields(must(t, terminal.Env{}, "facts", "search", "bea", "walnuts", "--limit", "1", "-o", "quiet", "--server", server)) {
			must(t, terminal.Env{}, "facts", "pin", "bea", id, "--server", server)
		}
		if got := must(t, terminal.Env{}, "retention", "-o", "quiet", "--server", server); got != "" {
			t.Errorf("without a retention, due is %q", got)
		}
	})
	p := cfg.Profiles["default"]
	p.Retention.Sessions, p.Retention.Messages = 365*24*time.Hour, 365*24*time.Hour
	cfg.Profiles["default"] = p

	t.Run("a server that reports lists sessions and messages with the rule, and erases nothing", func(t *testing.T) {
		reports := cfg
		reports.Retention = config.RetentionReport
		served(t, reports, func(server string) {
			got := must(t, terminal.Env{}, "retention", "--server", server)
			for _, want := range []string{"session old", "session age", "1 messages of session mixed", "message age", "1 messages of session pinned"} {
				if !strings.Contains(got, want) {
					t.Errorf("the list lacks %q:\n%s", want, got)
				}
			}
		})
	})
	t.Run("the server erases it with what was learnt from it, and keeps the rest", func(t *testing.T) {
		served(t, cfg, func(server string) {
			until(t, func() bool { return must(t, terminal.Env{}, "retention", "-o", "quiet", "--server", server) == "" })
			if got := must(t, terminal.Env{}, "sessions", "list", "ada", "-o", "quiet", "--server", server); got != "mixed\npinned\n" {
				t.Errorf("the sessions are %q", got)
			}
			if got := must(t, terminal.Env{}, "messages", "ada", "pinned", "--server", server); !strings.Contains(got, "keep this") || strings.Contains(got, "let this go") {
				t.Errorf("the session with a pinned message has\n%s", got)
			}
			if got := must(t, terminal.Env{}, "messages", "ada", "mixed", "--server", server); strings.Contains(got, "long ago") || !strings.Contains(got, "today") {
				t.Errorf("the messages are\n%s", got)
			}
			if got := must(t, terminal.Env{}, "facts", "list", "ada", "-o", "quiet", "--server", server); got != "" {
				t.Errorf("facts are left: %q", got)
			}
			got := must(t, terminal.Env{}, "facts", "list", "bea", "--server", server) + must(t, terminal.Env{}, "messages", "bea", "taught", "--server", server)
			if strings.Count(got, "walnuts") != 2 || strings.Contains(got, "rain") {
				t.Errorf("of a pinned fact, the message that states it and others there is\n%s", got)
			}
		})
	})
}

func TestFactsAreKeptAsTheDefaultProfileOfTheirTenantSays(t *testing.T) {
	cfg := config.Default()
	cfg.Data = filepath.Join(t.TempDir(), "strata.db")
	brief := cfg.Profiles["default"]
	brief.Retention.Facts = time.Millisecond
	cfg.Profiles["brief"] = brief
	listed := func(server string) string {
		return must(t, terminal.Env{}, "facts", "list", "ada", "-o", "quiet", "--server", server)
	}
	served(t, cfg, func(server string) {
		must(t, terminal.Env{}, "record", "ada", "s", "I am vegan.", "--at", "2020-03-01T10:00:00Z", "--server", server)
		must(t, terminal.Env{}, "record", "ada", "s", "Noted.", "--role", "assistant", "--at", "2020-03-01T10:01:00Z", "--server", server)
		must(t, terminal.Env{}, "jobs", "wait", "ada", "s", "--for", "1m", "--timeout", "2m", "--server", server)
		if due := must(t, terminal.Env{}, "retention", "-o", "quiet", "--server", server); due != "" || listed(server) == "" {
			t.Errorf("before the tenant has a profile, due is %q of %q", due, listed(server))
		}
		must(t, terminal.Env{}, "tenants", "set", "default", "--default-profile", "brief", "--server", server)
	})
	served(t, cfg, func(server string) {
		until(t, func() bool { return listed(server) == "" })
		if got := must(t, terminal.Env{}, "messages", "ada", "s", "--server", server); !strings.Contains(got, "vegan") {
			t.Errorf("the session, which began with another profile, has\n%s", got)
		}
	})
}

// until waits until it is so.
func until(t *testing.T, so func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !so(); {
		if time.Now().After(deadline) {
			t.Fatal("not within a minute")
		}
		time.Sleep(10 * time.Millisecond)
	}
}
