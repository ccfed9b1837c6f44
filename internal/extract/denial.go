package extract

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	regexp "github.com/stratamem/strata/internal/lazyregexp"
	"github.com/stratamem/strata/internal/memory"
)

// checkEnding: a fact is taken back only by a statement that says so of this fact. The sentences are all of the line that
// the quote touches, since a quote may leave out who is meant, or that it is a question. One clause must both deny or end
// something and name what the fact is about; it must not be about somebody whom the fact does not name.
func checkEnding(sentences []string, f memory.Fact) RejectReason {
	reason := RejectNoEnding
	for _, sentence := range sentences {
		if saysOver(sentence, f) {
			return ""
		}
		sentence = strings.ReplaceAll(sentence, "’", "'")
		if unasserted.MatchString(sentence) {
			continue
		}
		for _, clause := range clauseEnd.Split(sentence, -1) {
			if !endsSomething(clause, f) || partial.MatchString(clause) || goesOn.MatchString(clause) || !concerns(clause, f) {
				continue
			}
			if meansOthers(clause, f) || ofSpeakerOnly(clause, f) {
				reason = RejectSubject
				continue
			}
			return ""
		}
	}
	return reason
}

// unasserted matches sentences that state nothing: questions, suppositions, wishes, what others say, and what is quoted.
var unasserted = regexp.MustCompile(`(?i)[?？¿]|["“”«»「」『』]|(?:^|\s)/s(?:\W|$)|😂|🤣|🙃|😜|;\)|ㅋㅋ|ㅎㅎ` +
	`|\b(?:if|unless|whether|would|could|might|maybe|perhaps|probably|wish|imagine|suppose|supposedly|pretend\w*|hypothetically|let's say|as if|jk|kidding|joking|joke|lol|lmao|rofl|sarcasm|` +
	`says?|said|told|asked|claims?|thinks?|thought|heard|lyrics?|character|role[- ]?play|story|poem|translate|example|almost|nearly|i'd|we'd|` +
	`used to (?:think|believe|assume|say|joke|wonder|wish|dream|hope|want|tell|imagine))\b` +
	`|(?:^|[^\p{L}])(?:si|ojalá|quizás?|tal vez|acaso|podría\p{L}*|sería|dice[ns]?|dijo|dijeron|según|imagina\p{L}*|casi)(?:[^\p{L}]|$)` +
	`|만약|만일|라면(?:\s|[,.]|$)|다면|(?:으|하|되|살|가|오|먹|없|있|않)면(?:\s|[,.]|$)|(?:까|나|니|냐|래)요?[.!~]*\s*$|것 같|거 같|아마|혹시|어쩌면|농담|장난|[다라자냐]고 (?:했|하|말|그랬|들었)|(?:대요|래요|더라)[.!~]*\s*$|뻔했` +
	`|もし|(?:た|だ)ら[、,]|なら[、,]|かも|かな|でしょうか|ですか|ますか|って言|と言|らしい|そうです。?$|冗談` +
	`|如果|要是|假如|假设|假設|可能|也许|也許|或许|或許|大概|吗|嗎|呢[。.!]?\s*$|听说|聽說|据说|開玩笑|开玩笑|差点|差點|[说說](?:他|她|我|你)`)

// clauseEnd is where a clause ends.
var clauseEnd = regexp.MustCompile(
	`(?i)[,;:、，；：]|\s[-–—]+\s|\s(?:but|and|so|though|although|because|since|while|which|pero|aunque|porque|y)\s|(?:지만|는데|은데|인데|아서|어서|라서|으니까|니까|하고|이고)\s|けど|けれど|が、|ので|から、|但是|但|因为|因為|所以`,
)

