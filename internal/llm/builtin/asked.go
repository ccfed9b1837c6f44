package builtin

import (
	"strings"
	"unicode"

	"github.com/stratamem/strata/internal/extract"
	regexp "github.com/stratamem/strata/internal/lazyregexp"
	"github.com/stratamem/strata/internal/promptinjection"
)

// asking is how people of a language say what shall be kept: "remember that …", a wish that holds from now on, and what
// the project at hand is made of or how it is worked on.
type asking struct {
	called   *regexp.Regexp                // its first group is what the speaker wants to be called; nil where a rule reads that
	calledAs string                        // that as a fact, with the name as $1
	remember *regexp.Regexp                // its first group that matched is what shall be remembered
	keep     func(statement string) string // the statement as it is kept
	polite   *regexp.Regexp                // what a wish is kept without
	lasting  *regexp.Regexp                // marks a wish for every answer to come
	once     *regexp.Regexp                // marks a request for this answer alone; nil where nothing does
	project  *regexp.Regexp                // statements about the project
	rule     *regexp.Regexp                // what a rule of the project has; see promptinjection.IsProject
}

// The significance of what is asked for.
const (
	calledSignificance     = 8
	rememberedSignificance = 8
	wishSignificance       = 8
	projectSignificance    = 6
)

// maxAskedBytes is the longest sentence that is kept word for word.
const maxAskedBytes = 300

// asked is what a sentence asks to be kept. Whether it may be kept, package extract decides as for any other fact.
func asked(sentence string) (finding, bool) {
	sentence = strings.TrimSpace(sentence)
	request := requestOf(sentence)
	if len(sentence) > maxAskedBytes || strings.ContainsAny(request, "?？") {
		return finding{}, false
	}
	for _, a := range askingOf(request) {
		if f, ok := a.find(request); ok {
			if request != sentence {
				f.quote = strings.TrimRight(sentence, " ?？")
			}
			return f, true
		}
	}
	return finding{}, false
}

// requestOf is what a question politely asks for from now on, such as "could you answer briefly from now on?"; any other sentence as it
// is.
func requestOf(sentence string) string {
	if !fromNowOn.MatchString(sentence) {
		return sentence
	}
	for _, q := range politeQuestions {
		if q.asks.MatchString(sentence) {
			return q.asks.ReplaceAllString(sentence, q.request)
		}
	}
	return sentence
}

// fromNowOn are words without which a question asks for one answer.
var fromNowOn = regexp.MustCompile(
	`(?i)\b(?:always|never|from now on|in (?:the )?future|going forward|every time|by default|whenever|anymore|stop)\b` +
		`|앞으로|항상|늘 |이제부터|지금부터|これから|今後|いつも|毎回|常に|以后|今后|从现在起`,
)

// politeQuestions are such questions, and the request in each.
var politeQuestions = []struct {
	asks    *regexp.Regexp
	request string
}{
	{regexp.MustCompile(
		`(?i)^(?:(?:and|also|ok|okay|hey|hi)[,!]? )?(?:please,? )?(?:could|can|would|will) you (?:please |kindly )?((?:always |never )?(?:answer|reply|respond|write|talk|speak|keep|use|stop|avoid|call|be|explain|format|skip|start|end|give)\b.*?)(?:,? please)? ?\?+$`,
	), "$1"},
	{regexp.MustCompile(`^(.+?)해 ?(?:주실 수 있(?:나요|어요|을까요)|줄 수 있(?:어|어요|니|나요|을까)|주시겠어요|주실래요|줄래요?) ?\?+$`), "${1}해 주세요"},
	{regexp.MustCompile(`^(.+?)て(?:もらえ|くれ|いただけ)(?:ます|ません)か ?[?？。]*$`), "${1}てください"},
	{regexp.MustCompile(`^(以后|今后|从现在起)，?(?:请)?(?:你|您)?(?:可以|能不能|可不可以|能)(.+?)吗? ?[?？]+$`), "$1$2"},
}

