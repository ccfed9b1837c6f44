package builtin

import (
	"slices"
	"strings"
	"unicode"

	regexp "github.com/stratamem/strata/internal/lazyregexp"
)

var english = grammar{
	sentence: regexp.MustCompile(`(?:[^.!?。！？\n]|\.[\p{L}\p{N}])+[.!?。！？…]*`),
	blocked: regexp.MustCompile(`(?i)\?|["“”«»]|(?:^|\W)/s(?:\W|$)|😂|🤣|🙃|😜|;\)` +
		`|\b(?:if|unless|would|could|might|maybe|perhaps|probably|wish|imagine|suppose|supposedly|pretend|hypothetically|let's say|yeah right|as if|jk|just kidding|kidding|joking|joke|lol|lmao|rofl|sarcasm|` +
		`says|said|told me|asked me|quote|lyrics?|character|persona|role[- ]?play|story|essay|poem|translate|example|sentence|act as|in the (?:movie|book|song|game|film)|` +
		`used to|almost|nearly|back then|as a (?:kid|child)|when i was|someone who|people who|for a living is|sigh|ugh,? (?:great|perfect))\b`),
	clauses: regexp.MustCompile(
		`(?i)(?:[,;]|\s[-–—])?\s+(?:and|but|so|because|though|'?cause|cuz)\s+(?:i|i'm|i've|my|we|we're)\s|[;:]\s|,\s+(?:i|i'm|i've|my|we)\s|,\s+(?:so|unfortunately|sadly|luckily|thankfully|fortunately|though|because|which|but)(?:\s|[.!]|$)|\s[-–—]+\s`,
	),
	opener: regexp.MustCompile(
		`(?i)^(?:(?:hey|hi|hello|'?cause|cuz|in the meantime|since we chatted last|since the last chat|on another note|best of all|last (?:fri|mon|tues?|wed|thurs?|sat|sun)(?:day)?|well|so|yeah|yes|yep|yup|no|nah|oh|ah|wow|thanks|thank you|thx|sure|okay|ok|actually|btw|by the way|also|and|but|because|though|plus|honestly|to be honest|tbh|anyway|anyways|for the record|` +
			`just so you know|fyi|as for me|me too|personally|in fact|i mean|you know|of course|absolutely|definitely|totally|right|sorry|oops|wait|sadly|unfortunately|luckily|thankfully|fortunately|update|correction|good news|bad news|it turns out(?: that)?|turns out(?: that)?|as it turns out|after all|right|nice|cool|awesome|great|same here|for sure|besides|lately|recently|these days|nowadays|since then|from now on|going forward|yesterday|last (?:week|month|year)|` +
			`please (?:note|remember|keep in mind)(?: that)?|note that|remember(?: that)?|keep in mind(?: that)?|i should mention(?: that)?|one thing to know)(?:[,:;!.\s-]+|$)|[,;:\s–—-]+)*(?:[A-Z]\p{L}+[,!]\s+)?(?:(?:and|but|so)\s+)?`,
	),
	rules:  englishRules,
	trim:   trimEnglish,
	person: thirdPerson,
	name:   englishName,

	besides:     englishBesides,
	implied:     englishImplied,
	inversions:  enInversions,
	enders:      enEnders,
	corrections: enCorrections,
	past:        enPast,
	tags:        enTags,
	join:        joinEnglish,
}

// Pieces of patterns.
const (
	enI      = `(?i)^i `
	enAdverb = `(?:(?:really|absolutely|just|still|also|truly|totally|simply|now|currently|always|genuinely|particularly|especially|do|actually|often|usually|mostly|generally|finally|recently|both|especially|definitely|personally|sometimes|strongly|kinda|kind of) )*`
	enAm     = `(?i)^(?:i'm|i am|im) (?:(?:really|also|now|currently|still|actually|a bit|very|super|so|severely|deadly|mildly|highly|seriously|just|finally|slowly|actively|pretty|quite) )*`
	enHave   = `(?i)^(?:i've|i have|i) (?:(?:just|recently|finally|now|also|already|actually|since) )*`
	enWe     = `(?i)^(?:i've|i have|i|we've|we have|we) (?:(?:just|recently|finally|now|also|already|eventually|actually) )*`
	enPlace  = `((?-i:[A-Z])[\p{L}'.-]*(?:,? (?-i:[A-Z])[\p{L}'.-]*){0,3})`
	enWhen   = `((?: (?:last|this) (?:week|month|year|spring|summer|fall|autumn|winter)| (?:\d+|a|two|three|four|five|six|a few|a couple of) (?:days?|weeks?|months?|years?) ago| yesterday| in (?:(?:19|20)\d\d|January|February|March|April|May|June|July|August|September|October|November|December)| since (?:19|20)\d\d)?)`
	enJobs   = `(?:engineer|developer|programmer|teacher|professor|nurse|doctor|physician|surgeon|dentist|designer|student|lawyer|attorney|writer|author|artist|painter|musician|singer|dancer|actor|actress|chef|cook|baker|barista|waiter|waitress|accountant|analyst|architect|scientist|researcher|journalist|editor|photographer|filmmaker|screenwriter|manager|consultant|counselor|therapist|psychologist|pharmacist|electrician|plumber|carpenter|mechanic|pilot|driver|farmer|firefighter|librarian|translator|veterinarian|vet|freelancer|entrepreneur|paralegal|paramedic|social worker|data scientist|sysadmin|administrator)`
	enPeople = `(?:wife|husband|partner|girlfriend|boyfriend|fianc[ée]e?|son|daughter|baby|brother|sister|mom|mum|mother|dad|father|dog|cat|puppy|kitten|boss|manager|best friend|roommate|company|startup)`
	enOwned  = `(?:dogs?|cats?|pupp(?:y|ies)|kittens?|kids?|children|sons?|daughters?|brothers?|sisters?|siblings?|twins?|rabbits?|parrots?|hamsters?|turtles?|guinea pigs?|horses?|fish|birds?)`
	enDenied = `(?:don't|do not|dont|never|no longer)`
	enIll    = `(?:(?:type [12] )?diabetes|asthma|celiac disease|crohn's(?: disease)?|adhd|add|autism|dyslexia|epilepsy|migraines|arthritis|anxiety|depression|insomnia|high blood pressure|low blood pressure|a heart condition|ibs|pcos|tinnitus|sleep apnea)`
	enTail   = `(?: yesterday| today| last (?:week|month|year|night|weekend|\p{L}+day|\p{L}{3,4})| this (?:week|month|year|past weekend)| recently| (?:a|an|two|three|a few|a couple(?: of)?|\d+|about a) \p{L}+ (?:ago|back)| in (?:January|February|March|April|May|June|July|August|September|October|November|December))?$`
	enDoing  = `(?:volunteering|practicing|teaching|coaching|mentoring|running|writing|blogging|painting|training|dancing|taking|playing|making|working out|working with|working on|collecting|drawing|sewing|hiking|baking|gardening|photographing|helping|attending|going to|living|studying|researching|saving)`
	enSpelt  = `(?: now|,? (?:spelled |spelt )?(?:with|without) (?:an?|one|two|no) \p{L}+(?: at the end)?)?`
	enPlay   = `((?:the )?(?:piano|guitar|violin|drums|cello|flute|clarinet|saxophone|bass|trumpet|ukulele|harp)|tennis|soccer|football|basketball|baseball|volleyball|badminton|golf|chess|hockey|rugby|squash|table tennis)`
)