// denying matches what denies something, or says that it is over.
var denying = regexp.MustCompile(
	`(?i)n't\b|\b(?:not|never|no longer|no more|any ?more|any longer|stopped|quit|ceased|gave up|given up|giving up|dropped|cancell?ed|called off|left|leaving|resigned|retired|fired|laid off|lost|ended|is over|are over|broke up|split up|divorced?|separated|widowed|sold|gave away|died|passed away|moved (?:out|away|on)|switched (?:away )?from|migrated (?:away )?from|done with|finished|got rid of|used to|former(?:ly)?|wasn't|outgrew|recovered|cured|dont|doesnt|isnt|im not)\b` +
		`|않|(?:^|\s)(?:안|못)\s|아니|아닌|아녜|없|그만|끊|관뒀|관두|퇴사|이직|이혼|헤어|파혼|취소|포기|접었|팔았|죽었|떠났|나왔|해고|은퇴|더 ?이상|더는|나았|완치|바꿨|갈아탔` +
		`|ない|なく|なかった|ません|ぬ。|やめ|辞め|止め|別れ|離婚|退職|転職|解約|諦め|あきらめ|売っ|亡くな|死ん|終わ|卒業|引っ越` +
		`|不|没|沒|別再|别再|离婚|離婚|辞职|辭職|离职|離職|分手|放弃|放棄|戒了|停止|取消|卖了|賣了|去世|退休|搬走|搬离` +
		`|\b(?:no|nunca|dej[éeoa]|dejado|divorci\p{L}*|renunci\p{L}*|abandon\p{L}*|cancel\p{L}*|vend[íi]|murió|falleci\p{L}*|romp[íi]\p{L}*|separad[oa]s?|jubil\p{L}*|despidieron|mudé)(?:[^\p{L}]|$)`,
)

// partial matches what denies some of a thing, or for a while: it does not end the whole.
var partial = regexp.MustCompile(
	`(?i)\b(?:today|tonight|tomorrow|this (?:week|weekend|morning|evening|afternoon)|right now|at the moment|on (?:\w+days?|weekends)|enough|every|when|whenever|during|until|yet|as much|that much|have to|need to|supposed to|mean that)\b` +
		`|(?:\bnot|n't) (?:just|only|merely|always|usually|often|even|very|too|so|sure|exactly|quite|that|as|all)\b` +
		`|오늘|지금은|내일|이번 주|아직|별로|항상|매일|만큼|뿐만|今日|明日|まだ|いつも|だけ|毎日|あまり|今天|明天|还没|還沒|总是|總是|每天|不只|不仅|不太|(?:^|[^\p{L}])(?:por (?:la huelga|la lluvia|el puente)|hoy|mañana|todavía|aún|siempre|solo|sólo|muy|tan|suficiente(?:mente)?)(?:[^\p{L}]|$)`,
)

// endsSomething reports whether a clause denies something or says that it is over. What is only dropped, left or lost may be a
// thing in a place, and who retires ends a job: these are read by the name of the thing, and of jobs.
func endsSomething(clause string, f memory.Fact) bool {
	return denying.MatchString(put.ReplaceAllString(clause, "")) || isOver(clause, f)
}

// put matches what is done with a thing as well as with an activity.
var put = regexp.MustCompile(`(?i)\b(?:(?:i|we)(?:'ve| have)? )?(?:dropped|left|leaving|lost|finished) (?:my|our|the|an?) \p{L}+|\b(?:retired|laid off)\b|(?:^|[^\p{L}])(?:se )?jubil\p{L}+|은퇴|引退|退休`)

// goesOn matches what denies that something ended.
var goesOn = regexp.MustCompile(
	`(?i)(?:n't|\bnever)(?: \p{L}+ly)? (?:quit|stop|stopped|give up|given up|drop|dropped|sell|sold|leave|left|cancel\w*)\b|\bnot (?:quitting|stopping|giving up|dropping|selling|leaving|cancell?ing)\b` +
		`|(?:^|[^\p{L}])no (?:he|hemos|lo|la|lo he|la he|voy a|pienso) ?(?:dej\p{L}+|vend\p{L}+|abandon\p{L}+)|(?:그만두|끊|팔|포기하|접)지 않|(?:안|못) (?:그만|끊|팔|접)` +
		`|(?:やめ|辞め|売っ|諦め)て(?:い)?(?:ない|ません)|没有?(?:停|辞|卖|放弃|退)|不会?(?:停|辞|卖|放弃)(?:的|$)`,
)