// mixedWords is how many words in Latin letters make a sentence one of two languages.
const mixedWords = 4

var latinWord = regexp.MustCompile(`[A-Za-z]{2,}`)

// askingOf are the languages that a sentence may be in.
func askingOf(sentence string) []*asking {
	han := false
	for _, r := range sentence {
		switch {
		case unicode.Is(unicode.Hangul, r):
			if len(latinWord.FindAllString(sentence, mixedWords)) == mixedWords { // who mixes may ask in either
				return []*asking{&koreanAsking, &englishAsking}
			}
			return []*asking{&koreanAsking}
		case unicode.In(r, unicode.Hiragana, unicode.Katakana):
			return []*asking{&japaneseAsking}
		case unicode.Is(unicode.Han, r):
			han = true
		}
	}
	if han {
		return []*asking{&chineseAsking}
	}
	return []*asking{&englishAsking, &spanishAsking}
}

func (a *asking) find(sentence string) (finding, bool) {
	bare := strings.TrimRight(sentence, " .!。！~…")
	if name, ok := a.wantsToBeCalled(bare); ok {
		text := strings.ReplaceAll(a.calledAs, "$1", name)
		return finding{op: opAdd, rule: calledRule, text: text, attribute: "preferred_name", quote: bare}, true
	}
	if what, ok := firstGroup(a.remember, bare); ok {
		return a.remembered(what)
	}
	wish := strings.TrimSpace(a.polite.ReplaceAllString(bare, ""))
	switch {
	case promptinjection.IsProject(wish) && a.rule.MatchString(wish):
		return finding{op: opAdd, rule: projectRule, text: a.sentence(wish), quote: bare, kind: extract.KindProject}, true
	case a.project.MatchString(wish):
		return finding{
			op:        opAdd,
			rule:      projectRule,
			text:      a.sentence(wish),
			attribute: toolAttribute([]string{wish}),
			quote:     bare,
			kind:      extract.KindProject,
		}, true
	case promptinjection.IsWish(wish) && a.lasting.MatchString(wish) && (a.once == nil || !a.once.MatchString(wish)):
		return finding{op: opAdd, rule: wishRule, text: a.sentence(wish), attribute: aspect(wish), quote: bare, kind: extract.KindWish}, true
	}
	return finding{}, false
}

// wantsToBeCalled is the name that a sentence asks to be called by.
func (a *asking) wantsToBeCalled(sentence string) (string, bool) {
	if a.called == nil {
		return "", false
	}
	return firstGroup(a.called, sentence)
}

// remembered is what somebody wants remembered: as a fact where a rule reads it, else in the speaker's words.
func (a *asking) remembered(what string) (finding, bool) {
	what = strings.TrimSpace(what)
	if g := grammarOf(what); !g.blocked.MatchString(what) {
		if found := g.find(what); len(found) > 0 && 2*len(strings.Fields(found[0].text)) >= len(strings.Fields(what)) {
			return found[0], true // a rule that reads less, such as that there is a sister, leaves out what was asked for
		}
	}
	if f, ok := a.find(what); ok {
		return f, true
	}
	if !unicode.Is(unicode.Han, []rune(what + " ")[0]) && len(strings.Fields(what)) < 2 {
		return finding{}, false
	}
	return finding{op: opAdd, rule: rememberedRule, text: a.sentence(a.keep(what)), quote: what}, true
}

// What is asked for has no pattern of its own; its category and significance are those of a rule.
var (
	calledRule     = &factRule{category: "personal_info", significance: calledSignificance}
	rememberedRule = &factRule{category: "other", significance: rememberedSignificance}
	wishRule       = &factRule{category: "preference", significance: wishSignificance}
	projectRule    = &factRule{category: "decision", significance: projectSignificance}
)

