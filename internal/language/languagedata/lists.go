package languagedata

// Lists of search: what makes the terms of a text.
const (
	StopWords      List = "search/stop-words"       // words that name nothing, question words and auxiliaries
	StopPairs      List = "search/stop-pairs"       // words of two Han characters that name nothing
	WeakLetters    List = "search/weak-letters"     // Han characters that say little alone, but stand in words that do
	HollowLetters  List = "search/hollow-letters"   // Han characters that are hardly ever part of a word with a meaning of its own
	HollowRoots    List = "search/hollow-roots"     // roots of verbs that say nothing alone
	IrregularForms List = "search/irregular-forms"  // a line for a word: its base form first
	Synonyms       List = "search/synonyms"         // a line for each meaning
	Signs          List = "search/signs"            // words by which the language is recognised among those of its script
	SureSigns      List = "search/sure-signs"       // signs of which one is enough
	SharedSigns    List = "search/shared-signs"     // signs of English that are words of this language too
	Endings        List = "search/endings"          // of verbs
	Tails          List = "search/tails"            // particles, auxiliaries and endings at the end of a run of Hiragana
	HeadParticles  List = "search/head-particles"   // at the start of a run after a word: another word may follow
	Inflections    List = "search/head-inflections" // at the start of a run after a word: no other word follows
	Abbreviations  List = "search/abbreviations"    // whose full stop ends no sentence
)

// Lists of Korean and Japanese particles, by what they are taken off for.
const (
	ParticlesAfterConsonant List = "particles/after-consonant" // for terms, off a syllable with a final consonant
	ParticlesAfterVowel     List = "particles/after-vowel"     // for terms, off a syllable without one
	ParticlesAfterAny       List = "particles/after-any"       // for terms, off either
	ParticlesOfQuotes       List = "particles/of-quotes"       // for comparing a quote with its source
	ParticlesOfNames        List = "particles/of-names"        // for finding a name elsewhere
	ParticlesOfTimes        List = "particles/of-times"        // what may stand between words that name a time and the next word
)

// Lists of numerals.
const (
	Units List = "numbers/units" // from zero to nineteen
	Tens  List = "numbers/tens"  // from twenty to ninety; in Korean from ten
	// Of English only.
	Ordinals List = "numbers/ordinals" // from the zeroth on
	Scales   List = "numbers/scales"   // lines: what multiplies the numeral before it
	Extras   List = "numbers/extras"   // lines: other words that stand for an amount
	// Of Korean only.
	NativeUnits List = "numbers/native-units" // lines: numerals from 1 to 9
	NamedDays   List = "numbers/named-days"   // lines: other words that stand for an amount
	Counters    List = "numbers/counters"     // what a numeral stands before
	Multipliers List = "numbers/multipliers"  // lines: what multiplies the digits before it
)

// Lists of dates in summaries and their sources.
const (
	Months          List = "dates/months"           // lines: an expression for a month's names, and their first three letters
	RelativeDays    List = "dates/relative-days"    // lines: the first and last day from the one it was written on, and words
	RelativePeriods List = "dates/relative-periods" // lines: how many months or years from that day, and words
)

// The files of lists about time. What is in Times is a grammar, whose lists its forms name.
const (
	Times     = "times"
	TimeWords = "timewords"
)

// Lists of a grammar of times.
const (
	TimesGrammar    List = Times + "/grammar"  // another folder, with whose grammar the language is read
	TimesBoundary   List = Times + "/boundary" // how words are set apart: by blanks, or with particles, or none
	TimesForms      List = Times + "/forms"
	TimesInMessages List = Times + "/in-messages" // forms of messages only
	TimesBeside     List = Times + "/beside"      // forms that count only beside a day
	TimesDecoys     List = Times + "/decoys"      // what looks like a time and is none
	TimesMonths     List = Times + "/month"       // lines: a number and its names
	TimesSeasons    List = Times + "/season"      // lines: 0 for spring and its names
)