var englishRules = []factRule{
	{
		"personal_info",
		9,
		regexp.MustCompile(`(?i)^my (?:full |first |last |real )?name(?: is|'s) (?:actually |now )?` + enPlace + enSpelt + `$`),
		"Name is $1.",
		"name",
		nil,
		0,
	},
	{
		"personal_info",
		9,
		regexp.MustCompile(`(?i)^(?:i'm|i am|this is) ((?-i:[A-Z]\p{Ll}+(?: [A-Z]\p{Ll}+){0,2}))(?: here)?$`),
		"Name is $1.",
		"name",
		ownEnglishName,
		0,
	},
	{
		"personal_info",
		8,
		regexp.MustCompile(`(?i)^(?:you can |just |please |everyone |people )*calls? me ` + enPlace + `(?:,? (?:from now on|instead|please|for short))*$`),
		"Goes by $1.",
		"preferred_name",
		func(name string) bool { return !enNoNames.MatchString(name) },
		0,
	},
	{
		"personal_info",
		8,
		regexp.MustCompile(
			`(?i)^(?:(?:i|we) (?:now |currently |still |just )*live|(?:i'm|we're) (?:now |currently )?(?:living|based)|(?:i've|we've) been living|(?:i|we) have lived|(?:i've|we've) lived) in ` + enPlace + `,?(?:$| with| now| since| for| right now| these days| at the moment)`,
		),
		"Lives in $1.",
		"home_city",
		nil,
		0,
	},
	{
		"personal_info",
		8,
		regexp.MustCompile(enWe + `(?:moved|relocated) (?:back )?to ` + enPlace + `,?` + enWhen + `,?(?:$| now| from| with| for| to)`),
		"Moved to $1$2.",
		"home_city",
		place,
		0,
	},
	{
		"personal_info",
		8,
		regexp.MustCompile(`(?i)^(?:just|recently|finally) moved (?:back )?to ` + enPlace + `,?` + enWhen + `$`),
		"Moved to $1$2.",
		"home_city",
		place,
		0,
	},
	{
		"personal_info",
		7,
		regexp.MustCompile(`(?i)^(?:i'm|i am|i come) (?:originally )?from ` + enPlace + `(?:$| originally)`),
		"Is from $1.",
		"hometown",
		nil,
		0,
	},
	{"personal_info", 7, regexp.MustCompile(`(?i)^i (?:was born|grew up) in ` + enPlace + `$`), "Comes from $1.", "hometown", nil, 0},
	{
		"personal_info",
		8,
		regexp.MustCompile(`(?i)^i (?:now |currently |still )?work as (an? .+?)(?: (?:at|for) ` + enPlace + `)?$`),
		"Works as $1.",
		"job_title",
		lastingThing,
		0,
	},
	{
		"personal_info",
		8,
		regexp.MustCompile(
			`(?i)^(?:i (?:now |currently |still )?work|i'm (?:now |currently )?working|i've been working) (at|for) ((?:an? )?[^,]+?)(?: as (?:an? )?[^,]+?)?(?: now| these days| since .+| for \w+ (?:years|months))?$`,
		),
		"Works $1 $2.",
		"employer",
		workplace,
		0,
	},
	{
		"personal_info",
		8,
		regexp.MustCompile(
			enHave + `(?:started|got|landed|accepted|begun) (?:working |a (?:new )?job |an offer )(?:at|with|as) ((?:an? )?[^,]+)$`,
		),
		"Started a job at $1.",
		"employer",
		capitalised,
		0,
	},
	{
		"personal_info",
		8,
		regexp.MustCompile(enAm + `(an? (?:[\p{L}-]+ ){0,3}` + enJobs + `)(?:$|,| now$| at | in | from | by | for | who | with | based )`),
		"Is $1.",
		"job_title",
		lastingThing,
		0,
	},
	{"preference", 8, regexp.MustCompile(enAm + `(?:an? )?(vegetarian|vegan|pescatarian|teetotaler)(?:$| now)`), "Is $1.", "diet", nil, 0},
	{
		"personal_info",
		7,
		regexp.MustCompile(enAm + `((?:happily |newly )?married|divorced|engaged|widowed|separated|single)(?:$| now| again| to | with )`),
		"Is $1.",
		"marital_status",
		nil,
		0,
	},
	{
		"personal_info",
		7,
		regexp.MustCompile(enAm + `(retired|left-handed|colou?r-?blind|pregnant|transgender|bilingual)(?:$| now| to | with )`),
		"Is $1.",
		"",
		nil,
		0,
	},
	{"personal_info", 7, regexp.MustCompile(enAm + `(\d{1,3}) years old$`), "Is $1 years old.", "age", nil, 0},
	{"personal_info", 7, regexp.MustCompile(`(?i)^(?:i'm|i am) ([1-9]\d)(?: now)?$`), "Is $1 years old.", "age", nil, 0},
	{
		"personal_info",
		7,
		regexp.MustCompile(`(?i)^(?:i've |i have |i )?(?:(?:just|finally|recently) )*turned ([1-9]\d)` + enTail),
		"Is $1 years old.",
		"age",
		nil,
		0,
	},
	{
		"personal_info",
		8,
		regexp.MustCompile(
			`(?i)^my birthday(?: is|'s) (?:on )?((?:the )?(?:\d|january|february|march|april|may|june|july|august|september|october|november|december)[^,]*)$`,
		),
		"Birthday is $1.",
		"birthday",
		nil,
		0,
	},
	{"personal_info", 9, regexp.MustCompile(enAm + `allergic to ([^,]+)$`), "Is allergic to $1.", "allergic_to_$1", lastingThing, 0},
	{
		"personal_info",
		9,
		regexp.MustCompile(`(?i)^i have (?:an? )?(?:(?:severe|bad|serious|mild|terrible) )?([\p{L} ]+?) allergy$`),
		"Has a $1 allergy.",
		"allergic_to_$1",
		lastingThing,
		0,
	},
	{"personal_info", 9, regexp.MustCompile(enAm + `((?:lactose|gluten)[ -]intolerant|diabetic|asthmatic)$`), "Is $1.", "", nil, 0},
	{
		"personal_info",
		8,
		regexp.MustCompile(`(?i)^i(?: have|'ve got| was diagnosed with| suffer from) (` + enIll + `)(?:$| since| and)`),
		"Has $1.",
		"",
		nil,
		0,
	},
	{
		"personal_info",
		7,
		regexp.MustCompile(
			`(?i)^(?:(?:i|we) (?:now |currently |already )?have|i've got|we've got|i own) ((?:an?|one|two|three|four|five|six|seven|eight|\d+) (?:[\p{L}-]+ ){0,3}?` + enOwned + `(?:,? (?:named|called) [\p{L}, ]+)?)(?: now| already)?$`,
		),
		"Has $1.",
		counted,
		nil,
		0,
	},
	{
		"personal_info",
		7,
		regexp.MustCompile(`(?i)^my (` + enPeople + `)(?:'s name is|'s called| is called| is named) ` + enPlace + `$`),
		"The name of their $1 is $2.",
		"$1_name",
		nil,
		2,
	},
	{
		"personal_info",
		7,
		regexp.MustCompile(
			`(?i)^my (?:new |current )?(` + enPeople + `) is (?:now |actually |currently |called )?((?-i:[A-Z])[\p{L}'-]+(?: (?-i:[A-Z])[\p{L}'-]+)?)(?: now)?$`,
		),
		"The name of their $1 is $2.",
		"$1_name",
		personName,
		2,
	},
	{
		"personal_info",
		5,
		regexp.MustCompile(
			`(?i)^i (?:can )?speak ((?-i:[A-Z])\p{L}+(?:(?:, | and |, and )(?-i:[A-Z])\p{L}+)*)(?:$| fluently| at home| natively)`,
		),
		"Speaks $1.",
		"",
		nil,
		0,
	},

	{
		"preference",
		7,
		regexp.MustCompile(enI + enAdverb + `prefer ([^,]+?) (?:over|rather than|instead of) ([^,]+)$`),
		"Prefers $1 over $2.",
		either,
		lastingThing,
		0,
	},
	{"preference", 7, regexp.MustCompile(enI + enAdverb + `prefer ([^,]+?) to ([^,]+)$`), "Prefers $1 to $2.", either, lastingThing, 0},
	{"preference", 6, regexp.MustCompile(enI + enAdverb + `prefer ([^,]+)$`), "Prefers $1.", "likes_$1", lastingThing, 0},
	{
		"preference",
		6,
		regexp.MustCompile(
			`(?i)^my (?:all-time |absolute |new |current )*favou?rite ((?:[\p{L}-]+ ){0,2}[\p{L}-]+?)(?: of all time)? (?:is|are) ([^,]+)$`,
		),
		"Favorite $1 is $2.",
		"favorite_$1",
		nil,
		2,
	},
	{
		"preference",
		6,
		regexp.MustCompile(
			enI + enAdverb + `(?:don't|do not|dont|no longer|never) (?:really |particularly )?(?:like|enjoy|love|care for) ([^,]+?)(?: (?:anymore|any more|at all))?$`,
		),
		"Does not like $1.",
		"likes_$1",
		likedThing,
		0,
	},
	{
		"preference",
		6,
		regexp.MustCompile(enI + enAdverb + `(?:hate|dislike|detest|can't stand|cannot stand) ([^,]+)$`),
		"Dislikes $1.",
		"likes_$1",
		likedThing,
		0,
	},
	{"preference", 5, regexp.MustCompile(enI + enAdverb + `(?:like|enjoy) ([^,]+)`), "Likes $1.", "likes_$1", enjoyedThing, 0},
	{"preference", 6, regexp.MustCompile(enI + enAdverb + `(?:love|adore) ([^,]+)`), "Loves $1.", "likes_$1", enjoyedThing, 0},
	{
		"preference",
		5,
		regexp.MustCompile(enAm + `(?:into|fond of|passionate about|obsessed with) ([^,]+)$`),
		"Is into $1.",
		"likes_$1",
		enjoyedThing,
		0,
	},
	{
		"preference",
		5,
		regexp.MustCompile(enAm + `(?:an? )(?:big|huge|massive|lifelong) fan of ([^,]+)$`),
		"Is a big fan of $1.",
		"likes_$1",
		likedThing,
		0,
	},
	{
		"preference",
		7,
		regexp.MustCompile(enI + enDenied + ` (eat|drink|smoke|use|watch|play) ?([^,]*?)(?: (?:anymore|any more|at all))?$`),
		"Does not $1 $2.",
		"does_$1_$2",
		deniedThing,
		0,
	},
	{
		"decision",
		7,
		regexp.MustCompile(
			enHave + `(?:quit|stopped|given up|gave up) (smoking|drinking(?: alcohol)?|eating [\p{L} ]+|using [\p{L} ]+|playing [\p{L} ]+)(?:$| last| for good| in )`,
		),
		"Stopped $1.",
		"does_$1",
		lastingThing,
		0,
	},
	{
		"preference",
		5,
		regexp.MustCompile(`(?i)^(?:i (?:also |still )?play|i've been playing) ` + enPlay + `(?:$| for| since| every| on| in| with)`),
		"Plays $1.",
		"",
		nil,
		0,
	},
	{
		"preference",
		5,
		regexp.MustCompile(
			`(?i)^i (?:mostly |mainly |always |usually |exclusively )?use ([^,]+?) (?:for (?:everything|work|my .+)|at work|every ?day|daily|as my .+)$`,
		),
		"Uses $1.",
		"",
		lastingThing,
		0,
	},

	{"goal", 6, regexp.MustCompile(enAm + `(?:learning|studying) (?:about |how |to )?([^,]+)`), "Is learning $1.", "", learntThing, 0},
	{"goal", 6, regexp.MustCompile(`(?i)^i've been (?:learning|studying) (?:about |how |to )?([^,]+)`), "Is learning $1.", "", learntThing, 0},
	{
		"goal",
		7,
		regexp.MustCompile(enAm + `(?:building|developing|creating|launching|opening|starting) ((?:an?|my(?: own)?|our) [^,]+)`),
		"Is building $1.",
		"",
		lastingThing,
		0,
	},
	{
		"goal",
		6,
		regexp.MustCompile(
			enAm + `writing ((?:an?|my(?: own)?) (?:[\p{L}-]+ ){0,3}(?:book|novel|thesis|dissertation|memoir|screenplay|script|blog)[^,]*)$`,
		),
		"Is writing $1.",
		"",
		lastingThing,
		0,
	},
	{
		"goal",
		6,
		regexp.MustCompile(enAm + `(?:training|preparing|saving up|saving|studying) for ((?:an?|my|the) [^,]+)$`),
		"Is preparing for $1.",
		"",
		lastingThing,
		0,
	},
	{
		"goal",
		6,
		regexp.MustCompile(`(?i)^(?:i'm|i am|i've been) (?:also |currently |actually )?planning (?:to|on) ([^,]+)$`),
		"Is planning to $1.",
		"",
		plannedThing,
		0,
	},
	{"goal", 6, regexp.MustCompile(`(?i)^i plan (?:to|on) ([^,]+)$`), "Plans to $1.", "", plannedThing, 0},
	{
		"goal",
		6,
		regexp.MustCompile(
			enI + enAdverb + `(?:want|hope) to ((?:become|learn|open|build|start (?:my|an?) (?:own )?(?:business|company|restaurant|blog|family)|write (?:an?|my) (?:book|novel)|run (?:an?|the) (?:[\p{L}]+ )*marathon|travel to|get a degree|study|work as) ?[^,]*)$`,
		),
		"Wants to $1.",
		"",
		lastingThing,
		0,
	},
	{
		"goal",
		7,
		regexp.MustCompile(`(?i)^my (?:main |long-term |biggest |ultimate )?(?:goal|dream|ambition)(?: for (?:this|next) year)? is to ([^,]+)$`),
		"Goal is to $1.",
		"",
		lastingThing,
		0,
	},
	{
		"goal",
		6,
		regexp.MustCompile(`(?i)^(?:one of my (?:goals|dreams)|another goal(?: of mine)?|my (?:other|next|new) (?:goal|dream)) is to ([^,]+)$`),
		"Goal is to $1.",
		"",
		lastingThing,
		0,
	},
	{
		"goal",
		6,
		regexp.MustCompile(
			`(?i)^(?:it's|it is|it's been|it has been) (?:always )?(?:been )?(?:an? |my )(?:[\p{L}-]+ )?dream(?: of mine)? to ([^,]+)$`,
		),
		"Dream is to $1.",
		"",
		lastingThing,
		0,
	},
	{
		"goal",
		6,
		regexp.MustCompile(
			`(?i)^i (?:really |just |always |also )*(?:want|hope|am hoping|am determined) to ((?:help|make (?:a|an) |improve|create|build|start|give|become|own|travel|get (?:stronger|better|fit)|adopt|live|raise|teach|inspire|support|continue|work with|explore|write|be an? |be the |open)[^,]*)$`,
		),
		"Wants to $1.",
		"",
		lastingThing,
		0,
	},
	{
		"goal",
		6,
		regexp.MustCompile(
			enAm + `(?:gonna|going to|hoping to|aiming to|determined to) ((?:start|open|study|become|continue|build|launch|write|run for|apply|adopt|teach|learn)(?:ing)? [^,]+)$`,
		),
		"Is going to $1.",
		"",
		lastingThing,
		0,
	},
	{
		"goal",
		6,
		regexp.MustCompile(
			`(?i)^(?:i'm|i am|i've been) (?:also |currently |still |now )?working (?:hard )?on ((?:my|our|an?) (?:[\p{L}-]+ ){0,3}(?:book|novel|app|store|shop|business|studio|thesis|degree|startup|website|blog|album|screenplay|script|game|portfolio|project)(?: [^,]+)?)$`,
		),
		"Is working on $1.",
		"",
		lastingThing,
		0,
	},
	{
		"goal",
		5,
		regexp.MustCompile(`(?i)^(?:i'm|i am|i've been) (?:also |currently |still |now )?(?:looking into|exploring|researching) ([^,]+)$`),
		"Is looking into $1.",
		"",
		lastingThing,
		0,
	},
	{
		"other",
		5,
		regexp.MustCompile(
			`(?i)^(?:i'm|i am|i've been) (?:also |currently |still |now )?(hosting|organizing|taking|teaching|leading|coaching|mentoring) ((?:an? )?(?:[\p{L}-]+ ){0,3}(?:class(?:es)?|course|lessons|workshops?|competition|club|group|fundraiser|event|team|campaign|students)(?: [^,]+?)?)` + enTail,
		),
		"Is $1 $2.",
		"",
		lastingThing,
		0,
	},
	{
		"preference",
		5,
		regexp.MustCompile(
			`(?i)^(?:i|we) (?:always|usually|often|regularly) ((?:go|watch|cook|bake|hike|run|swim|read|paint|play|look forward to|have)(?: [^,]+)?)$`,
		),
		"Usually $1.",
		"",
		habit,
		0,
	},
	{
		"preference",
		6,
		regexp.MustCompile(`(?i)^([\p{L}-]+(?: [\p{L}-]+){0,3}) is my (?:way|form|source) (of|to) ([^,]+)$`),
		"$1 is their way $2 $3.",
		"",
		lastingThing,
		0,
	},

	{"other", 6, regexp.MustCompile(enHave + `started (` + enDoing + `(?: [^,]+?)?)` + enTail), "Started $1.", "", lastingThing, 0},
	{
		"other",
		5,
		regexp.MustCompile(`(?i)^i've been (?:really |also |still )*(?:into )?(` + enDoing + `(?: [^,]+?)?)(?: lately| recently| these days)?$`),
		"Has been $1.",
		"",
		lastingThing,
		0,
	},
	{
		"other",
		6,
		regexp.MustCompile(enHave + `(?:joined|became part of|become part of) ((?:an?|the|my) [^,]+?|(?-i:[A-Z])[^,]+?)` + enTail),
		"Joined $1.",
		"",
		joinedThing,
		0,
	},
	{
		"goal",
		5,
		regexp.MustCompile(enHave + `((?-i:signed up for|enrolled in|applied for|applied to|registered for)) ([^,]+?)` + enTail),
		"$1 $2.",
		"",
		lastingThing,
		0,
	},
	{
		"other",
		6,
		regexp.MustCompile(
			`(?i)^(?:i|i've|i have|we|we've) (?:(?:just|recently|finally|also|actually) )*(?:adopted|got|rescued) ((?:an?|another|two|three|my first) (?:[\p{L}-]+ ){0,2}(?:` + enOwned + `|pup)(?: (?:named|called) [\p{L}]+)?)(?: from [^,]+?)?(?: named .+| too)?` + enTail,
		),
		"Got $1.",
		"",
		lastingThing,
		0,
	},
	{
		"personal_info",
		7,
		regexp.MustCompile(
			`(?i)^(?:i|i've|i have)? ?(?:(?:just|recently|unfortunately|also) )*lost my job((?: as an?| at the| at) [^,]+?)?` + enTail,
		),
		"Lost their job $1.",
		"",
		nil,
		0,
	},
	{
		"personal_info",
		7,
		regexp.MustCompile(enWe + `(?:got|been) (married|engaged|divorced)(?: to [^,]+?)?` + enTail),
		"Got $1.",
		"marital_status",
		nil,
		0,
	},
	{
		"personal_info",
		7,
		regexp.MustCompile(enHave + `(?:got|been) (promoted|laid off|accepted (?:to|into) [^,]+?)(?: at work)?` + enTail),
		"Got $1.",
		"",
		lastingThing,
		0,
	},
	{"personal_info", 7, regexp.MustCompile(enHave + `(?:graduated) from ([^,]+?)` + enTail), "Graduated from $1.", "", lastingThing, 0},
	{
		"decision",
		6,
		regexp.MustCompile(enWe + `(?:opened|founded|launched) ((?:an?|my(?: own)?|our(?: own)?) [^,]+?)` + enTail),
		"Opened $1.",
		"",
		lastingThing,
		0,
	},
	{
		"other",
		6,
		regexp.MustCompile(
			enWe + `bought ((?:an?|our first|my first) (?:[\p{L}-]+ ){0,2}(?:house|home|apartment|condo|flat|car|farm|boat)(?: in (?-i:[A-Z])[\p{L}-]+)?)` + enTail,
		),
		"Bought $1.",
		"",
		lastingThing,
		0,
	},
	{
		"other",
		6,
		regexp.MustCompile(`(?i)^i (?:also |regularly |often |still )*(volunteer|teach|coach|mentor) ([^,]+)$`),
		"Does $1 $2.",
		"",
		lastingThing,
		0,
	},
	{"other", 7, regexp.MustCompile(`(?i)^i (?:also |currently |now )*(?:own|run) ((?:an?|my own) [^,]+)$`), "Runs $1.", "", lastingThing, 0},
	{
		"personal_info",
		7,
		regexp.MustCompile(
			`(?i)^i (?:have|got|earned|hold) ((?:an?|my) (?:[\p{L}'-]+ ){0,2}(?:degree|diploma|phd|certificate|certification)(?: in [^,]+)?)` + enTail,
		),
		"Has $1.",
		"",
		lastingThing,
		0,
	},
	{
		"preference",
		6,
		regexp.MustCompile(
			`(?i)^((?:[\p{L}-]+)(?: [\p{L}-]+){0,3}?)(?:'s| is| are) (?:also |really |truly |definitely |always been |such )*my (?:own |personal )?(passion|happy place|favou?rite|hobby|jam|go-to|top pick|comfort food|stress reliever|stress relief|escape|favou?rite(?: [\p{L}-]+)?|biggest passion)$`,
		),
		"Their $2 is $1.",
		"",
		lastingThing,
		0,
	},
	{
		"preference",
		5,
		regexp.MustCompile(`(?i)^we (?:really |always |all |both )*(?:enjoy|love) ([^,]+)`),
		"Loves $1 with others.",
		"",
		enjoyedThing,
		0,
	},
	{
		"preference",
		5,
		regexp.MustCompile(`(?i)^i've (?:always )?(?:been into|loved|enjoyed) ([^,]+?)(?: since .+| for (?:years|\w+ years)| my whole life)?$`),
		"Has long been into $1.",
		"",
		likedThing,
		0,
	},
	{
		"goal",
		6,
		regexp.MustCompile(
			enAm + `planning ((?:an?|my|our) (?:[\p{L}-]+ ){0,3}(?:trip|wedding|vacation|event|move|road ?trip|fundraiser|business|competition|workshop|festival|tour|campaign|gig|show)(?: [^,]+)?)$`,
		),
		"Is planning $1.",
		"",
		lastingThing,
		0,
	},
	{
		"personal_info",
		7,
		regexp.MustCompile(
			`(?i)^my (grandma|grandmother|grandpa|grandfather|mom|mum|mother|dad|father|dog|cat|aunt|uncle|husband|wife|brother|sister) (?:just |recently |sadly )?(?:passed away|died)` + enTail,
		),
		"Their $1 died.",
		"",
		nil,
		0,
	},
	{
		"preference",
		5,
		regexp.MustCompile(
			`(?i)^((?:[\p{L}-]+ing)(?: [^,]+?)?) (?:really |always )?(?:helps me|makes me (?:happy|feel)|gives me|keeps me|calms me|relaxes me|allows me|lets me|brings me)(?: .*)?$`,
		),
		"$1 does them good.",
		"",
		goodThing,
		0,
	},
	{"preference", 5, regexp.MustCompile(enAm + `a fan of ([^,]+)`), "Is a fan of $1.", "likes_$1", likedThing, 0},

	{"pain_point", 6, regexp.MustCompile(enI + enAdverb + `struggle (with|to) ([^,]+)`), "Struggles $1 $2.", "", chosenThing, 0},
	{
		"pain_point",
		6,
		regexp.MustCompile(`(?i)^(?:i'm|i am|i've been) (?:really |still |constantly )?struggling (with|to) ([^,]+)`),
		"Struggles $1 $2.",
		"",
		chosenThing,
		0,
	},
	{
		"pain_point",
		6,
		regexp.MustCompile(
			enI + enAdverb + `(?:have|had) (?:(?:a lot of|some|great|constant) )?(?:trouble|difficulty|difficulties|a hard time) (?:with )?([^,]+)`,
		),
		"Has trouble with $1.",
		"",
		lastingThing,
		0,
	},
	{
		"pain_point",
		5,
		regexp.MustCompile(enAm + `(?:bad|terrible|not (?:very |so )?good|awful) (?:at|with) ([^,]+)`),
		"Is not good at $1.",
		"",
		lastingThing,
		0,
	},
	{"pain_point", 5, regexp.MustCompile(enAm + `(?:afraid|scared|terrified) of ([^,]+)$`), "Is afraid of $1.", "", likedThing, 0},

	{"decision", 7, regexp.MustCompile(enWe + `decided (to|on|against) ([^,]+)$`), "Decided $1 $2.", chosen, plannedThing, 0},
	{
		"decision",
		7,
		regexp.MustCompile(
			enWe + `(?:chose|picked|chosen|opted for|settled on) ([^,]+?)( (?:over|instead of|as) [^,]+| for (?:our|my|the) [^,]+)?$`,
		),
		"Chose $1$2.",
		chosen,
		chosenThing,
		0,
	},
	{
		"decision",
		7,
		regexp.MustCompile(enWe + `(?:switched|migrated) (?:from [^,]+? )?to ([^,]+)$`),
		"Switched to $1.",
		chosen,
		chosenThing,
		0,
	},
	{
		"decision",
		7,
		regexp.MustCompile(`(?i)^(?:i'm|i am|we're|we are|i'll be|we'll be) going with ([^,]+)$`),
		"Chose $1.",
		chosen,
		chosenThing,
		0,
	},
}