func firstGroup(p *regexp.Regexp, s string) (string, bool) {
	for i, m := range p.FindStringSubmatch(s) {
		if i > 0 && m != "" {
			return m, true
		}
	}
	return "", false
}

// sentence is a statement with a capital and its end.
func (a *asking) sentence(s string) string {
	switch a {
	case &japaneseAsking, &chineseAsking:
		return s + "。"
	}
	return capital(s) + "."
}

// aspects are what a wish may be about of which one holds at a time: whoever wants answers in French does not want them
// in German any more.
var aspects = []struct {
	name    string
	pattern *regexp.Regexp
}{
	{
		"answer_language",
		regexp.MustCompile(
			`(?i)\b(?:english|german|french|spanish|italian|portuguese|dutch|russian|polish|turkish|arabic|hindi|korean|japanese|chinese|ingl[ée]s|alem[áa]n|franc[ée]s|espa[ñn]ol|italiano|portugu[ée]s|coreano|japon[ée]s|chino)\b|(?:한국|영|독일|프랑스|스페인|일본|중국|러시아|이탈리아)어|(?:日本|英|韓国|中国|フランス|ドイツ|スペイン|韩|日|中|法|德|西班牙|俄)(?:語|语|文)`,
		),
	},
	{"answer_emojis", regexp.MustCompile(`(?i)emoji|emotic|이모지|이모티콘|絵文字|表情`)},
	{
		"answer_length",
		regexp.MustCompile(
			`(?i)\b(?:short\w*|brief\w*|concise\w*|terse|long\w*|detailed|length\w*|cort[oa]s?|breves?|concis[oa]s?|larg[oa]s?|detallad[oa]s?)\b|짧|간결|길게|자세|短|簡潔|手短|詳し|简短|简洁|详细|长`,
		),
	},
	{"answer_politeness", regexp.MustCompile(`(?i)\b(?:formal\w*|informal\w*|tutea\w*|de t[úu]|de usted)\b|반말|존댓말|敬語|タメ口|ため口|敬语`)},
}

func aspect(wish string) string {
	for _, a := range aspects {
		if a.pattern.MatchString(wish) {
			return a.name
		}
	}
	return ""
}

// Names of what is worked on.
const (
	enWorkedOn = `(?:repo|repository|codebase|code base|project|monorepo|app|api|service|backend|frontend|ci|pipeline|stack|database|server|build|team)`
	esWorkedOn = `(?:repo|repositorio|proyecto|c[óo]digo|monorepo|aplicaci[óo]n|app|api|servicio|backend|frontend|equipo|base de datos|servidor)`
	koWorkedOn = `(?:저장소|레포|리포|프로젝트|코드베이스|서비스|백엔드|프론트엔드|앱|서버|팀)`
	jaWorkedOn = `(?:リポジトリ|プロジェクト|コードベース|サービス|バックエンド|フロントエンド|アプリ|サーバー|チーム)`
	zhWorkedOn = `(?:仓库|项目|代码库|服务|后端|前端|应用|团队|系统)`
)

