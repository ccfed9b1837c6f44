package builtin

import (
	"strings"

	regexp "github.com/stratamem/strata/internal/lazyregexp"
)

var englishRetelling = retelling{
	clauses: regexp.MustCompile(
		`(?i)(?:[,;]|\s[-–—])?\s+(?:and|but|so|because|though|'?cause|cuz|while)\s+(?:i|i'm|i've|my|we|we're|we've|our)\s|,?\s+and\s+(?:it|that|this|they|she|he)(?:'s|\s(?:was|is|has|makes|keeps|helps|really|stresses|never|gives|felt|made|went|turned))\s?|,\s+(?:it|that|this|they|she|he)(?:'s|\s(?:was|is|has|makes|keeps|helps|really|gives|reminds))\s?|[;:]\s|,\s+(?:i|i'm|i've|my|we|we're|we've|our)\s|,\s+(?:so|unfortunately|sadly|luckily|thankfully|fortunately|though|because|which|but)(?:\s|[.!]|$)|\s?[–—]+\s?|\s-+\s|\s\(`,
	),
	opener: regexp.MustCompile(
		undated.Replace(
			english.opener.String(),
		) + `(?i:(?:the thing is|the truth is|i should (?:mention|say|add|note)|just so you know|i must say|fun fact|long story short|funnily enough|as you know)[,:]?\s+(?:that\s+)?)?`,
	),
	person: personEnglish,
	quoted: func(clause string) string { return `Says: "` + clause + `."` },
	stop:   ".",
	worth:  0.1,
	speaks: regexp.MustCompile(
		`(?i)\b(?:i|i'm|i've|my|mine|me|we|we're|we've|our|us|the (?:\p{L}+ |\d+ ){0,2}(?:kids|kiddos|twins|boys|girls|baby|dog|cat|wife|launch|wedding|release|deadline|fam))\b|^(?:just|still|originally|currently|recently|finally|allergic|working|living|studying|training|volunteering|learning|recovering|expecting|saving|started|went|got|moved|been|joined|took|adopted|finished|grew|born|made|bought|no longer|not a fan|big fan|mother of|father of)\b`,
	),
	topic: regexp.MustCompile(
		`(?i)^(?:my|our|the) (?:new |current |next |weekly |daily |monthly |team |total |whole )*(deadline|launch|release|budget|rent|salary|standup|stand-up|retro|meeting|appointment|exam|flight|wedding|address|phone number|car|phone|laptop|office|time ?zone|due date|shift|class|course|lesson|interview|presentation|demo|deploy day|favou?rite \p{L}+)(?:'s| is| are| was| has been| got| moved| will be| starts?| begins?| ends?| leaves) `,
	),
	personal: regexp.MustCompile(
		`(?i)^(?:(?:last|this|next|every|each|on|in|at|since|after|before|during|for|as|when|yesterday|recently|currently|lately|usually|nowadays|one|two|three|a few|now|with|most)\b[^,]{0,60},? )?(?:i|i'm|i've|we|we're|we've|my|our)\b` +
			`|^(?:just|still|originally|currently|recently|finally|allergic|working|living|studying|training|volunteering|learning|recovering|expecting|saving|started|went|got|moved|been|joined|took|adopted|finished|grew|born|made|bought|no longer|not a fan|big fan|mother of|father of|single)\b|(?:\bis|\bare|\bwas|'s|has (?:always )?been) (?:my|our)\b|^(?:the name of my|a friend of mine)\b`,
	),
	empty: regexp.MustCompile(
		`(?i)^(?:please |just |now )*(?:remind|tell|show|give|send|help|let|write|find|explain|call|make|get|ask|teach|walk) (?:me|us)\b|\b(?:you|you're|you've|your|yours|u|ya|y'all)\b|\b(?:it|this|that|these|those|them|him|her|there|here|stuff|things?|something|everything)$|\s(?:this|these) (?:after|before|while|for|in|when|is|was)\b|^(?:i|we)(?:'m| am|'re| are)? (?:(?:so|really|truly|very|also|just|always|super|pretty|totally|definitely) )*(?:grateful|sure|able|ready|certain|positive|all|thrilled|getting there|stoked|keen to|open to|gonna|going to (?:keep|make|try|be|take)|thankful|glad|happy|excited|lucky|blessed|amazed|looking forward|touched|honou?red|impressed|thinking|feeling|trying to (?:stay|be|keep|make (?:it|my|this))|doing my best|rooting|cheering|hoping for)\b|^(?:i|we) (?:(?:really|just|also|always|still|truly|totally) )*(?:wanted|felt|feel|appreciate|remember|forgot|think|thought|guess|hope (?:you|it|that|this|so|everyone|things|i|we|the|your|all|for)|believe|know|knew|see|saw it|mean|meant|agree|understand|wonder|wish|bet|need|keep (?:going|pushing)|look forward|will always|have the|could|got this|both|all)\b|^(?:my|our) (?:own )?(?:journey|aim|heart|mind|thoughts?|point|guess|question|words|bad|pleasure|love|message|code|query|function|loop|test|tests|last chat)\b|\b(?:an? error|errors?|exception|bug|the (?:logs?|variable|file|function|query|script|code)|line \d+|question \d+|looking for (?:a|an|some) (?:gift|present|way|word|name|recipe|synonym|example)|writing (?:a|an) (?:e-?mail|letter|message|reply)|fear of|too much|crashes|\p{L}+ it (?:after|before|when|while|for|in))\b|^(?:i|we)(?:'ll| will| can| should| could| must)\s|\b(?:can't wait|a ton|learn\w* a lot|a feeling of|true self)\b|^(?:i|we) (?:\p{L}+ )?(?:don't|didn't) (?:underestimate|go)\b|\bis (?:sick|ill|tired|asleep|late)$|^(?:i|we) (?:started|began|tried|did) (?:when|back)\b|\b(?:since we|last (?:chat|talk|time we)|we (?:last )?(?:talked|spoke|chatted))\b|\b(?:since|when|after|until|because|with|and|or|of|to|the|a|my|for|about)$|^(?:since|when|while|after|until|because|with|than|for (?:them|me|us),)\b|^(?:let's|let me|let us|don't|just do|please|keep|use|try|take|make|go|remember|hope|here's|check|look|see)\b|^(?:\p{L}+(?:,? (?:and|&))?,? ){1,6}?(?:keeps?|makes?|gives?|gave|helps?|lets?|gets?|drives?|motivates?|guides?|inspires?|does|do|pushes|allows?|reminds?|brings?|got) (?:me|us)\b|^(?:both (?:blood|of)|back for|a reminder|each (?:stroke|one|of)|now the|gotta|many people|loved ones|seeing (?:my|your|their|the|people|how)|staying (?:positive|focused|motivated|strong|true)|being (?:there|able|with|their|part|kind)|chasing|sharing|juggling|believe|own)\b|\b(?:as soon as|so far|always having|take a look|no matter how|yourself|good vibes|hearts? into|few plans|swamped|ups and downs|on different paths|surge of|(?:a|the) situation|off to|time to reflect|everything just right|determined and focused|always easy)\b|\b(?:was|were) (?:really |so |very |pretty )*(?:scared|nervous|tired|surprised|thrilled|shocked|overwhelmed)\b|\b(?:is|are) (?:\p{L}+ )?important$|^(?:i|we) (?:do|also|get) (?:remember|get|gets|help)\b|^(?:\p{L}+ ){0,3}(?:matters?|counts?|helps|can help|is (?:the best|awesome|great|amazing|so important|beautiful|key|everything|hard|tough|scary))\b`,
	),
	attributes: []property{
		{
			"home_city",
			regexp.MustCompile(
				`(?i)^(?:i|we)(?:'ve| have|'re| are|'m| am)? (?:(?:just|recently|now|finally|currently|still|also) )*(?:live|living|moved|relocated|been living|settled)(?: back)?(?: out)? (?:in|to) (?-i:[A-Z])`,
			),
		},
		{
			"employer",
			regexp.MustCompile(
				`(?i)^i(?:'ve| have|'m| am)? (?:(?:just|recently|now|finally|currently|still|also) )*(?:work|working|started|joined|got a job|started a (?:new )?job|started working|accepted an offer|been working) (?:at|for|with|from) (?-i:[A-Z])`,
			),
		},
		{
			"diet",
			regexp.MustCompile(
				`(?i)^i(?:'m| am|'ve gone|'ve been| went| turned| became| have been| have gone) (?:(?:now|a|an|strictly|strict|mostly) )*(?:vegan|vegetarian|pescatarian|omnivore)`,
			),
		},
		{"diet", regexp.MustCompile(`(?i)^i(?:'ve| have)? (?:(?:just|recently|now) )*started eating (?:meat|fish|chicken)`)},
		{
			"employer",
			regexp.MustCompile(
				`(?i)^i'm (?:(?:now|currently) (?:working )?at (?-i:[A-Z])|(?:working )?at (?-i:[A-Z])[\p{L}&.-]*(?: (?-i:[A-Z])[\p{L}&.-]*)* (?:now|these days)$)`,
			),
		},
		{
			"diet",
			regexp.MustCompile(
				`(?i)^(?:i|we)(?:'ve| have|'m| am)? (?:(?:just|recently|now|finally) )*(?:gone back to eating|went back to eating|back to eating|eat(?:ing)?|back on) (?:\p{L}+ )?(?:meat|fish|chicken|steak|dairy|animal products)(?: again| now| these days)*$`,
			),
		},
		{"email_address", regexp.MustCompile(`(?i)^(?:my|our) (?:(?:new|current|work|private|personal) )*e-?mail(?: address)?(?:'s| is| was| has been) `)},
		{"wake_up_time", regexp.MustCompile(`(?i)^i (?:(?:now|always|usually|normally) )*(?:get|wake) up (?:at|around|before|by) [^,]*$`)},
		{"bedtime", regexp.MustCompile(`(?i)^i (?:(?:now|always|usually|normally) )*go to (?:bed|sleep) (?:at|around|before|by) [^,]*$`)},
		{"car", regexp.MustCompile(`(?i)^(?:i|we) (?:now )?drive (?:an?|the) (?:\p{L}+ )?(?-i:[A-Z0-9])`)},
		{"car", regexp.MustCompile(`(?i)^(?:my|our) (?:new )?car is (?:now )?an? `)},
		{"bank", regexp.MustCompile(`(?i)^(?:i|we) (?:now )?bank with `)},
		{
			"marital_status",
			regexp.MustCompile(
				`(?i)^(?:i|we)(?:'m| am|'re| are|'ve| have)? (?:(?:just|recently|now|finally|been|got) )*(?:married|divorced|engaged|single|separated|widowed)\b`,
			),
		},
	},
}

