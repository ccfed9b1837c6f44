package builtin

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/stratamem/strata/internal/extract"
	"github.com/stratamem/strata/internal/factclassifier"
	regexp "github.com/stratamem/strata/internal/lazyregexp"
	"github.com/stratamem/strata/internal/promptinjection"
	"github.com/stratamem/strata/internal/text"
)

// How much less factclassifier.Keeping must say for a clause that chooses a tool, and how much more for one of nobody in
// particular, and for one whose object a rule refuses.
const ease, distance, doubt = 1.2, 2.2, 1.2

// Limits of a clause that is kept: shorter ones mean nothing on their own, longer ones are no clause.
const (
	minKeptWords = 3
	minKeptRunes = 4 // of scripts that do not set words apart
	maxKeptBytes = 300
)

// retelling is how a language's clauses are found and written in the third person.
type retelling struct {
	clauses *regexp.Regexp                     // where a sentence is cut
	opener  *regexp.Regexp                     // what may stand before a clause and says nothing of it
	person  func(clause string) (string, bool) // the clause in the third person; false where the grammar does not know how
	called  func(clause string) (string, bool) // the same of one that gives the speaker's name; nil where person does
	quoted  func(clause string) string         // the clause as a quotation
	// attributes name the property that a clause gives a value of which there is one at a time.
	attributes func() []named
	stop       string // what ends a sentence
	// worth is the logit of factclassifier.Keeping from which on a clause is kept. Chosen on LoCoMo 26, 30 and 41 for English, on dialogues
	// of the author's own for the others, for precision before recall.
	worth    float64
	personal *regexp.Regexp // whoever speaks, or somebody or something of theirs
	topic    *regexp.Regexp // a thing that has one value at a time, in its group, with its value
	speaks   *regexp.Regexp // a word of whoever speaks, or of somebody of theirs; nil where none need stand
	others   *regexp.Regexp // a clause about somebody else; nil where attributes show it
	plans    *regexp.Regexp // a day to come and what is then, or where one goes
	empty    *regexp.Regexp // what says nothing to whoever did not hear it
	names    bool           // its verbs name their subject, so that a clause may be a word shorter
}

// kept are the clauses of a sentence that are worth keeping, as facts: those that read like it, and those that put another
// value in place of what is known. Those that rules have read are left to them.
func (g *grammar) kept(sentence string, read []finding, spanish bool, replaces func(finding) bool) []finding {
	if len(sentence) > maxSentenceBytes || unreal.MatchString(sentence) {
		return nil
	}
	t := retellingOf(sentence, spanish)
	var out []finding
	for _, clause := range split(sentence, t.clauses) {
		clause = t.bare(clause)
		if g.former != nil && g.former.MatchString(clause) {
			once := t.find(clause)
			once.rule = personGrade
			out = append(out, once)
			continue
		}
		if len(read) > 0 && extract.Denies(clause) || covered(clause, read) {
			continue
		}
		if t.lasts(clause, g.refuses(clause)) || t.states(clause) && replaces(t.find(clause)) {
			out = append(out, t.find(clause))
		}
	}
	return out
}

// refuses reports whether a rule reads the clause but does not take its object for one of a lasting fact.
func (g *grammar) refuses(clause string) bool {
	return slices.ContainsFunc(g.rules(), func(r factRule) bool { return r.accepts != nil && r.pattern.MatchString(clause) })
}

// unreal marks sentences of which no part is stated: questions, suppositions, quotations, jests, and what happens in a story.
var unreal = regexp.MustCompile(
	`(?i)[?？¿"“”«»「」『』]|(?:^|\s)/s(?:\W|$)|😂|🤣|🙃|😜|;\)|ㅋㅋ|ㅎㅎ|\b(?:if|unless|imagine|suppose|pretend|hypothetically|yeah right|as if|jk|kidding|joking|joke|lol|lmao|rofl|translate|lyrics?|act as|in (?:the|this|my) (?:movie|book|song|game|film|story|dream))\b` +
		`|(?:^|[\s,])si\s|\b(?:ojalá|imagina\p{L}*|es broma|en (?:la|el|esta|este) (?:peli|película|novela|juego|libro))|만약|만일|라면[ ,]|농담|영화에서|소설에서|꿈에서|もし|冗談|映画の中|小説の中|夢の中|如果|要是|假如|假设|假装|开玩笑|電影里|电影里|小说里|梦里|游戏里`,
)

