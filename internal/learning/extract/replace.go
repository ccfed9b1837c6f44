package extract

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	regexp "github.com/stratamem/strata/internal/language/lazyregexp"
	"github.com/stratamem/strata/internal/language/text"
	"github.com/stratamem/strata/internal/memory"
)

// Replaces reports whether a fact says that another one, of the same person and said before, does not hold any more, without
// naming a property. The words must say that something changed, and both must be about the same thing: either the newer names
// the value that it puts another one in place of ("switched from Vim to Helix"), or both say the same but for a time, a date or
// an amount ("the standup is at 9:30", "the standup moved to 10"). What adds to what is known ("also") replaces nothing.
func Replaces(newer, older memory.Fact) bool {
	if subjectKey(newer.Subject) != subjectKey(older.Subject) || Key(newer.Text) == Key(older.Text) {
		return false
	}
	return replaces(clauseOf(newer), clauseOf(older))
}

// maxClauseBytes is the longest quote that is one statement.
const maxClauseBytes = 200

// clauseOf is what a fact says in its speaker's words, or its text where a whole message is quoted.
func clauseOf(f memory.Fact) string {
	said := f.Said()
	if len(said) == 0 {
		return f.Text
	}
	quote := said[len(said)-1].Quote
	if quote == "" || len(quote) > maxClauseBytes {
		return f.Text
	}
	return quote
}

func replaces(newer, older string) bool {
	newer, older = plainQuotes.Replace(newer), plainQuotes.Replace(older)
	if !mayReplace(newer) || isPast(older) || leaning.MatchString(older) {
		return false
	}
	if oneTime.MatchString(newer) && !fromThen.MatchString(newer) {
		return namesReplaced(newer, older)
	}
	return namesReplaced(newer, older) || otherValue(newer, older) || movesValue(newer, older) || doneAtOtherTime(newer, older)
}

// mayReplace reports whether a clause with plain quotes says that something changed, so that it replaces what it is about.
func mayReplace(clause string) bool {
	return MarksChange(clause) && Asserts(clause) && !Adds(clause)
}

// oneTime is what holds of one time only, and fromThen what holds from one on.
var (
	oneTime = regexp.MustCompile(
		`(?i)\b(?:this (?:week|month|time|weekend|mon|tues|wednes|thurs|fri|satur|sun)\p{L}*|next week|today|tonight|tomorrow|hoy|esta semana|esta vez|este (?:lunes|martes|miércoles|jueves|viernes|sábado|domingo))(?:[^\p{L}]|$)|이번 ?주|오늘|내일|今週|今日|明日|来週|今回|这周|这次|今天|明天|下周`,
	)
	fromThen = regexp.MustCompile(`(?i)\b(?:from|starting|as of|since|desde|a partir de)(?:[^\p{L}]|$)|부터|から|从|起`)
)

var plainQuotes = strings.NewReplacer("’", "'", "‘", "'")

// MarksChange reports whether a clause says that something is other than it was.
func MarksChange(clause string) bool { return changing.MatchString(clause) }

