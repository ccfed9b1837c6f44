package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// dialogue is one LoCoMo conversation.
type dialogue struct {
	name      string
	sessions  []dialogueSession
	questions []question
}

type dialogueSession struct {
	id           string
	begin        time.Time
	turns        []turn
	observations []observation
	summary      string
}

// observation is a fact that a model extracted from the session.
type observation struct {
	speaker string
	text    string
	turns   []string // ids of what it was extracted from
}

type turn struct {
	Speaker string `json:"speaker"`
	ID      string `json:"dia_id"`
	Words   string `json:"text"`
	Caption string `json:"blip_caption"`
}

// text is what was said, with the caption of a shared picture after it.
func (t turn) text() string {
	if t.Caption == "" {
		return t.Words
	}
	return strings.TrimSpace(t.Words + " [shares a photo of " + t.Caption + "]")
}

// question is one question whose evidence is in the dialogue.
type question struct {
	text     string
	category int
	evidence []string // turn ids
}

// readDialogues reads every JSON file of the folder.
func readDialogues(dir string) ([]dialogue, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", dir, err)
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s holds no *.json: name the folder of LoCoMo dialogues with -data", dir)
	}
	var all []dialogue
	for _, f := range files {
		d, err := readDialogue(f)
		if err != nil {
			return nil, fmt.Errorf("read dialogue %s: %w", f, err)
		}
		all = append(all, d)
	}
	return all, nil
}

func readDialogue(path string) (dialogue, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return dialogue{}, err
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		return dialogue{}, err
	}
	d := dialogue{name: strings.TrimSuffix(filepath.Base(path), ".json")}
	if d.sessions, err = sessionsOf(fields); err != nil {
		return dialogue{}, err
	}
	d.questions, err = questionsOf(fields["qa"], turnIDs(d.sessions))
	return d, err
}

// sessionsOf collects session_1, session_2 and so on. A date without turns is no session.
func sessionsOf(fields map[string]json.RawMessage) ([]dialogueSession, error) {
	var all []dialogueSession
	for n := 1; ; n++ {
		key := fmt.Sprintf("session_%d", n)
		date, dated := fields[key+"_date_time"]
		raw, ok := fields[key]
		if !ok && !dated {
			return all, nil
		}
		if !ok {
			continue
		}
		s, err := sessionOf(key, date, raw)
		if err == nil {
			err = s.addMemory(fields[key+"_observation"], fields[key+"_summary"])
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
		all = append(all, s)
	}
}

func sessionOf(key string, date, raw json.RawMessage) (dialogueSession, error) {
	s := dialogueSession{id: key}
	var when string
	if err := json.Unmarshal(date, &when); err != nil {
		return s, fmt.Errorf("date: %w", err)
	}
	var err error
	if s.begin, err = time.Parse("3:04 pm on 2 January, 2006", when); err != nil {
		return s, fmt.Errorf("date: %w", err)
	}
	return s, json.Unmarshal(raw, &s.turns)
}

// addMemory reads what models made of the session; either may be missing.
func (s *dialogueSession) addMemory(observations, summary json.RawMessage) error {
	if len(summary) > 0 {
		if err := json.Unmarshal(summary, &s.summary); err != nil {
			return fmt.Errorf("summary: %w", err)
		}
	}
	if len(observations) == 0 {
		return nil
	}
	var bySpeaker map[string][][2]any
	if err := json.Unmarshal(observations, &bySpeaker); err != nil {
		return fmt.Errorf("observations: %w", err)
	}
	for _, speaker := range slices.Sorted(maps.Keys(bySpeaker)) {
		for _, o := range bySpeaker[speaker] {
			text, _ := o[0].(string)
			s.observations = append(s.observations, observation{speaker, text, cited(o[1])})
		}
	}
	return nil
}

// cited are the turn ids of an observation, which are one id or a list of them.
func cited(v any) []string {
	var ids []string
	for _, m := range evidenceID.FindAllStringSubmatch(fmt.Sprint(v), -1) {
		ids = append(ids, "D"+m[1]+":"+m[2])
	}
	return ids
}

func turnIDs(sessions []dialogueSession) map[string]bool {
	ids := map[string]bool{}
	for _, s := range sessions {
		for _, t := range s.turns {
			ids[t.ID] = true
		}
	}
	return ids
}

// questionsOf keeps the questions of categories 1 to 4 that have evidence in the dialogue.
func questionsOf(raw json.RawMessage, known map[string]bool) ([]question, error) {
	var all []struct {
		Question string   `json:"question"`
		Category int      `json:"category"`
		Evidence []string `json:"evidence"`
	}
	if err := json.Unmarshal(raw, &all); err != nil {
		return nil, fmt.Errorf("qa: %w", err)
	}
	var kept []question
	for _, q := range all {
		evidence := evidenceOf(q.Evidence, known)
		if q.Category < 1 || q.Category > 4 || len(evidence) == 0 {
			continue
		}
		kept = append(kept, question{q.Question, q.Category, evidence})
	}
	return kept, nil
}

// evidenceID finds turn ids in evidence as it was written, malformed ones included.
var evidenceID = regexp.MustCompile(`D:?(\d+):0*(\d+)`)

// evidenceOf reads the turn ids that exist, each once.
func evidenceOf(written []string, known map[string]bool) []string {
	var ids []string
	for _, w := range written {
		for _, m := range evidenceID.FindAllStringSubmatch(w, -1) {
			session, err := strconv.Atoi(m[1])
			if err != nil {
				continue
			}
			id := fmt.Sprintf("D%d:%s", session, m[2])
			if known[id] && !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
	}
	return ids
}

// end is the day after the last session.
func (d dialogue) end() time.Time {
	var last time.Time
	for _, s := range d.sessions {
		if s.begin.After(last) {
			last = s.begin
		}
	}
	return last.AddDate(0, 0, 1)
}