// ofSpeakerOnly reports whether a clause speaks of nobody but its speaker, and the fact is about somebody of theirs: who quits
// hockey does not end that a son plays it.
func ofSpeakerOnly(clause string, f memory.Fact) bool {
	if !firstPerson.MatchString(clause) || isOver(clause, f) || len(others.FindString(clause)) > 0 {
		return false
	}
	i := others.FindStringIndex(f.Text)
	return i != nil && len(strings.Fields(f.Text[:i[0]])) <= 1 && strings.TrimSpace(f.Text[i[0]:]) != "" && !sharesName(clause, f.Text)
}

// firstPerson begins a clause about its speaker.
var firstPerson = regexp.MustCompile(`(?i)^[\s]*(?:i|we|i'm|i've|yo|dej[ée]|he dejado|나는?|난|저는?|私は?|僕は?|俺は?|我)(?:[^\p{L}]|$)|^(?:我|私は|僕は)`)

// sharesName reports whether a clause names somebody whom a text names.
func sharesName(clause, s string) bool {
	return slices.ContainsFunc(strings.Fields(s), func(w string) bool {
		r, _ := utf8.DecodeRuneInString(w)
		return unicode.IsUpper(r) && len(others.FindString(w)) == 0 && slices.Contains(words(clause), strings.Join(words(w), ""))
	})
}

// others are people of whom somebody speaks.
var others = regexp.MustCompile(
	`(?i)\b(?:he|she|they|his|hers?|their|him|them|wife|husband|partner|girlfriend|boyfriend|son|daughter|kids?|child(?:ren)?|brother|sister|siblings?|mom|mum|mother|dad|father|parents?|grand\p{L}+|aunt|uncle|cousin|niece|nephew|friends?|boss|manager|colleagues?|co-?workers?|roommate|neighbou?rs?|people|somebody|someone|everyone|` +
		`esposa|esposo|marido|mujer|novi[oa]|hij[oa]s?|herman[oa]s?|madre|padre|mamá|papá|abuel[oa]s?|tí[oa]|prim[oa]s?|amig[oa]s?|jef[ea]|vecin[oa]s?|ella|ellos|ellas)(?:'s)?(?:[^\p{L}]|$)` +
		`|(?:^|\s)(?:친구|엄마|아빠|어머니|아버지|부모님|동생|언니|누나|형|오빠|아내|남편|와이프|아들|딸|팀장|동료|상사|남자친구|여자친구|남친|여친|할머니|할아버지|걔|그녀)` +
		`|友達|友人|母|父|親|兄|弟|姉|妹|妻|夫|息子|娘|彼女|彼氏|彼は|上司|同僚|祖父|祖母|朋友|妈妈|媽媽|爸爸|妈|爸|爷爷|奶奶|外公|外婆|女友|男友|孩子|父母|哥哥|弟弟|姐姐|妹妹|老婆|老公|妻子|丈夫|儿子|兒子|女儿|女兒|同事|老板|老闆|他|她`,
)

// spouses are those who part when somebody is not married any more.
const spouses = "wife husband partner girlfriend boyfriend esposa esposo marido mujer novio novia 아내 남편 와이프 남자친구 여자친구 남친 여친 妻 夫 彼女 彼氏 老婆 老公 妻子 丈夫 他 她"

// meansOthers reports whether a clause speaks of somebody whom the fact does not name, and who does not part in it.
func meansOthers(clause string, f memory.Fact) bool {
	about := fold(f.Subject + " " + f.Text)
	if isOver(clause, f) {
		about += " " + spouses
	}
	return slices.ContainsFunc(others.FindAllString(clause, -1), func(who string) bool {
		who = strings.TrimSuffix(strings.TrimFunc(fold(who), func(r rune) bool { return !unicode.IsLetter(r) }), "'s")
		return !strings.Contains(about, who)
	})
}