// undated takes the words that say when from the openers: a clause keeps them.
var undated = strings.NewReplacer("last (?:fri|mon|tues?|wed|thurs?|sat|sun)(?:day)?|", "", "yesterday|last (?:week|month|year)|", "")

// Pieces of a clause in the first person: adverbs between the speaker and the verb, and how the verb ends.
var (
	enSpeaks = regexp.MustCompile(`(?i)^(?:i|we)(?:'m|'re|'ve|'ll)?\s+`)
	enMy     = regexp.MustCompile(`(?i)^(?:my|our)\s+`)
	enBefore = regexp.MustCompile(
		`(?i)^(?:(?:\p{L}+ly|just|also|still|always|never|often|sometimes|even|now|both|all|then|already|soon|kinda|ever|once|almost)\s+)*`,
	)
	enLead = regexp.MustCompile(
		`(?i)^((?:(?:last|this|next|every|each|on|in|at|since|after|before|during|for|as|when|yesterday|today|tomorrow|recently|currently|lately|usually|nowadays|one|two|three|a few)\b[^,]{0,60}?)),?\s+((?:i|we)(?:'m|'re|'ve|'ll)?\s+.*|(?:my|our)\s+.*)$`,
	)
)

// enPastForms are irregular pasts: they have no other form in the third person.
var enPastForms = wordSet(
	`was were had did went got took made came saw gave found told said felt became left kept began knew met ran brought thought bought won
	lost grew wrote read taught spent built sold drove flew broke chose spoke slept drank ate sang swam rode wore hurt cut put let set quit hit fell caught held
	heard led learnt lent meant paid sent shook shot shut stood stole struck swore threw understood woke dealt dreamt fought forgot forgave froze hid laid sewed knit bet beat bit blew drew dug hung sank sat tore`,
)

