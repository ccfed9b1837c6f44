package eval_test

import (
	"errors"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stratamem/strata/bench/internal/eval"
	"github.com/stratamem/strata/internal/memory"
)

const shipsChat = `[
 {"batch_number":1,"time_anchor":null,"turns":[
  [{"role":"user","id":0,"time_anchor":"March-15-2024","content":"My ship is the Anna. ->-> 1,1"},{"role":"assistant","id":1,"content":"A fine ship ->-> 1,1"}],
  [{"role":"user","id":2,"content":"She is red.\n ->-> 1,2 "},{"role":"assistant","id":3,"content":" "}]]},
 {"batch_number":2,"turns":[[{"role":"user","id":4,"content":"She is blue now"},{"role":"assistant","id":2,"content":"Blue?"}]]},
 {"batch_number":3,"time_anchor":"April-02-2024","turns":[[{"role":"user","id":5,"content":"a ->-> b"}]]},
 {"batch_number":4,"turns":[]}]`

const shipsQuestions = `{"summarization":[{"question":"sum?","source_chat_ids":[0,[4,4],99]}],
 "abstention":[{"question":"none?"},{"question":"empty?","source_chat_ids":[]}],
 "knowledge_update":[{"question":"colour?","source_chat_ids":{"original_info":[2],"updated_info":["4"]}},{"question":"blank?","source_chat_ids":[3,98]}]}`

func ships() eval.Dialogue {
	march, april := time.Date(2024, 3, 15, 0, 0, 0, 0, time.UTC), time.Date(2024, 4, 2, 0, 0, 0, 0, time.UTC)
	user, model := memory.RoleUser, memory.RoleAssistant
	return eval.Dialogue{
		Name: "2",
		Sessions: []eval.Session{
			{ID: "batch-1", Begin: march, Turns: []eval.Turn{
				{ID: "0", Label: "0", Role: user, Text: "My ship is the Anna."},
				{ID: "1", Label: "1", Role: model, Text: "A fine ship ->-> 1,1"},
				{ID: "2", Label: "2", Role: user, Text: "She is red."},
			}},
			{ID: "batch-2", Begin: march, Turns: []eval.Turn{{ID: "4", Label: "4", Role: user, Text: "She is blue now"}, {ID: "2#2", Label: "2", Role: model, Text: "Blue?"}}},
			{ID: "batch-3", Begin: april, Turns: []eval.Turn{{ID: "5", Label: "5", Role: user, Text: "a ->-> b"}}},
		},
		Questions: []eval.Question{
			{ID: "2/knowledge_update/1", Type: "knowledge_update", Text: "colour?", Evidence: []string{"2", "4"}, Sessions: []string{"batch-1", "batch-2"}},
			{ID: "2/summarization/1", Type: "summarization", Text: "sum?", Evidence: []string{"0", "4"}, Sessions: []string{"batch-1", "batch-2"}},
		},
		Skipped: 3, Asked: april.AddDate(0, 0, 1),
	}
}

func TestBEAM(t *testing.T) {
	files := file("chats/100K/2/chat.json", shipsChat)
	files["chats/100K/2/probing_questions/probing_questions.json"] = &fstest.MapFile{Data: []byte(shipsQuestions)}
	t.Run("batches are sessions, authors' marks go, sources are read at any depth, questions without evidence are counted", func(t *testing.T) {
		got, err := eval.BEAM(files, ".")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(eval.Set{Dialogues: []eval.Dialogue{ships()}}, got); diff != "" {
			t.Error(diff)
		}
	})
	files["chats/100K/10/chat.json"] = &fstest.MapFile{Data: []byte(`[]`)}
	files["chats/100K/10/chat_trunecated.json"] = &fstest.MapFile{Data: []byte(shipsChat)}
	files["chats/100K/10/probing_questions/probing_questions.json"] = &fstest.MapFile{Data: []byte(shipsQuestions)}
	files["chats/100K/11/probing_questions/probing_questions.json"] = &fstest.MapFile{Data: []byte(shipsQuestions)}
	t.Run("a truncated chat comes first, chats are in the order of their numbers, questions without a chat are noted", func(t *testing.T) {
		got, err := eval.BEAM(files, "chats/100K")
		if err != nil {
			t.Fatal(err)
		}
		if n := len(got.Dialogues); n != 2 || got.Dialogues[0].Name != "2" || got.Dialogues[1].Name != "10" || len(got.Dialogues[1].Sessions) != 3 {
			t.Errorf("got %+v", got.Dialogues)
		}
		if diff := cmp.Diff([]string{"chats/100K/11 has questions and no chat"}, got.Notes); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("chats of two sizes keep their folders' names", func(t *testing.T) {
		files["chats/500K/2/chat.json"] = files["chats/100K/2/chat.json"]
		files["chats/500K/2/probing_questions/probing_questions.json"] = files["chats/100K/2/probing_questions/probing_questions.json"]
		got, err := eval.BEAM(files, "chats")
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Dialogues) != 3 || got.Dialogues[2].Name != "chats/500K/2" || got.Dialogues[2].Questions[0].ID != "chats/500K/2/knowledge_update/1" {
			t.Errorf("got %+v", got.Dialogues)
		}
	})
	t.Run("a folder without chats is refused", func(t *testing.T) {
		if _, err := eval.BEAM(file("readme.json", "{}"), "."); !errors.Is(err, eval.ErrNothing) {
			t.Errorf("got %v", err)
		}
	})
}
