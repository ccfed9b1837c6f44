package when

import "strconv"

// englishMonth are names of months that are neither other words nor mostly names of people.
var englishMonth = map[int]string{
	1: "january", 2: "february", 7: "july", 9: "september", 10: "october", 11: "november", 12: "december",
}

// englishGrammar is English. A month that may be another word, modal, needs more beside it than a date of other months;
// weekdays are cut short only where that makes no word. Prepositions that a month or a year needs are part of its mention.
func englishGrammar() grammar {
	return grammar{
		around: `(?i)\b(?:%s)\b`,
		stands: wholeNumber,
		words:  englishWords(),
		forms:  englishForms,
		told:   englishTold,
		beside: englishBeside,
		decoys: englishDecoys,
	}
}

func englishWords() map[string]vocabulary {
	months := listed(1, "january|jan", "february|feb", "march|mar", "april|apr", "may", "june|jun", "july|jul",
		"august|aug", "september|sept|sep", "october|oct", "november|nov", "december|dec")
	modal := spelled(map[int]string{3: "march|mar", 5: "may"})
	return map[string]vocabulary{
		"offset": spelled(map[int]string{
			-2: "the day before yesterday|day before yesterday", -1: "yesterday", 0: "today",
			1: "tomorrow", 2: "the day after tomorrow|day after tomorrow",
		}),
		"part": spelled(map[int]string{morning: "morning", afternoon: "afternoon", evening: "evening", night: "night"}),
		"hours": spelled(map[int]string{
			dawn:      "small hours|early hours|wee hours|dead of night|middle of the night|dawn",
			morning:   "early morning|morning",
			midday:    "noon|midday|lunchtime|lunch time",
			afternoon: "afternoon",
			evening:   "evening",
			night:     "late at night|night",
		}),
		"fused": spelled(map[int]string{
			dawn:            "small hours of this morning|small hours today|early hours of this morning|early hours today|wee hours this morning",
			night:           "tonight",
			lastNight:       "last night|overnight|yesterday night",
			nightBeforeLast: "the night before last",
		}),
		"count": digitsOfCount.or(spelled(map[int]string{
			1: "a|an|one", 2: "two", 3: "three", 4: "four", 5: "five", 6: "six", 7: "seven", 8: "eight", 9: "nine",
			10: "ten", 11: "eleven", 12: "twelve", couple: "a couple of|a couple|couple of", few: "a few|few|several",
		})),
		"unit": spelled(map[int]string{
			hourUnit: "hours|hour", dayUnit: "days|day|nights|night", weekUnit: "weeks|week", monthUnit: "months|month", yearUnit: "years|year",
		}),
		"one":      spelled(map[int]string{weekUnit: "week", monthUnit: "month", yearUnit: "year"}),
		"ago":      spelled(map[int]string{1: "ago|back"}),
		"otherday": spelled(map[int]string{1: "the other day|the other night|the other evening"}),
		"ahead":    spelled(map[int]string{1: "from now"}),
		"past":     spelled(map[int]string{1: "past"}),
		"last":     spelled(map[int]string{1: "last"}),
		"step":     spelled(map[int]string{-1: "last|previous", 0: "this|current", 1: "next|coming"}),
		"twice":    spelled(map[int]string{-2: "before last", 2: "after next"}),
		"near":     spelled(map[int]string{-1: "last|this past|past", 0: "this", 1: "next|this coming|coming"}),
		"other":    spelled(map[int]string{-1: "last|this past", 1: "next"}),
		"this":     spelled(map[int]string{0: "this"}),
		"weeks":    spelled(map[int]string{-1: "last week", 0: "this week", 1: "next week"}),
		"months":   spelled(map[int]string{-1: "last month", 0: "this month", 1: "next month"}),
		"years":    spelled(map[int]string{-1: "last year", 0: "this year", 1: "next year"}),
		"edge":     spelled(map[int]string{0: "beginning|start|early", 1: "middle|mid", 2: "end|late"}),
		"about":    spelled(map[int]string{1: "around|about|near|roughly on|close to|shortly before|shortly after"}),
		"holiday": spelled(map[int]string{
			christmas: "christmas day|christmas|xmas", christmasEve: "christmas eve", newYear: "new year's day|new year's|new years|new year",
			newYearsEve: "new year's eve|new years eve", epiphany: "epiphany", valentine: "valentine's day|valentines day|valentine's",
			easter: "easter sunday|easter weekend|easter", holyWeek: "holy week", halloween: "halloween", thanksgiving: "thanksgiving",
			lunarNewYear: "lunar new year|chinese new year|seollal|spring festival", midAutumn: "mid-autumn festival|chuseok",
			goldenWeek: "golden week", obon: "obon", childrensDay: "children's day",
		}),
		"weekend": spelled(map[int]string{1: "weekend"}),
		"weekday": listed(0, "monday|mon", "tuesday|tues|tue", "wednesday|wed", "thursday|thurs|thur|thu", "friday|fri",
			"saturday", "sunday"),
		"wholeday":   listed(0, "monday", "tuesday|tues", "wednesday", "thursday|thurs", "friday", "saturday", "sunday"),
		"theweekend": spelled(map[int]string{1: "the weekend"}),
		"season":     listed(0, "spring", "summer", "autumn|fall", "winter"),
		"surely":     listed(0, "spring", "summer", "autumn", "winter"),
		"month":      months,
		"plain":      spelled(englishMonth),
		"modal":      modal,
		"capital":    modal.capitals(),
		"date": listed(1, "january|jan", "february|feb", "", "april|apr", "", "june|jun", "july|jul", "august|aug",
			"september|sept|sep", "october|oct", "november|nov", "december|dec"),
		"day":     digitsOfDay,
		"nth":     nth(),
		"ordinal": listed(1, englishOrdinals...),
		"year":    digitsOfYear,
	}
}

