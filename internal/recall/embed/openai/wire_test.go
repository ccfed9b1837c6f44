package openai_test

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/stratamem/strata/internal/learning/llm"
	"github.com/stratamem/strata/internal/recall/embed"
	"github.com/stratamem/strata/internal/recall/embed/openai"
	"github.com/stratamem/strata/internal/testing/llmtest"
)

// script replies and keeps the encodings that were asked for.
type script struct {
	reply func(llmtest.EmbedRequest) llmtest.EmbedReply
	asked []string
}

func (s *script) embed(r llmtest.EmbedRequest) llmtest.EmbedReply {
	s.asked = append(s.asked, r.Encoding)
	return s.reply(r)
}

// inBase64 replies so to calls that ask for base64, and rightly to others.
func inBase64(r llmtest.EmbedReply) func(llmtest.EmbedRequest) llmtest.EmbedReply {
	return func(req llmtest.EmbedRequest) llmtest.EmbedReply {
		if req.Encoding == "base64" {
			return r
		}
		return llmtest.EmbedReply{}
	}
}

func refuses(status int, message string) llmtest.EmbedReply {
	return llmtest.EmbedReply{Status: status, Failure: llmtest.Failure{Message: message}}
}

// Whatever an endpoint makes of the parameter, the vectors are the same numbers, and what it refuses is not asked for again.
func TestEncodings(t *testing.T) {
	once := []string{"base64", "base64"}
	again := []string{"base64", "", ""}
	for name, c := range map[string]struct {
		reply llmtest.EmbedReply // to base64
		asked []string           // by two calls
		calls int                // that the first one reports
	}{
		"an endpoint that sends base64":             {llmtest.EmbedReply{}, once, 1},
		"one that does not know the parameter":      {llmtest.EmbedReply{Numbers: true}, once, 1},
		"an older vLLM":                             {refuses(400, "base64 encoding is not currently supported"), again, 2},
		"one that validates its parameters":         {refuses(422, "Extra inputs are not permitted"), again, 2},
		"a gateway that does not say why":           {refuses(400, "An error occurred while reading the response body"), again, 2},
		"one that has not built it":                 {refuses(501, ""), again, 2},
		"a proxy that calls it an internal error":   {refuses(500, "Setting `encoding_format` is not supported"), again, 2},
		"one that fails at it":                      {refuses(500, ""), again, 2},
		"one that takes a parameter for a conflict": {refuses(409, "encoding_format"), again, 2},
	} {
		t.Run(name, func(t *testing.T) {
			script := &script{reply: inBase64(c.reply)}
			e := embedder(t, serve(t, llmtest.Options{Embed: script.embed}).URL())
			for i, calls := range []int{c.calls, 1} {
				got, usage, err := e.Report(t.Context(), texts)
				if d := cmp.Diff(right(384), got); d != "" || err != nil {
					t.Fatal(d, err)
				}
				if usage.Calls != calls {
					t.Errorf("call %d reports %d calls, want %d", i, usage.Calls, calls)
				}
			}
			if !slices.Equal(script.asked, c.asked) {
				t.Errorf("asked for %q, want %q", script.asked, c.asked)
			}
		})
	}
	t.Run("another endpoint is asked anew", func(t *testing.T) {
		refusing := &script{reply: inBase64(refuses(400, ""))}
		taking := &script{reply: inBase64(llmtest.EmbedReply{})}
		for _, s := range []*script{refusing, taking} {
			if _, err := embedder(t, serve(t, llmtest.Options{Embed: s.embed}).URL()).Embed(t.Context(), texts); err != nil {
				t.Fatal(err)
			}
		}
		if !slices.Equal(taking.asked, []string{"base64"}) {
			t.Errorf("asked for %q", taking.asked)
		}
	})
	t.Run("a failure that has other reasons is no refusal", func(t *testing.T) {
		for _, status := range []int{400, 500} {
			bad := true
			script := &script{reply: func(llmtest.EmbedRequest) llmtest.EmbedReply {
				if bad {
					return refuses(status, canary)
				}
				return llmtest.EmbedReply{}
			}}
			e := embedder(t, serve(t, llmtest.Options{Embed: script.embed}).URL())
			_, usage, err := e.Report(t.Context(), texts)
			if err == nil || usage.Calls != 2 || strings.Contains(err.Error(), canary) {
				t.Errorf("status %d: %v, %+v", status, err, usage)
			}
			bad = false
			if _, err := e.Embed(t.Context(), texts); err != nil {
				t.Error(err)
			}
			if want := []string{"base64", "", "base64"}; !slices.Equal(script.asked, want) {
				t.Errorf("status %d: asked for %q, want %q", status, script.asked, want)
			}
		}
	})
	t.Run("an internal error of one that sent base64 before is none either", func(t *testing.T) {
		replies := []llmtest.EmbedReply{{}, refuses(500, ""), {}}
		script := &script{reply: func(llmtest.EmbedRequest) llmtest.EmbedReply {
			next := replies[0]
			replies = replies[1:]
			return next
		}}
		e := embedder(t, serve(t, llmtest.Options{Embed: script.embed}).URL())
		for i, want := range []llm.Class{"", llm.ClassTransient, ""} {
			if _, err := e.Embed(t.Context(), texts); (err == nil) != (want == "") || err != nil && llm.ClassOf(err) != want {
				t.Errorf("call %d: %v", i, err)
			}
		}
		if !slices.Equal(script.asked, []string{"base64", "base64", "base64"}) {
			t.Errorf("asked for %q", script.asked)
		}
	})
	t.Run("failures that no other encoding mends are made once", func(t *testing.T) {
		for _, r := range []llmtest.EmbedReply{
			refuses(401, ""),
			refuses(404, ""),
			refuses(413, ""),
			refuses(429, ""),
			refuses(503, ""),
			refuses(400, "the input length exceeds the context length"),
			{Fault: llmtest.FaultReset},
		} {
			s := serve(t, always(r))
			if _, err := embedder(t, s.URL()).Embed(t.Context(), texts); err == nil || len(s.Calls()) != 1 {
				t.Errorf("%+v: %v after %d calls", r, err, len(s.Calls()))
			}
		}
	})
}

