package rerank_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/stratamem/strata/internal/memory/backendlatency"
	"github.com/stratamem/strata/internal/recall/rerank"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// canary stands for content: no error may hold it.
const canary = "canary-7f3a"

var documents = []string{"user, 2023-05-08: I like tea.", "Ada, 2023-05-09: " + canary, "user, 2023-05-10: It rains."}

// calls is a meter.
type calls []rerank.Call

func (c *calls) Reranked(call rerank.Call) { *c = append(*c, call) }

// asked is what the endpoint was asked.
type asked struct {
	path, authorization string
	body                map[string]any
}

// endpoint returns as it is told, and keeps what it was asked.
func endpoint(t *testing.T, answer http.HandlerFunc) (*httptest.Server, *asked) {
	t.Helper()
	seen := &asked{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen.path, seen.authorization = r.Method+" "+r.URL.Path, r.Header.Get("Authorization")
		if err := json.NewDecoder(r.Body).Decode(&seen.body); err != nil {
			t.Errorf("the body is no JSON: %v", err)
		}
		answer(w, r)
	}))
	t.Cleanup(s.Close)
	return s, seen
}

func says(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func client(t *testing.T, o rerank.Options) *rerank.Client {
	t.Helper()
	if o.Model == "" {
		o.Model = "test-model"
	}
	if o.API == "" {
		o.API = rerank.Cohere
	}
	if o.Meter == nil {
		o.Meter = &calls{}
	}
	o.Now = func() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }
	c, err := rerank.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func TestScoresComeInTheOrderOfTheDocuments(t *testing.T) {
	for name, answer := range map[string]string{
		"from Cohere, the best first":             `{"id":"1","results":[{"index":2,"relevance_score":0.9},{"index":0,"relevance_score":0.5},{"index":1,"relevance_score":-3.5}],"meta":{"api_version":{"version":"2"}}}`,
		"from Jina, which sends documents back":   `{"model":"m","object":"list","usage":{"total_tokens":9},"results":[{"index":2,"relevance_score":0.9,"document":{"text":"x"}},{"index":0,"relevance_score":0.5,"document":{"text":"y"}},{"index":1,"relevance_score":-3.5,"document":"z"}]}`,
		"from llama.cpp, in the order of its own": `{"model":"m","results":[{"index":0,"relevance_score":0.5},{"index":1,"relevance_score":-3.5},{"index":2,"relevance_score":9e-1}]}`,
		"from TEI, as a bare list":                ` [{"index":2,"score":0.9},{"index":0,"score":0.5},{"index":1,"score":-3.5}]`,
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := endpoint(t, says(200, answer))
			got, err := client(t, rerank.Options{BaseURL: s.URL}).Rerank(t.Context(), "tea?", documents)
			if d := cmp.Diff([]float64{.5, -3.5, .9}, got); d != "" || err != nil {
				t.Error(d, err)
			}
		})
	}
}

func TestEachAPIIsAskedInItsForm(t *testing.T) {
	texts := []any{documents[0], documents[1], documents[2]}
	for api, want := range map[rerank.API]map[string]any{
		rerank.Cohere: {"model": "test-model", "query": "tea?", "documents": texts, "top_n": 3.},
		rerank.Jina:   {"model": "test-model", "query": "tea?", "documents": texts, "top_n": 3., "return_documents": false},
		rerank.TEI:    {"query": "tea?", "texts": texts, "truncate": true},
	} {
		t.Run(string(api), func(t *testing.T) {
			s, seen := endpoint(t, says(200, `[{"index":0,"score":1},{"index":1,"score":1},{"index":2,"score":1}]`))
			if _, err := client(t, rerank.Options{BaseURL: s.URL + "/v2/", API: api, Key: "secret"}).Rerank(t.Context(), "tea?", documents); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(want, seen.body); d != "" {
				t.Error(d)
			}
			if seen.path != "POST /v2/rerank" || seen.authorization != "Bearer secret" {
				t.Errorf("asked %s with %q", seen.path, seen.authorization)
			}
		})
	}
	t.Run("without a key none is sent, and without documents nothing is asked", func(t *testing.T) {
		s, seen := endpoint(t, says(200, `[{"index":0,"score":1}]`))
		c := client(t, rerank.Options{BaseURL: s.URL})
		if scores, err := c.Rerank(t.Context(), "tea?", nil); scores != nil || err != nil || seen.path != "" {
			t.Errorf("got %v, %v after %q", scores, err, seen.path)
		}
		if _, err := c.Rerank(t.Context(), "tea?", documents[:1]); err != nil || seen.authorization != "" {
			t.Errorf("%v, key %q", err, seen.authorization)
		}
	})
}