// englishImplied are what is implied: whoever speaks of "my kids" has some.
var englishImplied = []factRule{
	{
		"personal_info",
		6,
		regexp.MustCompile(
			`(?i)^(?:.*[^\p{L}'])?my (?:(?:oldest|older|eldest|youngest|younger|little|big|two|three|own|dear|lovely|amazing|wonderful|sweet|twin) )*(husband|wife|fianc[ée]e?|girlfriend|boyfriend|kids|children|son|daughter|sister|brother|cousin|aunt|uncle|niece|nephew|mentor|roommate|dog|cat|puppy|kitten)(?:$|[^\p{L}]|'s )`,
		),
		"Has a $1.",
		"",
		nil,
		0,
	},
	{
		"personal_info",
		4,
		regexp.MustCompile(
			`(?i)^((?:.*[^\p{L}'])?)my (?:own )?((?:online |clothing |dance |small |coffee )*(?:store|studio|business|startup|blog|garden|band|bakery|car|motorcycle|boat))(?:$|[^\p{L}'-])`,
		),
		"Has a $2.",
		"",
		hasAlready,
		0,
	},
}

// englishBesides are what a clause states beside what its first rule found.
var englishBesides = []factRule{
	{
		"personal_info",
		8,
		regexp.MustCompile(
			enAm + `(?:an? (?:[\p{L}-]+ ){0,3}` + strings.Replace(
				enJobs,
				"student|",
				"",
				1,
			) + `) (at|for) ((?:an? )?[^,]+?)(?: in (?-i:[A-Z])[^,]*)?$`,
		),
		"Works $1 $2.",
		"employer",
		workplace,
		0,
	},
	{
		"personal_info",
		8,
		regexp.MustCompile(`(?i)^i (?:now |currently |still )?work as an? [^,]+? (at|for) ` + enPlace + `$`),
		"Works $1 $2.",
		"employer",
		workplace,
		0,
	},
}

