package record_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	"pgregory.net/rapid"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/contexts/contextprofile"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/program/config"
	"github.com/stratamem/strata/internal/testing/e2e"
)

// checked is a server whose default profile has checks for what the assistant says, and whose profile free has none.
func checked(t *testing.T) *e2e.Server {
	t.Helper()
	return checkedOn(t, filepath.Join(t.TempDir(), "strata.db"))
}

func checkedOn(t *testing.T, data string) *e2e.Server {
	t.Helper()
	return e2e.StartOn(t, data, func(cfg *config.Config) {
		p := cfg.Profiles["default"]
		cfg.Profiles["free"] = p
		replies := []memory.Role{memory.RoleAssistant}
		p.Checks = map[string]contextprofile.Check{
			"a-tags":     {Roles: replies, Markup: []string{"html"}, Action: "strip"},
			"b-curses":   {Roles: replies, StopWords: []string{"darn"}, Action: "remove"},
			"c-password": {Roles: replies, StopWords: []string{"password"}, Action: "replace", Text: "I cannot show that."},
			"d-long":     {Roles: replies, MaxCharacters: 200, Action: "retry", Hint: "Answer in at most 200 characters."},
		}
		cfg.Profiles["default"] = p
	})
}

func wordsOf(m *memoryv1.Message) string {
	var all []string
	for _, p := range m.GetParts() {
		all = append(all, p.GetText().GetText())
	}
	return strings.Join(all, "|")
}

func said(messages []*memoryv1.Message) []string {
	var all []string
	for _, m := range messages {
		all = append(all, m.GetId()+": "+wordsOf(m))
	}
	return all
}

func findings(found []*memoryv1.Finding) string {
	var all []string
	for _, f := range found {
		c := f.GetCheck()
		line := fmt.Sprint(f.GetMessageId(), " ", c.GetIndex(), " ", c.GetRule(), " ", strings.TrimPrefix(c.GetAction().String(), "CHECK_ACTION_"))
		if c.GetRemoved() {
			line += " removed"
		}
		all = append(all, line)
	}
	return strings.Join(all, ", ")
}