// Lists of words about times.
const (
	NamesTime          List = TimeWords + "/names-time"
	TimeWordsAfterThis List = TimeWords + "/names-time-after-this"
	This               List = TimeWords + "/this"
	TimeWordParts      List = TimeWords + "/names-time-parts" // parts of words, of scripts that do not set words apart
	TimeCounters       List = TimeWords + "/counters"
	AsksTime           List = TimeWords + "/asks" // regular expressions
	AsksTimeAlone      List = TimeWords + "/asks-alone"
	AsksTimeAfter      List = TimeWords + "/asks-after"
	AsksTimeFor        List = TimeWords + "/asks-for"
	AsksTimeParts      List = TimeWords + "/asks-parts"
	FirstTalk          List = TimeWords + "/first-talk"  // regular expressions
	LatestTalk         List = TimeWords + "/latest-talk" // regular expressions
	Latest             List = TimeWords + "/latest"      // regular expressions
	OrderParts         List = TimeWords + "/order-parts"
	BoundsBefore       List = TimeWords + "/bounds-before" // regular expressions
	BoundsArticles     List = TimeWords + "/bounds-articles"
	BoundsAfter        List = TimeWords + "/bounds-after"
	BetweenTimes       List = TimeWords + "/between" // regular expressions
)

// What a language is called, and its script.
const (
	Name   List = "language/name"
	Script List = "language/script"
)

// The files of what a statement is made of and of what a message says about its writer: a list for each feature of package promptinjection.
const (
	Intent     = "intent"
	Disclosure = "disclosure"
)

// The files of what is learnt without a model: a list for each expression of package llm/builtin, and others whose words these name.
const (
	Facts   = "facts"   // what people say about themselves
	Clauses = "clauses" // clauses that are worth keeping, and how they are written in the third person
	Asked   = "asked"   // how people ask for something to be kept
	Marks   = "marks"   // what a clause is about, joined from all languages
)

// Cues is the file of what a clause has whatever the language: a list for each cue of package factclassifier.
const Cues = "cues"

// Lists of how a statement names the person it is about, longest first.
const (
	SubjectBegins List = "subjects/begins" // lines: what begins a statement, and after a colon what takes its place
	SubjectWithin List = "subjects/within" // lines: what stands within one, and what takes its place
	SubjectClings List = "subjects/clings" // what begins a statement, of scripts in which words are not set apart
)

// Lists of how a message asks for what holds beyond it.
const (
	StandingMarks List = "requests/standing-marks"
	Standing      List = "requests/standing" // regular expressions
	ReplyMarks    List = "requests/reply-marks"
	Replies       List = "requests/replies" // regular expressions
)

// Lists of how orders to a reader are worded.
const (
	Orders         List = "orders/orders"          // regular expressions
	Overrides      List = "orders/overrides"       // regular expressions
	Sharper        List = "orders/sharper"         // regular expressions
	AccountNumbers List = "orders/account-numbers" // regular expressions
	Rates          List = "orders/rates"           // regular expressions
	RateMarks      List = "orders/rate-marks"
	PromptRoles    List = "orders/prompt-roles"
)

// Lists of the labels of roles.
const (
	UserLabels      List = "roles/user"
	AssistantLabels List = "roles/assistant"
	SystemLabels    List = "roles/system"
	DeveloperLabels List = "roles/developer"
	ToolLabels      List = "roles/tool"
)

