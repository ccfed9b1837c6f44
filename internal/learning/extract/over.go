package extract

import (
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/stratamem/strata/internal/language/languagedata"
	regexp "github.com/stratamem/strata/internal/language/lazyregexp"
	"github.com/stratamem/strata/internal/memory"
)

// A fact is over when somebody says so of the thing that it is about, by its name: a thing that is gone ("the Subaru finally
// died"), something that is not done any more ("la salsa la dejé"), who does not hold a role any more ("Dr Amari retired"), and
// what has one holder at a time and another one now ("I changed suppliers", "my new boss is Salma"). The thing must be the head of
// what the fact says: "quit hockey" ends "plays hockey", not "works at the hockey shop".

// saysOver reports whether a sentence says by name that what a fact is about is over or has another holder.
func saysOver(sentence string, f memory.Fact) bool {
	sentence = plainQuotes.Replace(sentence)
	if !Asserts(sentence) {
		return false
	}
	for _, older := range statementsOf(f) {
		if slices.ContainsFunc(plainClauses(sentence), func(clause string) bool { return givesUp(clause, older) }) {
			return true
		}
		if isPast(older) || leaning.MatchString(older) {
			continue
		}
		for _, clause := range plainClauses(sentence) {
			if planned.MatchString(clause) || ofAWhile.MatchString(clause) {
				continue
			}
			if clauseSaysOver(clause, older) {
				return true
			}
		}
	}
	return false
}

// givesUp reports whether a clause such as "forget the harp" names what an older one says is only planned: nobody forgets a dog that is
// there.
func givesUp(clause, older string) bool {
	m := givenUp.FindStringSubmatch(clause)
	return m != nil && intends.MatchString(older) && len(peopleIn(clause)) == 0 && ofThing(thingIn(m[1]), clause, older)
}

var (
	givenUp = regexp.MustCompile(
		`(?i)^` + enOpen + `(?:forget|scratch|never mind)(?: about)? (?:the|my|our|that) ` + enThing + `(?: (?:idea|plan))?$`,
	)
	intends = regexp.MustCompile(
		`(?i)\b(?:wants? to|plan(?:s|ning)?|(?:is|am|i'm|we're|are) (?:going to|getting|buying|planting|adopting|building|booking)` +
			`|hop(?:es?|ing) to|would like|'d like|will|'ll|looking for|saving (?:up )?for|training for)\b`,
	)
)

// statementsOf are the text of a fact and what was said, each once.
func statementsOf(f memory.Fact) []string {
	text, said := plainQuotes.Replace(f.Text), plainQuotes.Replace(clauseOf(f))
	if text == said || text == "" {
		return []string{said}
	}
	return []string{text, said}
}

func clauseSaysOver(clause, older string) bool {
	said := clause
	if hasHangul(clause) {
		said = koWhen.ReplaceAllString(clause, "$1")
	}
	for _, o := range overPatterns {
		m := o.pattern.FindStringSubmatch(said)
		if m != nil && o.of(thingIn(m[1]), clause, older) {
			return true
		}
	}
	role := roleGiven(clause)
	return role != "" && slices.Equal(kin(clause, role), kin(upTo(role, older), role)) && givesRole(role, older)
}

// ofThing reports whether a thing of the speakers' that a clause names is what an older one is about.
func ofThing(name, clause, older string) bool {
	return slices.Equal(kin(clause, ""), kin(upTo(name, older), "")) && isHead(name, older)
}

// namesMembership reports whether name is a group, an employer or a course that the older clause says somebody belongs to. Leaving
// anything else ("left the house") ends no fact.
func namesMembership(name, clause, older string) bool {
	return belongs.MatchString(older) && ofThing(name, clause, older)
}

var belongs = regexp.MustCompile(`(?i)\b(?:works?|member|belongs?|sings?|part of|studies|employed|job|volunteers?|(?:plays?|is|am) (?:\p{L}+ )?in an?)\b`)