// over are properties that words end which share none with the fact: who divorces is not married.
var over = []struct{ fact, said *regexp.Regexp }{
	{
		regexp.MustCompile(
			`(?i)\b(?:married|engaged|husband|wife|spouse|fianc[ée]e?|marital|casad[oa]|espos[oa]|marido|prometid[oa])\b|marital_status|결혼|기혼|남편|아내|와이프|약혼|結婚|既婚|婚約|已婚|结婚|丈夫|妻|老公|老婆`,
		),
		regexp.MustCompile(
			`(?i)\b(?:divorced?|separated|split up|broke up|widowed|divorci\p{L}*|separ(?:é|amos|ad[oa]s?))(?:[^\p{L}]|$)|이혼|파혼|헤어|離婚|別れ|离婚|分手`,
		),
	},
	{
		regexp.MustCompile(`(?i)\b(?:girlfriend|boyfriend|partner|dating|relationship|novi[oa]|pareja)\b|여자친구|남자친구|여친|남친|애인|彼女|彼氏|恋人|女朋友|男朋友`),
		regexp.MustCompile(`(?i)\b(?:broke up|split up|separated|romp(?:í|imos)|separ(?:é|amos|ad[oa]s?))(?:[^\p{L}]|$)|헤어|別れ|分手`),
	},
	{
		regexp.MustCompile(
			`(?i)\b(?:works? (?:at|for|as|in)|job|employ\p{L}*|trabaja|emple\p{L}*)\b|employer|일한다|일하|다닌다|다니|근무|직장|働|勤め|勤務|仕事|工作|上班|任职`,
		),
		regexp.MustCompile(
			`(?i)\b(?:quit (?:my|the) job|resigned|left (?:my|the) (?:job|company)|lost my job|(?:got|was|been) (?:fired|laid off|let go)|retired|renuncié|me despidieron|dejé (?:mi|el) trabajo|me jubilé)(?:[^\p{L}]|$)|퇴사|이직|해고|은퇴|실직|회사를? 그만|辞め|退職|転職|クビ|辞职|辭職|离职|離職|失业|被裁|跳槽|退休`,
		),
	},
}

// isOver reports whether a clause says that what the fact is about is over, in words of its own.
func isOver(clause string, f memory.Fact) bool {
	for _, o := range over {
		if o.said.MatchString(clause) && (o.fact.MatchString(f.Text) || o.fact.MatchString(f.Attribute)) {
			return true
		}
	}
	return false
}

// concerns reports whether a clause is about what a fact says: it has all that tells the fact from others, or tells nothing
// that the fact does not, so that "not allergic to milk" is not about nuts.
func concerns(clause string, f memory.Fact) bool {
	if isOver(clause, f) {
		return true
	}
	if hasClingingScript(f.Text) && !hasHangul(f.Text) {
		return holdsRuns(clause, f.Text)
	}
	of, in := substance(f.Text), substance(clause)
	if len(of) == 0 || len(in) == 0 {
		return false
	}
	if hasHangul(clause) && within(of, in) && !within(in, of) && !koLesson[in[len(in)-1]] && !koVerb.MatchString(in[len(in)-1]) {
		return within(in[len(in)-1:], of) // what follows the name makes it another one
	}
	switch {
	case hasHangul(f.Text):
		return within(of, in) || within(in, of)
	case within(of, in) && (within(in, of) || hasAnyHead(clause, of)):
		return true
	}
	return within(in, of) && isAnyHead(in, f.Text)
}

// hasAnyHead reports whether one of the words is what a clause is about: neither part of another name ("harp concert") nor what
// only tells of another thing ("the dent on the Tacoma").
func hasAnyHead(clause string, ws []string) bool {
	have := words(clause)
	for i, w := range have {
		if !slices.ContainsFunc(ws, func(o string) bool { return sameRoot(w, o) }) || tellsOfAnother(have[:i]) {
			continue
		}
		end := i + 1
		for end < len(have) && (general[have[end]] || slices.ContainsFunc(ws, func(o string) bool { return sameRoot(have[end], o) })) {
			end++
		}
		if end == len(have) || plain[have[end]] || mayFollow[have[end]] || after[have[end]] || isEnding(have[end:]) {
			return true
		}
	}
	return false
}

