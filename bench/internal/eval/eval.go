// Package eval reads benchmarks of long conversations from their own files and judges how much of each question's
// evidence a memory found. It asks no server: who replays a conversation hands back the ids of what was found.
package eval

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stratamem/strata/internal/memory"
)

// Set is what the files of a benchmark hold.
type Set struct {
	Dialogues []Dialogue // by name, numbers in their order; no name twice
	Notes     []string   // what was left out, for people
}

// Dialogue is a history and what is asked about it.
type Dialogue struct {
	Name      string
	Sessions  []Session  // in the order they were held; empty where no question is left
	Questions []Question // those with evidence, in the order of the file
	Skipped   int        // questions without evidence
	Asked     time.Time  // when questions without a time of their own are asked; zero when nothing is dated
	Language  string     // of the user, as in BCP 47; "" when not known
	Timezone  string     // IANA name of the user's; "" for UTC
}

// Session is one conversation.
type Session struct {
	ID      string    // unique in the dialogue; says nothing about what is in it
	Begin   time.Time // zero when it is not dated
	Turns   []Turn
	Facts   []Fact // that the benchmark's own model extracted; LoCoMo has them
	Summary string // by the benchmark's own model; "" for none
}

// Turn is one message.
type Turn struct {
	ID    string // unique in the dialogue
	Label string // what evidence calls it: the ID but for turns that share a label
	Role  memory.Role
	Name  string    // of the speaker; "" for a user and an assistant
	Text  string    // never empty
	At    time.Time // when it was said; zero for when the session begins

	States []Stated // lasting facts that it states, where people labelled them
}

// Stated is a lasting fact that a turn states.
type Stated struct {
	Label string   // the fact in a few words
	Ends  []string // labels of turns whose facts do not hold any more
}

// Fact is what the benchmark's own model learnt from turns.
type Fact struct {
	Speaker, Text string
	Turns         []string // labels
}

// Question is one question.
type Question struct {
	ID       string // unique in the benchmark
	Type     string
	Text     string
	AsOf     time.Time // when it is asked; zero for when the dialogue's others are
	Apart    bool      // never part of the means over all
	Evidence []string  // labels of turns that the dialogue has, each once; empty where only sessions are labelled
	Sessions []string  // ids of the sessions that hold the evidence, each once; never empty
}

// ErrNothing says that files hold no dialogue of the benchmark.
var ErrNothing = errors.New("no dialogue of this benchmark")

// OfTypes keeps the questions of the given types, all when there is none. A type that no question has is an error.
func (s Set) OfTypes(types []string) (Set, error) {
	if len(types) == 0 {
		return s, nil
	}
	seen := map[string]bool{}
	out := Set{Notes: s.Notes}
	for _, d := range s.Dialogues {
		var kept []Question
		for _, q := range d.Questions {
			if slices.Contains(types, q.Type) {
				seen[q.Type] = true
				kept = append(kept, q)
			}
		}
		d.Questions = kept
		out.Dialogues = append(out.Dialogues, d)
	}
	for _, t := range types {
		if !seen[t] {
			return Set{}, fmt.Errorf("no question is of the type %q", t)
		}
	}
	return out, nil
}

// Select keeps the dialogues of the given names, all when there is none, and at most limit questions in all, any number
// when it is 0. Dialogues that have no question left lose their sessions. A name that is not there is an error.
func (s Set) Select(names []string, limit int) (Set, error) {
	out := Set{Notes: s.Notes}
	for _, n := range names {
		if !slices.ContainsFunc(s.Dialogues, func(d Dialogue) bool { return d.Name == n }) {
			return Set{}, fmt.Errorf("no dialogue is named %q", n)
		}
	}
	left := limit
	for _, d := range s.Dialogues {
		if len(names) > 0 && !slices.Contains(names, d.Name) {
			continue
		}
		if limit > 0 {
			d.Questions = d.Questions[:min(left, len(d.Questions))]
			left -= len(d.Questions)
			if len(d.Questions) == 0 {
				d.Sessions = nil
			}
		}
		out.Dialogues = append(out.Dialogues, d)
	}
	return out, nil
}