// upTo is a clause up to the last word of a name: who comes after it is with the speaker, who comes before is whom it is about.
func upTo(name, clause string) string {
	last := name[strings.LastIndex(name, " ")+1:]
	if i := strings.Index(strings.ToLower(clause), strings.ToLower(last)); i >= 0 && i+len(last) <= len(clause) {
		return clause[:i+len(last)]
	}
	return clause
}

// ofHolder reports whether who a clause names holds a role in an older one.
func ofHolder(name, clause, older string) bool {
	was := kin(older, "")
	return isHolder(name, older) && !slices.ContainsFunc(kin(clause, ""), func(who string) bool { return !slices.Contains(was, who) })
}

// koWhen are Korean words of when, which stand between a name and what is said of it.
var koWhen = regexp.MustCompile(
	`(^|\s)(?:(?:이제|이젠|결국|아예|지난달에|지난주에|저번 ?달에|저번 ?주에|작년에|올해|올해는|얼마 전에|며칠 전에|최근에|드디어|이미|벌써|이번에|이번 달에)\s)+`,
)

// plainClauses are the clauses of a sentence; in Japanese and Chinese a space ends one too.
func plainClauses(sentence string) []string {
	var out []string
	for _, clause := range overClauseEnd.Split(sentence, -1) {
		if hasClingingScript(clause) && !hasHangul(clause) {
			out = append(out, strings.Fields(clause)...)
			continue
		}
		out = append(out, strings.TrimSpace(clause))
	}
	return out
}

// overClauseEnd is where a clause ends, after which something else is said.
var overClauseEnd = regexp.MustCompile(
	`(?i)[;~、，；：。！]+|[,:.!]+(?:\s|$)|\s[-–—]+\s|\s(?:but|and|so|though|although|because|since|while|which|then|pero|aunque|porque|así que|y)\s` +
		`|(?:지만|는데|은데|하고|이고|시고)\s|けど|けれど|ので|から、|て、|但是|因为|因為|所以`,
)

// planned is what somebody only thinks of doing, what was nearly so, and what is denied.
var planned = regexp.MustCompile(
	`(?i)\b(?:want|wanna|plan\w*|think\w*|consider\w*|going to|gonna|will|should|might|may|hope|hoping|would|could|next (?:year|month)|some ?day|soon|about to|need to|have to|almost|nearly|ought|can't|cannot|never|not|didn't|won't|haven't|hasn't|isn't|wasn't|feel like|tempted|quiero|querría|quisiera|pienso|pensando|voy a (?:dejar|vender)|va a|vamos a (?:dejar|vender)|van a|debería|tal vez|a lo mejor|a punto|no (?:he|hemos|ha|dej\p{L}+|vend\p{L}+|me|se|lo|la))(?:[^\p{L}]|$)` +
		`|싶|려고|려는|할까|을까|예정|계획|고민|생각|말까|지 않|안 그만|못 그만` +
		`|たい|つもり|予定|(?:よ|こ|ろ|そ)うか|考え|迷って|ない|そう$` +
		`|想|打算|准备|準備|计划|考虑|要不要|可能|差点|没|不想|别`,
)

// ofAWhile is what lasts a day or shorter, or is about one part or piece.
var ofAWhile = regexp.MustCompile(
	`(?i)\b(?:today|tonight|tomorrow|this (?:week|weekend|morning|evening|afternoon)|right now|at the moment|on (?:\w+days|weekends)|every|during|until|battery|last night's|episode|season|chapter|a bit|bit of|early|late|for (?:now|lunch|dinner|breakfast|a (?:bit|while|week|month))|at (?:home|the door|the)|on the (?:bus|train|table)|in your|at your|hoy|mañana|ayer|anoche|en (?:tu|su|casa|el coche)|un rato|esta semana|tarde|temprano|por (?:el puente|vacaciones|obras|fiestas))(?:[^\p{L}]|$)|오늘|어제|내일|잠깐|이번 주|今日|昨日|明日|一旦|ちょっと|今天|昨天|明天|暂时|这次|一会`,
)

