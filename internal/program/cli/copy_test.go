package cli

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"
	mongooptions "go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/stratamem/strata/internal/memory/secret"
	"github.com/stratamem/strata/internal/program/app"
	"github.com/stratamem/strata/internal/program/cli/terminal"
	"github.com/stratamem/strata/internal/program/config"
	"github.com/stratamem/strata/internal/testing/storetest/backend"
)

// served runs do while a server serves what the configuration names.
func served(t *testing.T, cfg config.Config, do func(server string)) {
	t.Helper()
	patient(&cfg)
	cfg.Listen, cfg.MetricsListen = "127.0.0.1:0", "127.0.0.1:0"
	err := withServer(t.Context(), cfg, func(_ context.Context, a *app.App) error {
		do(a.Addr())
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// patient has a slow machine fail no test: no call ends, and no reply lacks anything, because a deadline passed.
func patient(cfg *config.Config) {
	cfg.RequestTimeout, cfg.EmbeddingDeadline = 2*time.Minute, 10*time.Second
}

// must runs a command that has to succeed, and returns what it prints.
func must(t *testing.T, env terminal.Env, args ...string) string {
	t.Helper()
	code, stdout, stderr := runMain(t.Context(), env, args...)
	if code != 0 {
		t.Fatalf("%v: exit code %d\n%s%s", args, code, stdout, stderr)
	}
	return stdout
}

// mustFail runs a command that has to fail for a reason.
func mustFail(t *testing.T, reason string, env terminal.Env, args ...string) {
	t.Helper()
	code, stdout, stderr := runMain(t.Context(), env, args...)
	if code == 0 || !strings.Contains(stderr, reason) {
		t.Errorf("%v: exit code %d, want the reason %q\n%s%s", args, code, reason, stdout, stderr)
	}
}

// recordedFile is a file in which users of two sessions each were recorded.
func recordedFile(t *testing.T, users ...string) config.Config {
	t.Helper()
	cfg := config.Default()
	cfg.Data = filepath.Join(t.TempDir(), "strata.db")
	served(t, cfg, func(server string) {
		for _, user := range users {
			for _, session := range []string{"s1", "s2"} {
				must(t, terminal.Env{}, "record", user, session, "I am vegan", "--server", server)
			}
		}
	})
	return cfg
}

// mongoDatabase is the configuration of a database of the test's own.
func mongoDatabase(t *testing.T) (config.Config, terminal.Env) {
	t.Helper()
	uri, name := backend.MongoDB(t), "strata_test_"+rand.Text()[:12]
	client, err := mongo.Connect(mongooptions.Client().ApplyURI(uri))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(client.Database(name).Drop(context.Background()), client.Disconnect(context.Background())); err != nil {
			t.Errorf("drop the database: %v", err)
		}
	})
	cfg := config.Default()
	cfg.Data, cfg.MongoDBURI, cfg.MongoDBDatabase = "", secret.New(uri), name
	return cfg, terminal.Env{Environ: []string{"STRATA_MONGODB_URI=" + uri, "STRATA_MONGODB_DATABASE=" + name}}
}

func TestCopyMovesAFileToMongoDB(t *testing.T) {
	to, env := mongoDatabase(t)
	from := recordedFile(t, "ada", "bob")
	t.Run("no copy is made while a server has the file", func(t *testing.T) {
		served(t, from, func(string) { mustFail(t, "another server", env, "copy", from.Data) })
	})
	t.Run("it says what it copied, and that it compared", func(t *testing.T) {
		want := "2 users, 0 of them there already, 10 records copied; every user was read back and is the same on both sides\n"
		if got := must(t, env, "copy", from.Data); got != want {
			t.Errorf("it says %q, want %q", got, want)
		}
	})
	t.Run("a second copy finds all of it there", func(t *testing.T) {
		if got := must(t, env, "copy", from.Data); !strings.HasPrefix(got, "2 users, 2 of them there already, 0 records copied;") {
			t.Errorf("it says %q", got)
		}
	})
	t.Run("a server serves the copy, and what it stores is not copied over", func(t *testing.T) {
		served(t, to, func(server string) {
			if got := must(t, terminal.Env{}, "messages", "ada", "s2", "--server", server); !strings.Contains(got, "I am vegan") {
				t.Errorf("the messages are %q", got)
			}
			must(t, terminal.Env{}, "record", "ada", "s2", "since Monday", "--server", server)
		})
		mustFail(t, "copy into an empty database", env, "copy", from.Data)
		served(t, to, func(server string) {
			if got := must(t, terminal.Env{}, "messages", "ada", "s2", "--server", server); !strings.Contains(got, "since Monday") {
				t.Errorf("the messages are %q", got)
			}
		})
	})
}

func TestCopySaysWhatItLacks(t *testing.T) {
	from := recordedFile(t, "ada")
	missing := filepath.Join(t.TempDir(), "missing.db")
	mustFail(t, "set mongodb-uri", terminal.Env{}, "copy", from.Data)
	mustFail(t, "no such file", terminal.Env{Environ: []string{"STRATA_MONGODB_URI=mongodb://127.0.0.1:1"}}, "copy", missing)
	mustFail(t, "run it again to go on", terminal.Env{Environ: []string{"STRATA_MONGODB_URI=mongodb://127.0.0.1:1/?serverSelectionTimeoutMS=100"}}, "copy", from.Data)
}

func TestCopyTellsHowFarItIsWithoutATerminalToo(t *testing.T) {
	_, env := mongoDatabase(t)
	users := make([]string, 3)
	for i := range users {
		users[i] = fmt.Sprint("user ", i)
	}
	from := recordedFile(t, users...)
	clock := time.Now()
	env.Now = func() time.Time { clock = clock.Add(copyEvery); return clock }
	var stderr bytes.Buffer
	env.Stdin, env.Stdout, env.Stderr = strings.NewReader(""), io.Discard, &stderr
	if code := Main(t.Context(), []string{"copy", from.Data}, env); code != 0 {
		t.Errorf("exit code %d", code)
	}
	for n := 1; n <= len(users); n++ {
		if want := fmt.Sprintf("%d users, 0 of them there already, %d records copied\n", n, 5*n); !strings.Contains(stderr.String(), want) {
			t.Errorf("it does not tell %q: %s", want, stderr.String())
		}
	}
}