func TestAnswersThatCannotBeUsedAreErrorsWithoutContent(t *testing.T) {
	results := func(all string) http.HandlerFunc { return says(200, `{"results":[`+all+`]}`) }
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		class  rerank.Class
		says   string
	}{
		"too few scores":                {results(`{"index":0,"relevance_score":1}`), rerank.ClassNonsense, "1 scores for 3 documents"},
		"none at all":                   {says(200, `{"error":"`+canary+`"}`), rerank.ClassNonsense, "0 scores"},
		"too many":                      {results(strings.Repeat(`{"index":0,"relevance_score":1},`, 3) + `{"index":1,"relevance_score":1}`), rerank.ClassNonsense, "4 scores"},
		"an index twice":                {results(`{"index":0,"relevance_score":1},{"index":0,"relevance_score":1},{"index":1,"relevance_score":1}`), rerank.ClassNonsense, "two scores for one"},
		"an index beyond the documents": {results(`{"index":0,"relevance_score":1},{"index":3,"relevance_score":1},{"index":1,"relevance_score":1}`), rerank.ClassNonsense, "an index that no document has"},
		"an index below zero":           {results(`{"index":0,"relevance_score":1},{"index":-1,"relevance_score":1},{"index":1,"relevance_score":1}`), rerank.ClassNonsense, "an index that no document has"},
		"no index":                      {results(`{"relevance_score":1},{"index":0,"relevance_score":1},{"index":1,"relevance_score":1}`), rerank.ClassNonsense, "an index that no document has"},
		"a score that is null":          {results(`{"index":0,"relevance_score":null},{"index":1,"relevance_score":1},{"index":2,"relevance_score":1}`), rerank.ClassNonsense, "without a score"},
		"a score that is NaN":           {results(`{"index":0,"relevance_score":NaN},{"index":1,"relevance_score":1},{"index":2,"relevance_score":1}`), rerank.ClassNonsense, "not the JSON"},
		"a score beyond all numbers":    {results(`{"index":0,"relevance_score":1e999},{"index":1,"relevance_score":1},{"index":2,"relevance_score":1}`), rerank.ClassNonsense, "not the JSON"},
		"a score in words":              {results(`{"index":0,"relevance_score":"` + canary + `"}`), rerank.ClassNonsense, "not the JSON"},
		"half of the JSON":              {says(200, `{"results":[{"index":0,`), rerank.ClassNonsense, "not the JSON"},
		"a web page":                    {says(200, `<html>`+canary), rerank.ClassNonsense, "are the base URL and the API right?"},
		"nothing":                       {says(200, ``), rerank.ClassNonsense, "not the JSON"},
		"more than is read":             {says(200, strings.Repeat(" ", 5<<20)), rerank.ClassNonsense, "longer than 4194304 bytes"},
		"a fault of the server":         {says(500, `{"message":"`+canary+`"}`), rerank.ClassRefused, "status 500"},
		"a wrong key":                   {says(401, canary), rerank.ClassRefused, "status 401"},
		"a redirect elsewhere":          {redirect, rerank.ClassRefused, "redirects"},
		"a connection that is cut":      {cut, rerank.ClassUnreachable, "broke"},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := endpoint(t, c.answer)
			var met calls
			scores, err := client(t, rerank.Options{BaseURL: s.URL, Meter: &met, Key: canary}).Rerank(t.Context(), canary, documents)
			failed, ok := errors.AsType[*rerank.Error](err)
			if !ok || scores != nil {
				t.Fatalf("got %v, %v", scores, err)
			}
			if failed.Class != c.class || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), canary) {
				t.Errorf("%s: %v", failed.Class, err)
			}
			if d := cmp.Diff(calls{{Model: "test-model", Documents: 3, Outcome: string(c.class)}}, met); d != "" {
				t.Error(d)
			}
		})
	}
}

func redirect(w http.ResponseWriter, r *http.Request) {
	http.Redirect(w, r, "http://127.0.0.1:1/"+canary, http.StatusTemporaryRedirect)
}

func cut(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

func TestACallEndsWithItsContext(t *testing.T) {
	// hold returns the URL of an endpoint that does not reply, and where it tells that it was asked.
	hold := func(t *testing.T) (url string, held chan struct{}) {
		held = make(chan struct{}, 1)
		s, _ := endpoint(t, func(_ http.ResponseWriter, r *http.Request) {
			held <- struct{}{}
			<-r.Context().Done()
		})
		return s.URL, held
	}
	ask := func(ctx context.Context, t *testing.T, url string) (*rerank.Error, *backendlatency.Clock) {
		ctx, clock := backendlatency.Watch(ctx)
		_, err := client(t, rerank.Options{BaseURL: url}).Rerank(ctx, "tea?", documents)
		failed, ok := errors.AsType[*rerank.Error](err)
		if !ok {
			t.Fatalf("got %v", err)
		}
		return failed, clock
	}
	t.Run("by its deadline, and what it took was waiting", func(t *testing.T) {
		url, _ := hold(t)
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		failed, clock := ask(ctx, t, url)
		if failed.Class != rerank.ClassLate || clock.Waited() == 0 {
			t.Errorf("%s: %v after %s", failed.Class, failed, clock.Waited())
		}
	})
	t.Run("or when its caller goes", func(t *testing.T) {
		url, held := hold(t)
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			<-held
			cancel()
		}()
		if failed, _ := ask(ctx, t, url); failed.Class != rerank.ClassGivenUp {
			t.Errorf("%s: %v", failed.Class, failed)
		}
	})
}

func TestAnEndpointThatIsNotThereIsNamed(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	s.Close()
	_, err := client(t, rerank.Options{BaseURL: s.URL}).Rerank(t.Context(), canary, documents)
	if failed, ok := errors.AsType[*rerank.Error](err); !ok || failed.Class != rerank.ClassUnreachable || !strings.Contains(err.Error(), "cannot be reached") {
		t.Errorf("got %v", err)
	}
}

func TestAClientIsNotMadeWithoutWhatItNeeds(t *testing.T) {
	for name, o := range map[string]rerank.Options{
		"an address":                {BaseURL: "localhost:1", Model: "m", API: rerank.Cohere},
		"an address without a user": {BaseURL: "http://a:b@localhost:1", Model: "m", API: rerank.Cohere},
		"a model":                   {BaseURL: "http://localhost:1", API: rerank.Cohere},
		"an API":                    {BaseURL: "http://localhost:1", Model: "m"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := rerank.New(o); err == nil {
				t.Error("made")
			}
		})
	}
}

func TestAKeyIsNotPrinted(t *testing.T) {
	c := client(t, rerank.Options{BaseURL: "http://localhost:1", Key: canary})
	if printed := fmt.Sprintf("%v %+v %#v", c, *c, *c); strings.Contains(printed, canary) {
		t.Error("the key is in what is printed")
	}
}
