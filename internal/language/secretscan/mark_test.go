package secretscan_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stratamem/strata/internal/language/secretscan"
	"github.com/stratamem/strata/internal/memory"
)

func TestMark(t *testing.T) {
	t.Run("a secret that one message of a turn reveals is found wherever the turn says it", func(t *testing.T) {
		turn := secretscan.Mark([][]memory.Part{
			{memory.TextPart("my password is hunter2, ok?")},
			{memory.TextPart("Sure, hunter2 it is. hunter22 it is not.")},
			{{Kind: memory.PartToolResult, Parts: []memory.Part{memory.TextPart("login ada hunter2 done")}}},
		})
		for i, want := range []string{
			"my password is [secret: password], ok?", "Sure, [secret: password] it is. hunter22 it is not.",
		} {
			if got := turn[i][0].Said(); got != want {
				t.Errorf("%q", got)
			}
		}
		if got := turn[2][0].Parts[0].Said(); got != "login ada [secret: password] done" {
			t.Errorf("%q", got)
		}
	})
	t.Run("masks of one kind tell different secrets apart and equal ones together", func(t *testing.T) {
		turn := secretscan.Mark([][]memory.Part{{
			memory.TextPart("my password is hunter2. The admin password is hunter3."), memory.TextPart("So: hunter3 and hunter2."),
		}})
		if got := (memory.Message{Parts: turn[0]}).SaidText(); got != "my password is [secret: password]. The admin password is [secret: password 2].\n\n"+
			"So: [secret: password 2] and [secret: password]." {
			t.Errorf("%q", got)
		}
	})
}

func TestRemove(t *testing.T) {
	r := newMaker(11)
	token, card := "ghp_"+r.of(alnum, 36), r.card("4", 16, "")
	messages := []memory.Message{{
		ID: "m1", Role: memory.RoleAssistant, Name: "bot", Tags: []string{"deploy", "password=hunter2!"},
		Metadata: json.RawMessage(`{"trace":"7f","auth":{"github":"` + token + `"},"card":` + card + `}`),
		Original: &memory.Original{Format: "openai", Data: []byte(`{"content":"my password is hunter2!"}`)},
		Parts: []memory.Part{
			memory.TextPart("my password is hunter2!"),
			{Kind: memory.PartReasoning, Text: "They said " + token, Signature: "sig"},
			{Kind: memory.PartToolCall, CallID: "c1", Name: "login", Arguments: `{"user":"ada","password":"hunter2!","card":` + card + `,"n":3}`},
			{Kind: memory.PartOpaque, Type: "x", JSON: `{"token":"` + token + `","a":"b\"c"}`},
			{Kind: memory.PartURI, URI: "https://ada:hunter2!@acme.io/a?b=c"},
			{Kind: memory.PartToolResult, CallID: "c0", Parts: []memory.Part{memory.TextPart("card " + card)}},
		},
	}}
	before, err := json.Marshal(messages)
	if err != nil {
		t.Fatal(err)
	}
	out, patch := secretscan.Remove(messages, json.RawMessage(`{"notes":"card is `+card+`","password":"hunter2!","n":1}`))
	after, err := json.Marshal(struct {
		M []memory.Message
		P json.RawMessage
		O string
	}{out, patch, string(out[0].Original.Data)})
	if err != nil {
		t.Fatalf("what was JSON is none: %v", err)
	}
	for _, secret := range []string{token, card, "hunter2"} {
		if strings.Contains(string(after), secret) {
			t.Errorf("%q is left in %s", secret, after)
		}
	}
	for _, raw := range []string{out[0].Parts[2].Arguments, out[0].Parts[3].JSON, string(out[0].Metadata), string(patch), string(out[0].Original.Data)} {
		if !json.Valid([]byte(raw)) {
			t.Errorf("no JSON: %s", raw)
		}
	}
	if m := out[0]; m.ID != "m1" || m.Name != "bot" || m.Tags[0] != "deploy" || m.Parts[2].CallID != "c1" || m.Parts[1].Signature != "" ||
		!strings.Contains(m.Parts[2].Arguments, `"user":"ada"`) || !strings.Contains(m.Parts[2].Arguments, `"n":3`) ||
		!strings.Contains(m.Parts[3].JSON, `"a":"b\"c"`) || !strings.Contains(string(m.Metadata), `"trace":"7f"`) {
		t.Errorf("more than secrets is gone: %s", after)
	}
	if now, _ := json.Marshal(messages); string(now) != string(before) {
		t.Error("the caller's messages changed")
	}
	again, _ := secretscan.Remove(out, nil)
	if a, b := mustJSON(t, again), mustJSON(t, out); a != b {
		t.Errorf("masked anew: %s, was %s", a, b)
	}
}

func mustJSON(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
