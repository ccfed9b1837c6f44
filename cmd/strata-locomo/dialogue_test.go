package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const sample = `{"session_1_date_time":"1:56 pm on 8 May, 2023","session_2_date_time":"9:05 am on 1 June, 2023",
 "session_3_date_time":"9:05 am on 3 June, 2023",
 "session_1":[{"speaker":"Ada","dia_id":"D1:1","text":"one"},{"speaker":"Grace","dia_id":"D1:2","text":"two","blip_caption":"a cat"}],
 "session_3":[{"speaker":"Ada","dia_id":"D3:1","text":"three"}],
 "qa":[{"question":"a?","category":1,"evidence":["D:1:01; D3:1","D9:9"]},{"question":"b?","category":5,"evidence":["D1:1"]},
       {"question":"c?","category":4,"evidence":["D9:9"]}]}`

func TestReadDialogues(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "7.json"), []byte(sample), 0o600); err != nil {
		t.Fatal(err)
	}
	all, err := readDialogues(dir)
	if err != nil {
		t.Fatal(err)
	}
	d := all[0]
	t.Run("a date without turns is no session", func(t *testing.T) {
		if len(d.sessions) != 2 || d.sessions[1].id != "session_3" {
			t.Errorf("sessions %+v", d.sessions)
		}
	})
	t.Run("a caption follows the words", func(t *testing.T) {
		if got := d.sessions[0].turns[1].text(); got != "two [shares a photo of a cat]" {
			t.Errorf("got %q", got)
		}
	})
	t.Run("malformed evidence is read, absent turns and other categories are dropped", func(t *testing.T) {
		want := []question{{"a?", 1, []string{"D1:1", "D3:1"}}}
		if diff := cmp.Diff(want, d.questions, cmp.AllowUnexported(question{})); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("questions are asked the day after the last session", func(t *testing.T) {
		if want := time.Date(2023, 6, 4, 9, 5, 0, 0, time.UTC); !d.end().Equal(want) {
			t.Errorf("got %v, want %v", d.end(), want)
		}
	})
	t.Run("a folder without dialogues is refused by name", func(t *testing.T) {
		if _, err := readDialogues(t.TempDir()); err == nil {
			t.Error("no error")
		}
	})
}