// changing matches what says that something is otherwise by now.
var changing = regexp.MustCompile(
	`(?i)\b(?:now|these days|nowadays|from now on|anymore|any more|no longer|instead|in place of|moved?|moves|moving|switch\w*|chang\w+|swapp?\w*|trad\w+|migrat\w+|replac\w+|upgrad\w+|push\w*|postponed|rescheduled|brought forward|bumped|shifted|delayed|extended|raised?|rais\w+|lower\w*|increas\w+|reduc\w+|went (?:up|down|from)|gone (?:up|down|back|from)|go(?:es)? up|cut|dropped|got rid of|ditched|put (?:me|us|it) (?:up|down|on)|back (?:to|on)|turned|just turned|converted|transitioned|new)\b` +
		`|\b(?:ahora|ya no|en vez de|en lugar de|a partir de ahora|actualmente|cambi\p{L}+|pas(?:a|ó|amos|é|ado)|movi\p{L}+|mov(?:ió|ido)|retras\p{L}+|adelant\p{L}+|aplaz\p{L}+|sub(?:ió|ido|ieron|en)|baj(?:ó|ado|aron)|migr\p{L}+|sustitu\p{L}+|reemplaz\p{L}+|dej[éoa]\p{L}*|vend(?:í|ido)|mud\p{L}+)(?:[^\p{L}]|$)` +
		`|이제|지금은|요즘은|앞으로는|바뀌|바뀐|바꿨|바꾸|옮겼|옮겨|옮긴|갈아탔|미뤄|미뤘|당겨|당겼|연기|변경|올랐|올렸|올라|내렸|내려|늘었|늘렸|늘어|줄었|줄였|대신|그만두|그만뒀|전환|이전했` +
		`|今は|今では|いまは|最近は|これからは|今後は|変わ|変え|変更|移り|移っ|移し|ずらし|移行|移動|延期|延び|繰り上|早まっ|上がっ|上がり|上げ|下がっ|下がり|下げ|増え|減っ|減り|乗り換え|切り替え|辞めて|やめて|代わりに|になりました|になった` +
		`|现在|現在|如今|改到|改成|改为|改在|换到|换成|换了|换为|搬到|搬去|搬了|推迟|提前|延期|涨到|涨了|涨成|降到|降了|加到|减到|增加到|减少到|不再|变成|调到|调成|迁移|迁到|转到|跳槽|代替|取代|辞掉|卖掉|卖了`,
)

// Adds reports whether a clause adds to what is known, in place of nothing.
func Adds(clause string) bool { return adds.MatchString(koAdverbs.ReplaceAllString(clause, " ")) }

// koAdverbs are Korean adverbs that end like what adds something.
var koAdverbs = regexp.MustCompile(`(?:안 ?그래|그래|아직|아마|정|오늘|지금|나름|하긴|그렇게|아무래)도(?:\s|$)`)

// adds matches what says that something holds beside what is known.
var adds = regexp.MustCompile(
	`(?i)\b(?:also|too|as well|another|besides|in addition|additionally|plus|on top of|both|second|tambi[ée]n|adem[áa]s|otr[oa]s?)(?:[^\p{L}]|$)|\p{Hangul}도(?:\s|$)|(?:^|\s)(?:또|추가로|하나 더)(?:\s|$)|(?:^|[^で])も[^うっと]|他に|ほかに|加えて|也|还[^是]|另外|再加`,
)

// past matches what was once, and does not go on.
var pastTense = regexp.MustCompile(
	`(?i)\b(?:was|were|did|had|wrote|made|built|met|went|visited|bought|ran|saw|gave|took|won|lost|finished|completed|used to|ago|yesterday|last (?:year|month|week|night|spring|summer|autumn|fall|winter)|in (?:19|20)\d\d)\b` +
		`|(?:^|[^\p{L}])(?:fui|fue|hice|hizo|corr[ií]\p{L}?|escribí|compré|gané|visité|ayer|pasad[oa]|hace \p{L}+ años|en (?:19|20)\d\d)(?:[^\p{L}]|$)` +
		`|작년|지난|어제|예전|\p{Hangul}(?:았|었|했|였|갔|왔|샀|봤)(?:다|어요|어|습니다)` +
		`|(?:まし)?た(?:。|$)|去年|昨日|先週|先月|昔|前に|以前|昨天|上周|上个月|\p{Han}过|小时候`,
)

// isPast reports whether a clause is about something done once, other than a change that still holds.
func isPast(clause string) bool {
	return pastTense.MatchString(clause) && !changing.MatchString(clause)
}

// leaning matches what somebody thinks of a thing, is or knows because of it: this may stay whatever he uses by now.
var leaning = regexp.MustCompile(
	`(?i)\b(?:like|love|hate|enjoy|dislike|allergic|allergy|afraid|want|wish|hope|know|fan|favou?rite|originally|born|grew up|never)\b|n't\b|(?:^|[^\p{L}])(?:me (?:gusta|encanta)n?|odio|alérgic[oa]|nunca)(?:[^\p{L}]|$)|좋아|싫어|알레르기|알러지|않|好き|嫌い|アレルギー|ない|ません|喜欢|讨厌|过敏|从不`,
)

