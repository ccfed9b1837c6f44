package eval

import (
	"maps"
	"slices"

	"github.com/stratamem/strata/internal/memory"
)

// LearntFact is a fact that a server keeps of a dialogue.
type LearntFact struct {
	Text    string
	Current bool     // it holds still
	Turns   []string // IDs of the turns that state it
}

// Learnt says what a server learnt of labelled dialogues.
type Learnt struct {
	Name     string `json:"name"`     // of the dialogue or language
	Lasting  int    `json:"lasting"`  // turns that state lasting facts
	Found    int    `json:"found"`    // those that a fact was learnt from
	Other    int    `json:"other"`    // turns of users that state nothing lasting
	Junk     int    `json:"junk"`     // facts learnt from those, or from an assistant's turns, and from no lasting one
	Replaced int    `json:"replaced"` // lasting turns whose facts a later turn ends
	Known    int    `json:"known"`    // those that a fact was learnt from, whether it holds or not
	Stale    int    `json:"stale"`    // those that a fact which holds still stands on
	// What was missed, learnt without reason and is stale, in the words of the dialogue and the facts.
	Missed, Unfounded, Outdated []string `json:"-"`
}

// Judge compares facts with the labels of the dialogue. A turn that replaces may state again what holds: its own facts do
// not count as stale.
func (d Dialogue) Judge(facts []LearntFact) Learnt {
	l := Learnt{Name: d.Name}
	current, learnt, lasting, ended := map[string]string{}, map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, f := range facts {
		for _, id := range f.Turns {
			learnt[id] = true
			if f.Current {
				current[id] = f.Text
			}
		}
	}
	for _, s := range d.Sessions {
		for _, t := range s.Turns {
			switch {
			case len(t.States) > 0:
				lasting[t.ID] = true
				l.Lasting++
				if learnt[t.ID] {
					l.Found++
				} else {
					l.Missed = append(l.Missed, t.Text)
				}
			case t.Role == memory.RoleUser:
				l.Other++
			}
			for _, f := range t.States {
				for _, label := range f.Ends {
					ended[label] = true
				}
			}
		}
	}
	for _, f := range facts {
		if !slices.ContainsFunc(f.Turns, func(id string) bool { return lasting[id] }) {
			l.Junk++
			l.Unfounded = append(l.Unfounded, f.Text)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(ended)) {
		l.Replaced++
		if learnt[id] {
			l.Known++
		}
		if text, ok := current[id]; ok {
			l.Stale++
			l.Outdated = append(l.Outdated, text)
		}
	}
	return l
}

// Add counts b's with l's.
func (l *Learnt) Add(b Learnt) {
	l.Lasting, l.Found = l.Lasting+b.Lasting, l.Found+b.Found
	l.Other, l.Junk = l.Other+b.Other, l.Junk+b.Junk
	l.Replaced, l.Known, l.Stale = l.Replaced+b.Replaced, l.Known+b.Known, l.Stale+b.Stale
}

// Recall is the share of lasting turns that a fact was learnt from; 0 where there is none.
func (l Learnt) Recall() float64 { return float64(l.Found) / float64(max(1, l.Lasting)) }

// JunkPerThousand is how many facts were learnt from 1,000 turns of users that state nothing lasting.
func (l Learnt) JunkPerThousand() float64 { return 1000 * float64(l.Junk) / float64(max(1, l.Other)) }