// bare is a clause without what stands before and after it.
func (t *retelling) bare(clause string) string {
	clause = strings.TrimLeft(strings.TrimSpace(clause), " ,;:–—-")
	clause = strings.TrimLeft(clause[len(t.opener.FindString(clause)):], " ,;:–—-")
	return strings.TrimRight(clause, " .,;:!~…。，、！；♡^-–—)")
}

// covered reports whether a rule has found in the clause what it states.
func covered(clause string, read []finding) bool {
	for _, f := range read {
		if f.op == opRetract {
			continue
		}
		if strings.Contains(f.quote, clause) || strings.Contains(clause, strings.TrimRight(f.quote, " .!~")) {
			return true
		}
	}
	return false
}

// lasts judges whether a clause is worth keeping. One that gives a property of the person its value is; one that chooses a tool
// needs less to be so; one of nobody in particular, or whose object a rule does not take for a lasting one, more.
func (t *retelling) lasts(clause string, refused bool) bool {
	if len(clause) > maxKeptBytes || !extract.Asserts(clause) || !t.means(clause) {
		return false
	}
	line, attribute := t.worth, t.attribute(clause)
	valued := attribute != "" && kindOfTool(attribute) == ""
	switch {
	case t.tooShort(clause) && !valued:
		return false
	case refused:
		line += doubt
	case valued:
		return true // what gives a property of the person its value lasts until another value does
	case t.plans.MatchString(clause) && !extract.Denies(clause):
		return true // who names the day means it
	case attribute != "":
		line -= ease
	case !t.personal.MatchString(clause):
		line += distance
	}
	return factclassifier.Keeping(clause) >= line
}

// states reports whether a clause may be a statement: of a clause's length, and neither asked nor supposed.
func (t *retelling) states(clause string) bool {
	return len(clause) <= maxKeptBytes && !t.tooShort(clause) && extract.Asserts(clause)
}

// means reports whether a clause says something to whoever did not hear what was said around it.
func (t *retelling) means(clause string) bool {
	if lately.MatchString(clause) {
		clause = strings.TrimPrefix(clause, "这")
	}
	return !timeAlone.MatchString(clause) && (!vague.MatchString(clause) || text.HasSpanishPerfect(clause)) && !moment.MatchString(clause) && !t.empty.MatchString(clause) &&
		(t.speaks == nil || t.speaks.MatchString(clause))
}

func (t *retelling) tooShort(clause string) bool {
	if strings.ContainsFunc(clause, text.Clings) {
		return utf8.RuneCountInString(clause) < minKeptRunes
	}
	if t.names {
		return len(strings.Fields(clause)) < minKeptWords-1
	}
	return len(strings.Fields(clause)) < minKeptWords
}

// moment is what holds today or is done tomorrow.
var moment = regexp.MustCompile(
	`(?i)\b(?:today|tonight|right now|at the moment|this (?:morning|afternoon|evening)|hoy|esta noche|ahora mismo)\b|오늘|방금|이따|아까|내일|(?:가는|오는) 중|今日|今夜|明日|さっき|今から|今天|今晚|今早|明天|刚才|马上`,
)

// timeAlone is a clause that names a time and says nothing of it, as an answer to "since when?" does.
var timeAlone = regexp.MustCompile(
	`^(?:(?:[0-9]+|[一二三四五六七八九十]+|오전|오후|아침|저녁|밤|새벽|午前|午後|上午|下午|从|自)(?:년|월|일|시|분|요일|年|月|日|号|時|时|点|分|반|半)?(?:부터|까지|에|から|まで|に|开始|起)?[\s,~:.-]*)+$`,
)