// raw serves one vector as it stands in the body: to calls for base64, and to all others.
func raw(t *testing.T, encoded, plain string) (url string) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct {
			Encoding string `json:"encoding_format"`
		}
		_ = json.NewDecoder(r.Body).Decode(&body)
		vector := plain
		if body.Encoding == "base64" {
			vector = encoded
		}
		fmt.Fprintf(w, `{"data":[{"index":0,"embedding":%s}]}`, vector)
	}))
	t.Cleanup(s.Close)
	return s.URL + "/v1"
}

func quoted[T float32 | float64](numbers ...T) string {
	b, _ := binary.Append(nil, binary.LittleEndian, numbers)
	return `"` + base64.StdEncoding.EncodeToString(b) + `"`
}

func TestStringsThatHoldNoVector(t *testing.T) {
	one := []string{"a"}
	for name, encoded := range map[string]string{
		"no base64": `"not base64"`, "half a number": `"AACA"`, "base64 of another alphabet": `"__--"`, "an escape that is none": `"\ud800"`,
	} {
		t.Run(name+" is asked for again", func(t *testing.T) {
			got, err := embedder(t, raw(t, encoded, `[1,2]`)).Embed(t.Context(), one)
			if d := cmp.Diff([][]float32{{1, 2}}, got); d != "" || err != nil {
				t.Error(d, err)
			}
		})
		t.Run(name+" is refused where there is nothing else", func(t *testing.T) {
			_, err := embedder(t, raw(t, encoded, encoded)).Embed(t.Context(), one)
			if llm.ClassOf(err) != llm.ClassPermanent || !strings.Contains(err.Error(), "not a vector in base64") {
				t.Errorf("got %v", err)
			}
		})
	}
	t.Run("numbers of another size are asked for again where the dimension is known", func(t *testing.T) {
		for name, known := range map[string]func(*openai.Embedder) error{
			"asked for": func(*openai.Embedder) error { return nil },
			"known":     func(*openai.Embedder) error { return nil },
			"learnt":    func(e *openai.Embedder) error { return e.Probe(t.Context()) },
		} {
			e := embedder(t, raw(t, quoted(1., 2.), `[1,2]`), func(o *openai.Options) {
				switch name {
				case "asked for":
					o.Dimensions = 2
				case "known":
					o.Known = 2
				}
			})
			if err := known(e); err != nil {
				t.Fatal(err)
			}
			got, err := e.Embed(t.Context(), one)
			if d := cmp.Diff([][]float32{{1, 2}}, got); d != "" || err != nil {
				t.Error(name, d, err)
			}
		}
	})
	t.Run("a string with escaped slashes is read", func(t *testing.T) {
		v := []float32{math.Float32frombits(0x3f7fffff), 1e-3}
		escaped := strings.ReplaceAll(quoted(v...), "/", `\/`)
		if !strings.Contains(escaped, `\/`) {
			t.Fatal("the vector has no slash")
		}
		got, err := embedder(t, raw(t, escaped, `[]`)).Embed(t.Context(), one)
		if d := cmp.Diff([][]float32{v}, got); d != "" || err != nil {
			t.Error(d, err)
		}
	})
	t.Run("numbers that are not finite are refused", func(t *testing.T) {
		for _, n := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
			e := embed.Checked(embedder(t, raw(t, quoted(1, float32(n)), `[1,1]`)), 2)
			if _, err := e.Embed(t.Context(), one); llm.ClassOf(err) != llm.ClassPermanent || !strings.Contains(err.Error(), "not finite") {
				t.Errorf("%v: %v", n, err)
			}
		}
	})
}