// replacedBy are patterns that name, in their group, what something else took the place of.
var replacedBy = []*regexp.Regexp{
	regexp.MustCompile(
		`(?i)\b(?:switch(?:ed|ing)?|moved?|moving|chang(?:ed|ing)|migrat(?:ed|ing)|upgraded|went|gone|converted|transitioned|jumped) (?:\p{L}+ )?(?:over )?(?:away )?from (.+?) (?:over )?(?:to|for|onto|into)\s`,
	),
	regexp.MustCompile(`(?i)\b(?:swapped|traded|exchanged|ditched|dropped|left) (?:out )?(.+?) (?:for|in favou?r of)\s`),
	regexp.MustCompile(`(?i)\breplaced (.+?) (?:with|by)\s`),
	regexp.MustCompile(`(?i)\b(?:now|these days|nowadays)\b.*\binstead of (?:\p{L}+ing )?(.+)$`),
	regexp.MustCompile(`(?i)\binstead of (?:\p{L}+ing )?(.+?) (?:now|these days|nowadays)$`),
	regexp.MustCompile(`(?i)\b(?:stopped using|no longer use|(?:sold|got rid of|gave away|returned)) (.+?)(?:,| and\s|$)`),
	regexp.MustCompile(`(?i)(?:^|[^\p{L}])(?:cambi\p{L}+|pas(?:ado|amos|é|o)|migr\p{L}+|mudad[oa]) (?:\p{L}+ )?de (.+?) (?:a|por)\s`),
	regexp.MustCompile(`(?i)(?:^|[^\p{L}])(?:cambi\p{L}+|sustitu\p{L}+|reemplaz\p{L}+) (.+?) por\s`),
	regexp.MustCompile(`(?i)\bahora\b.*(?:en vez|en lugar) de (?:\p{L}+[aei]r )?(.+)$`),
	regexp.MustCompile(`(?i)(?:^|[^\p{L}])(?:vendí|he vendido|dejé de usar|he dejado de usar|ya no uso) (.+?)(?:,| y\s|$)`),
	regexp.MustCompile(`(\S+?)에서 (?:\S+ ){0,2}\S+?(?:으로|로) (?:바꿨|바꾸|옮겼|갈아탔|이전|전환|이직)`),
	regexp.MustCompile(`(\S+?)(?:을|를)? (?:대신|그만두고|그만뒀|버리고|팔고|접고)`),
	regexp.MustCompile(`([\p{Katakana}\p{Han}ー\p{Latin}\d. ]+?)から[\p{Katakana}\p{Han}ー\p{Latin}\d. ]+?[にへ](?:変え|変わ|移|乗り換え|切り替え|転職|引っ越)`),
	regexp.MustCompile(`([\p{Katakana}\p{Han}ー\p{Latin}\d. ]+?)(?:を(?:やめて|辞めて|売って)|の代わりに|に代えて)`),
	regexp.MustCompile(`从(.+?)(?:换|迁移|迁|改|转|跳槽|搬)(?:到|成|为|去)`),
	regexp.MustCompile(`(?:不再用|不用|卖掉|卖了|辞掉)(?:了)?(.+?)(?:了|，|$)`),
	regexp.MustCompile(`(?:代替|取代)(?:了)?(.+?)(?:了|，|$)`),
	regexp.MustCompile(`把(.+?)换成`),
}

// newOne is that somebody has another one of what he has one of, in one of its groups.
var newOne = regexp.MustCompile(
	`(?i)^(?:i|we)(?:'ve| have)?(?: just| recently| finally)? (?:(?:got|have|bought|found) a (?:new|different) |(?:changed|switched) )(boss|manager|bank|job|phone|laptop|car|landlord|dentist|doctor|therapist|gym|gp|roommate|flatmate|accountant|lawyer|agent|publisher|supervisor|advisor|address|number|school|provider)(?:e?s)?(?:$|[,.;!]| (?:now|last|this|who|called|named|near|in|at|on|and|because|since|after|recently|again|to|from|so|her|his|their)\b)` +
		`|^(?:ahora )?(?:tengo|he cambiado de|cambié de|me he comprado|he encontrado|hemos cambiado de) (?:un |una )?(?:nuev[oa] |otr[oa] )?(jefe|jefa|banco|trabajo|móvil|teléfono|portátil|coche|casero|dentista|médico|gimnasio|psicóloga?|colegio|compañía)\b`,
)