var englishAsking = asking{
	remember: regexp.MustCompile(
		`(?i)^(?:(?:hey|hi|ok|okay|also|and|by the way|btw|oh)[,!]? )?(?:please,? |pls |can you |could you )?(?:always )?(?:(?:remember|note|keep in mind|bear in mind|don't forget|do not forget|never forget|make a note)(?: that[: ]+|: ?|, )|for the record[,:] |fyi[,:]? )(.+)$|^(?:please,? )?(?:remember|note|don't forget) ((?:i|i'm|i've|we|my|our) (?:\S+ ){2,}\S+)$`,
	),
	keep: keepEnglish,
	polite: regexp.MustCompile(
		`(?i)^(?:(?:hey|hi|ok|okay|also|and|by the way|btw)[,!]? )?(?:(?:could|can|would) you )?(?:please,? |pls |kindly )*(?:(?:remember|make sure|be sure) to )?|,? (?:please|pls|thanks|thank you)$`,
	),
	lasting: regexp.MustCompile(
		`(?i)\b(?:always|never|from now on|in (?:the )?future|going forward|every time|each time|by default|whenever|don't|do not|no more|stop|i(?:'d)? (?:prefer|want|like)|i would (?:prefer|like))\b|^(?:answer|reply|respond|talk|speak)(?: to me)? in \p{L}+$|^keep (?:your |the |all )?(?:answers|replies|responses|explanations)\b|^(?:use (?:only )?)?(?:metric|imperial|celsius)\b`,
	),
	once: regexp.MustCompile(
		`(?i)\b(?:this (?:time|one|answer|question)|today|right now|just now|for now|below|above|following|the (?:text|email|letter|essay|article|function|code|paragraph))\b`,
	),
	project: regexp.MustCompile(
		`^(?i:we|our team|the team) (?i:(?:now |currently |also |always |only |exclusively )*(?:use|are using|deploy to|deploy on|run on|build with|test with|write (?:everything |it |our backend )?in)) (?:.*[^\p{L}])?(?:\p{Lu}|[\p{L}-]+ ?\d|tabs\b|spaces\b)|^(?i:(?:this|our) ` + enWorkedOn + `(?:'s \p{L}+)? (?:(?:now|currently|also|always|only) )*(?:uses|use|is (?:written|built|hosted|deployed|based)|are|has to|runs|run|lives|needs|requires|targets|follows|supports|depends)) .+|^(?i:in (?:this|our) ` + enWorkedOn + `,? (?:we|the|all|every|there|tests|commits|errors|names|files)) .+`,
	),
	rule: regexp.MustCompile(`(?i)^(?:always|never|don't|do not|only)\b|\b(?:must|should|never|always|not allowed|forbidden)\b`),
}

// enStarts is how a statement in the first person begins, and how it does in the third.
var enStarts = []struct {
	said *regexp.Regexp
	kept string
}{
	{regexp.MustCompile(`(?i)^(?:i am|i'm) `), "Is "},
	{regexp.MustCompile(`(?i)^(?:i have|i've)(?: got)? `), "Has "},
	{regexp.MustCompile(`(?i)^i (?:can't|cannot|can not) `), "Cannot "},
	{regexp.MustCompile(`(?i)^i (?:don't|do not) `), "Does not "},
	{regexp.MustCompile(`(?i)^i won't `), "Will not "},
	{regexp.MustCompile(`(?i)^i'll `), "Will "},
	{
		regexp.MustCompile(
			`(?i)^i (was|will|can|had|did|must|may|should|would|need|want|like|love|hate|prefer|live|work|use|drink|eat|take|park|keep|own|play|wear|speak|sleep|start|get|pay|run|know|hope|plan|teach|go|do|only|always|never) `,
		),
		"$1 ",
	},
	{regexp.MustCompile(`(?i)^my `), ""},
}

// enThird are verbs of the first person whose form in the third is not the same.
var enThird = regexp.MustCompile(
	`(?i)^(need|want|like|love|hate|prefer|live|work|use|drink|eat|take|park|keep|own|play|wear|speak|sleep|start|get|pay|run|know|hope|plan|teach|go|do) `,
)

func keepEnglish(s string) string {
	for _, start := range enStarts {
		if start.said.MatchString(s) {
			s = start.said.ReplaceAllString(s, start.kept)
			s = enThird.ReplaceAllStringFunc(s, func(verb string) string {
				verb = strings.TrimSpace(verb)
				if strings.HasSuffix(verb, "o") || strings.HasSuffix(verb, "ch") {
					return verb + "es "
				}
				return verb + "s "
			})
			break
		}
	}
	return thirdPerson(s)
}

func asSaid(s string) string { return s }

