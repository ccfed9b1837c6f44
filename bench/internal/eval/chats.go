package eval

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/stratamem/strata/internal/memory"
)

// The types of the questions that Chats reads.
const (
	TypeOverlap = "low-overlap" // shares few words with its evidence
	TypeTime    = "time"        // says when the evidence was said, or is about, seen from the time it is asked at
)

// chatTime is how the files write a time, by the clock of the dialogue's timezone.
const chatTime = "2006-01-02 15:04"

// Chats reads this project's own conversations from the text files at or below root, each a dialogue of one user named as
// its file. Lines are:
//
//	language: en                      before the first session; what the user writes in most of the time
//	timezone: Europe/London           before the first session; an IANA name, of the user and of all times in the file
//	== 2025-01-06 20:14               a session begins
//	-- 2025-01-07 00:30               the session goes on then; else a message is said a minute after the one before
//	u: text                           the user's message to an assistant; a: the assistant's; Mina: that of a named person
//	u#dog: text                       a message with a name, for lines that refer to it
//	! has a dog                       the message above states this lasting fact
//	! #dog has two dogs               the same, and what the named message stated does not hold any more
//	? text                            a question of TypeOverlap; its evidence is the message above
//	?t 2025-03-09 18:00 | text        a question of TypeTime and when it is asked
//	? #dog #cat | text                a question whose evidence is the named messages
//	?t 2025-03-09 18:00 #dog | text   both
//
// Questions without a time are asked a day after the last session. Anything else is an error that names the line.
func Chats(files fs.FS, root string) (Set, error) {
	return readFiles(files, root, ".txt", func(name string, data []byte) ([]Dialogue, error) {
		d, err := chat(string(data))
		if err != nil {
			return nil, err
		}
		d.Name = name
		for i := range d.Questions {
			d.Questions[i].ID = fmt.Sprintf("%s/%d", d.Name, i+1)
		}
		return []Dialogue{d}, nil
	})
}

// chatReader reads the lines of one file.
type chatReader struct {
	dialogue Dialogue
	zone     *time.Location
	now      time.Time // when the next message is said
	asked    []chatQuestion
}

// chatQuestion is a question before all labels are known.
type chatQuestion struct {
	line     int
	question Question
	evidence []string
}

func chat(text string) (Dialogue, error) {
	r := chatReader{zone: time.UTC}
	number := 0
	for line := range strings.Lines(text) {
		number++
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		if err := r.read(number, line); err != nil {
			return Dialogue{}, fmt.Errorf("line %d: %w", number, err)
		}
	}
	return r.finish()
}

// read takes one line, which is not empty.
func (r *chatReader) read(number int, line string) error {
	mark, rest, _ := strings.Cut(line, " ")
	rest = strings.TrimSpace(rest)
	switch {
	case mark == "==":
		return r.begin(rest)
	case len(r.dialogue.Sessions) == 0:
		return r.header(line)
	case mark == "--":
		return r.clock(rest)
	case mark == "!":
		return r.states(rest)
	case mark == "?":
		return r.ask(number, TypeOverlap, rest)
	case mark == "?t":
		return r.ask(number, TypeTime, rest)
	}
	return r.say(line)
}

func (r *chatReader) header(line string) (err error) {
	key, value, _ := strings.Cut(line, ": ")
	switch key {
	case "language":
		r.dialogue.Language = value
	case "timezone":
		if r.zone, err = time.LoadLocation(value); err != nil {
			return fmt.Errorf("timezone: %w", err)
		}
		r.dialogue.Timezone = value
	default:
		return fmt.Errorf("before the first session stand language and timezone, not %q", key)
	}
	return nil
}

func (r *chatReader) begin(written string) error {
	if err := r.clock(written); err != nil {
		return err
	}
	r.dialogue.Sessions = append(r.dialogue.Sessions, Session{ID: fmt.Sprintf("s%d", len(r.dialogue.Sessions)+1), Begin: r.now})
	return nil
}

