package promptinjection

import (
	"fmt"
	"slices"
	"sync"

	"github.com/stratamem/strata/internal/language/languagedata"
)

// feature is one thing that a statement may be made of. A feature alone accuses nobody: people work with payments, forget
// names and have access to gardens. Only rules, which join them, do.
type feature uint8

// Who acts, and who is spoken to.
const (
	reader      feature = iota // an assistant is named
	readerActs                 // it is said to do something, or to have to
	tellsReader                // somebody told, asked or let it do something
	you                        // the reader is spoken to
	pretend                    // somebody plays somebody else
	maker                      // of an assistant or this system
	theUser                    // is called so
	role                       // a mode or character
	unbound                    // by rules or limits
	onBehalf                   // of the person
	work                       // a job or place of work
	household                  // those who permit things in daily life
	project                    // code under development

	// Mood: what is wished, ordered or granted.
	wish
	must
	imperative
	grant
	able
	assumed // taken for confirmed
	never
	tell // to say or type

	// Scope: how much, and that nobody looks.
	all
	amount
	unasked   // nobody is to be asked
	spared    // nobody need ask first
	lenient   // somebody does not mind
	unchecked // automatically, at once, without limit

	// Standing that gives power.
	status
	power // standing that nobody has who does not run the system
	admin
	here // this system, or what is within it

	// Where things go.
	mail
	contact // how somebody is reached
	link
	account
	payee // whom to pay has changed
	outside
	send
	arrive
	links
	open
	image

	// What it is about.
	talk // what was said or written
	money
	purse
	secret
	tool
	run
	code
	file // a program's file name
	database
	wipe
	risky // acts that cannot be taken back
	requests
	others
	peers // people of somebody's everyday life
	private
	personal // what of theirs is for them alone
	look

	// Instructions, memory and safety.
	instructions
	earlier
	memory
	drop
	void
	precedence
	permanent
	unrecorded
	keep
	system
	newest
	hazard
	guards
	caution
	refusals
	off
	obey
	mark      // of a prompt
	blob      // encoded text
	rate      // rates itself
	disguised // letters are set apart

	// How somebody wishes to be answered, small talk, and what matters whatever is asked.
	reply
	style
	plea
	asks
	pleasant
	name
	health
	family
	self // whoever speaks

	featureCount
)

// featureNames are the lists of intent.txt of each language, by feature. A feature without one is known by its shape.
var featureNames = [featureCount]string{
	reader:       "reader",
	readerActs:   "reader-acts",
	tellsReader:  "tells-reader",
	you:          "you",
	pretend:      "pretend",
	maker:        "maker",
	theUser:      "the-user",
	role:         "role",
	unbound:      "unbound",
	onBehalf:     "on-behalf",
	work:         "work",
	household:    "household",
	project:      "project",
	wish:         "wish",
	must:         "must",
	imperative:   "imperative",
	grant:        "grant",
	able:         "able",
	assumed:      "assumed",
	never:        "never",
	tell:         "tell",
	all:          "all",
	amount:       "amount",
	unasked:      "unasked",
	spared:       "spared",
	lenient:      "lenient",
	unchecked:    "unchecked",
	status:       "status",
	power:        "power",
	admin:        "admin",
	here:         "here",
	mail:         "mail",
	contact:      "contact",
	link:         "link",
	account:      "account",
	payee:        "payee",
	outside:      "outside",
	send:         "send",
	arrive:       "arrive",
	links:        "links",
	open:         "open",
	image:        "image",
	talk:         "talk",
	money:        "money",
	purse:        "purse",
	secret:       "secret",
	tool:         "tool",
	run:          "run",
	code:         "code",
	file:         "file",
	database:     "database",
	wipe:         "wipe",
	risky:        "risky",
	requests:     "requests",
	others:       "others",
	peers:        "peers",
	private:      "private",
	personal:     "personal",
	look:         "look",
	instructions: "instructions",
	earlier:      "earlier",
	memory:       "memory",
	drop:         "drop",
	void:         "void",
	precedence:   "precedence",
	permanent:    "permanent",
	unrecorded:   "unrecorded",
	keep:         "keep",
	system:       "system",
	newest:       "newest",
	hazard:       "hazard",
	guards:       "guards",
	caution:      "caution",
	refusals:     "refusals",
	off:          "off",
	obey:         "obey",
	mark:         "mark",
	blob:         "blob",
	rate:         "rate",
	disguised:    "disguised",
	reply:        "reply",
	style:        "style",
	plea:         "plea",
	asks:         "asks",
	pleasant:     "pleasant",
	name:         "name",
	health:       "health",
	family:       "family",
	self:         "self",
}

// wordsOf are the entries that a language has for each feature, in one of its files.
func wordsOf(l languagedata.Language, file string) words {
	out := words{}
	for name, entries := range l.Lists(file) {
		is := slices.Index(featureNames[:], name)
		if is < 0 {
			panic(fmt.Sprintf("%s/%s.txt: %q is no feature", l, file, name))
		}
		out[feature(is)] = entries
	}
	return out
}

// wordsOfScript are those of all languages of a script.
func wordsOfScript(script, file string) []words {
	var out []words
	for _, l := range languagedata.OfScript(script) {
		out = append(out, wordsOf(l, file))
	}
	return out
}

// scriptPhrases is the phrase index of a script, which is built when a text first needs it: letters do not show which of its
// languages a text is in.
func scriptPhrases(script string) func() *phraseIndex {
	return sync.OnceValue(func() *phraseIndex { return newPhraseIndex(wordsOfScript(script, languagedata.Intent)...) })
}