// enModals stay as they are.
var enModals = wordSet(`can will would could should may might must used`)

// enBareEd are verbs that end like a past.
var enBareEd = wordSet(`need feed breed speed succeed proceed exceed bleed embed shed wed`)

// personEnglish is a clause of the first person in the third, without its subject: "I live in Porto" is "Lives in Porto". What
// nobody is the subject of, such as "allergic to cats", stands as it is.
func personEnglish(clause string) (string, bool) {
	if m := enLead.FindStringSubmatch(clause); m != nil {
		if written, ok := personEnglish(m[2]); ok {
			return thirdPerson(written) + " " + thirdPerson(lower(m[1])), true
		}
	}
	switch {
	case enSpeaks.MatchString(clause):
		said := enSpeaks.FindString(clause)
		written, ok := enVerb(strings.ToLower(strings.TrimSpace(said)), clause[len(said):])
		return agree(thirdPerson(written)), ok
	case enMy.MatchString(clause):
		return agree(thirdPerson(enMy.ReplaceAllString(clause, ""))), true
	}
	return agree(thirdPerson(clause)), true
}

// agree mends verbs beside "they" that were said beside "I".
func agree(s string) string { return enTheyWas.Replace(s) }

var enTheyWas = strings.NewReplacer(" they was ", " they were ", "They was ", "They were ", " they am ", " they are ")