func TestRecordChecks(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("blah ", 100)
	t.Run("the replacement is what is stored, and the reply says what was done", func(t *testing.T) {
		h := checked(t)
		reply := h.RecordTurn(t, "s", e2e.User("u1", "What is my password?"), e2e.Assistant("a1", "Your password is 1234."), e2e.Assistant("a2", "darn"), e2e.Assistant("a3", "<b>bold</b> words"))
		if got := findings(reply.GetFindings()); got != "a1 1 c-password REPLACE, a2 2 b-curses REMOVE removed, a3 3 a-tags STRIP" {
			t.Errorf("findings %s", got)
		}
		if got := fmt.Sprint(reply.GetMessageIds()); got != "[u1 a1 a2 a3]" {
			t.Errorf("message ids %s", got)
		}
		if got := fmt.Sprint(said(h.Transcript(t, "s"))); got != "[u1: What is my password? a1: I cannot show that. a3: bold words]" {
			t.Errorf("stored %s", got)
		}
		if reply.GetFirstSeq() != 1 || reply.GetLastSeq() != 3 {
			t.Errorf("seqs %d to %d", reply.GetFirstSeq(), reply.GetLastSeq())
		}
	})
	t.Run("what was taken out is nowhere: not in the original, nor found by a search", func(t *testing.T) {
		h := checked(t)
		m := e2e.Assistant("a1", "Your password is xyzzy.")
		m.Original = &memoryv1.Original{Format: "f", Data: []byte("xyzzy")}
		h.RecordTurn(t, "s", e2e.User("u1", "hello"), m)
		if got := h.Transcript(t, "s")[1].GetOriginal(); got != nil {
			t.Errorf("the original is %v", got)
		}
		hits := e2e.Must(h.SearchMessages(h.Ctx, &memoryv1.SearchMessagesRequest{UserId: "ada", Query: "xyzzy"}))(t).GetHits()
		if len(hits) > 0 || strings.Contains(h.Log.String(), "xyzzy") {
			t.Errorf("found %v, or logged", hits)
		}
	})
	t.Run("RETRY refuses the call with the hint, and nothing is written", func(t *testing.T) {
		h := checked(t)
		_, err := h.Record(h.Ctx, &memoryv1.RecordRequest{UserId: "ada", SessionId: "s", Messages: []*memoryv1.Message{e2e.User("u1", "hello"), e2e.Assistant("a1", long)}, StatePatch: structOf(t, map[string]any{"a": 1})})
		e2e.Refused(t, err, codes.InvalidArgument, "CHECK_REFUSED", "messages[1]")
		for _, d := range status.Convert(err).Details() {
			if info, ok := d.(*errdetails.ErrorInfo); ok && (info.GetMetadata()["hint"] != "Answer in at most 200 characters." || info.GetMetadata()["rule"] != "d-long") {
				t.Errorf("metadata %v", info.GetMetadata())
			}
		}
		if strings.Contains(err.Error(), "blah") {
			t.Errorf("the error holds words: %v", err)
		}
		_, err = h.GetSession(h.Ctx, &memoryv1.GetSessionRequest{UserId: "ada", SessionId: "s"})
		e2e.Refused(t, err, codes.NotFound, "USER_NOT_FOUND", "")
	})
	t.Run("a repeated request_id is answered as before, removed messages included", func(t *testing.T) {
		h := checked(t)
		req := &memoryv1.RecordRequest{UserId: "ada", SessionId: "s", RequestId: "r", Messages: []*memoryv1.Message{e2e.Assistant("", "darn"), e2e.User("u1", "hello"), e2e.Assistant("", "oh darn")}}
		first := e2e.Must(h.Record(h.Ctx, req))(t)
		again := e2e.Must(h.Record(h.Ctx, req))(t)
		again.Replayed = false
		if !proto.Equal(first, again) || len(first.GetMessageIds()) != 3 {
			t.Errorf("first %v, again %v", first, again)
		}
	})
	t.Run("a request_id that was answered before the check was there is answered as then", func(t *testing.T) {
		h := e2e.Start(t)
		req := &memoryv1.RecordRequest{UserId: "ada", SessionId: "s", RequestId: "r", Messages: []*memoryv1.Message{e2e.Assistant("", long)}}
		first := e2e.Must(h.Record(h.Ctx, req))(t)
		h.Stop()
		h = checkedOn(t, h.Data)
		again := e2e.Must(h.Record(h.Ctx, req))(t)
		again.Replayed = false
		if !proto.Equal(first, again) {
			t.Errorf("first %v, again %v", first, again)
		}
		req.RequestId = "q"
		_, err := h.Record(h.Ctx, req)
		e2e.Refused(t, err, codes.InvalidArgument, "CHECK_REFUSED", "messages[0]")
	})
	t.Run("a history that is sent again is known, changed and removed messages included", func(t *testing.T) {
		h := checked(t)
		history := []*memoryv1.Message{e2e.User("u1", "hello"), e2e.Assistant("a1", "the password"), e2e.Assistant("a2", "darn")}
		h.RecordTurn(t, "s", history...)
		again := h.RecordTurn(t, "s", append(history, e2e.User("u2", "and now?"))...)
		if got := fmt.Sprint(again.GetDeduplicatedIds()); got != "[u1 a1]" {
			t.Errorf("deduplicated %s", got)
		}
		if got := findings(again.GetFindings()); got != "a2 2 b-curses REMOVE removed" {
			t.Errorf("findings %s", got)
		}
		if n := len(h.Transcript(t, "s")); n != 3 {
			t.Errorf("%d messages are stored, want 3", n)
		}
	})
	t.Run("a message that was stored before the check was there does not refuse the history it is in", func(t *testing.T) {
		h := checked(t)
		e2e.Must(h.Record(h.Ctx, &memoryv1.RecordRequest{UserId: "ada", SessionId: "s", Profile: "free", Messages: []*memoryv1.Message{e2e.Assistant("a1", long)}}))(t)
		e2e.Must(h.UpdateSession(h.Ctx, &memoryv1.UpdateSessionRequest{Session: &memoryv1.Session{UserId: "ada", SessionId: "s", Profile: "default"}}))(t)
		if reply := h.RecordTurn(t, "s", e2e.Assistant("a1", long), e2e.User("u1", "hello")); len(reply.GetDeduplicatedIds()) != 1 || len(reply.GetFindings()) > 0 {
			t.Errorf("reply %v", reply)
		}
	})
	t.Run("the checks are those of the session's profile", func(t *testing.T) {
		h := checked(t)
		e2e.Must(h.Record(h.Ctx, &memoryv1.RecordRequest{UserId: "ada", SessionId: "s", Profile: "free", Messages: []*memoryv1.Message{e2e.User("u1", "hello")}}))(t)
		if reply := h.RecordTurn(t, "s", e2e.Assistant("a1", "darn")); len(reply.GetFindings()) > 0 || len(h.Transcript(t, "s")) != 2 {
			t.Errorf("reply %v", reply)
		}
	})
	t.Run("a call keeps its result", func(t *testing.T) {
		h := checked(t)
		call := &memoryv1.Message{Id: "a1", Role: memoryv1.Role_ROLE_ASSISTANT, Parts: []*memoryv1.Part{
			{Kind: &memoryv1.Part_Text{Text: &memoryv1.Text{Text: "darn"}}},
			{Kind: &memoryv1.Part_ToolCall{ToolCall: &memoryv1.ToolCall{Id: "c", Name: "f", Arguments: "{}"}}},
		}}
		answer := &memoryv1.Message{Id: "t1", Role: memoryv1.Role_ROLE_TOOL, Parts: []*memoryv1.Part{{Kind: &memoryv1.Part_ToolResult{ToolResult: &memoryv1.ToolResult{CallId: "c"}}}}}
		reply := h.RecordTurn(t, "s", call, answer)
		if got := findings(reply.GetFindings()); got != "a1 0 b-curses REMOVE" {
			t.Errorf("findings %s", got)
		}
		if stored := h.Transcript(t, "s"); len(stored) != 2 || len(stored[0].GetParts()) != 1 || stored[0].GetParts()[0].GetToolCall().GetId() != "c" {
			t.Errorf("stored %v", stored)
		}
	})
}