// finish puts the dialogues in order and refuses none, and two of one name.
func (s Set) finish() (Set, error) {
	if len(s.Dialogues) == 0 {
		return Set{}, ErrNothing
	}
	slices.SortStableFunc(s.Dialogues, func(a, b Dialogue) int { return compareNames(a.Name, b.Name) })
	for i := 1; i < len(s.Dialogues); i++ {
		if s.Dialogues[i].Name == s.Dialogues[i-1].Name {
			return Set{}, fmt.Errorf("two dialogues are named %q: name one of their files alone", s.Dialogues[i].Name)
		}
	}
	return s, nil
}

// compareNames orders numbers by size, before all other names.
func compareNames(a, b string) int {
	x, errX := strconv.Atoi(a)
	y, errY := strconv.Atoi(b)
	switch {
	case errX == nil && errY == nil:
		return cmp.Compare(x, y)
	case errX == nil:
		return -1
	case errY == nil:
		return 1
	}
	return strings.Compare(a, b)
}

// identify gives each turn an ID: its label, with a number after it where an earlier turn has the same.
func (d *Dialogue) identify() {
	seen := map[string]int{}
	for _, s := range d.Sessions {
		for i := range s.Turns {
			t := &s.Turns[i]
			seen[t.Label]++
			t.ID = t.Label
			if n := seen[t.Label]; n > 1 {
				t.ID = fmt.Sprintf("%s#%d", t.Label, n)
			}
		}
	}
}

// sessionsOf says for each label in which session it is said first.
func (d *Dialogue) sessionsOf() map[string]string {
	out := map[string]string{}
	for _, s := range d.Sessions {
		for _, t := range s.Turns {
			if _, ok := out[t.Label]; !ok {
				out[t.Label] = s.ID
			}
		}
	}
	return out
}

// add appends the question with what of its evidence the dialogue has, or counts it as skipped where that is nothing.
func (d *Dialogue) add(q Question, written []string, sessions map[string]string) {
	for _, label := range written {
		session, ok := sessions[label]
		if !ok || slices.Contains(q.Evidence, label) {
			continue
		}
		q.Evidence = append(q.Evidence, label)
		if !slices.Contains(q.Sessions, session) {
			q.Sessions = append(q.Sessions, session)
		}
	}
	if len(q.Sessions) == 0 {
		d.Skipped++
		return
	}
	d.Questions = append(d.Questions, q)
}

// dayAfter is a day after the last session begins; zero when none is dated.
func (d *Dialogue) dayAfter() time.Time {
	var last time.Time
	for _, s := range d.Sessions {
		if s.Begin.After(last) {
			last = s.Begin
		}
	}
	if last.IsZero() {
		return last
	}
	return last.AddDate(0, 0, 1)
}

// readFiles makes a set of the dialogues of all files of an extension at or below root; read returns those of one, whose name is
// without its folder and extension.
func readFiles(files fs.FS, root, extension string, read func(name string, data []byte) ([]Dialogue, error)) (Set, error) {
	names, err := filesOf(files, root, extension)
	if err != nil {
		return Set{}, err
	}
	var s Set
	for _, name := range names {
		data, err := fs.ReadFile(files, name)
		if err != nil {
			return Set{}, fmt.Errorf("read dialogues: %w", err)
		}
		found, err := read(strings.TrimSuffix(path.Base(name), extension), data)
		if err != nil {
			return Set{}, fmt.Errorf("%s: %w", name, err)
		}
		s.Dialogues = append(s.Dialogues, found...)
	}
	return s.finish()
}

// jsonFiles lists the JSON files at or below root.
func jsonFiles(files fs.FS, root string) ([]string, error) { return filesOf(files, root, ".json") }

// filesOf lists the files of an extension at or below root, without hidden ones and what archivers put beside them.
func filesOf(files fs.FS, root, extension string) ([]string, error) {
	var out []string
	err := fs.WalkDir(files, root, func(name string, entry fs.DirEntry, err error) error {
		base := path.Base(name)
		switch {
		case err != nil:
			return err
		case name != root && (strings.HasPrefix(base, ".") || base == "__MACOSX"):
			if entry.IsDir() {
				return fs.SkipDir
			}
		case !entry.IsDir() && path.Ext(name) == extension:
			out = append(out, name)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list the files: %w", err)
	}
	return out, nil
}
