package faults_test

import (
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stratamem/strata/internal/memory/secret"
	"github.com/stratamem/strata/internal/program/app"
	"github.com/stratamem/strata/internal/program/config"
	"github.com/stratamem/strata/internal/testing/e2e"
)

// TestAStoreThatDoesNotRespondAtTheStartIsNamedByItsSetting: whoever starts the server reads what to look at.
func TestAStoreThatDoesNotRespondAtTheStartIsNamedByItsSetting(t *testing.T) {
	l := e2e.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return // the test is over
			}
			_ = c.Close()
		}
	}()
	silent := l.Addr().String()
	t.Run("MongoDB, without which the server does not start", func(t *testing.T) {
		cfg := config.Default()
		cfg.Listen, cfg.MetricsListen = "127.0.0.1:0", ""
		cfg.MongoDBURI = secret.New("mongodb://ada:wordofpass@" + silent + "/?serverSelectionTimeoutMS=100")
		_, err := app.New(t.Context(), cfg, app.Options{Log: slog.New(slog.DiscardHandler), Version: "test"})
		if err == nil || !strings.Contains(err.Error(), "mongodb-uri does not respond: check that it runs") || !strings.Contains(err.Error(), silent) ||
			strings.Contains(err.Error(), "see the server's log") || strings.Contains(err.Error(), "wordofpass") {
			t.Errorf("app.New: %v", err)
		}
	})
	t.Run("Elasticsearch, without which it starts", func(t *testing.T) {
		h := e2e.StartOn(t, filepath.Join(t.TempDir(), "strata.db"), func(c *config.Config) { c.ElasticsearchURL = "http://" + silent })
		if log := h.Log.String(); !strings.Contains(log, "setting=elasticsearch-url") {
			t.Errorf("the log does not name the setting: %s", log)
		}
	})
}

// TestTheFirstKeyIsNotMadeByAStartThatFails: whoever starts the server sees its token, which nobody can be shown again.
func TestTheFirstKeyIsNotMadeByAStartThatFails(t *testing.T) {
	for name, occupy := range map[string]func(*config.Config, string){
		"the port of the API is taken":     func(c *config.Config, taken string) { c.Listen = taken },
		"the port of the metrics is taken": func(c *config.Config, taken string) { c.MetricsListen = taken },
	} {
		t.Run(name, func(t *testing.T) {
			l := e2e.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
			t.Cleanup(func() { _ = l.Close() })
			cfg := config.Default()
			cfg.Data, cfg.Listen, cfg.MetricsListen = filepath.Join(t.TempDir(), "strata.db"), "127.0.0.1:0", ""
			cfg.Auth, cfg.BootstrapKey = config.AuthRequired, true
			occupy(&cfg, l.Addr().String())
			if _, err := app.New(t.Context(), cfg, app.Options{Log: slog.New(slog.DiscardHandler), Version: "test"}); err == nil {
				t.Fatal("it started")
			}
			h := e2e.StartOn(t, cfg.Data, func(c *config.Config) { c.Auth, c.BootstrapKey = config.AuthRequired, true })
			if h.App.FirstKey() == "" {
				t.Error("the next start has no first key to show")
			}
		})
	}
}