// isOwn reports whether a clause says which one of a kind somebody has: "my boss is Henrik", "I bank with Monzo".
func isOwn(kind, clause string) bool {
	ws := words(clause)
	for i, w := range ws {
		if strings.TrimSuffix(w, "s") == strings.TrimSuffix(fold(kind), "s") && (i == 0 || ownerWords[ws[i-1]]) {
			return true
		}
	}
	return false
}

// ownerWords stand before what somebody has one of.
var ownerWords = map[string]bool{"my": true, "our": true, "i": true, "we": true, "mi": true, "nuestro": true, "nuestra": true}

// determiners stand before a name and say nothing of it.
var determiners = regexp.MustCompile(`(?i)^(?:(?:my|our|the|an?|old|mi|mis|nuestr[oa]s?|el|la|los|las|un|una|我们?的?|我)\s*)+(?:\s|$)|^我们?的?`)

// namesReplaced reports whether the newer clause names what it puts something in place of, and the older one is about just
// that, of the same people.
func namesReplaced(newer, older string) bool {
	if !slices.Equal(peopleIn(newer), peopleIn(older)) {
		return false
	}
	if m := newOne.FindStringSubmatch(newer); m != nil && isOwn(m[1]+m[2], older) {
		return true
	}
	for _, p := range replacedBy {
		m := p.FindStringSubmatch(newer)
		if m == nil {
			continue
		}
		if isObject(determiners.ReplaceAllString(strings.TrimSpace(m[1]), ""), older) {
			return true
		}
	}
	return false
}

// pronouns may mean anybody who is named beside them.
var pronouns = words("they them their people he she his her hers him 他 她 彼女")

