package intent

import "sync"

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

// The lexicons by script, each built when a text first needs it: Latin letters do not tell which language it is.
var (
	latin    = sync.OnceValue(func() *lexicon { return newSearchIndex(english, spanish) })
	korean   = sync.OnceValue(func() *lexicon { return newSearchIndex(koreanWords) })
	japanese = sync.OnceValue(func() *lexicon { return newSearchIndex(japaneseWords) })
	chinese  = sync.OnceValue(func() *lexicon { return newSearchIndex(chineseWords) })
)