// overPattern is a way to say that something is over: its name is the first group.
type overPattern struct {
	pattern *regexp.Regexp
	of      func(name, clause, older string) bool // whether what is named in the clause is what an older one is about
}

// What may stand before and after the name of a thing that is gone.
const (
	enWhen  = `(?:finally |sadly |officially |just |recently |already |has |have |had |'s |is |are |was |were |got |get )*`
	enThing = `((?:\p{L}[\p{L}\d'.&-]*|\d+)(?: (?:\p{L}[\p{L}\d'.&-]*|\d+)){0,5}?)`
	enWho   = `^` + enOpen + `(?:(?:i|we|i've|we've|i'm|we're|(?:the|our|my) team)(?: have| had| has| am| are)? )?(?:(?:\p{L}+ly|just|already) )*`
	esThing = `((?:\p{L}+ ){0,3}?\p{L}+)`
	koThing = `((?:[\p{Hangul}\p{Latin}\d]+ )?[\p{Hangul}\p{Latin}\d]{1,12}?)(?:은|는|이|가|을|를|도)? ?`
	jaThing = `([\p{Han}\p{Katakana}ー\p{Latin}\d]+(?:の[\p{Han}\p{Katakana}ー\p{Latin}\d]+)?)`
	zhThing = `([\p{Han}\p{Latin}\d]{2,8}?)`
)