// lately begins a clause about what changed this week or month.
var lately = regexp.MustCompile(`^这(?:周|个?月|学期|两天)(?:刚|又|就|我们?)*(?:搬|换|改|辞|转)`)

// vague begin clauses about what was said or shown elsewhere, and what is said to somebody.
var vague = regexp.MustCompile(
	`(?i)^(?:(?:it|that|this|these|those|they|he|she|you|your|there|here|which|who|what|how|why|when|where|such|one|some|the (?:first|second|last|best|whole))(?:'s|'re|'ve|'ll|'d)?\s` +
		`|(?:eso|esto|esa|ese|ella|ellos|ellas|él|tú|tu|tus|te|usted|aquí|allí|ahí|lo que|qué|cómo)\s` +
		`|(?:이|그|저|이거|그거|저거|이게|그게|저게|이건|그건|저건|너|네가|넌|당신|걔|걔는|그분)\s` +
		`|(?:これ|それ|あれ|ここ|そこ|あなた|君|彼は|彼女は)|(?:这|那|你|您|他|她|它))`,
)

// find is the fact that a clause states.
func (t *retelling) find(clause string) finding {
	attribute := t.attribute(clause)
	person := t.person
	if attribute == "name" && t.called != nil {
		person = t.called
	}
	written, ok := person(clause)
	if ok {
		written = capital(written) + t.stop
	} else {
		written = t.quoted(clause)
	}
	rule := gradeOf(clause)
	switch {
	case attribute == "name" || attribute == "preferred_name":
		rule = nameGrade
	case rule == plainGrade && t.plans.MatchString(clause):
		rule = planGrade
	}
	return finding{op: opAdd, rule: rule, text: written, attribute: attribute, quote: clause}
}

// attribute is the property that a clause gives the value of; "" for none, or for one of many.
func (t *retelling) attribute(clause string) string {
	if unsettled.MatchString(clause) || extract.Adds(clause) || t.others != nil && t.others.MatchString(clause) {
		return ""
	}
	for _, p := range t.attributes() {
		if p.pattern.MatchString(clause) {
			return p.name
		}
	}
	if m := t.topic.FindStringSubmatch(clause); m != nil {
		return englishName(m[1])
	}
	if uses.MatchString(clause) {
		return toolAttribute([]string{strings.Join(latinName.FindAllString(instead.ReplaceAllString(clause, " "), -1), " ")})
	}
	return ""
}

// retellingOf is how clauses of a sentence are written.
func retellingOf(sentence string, spanish bool) *retelling {
	han := false
	for _, r := range sentence {
		switch {
		case unicode.Is(unicode.Hangul, r):
			return &koreanRetelling
		case unicode.In(r, unicode.Hiragana, unicode.Katakana):
			return &japaneseRetelling
		case unicode.Is(unicode.Han, r):
			han = true
		}
	}
	switch {
	case han:
		return &chineseRetelling
	case spanish || isSpanish(sentence):
		return &spanishRetelling
	}
	return &englishRetelling
}

// Marks of what a clause is about, in five languages.
var (
	// unsettled is what does not hold, or not yet.
	unsettled = regexp.MustCompile(
		`(?i)\b(?:not|never|no longer|used to|want|hope|plan|thinking|going to|will|next|looking|considering|wish|n't|ya no|nunca|quiero|pienso|espero|voy a|vamos a|dejé|dejado)\b|n't\b|않|못|싶|예정|계획|려고|할까|그만|ない|たい|つもり|予定|やめ|辞め|不再|不想|想|打算|计划|准备`,
	)
	uses = regexp.MustCompile(
		`(?i)\b(?:use|uses|using|switched|switching|migrated|moved|chose|chosen|decided|went|going|run|runs|write|written|built|is|prefer|picked|usamos|uso|utilizamos|elegimos|elegí|decidimos|pasado|pasamos|migramos|cambiado|cambiamos|está|es|programo)\b|써|쓰|쓴|사용|바꿨|바꾸|갈아탔|옮겼|결정|정했|선택|골랐|짰|使|決|移行|乗り換え|変え|選|書い|用|换|迁移|选|改|写|定`,
	)
	// instead is what a choice took the place of.
	instead = regexp.MustCompile(
		`(?i)\bfrom \S+(?: \S+)? to\b|\bde \S+ a\b|\S+(?:에서| 대신)|[A-Za-z0-9.+#]+(?:から|の代わりに|をやめて)|从[^换迁移改]+(?:换|迁移|迁|改|转)(?:到|成|为|用)?|\b(?:over|instead of|rather than|not|en vez de|en lugar de) \S+`,
	)
)

