package docs_test

import (
	"os"
	"testing"

	"github.com/stratamem/strata/internal/program/config"
)

func TestThePageOfSettingsIsWhatTheProgramPrints(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("operate/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	if string(page) != config.Reference() {
		t.Error("docs/operate/configuration.md is not what strata config reference prints: run make generate and commit it")
	}
}