// What encoding/json reads as numbers is read as the same numbers, bit by bit, and what it refuses is refused.
func TestNumbersAreThoseOfEncodingJSON(t *testing.T) {
	odd := []string{"null", "0", "-0", "1e-46", "1e999", "3.4028235e38", "3.4028236e38", "true", `"1"`, "[1]", "{}", "1E+2", " 7 ", "0.1", "16777217"}
	var body string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, body) }))
	t.Cleanup(s.Close)
	e := embedder(t, s.URL+"/v1")
	rapid.Check(t, func(rt *rapid.T) {
		element := rapid.OneOf(rapid.SampledFrom(odd), rapid.Custom(func(rt *rapid.T) string {
			n := math.Float32frombits(rapid.Uint32().Draw(rt, "bits"))
			if math.IsNaN(float64(n)) || math.IsInf(float64(n), 0) {
				n = 0
			}
			return fmt.Sprint(n)
		}))
		list := "[" + strings.Join(rapid.SliceOfN(element, 0, 20).Draw(rt, "numbers"), ",") + "]"
		if rapid.IntRange(0, 9).Draw(rt, "whether it is a list") == 0 {
			list = rapid.SampledFrom(odd).Draw(rt, "instead")
		}
		body = `{"data":[{"embedding":` + list + `}]}`
		var want struct {
			Data []struct{ Embedding []float32 }
		}
		refused := json.Unmarshal([]byte(body), &want)
		got, err := e.Embed(t.Context(), []string{"a"})
		if (err == nil) != (refused == nil) {
			rt.Fatalf("%s: %v, encoding/json: %v", list, err, refused)
		}
		if err == nil && !slices.EqualFunc(got[0], want.Data[0].Embedding, func(a, b float32) bool { return math.Float32bits(a) == math.Float32bits(b) }) {
			rt.Fatalf("%s: %v, encoding/json: %v", list, got[0], want.Data[0].Embedding)
		}
	})
}