var overPatterns = []overPattern{
	// A thing that is gone: also a band, a shop, a course.
	{regexp.MustCompile(`(?i)^` + enOpen + enThing + ` ` + enWhen + `(?:died on (?:me|us|\p{L}+-?\d+)|finally died|died for good|died$|gave up the ghost|bit the dust|kicked the bucket|passed away|broke up|split up|folded|shut down|closed (?:down|for good)|went under|is over|are over|'s over|is history|gone for good|is no more|got totall?ed|was totall?ed|is totall?ed|fell apart|got cancell?ed|was cancell?ed|ended|was sold|got sold|got stolen|was stolen)\b`), ofThing},
	{regexp.MustCompile(`(?i)` + enWho + `(?:sold|got rid of|gave away|scrapped|junked|trashed|ditched|dropped|quit|cancell?ed|gave up|given up|stopped|retired from|graduated from|resigned from|resigned as|stepped down (?:as|from)|stepped back from|off|done with|no longer (?:do|use|take|play|go to|teach|work|run|own|have|attend|train for|study|drive)|moved off|moved away from|walked away from|dropped out of|replaced|outgrew|swapped out|pulled out of|bailed on)(?: of)? ` + enThing + `(?:$| (?:last|this|in|on|after|for|as|btw|because|a (?:week|month|year)|years?|weeks?|months?|altogether|completely|entirely|already|too|to|with|back|now)\b| \p{L}+day)`), ofThing},
	{regexp.MustCompile(`(?i)` + enWho + `(?:left|quit) ` + enThing + `(?:$| (?:last|this|after|because|a (?:week|month|year)|years?|weeks?|months?|for good|already|in (?:january|february|march|april|may|june|july|august|september|october|november|december|(?:19|20)\d\d))\b)`), namesMembership},
	{regexp.MustCompile(`(?i)^(?:no more|goodbye|bye bye|rip) ` + enThing + `(?: for (?:me|us)| now| anymore)?$`), ofThing},
	{regexp.MustCompile(`(?i)` + enWho + `(?:don't|do not) (?:do|use|take|play|go to|teach|run|own|have|attend|train for|study|drive) ` + enThing + ` any ?more`), ofThing},
	{regexp.MustCompile(`(?i)(?:^|[^\p{L}])(?:dej[ée]|dejamos|he dejado|hemos dejado|vendí|vendimos|he vendido|hemos vendido|abandoné|he abandonado|me borré de|me he borrado de|me di de baja de|me he dado de baja de|cancelé|he cancelado|tiré|regalé|he regalado|ya no (?:voy a|uso|hago|toco|juego a|tomo|estudio|practico|tengo|soy|doy|llevo|compro en|entreno|trabajo de|conduzco))(?: de (?:ser|ir a|usar|hacer|tocar|jugar a|tomar|estudiar|dar|practicar|llevar)?)? ` + esThing + `(?:$| (?:por|porque|desde|hace|el|este|la semana|con|para|del todo)(?:\s|$))`), ofThing},
	{regexp.MustCompile(`(?i)^(?:por cierto |al final |bueno |que )*` + esThing + ` (?:por fin |ya |al final )*(?:se (?:murió|ha muerto|estropeó del todo|acabó|ha acabado|disolvió|ha disuelto|vendió)|murió|ha muerto|cerró|ha cerrado|palmó|la palmó|lo dejé|la dejé|lo he dejado|la he dejado|lo vendí|la vendí)(?:[^\p{L}]|$)`), ofThing},
	{regexp.MustCompile(koThing + `(?:그만뒀|그만둔|그만두었|관뒀|접었|끊었|때려치|때려쳤|포기했|해지했|팔았|처분했|처분하|폐차|없앴|탈퇴했|해체했|문 ?닫았|폐업했|무지개다리|고장나서|고장 ?나서|하차했|내려놨)`), ofThing},
	{regexp.MustCompile(jaThing + `(?:は|を|が|も)(?:もう|結局|先月|先週|去年|今年|今年度|来月|ついに|で|から)*(?:やめた|やめました|やめて|止めた|辞めた|辞めました|辞めて|卒業した|卒業しました|外れた|外れる|外れました|降りた|降りました|手放した|手放し|手放して|売った|売って|売りました|廃車|解約し|引退した|諦めた|諦めて|諦めました|閉店し|つぶれた|潰れた|解散し|退会し|亡くな)`), ofThing},
	{regexp.MustCompile(`^(?:我们?的?|咱们?的?|最近|上周|上个月|去年|已经|终于|那辆|这辆|那个|这个|老)*` + zhThing + `(?:我)?(?:已经|终于|上周|上个月|彻底|早就|都)*(?:停了|停掉了|报废了?|退了|辞了|辞掉了|卖了|卖掉了|丢了|倒闭了|关门了|解散了|结束了|放弃了|戒了|不(?:学|练|打|做|当|跑|上|去|干|养|开|用|弹|画|喝|吃|跳|游|踢|教|订|搞|玩)了)`), ofThing},
	{regexp.MustCompile(`(?:停了|放弃了|戒了|卖了|卖掉了|辞了|辞掉了|退出了|处理掉了|退了|不再(?:学|练|打|做|当|跑|上|去|干|养|开|用|弹|画|喝|吃|跳|游|踢|教|订|搞|玩))` + zhThing + `了?$`), ofThing},
	// Who does not hold a role any more.
	{regexp.MustCompile(`(?i)^` + enOpen + enThing + ` ` + enWhen + `(?:(?:retired|retiring|resigned|stepped down|got fired|fired|laid off|let go(?:$| (?:last|this|in|from|by))|transferred|replaced)\b|moved away\b|quit$|(?:left|leaving|quit) (?:the (?:company|practice|firm|team|business|school|clinic|band|club|job)|us|last (?:week|month|year|spring|summer|autumn|fall|winter)|for (?:good|another|a (?:new|different|better)))\b)`), ofHolder},
	{regexp.MustCompile(`(?i)^(?:por cierto |al final |bueno )*` + esThing + ` (?:ya |por fin )*(?:(?:se (?:jubiló|ha jubilado|jubila)|dimitió|ha dimitido|dejó el (?:cargo|puesto|trabajo))(?:[^\p{L}]|$)|se (?:fue|ha ido|va) (?:de la (?:empresa|clínica|consulta|oficina|escuela)|a otr[oa]|a trabajar|el mes|el año|hace)(?:[^\p{L}]|$))`), ofHolder},
	{regexp.MustCompile(`([\p{Hangul}]{1,4}(?: [\p{Hangul}]{2,5}?)?)(?:이|가|은|는)? (?:퇴사|그만두|그만뒀|은퇴|나가시|나가셨|나갔|이직|전근|발령|옮기|옮겼|정년)`), ofHolder},
	{regexp.MustCompile(jaThing + `(?:さん)?(?:は|が)(?:先月|今月|来月|今年|急に|今年度で|末で|で)*(?:辞め|退職|異動|定年|引退|転勤|辞任|外れ)`), ofHolder},
	{regexp.MustCompile(`^(?:可惜|听说|我们|上个月|上周|最近)*(\p{Han}{2,5}?)(?:这个月|月底|下个月|上个月|上周|年底|已经|刚|要|就)*(?:退休|调走|调去|离职|辞职|走了|被调|卸任|跳槽)`), ofHolder},
}

