package e2e

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

// PlantedSecrets are made when the test runs, so that no file holds a key.
type PlantedSecrets struct{ Password, Token, Card, URL, Called, Answered, Pending, Metadata, Patched string }

func (s PlantedSecrets) All() []string {
	return []string{s.Password, s.Token, s.Card, s.URL, s.Called, s.Answered, s.Pending, s.Metadata, s.Patched}
}

// In returns the secrets that a text holds, in whatever case and as bytes of a protocol too.
func (s PlantedSecrets) In(text string) []string {
	low := strings.ToLower(text)
	var found []string
	for _, secret := range s.All() {
		piece := strings.ToLower(secret)
		if strings.Contains(low, piece) || strings.Contains(low, strings.ReplaceAll(piece, " ", "")) ||
			strings.Contains(text, base64.StdEncoding.EncodeToString([]byte(secret))) || strings.Contains(low, piece[len(piece)-8:]) {
			found = append(found, secret)
		}
	}
	return found
}

// Turn is a turn whose user, assistant and tool say secrets, beside what may be learnt.
func (s PlantedSecrets) Turn(t *testing.T) []*memoryv1.Message {
	call := &memoryv1.Message{Id: "call", Role: memoryv1.Role_ROLE_ASSISTANT, Parts: []*memoryv1.Part{
		{Kind: &memoryv1.Part_Text{Text: &memoryv1.Text{Text: "I log in with " + s.Password + " now."}}},
		{Kind: &memoryv1.Part_ToolCall{ToolCall: &memoryv1.ToolCall{Id: "c1", Name: "login", Arguments: `{"user":"ada","private_token":"` + s.Called + `"}`}}},
	}}
	result := &memoryv1.Message{Id: "result", Role: memoryv1.Role_ROLE_TOOL, Parts: []*memoryv1.Part{
		{Kind: &memoryv1.Part_ToolResult{ToolResult: &memoryv1.ToolResult{CallId: "c1", Parts: []*memoryv1.Part{
			{Kind: &memoryv1.Part_Text{Text: &memoryv1.Text{Text: "Logged in. The deploy key is " + s.Answered + ", use it."}}},
		}}}},
	}}
	first := User("first", "I live in Lisbon. My password is "+s.Password+". Our repository token is "+s.Token+". My card is "+s.Card+".")
	first.Metadata = Must(structpb.NewStruct(map[string]any{"npm": s.Metadata}))(t)
	first.Original = &memoryv1.Original{Format: "openai", Data: []byte(`{"role":"user","content":"My password is ` + s.Password + `."}`)}
	return []*memoryv1.Message{
		first, Assistant("second", "Noted: the password is "+s.Password+" and the database is postgres://app:"+s.URL+"@db:5432/app."),
		call, result, Assistant("last", "Done. The token "+s.Token+" works."),
	}
}

// TellSecrets records the planted turn and has all of it worked through. It returns every reply that may not show a secret where only
// the transcript may, and those that are the transcript's.
func (h *Server) TellSecrets(t *testing.T, s PlantedSecrets) (made, transcript []proto.Message) {
	t.Helper()
	Must(h.Record(h.Ctx, &memoryv1.RecordRequest{
		UserId: "ada", SessionId: "s", RequestId: "r1", Messages: s.Turn(t), StatePatch: Object("registry", StructString(s.Patched)),
	}))(t)
	h.RecordTurn(t, "s", User("more", "What is my password again? It begins with a letter."), Assistant("then", "I will not say it."))
	transcript = append(transcript, h.Summarize(t, "s"))
	made, transcript = transcript, nil
	h.CatchUp(t, "s")
	for _, of := range []memoryv1.Watermark{memoryv1.Watermark_WATERMARK_INDEXED, memoryv1.Watermark_WATERMARK_SUMMARISED} {
		Must(h.Work().WaitForWatermark(h.Ctx, &memoryv1.WaitForWatermarkRequest{
			UserId: "ada", SessionId: "s", Of: []memoryv1.Watermark{of}, Timeout: LongWait,
		}))(t)
	}
	for _, query := range []string{"What is my password?", "Where do I live and what is the token?", "Is it " + s.Pending + "?", "card " + s.Card} {
		made = append(made,
			Must(h.SearchMessages(h.Ctx, &memoryv1.SearchMessagesRequest{UserId: "ada", Query: query, PageSize: 50}))(t),
			Must(h.Facts().SearchFacts(h.Ctx, &memoryv1.SearchFactsRequest{UserId: "ada", Query: query}))(t))
		for _, render := range []memoryv1.Render{memoryv1.Render_RENDER_TEXT, memoryv1.Render_RENDER_OPENAI, memoryv1.Render_RENDER_STRUCTURED} {
			made = append(made, Must(h.BuildContext(h.Ctx, &memoryv1.BuildContextRequest{
				UserId: "ada", SessionId: "other", Query: query, Render: render, Explain: true,
			}))(t))
		}
	}
	made = append(made,
		Must(h.Facts().ListFacts(h.Ctx, &memoryv1.ListFactsRequest{UserId: "ada", IncludePast: true}))(t),
		Must(h.Facts().ListQuarantined(h.Ctx, &memoryv1.ListQuarantinedRequest{UserId: "ada"}))(t),
		Must(h.Summaries().ListSummaries(h.Ctx, &memoryv1.ListSummariesRequest{UserId: "ada"}))(t),
		Must(h.Summaries().GetSummary(h.Ctx, &memoryv1.GetSummaryRequest{UserId: "ada", SessionId: "s"}))(t),
		Must(h.Work().ListJobs(h.Ctx, &memoryv1.ListJobsRequest{UserId: "ada", States: AllStates}))(t),
		Must(h.Users().GetUser(h.Ctx, &memoryv1.GetUserRequest{UserId: "ada"}))(t),
		Must(h.ListSessions(h.Ctx, &memoryv1.ListSessionsRequest{UserId: "ada"}))(t),
	)
	// What the caller has in hand is the caller's: a pending message, and a history that is compacted.
	Must(h.BuildContext(h.Ctx, &memoryv1.BuildContextRequest{
		UserId: "ada", SessionId: "other", Pending: []*memoryv1.Message{User("", "Use "+s.Pending+" for it.")},
	}))(t)
	policy := Whole(4, 2)
	h.Compact(t, &memoryv1.CompactRequest{Messages: append(s.Turn(t), User("", "My password is "+s.Password+".")), Policy: policy})
	transcript = append(transcript,
		Must(h.ListMessages(h.Ctx, &memoryv1.ListMessagesRequest{UserId: "ada", SessionId: "s", IncludeOriginal: true}))(t),
		Must(h.GetSession(h.Ctx, &memoryv1.GetSessionRequest{UserId: "ada", SessionId: "s"}))(t))
	return made, transcript
}

// Indexed is how many rows of Elasticsearch have the term, in which * stands for anything, among their stems or in their text.
func (r *Rig) Indexed(t *testing.T, term string) int {
	t.Helper()
	address := r.Corner.Elasticsearch + "/" + r.Corner.Name + "*/_search?q=terms:" + url.QueryEscape(term+" OR text:"+term)
	req := Must(http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil))(t)
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
