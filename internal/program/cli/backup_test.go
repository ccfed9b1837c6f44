package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stratamem/strata/internal/program/cli/terminal"
	"github.com/stratamem/strata/internal/program/config"
)

func TestABackupIsTakenWhileServedAndRestoredWithoutWhatWasErasedSince(t *testing.T) {
	cfg := config.Default()
	dir := t.TempDir()
	cfg.Data = filepath.Join(dir, "strata.db")
	file := filepath.Join(dir, "backup.db")
	served(t, cfg, func(server string) {
		must(t, terminal.Env{}, "record", "ada", "s1", "before", "--server", server)
		fact := strings.TrimSpace(must(t, terminal.Env{}, "facts", "add", "ada", "Is vegan.", "-o", "quiet", "--server", server))
		must(t, terminal.Env{}, "facts", "add", "ada", "Lives in Rome.", "--server", server)
		if got := must(t, terminal.Env{}, "backup", file, "--data", cfg.Data); !strings.Contains(got, "backup.db: ") || !strings.Contains(got, "whole") {
			t.Errorf("it says %q", got)
		}
		mustFail(t, "exists already", terminal.Env{}, "backup", file, "--data", cfg.Data)
		must(t, terminal.Env{}, "facts", "delete", "--yes", "ada", fact, "--server", server)
		must(t, terminal.Env{}, "record", "ada", "s1", "after", "--server", server)
		mustFail(t, "another server", terminal.Env{}, "restore", file, "--replace", "--data", cfg.Data)
	})
	mustFail(t, "exists already: give --replace", terminal.Env{}, "restore", file, "--data", cfg.Data)
	got := must(t, terminal.Env{}, "restore", file, "--replace", "--data", cfg.Data)
	if !strings.Contains(got, "of 1 erasures in the ledger 1 were carried out again") || !strings.Contains(got, "the data file of before is "+dir) {
		t.Errorf("it says %q", got)
	}
	served(t, cfg, func(server string) {
		said := must(t, terminal.Env{}, "messages", "ada", "s1", "--server", server)
		if !strings.Contains(said, "before") || strings.Contains(said, "after") {
			t.Errorf("the messages are\n%s", said)
		}
		known := must(t, terminal.Env{}, "facts", "list", "ada", "--server", server)
		if strings.Contains(known, "vegan") || !strings.Contains(known, "Rome") {
			t.Errorf("the facts are\n%s", known)
		}
	})
	t.Run("and so it is when the backup is put in place by hand", func(t *testing.T) {
		by := putInPlace(t, cfg, file)
		served(t, by, func(server string) {
			if known := must(t, terminal.Env{}, "facts", "list", "ada", "--server", server); strings.Contains(known, "vegan") {
				t.Errorf("the facts are\n%s", known)
			}
		})
	})
}

func TestARestoreWithoutALedgerSaysThatErasuresAreNotKnown(t *testing.T) {
	cfg := config.Default()
	dir := t.TempDir()
	cfg.Data = filepath.Join(dir, "strata.db")
	file := filepath.Join(dir, "backup.db")
	served(t, cfg, func(server string) {
		must(t, terminal.Env{}, "record", "ada", "s1", "before", "--server", server)
		must(t, terminal.Env{}, "backup", file, "--data", cfg.Data)
		must(t, terminal.Env{}, "users", "erase", "ada", "--yes", "--server", server)
	})
	elsewhere := filepath.Join(t.TempDir(), "strata.db")
	code, _, said := runMain(t.Context(), terminal.Env{}, "restore", file, "--data", elsewhere)
	if code != 0 || !strings.Contains(said, "no ledger of erasures at "+elsewhere+".erasures") {
		t.Errorf("exit code %d, it says %q", code, said)
	}
	if code, _, said = runMain(t.Context(), terminal.Env{}, "restore", file, "--replace", "--data", cfg.Data); code != 0 || strings.Contains(said, "no ledger") {
		t.Errorf("beside the ledger: exit code %d, it says %q", code, said)
	}
}