// enOpen is what may stand before a thing that is gone.
const enOpen = `(?:ps |so |well |btw |oh |ok |yeah |anyway |update |and |sad news |also )*`

// thingIn is a name without what stands before it, and without the verb of what is not done any more.
func thingIn(name string) string {
	name = strings.TrimSpace(name)
	name = determiners.ReplaceAllString(name, "")
	if first, rest, ok := strings.Cut(name, " "); ok && strings.HasSuffix(first, "ing") && len(first) > 5 {
		name = determiners.ReplaceAllString(rest, "")
	}
	name = strings.TrimSuffix(name, "'s")
	return strings.TrimSpace(name)
}

// kin are the people of whom a clause speaks, whoever holds the role and pronouns left out.
func kin(clause, role string) []string {
	return slices.DeleteFunc(peopleIn(clause), func(who string) bool {
		return role != "" && (sameRoot(who, fold(role)) || sameHolder(who, fold(role))) || slices.Contains(pronouns, who)
	})
}

// isHead reports whether a name is that of the thing which a statement is about: its subject, or its object with nothing but where,
// when and what for after it.
func isHead(name, clause string) bool {
	if hasClingingScript(clause) {
		return isClingingHead(name, clause)
	}
	want, have := words(name), words(clause)
	if len(want) > 1 && general().Has(want[len(want)-1]) {
		want = want[:len(want)-1]
	}
	if len(want) == 0 || len(squeeze(name)) < 3 || !slices.ContainsFunc(want, func(w string) bool { return !vagueThings().Has(w) }) {
		return false
	}
	for at := 0; at+len(want) <= len(have); at++ {
		if !slices.EqualFunc(have[at:at+len(want)], want, sameThing) && !(len(want) == 1 && sameDoing(have[at], want[0])) || at > 0 && notOwned().Has(have[at-1]) {
			continue
		}
		end := at + len(want)
		for end < len(have) && general().Has(have[end]) {
			end++
		}
		if end == len(have) || mayFollow[have[end]] || after().Has(have[end]) || bareNumber.MatchString(have[end]) {
			return true
		}
	}
	return false
}

// sameThing reports whether two words differ in number at most, or in the ending of a Spanish verb's noun.
func sameThing(a, b string) bool {
	return strings.TrimSuffix(a, "s") == strings.TrimSuffix(b, "s")
}

// sameDoing reports whether a word is of the verb that another one is the form in -ing of.
func sameDoing(word, doing string) bool {
	return strings.HasSuffix(doing, "ing") && sameRoot(word, doing)
}

func wordSet(list string) map[string]bool {
	m := map[string]bool{}
	for _, w := range words(list) {
		m[w] = true
	}
	return m
}

// setOf reads a list of all languages as a set, folded as statements are.
func setOf(list languagedata.List) func() languagedata.Set {
	return sync.OnceValue(func() languagedata.Set {
		return languagedata.SetOf(words(strings.Join(languagedata.AllWords(list), " ")))
	})
}