// enVerb is what is said of the speaker in the third person.
func enVerb(speaker, rest string) (string, bool) {
	switch {
	case strings.HasSuffix(speaker, "'m"), strings.HasSuffix(speaker, "'re"):
		return "is " + rest, true
	case strings.HasSuffix(speaker, "'ve"):
		return "has " + rest, true
	case strings.HasSuffix(speaker, "'ll"):
		return "will " + rest, true
	}
	before := enBefore.FindString(rest)
	verb, after, _ := strings.Cut(rest[len(before):], " ")
	word := strings.ToLower(strings.TrimRight(verb, ","))
	if third, ok := enThirdForms[word]; ok {
		return before + third + " " + after, true
	}
	switch {
	case word == "":
		return "", false
	case enPastForms[word], enModals[word], strings.HasSuffix(word, "ed") && !enBareEd[word]:
		return before + verb + " " + after, true
	}
	return before + enPresent(word) + " " + after, true
}

// enThirdForms are verbs whose third person has a form of its own.
var enThirdForms = map[string]string{
	"wanna":    "wants to",
	"gonna":    "is going to",
	"am":       "is",
	"are":      "is",
	"have":     "has",
	"don't":    "does not",
	"dont":     "does not",
	"can't":    "cannot",
	"cant":     "cannot",
	"haven't":  "has not",
	"won't":    "will not",
	"didn't":   "did not",
	"wasn't":   "was not",
	"were":     "was",
	"weren't":  "was not",
	"couldn't": "could not",
	"do":       "does",
	"aren't":   "is not",
	"hadn't":   "had not",
}

func enPresent(verb string) string {
	switch {
	case strings.HasSuffix(verb, "y") && len(verb) > 1 && !strings.ContainsRune("aeiou", rune(verb[len(verb)-2])):
		return verb[:len(verb)-1] + "ies"
	case strings.HasSuffix(verb, "o"),
		strings.HasSuffix(verb, "ch"),
		strings.HasSuffix(verb, "sh"),
		strings.HasSuffix(verb, "ss"),
		strings.HasSuffix(verb, "x"),
		strings.HasSuffix(verb, "zz"):
		return verb + "es"
	}
	return verb + "s"
}

// lower is a text that begins with a small letter, unless its first word is a name or I.
func lower(s string) string {
	word, _, _ := strings.Cut(s, " ")
	if len(word) > 1 && strings.ToLower(word[1:]) == word[1:] {
		return strings.ToLower(s[:1]) + s[1:]
	}
	return s
}
