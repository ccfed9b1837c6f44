package rank

import (
	"time"

	"github.com/stratamem/strata/internal/language/text"
	"github.com/stratamem/strata/internal/recall/segment"
)

// labels file messages under something whose words count in their fields: the speaker's name, the day.
type labels[K comparable] struct {
	no     map[K]int32
	all    []label
	byTerm map[string][]labelTerm
}

type label struct {
	words    int32
	messages []int32
	persons  int // how many of the messages are of the kind person
}

type labelTerm struct {
	label int32
	count int32
}

func newLabels[K comparable]() labels[K] {
	return labels[K]{no: map[K]int32{}, byTerm: map[string][]labelTerm{}}
}

// add files a message under a key; terms is called for a new key.
func (l *labels[K]) add(key K, m int32, terms func() []string) int32 {
	no, ok := l.no[key]
	if !ok {
		no = int32(len(l.all))
		l.no[key] = no
		l.all = append(l.all, label{})
		for _, t := range segment.CountTerms(terms()) {
			l.all[no].words += int32(t.Count)
			l.byTerm[t.Term] = append(l.byTerm[t.Term], labelTerm{no, int32(t.Count)})
		}
	}
	l.all[no].messages = append(l.all[no].messages, m)
	return no
}

// speakers file messages under the names of those who said them.
type speakers struct{ labels[string] }

// add files a message under its speaker's name.
func (s *speakers) add(name string, m int32) int32 {
	return s.labels.add(name, m, func() []string { return text.Terms(name) })
}

// namesPerson reports whether a term is of the name of one of the user's people.
func (s *speakers) namesPerson(term string) bool {
	for _, l := range s.byTerm[term] {
		if s.all[l.label].persons > 0 {
			return true
		}
	}
	return false
}

// noSpeaker is the name of no message.
const noSpeaker = -2

// named is the label of the only one of the user's people whom the terms name, noSpeaker when they name none or
// several.
func (s *speakers) named(terms []string) int32 {
	named := int32(noSpeaker)
	for _, t := range terms {
		for _, l := range s.byTerm[t] {
			if s.all[l.label].persons == 0 || l.label == named {
				continue
			}
			if named != noSpeaker {
				return noSpeaker
			}
			named = l.label
		}
	}
	return named
}

// days file messages under the day in UTC on which they were said.
type days struct{ labels[int64] }

// add files a message under its day, written as "8 May 2023".
func (d *days) add(millis int64, m int32) int32 {
	const perDay = 24 * 60 * 60 * 1000
	day := millis / perDay
	if millis%perDay < 0 {
		day--
	}
	return d.labels.add(day, m, func() []string {
		return text.TermsKeepingStopWords(time.UnixMilli(day * perDay).UTC().Format("2 January 2006"))
	})
}