var (
	general       = setOf(languagedata.GeneralAfter)
	after         = setOf(languagedata.AfterThings)
	notOwned      = setOf(languagedata.NotOwned)
	vagueThings   = setOf(languagedata.VagueThings)
	manyHeld      = setOf(languagedata.ManyHeld)
	koBesideTopic = setOf(languagedata.BesideTopic)
	koRoleEnds    = setOf(languagedata.RoleEnds)
	roleVerbs     = setOf(languagedata.RoleVerbs)
)

// isClingingHead is isHead for Korean, Japanese and Chinese.
func isClingingHead(name, clause string) bool {
	if utf8.RuneCountInString(squeeze(name)) < 2 {
		return false
	}
	if hasHangul(clause) {
		want, have := words(name), words(clause)
		if len(want) > 1 && koBesideTopic().Has(want[0]) {
			want = want[1:]
		}
		return len(want) > 0 && !slices.ContainsFunc(want, func(w string) bool {
			w = stem(w)
			return koBesideTopic().Has(w) || !slices.ContainsFunc(have, func(o string) bool { return startsLike(o, w) })
		})
	}
	if hanUntold.MatchString(name) {
		return false
	}
	rest := clause
	for {
		i := strings.Index(fold(rest), fold(name))
		if i < 0 || i+len(name) > len(rest) {
			return false
		}
		before, _ := utf8.DecodeLastRuneInString(rest[:i])
		next, _ := utf8.DecodeRuneInString(rest[i+len(name):])
		cut := unicode.In(before, unicode.Katakana) && unicode.In(firstRune(name), unicode.Katakana)
		part := next == 'の' || next == '的' || unicode.In(next, unicode.Han, unicode.Katakana) || next == 'ー'
		named := strings.HasSuffix(rest[:i], "叫")
		if named {
			return false
		}
		if !cut && !part || !cut && hanVerbs.MatchString(rest[i+len(name):]) {
			return true
		}
		rest = rest[i+len(name):]
	}
}

func firstRune(s string) rune {
	r, _ := utf8.DecodeRuneInString(s)
	return r
}

// startsLike reports whether a Korean word is another one with what clings to it: a particle, a verb's ending.
func startsLike(word, start string) bool {
	return stem(word) == start || utf8.RuneCountInString(start) >= 2 && strings.HasPrefix(word, start)
}

var (
	hanUntold = regexp.MustCompile(`^(?:これ|それ|あれ|私|僕|俺|全部|仕事|会社|今|今日|这个|那个|什么|工作|公司|东西|我们?|你们?|他们?|大家|自己|今天|明天|现在|已经|最近)$`)
	hanVerbs  = regexp.MustCompile(`^(?:習|通|住|働|飼|乗|使|做|打|练|学了|学|开|已|每|去|上|三|两|一|四|五|六|七|很|特别)`)
)

// isHolder reports whether a name is that of who holds a role in a statement: "my dentist is Dr Amari", "园长姓徐".
func isHolder(name, clause string) bool {
	switch {
	case hasHangul(clause):
		m := koHolder.FindStringSubmatch(clause)
		return m != nil && len([]rune(squeeze(name))) >= 2 && strings.HasPrefix(squeeze(m[2]), stem(squeeze(name)))
	case hasClingingScript(clause):
		for _, p := range []*regexp.Regexp{zhHolder, jaHolder} {
			m := p.FindStringSubmatch(clause)
			if m == nil {
				continue
			}
			if name == m[2] || name == m[2]+m[1] || strings.HasPrefix(name, m[2]) && strings.HasSuffix(m[1], strings.TrimPrefix(name, m[2])) {
				return true
			}
		}
		return false
	}
	m := holder.FindStringSubmatch(clause)
	if m == nil || manyHeld().Has(fold(m[1])) {
		return false
	}
	want, have := words(name), words(determiners.ReplaceAllString(m[2], ""))
	if len(want) == 0 || len(have) < len(want) || !slices.Equal(have[:len(want)], want) {
		return false
	}
	return len(have) == len(want) || mayFollow[have[len(want)]] || len(have) == len(want)+1
}