var englishOrdinals = []string{
	"first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh", "twelfth",
	"thirteenth", "fourteenth", "fifteenth", "sixteenth", "seventeenth", "eighteenth", "nineteenth", "twentieth",
	"twenty-first", "twenty-second", "twenty-third", "twenty-fourth", "twenty-fifth", "twenty-sixth", "twenty-seventh",
	"twenty-eighth", "twenty-ninth", "thirtieth", "thirty-first",
}

var englishForms = []string{
	`{offset}(?: {part})?`,
	`{part:fused}`,
	`(?:earlier |later )?this {part}`,
	`{count} {unit} {ago}`,
	`{count} {unit} {ahead}`,
	`{ago:otherday}`,
	`(?:on )?{weekday:wholeday}(?: {part})?`,
	`{step} {unit:one}`,
	`(?:the )?{unit:one} {step:twice}`,
	`(?:(?:in|over|during|within|for) )?(?:the )?(?:this )?{rolling:past} (?:{count} )?{unit}`,
	`(?:in|over|during|within|for) the {rolling:last} (?:{count} )?{unit}`,
	`(?:the )?{rolling:last} {count} {unit}`,
	`(?:on )?{step:near} {weekday}(?: {part})?`,
	`(?:on )?{weekday} (?:of )?{weeks}`,
	`{weeks} (?:on )?{weekday}`,
	`on {weekday}(?: {part})?`,
	`{step:near} {weekend}`,
	`(?:the )?{weekend} {step:twice}`,
	`(?:at|over|on|during) the {weekend}`,
	`(?:in|during|since|until|till|through|throughout|(?:end|beginning|start|middle|month) of) ` +
		`(?:early |late |mid[- ])?{month}\b\.?(?:,? (?:of )?{year})?`,
	`(?:(?:early|late|mid)[- ])?{month}\b\.?,? (?:of )?{year}`,
	`{month:plain}`,
	`{step:other} {month}`,
	`{step:this} {month:plain}`,
	`(?:in )?{month},? (?:of )?{years}`,
	`{years} in {month}`,
	`(?:on )?(?:the )?{day}(?:st|nd|rd|th)?(?: of)? {month:date}\b\.?(?:,? (?:of )?{year})?`,
	`(?:on )?(?:the )?{day}(?:(?:st|nd|rd|th)(?: of)?| of) {month:modal}\b\.?(?:,? (?:of )?{year})?`,
	`(?:on )?{day} {month:capital}\b\.?(?:,? {year})?`,
	`on (?:the )?{day} {month:modal}\b\.?(?:,? {year})?`,
	`{day} {month:modal}\b\.?,? {year}`,
	`(?:on )?(?:the )?{day:ordinal} of {month}\b\.?(?:,? (?:of )?{year})?`,
	`(?:on )?{month} (?:the )?{day:ordinal}(?:,? (?:of )?{year})?`,
	`(?:on )?{month:date}\b\.? (?:the )?{day}(?:st|nd|rd|th)?(?:,? (?:of )?{year})?`,
	`(?:on )?{month:modal}\b\.? (?:the )?{day}(?:st|nd|rd|th)(?:,? (?:of )?{year})?`,
	`(?:on )?{month:capital}\b\.? {day}(?:,? {year})?`,
	`(?:on|since|until|till|by|before|after|from) {month:modal}\b\.? (?:the )?{day}(?:,? {year})?`,
	`{month:modal}\b\.? {day},? {year}`,
	`{step:near} {season}`,
	`(?:in|during|over) (?:the )?{season:surely}`,
	`in {season}`,
	`(?:(?:in|during) )?(?:the )?{season} (?:of )?{year}`,
	`(?:(?:in|during) )?(?:the )?{season} of {years}`,
	`(?:in|since|during|until|till|year|throughout|early|late|mid|from) {year}`,
	`(?:at|in|towards?|around|by|since|from|near)? ?(?:the )?{edge}[- ](?:(?:of|in) )?(?:the )?{month}\b\.?(?:,? (?:of )?{year})?`,
	`(?:at|in|towards?|around|by|since|from|near)? ?(?:the )?{edge}[- ](?:(?:of|in) )?{step} {unit:one}`,
	`(?:at|in|towards?|around|by|since|from|near)? ?(?:the )?{edge}[- ]of the {unit:one}`,
	`(?:at|in|towards?|around|by|since|from|near)? ?(?:the )?{edge}[- ](?:(?:of|in) )?(?:the )?{season}(?: (?:of )?{year})?`,
	`(?:(?:at|on|over|during|for|before|after|since|until|till) )?(?:the )?{holiday}(?: (?:holidays?|break|season))?(?:,? (?:of )?{year})?`,
	`(?:(?:at|on|over|during) )?{step:near} {holiday}`,
	`(?:(?:at|on|over|during) )?{holiday} (?:of )?{years}`,
	`(?:on|since|until|till|by|before|after|from|of|around|about) the {day:nth}(?: of {months})?`,
	`(?:on|since|until|till|by|before|after|from|of) the {day:ordinal} of {months}`,
}