// enEnds is where an object ends though the clause goes on.
var enEnds = regexp.MustCompile(
	`(?i)\s*(?:[;:()!?.…]+(?:\s|$)|,+(?:\s+(?-i:[^A-Z\s])|$)|\s[-–—]+(?:\s|$)|\s(?:because|cuz|'?cause|since (?:i|it|my|we|they|he|she)|as (?:i|it|they|he|she|we)|so (?:i|it|we|that|much|far|my)|but|when|whenever|while|which|though|although|even|especially|where|until|lately|these days|right now|now|too|as well|a lot|very much|a ton|to death|more than anything|of course|you know|though|already|sometimes|anymore|any more|at all|and (?:i|i'm|i've|it|it's|its|we|the way|he|she|they|that|that's|this|now|then|so|also|have|am|was|would|will|can|can't|feel|feeling|make|makes|made|just|do|don't|want|think|hope|is|are|get|got))(?:\s|$)).*`,
)

func trimEnglish(object string) string {
	if loc := enEnds.FindStringIndex(object); loc != nil {
		object = object[:loc[0]]
	}
	return strings.TrimRight(object, " ,.;:!-–—")
}

// enVague are words that point at something said elsewhere, so that a fact with them means nothing on its own.
var enVague = regexp.MustCompile(
	`(?i)\b(?:it|its|it's|this|that|that's|these|those|here|there|you|your|yours|u|ya|him|her|hers|his|them|they|their|he|she|what|how|why|who|whatever|anything|everything|something|nothing|someone|everyone|stuff|things?|ones?|such|same|both|idea|way|part|look|sound|vibe|bit|fact|pics?|photos?|pictures?|today|tonight|tomorrow|yesterday|this (?:morning|week|evening|weekend)|tonight's|right now|moment|later|soon|guys?|chatting|catching up|talking|options?|a ton|latter|former|the (?:first|second|third|other|next|previous|last)|conversations|best|lots)\b`,
)