// putInPlace puts a backup and the ledger of a server in the place of another server's, by hand, and returns that one's settings.
func putInPlace(t *testing.T, cfg config.Config, backup string) config.Config {
	t.Helper()
	by := cfg
	by.Data = filepath.Join(t.TempDir(), "strata.db")
	for from, to := range map[string]string{backup: by.Data, cfg.Data + ".erasures": by.Data + ".erasures"} {
		b, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return by
}

// TestARestoredBackupForgetsWhatWasDeletedSince: whatever is deleted after a backup is in no reply once it was restored, whether with the
// command or by hand, and what was beside it, and what was put in its place since the restore, stays over later starts.
func TestARestoredBackupForgetsWhatWasDeletedSince(t *testing.T) {
	cfg := config.Default()
	dir := t.TempDir()
	cfg.Data = filepath.Join(dir, "strata.db")
	file := filepath.Join(dir, "backup.db")
	served(t, cfg, func(server string) {
		strata := func(args ...string) string { return must(t, terminal.Env{}, append(args, "--server", server)...) }
		for _, user := range []string{"ada", "min"} {
			strata("documents", "put", user, "notes/places", "cabin", `{"note": "The cabin is in Otta."}`)
			strata("documents", "put", user, "notes/places", "boat", `{"note": "The boat lies in Moss."}`)
		}
		for _, session := range []string{"popped", "replaced"} {
			strata("record", "ada", session, "The first stays.", "--role", "user", "--id", session+"-1")
			strata("record", "ada", session, "The second is Gjovik.", "--role", "user", "--id", session+"-2")
		}
		strata("backup", file, "--data", cfg.Data)
		strata("documents", "delete", "ada", "notes/places", "cabin")
		strata("messages", "pop", "ada", "popped")
		list := filepath.Join(dir, "list.json")
		if err := os.WriteFile(list, []byte(`[{"id": "replaced-1", "role": "user", "content": "The first stays."}]`), 0o600); err != nil {
			t.Fatal(err)
		}
		strata("messages", "replace", "ada", "replaced", "--file", list)
		strata("users", "erase", "min", "--yes", "--wait", "20s")
	})
	check := func(t *testing.T, server, documents string) {
		t.Helper()
		strata := func(args ...string) string { return must(t, terminal.Env{}, append(args, "--server", server)...) }
		if got := strata("documents", "list", "ada", "-o", "quiet"); strings.TrimSpace(got) != documents {
			t.Errorf("the documents are %q, want %q", got, documents)
		}
		if got := strata("documents", "list", "min", "-o", "quiet"); strings.TrimSpace(got) != "" {
			t.Errorf("of who was erased there is %q", got)
		}
		for _, session := range []string{"popped", "replaced"} {
			if got := strata("messages", "ada", session); strings.Contains(got, "Gjovik") || !strings.Contains(got, "The first stays.") {
				t.Errorf("the messages are\n%s", got)
			}
		}
	}
	const left = "notes/places\tboat"
	by := putInPlace(t, cfg, file)
	if got := must(t, terminal.Env{}, "restore", file, "--replace", "--data", cfg.Data); !strings.Contains(got, "of 4 erasures in the ledger 4 were carried out again") {
		t.Errorf("it says %q", got)
	}
	for name, cfg := range map[string]config.Config{"restored": cfg, "put in place by hand": by} {
		t.Run(name, func(t *testing.T) {
			served(t, cfg, func(server string) {
				check(t, server, left)
				must(t, terminal.Env{}, "documents", "put", "ada", "notes/places", "cabin", `{"note": "It is sold."}`, "--server", server)
			})
			served(t, cfg, func(server string) { check(t, server, left+"\nnotes/places\tcabin") })
		})
	}
}

func TestTheLedgerHoldsNothingOfWhatWasSaid(t *testing.T) {
	cfg := config.Default()
	cfg.Data = filepath.Join(t.TempDir(), "strata.db")
	served(t, cfg, func(server string) {
		fact := strings.TrimSpace(must(t, terminal.Env{}, "facts", "add", "canary-user", "canary-words", "-o", "quiet", "--server", server))
		must(t, terminal.Env{}, "facts", "delete", "--yes", "canary-user", fact, "--server", server)
	})
	b, err := os.ReadFile(cfg.Data + ".erasures")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Count(string(b), "\n") != 1 || strings.Contains(string(b), "canary") {
		t.Errorf("the ledger holds %s", b)
	}
}

func TestBackupsOfMongoDBAreMadeWithItsOwnTools(t *testing.T) {
	env := terminal.Env{Environ: []string{"STRATA_MONGODB_URI=mongodb://127.0.0.1:1"}}
	backup := filepath.Join(t.TempDir(), "backup.db")
	mustFail(t, "MongoDB's own tools", env, "backup", backup)
	if err := os.WriteFile(backup, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	mustFail(t, "MongoDB's own tools", env, "restore", backup)
}
