package eval_test

import (
	"archive/zip"
	"bytes"
	"errors"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stratamem/strata/bench/internal/eval"
	"github.com/stratamem/strata/internal/memory"
)

// file is a folder with one file.
func file(name, content string) fstest.MapFS {
	return fstest.MapFS{name: {Data: []byte(content)}}
}

const ada = `"session_1_date_time":"1:56 pm on 8 May, 2023","session_2_date_time":"9:05 am on 1 June, 2023",
 "session_3_date_time":"9:05 am on 3 June, 2023",
 "session_1":[{"speaker":"Ada","dia_id":"D1:1","text":"one"},{"speaker":"Grace","dia_id":"D1:2","text":"two","blip_caption":"a cat"},
  {"speaker":"Ada","dia_id":"D1:3","text":""}],
 "session_3":[{"speaker":"Ada","dia_id":"D3:1","text":"three"}]`

const adaLearnt = `"session_1_observation":{"Grace":[["She has a cat.","D1:2"]],"Ada":[["He counts.",["D1:1","D:03:01"]]]},"session_1_summary":`

const adaQuestions = `"qa":[{"question":"a?","category":1,"evidence":["D:1:01; D3:1","D9:9","D1:1"]},{"question":"b?","category":5,"evidence":["D1:1"]},
 {"question":"c?","category":4,"evidence":["D9:9"]},{"question":"d?","category":3}]`

const adaFile = `{` + ada + `,` + adaLearnt + `"They counted.",` + adaQuestions + `}`

const adaOriginal = `[{"sample_id":"conv-7","conversation":{"speaker_a":"Ada",` + ada + `},"observation":{"session_1_observation":{"Grace":[["She has a cat.","D1:2"]],
 "Ada":[["He counts.",["D1:1","D:03:01"]]]}},"session_summary":{"session_1_summary":"They counted."},` + adaQuestions + `}]`

func adaSet() eval.Set {
	return eval.Set{Dialogues: []eval.Dialogue{{
		Name: "7",
		Sessions: []eval.Session{
			{
				ID: "session_1", Begin: time.Date(2023, 5, 8, 13, 56, 0, 0, time.UTC), Summary: "They counted.",
				Turns: []eval.Turn{
					{ID: "D1:1", Label: "D1:1", Role: memory.RoleUser, Name: "Ada", Text: "one"},
					{ID: "D1:2", Label: "D1:2", Role: memory.RoleUser, Name: "Grace", Text: "two [shares a photo of a cat]"},
				},
				Facts: []eval.Fact{{Speaker: "Ada", Text: "He counts.", Turns: []string{"D1:1", "D3:1"}}, {Speaker: "Grace", Text: "She has a cat.", Turns: []string{"D1:2"}}},
			},
			{
				ID: "session_3", Begin: time.Date(2023, 6, 3, 9, 5, 0, 0, time.UTC),
				Turns: []eval.Turn{{ID: "D3:1", Label: "D3:1", Role: memory.RoleUser, Name: "Ada", Text: "three"}},
			},
		},
		Questions: []eval.Question{
			{ID: "7/1", Type: "1 multi-hop", Text: "a?", Evidence: []string{"D1:1", "D3:1"}, Sessions: []string{"session_1", "session_3"}},
			{ID: "7/2", Type: "5 adversarial", Text: "b?", Apart: true, Evidence: []string{"D1:1"}, Sessions: []string{"session_1"}},
		},
		Skipped: 2, Asked: time.Date(2023, 6, 4, 9, 5, 0, 0, time.UTC),
	}}}
}

func TestLoCoMo(t *testing.T) {
	for _, c := range []struct{ name, file, content string }{
		{"a file of one dialogue: captions stand behind the words, dates without turns are no sessions, malformed evidence is read, absent turns are dropped", "data/7.json", adaFile},
		{"the list of the original file gives the same", "locomo10.json", adaOriginal},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := eval.LoCoMo(file(c.file, c.content), ".")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(adaSet(), got); diff != "" {
				t.Error(diff)
			}
		})
	}
	t.Run("a zip gives the same, without what archivers put beside it", func(t *testing.T) {
		var b bytes.Buffer
		z := zip.NewWriter(&b)
		for name, content := range map[string]string{"locomo/7.json": adaFile, "__MACOSX/locomo/7.json": "junk", "locomo/._7.json": "junk"} {
			w, err := z.Create(name)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := w.Write([]byte(content)); err != nil {
				t.Fatal(err)
			}
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		files, err := zip.NewReader(bytes.NewReader(b.Bytes()), int64(b.Len()))
		if err != nil {
			t.Fatal(err)
		}
		got, err := eval.LoCoMo(files, ".")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(adaSet(), got); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("one file of a folder can be named", func(t *testing.T) {
		files := file("7.json", adaFile)
		files["8.json"] = &fstest.MapFile{Data: []byte(adaFile)}
		got, err := eval.LoCoMo(files, "8.json")
		if err != nil || len(got.Dialogues) != 1 || got.Dialogues[0].Name != "8" {
			t.Errorf("got %+v, %v", got, err)
		}
	})
	t.Run("JSON of another shape is no dialogue, and none is an error", func(t *testing.T) {
		if _, err := eval.LoCoMo(file("people.json", `[["a","b"]]`), "."); !errors.Is(err, eval.ErrNothing) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("what is no JSON is refused", func(t *testing.T) {
		if _, err := eval.LoCoMo(file("7.json", `{"qa":`), "."); err == nil {
			t.Error("no error")
		}
	})
	t.Run("two dialogues of one name are refused", func(t *testing.T) {
		files := file("7.json", adaFile)
		files["locomo10.json"] = &fstest.MapFile{Data: []byte(adaOriginal)}
		if _, err := eval.LoCoMo(files, "."); err == nil {
			t.Error("no error")
		}
	})
}

func TestSelect(t *testing.T) {
	q := func(ids ...string) (out []eval.Question) {
		for _, id := range ids {
			out = append(out, eval.Question{ID: id})
		}
		return out
	}
	held := []eval.Session{{ID: "s"}}
	set := eval.Set{Dialogues: []eval.Dialogue{
		{Name: "2", Questions: q("2/1", "2/2"), Sessions: held}, {Name: "10", Questions: q("10/1", "10/2"), Sessions: held}, {Name: "11", Questions: q("11/1"), Sessions: held},
	}}
	for _, c := range []struct {
		name  string
		ids   []string
		limit int
		want  []eval.Dialogue
	}{
		{"no name and no limit keep all", nil, 0, set.Dialogues},
		{"names choose", []string{"10"}, 0, set.Dialogues[1:2]},
		{"a limit counts over the chosen, and what has no question left loses its sessions", []string{"10", "2"}, 2, []eval.Dialogue{set.Dialogues[0], {Name: "10", Questions: []eval.Question{}}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := set.Select(c.ids, c.limit)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got.Dialogues); diff != "" {
				t.Error(diff)
			}
		})
	}
	t.Run("a name that is not there is refused", func(t *testing.T) {
		if _, err := set.Select([]string{"3"}, 0); err == nil {
			t.Error("no error")
		}
	})
}