// enDangling are words that no object ends with.
var enDangling = regexp.MustCompile(
	`(?i)(?:^|\s)(?:a|an|the|my|our|some|to|of|with|and|or|for|in|on|at|from|by|as|about|into|than|very|really|more|so|is|are|was|be|i|we|if|also)$`,
)

const maxObjectWords = 12

// lastingThing accepts an object that means something on its own.
func lastingThing(object string) bool {
	n := len(strings.Fields(object))
	return n > 0 && n <= maxObjectWords && !enVague.MatchString(object) && !enDangling.MatchString(object)
}

// deniedThing accepts what the verb alone says (I don't drink) too.
func deniedThing(string) bool { return true }

// enNotYet are words of people who do not have yet what they call theirs.
var enNotYet = regexp.MustCompile(
	`(?i)\b(?:start(?:ed|ing)?|open(?:ed|ing)?|dream|launch\w*|find|found|search\w*|look\w*|hunt|prep\w*|sold|lost|miss|plan\w*|want|wait|hop(?:e|ing)|future|buy|need)\b`,
)

func hasAlready(before string) bool { return !enNotYet.MatchString(before) }

func habit(object string) bool {
	return lastingThing(object) && strings.Contains(object, " ")
}

// enNoDoings are words that end in -ing but name nothing that one does.
var enNoDoings = regexp.MustCompile(
	`(?i)^(?:being|imagining|having|knowing|seeing|hearing|thinking|looking|losing|getting|going|talking|everything|nothing|something|anything|thing|morning|evening|feeling)\b`,
)