var spanishAsking = asking{
	called: regexp.MustCompile(
		`(?i)^(?:(?:a partir de ahora|desde ahora|por favor|mejor|puedes|podéis|pero|y|hola),? )*(?:ll[áa]mame|llamarme) ((?-i:\p{Lu})\p{L}+(?: (?-i:\p{Lu})\p{L}+)?)(?:,? (?:por favor|a partir de ahora|desde ahora|mejor))*$`,
	),
	calledAs: "Quiere que le llamen $1.",
	remember: regexp.MustCompile(
		`(?i)^(?:por favor,? )?(?:recuerda|recuerde|ten en cuenta|tenga en cuenta|no olvides|no te olvides de|acu[ée]rdate de|apunta|anota)(?:,? por favor,?)?(?: que |: ?)(.+)$`,
	),
	keep:   asSaid,
	polite: regexp.MustCompile(`(?i)^por favor,? |,? por favor$`),
	lasting: regexp.MustCompile(
		`(?i)\b(?:siempre|nunca|jam[áa]s|a partir de ahora|desde ahora|en adelante|en el futuro|cada vez|por defecto|no (?:uses|pongas|escribas|me|respondas|contestes)|sin emojis|prefiero|quiero que|me gusta(?:n|r[íi]a)?|deja de)\b|^(?:responde|contesta|habla|resp[óo]ndeme|cont[ée]stame|h[áa]blame)(?: en| de) \p{L}+$|^(?:tut[ée]ame|h[áa]blame de t[úu])`,
	),
	once: regexp.MustCompile(`(?i)\b(?:esta vez|ahora mismo|hoy|el siguiente|la siguiente|este texto|esta pregunta)\b`),
	project: regexp.MustCompile(
		`^(?i:usamos|utilizamos|desplegamos en|programamos en) (?:.*[^\p{L}])?(?:\p{Lu}|[\p{L}-]+ ?\d|tabuladores\b|espacios\b)|^(?i:(?:este|esta|nuestro|nuestra) ` + esWorkedOn + ` (?:ahora )?(?:usa|utiliza|est[áa]|corre|se despliega|requiere|necesita|sigue|tiene|funciona)) .+|^(?i:en (?:este|esta|nuestro|nuestra) ` + esWorkedOn + `,? (?:se |no se |siempre |nunca |los |las |el |la |todo|usamos|utilizamos)).*`,
	),
	rule: regexp.MustCompile(`(?i)\b(?:siempre|nunca|jam[áa]s|no (?:uses|usar|se)|debe|deben|hay que|prohibido)\b`),
}