// tellsOfAnother reports whether the words before a name make it say which one another thing is: "the dent on the".
func tellsOfAnother(before []string) bool {
	i := len(before) - 1
	for i >= 0 && articles[before[i]] {
		i--
	}
	return i >= 2 && tying[before[i]] && !standing[before[i-1]] && articles[before[i-2]]
}

// isEnding reports whether words begin with what ends the thing before them, and not another one after.
func isEnding(ws []string) bool {
	at := denying.FindStringIndex(strings.Join(ws, " "))
	return at != nil && at[0] == 0 && (len(ws) == 1 || !articles[ws[1]])
}

var (
	articles = wordSet(`the a an my our his her their this that el la los las un una mi mis nuestro nuestra su sus`)
	tying    = wordSet(`of on in from at for about de del`)
	standing = wordSet(`job membership subscription place spot post seat role lessons lesson classes class course account contract trabajo puesto clases clase curso cuenta suscripción`)
)

// koLesson are Korean words that may follow the name of what somebody does.
var koLesson = wordSet(`학원 수업 레슨 강의 모임 반 알바 일 공부 운동 클럽 동호회`)

// koVerb is a Korean verb that another one follows.
var koVerb = regexp.MustCompile(`(?:지|는|던|기|거|것|걸|고)$`)

// isAnyHead reports whether a text has one of the words as what it is about, and not as part of another name.
func isAnyHead(ws []string, s string) bool {
	have := words(s)
	return slices.ContainsFunc(ws, func(w string) bool {
		i := slices.IndexFunc(have, func(o string) bool { return sameRoot(w, o) })
		return i >= 0 && isHead(have[i], s)
	})
}

// plain are words that tell nothing about which fact is meant: of the person, of having and doing, and of ending.
var plain = func() map[string]bool {
	m := map[string]bool{}
	for _, w := range words(`a an the i im ive id we me my mine our us you your he she it its they them their this that these those there here
		am is are was were be been being do does did doing dont doesnt didnt isnt arent wasnt werent cant couldnt wont have has had having havent hasnt hadnt get gets got getting gotten
		to of in on at by for from with as and or but than into over about out up off away back around near after all before
		not no never any more anymore longer really actually still now currently also just at all used use uses using own owns owned lately recently finally
		live lives lived living move moves moved moving work works worked working go goes went going gone play plays played playing start started train training prepare preparing learn learns learning learned learnt study studying studied
		like likes liked love loves loved enjoy enjoys prefer prefers want wants wanted hate hates plan plans planning planned speak speaks drink drinks drinking eat eats eating drive drives
		stop stopped quit gave give given giving up drop dropped cancel cancelled canceled left leave leaving end ended turn turns turned out lost lose sold done finished ceased quitting
		name named called year years month months week weeks day days last ago yesterday since
		decided decide chose choose chosen switched switch
		yo me mi mis tu su sus el la los las un una unos unas lo de del al a en por para con y o que es soy son era está estoy fue ser
		ya no nunca más mas tengo tiene tener vivo vive trabajo trabaja gusta gustan encanta como come bebo bebe estudio estudia aprendo aprende dejé deje he ha estudiar estudiando aprender aprendiendo tocar toco toca jugar juego juega comer beber tomar tomo toma usar uso usa trabajar vivir practicar practico practica
		저 전 저는 나 난 나는 제 내 제가 내가 우리 저희 이제 이제는 더 이상 이상은 더는 안 못 안해요 요즘 지금 지금은 사실 그 알고 보니 더이상 그만 결국 원래 있다 없다 이다 가 이 을 를 은 는`) {
		m[w] = true
	}
	return m
}()

// substance is the words of a text that tell what it is about. The last word of a Korean text is what is said of it.
func substance(s string) []string {
	ws := words(s)
	if hasHangul(s) && len(ws) > 1 {
		ws = ws[:len(ws)-1]
	}
	var out []string
	for _, w := range ws {
		if w = stem(w); !plain[w] {
			out = append(out, w)
		}
	}
	return out
}

