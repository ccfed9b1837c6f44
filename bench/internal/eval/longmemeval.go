package eval

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/stratamem/strata/internal/memory"
)

// LongMemEval reads questions of LongMemEval (arXiv 2410.10813) from the JSON files at or below root, each a list. Every
// question has a history of its own, so it is a dialogue. Questions that want abstention are skipped, as in the
// benchmark's own measure of retrieval. The ids of its sessions give the evidence away and are left out. A file is decoded
// question by question; what is kept is about as large as the file.
func LongMemEval(files fs.FS, root string) (Set, error) {
	names, err := jsonFiles(files, root)
	if err != nil {
		return Set{}, err
	}
	var s Set
	for _, name := range names {
		if err := s.addLongMemEval(files, name); err != nil {
			return Set{}, fmt.Errorf("%s: %w", name, err)
		}
	}
	return s.finish()
}

func (s *Set) addLongMemEval(files fs.FS, name string) error {
	f, err := files.Open(name)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // it was only read
	in := json.NewDecoder(f)
	if t, err := in.Token(); err != nil || t != json.Delim('[') {
		return errors.Join(errors.New("not a list of questions"), ignoreEOF(err))
	}
	for in.More() {
		var e longEntry
		if err := in.Decode(&e); err != nil {
			return fmt.Errorf("question %d: %w", len(s.Dialogues)+1, err)
		}
		d, err := e.dialogue()
		if err != nil {
			return fmt.Errorf("question %q: %w", e.ID, err)
		}
		s.Dialogues = append(s.Dialogues, d)
	}
	return nil
}

func ignoreEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

type longEntry struct {
	ID       string       `json:"question_id"`
	Type     string       `json:"question_type"`
	Question string       `json:"question"`
	Asked    string       `json:"question_date"`
	Names    []string     `json:"haystack_session_ids"`
	Dates    []string     `json:"haystack_dates"`
	Sessions [][]longTurn `json:"haystack_sessions"`
	Answers  []string     `json:"answer_session_ids"`
}

type longTurn struct {
	Role      string `json:"role"`
	Content   string `json:"content"`
	HasAnswer bool   `json:"has_answer"`
}

func (e longEntry) dialogue() (Dialogue, error) {
	d := Dialogue{Name: e.ID}
	if strings.HasSuffix(e.ID, "_abs") {
		d.Skipped = 1
		return d, nil
	}
	if len(e.Dates) != len(e.Sessions) || len(e.Names) != len(e.Sessions) {
		return d, fmt.Errorf("%d sessions, %d dates, %d ids", len(e.Sessions), len(e.Dates), len(e.Names))
	}
	q := Question{ID: e.ID, Type: e.Type, Text: e.Question}
	var labels []string
	for i := range e.Sessions {
		s, evidence, err := e.session(i)
		if err != nil {
			return d, err
		}
		labels = append(labels, evidence...)
		if len(s.Turns) == 0 {
			continue
		}
		d.Sessions = append(d.Sessions, s)
		// One name may stand twice in a history, for the same words: the first is the evidence.
		if slices.Contains(e.Answers, e.Names[i]) && slices.Index(e.Names, e.Names[i]) == i {
			q.Sessions = append(q.Sessions, s.ID)
		}
	}
	d.identify()
	slices.SortStableFunc(d.Sessions, func(a, b Session) int { return a.Begin.Compare(b.Begin) })
	if err := d.askAt(e.Asked); err != nil {
		return d, err
	}
	d.add(q, labels, d.sessionsOf())
	return d, nil
}

const longDate = "2006/01/02 (Mon) 15:04"

// session makes the i-th session, and says which of its turns are evidence.
func (e longEntry) session(i int) (s Session, evidence []string, err error) {
	s.ID = fmt.Sprintf("s%d", i+1)
	if s.Begin, err = time.Parse(longDate, e.Dates[i]); err != nil {
		return s, nil, fmt.Errorf("date of session %d: %w", i+1, err)
	}
	for n, t := range e.Sessions[i] {
		if strings.TrimSpace(t.Content) == "" {
			continue
		}
		turn := Turn{Label: fmt.Sprintf("s%d.%d", i+1, n+1), Role: memory.RoleAssistant, Text: t.Content}
		if t.Role == "user" {
			turn.Role = memory.RoleUser
		}
		if t.HasAnswer {
			evidence = append(evidence, turn.Label)
		}
		s.Turns = append(s.Turns, turn)
	}
	return s, evidence, nil
}

// askAt reads when the question is asked; the day after the last session where the file does not say.
func (d *Dialogue) askAt(written string) (err error) {
	if written == "" {
		d.Asked = d.dayAfter()
		return nil
	}
	if d.Asked, err = time.Parse(longDate, written); err != nil {
		return fmt.Errorf("date of the question: %w", err)
	}
	return nil
}
