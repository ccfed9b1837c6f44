package certificates

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAClientsFilesThatCannotBeUsedAreNamed(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty.pem")
	if err := os.WriteFile(empty, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		files ClientFiles
		says  string
	}{
		{ClientFiles{CA: "/no/such/ca.pem"}, "/no/such/ca.pem"},
		{ClientFiles{CA: empty}, "there is no certificate in " + empty},
		{ClientFiles{Cert: empty, Key: "/no/such.key"}, "use the client's certificate " + empty},
	} {
		if _, err := Client(c.files); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%+v: got %v, want it to say %q", c.files, err, c.says)
		}
	}
}