var englishTold = []string{
	`the {day:nth}`,
	`(?:for|and|to|by|till) (?:the )?{day:nth}`,
	`{day} {month}\b\.?(?:,? {year})?`,
	`{month}\b\.? {day}(?:,? {year})?`,
	`{weekend:theweekend}`,
	`(?:spent|had|went|did|this|whole|entire) {weekend}`,
}

// englishBeside needs a day beside it: alone it mostly is a habit.
var englishBeside = []string{
	`(?:(?:in|during|on|at|the) )*{part:hours}`,
	`{about}`,
}

// nth is a day of a month, as "8th".
func nth() vocabulary {
	words := make([]string, 31)
	for d := range words {
		suffix := "th"
		if d+1 < 11 || d+1 > 13 {
			switch (d + 1) % 10 {
			case 1:
				suffix = "st"
			case 2:
				suffix = "nd"
			case 3:
				suffix = "rd"
			}
		}
		words[d] = strconv.Itoa(d+1) + suffix
	}
	return listed(1, words...)
}

var englishDecoys = []string{
	`in (?:\d{4}[.,:]\d{1,9}|\d{4} (?:percent|dollars|euros|pounds|people|words|calories|steps|miles|meters))`,
	`(?:every|each) (?:{weekday}|{part}|{month}|{season})`,
}
