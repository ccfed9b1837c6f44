package builtin

import (
	"slices"
	"strings"

	regexp "github.com/stratamem/strata/internal/lazyregexp"
)

// enTags are words that may follow a statement and change nothing of it.
var enTags = regexp.MustCompile(
	`(?i)(?:\s*,\s*(?:by the way|btw|fyi|actually|though|honestly|you know|after all|in fact|in the end|as it turns out|unfortunately|sadly|luckily|thankfully|finally|again|just so you know|just fyi|as of (?:today|now|last \p{L}+|this \p{L}+)|sorry|haha)|\s+(?:by the way|btw|fyi|after all))+$`,
)

// enPast says of a statement that it held once. What people once thought, wanted or said is another thing.
var enPast = regexp.MustCompile(
	`(?i)\bused to (?:live|work|be|play|have|own|study|smoke|drink|drive|run|teach|learn|use|speak|like|love|prefer)\b`,
)

// Pieces of the patterns of what is taken back.
const (
	enOver    = `(?: (?:anymore|any more|any longer|at all|after all|now|these days))*`
	enSince   = `(?: (?:yesterday|last (?:week|month|year|spring|summer|fall|autumn|winter|\p{L}+day)|(?:a|two|three|a few|\d+) (?:days?|weeks?|months?|years?) ago|recently|for good|in (?:(?:19|20)\d\d|January|February|March|April|May|June|July|August|September|October|November|December)|this (?:week|month|year)))?`
	enPerfect = `^(?:i've|i have|i|we've|we have|we) (?:(?:just|recently|finally|now|also|already|actually|since|officially) )*`
)