func goodThing(object string) bool { return lastingThing(object) && !enNoDoings.MatchString(object) }

// enKnownThe are things that have an article though nobody has spoken of them before.
var enKnownThe = regexp.MustCompile(
	`(?i)^the (?:beach|ocean|sea|mountains?|outdoors|rain|snow|snowy weather|cold|heat|summer|winter|autumn|fall|spring|countryside|city life|theater|theatre|opera|piano|guitar|violin|Beatles|Rolling Stones)$`,
)

// enPolite begin objects of what people say to be kind, not about themselves.
var enPolite = regexp.MustCompile(
	`(?i)^.* (?:in|of|on|from|at|about|for) the (?:chart|table|text|code|draft|page|file|list|report|document|image|video|answer|end|first|second|last|new|old)\b|^(?:the |hearing|seeing|knowing|being able|being part|having|getting to|when|to (?:see|hear|know|think|say|help|talk|chat|thank|ask|try|join|share|be |have |get |make (?:sure|plans))|for|all (?:the|of)|going (?:on|back)|our |another|an? (?:good|nice|great|bit)|some )`,
)

// likedThing accepts what one can like, not what one compliments.
func likedThing(object string) bool {
	if enKnownThe.MatchString(object) {
		return true
	}
	return lastingThing(object) && !enPolite.MatchString(object)
}