// peopleIn are the people of whom a clause speaks, in order.
func peopleIn(clause string) []string {
	var out []string
	for _, who := range others.FindAllString(clause, -1) {
		who = strings.TrimSuffix(strings.TrimFunc(fold(who), func(r rune) bool { return !unicode.IsLetter(r) }), "'s")
		if who != "" && (who != "he" || !text.HasSpanishPerfect(clause)) {
			out = append(out, who)
		}
	}
	if slices.ContainsFunc(out, func(who string) bool { return !slices.Contains(pronouns, who) }) {
		out = slices.DeleteFunc(out, func(who string) bool { return slices.Contains(pronouns, who) })
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// mayFollow are words that may follow the object of a statement.
var mayFollow = func() map[string]bool {
	m := map[string]bool{}
	for _, w := range words(`for in at on as since with to and every most now when because by from all anymore these after before
		para en como desde con y por cada ahora a los las todos todas`) {
		m[w] = true
	}
	return m
}()

// isObject reports whether a name stands in a clause as what it is about, not as part of another name: "Vim" in "uses Vim
// for notes", not in "maintains a Vim plugin".
func isObject(name, clause string) bool {
	want := words(name)
	if len(want) == 0 || len([]rune(squeeze(name))) < 2 {
		return false
	}
	if hasClingingScript(clause) && !hasHangul(clause) {
		return strings.Contains(squeeze(clause), squeeze(name))
	}
	have := words(clause)
	for i, w := range have {
		have[i] = stem(w)
	}
	for i := range want {
		want[i] = stem(want[i])
	}
	for at := 0; at+len(want) <= len(have); at++ {
		if !slices.Equal(have[at:at+len(want)], want) {
			continue
		}
		end := at + len(want)
		if end == len(have) || hasHangul(clause) || mayFollow[have[end]] {
			return true
		}
	}
	return false
}

// kindOfValue is what two values are compared as.
type kindOfValue int

const (
	valueWhen   kindOfValue = iota // a time, a date, a day
	valueAmount                    // a number of something, or its rank
)

// values are patterns of times, dates and amounts.
var values = []struct {
	kind    kindOfValue
	pattern *regexp.Regexp
}{
	{
		valueWhen,
		regexp.MustCompile(
			`(?i)\b\d{1,2}[:.h]\d{2}(?: ?[ap]m)?\b|\b\d{1,2} ?(?:am|pm|o'clock)\b|\b(?:at |until |till |half past |quarter (?:past|to) )+(?:\d{1,2}|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|noon|midnight)\b(?: (?:in the (?:morning|afternoon|evening)|thirty|fifteen))?` +
				`|\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b|\b(?:the )?\d{1,2}(?:st|nd|rd|th)?(?: of)? (?:january|february|march|april|may|june|july|august|september|october|november|december)\b(?: \d{4})?|\b(?:january|february|march|april|may|june|july|august|september|october|november|december)(?: (?:the )?\d{1,2}(?:st|nd|rd|th)?)?\b|\b(?:the )?\d{1,2}(?:st|nd|rd|th)\b` +
				`|\b(?:a )?las? (?:una|dos|tres|cuatro|cinco|seis|siete|ocho|nueve|diez|once|doce|\d{1,2})(?: y (?:media|cuarto|diez|veinte))?\b|\b(?:el |los )?(?:lunes|martes|miércoles|jueves|viernes|sábados?|domingos?)(?: y (?:lunes|martes|miércoles|jueves|viernes|sábados?|domingos?))?\b|\b(?:el |al )?\d{1,2} de (?:enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|octubre|noviembre|diciembre)\b`,
		),
	},
	{
		valueWhen,
		regexp.MustCompile(
			`(?:오전|오후|아침|저녁|밤)?\s?(?:\d{1,2}|한|두|세|네|다섯|여섯|일곱|여덟|아홉|열|열한|열두) ?시(?: ?(?:반|\d{1,2} ?분))?|(?:\d{1,2}월 ?)?\d{1,2}일|[월화수목금토일]요일(?:마다)?`,
		),
	},
	{
		valueWhen,
		regexp.MustCompile(
			`(?:午前|午後|早上|上午|下午|晚上|朝)?(?:[0-9０-９]{1,2}|[一二三四五六七八九十两]{1,3})(?:時|时|点)(?:半|(?:[0-9]{1,2}|[一二三四五六七八九十]{1,3})分)?|(?:[0-9]{1,2}月)?[0-9]{1,2}[日号號]|(?:[月火水木金土日]曜日?|(?:周|星期|礼拜)[一二三四五六日天])(?:と[月火水木金土日]曜日?|和?(?:周|星期)?[一二三四五六日天])?`,
		),
	},
	{
		valueAmount,
		regexp.MustCompile(
			`(?:주 ?|월 ?|하루 ?)?(?:\d[\d.,]*|한|두|세|네|다섯|여섯|일곱|여덟|아홉|열|스무)\s?(?:천|만|백)*\s?(?:마리|명|개|대|잔|살|층|원|달러|유로|킬로|km|kg|mg|번|시간|분|일|주|달|개월|년|점|평|호|%|퍼센트)`,
		),
	},
	{
		valueAmount,
		regexp.MustCompile(
			`(?:[0-9０-９][0-9０-９.,]*(?:万|千|百)+|[一二三四五六七八九十百千万两]+)(?:匹|人|個|台|杯|歳|階|円|ドル|キロ|km|kg|mg|回|時間|分|日|週|ヶ月|年|番|只|个|口|位|辆|杯|岁|楼|层|块钱?|元|美元|公斤|公里|次|小时|分钟|天|周|倍|%)?|[0-9０-９][0-9０-９.,]*(?:匹|人|個|台|杯|歳|階|円|ドル|キロ|km|kg|mg|回|時間|分|日|週|ヶ月|年|番|只|个|口|位|辆|杯|岁|楼|层|块钱?|元|美元|公斤|公里|次|小时|分钟|天|周|倍|%)`,
		),
	},
	{
		valueAmount,
		regexp.MustCompile(
			`(?i)[€$£]?\b\d[\d.,]*(?: ?(?:k|m|%|mg|ml|kg|km|g|euros?|dollars?|pounds?|quid|bucks|usd|eur|people|days?|hours?|minutes?|weeks?|months?|years?|miles?|kilomet\w+|floor|planta))?\b|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|fifty|first|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|uno|dos|tres|cuatro|cinco|seis|siete|ocho|nueve|diez|primera?|segund[oa]|tercera?|cuart[oa]|quint[oa]|sext[oa]|séptim[oa])\b(?: (?:days?|hours?|minutes?|weeks?|months?|years?(?: old)?|miles?|días?|horas?|años?|euros?))?`,
		),
	},
}

// otherValue reports whether both clauses say the same but for a value of one kind, and have different ones.
func otherValue(newer, older string) bool {
	newValues, newTopic := valuesOf(newer)
	oldValues, oldTopic := valuesOf(older)
	if !sameTopic(newTopic, oldTopic) && !sameName(newTopic, oldTopic, older) {
		return false
	}
	for kind, is := range newValues {
		was := oldValues[kind]
		if len(was) > 0 && !slices.ContainsFunc(is, func(v string) bool { return slices.Contains(was, v) }) {
			return true
		}
	}
	// What is only a number may be a time: "the standup moved to 10".
	return len(newValues[valueAmount]) == 1 && len(newValues[valueWhen]) == 0 && bareNumber.MatchString(newValues[valueAmount][0]) &&
		len(oldValues[valueWhen]) > 0 && !slices.Contains(oldValues[valueWhen], newValues[valueAmount][0])
}

// moves are clauses that give a thing, in a group, another time or amount, in the group after it.
var moves = []*regexp.Regexp{
	regexp.MustCompile(`(?i)\b(?:moved|moving|switched|changed|shifted|pushed|bumped|rescheduled) (.+?) (?:from .+ )?(?:over |back |up )?to (.+)$`),
	regexp.MustCompile(`(?i)^(.+?) (?:has |have |got |was |were |is |are )*(?:been )?(?:moved|moves|switched|changed|shifted|pushed|bumped|rescheduled) (?:from .+ )?(?:over |back |up )?to (.+)$`),
	regexp.MustCompile(`(?i)(?:^|[^\p{L}])(?:pasado|pasamos|pasé|cambiado|cambiamos|cambié|movido|movimos|moví) (.+?) (?:a|al|para) (.+)$`),
	regexp.MustCompile(`(?i)^(.+?) (?:se )?(?:ha |han )?(?:pasado|pasan?|pasó|cambió|cambiado|movió|movido) (?:a|al|para) (.+)$`),
	regexp.MustCompile(`^(?:이제 |우리 )?(.+?)(?:은|는|을|를|이|가) (.+?)(?:으로|로) (?:옮|바뀌|바뀐|바꿨|바꾸|변경|미뤄|미뤘|당겨|당겼)`),
	regexp.MustCompile(`^(.+?)(?:は|を)(.+?)[にへ](?:移|変わ|変え|変更|なった|なりました|ずら|ずれ)`),
	regexp.MustCompile(`^(.+?)(?:改到|改成|改在|挪到|调到|换到|改为)了?(.+)$`),
}

// movesValue reports whether the newer clause gives what the older one is about another time or amount, by its name.
func movesValue(newer, older string) bool {
	if !slices.Equal(kin(newer, ""), kin(older, "")) {
		return false
	}
	was, oldTopic := valuesOf(older)
	for _, p := range moves {
		m := p.FindStringSubmatch(newer)
		if m == nil {
			continue
		}
		is, _ := valuesOf(m[2])
		thing, ok := movedThing(m[1], older, oldTopic)
		if !ok || thing == "" {
			continue
		}
		for kind, values := range is {
			if len(was[kind]) > 0 && !slices.ContainsFunc(values, func(v string) bool { return slices.Contains(was[kind], v) }) {
				return true
			}
		}
	}
	return false
}

// movedThing is the name of what is moved without words of times, and whether all of it is among what a clause is about.
func movedThing(name, clause string, topic []string) (string, bool) {
	name = determiners.ReplaceAllString(strings.TrimSpace(name), "")
	if hasClingingScript(clause) && !hasHangul(clause) {
		return name, utf8.RuneCountInString(name) >= 2 && isClingingHead(name, clause)
	}
	of := slices.DeleteFunc(topicOf(name), func(w string) bool { return timed[w] })
	found := len(of) > 0
	for _, w := range of {
		found = found && slices.ContainsFunc(topic, func(o string) bool { return sameRoot(w, o) || sameTerm(w, o) })
	}
	return strings.Join(of, " "), found
}

// sameTerm reports whether two words are found as the same one.
func sameTerm(a, b string) bool {
	x, y := text.Terms(a), text.Terms(b)
	return len(x) == 1 && slices.Equal(x, y)
}

// timed are words of when something is, which do not say what it is.
var timed = wordSet(`time times date dates schedule slot slots start hour hours horario hora fecha 시간 날짜 요일 일정`)

// doneAt are Korean clauses of what is done at a time, and at what time.
var doneAt = regexp.MustCompile(`(\d{1,2}|한|두|세|네|다섯|여섯|일곱|여덟|아홉|열|열한|열두) ?시( ?반)?(?:에|쯤에?|부터)? (\p{Hangul}{2})`)

// rarely are days that a statement of another time is only about.
var rarely = regexp.MustCompile(`주말|[월화수목금토일]요일|휴일|방학|오늘|어제|내일|가끔|저녁`)

// doneAtOtherTime reports whether two Korean clauses say of one verb at what time it is done, and other times.
func doneAtOtherTime(newer, older string) bool {
	is, was := doneAt.FindStringSubmatch(newer), doneAt.FindStringSubmatch(older)
	return is != nil && was != nil && is[3] == was[3] && is[1]+is[2] != was[1]+was[2] &&
		!rarely.MatchString(newer) && !rarely.MatchString(older) && slices.Equal(kin(newer, ""), kin(older, ""))
}

// sameValues reports whether two texts have the same times, dates and amounts.
func sameValues(a, b string) bool {
	of, _ := valuesOf(a)
	is, _ := valuesOf(b)
	return slices.Equal(of[valueWhen], is[valueWhen]) && slices.Equal(of[valueAmount], is[valueAmount])
}

var bareNumber = regexp.MustCompile(`^\d{1,2}$`)

// valuesOf are the values of a clause, and the words besides that say what it is about.
func valuesOf(clause string) (map[kindOfValue][]string, []string) {
	found := map[kindOfValue][]string{}
	rest := clause
	for _, v := range values {
		for _, m := range v.pattern.FindAllString(rest, -1) {
			if value := valueWords.ReplaceAllString(squeeze(m), ""); value != "" {
				found[v.kind] = append(found[v.kind], value)
			}
		}
		rest = v.pattern.ReplaceAllString(rest, " ")
	}
	return found, topicOf(rest)
}

// valueWords are words of a value that set it apart from no other.
var valueWords = regexp.MustCompile(`^(?:at|the|el|los|al|a|until|till)+|(?:마다)$`)

// untold are words that do not say what a clause is about: of change, of having, of times in general.
var untold = func() map[string]bool {
	m := map[string]bool{}
	for _, w := range words(`a an the i im ive id we weve were me my mine our us you your it its they theyve them their this that
		am is are was be been being s have has had got gotten get do does did to of in on at by for from with as and or but than into over about out up off away back around near after before until till
		now these days nowadays currently lately longer anymore any more instead just recently finally also still already every each all usually always mostly
		move moved moves moving switch switched change changed changes push pushed postponed rescheduled brought forward bumped shifted delayed extended last raise raised raises lower lowered increase increased reduce reduced went gone go goes cut dropped drop put puts down new turned turn turns took takes place starts start begins begin ends comes scheduled set booked due make makes
		day days week weeks month months year years morning mornings evening evenings night afternoon time old again per doctor landlord
		yo me mi mis tu su sus el la los las un una unos unas lo le nos se de del al a en por para con y o que es son era está están estoy fue ser ha han he hemos sido queda
		ahora ya no nos cambiado cambió cambia cambié pasa pasado pasó movido movió mueve retrasado retrasó adelantado adelantó aplazado subido subió suben bajado bajó nuestro nuestra nuestros nuestras tengo tiene tenemos día días semana mes año años todos todas cada hora mañana tarde tardes noche
		저는 전 저희 우리 나 난 나는 내 제 제가 내가 이제 이제는 지금 지금은 요즘 요즘은 앞으로는 매일 매주 매달 아침 저녁 오전 오후 다시 더 정도 한 달에 있어 있어요 예요 이에요 이야 야 로 으로 에 에서 부터 다음`) {
		m[w] = true
	}
	return m
}()

// koChange are Korean words that only say that something changed or is.
var koChange = regexp.MustCompile(`^(?:바뀌|바뀐|바꿨|옮겼|옮겨|미뤄|미뤘|당겨|당겼|연기|변경|올랐|올렸|내렸|늘었|줄었|됐|되었|했|예요|이에요|이야|입니다|잡혔|시작|있|해요|해$|로$|에$|으로$)`)

// hanChange are Japanese and Chinese words that only say that something changed, is or is done regularly.
var hanChange = regexp.MustCompile(
	`今は|今では|最近|変わ|変え|変更|移行|移動|移|延期|上が|下が|増え|減|毎朝|毎日|毎週|毎月|毎|私|僕|俺|我们|我們|我|咱们|现在|現在|如今|改到|改成|改为|改|换到|换成|换|推迟到|推迟|提前到|提前|涨到|涨成|涨|降到|降|加到|增加|减少|减到|搬到|搬|调到|调|每天|每周|每月|每|早上|上午|下午|晚上|朝|是|有|了|的|在|到|成|从|一个月|月`,
)

// topicOf are the words that say what a clause is about.
func topicOf(rest string) []string {
	if hasClingingScript(rest) && !hasHangul(rest) {
		keeps := func(r rune) bool {
			return unicode.In(r, unicode.Han, unicode.Katakana) || r == 'ー' || unicode.Is(unicode.Latin, r)
		}
		return strings.FieldsFunc(
			strings.Join(strings.FieldsFunc(hanChange.ReplaceAllString(fold(rest), ""), func(r rune) bool { return !keeps(r) }), ""),
			func(rune) bool { return false },
		)
	}
	var out []string
	for _, w := range words(rest) {
		if untold[w] || koChange.MatchString(w) {
			continue
		}
		if w = stem(w); !untold[w] && !koChange.MatchString(w) {
			out = append(out, w)
		}
	}
	return out
}

// creatures are animals that people have, as they are said beside the name of one.
var creatures = regexp.MustCompile(
	`^(?:dog|cat|puppy|kitten|pet|horse|rabbit|parrot|hamster|turtle|perr[oa]|gat[oa]|mascota|caballo|conejo|loro)$`,
)

// sameName reports whether a clause is about nothing but who or what an older one names: "Biscuit turned five" after "our dog
// Biscuit is four".
func sameName(newer, older []string, clause string) bool {
	if len(newer) != 1 || len(older) < 2 || !within(newer, older) {
		return false
	}
	named := slices.ContainsFunc(strings.Fields(clause), func(w string) bool {
		r, _ := utf8.DecodeRuneInString(w)
		return unicode.IsUpper(r) && fold(w) == newer[0]
	})
	return named && !slices.ContainsFunc(older, func(w string) bool {
		return w != newer[0] && !creatures.MatchString(w) && len(others.FindString(w)) == 0
	})
}

// sameTopic reports whether two clauses are about the same thing.
func sameTopic(a, b []string) bool {
	if len(a) == 0 || len(a) != len(b) {
		return false
	}
	return within(a, b) && within(b, a)
}
