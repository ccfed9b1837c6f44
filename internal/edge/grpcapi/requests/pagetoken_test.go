package requests

import (
	"testing"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
)

func TestPageToken(t *testing.T) {
	req := &memoryv1.ListMessagesRequest{UserId: "ada", SessionId: "s"}
	t.Run("comes back with its position, whatever the page size", func(t *testing.T) {
		token := NumberToken(req, 42)
		n, err := PageNumber(&memoryv1.ListMessagesRequest{UserId: "ada", SessionId: "s", PageSize: 7, PageToken: token}, token)
		if n != 42 || err != nil {
			t.Errorf("position %d, %v", n, err)
		}
	})
	t.Run("is refused when a bit of it changed", func(t *testing.T) {
		token := []byte(NumberToken(req, 42))
		for i := range token {
			old := token[i]
			token[i] = 'A' + (old-'A'+1)%26
			if n, err := PageNumber(req, string(token)); err == nil && n != 42 {
				t.Errorf("byte %d: position %d", i, n)
			}
			token[i] = old
		}
	})
}