// Lists of words of statements about a person.
const (
	Unasserted   List = "statements/unasserted"    // regular expressions: what makes a sentence state nothing
	ClauseEnds   List = "statements/clause-ends"   // regular expressions
	Denying      List = "statements/denying"       // regular expressions: what denies something, or says that it is over
	Partial      List = "statements/partial"       // regular expressions: what denies some of a thing, or for a while
	Others       List = "statements/others"        // regular expressions: people of whom somebody speaks
	Spouses      List = "statements/spouses"       // those who part when somebody is not married any more
	OverMarried  List = "statements/over-married"  // regular expressions: what a fact says of a marriage
	EndsMarried  List = "statements/ends-married"  // regular expressions: what says that it is over
	OverTogether List = "statements/over-together" // regular expressions: what a fact says of being together
	EndsTogether List = "statements/ends-together" // regular expressions: what says that it is over
	OverEmployed List = "statements/over-employed" // regular expressions: what a fact says of a job
	TakesBack    List = "statements/takes-back"    // regular expressions: what takes back what was said last
	EndsEmployed List = "statements/ends-employed" // regular expressions: what says that it is over
	Plain        List = "statements/plain"         // words that do not say which fact is meant
	PlainRuns    List = "statements/plain-runs"    // regular expressions: the same of scripts without blanks
	Negated      List = "statements/negated"       // regular expressions: words that turn a statement round
	Empty        List = "statements/empty"         // words that stand in facts about anything
	UserNames    List = "statements/user-names"    // lines: with what the text of a fact names the user
	SelfNames    List = "statements/self-names"    // lines: what a model may call the one who speaks
	Passing      List = "statements/passing"       // regular expressions: texts about a state of the moment
	Spellings    List = "statements/spellings"     // lines: a British stem and how it is spelt in America
	GeneralAfter List = "statements/general-after" // what may follow the name of what somebody does
	AfterThings  List = "statements/after-things"  // what follows the subject of a statement, or the object in a loosely typed one
	NotOwned     List = "statements/not-owned"     // what before a name makes it somebody else's, or a place
	VagueThings  List = "statements/vague-things"  // names that do not say which thing is meant
	ManyHeld     List = "statements/many-held"     // of what somebody may have many, so that another one replaces none
	BesideTopic  List = "statements/beside-topic"  // what stands before the name of a thing without being of it
	RoleEnds     List = "statements/role-ends"     // what follows a role of which a statement says who has it
	RoleVerbs    List = "statements/role-verbs"    // what follows a role of which a statement says who has it
)

// Lists of words of change, set apart by bars.
const (
	Revoking  List = "changes/revoking"  // what takes something back
	Changing  List = "changes/changing"  // what puts something in the place of something else
	Shifting  List = "changes/shifting"  // what may do so, where nearly all else is the same
	Settling  List = "changes/settling"  // what decides
	Doubting  List = "changes/doubting"  // what doubts, waits or denies
	Negations List = "changes/negations" // an odd number of these denies a statement
	Pointers  List = "changes/pointers"  // what names what a sentence is about by a pronoun alone
)

// Lists by which names are recognised among other words.
const (
	Capitalised    List = "names/capitalised"     // words that take a capital without naming anything
	Greetings      List = "names/greetings"       // begin a line with a capital and are no names
	Starters       List = "names/starters"        // begin sentences of summaries and are no names
	Headings       List = "names/headings"        // words of headings that models give their bullets
	NameVerbs      List = "names/name-verbs"      // regular expressions: what follows a name at the start of a sentence
	Quantities     List = "names/quantities"      // what follows digits in a quantity
	Surnames       List = "names/surnames"        // of one syllable
	GivenSyllables List = "names/given-syllables" // that given names of two syllables are made of
	Addresses      List = "names/addresses"       // forms of address after a name
	Addressed      List = "names/addressed"       // stand before a form of address and are no names
	NoNames        List = "names/no-names"        // look like a name and are none
)

// Lists of words of summaries.
const (
	Decides      List = "summaries/decides"      // regular expressions: decisions and commitments
	DecideParts  List = "summaries/decide-parts" // what each of them has some of
	Prefaces     List = "summaries/prefaces"     // regular expressions: lines that announce a summary
	Refusals     List = "summaries/refusals"     // regular expressions: what begins an answer that declines
	Placeholders List = "summaries/placeholders" // regular expressions: what models write where they have no content
	Acknowledges List = "summaries/acknowledges" // regular expressions: what an assistant says that is no line of a summary
	NoteEnds     List = "summaries/note-ends"    // what ends a sentence of a note, which has no stop
	TakesNote    List = "summaries/takes-note"   // what an answer begins with that has no more than understood
	YesOrNo      List = "summaries/yes-or-no"    // what an answer begins with that is yes or no
	Reactions    List = "summaries/reactions"    // regular expressions: what begins a reaction
	AboutMe      List = "summaries/about-me"     // words of whoever speaks of themselves
)

// Lists of one line: what stands before the sections of a context.
const (
	HeadingNotes            List = "headings/notes"
	HeadingFacts            List = "headings/facts"
	HeadingPeriods          List = "headings/periods"
	HeadingPreviousSessions List = "headings/previous-sessions"
	HeadingSummary          List = "headings/summary" // with %d for the last message that it covers
	HeadingRecalled         List = "headings/recalled"
	HeadingSessionFacts     List = "headings/session-facts"
	HeadingWish             List = "headings/wish" // before what the user asks of the reader
)