// Statements of who holds a role: the role in the first group, its holder in the second.
var (
	holder = regexp.MustCompile(
		`(?i)^(?:(?:my|our|the|su|mi|nuestr[oa]|el|la) )?(\p{L}+(?: \p{L}+)?)(?:'s name)? (?:is called|is named|is|'s called|se llama|es) (.+)$`,
	)
	koHolder = regexp.MustCompile(`(?:^|\s)([\p{Hangul}]{2,6}?)(?:님)?(?:은|는|이|가)? (?:이름은 |성함은 )?(\S+(?: \S+)?)(?:이야|야|이다|이에요|예요|입니다|다|님이야|님이다)$`)
	jaHolder = regexp.MustCompile(`^(?:うちの|私の|僕の|今の|子どもの|息子の|娘の)?([\p{Han}\p{Katakana}ー]{2,6})(?:の先生|の名前)?は([\p{Han}\p{Katakana}]{1,6}?)(?:さん)?(?:です|だ|といいます|って|$)`)
	zhHolder = regexp.MustCompile(`^(?:我们?的?|咱们?的?)?(?:现在的?)?(\p{Han}{2,4}?)(?:姓|是|叫)(\p{Han}{1,4})`)
)

// roleGiven is what a clause says has another holder by now; "" for nothing.
func roleGiven(clause string) string {
	for _, p := range roleChanges {
		if m := p.FindStringSubmatch(clause); m != nil && !manyHeld().Has(fold(m[1])) && !vagueThings().Has(fold(m[1])) {
			return m[1]
		}
	}
	return ""
}

// roleChanges name, in their group, what has another holder or is another one by now.
var roleChanges = []*regexp.Regexp{
	regexp.MustCompile(`(?i)(?:^|[^\p{L}])(?:my|our|the) new (\p{L}+)(?: at \p{L}+)?(?:'s name)? (?:is|'s|will be)\s`),
	regexp.MustCompile(`(?i)^` + enOpen + `(?:(?:i|we)(?:'ve| have)? )?(?:(?:just|finally|recently) )?(?:changed|switched) (\p{L}+?)s?(?:$| (?:last|this|to|because|again|recently|a)\b)`),
	regexp.MustCompile(`(?i)(?:^|[^\p{L}])(?:i|we)(?:'ve| have)?(?: just| finally| recently| now)? (?:got|found|have|bought) a (?:new|different) (\p{L}+)(?:$| (?:now|last|this|called|named|who)\b)`),
	regexp.MustCompile(`(?i)(?:^|[^\p{L}])switched to a (?:new |different |cheaper |better |closer )?(\p{L}+)(?:$| (?:near|in|at|on|who|that|called)\b)`),
	regexp.MustCompile(`(?i) is (?:my|our) (\p{L}+) now$`),
	regexp.MustCompile(`(?i)(?:^|[^\p{L}])(?:cambié|cambiamos|he cambiado|hemos cambiado) de (\p{L}+)(?:$|[^\p{L}])`),
	regexp.MustCompile(`(?i)(?:^|[^\p{L}])ahora (?:mi|nuestr[oa]|el|la) (\p{L}+) (?:es|se llama)\s`),
	regexp.MustCompile(`(?i)(?:^|[^\p{L}])(?:mi|nuestr[oa]|el|la) nuev[oa] (\p{L}+) (?:es|se llama)\s`),
	regexp.MustCompile(`(?:^|우리 ?|우리 ?팀 |저희 ?|그래서 )새(?:로운|로 온)? ([\p{Hangul}]{2,6}?)(?:님)?(?:은|는|이|가) `),
	regexp.MustCompile(`이제 .*(?:이|가) ([\p{Hangul}]{2,6}?)(?:님)?(?:이야|야|이에요|예요|입니다|이다)$`),
	regexp.MustCompile(`(?:^|うちの|私の|今の|今度の|、)新しい([\p{Han}\p{Katakana}ー]{2,6})(?:の先生)?[はが]`),
	regexp.MustCompile(`(?:^|[，\s]|我们?\p{Han}?的?|咱们?\p{Han}?的?)新(?:的)?(\p{Han}{2,3}?)(?:姓|是|叫)`),
	regexp.MustCompile(`^(?:我们?|已经|刚|终于|最近|上周|上个月)*换了?(?:个|一个|新)(?:新的?)?(\p{Han}{2,3})了?$`),
}