// enNuisance is what nobody loves, whatever he says: waiting, being kept waiting, and what lasts for so many minutes.
var enNuisance = regexp.MustCompile(
	`(?i)^(?:waiting|being (?:on hold|stuck|ignored|late|woken|interrupted|told|yelled|charged|blamed|sick|broke|paged|kept|put)|getting (?:stuck|woken|paged|ignored|spammed|yelled|charged|rejected)|sitting in (?:traffic|meetings)|standing in line|losing|missing|failing|paying (?:taxes|twice|extra|more|for nothing)|debugging|fixing|rebasing|repeating|standing (?:in|for)|flaky|broken|merge conflicts|spam|traffic|queues|red tape|bureaucracy|mondays)\b|\b(?:on hold|(?:\d+|two|three|four|five|ten|twenty|thirty|forty) (?:minutes|hours|days|times) (?:for|to|in|on|of)\b|for (?:\d+|two|three|four|five|ten|twenty|thirty|forty) (?:minutes|hours|days)$|at (?:\d+|three|four|five) ?a\.?m)`,
)

// enjoyedThing accepts what one may like in earnest.
func enjoyedThing(object string) bool { return likedThing(object) && !enNuisance.MatchString(object) }

// enLessons are what one learns in a manner of speaking.
var enLessons = regexp.MustCompile(
	`(?i)^(?:a lot|so much|more|new|lots|the |to (?:be|accept|let|live|love|trust|appreciate|cope|take|say|not)|not|for|from|myself|my|at|abroad|in|hard|together|be |let |accept|appreciate|take )`,
)

