package secret_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/stratamem/strata/internal/memory/secret"
)

func TestATextNeverPrintsItself(t *testing.T) {
	key := secret.New("canary")
	type exported struct{ Key secret.Text }
	type hidden struct{ key secret.Text }
	encoded, err := json.Marshal(exported{key})
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	slog.New(slog.NewJSONHandler(&log, nil)).Info("start", "key", key, "options", exported{key})
	for _, s := range []string{
		fmt.Sprintf("%v %+v %#v %s %q %x", key, key, key, key, key, key), fmt.Sprintf("%+v %#v", exported{key}, &exported{key}),
		fmt.Sprintf("%+v %#v", hidden{key}, &hidden{key}), string(encoded), log.String(),
	} {
		if strings.Contains(s, "canary") || strings.Contains(s, fmt.Sprintf("%x", "canary")) {
			t.Errorf("the value printed itself: %s", s)
		}
	}
	if key.Reveal() != "canary" || !key.IsSet() || secret.New("").IsSet() || secret.New("").Reveal() != "" {
		t.Error("a value is there where it is set, and only there")
	}
}
