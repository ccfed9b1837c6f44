package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stratamem/strata/internal/config"
)

func TestABackupIsTakenWhileServedAndRestoredWithoutWhatWasErasedSince(t *testing.T) {
	cfg := config.Default()
	dir := t.TempDir()
	cfg.Data = filepath.Join(dir, "strata.db")
	file := filepath.Join(dir, "backup.db")
	served(t, cfg, func(server string) {
		must(t, Env{}, "record", "ada", "s1", "before", "--server", server)
		fact := strings.TrimSpace(must(t, Env{}, "facts", "add", "ada", "Is vegan.", "-o", "quiet", "--server", server))
		must(t, Env{}, "facts", "add", "ada", "Lives in Rome.", "--server", server)
		if got := must(t, Env{}, "backup", file, "--data", cfg.Data); !strings.Contains(got, "backup.db: ") || !strings.Contains(got, "whole") {
			t.Errorf("it says %q", got)
		}
		mustFail(t, "exists already", Env{}, "backup", file, "--data", cfg.Data)
		must(t, Env{}, "facts", "delete", "--yes", "ada", fact, "--server", server)
		must(t, Env{}, "record", "ada", "s1", "after", "--server", server)
		mustFail(t, "another server", Env{}, "restore", file, "--replace", "--data", cfg.Data)
	})
	mustFail(t, "exists already", Env{}, "restore", file, "--data", cfg.Data)
	got := must(t, Env{}, "restore", file, "--replace", "--data", cfg.Data)
	if !strings.Contains(got, "of 1 erasures in the ledger 1 were carried out again") || !strings.Contains(got, "the data file of before is "+dir) {
		t.Errorf("it says %q", got)
	}
	served(t, cfg, func(server string) {
		said := must(t, Env{}, "messages", "ada", "s1", "--server", server)
		if !strings.Contains(said, "before") || strings.Contains(said, "after") {
			t.Errorf("the messages are\n%s", said)
		}
		known := must(t, Env{}, "facts", "list", "ada", "--server", server)
		if strings.Contains(known, "vegan") || !strings.Contains(known, "Rome") {
			t.Errorf("the facts are\n%s", known)
		}
	})
	t.Run("and so it is when the backup is put in place by hand", func(t *testing.T) {
		by := cfg
		by.Data = filepath.Join(t.TempDir(), "strata.db")
		for from, to := range map[string]string{file: by.Data, cfg.Data + ".erasures": by.Data + ".erasures"} {
			b, err := os.ReadFile(from)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(to, b, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		served(t, by, func(server string) {
			if known := must(t, Env{}, "facts", "list", "ada", "--server", server); strings.Contains(known, "vegan") {
				t.Errorf("the facts are\n%s", known)
			}
		})
	})
}

func TestTheLedgerHoldsNothingOfWhatWasSaid(t *testing.T) {
	cfg := config.Default()
	cfg.Data = filepath.Join(t.TempDir(), "strata.db")
	served(t, cfg, func(server string) {
		fact := strings.TrimSpace(must(t, Env{}, "facts", "add", "canary-user", "canary-words", "-o", "quiet", "--server", server))
		must(t, Env{}, "facts", "delete", "--yes", "canary-user", fact, "--server", server)
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
	env := Env{Environ: []string{"STRATA_MONGODB_URI=mongodb://127.0.0.1:1"}}
	backup := filepath.Join(t.TempDir(), "backup.db")
	mustFail(t, "MongoDB's own tools", env, "backup", backup)
	if err := os.WriteFile(backup, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	mustFail(t, "MongoDB's own tools", env, "restore", backup)
}