func learntThing(object string) bool { return lastingThing(object) && !enLessons.MatchString(object) }

// enErrands are plans that are over soon.
var enErrands = regexp.MustCompile(
	`(?i)^(?:going|go (?:to|out|home|back|for|on|there)|eat|eating|sleep|sleeping|nap|watch|watching|call|calling|leave|leaving|stay in|staying in|cook|order|grab|relax|rest|be (?:there|here|back|late|home)|do |doing|see |meet|meeting|have |having|get |getting|take a|taking a|just|check|chill|head|bring|talk|finish|ask|send|text|wear|make (?:dinner|lunch|breakfast|pasta|a cake)|clean|shop)`,
)

// enAtHand are what one picks or turns to while at work on something.
var enAtHand = regexp.MustCompile(
	`(?i)\b(?:branch|tab|page|file|folder|column|row|line|step|version|window|screen|draft|channel|link|button|answer|question|topic|seat|shirt|dress|movie|table)s?\b`,
)

func chosenThing(object string) bool { return lastingThing(object) && !enAtHand.MatchString(object) }

// enCalls are joined for an hour.
var enCalls = regexp.MustCompile(`(?i)\b(?:call|meeting|chat|channel|session|zoom|room|server|conversation|queue|lobby|waitlist)\b`)

func joinedThing(object string) bool { return lastingThing(object) && !enCalls.MatchString(object) }

// enNoPlaces are capitalised and moved to, but nobody lives there.
var enNoPlaces = regexp.MustCompile(
	`(?i)^(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day|january|february|march|april|may|june|july|august|september|october|november|december|slack|discord|zoom|teams|github|gitlab|linux|windows|mac|macos|python|rust|go|java|typescript|react|aws|gcp|azure|notion|kubernetes|postgres\p{L}*|mongodb|mysql)\b`,
)

func place(object string) bool { return !enNoPlaces.MatchString(object) }

func plannedThing(object string) bool { return lastingThing(object) && !enErrands.MatchString(object) }

// workplace accepts a name, or a kind of place with an article.
func workplace(object string) bool {
	first, _, _ := strings.Cut(object, " ")
	return lastingThing(object) && (capitalised(object) || slices.Contains([]string{"a", "an"}, strings.ToLower(first)))
}

func capitalised(object string) bool {
	if len(object) > 2 && (strings.HasPrefix(object, "a ") || strings.HasPrefix(object, "an ")) {
		return lastingThing(object)
	}
	for _, r := range object {
		return unicode.IsUpper(r) && lastingThing(object)
	}
	return false
}

// enPerson are the words of the first person and those of the third.
var enPerson = map[string]string{
	"i":         "they",
	"i'm":       "they're",
	"i've":      "they've",
	"i'd":       "they'd",
	"i'll":      "they'll",
	"me":        "them",
	"my":        "their",
	"mine":      "theirs",
	"myself":    "themselves",
	"we":        "they",
	"us":        "them",
	"our":       "their",
	"ours":      "theirs",
	"ourselves": "themselves",
	"we're":     "they're",
	"we've":     "they've",
	"we'll":     "they'll",
	"we'd":      "they'd",
	"am":        "are",
}

var enWord = regexp.MustCompile(`[\p{L}\p{N}']+`)

// thirdPerson is the object as somebody else would say it.
func thirdPerson(object string) string {
	return enWord.ReplaceAllStringFunc(object, func(w string) string {
		if other, ok := enPerson[strings.ToLower(w)]; ok && w != "US" {
			return other
		}
		return w
	})
}

// enLeading are words that do not make another thing of a thing.
var enLeading = regexp.MustCompile(`(?i)^(?:(?:a|an|the|my|our|some|any|to|all|all kinds of|most|both)\s+)+`)

func englishName(object string) string {
	object = strings.ToLower(enLeading.ReplaceAllString(object, ""))
	return strings.Join(strings.FieldsFunc(object, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }), "_")
}
