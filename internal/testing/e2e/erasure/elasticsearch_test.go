package erasure_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/program/app"
	"github.com/stratamem/strata/internal/program/config"
	"github.com/stratamem/strata/internal/testing/backendtest"
	"github.com/stratamem/strata/internal/testing/e2e"
	"github.com/stratamem/strata/internal/testing/storetest/backend"
)

// askElasticsearch sends a request to the server as an operator does with curl. Of an index that is not there it returns nothing.
func askElasticsearch(t *testing.T, method, address, body string) []byte {
	t.Helper()
	r := e2e.Must(http.NewRequestWithContext(context.WithoutCancel(t.Context()), method, address, strings.NewReader(body)))(t)
	r.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	read := e2e.Must(io.ReadAll(res.Body))(t)
	if res.StatusCode == http.StatusNotFound {
		return nil
	}
	if res.StatusCode != http.StatusOK {
		t.Fatalf("%s %s: %s: %s", method, address, res.Status, read)
	}
	return read
}

// documentsIn are all documents of the indexes whose names begin so, as JSON.
func documentsIn(t *testing.T, address, name string) []byte {
	t.Helper()
	askElasticsearch(t, http.MethodPost, address+"/"+name+"-*/_refresh?expand_wildcards=all", "")
	return askElasticsearch(t, http.MethodGet, address+"/"+name+"-*/_search?size=10000&expand_wildcards=all", "")
}

// foundByOperator is what an operator's query finds in the alias: the ids of the messages, or of the facts' users.
func foundByOperator(t *testing.T, address, alias, query string) (found []string) {
	t.Helper()
	var answer struct {
		Hits struct {
			Hits []struct {
				Source struct {
					User, Role, Text string
					Session          string `json:"session_id"`
					Message          string `json:"message_id"`
				} `json:"_source"`
			} `json:"hits"`
		} `json:"hits"`
	}
	read := askElasticsearch(t, http.MethodPost, address+"/"+alias+"/_search?size=100", `{"query":`+query+`}`)
	if read == nil {
		return nil
	}
	if err := json.Unmarshal(read, &answer); err != nil {
		t.Fatal(err)
	}
	for _, h := range answer.Hits.Hits {
		s := h.Source
		found = append(found, strings.Join([]string{s.User, s.Session, s.Role, s.Message, s.Text}, " · "))
	}
	return found
}

// TestWhatIsErasedIsFoundByNoQueryOfElasticsearch asks the real server as an operator does, without Strata.
func TestWhatIsErasedIsFoundByNoQueryOfElasticsearch(t *testing.T) {
	t.Parallel()
	address := backend.Elasticsearch(t)
	corner := backendtest.Backends{Elasticsearch: address, Name: fmt.Sprintf("erased%d", time.Now().UnixNano())}
	t.Cleanup(func() {
		if err := corner.Drop(); err != nil {
			t.Error(err)
		}
	})
	h := e2e.StartWith(t, t.TempDir()+"/strata.db", app.Options{Sweep: 200 * time.Millisecond, LateWrites: 3 * time.Second}, func(c *config.Config) {
		c.ElasticsearchURL, c.ElasticsearchPrefix = address, corner.Name
	})
	h.RecordTurn(t, "trip", e2e.User("1", "My name is Marguerite and I live in Ouagadougou."), e2e.Assistant("2", "Ouagadougou is warm in May."))
	h.RecordTurn(t, "trip", e2e.User("3", "Book the night train to Zanzibar."), e2e.Assistant("4", "Booked."))
	h.RecordTurn(t, "music", e2e.User("5", "I prefer the theorbo to the lute."))
	transcript := corner.Name + "-transcript"
	phrase := func(words string) string { return `{"match_phrase":{"text":"` + words + `"}}` }
	e2e.Eventually(t, "an operator finds a sentence with who said it", func() bool {
		found := foundByOperator(t, address, transcript, phrase("night train to zanzibar"))
		return len(found) == 1 && found[0] == "ada · trip · user · 3 · Book the night train to Zanzibar."
	})
	e2e.Eventually(t, "an operator finds a fact", func() bool { return len(foundByOperator(t, address, corner.Name+"-facts", phrase("Ouagadougou"))) > 0 })
	e2e.Eventually(t, "an operator finds what was said elsewhere", func() bool { return len(foundByOperator(t, address, transcript, phrase("the theorbo"))) == 1 })
	gone := func(when string, words ...string) {
		t.Helper()
		all := documentsIn(t, address, corner.Name)
		for _, word := range words {
			if at := bytes.Index(all, []byte(word)); at >= 0 {
				t.Errorf("%s %q is in %s", when, word, all[max(0, at-100):min(len(all), at+60)])
			}
			for _, query := range []string{phrase(word), `{"query_string":{"query":"` + word + `*"}}`} {
				if found := foundByOperator(t, address, corner.Name+"-*", query); len(found) > 0 {
					t.Errorf("%s %s finds %q", when, query, found)
				}
			}
		}
	}
	e2e.Must(h.DeleteMessages(h.Ctx, &memoryv1.DeleteMessagesRequest{UserId: "ada", SessionId: "trip", MessageIds: []string{"3"}, Wait: e2e.LongWait}))(t)
	gone("after the message was erased", "Zanzibar", "zanzibar")
	e2e.Must(h.DeleteSession(h.Ctx, &memoryv1.DeleteSessionRequest{UserId: "ada", SessionId: "trip", Wait: e2e.LongWait}))(t)
	gone("after the session was erased", "Ouagadougou", "ouagadougou", "Booked")
	if len(foundByOperator(t, address, transcript, phrase("the theorbo"))) != 1 {
		t.Error("the other session went too")
	}
	e2e.Must(h.Users().EraseUser(h.Ctx, &memoryv1.EraseUserRequest{UserId: "ada", Wait: e2e.LongWait}))(t)
	gone("after the user was erased", "theorbo")
	if log := h.Log.String(); strings.Contains(log, "Zanzibar") || strings.Contains(log, "theorbo") {
		t.Error("the log holds what was said")
	}
}
