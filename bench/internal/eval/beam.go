package eval

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/stratamem/strata/internal/memory"
)

// BEAM reads chats of BEAM (arXiv 2510.27246) at or below root: each a folder with chat_trunecated.json, which comes first
// as in the benchmark's own answer script, or chat.json, and with probing_questions/probing_questions.json. A batch is a
// session. A label that several messages share is found when one of them is. Folders with questions and no chat are noted.
func BEAM(files fs.FS, root string) (Set, error) {
	names, err := jsonFiles(files, root)
	if err != nil {
		return Set{}, err
	}
	var s Set
	for _, questions := range names {
		if path.Base(questions) != "probing_questions.json" {
			continue
		}
		dir := path.Dir(path.Dir(questions))
		chat := slices.IndexFunc(beamChats(dir), func(n string) bool { return slices.Contains(names, n) })
		if chat < 0 {
			s.Notes = append(s.Notes, dir+" has questions and no chat")
			continue
		}
		d, err := beamChat(files, beamChats(dir)[chat], questions)
		if err != nil {
			return Set{}, err
		}
		d.Name = dir
		s.Dialogues = append(s.Dialogues, d)
	}
	s.shorten()
	return s.finish()
}

// beamChats are the names that a chat's file may have, the one to be preferred first.
func beamChats(dir string) []string {
	return []string{path.Join(dir, "chat_trunecated.json"), path.Join(dir, "chat.json")}
}

// shorten names dialogues by the last part of their folder where that leaves each a name of its own.
func (s *Set) shorten() {
	bases := map[string]bool{}
	for _, d := range s.Dialogues {
		bases[path.Base(d.Name)] = true
	}
	for i := range s.Dialogues {
		d := &s.Dialogues[i]
		if len(bases) == len(s.Dialogues) {
			d.Name = path.Base(d.Name)
		}
		for j := range d.Questions {
			d.Questions[j].ID = d.Name + "/" + d.Questions[j].ID
		}
	}
}

func beamChat(files fs.FS, chat, questions string) (Dialogue, error) {
	var d Dialogue
	var batches []beamBatch
	if err := decodeFile(files, chat, &batches); err != nil {
		return d, err
	}
	d.Sessions = beamSessions(batches)
	d.identify()
	d.Asked = d.dayAfter()
	var abilities map[string][]beamQuestion
	if err := decodeFile(files, questions, &abilities); err != nil {
		return d, err
	}
	d.addBEAM(abilities)
	return d, nil
}

func decodeFile(files fs.FS, name string, into any) error {
	data, err := fs.ReadFile(files, name)
	if err != nil {
		return fmt.Errorf("read a benchmark: %w", err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

type beamBatch struct {
	Turns [][]beamMessage `json:"turns"`
	Date  string          `json:"time_anchor"`
}

type beamMessage struct {
	ID      json.RawMessage `json:"id"` // a number
	Role    string          `json:"role"`
	Content string          `json:"content"`
	Date    string          `json:"time_anchor"`
}

// beamSessions makes a session of each batch. A batch without a date has that of the one before it.
func beamSessions(batches []beamBatch) []Session {
	var out []Session
	var date time.Time
	for i, b := range batches {
		if found := b.date(); !found.IsZero() {
			date = found
		}
		s := Session{ID: fmt.Sprintf("batch-%d", i+1), Begin: date}
		for _, m := range slices.Concat(b.Turns...) {
			if t := m.turn(); t.Text != "" {
				s.Turns = append(s.Turns, t)
			}
		}
		if len(s.Turns) > 0 {
			out = append(out, s)
		}
	}
	return out
}

// date is the batch's own, else the first that one of its messages has.
func (b beamBatch) date() time.Time {
	written := []string{b.Date}
	for _, m := range slices.Concat(b.Turns...) {
		written = append(written, m.Date)
	}
	for _, w := range written {
		if when, err := time.Parse("January-2-2006", w); err == nil {
			return when
		}
	}
	return time.Time{}
}

// beamIndex is what the benchmark's authors left at the end of a user's message: which bullet of which plan it is about.
var beamIndex = regexp.MustCompile(`\s*->->\s*[\d,\s]*$`)

func (m beamMessage) turn() Turn {
	t := Turn{Label: strings.Trim(string(m.ID), `"`), Role: memory.RoleAssistant, Text: m.Content}
	if m.Role == "user" {
		t.Role, t.Text = memory.RoleUser, beamIndex.ReplaceAllString(m.Content, "")
	}
	if strings.TrimSpace(t.Text) == "" {
		t.Text = ""
	}
	return t
}

type beamQuestion struct {
	Question string `json:"question"`
	Sources  any    `json:"source_chat_ids"` // numbers, in lists and objects
}

// addBEAM adds the questions, their ids without the dialogue's name.
func (d *Dialogue) addBEAM(abilities map[string][]beamQuestion) {
	sessions := d.sessionsOf()
	for _, ability := range slices.Sorted(maps.Keys(abilities)) {
		for i, q := range abilities[ability] {
			d.add(Question{ID: fmt.Sprintf("%s/%d", ability, i+1), Type: ability, Text: q.Question}, sources(q.Sources), sessions)
		}
	}
}

// sources are the message ids in a value, at whatever depth: a contradiction has both statements, an update the old and
// the new one.
func sources(v any) []string {
	var out []string
	switch v := v.(type) {
	case float64:
		out = append(out, fmt.Sprintf("%.0f", v))
	case string:
		out = append(out, strings.TrimSpace(v))
	case []any:
		for _, x := range v {
			out = append(out, sources(x)...)
		}
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			out = append(out, sources(v[k])...)
		}
	}
	return out
}