// latinName is a name in Latin letters, as tools have in every language.
var latinName = regexp.MustCompile(`[A-Za-z][A-Za-z0-9.+#-]*|\p{Hangul}+`)

// grades are what a clause is, by the first mark that it has.
var grades = []struct {
	marks *regexp.Regexp
	rule  *factRule
}{
	{
		regexp.MustCompile(
			`(?i)\b(?:decided|chose|switched|migrated|settled on|decidí|decidimos|decidido|elegimos|elegí|migramos)\b|기로|결정|정했|바꿨|옮겼|갈아탔|決め|決ま|ことにし|移行|乗り換え|决定|定了|换到|换成|迁移`,
		),
		&factRule{category: "decision", significance: 6},
	},
	{
		regexp.MustCompile(
			`(?i)\b(?:want|hope|hoping|plan|planning|dream|goal|saving|training for|preparing|looking for|thinking (?:of|about)|looking into|quiero|sueño|meta|objetivo|pienso|ahorrando|preparando|buscando)\b|싶|목표|꿈|계획|예정|준비|려고|たい|夢|目標|つもり|予定|貯金|想当|想开|打算|计划|梦想|目标|攒钱|准备`,
		),
		&factRule{category: "goal", significance: 6},
	},
	{
		regexp.MustCompile(
			`(?i)\b(?:struggl\w+|trouble|stress\w*|anxi\w+|lonely|find \S+ hard|hard for me|bad at|terrible at|afraid|scared|me cuesta|miedo|ansiedad)\b|어려|힘들|못 외|스트레스|외로|무서|怖い|つら|ストレス|孤独|不擅长|害怕|焦虑|压力|孤独`,
		),
		&factRule{category: "pain_point", significance: 5},
	},
	{
		regexp.MustCompile(
			`(?i)\b(?:like|love|prefer|hate|enjoy|favou?rite|fan of|can't stand|into|passion\w*|gustan?|encantan?|prefiero|odio|soporto|favorit[oa]s?|apasiona)\b|좋아|싫어|선호|최애|취미|好き|嫌い|苦手|ファン|はまって|趣味|喜欢|讨厌|偏好|爱|受不了|爱好`,
		),
		&factRule{category: "preference", significance: 5},
	},
	{
		regexp.MustCompile(
			`(?i)\b(?:live|born|grew up|work|job|married|divorced|engaged|years old|birthday|my name|call me|moved|vivo|nací|crecí|trabajo|casad[oa]|años|cumpleaños|llamo|mudé)\b|살아|살고|이사|일해|일하|다녀|회사|결혼|이혼|생일|이름|住|引っ越|働|勤|結婚|離婚|歳|誕生日|名前|住|搬|上班|工作|结婚|离婚|岁|生日|叫`,
		),
		&factRule{category: "personal_info", significance: 6},
	},
}

var (
	planGrade   = &factRule{category: "goal", significance: 6}
	nameGrade   = &factRule{category: "personal_info", significance: 9}
	vitalGrade  = &factRule{category: "personal_info", significance: 8}
	personGrade = grades[len(grades)-1].rule
	plainGrade  = &factRule{category: "other", significance: 5}
)

// gradeOf is the category and significance of a clause.
func gradeOf(clause string) *factRule {
	if promptinjection.IsEssential(clause) {
		return vitalGrade
	}
	for _, g := range grades {
		if g.marks.MatchString(clause) {
			return g.rule
		}
	}
	if promptinjection.IsVital(clause) {
		return personGrade
	}
	return plainGrade
}
