package memory

import (
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// Category is what kind of thing a fact is. The values are stored: never renumber them.
type Category int

// The categories.
const (
	CategoryPreference   Category = iota + 1 // prefers Python to Java
	CategoryPersonalInfo                     // works at a company, lives in a city
	CategoryGoal                             // is building a search engine
	CategoryPainPoint                        // struggles with asynchronous code
	CategoryDecision                         // chose PostgreSQL
	CategoryOther
)

// FactOrigin is who stated a fact first. The values are stored: never renumber them.
type FactOrigin int

// The origins of facts.
const (
	FactExtracted FactOrigin = iota + 1 // learnt from messages
	FactByUser                          // written by a person through the API
	FactImported
)

// TagWish marks a fact about how the user wishes to be answered, such as "Prefers short answers". Contexts have some of
// these whatever the query is. Extraction sets it by the fact's text; people may set it as they like.
const TagWish = "wish"

// TagProject marks a fact about the project at hand: what it is made of, its rules and decisions. Extraction sets it.
const TagProject = "project"

// MaxSignificance is the most that a fact's significance can be; the least is 1.
const MaxSignificance = 10

// Fact is one lasting statement about a user, or about someone the user spoke of.
type Fact struct {
	ID           string
	Text         string
	Category     Category
	Tags         []string
	Significance int     // 1 to 10
	Confidence   float64 // 0 to 1
	Subject      string  // whom it is about; "" for the user
	// Attribute names a property of which the subject has one value at a time, such as home_city: a newer fact of the
	// same subject and attribute supersedes an older one. "" when there may be many.
	Attribute    string
	Evidence     []Evidence
	ValidFrom    time.Time // when it was stated, or the date it holds from
	ValidTo      time.Time // when it stopped to hold; zero while it holds
	SupersededBy string    // the fact that took its place
	Pinned       bool      // never decays
	Origin       FactOrigin
	Protected    bool   // a person wrote or edited it: extraction never changes it
	Language     string // of the text, as a BCP 47 tag; "" when unknown
	Model        string // what extracted it; "" for a person
	CreateTime   time.Time
	UpdateTime   time.Time
	LastUsedTime time.Time // when a context last held it; never scores
	Revision     int64     // of this fact, from 1
	Change       int64     // the user's FactRevision of the write that last changed it
}

// IsWish reports whether the fact is about how the user wishes to be answered.
func (f Fact) IsWish() bool { return slices.Contains(f.Tags, TagWish) }

// IsProject reports whether the fact is about the project at hand.
func (f Fact) IsProject() bool { return slices.Contains(f.Tags, TagProject) }

// Words returns what a fact is found by: its subject, its text, and the words of its property that neither has, so that
// "diet" finds who is vegan.
func (f Fact) Words() string {
	said := f.Subject + " " + f.Text
	has := strings.Fields(strings.ToLower(said))
	for i, w := range has {
		has[i] = strings.TrimFunc(w, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	}
	for word := range strings.SplitSeq(f.Attribute, "_") {
		if word != "" && !slices.Contains(has, word) {
			said += " " + word
		}
	}
	return said
}

// Said returns the evidence that states the fact, without the words that took it back.
func (f Fact) Said() []Evidence {
	if _, retracted := f.Ending(); !retracted {
		return f.Evidence
	}
	return slices.DeleteFunc(slices.Clone(f.Evidence), func(e Evidence) bool { return e.Ends })
}

// Ending is the words that took the fact back, the latest; false when none did.
func (f Fact) Ending() (Evidence, bool) {
	for _, e := range slices.Backward(f.Evidence) {
		if e.Ends {
			return e, true
		}
	}
	return Evidence{}, false
}

// IsCurrent reports whether the fact holds.
func (f Fact) IsCurrent() bool { return f.ValidTo.IsZero() }

// ETag changes with every revision of the fact.
func (f Fact) ETag() string { return strconv.FormatInt(f.Revision, 10) }

// Evidence is where a fact was stated. It is stored as JSON; the short keys are the stored form.
type Evidence struct {
	Session   SessionKey `json:"s"`
	SessionID string     `json:"i"`
	Seq       int64      `json:"n"`
	MessageID string     `json:"m"`
	Quote     string     `json:"q"`
	// Time is when it was stated: the message's create time. Of two statements that exclude each other the later one holds,
	// whichever was learnt first. Zero in evidence without a time.
	Time time.Time `json:"t,omitzero"`
	// Ends marks the words by which somebody took the fact back.
	Ends bool `json:"x,omitempty"`
}

// Place is where the message is that the evidence quotes.
func (e Evidence) Place() Place { return Place{Session: e.Session, Seq: e.Seq} }

// FactCause is why a fact changed. The values are stored: never renumber them.
type FactCause int

// The causes.
const (
	CauseExtracted   FactCause = iota + 1 // learnt, or stated again
	CauseSuperseded                       // a newer statement took its place
	CauseCreated                          // by a person
	CauseEdited                           // by a person
	CauseRestored                         // by a person
	CauseImported                         // with its history from elsewhere
	CauseInvalidated                      // by a person: it does not hold any more
	CauseReverted                         // by a person: the job that changed it was taken back
	CauseRetracted                        // its subject took it back: the evidence with Ends
	CauseErased                           // by a person: a message of its evidence was erased, and its earlier revisions with it
)

// FactRevision is a fact as it was after one change.
type FactRevision struct {
	Fact
	Cause  FactCause
	JobID  string // of the extraction that caused it; "" for a person
	Author string // the person, as their call named them; "" where it named nobody
}

// Quarantined is an operation of a model that verification refused. It changed nothing.
type Quarantined struct {
	ID        string
	SessionID string
	JobID     string
	Reason    string // a RejectReason of package extract
	Operation string // the model's operation, as JSON, at most 4 KiB
	Model     string
	Time      time.Time
}