// enInversions take what the rules read back. A negation is dropped; of what somebody stopped, left or lost, what he did or
// had before is put in its place.
var enInversions = []inversion{
	{
		regexp.MustCompile(`(?i)^(i'm|i am|im) (?:(?:actually|really|currently|technically) )*(?:not|no longer) (.+?)` + enOver + enSince + `$`),
		[]string{"$1 $2"},
	},
	{
		regexp.MustCompile(
			`(?i)^(?:i|we) (?:(?:actually|really|currently) )*(?:don't|do not|dont|no longer) (?:actually |really )?(.+?)` + enOver + enSince + `$`,
		),
		[]string{"I $1"},
	},
	{
		regexp.MustCompile(`(?i)^my (.+?) (?:isn't|is not|is no longer|aren't|are not|are no longer) (.+?)` + enOver + `$`),
		[]string{"my $1 is $2", "my $1 are $2"},
	},
	{
		regexp.MustCompile(
			`(?i)` + enPerfect + `(?:stopped|quit|given up|gave up|ceased|dropped|abandoned|finished) (?:on )?(\p{L}+ing)((?: [^,]+?)?)` + enOver + enSince + `$`,
		),
		[]string{"I'm $1$2", "I've been $1$2", "I <$1>$2", "I like $1$2"},
	},
	{
		regexp.MustCompile(`(?i)^i'm done (?:with )?(\p{L}+ing)((?: [^,]+?)?)` + enSince + `$`),
		[]string{"I'm $1$2", "I've been $1$2", "I <$1>$2"},
	},
	{
		regexp.MustCompile(`(?i)` + enPerfect + `(?:stopped|quit|given up|gave up|dropped|abandoned) (?:on )?([^,]+?)` + enSince + `$`),
		[]string{"I play $1", "I'm learning $1", "I'm studying $1"},
	},
	{
		regexp.MustCompile(`(?i)` + enPerfect + `(?:quit|left|resigned from|departed) ((?-i:[A-Z])[^,]*?)` + enSince + `$`),
		[]string{"I work at $1", "I work for $1"},
	},
	{
		regexp.MustCompile(`(?i)` + enPerfect + `(?:quit|left|resigned from|lost) my job (?:at|with) ((?-i:[A-Z])[^,]*?)` + enSince + `$`),
		[]string{"I work at $1", "I work for $1"},
	},
	{regexp.MustCompile(`(?i)` + enPerfect + `(?:stopped|quit|given up|gave up) being ([^,]+?)` + enSince + `$`), []string{"I'm $1"}},
	{regexp.MustCompile(`(?i)^(?:not|no longer) ([^,]+?) (?:anymore|any more|any longer)$`), []string{"I'm $1"}},
	{regexp.MustCompile(`(?i)` + enPerfect + `moved (?:out of|away from) ((?-i:[A-Z])[^,]*?)` + enSince + `$`), []string{"I live in $1"}},
	{regexp.MustCompile(`(?i)^(?:i|we) used to be (.+)$`), []string{"I'm $1"}},
	{
		regexp.MustCompile(
			`(?i)^(?:i|we) used to ((?:live|work|play|have|own|study|smoke|drink|drive|run|teach|use|speak|like|love|prefer) .+)$`,
		),
		[]string{"I $1"},
	},
	{regexp.MustCompile(`(?i)^(?:i|we) used to (?:learn|study) (.+)$`), []string{"I'm learning $1"}},
	{
		regexp.MustCompile(
			`(?i)` + enPerfect + `(?:sold|lost|given away|gave away|got rid of|rehomed|closed) (?:my|our) ([^,]+?)` + enSince + `$`,
		),
		[]string{"I have a $1", "that is my $1"},
	},
	{
		regexp.MustCompile(
			`(?i)^(?:my|our) (dog|cat|puppy|kitten|rabbit|parrot|hamster|turtle|horse|bird) (?:just |recently |sadly )*(?:passed away|died)` + enSince + `$`,
		),
		[]string{"I have a $1", "that is my $1"},
	},
	{
		regexp.MustCompile(`(?i)` + enPerfect + `(?:broke up|broken up|split up|separated) (?:with|from) my ([^,]+?)` + enSince + `$`),
		[]string{"that is my $1"},
	},
	{
		regexp.MustCompile(
			`(?i)^my (girlfriend|boyfriend|wife|husband|fianc[ée]e?|partner) and i (?:have )?(?:just |recently )*(?:broke up|broken up|split up|separated|(?:got )?divorced)` + enSince + `$`,
		),
		[]string{"that is my $1", "I'm married", "I'm engaged"},
	},
	{
		regexp.MustCompile(`(?i)` + enPerfect + `(?:got |been )?divorced(?: my (?:wife|husband))?` + enSince + `$`),
		[]string{"that is my wife", "that is my husband"},
	},
	{
		regexp.MustCompile(`(?i)` + enPerfect + `(?:switched|migrated|moved) (?:away )?from ([^,]+?) to [^,]+$`),
		[]string{"I chose $1", "I decided to use $1", "I decided to go with $1"},
	},
	{
		regexp.MustCompile(`(?i)` + enPerfect + `(?:decided not to|decided against|changed my mind about|given up on|gave up on) ([^,]+)$`),
		[]string{"I'm planning to $1", "I plan to $1", "I want to $1", "I decided to $1"},
	},
	{
		regexp.MustCompile(`(?i)` + enPerfect + `(?:cancell?ed|called off) ((?:my|our|the) [^,]+?)` + enSince + `$`),
		[]string{"I'm planning $1"},
	},
}

// enEnders end whatever is the case.
var enEnders = map[string]*regexp.Regexp{
	"employer": regexp.MustCompile(
		`(?i)^(?:i've|i have|i|i was|i got|i've been)? ?(?:(?:just|recently|finally|officially|unfortunately) )*(?:(?:quit|left|lost) my job(?: as an? [^,]+?)?|resigned|(?:got |been )?(?:fired|laid off|let go)|retired)(?: from work)?` + enSince + `$`,
	),
}

