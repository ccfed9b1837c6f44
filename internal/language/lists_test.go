package language_test

var table = []row{
	//                              en, es, ko, ja, zh, han
	{"numbers/units", [6]int{20, 0, 0, 0, 0, 0}, "the numerals of the others are read where they are needed: in numbers/korean of Korean, by package when in all"},
	{"numbers/tens", [6]int{8, 0, 0, 0, 0, 0}, "the numerals of the others are read where they are needed: in numbers/korean of Korean, by package when in all"},
	{"particles/after-consonant", [6]int{0, 0, 24, 0, 0, 0}, "of Korean: what stands before them has one"},
	{"particles/after-vowel", [6]int{0, 0, 22, 0, 0, 0}, "of Korean: what stands before them has none"},
	{"particles/after-any", [6]int{0, 0, 57, 7, 0, 0}, "only Korean and Japanese words have particles without a blank before them"},
	{"particles/of-quotes", [6]int{0, 0, 31, 9, 0, 0}, "only Korean and Japanese words have particles without a blank before them"},
	{"particles/of-names", [6]int{0, 0, 26, 0, 0, 0}, "a Japanese name is found by its letters, those of the others have no particle"},
	{"particles/of-times", [6]int{0, 0, 101, 14, 0, 0}, "only Korean and Japanese words have particles without a blank before them"},
	{"search/stop-words", [6]int{129, 230, 153, 79, 0, 0}, "a Chinese word is one or two characters: hollow-letters, weak-letters and stop-pairs hold those that say nothing"},
	{"search/irregular-forms", [6]int{256, 335, 0, 0, 0, 0}, "Korean and Japanese conjugate by rules of their own, Chinese does not"},
	{"search/signs", [6]int{59, 133, 0, 0, 0, 0}, "the scripts of the others tell the language"},
	{"search/abbreviations", [6]int{20, 0, 0, 0, 0, 0}, "none is known to end with a full stop within a sentence"},
	{"search/synonyms", [6]int{0, 217, 122, 109, 182, 0}, "English has a table of near words, of package near"},
	{"search/hollow-roots", [6]int{0, 0, 14, 0, 0, 0}, "of verbs whose roots are terms: only Korean ones are"},
	{"search/endings", [6]int{0, 0, 137, 0, 0, 0}, "for verbs that cling to their endings without a stem of Snowball; those of Japanese are in tails"},
	{"search/tails", [6]int{0, 0, 0, 241, 0, 0}, "of Hiragana"},
	{"search/head-particles", [6]int{0, 0, 0, 70, 0, 0}, "of Hiragana"},
	{"search/head-inflections", [6]int{0, 0, 0, 72, 0, 0}, "of Hiragana"},
	{"search/hollow-letters", [6]int{0, 0, 0, 1, 30, 0}, "of Han characters"},
	{"search/weak-letters", [6]int{0, 0, 0, 1, 91, 0}, "of Han characters"},
	{"search/stop-pairs", [6]int{0, 0, 0, 0, 0, 103}, "shared by Japanese and Chinese, whose characters it is of"},
}
