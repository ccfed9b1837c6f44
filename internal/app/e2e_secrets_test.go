package app_test

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
)

// plantedSecrets are made when the test runs, so that no file holds a key.
type plantedSecrets struct{ password, token, card, url, called, answered, pending, metadata, patched string }

func (s plantedSecrets) all() []string {
	return []string{s.password, s.token, s.card, s.url, s.called, s.answered, s.pending, s.metadata, s.patched}
}

// in returns the secrets that a text holds, in whatever case and as bytes of a protocol too.
func (s plantedSecrets) in(text string) []string {
	low := strings.ToLower(text)
	var found []string
	for _, secret := range s.all() {
		piece := strings.ToLower(secret)
		if strings.Contains(low, piece) || strings.Contains(low, strings.ReplaceAll(piece, " ", "")) ||
			strings.Contains(text, base64.StdEncoding.EncodeToString([]byte(secret))) || strings.Contains(low, piece[len(piece)-8:]) {
			found = append(found, secret)
		}
	}
	return found
}

// turn is a turn whose user, assistant and tool say secrets, beside what may be learnt.
func (s plantedSecrets) turn(t *testing.T) []*memoryv1.Message {
	call := &memoryv1.Message{Id: "call", Role: memoryv1.Role_ROLE_ASSISTANT, Parts: []*memoryv1.Part{
		{Kind: &memoryv1.Part_Text{Text: &memoryv1.Text{Text: "I log in with " + s.password + " now."}}},
		{Kind: &memoryv1.Part_ToolCall{ToolCall: &memoryv1.ToolCall{Id: "c1", Name: "login", Arguments: `{"user":"ada","private_token":"` + s.called + `"}`}}},
	}}
	result := &memoryv1.Message{Id: "result", Role: memoryv1.Role_ROLE_TOOL, Parts: []*memoryv1.Part{
		{Kind: &memoryv1.Part_ToolResult{ToolResult: &memoryv1.ToolResult{CallId: "c1", Parts: []*memoryv1.Part{
			{Kind: &memoryv1.Part_Text{Text: &memoryv1.Text{Text: "Logged in. The deploy key is " + s.answered + ", use it."}}},
		}}}},
	}}
	first := user("first", "I live in Lisbon. My password is "+s.password+". Our repository token is "+s.token+". My card is "+s.card+".")
	first.Metadata = must(structpb.NewStruct(map[string]any{"npm": s.metadata}))(t)
	first.Original = &memoryv1.Original{Format: "openai", Data: []byte(`{"role":"user","content":"My password is ` + s.password + `."}`)}
	return []*memoryv1.Message{
		first, assistant("second", "Noted: the password is "+s.password+" and the database is postgres://app:"+s.url+"@db:5432/app."),
		call, result, assistant("last", "Done. The token "+s.token+" works."),
	}
}

// tellSecrets records the planted turn and has all of it worked through. It returns every reply that may not show a secret where only
// the transcript may, and those that are the transcript's.
func (h *harness) tellSecrets(t *testing.T, s plantedSecrets) (made, transcript []proto.Message) {
	t.Helper()
	must(h.Record(h.ctx, &memoryv1.RecordRequest{
		UserId: "ada", SessionId: "s", RequestId: "r1", Messages: s.turn(t), StatePatch: object("registry", structString(s.patched)),
	}))(t)
	h.recordTurn(t, "s", user("more", "What is my password again? It begins with a letter."), assistant("then", "I will not say it."))
	transcript = append(transcript, h.summarize(t, "s"))
	made, transcript = transcript, nil
	h.catchUp(t, "s")
	for _, of := range []memoryv1.Watermark{memoryv1.Watermark_WATERMARK_INDEXED, memoryv1.Watermark_WATERMARK_SUMMARISED} {
		must(h.work().WaitForWatermark(h.ctx, &memoryv1.WaitForWatermarkRequest{
			UserId: "ada", SessionId: "s", Of: []memoryv1.Watermark{of}, Timeout: longWait,
		}))(t)
	}
	for _, query := range []string{"What is my password?", "Where do I live and what is the token?", "Is it " + s.pending + "?", "card " + s.card} {
		made = append(made,
			must(h.SearchMessages(h.ctx, &memoryv1.SearchMessagesRequest{UserId: "ada", Query: query, PageSize: 50}))(t),
			must(h.facts().SearchFacts(h.ctx, &memoryv1.SearchFactsRequest{UserId: "ada", Query: query}))(t))
		for _, render := range []memoryv1.Render{memoryv1.Render_RENDER_TEXT, memoryv1.Render_RENDER_OPENAI, memoryv1.Render_RENDER_STRUCTURED} {
			made = append(made, must(h.BuildContext(h.ctx, &memoryv1.BuildContextRequest{
				UserId: "ada", SessionId: "other", Query: query, Render: render, Explain: true,
			}))(t))
		}
	}
	made = append(made,
		must(h.facts().ListFacts(h.ctx, &memoryv1.ListFactsRequest{UserId: "ada", IncludePast: true}))(t),
		must(h.facts().ListQuarantined(h.ctx, &memoryv1.ListQuarantinedRequest{UserId: "ada"}))(t),
		must(h.summaries().ListSummaries(h.ctx, &memoryv1.ListSummariesRequest{UserId: "ada"}))(t),
		must(h.summaries().GetSummary(h.ctx, &memoryv1.GetSummaryRequest{UserId: "ada", SessionId: "s"}))(t),
		must(h.work().ListJobs(h.ctx, &memoryv1.ListJobsRequest{UserId: "ada", States: allStates}))(t),
		must(h.users().GetUser(h.ctx, &memoryv1.GetUserRequest{UserId: "ada"}))(t),
		must(h.ListSessions(h.ctx, &memoryv1.ListSessionsRequest{UserId: "ada"}))(t),
	)
	// What the caller has in hand is the caller's: a pending message, and a history that is compacted.
	must(h.BuildContext(h.ctx, &memoryv1.BuildContextRequest{
		UserId: "ada", SessionId: "other", Pending: []*memoryv1.Message{user("", "Use "+s.pending+" for it.")},
	}))(t)
	policy := whole(4, 2)
	h.compact(t, &memoryv1.CompactRequest{Messages: append(s.turn(t), user("", "My password is "+s.password+".")), Policy: policy})
	transcript = append(transcript,
		must(h.ListMessages(h.ctx, &memoryv1.ListMessagesRequest{UserId: "ada", SessionId: "s", IncludeOriginal: true}))(t),
		must(h.GetSession(h.ctx, &memoryv1.GetSessionRequest{UserId: "ada", SessionId: "s"}))(t))
	return made, transcript
}

// indexed is how many rows of Elasticsearch have the term, in which * stands for anything, among their stems or in their text.
func (r *rig) indexed(t *testing.T, term string) int {
	t.Helper()
	address := r.corner.Elasticsearch + "/" + r.corner.Name + "*/_search?q=terms:" + url.QueryEscape(term+" OR text:"+term)
	req := must(http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil))(t)
	reply, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(reply.Body)
	if closed := reply.Body.Close(); err != nil || closed != nil {
		t.Fatal(err, closed)
	}
	var found struct {
		Hits struct {
			Total struct {
				Value int `json:"value"`
			} `json:"total"`
		} `json:"hits"`
	}
	if err := json.Unmarshal(body, &found); err != nil || reply.StatusCode != http.StatusOK {
		t.Fatalf("Elasticsearch answers %s: %s", reply.Status, body)
	}
	return found.Hits.Total.Value
}