var koreanAsking = asking{
	called: regexp.MustCompile(
		`^(?:(?:앞으로|이제|이제부터|지금부터|그냥|저를|나를|날|저는|나는|절)[는]?,? )*(\p{Hangul}{1,5}?|[A-Z][A-Za-z]+)(?:이라고|라고) 불러 ?(?:줘|줘요|주세요|주시면 돼요)$`,
	),
	calledAs: "이름은 $1.",
	remember: regexp.MustCompile(
		`^(?:(?:꼭|제발|참고로|그리고) )*(?:기억해 ?(?:줘|주세요|둬|두세요)|잊지 ?(?:마|마세요|말아 ?줘)|메모해 ?(?:줘|주세요|둬)|명심해 ?(?:줘|주세요)?)[:：,.!] ?(.+)$|^(?:(?:꼭|제발|참고로|그리고) )*(.+?)(?:(?:다|이)?는|라는|단) ?(?:것을|것도|것|걸|거|점을|점|사실을|사실) (?:꼭 |잘 )*(?:기억해 ?(?:줘|주세요|둬|두세요)|잊지 ?(?:마|마세요|말아 ?줘|말아 ?주세요)|명심해 ?(?:줘|주세요)?)$|^(?:(?:꼭|제발|참고로|그리고) )*(.+?)(?:다고|라고) (?:꼭 |잘 )*(?:기억해|메모해) ?(?:줘|주세요|둬|두세요)$`,
	),
	keep:   keepKorean,
	polite: regexp.MustCompile(`^(?:(?:제발|부탁인데|참고로|그리고) )+`),
	lasting: regexp.MustCompile(
		`앞으로|항상|언제나|늘|매번|절대|이제부터|지금부터|기본적으로|(?:쓰지|하지|말하지|붙이지|넣지) ?(?:마|말)|(?:답변|대답|설명|응답)(?:은|을|는)? .*(?:해|써) ?(?:줘|주세요)$|^(?:반말|존댓말|한국어|영어|일본어|중국어|독일어|스페인어|프랑스어)(?:로|으로) (?:말|대답|답변|답)해 ?(?:줘|주세요)$|선호|좋아(?:해|합니다)|원해|면 좋겠`,
	),
	once: regexp.MustCompile(`이번(?:에|만)|지금은|오늘|다음 (?:글|문장|코드|이메일)|아래|위(?:의|에)`),
	project: regexp.MustCompile(
		`^(?:이|우리|저희|지금) ?` + koWorkedOn + `(?:에서는|에서|에는|은|는|의|이|가)? .*(?:써요|쓴다|씁니다|써|쓰고 있\S*|사용(?:해요|합니다|한다|해|하고 있\S*)|(?:되어|돼) ?있\S*|작성\S*|돌아가\S*|배포\S*|따라요|따릅니다|따른다|기반\S*|이용\S*)$`,
	),
	rule: regexp.MustCompile(`항상|절대|반드시|꼭|(?:지 ?(?:마|말|않는다|않아요|않습니다)|금지|안 ?(?:돼|된다|됩니다)|해야 ?(?:해|한다|합니다|돼))`),
}

// koSpeaker is the speaker as a statement begins.
var koSpeaker = regexp.MustCompile(`^(?:나는|난|내가|저는|전|제가|내|제|우리|저희) `)

// koEnded is a statement that has its ending.
var koEnded = regexp.MustCompile(`(?:[다요야음함임]|어|아|해|돼)$`)

// keepKorean is the statement without its speaker, with the ending that "…다는 것을" cuts off.
func keepKorean(s string) string {
	s = koSpeaker.ReplaceAllString(s, "")
	last, _ := lastRune(s)
	if unicode.Is(unicode.Hangul, last) && !koEnded.MatchString(s) {
		s += "다"
	}
	return s
}

func lastRune(s string) (last rune, ok bool) {
	for _, r := range s {
		last, ok = r, true
	}
	return last, ok
}