// clock sets when the next message is said; time never goes back.
func (r *chatReader) clock(written string) error {
	at, err := time.ParseInLocation(chatTime, written, r.zone)
	if err != nil {
		return err
	}
	if at.Before(r.now) {
		return fmt.Errorf("%s is before the message above", written)
	}
	r.now = at
	return nil
}

func (r *chatReader) say(line string) error {
	speaker, words, found := strings.Cut(line, ": ")
	words = strings.TrimSpace(words)
	if !found || words == "" || len(speaker) > 40 {
		return errors.New("neither a mark nor a speaker with a message")
	}
	s := &r.dialogue.Sessions[len(r.dialogue.Sessions)-1]
	speaker, label, _ := strings.Cut(speaker, "#")
	t := Turn{Label: cmp.Or(label, fmt.Sprintf("%s.%d", s.ID, len(s.Turns)+1)), Role: memory.RoleUser, Text: words, At: r.now}
	switch speaker {
	case "u":
	case "a":
		t.Role = memory.RoleAssistant
	default:
		t.Name = speaker
	}
	if _, ok := r.dialogue.sessionsOf()[t.Label]; ok {
		return fmt.Errorf("two messages are named %q", t.Label)
	}
	s.Turns = append(s.Turns, t)
	r.now = r.now.Add(time.Minute)
	return nil
}

// last is the message above, nil where the session has none yet.
func (r *chatReader) last() *Turn {
	turns := r.dialogue.Sessions[len(r.dialogue.Sessions)-1].Turns
	if len(turns) == 0 {
		return nil
	}
	return &turns[len(turns)-1]
}

var errNoMessageAbove = errors.New("there is no message above in this session")

func (r *chatReader) states(rest string) error {
	t := r.last()
	if t == nil {
		return errNoMessageAbove
	}
	fact := Stated{}
	for strings.HasPrefix(rest, "#") {
		label, more, _ := strings.Cut(rest, " ")
		fact.Ends = append(fact.Ends, label[1:])
		rest = strings.TrimSpace(more)
	}
	if fact.Label = rest; rest == "" {
		return errors.New("a lasting fact needs a label")
	}
	t.States = append(t.States, fact)
	return nil
}

func (r *chatReader) ask(number int, kind, rest string) error {
	q := chatQuestion{line: number, question: Question{Type: kind, Text: rest}}
	if head, text, ok := strings.Cut(rest, "|"); ok {
		q.question.Text = strings.TrimSpace(text)
		var when []string
		for _, word := range strings.Fields(head) {
			if label, ok := strings.CutPrefix(word, "#"); ok {
				q.evidence = append(q.evidence, label)
			} else {
				when = append(when, word)
			}
		}
		if len(when) > 0 {
			at, err := time.ParseInLocation(chatTime, strings.Join(when, " "), r.zone)
			if err != nil {
				return err
			}
			q.question.AsOf = at
		}
	}
	if q.question.Text == "" {
		return errors.New("a question without words")
	}
	if kind == TypeTime && q.question.AsOf.IsZero() {
		return errors.New("a question by time needs the time at which it is asked")
	}
	if len(q.evidence) == 0 {
		t := r.last()
		if t == nil {
			return errNoMessageAbove
		}
		q.evidence = []string{t.Label}
	}
	r.asked = append(r.asked, q)
	return nil
}

// finish resolves what lines refer to.
func (r *chatReader) finish() (Dialogue, error) {
	d := r.dialogue
	d.identify()
	d.Asked = d.dayAfter()
	sessions := d.sessionsOf()
	for _, q := range r.asked {
		if i := slices.IndexFunc(q.evidence, func(l string) bool { return sessions[l] == "" }); i >= 0 {
			return d, fmt.Errorf("line %d: no message is named %q", q.line, q.evidence[i])
		}
		d.add(q.question, q.evidence, sessions)
	}
	for _, s := range d.Sessions {
		for _, t := range s.Turns {
			for _, f := range t.States {
				if i := slices.IndexFunc(f.Ends, func(l string) bool { return sessions[l] == "" }); i >= 0 {
					return d, fmt.Errorf("%q ends what %q stated, which is no message", f.Label, f.Ends[i])
				}
			}
		}
	}
	return d, nil
}