func TestWhatIsStoredPassesTheChecks(t *testing.T) {
	t.Parallel()
	h := checked(t)
	piece := rapid.SampledFrom([]string{"darn", "da<b>rn", "pass<i></i>word", "password ", "<", ">", "script", "</script>", "fine ", "한국어 ", "\n", "&lt;b&gt;"})
	rapid.Check(t, func(rt *rapid.T) {
		var sent []*memoryv1.Message
		for _, pieces := range rapid.SliceOfN(rapid.SliceOfN(piece, 1, 9), 1, 4).Draw(rt, "messages") {
			sent = append(sent, e2e.Assistant("", strings.Join(pieces, "")))
		}
		session := rapid.StringMatching(`[a-z]{8}`).Draw(rt, "session")
		req := &memoryv1.RecordRequest{UserId: "ada", SessionId: session, Messages: sent, StatePatch: structOf(t, map[string]any{"a": 1})}
		if _, err := h.Record(h.Ctx, req); err != nil {
			rt.Fatal(err)
		}
		stored, err := h.ListMessages(h.Ctx, &memoryv1.ListMessagesRequest{UserId: "ada", SessionId: session})
		if err != nil {
			rt.Fatal(err)
		}
		reply, err := h.History.CheckMessages(h.Ctx, &memoryv1.CheckMessagesRequest{Messages: stored.GetMessages()})
		if err != nil || len(reply.GetFindings()) > 0 || reply.GetChanged() {
			rt.Fatalf("stored %v, found %v, error %v", said(stored.GetMessages()), reply.GetFindings(), err)
		}
	})
}