func within(some, all []string) bool {
	return !slices.ContainsFunc(some, func(w string) bool {
		return !slices.ContainsFunc(all, func(o string) bool { return sameRoot(w, o) })
	})
}

// sameRoot reports whether two words differ in their ending at most.
func sameRoot(a, b string) bool {
	if a == b {
		return true
	}
	common := 0
	for common < len(a) && common < len(b) && a[common] == b[common] {
		common++
	}
	for common > 0 && common < len(a) && !utf8.RuneStart(a[common]) {
		common--
	}
	if hasHangul(a) {
		const syllable = 3 // bytes
		return common >= 2*syllable
	}
	shorter, longer := min(len(a), len(b)), max(len(a), len(b))
	switch {
	case common == shorter:
		return common >= 3 && longer <= shorter+3
	case common >= 5:
		return common >= shorter-3
	}
	return common == 4 && common >= shorter-1 && longer <= common+3
}

// hanPlain are words of Japanese and Chinese that tell nothing about which fact is meant.
var hanPlain = regexp.MustCompile(
	`过敏|過敏|喜欢|喜歡|爱|愛|讨厌|討厭|住在|在|工作|上班|正在|学习|學習|是|有|会|對|对|想|要|喝|吃|用|我|现在|現在|已经|已經|不再|不|了|没有|沒有|没|的|私|僕|俺|住|勤|働|好|嫌|食|飲|習|勉強|使|持|飼`,
)

// holdsRuns reports whether a clause has nearly all characters in a row of each telling run of a text in a script without
// spaces.
func holdsRuns(clause, s string) bool {
	isRun := func(r rune) bool {
		return unicode.In(r, unicode.Han, unicode.Katakana) || r == 'ー' || unicode.Is(unicode.Latin, r) || unicode.IsDigit(r)
	}
	clause = squeeze(clause)
	runs := strings.FieldsFunc(hanPlain.ReplaceAllString(fold(s), " "), func(r rune) bool { return !isRun(r) })
	for _, run := range runs {
		if isPartOfAnother(run, clause) {
			return false
		}
		letters := []rune(run)
		held, pairs := 0, max(1, len(letters)-1)
		for i := range pairs {
			if strings.Contains(clause, string(letters[i:min(i+2, len(letters))])) {
				held++
			}
		}
		const most = 0.75
		if float64(held) < most*float64(pairs) {
			return false
		}
	}
	return len(runs) > 0
}

// isPartOfAnother reports whether a name stands in a clause only as part of a longer one, or as where another thing is.
func isPartOfAnother(name, clause string) bool {
	for rest := clause; ; {
		i := strings.Index(rest, name)
		if i < 0 {
			return rest != clause
		}
		rest = rest[i+len(name):]
		next, _ := utf8.DecodeRuneInString(rest)
		kana := unicode.Is(unicode.Katakana, next) || next == 'ー'
		if next != '的' && !(kana && unicode.Is(unicode.Katakana, firstRune(name))) {
			return false
		}
	}
}

// Ends reports whether a sentence says of the user that what the text of a fact says does not hold: what a retraction of it
// must quote. Of the fact its words count, with what was said.
func Ends(sentence string, f memory.Fact) bool { return checkEnding([]string{sentence}, f) == "" }

// Asserts reports whether a sentence states something, as far as its words tell: it neither asks nor supposes, wishes, jests,
// quotes, or tells what others say.
func Asserts(sentence string) bool {
	return !unasserted.MatchString(koRoots.ReplaceAllString(strings.ReplaceAll(sentence, "’", "'"), "$1난다"))
}

// koRoots are Korean verbs whose plain form ends the way questions do.
var koRoots = regexp.MustCompile(`(일어|만|끝|나타|태어|깨어)나(?:요)?[.!~]*\s*$`)

// Denies reports whether a sentence denies something, or says that it is over.
func Denies(sentence string) bool {
	return denying.MatchString(strings.ReplaceAll(sentence, "’", "'"))
}
