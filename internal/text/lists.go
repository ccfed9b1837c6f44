package text

import "strings"

// The stop list: words that name nothing, question words and auxiliaries, contraction tails, and words that many
// questions about a conversation carry. Chosen on the development dialogues of LoCoMo.
const stopWords = `a an the and or but if of to in on at for with by from as is are was were be been being do does did
has have had i you he she it we they me him her them my your his its our their this that these those what which who
whom when where why how will would can could should may might must not no so than then there about into out up down
over s t d ll re ve m don didn doesn isn wasn aren weren hasn haven hadn won wouldn couldn shouldn whose am any some
all both each also just very too kind type sort specific many much more most get got getting go going gone after
before during while`

// Irregular forms, the base form first, so that "when did she buy" meets "I bought". Base forms are stemmed later.
const irregularForms = `go went goes;take took taken;get gotten;make made;meet met;buy bought;bring brought;think thought;
see saw seen;give gave given;find found;tell told;feel felt;leave left;lose lost;win won;begin began begun;come came;
become became;write wrote written;speak spoke spoken;teach taught;catch caught;run ran;swim swam swum;sing sang sung;
ride rode ridden;drive drove driven;fly flew flown;grow grew grown;know knew known;draw drew drawn;
throw threw thrown;choose chose chosen;break broke broken;wake woke woken;wear wore worn;hear heard;hold held;
keep kept;sleep slept;spend spent;send sent;build built;lend lent;sell sold;pay paid;say said;stand stood;
understand understood;sit sat;fall fell fallen;eat ate eaten;drink drank drunk;forget forgot forgotten;
forgive forgave forgiven;hide hid hidden;bite bit bitten;shake shook shaken;steal stole stolen;fight fought;
seek sought;lead led;feed fed;stick stuck;hang hung;dig dug;light lit;mean meant;learn learnt;dream dreamt;deal dealt;
lie lain;rise risen;arise arose arisen;freeze froze frozen;tear tore torn;swear swore sworn;bear borne born;
blow blew blown;show shown;spin spun;strike struck;sweep swept;weep wept;creep crept;kneel knelt;bend bent;
overcome overcame;withdraw withdrew;undergo underwent undergone;child children;woman women;man men;person people;
foot feet;tooth teeth;mouse mice;goose geese;live lives;life;wife wives;knife knives;leaf;shelf shelves;half halves;
wolf wolves;self selves;hero heroes;good;bad worse worst`

var (
	stopSet   = wordSet(stopWords)
	baseForms = formTable(irregularForms)
)

func wordSet(list string) map[string]struct{} {
	set := map[string]struct{}{}
	for w := range strings.FieldsSeq(list) {
		set[w] = struct{}{}
	}
	return set
}

func formTable(list string) map[string]string {
	table := map[string]string{}
	for group := range strings.SplitSeq(list, ";") {
		forms := strings.Fields(group)
		for _, f := range forms[1:] {
			table[f] = forms[0]
		}
	}
	return table
}