func TestCheckMessages(t *testing.T) {
	t.Parallel()
	h := checked(t)
	check := func(req *memoryv1.CheckMessagesRequest) *memoryv1.CheckMessagesResponse {
		return e2e.Must(h.History.CheckMessages(h.Ctx, req))(t)
	}
	t.Run("messages that pass are not sent back", func(t *testing.T) {
		reply := check(&memoryv1.CheckMessagesRequest{Messages: []*memoryv1.Message{e2e.User("u", "hello"), e2e.Assistant("a", "hi")}})
		if !proto.Equal(reply, &memoryv1.CheckMessagesResponse{Counter: "o200k_base"}) {
			t.Errorf("reply %v", reply)
		}
	})
	t.Run("the profile's checks are used where no rules are given", func(t *testing.T) {
		messages := []*memoryv1.Message{e2e.User("u", "darn"), e2e.Assistant("a", "darn"), e2e.Assistant("b", "password"), e2e.Assistant("c", strings.Repeat("x", 201))}
		reply := check(&memoryv1.CheckMessagesRequest{Messages: messages})
		if got := fmt.Sprint(said(reply.GetMessages())[:2]); got != "[u: darn b: I cannot show that.]" || !reply.GetChanged() || !reply.GetRetry() {
			t.Errorf("left %s, changed %v, retry %v", got, reply.GetChanged(), reply.GetRetry())
		}
		last := reply.GetFindings()[len(reply.GetFindings())-1]
		if last.GetMessageId() != "c" || last.GetIndex() != 3 || last.GetHint() != "Answer in at most 200 characters." || last.GetAction() != memoryv1.CheckAction_CHECK_ACTION_RETRY {
			t.Errorf("the last finding is %v", last)
		}
		if reply := check(&memoryv1.CheckMessagesRequest{Messages: messages, Profile: "free"}); len(reply.GetFindings()) > 0 {
			t.Errorf("a profile without checks finds %v", reply.GetFindings())
		}
	})
	t.Run("every kind of rule can be given in the call", func(t *testing.T) {
		strip := memoryv1.CheckAction_CHECK_ACTION_STRIP
		rules := []*memoryv1.CheckRule{
			e2e.StopWords("words", strip, "bad"),
			{Name: "patterns", Action: strip, Test: &memoryv1.CheckRule_Patterns{Patterns: &memoryv1.Patterns{Expressions: []string{`\d+`}}}},
			{Name: "markup", Action: strip, Test: &memoryv1.CheckRule_Markup{Markup: &memoryv1.MarkupKinds{Kinds: []memoryv1.Markup{memoryv1.Markup_MARKUP_HTML, memoryv1.Markup_MARKUP_MARKDOWN, memoryv1.Markup_MARKUP_CONTROL}}}},
			{Name: "length", Action: strip, Test: &memoryv1.CheckRule_MaxLength{MaxLength: &memoryv1.MaxLength{Tokens: 3}}},
			{Name: "json", Roles: []memoryv1.Role{memoryv1.Role_ROLE_TOOL}, Action: memoryv1.CheckAction_CHECK_ACTION_REMOVE, Test: &memoryv1.CheckRule_Json{Json: &memoryv1.JsonText{Schema: `{"type":"object"}`}}},
		}
		reply := check(&memoryv1.CheckMessagesRequest{Messages: []*memoryv1.Message{e2e.Assistant("a", "<i>bad</i>**good**12 \x07day today again")}, Rules: rules})
		if got := wordsOf(reply.GetMessages()[0]); got != "good day today" {
			t.Errorf("left %q", got)
		}
		if n := len(reply.GetFindings()); n != 4 {
			t.Errorf("%d findings: %v", n, reply.GetFindings())
		}
	})
	t.Run("a message without an id is named by what it says, the same on every call", func(t *testing.T) {
		req := &memoryv1.CheckMessagesRequest{Messages: []*memoryv1.Message{e2e.Assistant("", "darn"), e2e.Assistant("", "darn")}}
		first, again := check(req), check(req)
		if !proto.Equal(first, again) || first.GetFindings()[0].GetMessageId() == first.GetFindings()[1].GetMessageId() {
			t.Errorf("first %v, again %v", first, again)
		}
	})
	t.Run("what is wrong with a rule is said with its field, without repeating it", func(t *testing.T) {
		_, err := h.History.CheckMessages(h.Ctx, &memoryv1.CheckMessagesRequest{Rules: []*memoryv1.CheckRule{
			{Name: "p", Action: memoryv1.CheckAction_CHECK_ACTION_STRIP, Test: &memoryv1.CheckRule_Patterns{Patterns: &memoryv1.Patterns{Expressions: []string{"canary("}}}},
		}})
		e2e.Refused(t, err, codes.InvalidArgument, "FIELD_INVALID", "rules[0].patterns.expressions[0]")
		if strings.Contains(err.Error(), "canary") {
			t.Errorf("error %v", err)
		}
	})
	t.Run("judging that takes too many steps is refused with the rule's field", func(t *testing.T) {
		_, err := h.History.CheckMessages(h.Ctx, &memoryv1.CheckMessagesRequest{
			Messages: []*memoryv1.Message{e2e.Assistant("a", strings.Repeat("a", 900_000))},
			Rules: []*memoryv1.CheckRule{
				e2e.StopWords("words", memoryv1.CheckAction_CHECK_ACTION_STRIP, "bad"),
				{Name: "p", Action: memoryv1.CheckAction_CHECK_ACTION_STRIP, Test: &memoryv1.CheckRule_Patterns{Patterns: &memoryv1.Patterns{Expressions: []string{strings.Repeat("b", 1000)}}}},
			},
		})
		e2e.Refused(t, err, codes.InvalidArgument, "FIELD_INVALID", "rules[1].patterns")
	})
	t.Run("a schema whose expressions expand is refused with its field", func(t *testing.T) {
		_, err := h.History.CheckMessages(h.Ctx, &memoryv1.CheckMessagesRequest{Rules: []*memoryv1.CheckRule{{
			Name: "json", Action: memoryv1.CheckAction_CHECK_ACTION_REMOVE,
			Test: &memoryv1.CheckRule_Json{Json: &memoryv1.JsonText{Schema: `{"pattern":"` + strings.Repeat("(?:a?){1000}", 3) + strings.Repeat("(?:b?){1000}", 3) + `"}`}},
		}}})
		e2e.Refused(t, err, codes.InvalidArgument, "FIELD_INVALID", "rules[0].json.schema")
	})
	t.Run("an unknown profile is refused", func(t *testing.T) {
		_, err := h.History.CheckMessages(h.Ctx, &memoryv1.CheckMessagesRequest{Profile: "none"})
		e2e.Refused(t, err, codes.InvalidArgument, "PROFILE_UNKNOWN", "")
	})
}

func structOf(t *testing.T, fields map[string]any) *structpb.Struct {
	t.Helper()
	return e2e.Must(structpb.NewStruct(fields))(t)
}