const (
	enSorry = `(?:sorry|sry|oops|whoops|wait|no|nope|nah|ah|oh|er|uh|hmm|actually|correction|my (?:bad|mistake)|apologies|scratch that|i misspoke|i mistyped|typo|pardon)`
	enMeant = `(?:i meant(?: to (?:say|write|type))?|i should(?: have|'ve) said|make (?:that|it)|(?:that|it) should(?: be| have been| say| read)|should (?:be|say|read))`
	enNot   = `(?:,? (?:and |but )?not (?P<wrong>[^,]+))?$`
)

// enCorrections are sentences that put something right that was said just before.
var enCorrections = []*regexp.Regexp{
	regexp.MustCompile(`(?i)^(?:` + enSorry + `[\s,.:;!–—-]+)*` + enMeant + `:? (?P<right>[^,]{1,60}?)` + enNot),
	regexp.MustCompile(
		`(?i)^(?:` + enSorry + `[\s,.:;!–—-]+)+(?:it's|it is|its|that's|that is|(?:his|her|their|its|the) name(?: is|'s))(?: actually| really)? (?P<right>[^,]{1,60}?)` + enNot,
	),
	regexp.MustCompile(
		`(?i)^(?:` + enSorry + `[\s,.:;!–—-]+)*(?:it's |that's )?not (?P<wrong>[^,]{1,60}?)(?:,| but|;) ?(?:but |it's |it is |i meant )?(?P<right>[^,]{1,60})$`,
	),
	regexp.MustCompile(`(?i)^(?:` + enSorry + `[\s,.:;!–—-]+)*(?P<right>[^,]{1,60}?), not (?P<wrong>[^,]{1,60})$`),
	regexp.MustCompile(`(?i)^(?:` + enSorry + `[\s,.:;!–—-]+)+(?P<right>\d{1,3})$`),
	regexp.MustCompile(`^\*(?P<right>[^\s*][^*,]{0,40})\*?$`),
}

// enNations are capitalised and said of people, but no names.
var enNations = regexp.MustCompile(
	`(?i)^(?:american|british|english|irish|scottish|welsh|german|french|italian|spanish|portuguese|dutch|belgian|swiss|austrian|danish|swedish|norwegian|finnish|polish|czech|hungarian|romanian|greek|turkish|russian|ukrainian|korean|japanese|chinese|taiwanese|thai|vietnamese|indian|pakistani|indonesian|filipino|australian|canadian|mexican|brazilian|argentinian|chilean|colombian|african|asian|european|egyptian|moroccan|nigerian|kenyan|israeli|iranian|arab|jewish|muslim|christian|catholic|buddhist|hindu|(?-i:[A-Z]{2,5}))\b`,
)

// personName accepts what may be a name.
func personName(object string) bool { return !enNations.MatchString(object) }

// enNoNames are capitalised after "I'm" and are no names.
var enNoNames = regexp.MustCompile(
	`(?i)^(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day|january|february|march|april|june|july|august|september|october|november|december|so|not|sorry|fine|good|ok|okay|done|back|here|tomorrow|today|tonight|later|anytime|maybe|when|tired|happy|sad|excited|busy|sure|in|on|off|out|just|very|really|glad|ready|lost|late|free|sick|christmas|easter|lgbtq?|protestant|hispanic|latino|latina|scorpio|libra|leo|virgo|aries|taurus|gemini|cancer|capricorn|aquarius|pisces|sagittarius|santa|batman)$`,
)

// enCallings are words of titles and callings: "I'm Product Manager" gives no name.
var enCallings = regexp.MustCompile(`(?i)^(?:` + enJobs + `|head|lead|chief|senior|junior|officer|director|owner|founder|south|north|new)$`)

// ownEnglishName accepts what somebody may be called who says "I'm" and no more: none of its words is anything else.
func ownEnglishName(object string) bool {
	return !slices.ContainsFunc(strings.Fields(object), func(word string) bool {
		return !personName(word) || enNoNames.MatchString(word) || enCallings.MatchString(word)
	})
}

func joinEnglish(before, object, after string) string { return before + object + after }