var japaneseAsking = asking{
	called: regexp.MustCompile(
		`^(?:(?:これから|今後|今度から|私の(?:こと|名前)|僕の(?:こと|名前)|私|僕|俺|できれば|どうぞ|気軽に)(?:は|を|も)?、?)*([^はがをにで、。]{1,10}?)(?:って|と)呼んで(?:ください|下さい|ね|ほしい|欲しい)?(?:です)?$`,
	),
	calledAs: "$1と呼ばれたい。",
	remember: regexp.MustCompile(
		`^(?:(?:ぜひ|必ず|ちなみに|あと)、?)?(?:覚えておいて|覚えといて|忘れないで|メモして(?:おいて)?)(?:ください|ね|下さい)?[:：、。,] ?(.+)$|^(?:(?:ぜひ|必ず|ちなみに|あと)、?)?(.+?)(?:という|な|の)?(?:こと|の)[をは、]?(?:ちゃんと|必ず|ずっと)?(?:覚えておいて|覚えといて|覚えて|忘れないで|記憶して(?:おいて)?|メモして(?:おいて)?)(?:ください|下さい|ほしい|欲しい|ね)?$|^(.+?)(?:って|と)(?:覚えておいて|覚えといて|覚えて|メモして(?:おいて)?)(?:ください|下さい|ほしい|ね)?$`,
	),
	keep:   func(s string) string { return jaSpeaker.ReplaceAllString(s, "") },
	polite: regexp.MustCompile(`^(?:どうか|すみませんが|できれば)、?|(?:お願いします|頼みます)$`),
	lasting: regexp.MustCompile(
		`いつも|常に|必ず|今後|これから|毎回|絶対|基本的に|(?:使わ|付け|つけ|入れ|し)ないで|(?:回答|返信|返事|答え|説明)[はを].*(?:して|書いて)(?:ください|ほしい|欲しい)?$|^(?:日本語|英語|韓国語|中国語|ドイツ語|フランス語|スペイン語|敬語|タメ口|ため口)で(?:答えて|話して|返事して|返信して|書いて)(?:ください|下さい|ほしい|ね)?$|好み|ほしい|欲しい`,
	),
	once: regexp.MustCompile(`今回|今日|この(?:文|質問|メール|文章|コード)|次の|以下`),
	project: regexp.MustCompile(
		`^(?:この|うちの|私たちの|我々の|弊社の|今の)` + jaWorkedOn + `(?:では|には|は|で|に).*(?:使っている?|使っています|使う|使います|使用\S*|書かれている?|書かれています|動いて\S*|デプロイ\S*|採用\S*|しています|している|です|である)$`,
	),
	rule: regexp.MustCompile(`(?:必ず|絶対|決して|常に|禁止|ないで|ないこと|てはいけない|べき|なければ)|(?:すること|しない)$`),
}

// jaSpeaker is the speaker as a statement begins.
var jaSpeaker = regexp.MustCompile(`^(?:私|僕|俺|わたし|ぼく)(?:は、?|の|が)|^うちの`)

var chineseAsking = asking{
	called: regexp.MustCompile(
		`^(?:(?:以后|今后|从现在起|从现在开始|请|麻烦|你们?|您|大家|可以|就|都|直接)，?)*叫我([^\P{Han}起去来回吃早等别多再怎什做看学上下写想说帮给不没出过先快为如]\p{Han}{0,3}?|[A-Z][A-Za-z]+)(?:吧|就好|就行|就可以了?|好了)?$`,
	),
	calledAs: "希望被叫做$1。",
	remember: regexp.MustCompile(`^(?:对了，?|另外，?)?(?:请|麻烦)?(?:你|您)?(?:一定要|务必|要|帮我)?(?:记住|记得|记一下|别忘了|不要忘记|牢记)(?:了)?[,，:：]? ?(.+)$`),
	keep:     func(s string) string { return zhSpeaker.ReplaceAllString(s, "") },
	polite:   regexp.MustCompile(`^(?:请你?|麻烦你?|拜托)|，?(?:谢谢|拜托了?)$`),
	lasting: regexp.MustCompile(
		`以后|今后|从现在(?:起|开始)|一直|总是|永远|每次|始终|都用|默认|不要(?:用|使用|加|发|带)|别(?:用|加|发|带)|尽量|(?:回答|回复|解释)(?:要|请|得|时).*|^用\p{Han}+(?:文|语)(?:来)?(?:回答|回复|跟我说|和我说)我?$|我(?:喜欢|希望|想要|偏好)`,
	),
	once:    regexp.MustCompile(`这次|今天|现在就|下面|以下|这(?:段|篇|封|个问题)`),
	project: regexp.MustCompile(`^(?:这个|本|该|我们的?|咱们的?)` + zhWorkedOn + `(?:里|中|上|现在|目前|都|是|一直)*.*(?:使用|采用|用|写的|部署|运行|基于|遵循|要求|依赖).*$`),
	rule:    regexp.MustCompile(`必须|一律|永远|绝不|不要|不能|不得|禁止|不准|务必|一定要|别用|应该`),
}

// zhSpeaker is the speaker as a statement begins.
var zhSpeaker = regexp.MustCompile(`^我的?(?:们的?)?`)