// givesRole reports whether a statement says who or what holds a role of the speaker's.
func givesRole(role, clause string) bool {
	role = fold(role)
	switch {
	case hasHangul(clause):
		return slices.ContainsFunc(words(clause), func(w string) bool {
			rest, ok := strings.CutPrefix(strings.TrimPrefix(strings.TrimPrefix(w, "우리팀"), "우리"), role)
			return ok && koRoleEnds().Has(strings.TrimPrefix(rest, "님"))
		})
	case hasClingingScript(clause):
		i := strings.Index(clause, role)
		if i < 0 {
			return false
		}
		return hanRoleBefore.MatchString(clause[:i]) && hanRoleAfter.MatchString(clause[i+len(role):])
	}
	ws := words(clause)
	for i, w := range ws {
		if !sameThing(w, role) && !sameHolder(w, role) {
			continue
		}
		before := i == 0 || i == 1 && (ownerWords[ws[0]] || ws[0] == "the" || ws[0] == "su" || ws[0] == "de" || ws[0] == "para" || ws[0] == "del")
		follows := i+1 < len(ws) && roleVerbs().Has(ws[i+1])
		asVerb := i == 1 && (ws[0] == "i" || ws[0] == "we") || i == 0 && strings.HasSuffix(w, "s") && !strings.HasSuffix(role, "s")
		if before && follows || asVerb || i == 1 && (ws[0] == "de" || ws[0] == "para") {
			return true
		}
	}
	return false
}

// sameHolder reports whether two Spanish roles differ in gender at most.
func sameHolder(a, b string) bool {
	return strings.HasSuffix(a, "o") && strings.TrimSuffix(a, "o") == strings.TrimSuffix(b, "a") ||
		strings.HasSuffix(a, "a") && strings.TrimSuffix(a, "a") == strings.TrimRight(b, "oe") ||
		strings.HasSuffix(a, "e") && strings.TrimSuffix(a, "e") == strings.TrimSuffix(b, "a")
}

var (
	hanRoleBefore = regexp.MustCompile(`^(?:我们?的?|咱们?的?|うちの|私の|僕の|今の|现在的?|子どもの|息子の|娘の)*$`)
	hanRoleAfter  = regexp.MustCompile(`^(?:の先生|の名前)?(?:姓|是|叫|は|が)`)
)

// MayEnd reports whether a sentence says of anything by name that it is over or has another holder.
func MayEnd(sentence string) bool {
	return slices.ContainsFunc(plainClauses(plainQuotes.Replace(sentence)), func(clause string) bool {
		return roleGiven(clause) != "" || givenUp.MatchString(clause) || slices.ContainsFunc(overPatterns, func(o overPattern) bool { return o.pattern.MatchString(clause) })
	})
}

// TakesPlace reports whether a clause, beside one that ends something, says what is there in its place.
func TakesPlace(clause string) bool {
	return takingPlace.MatchString(clause) && Asserts(clause) && !planned.MatchString(clause)
}

var takingPlace = regexp.MustCompile(
	`(?i)\b(?:now|instead|new|bought|got an?|picked up|ended up with|switched|moved to|doing|went with|from now on|these days|ahora|nuev[oa]|en su lugar|he pillado|hemos pillado|comprado|compré|compramos|cogido|pasado a|voy en)(?:[^\p{L}]|$)` +
		`|이제|지금은|새로|새 |으로 ?바꿨|로 ?바꿨|샀어|샀다|샀습|계약했|갈아탔|今は|新しい|にした|にしました|になった|になりました|に変え|買った|換了|换了|换成|换的|改(?:成|为|用|学|练|打|做|游|跑|去|养|开|在|当)|现在|新|买了`,
)
