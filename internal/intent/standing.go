package intent

import (
	"strings"

	regexp "github.com/stratamem/strata/internal/lazyregexp"
	"github.com/stratamem/strata/internal/text"
)

// IsStanding reports whether a message asks its reader for something in every answer to come: "Always give sources when I
// ask about health", "앞으로는 항상 존댓말로 답해 줘". Such a wish holds for questions that share no word with it. It is read by
// the form of a sentence alone, so that a wish about any subject is known; a question is none, and neither is what
// somebody always does, or asks for once. The forms are English, Spanish, Korean, Japanese and Chinese.
func IsStanding(message string) bool {
	for _, sentence := range text.Sentences(text.Clip(message, maxTelling)) {
		if text.AsksQuestion(sentence) {
			continue
		}
		folded := fold(sentence)
		for _, f := range standingForms {
			if f.isIn(folded) {
				return true
			}
		}
	}
	return false
}

// sentenceForm is how sentences of a language say something.
type sentenceForm struct {
	marks []string // a sentence without any of them is none
	form  *regexp.Regexp
}

func (f *sentenceForm) isIn(folded string) bool {
	for _, m := range f.marks {
		if strings.Contains(folded, m) {
			return f.form.MatchString(folded)
		}
	}
	return false
}

// Words of folded sentences: without accents.
const (
	// What an English sentence begins with that orders something of an assistant.
	standingVerbs = `(?:add|address|answer|ask|assume|attach|avoid|be|begin|break|bring|call|cite|check|compare|confirm|consider|convert|
correct|define|describe|display|double.check|draw|emphasi[sz]e|end|explain|express|factor|finish|flag|focus|follow|format|give|greet|highlight|
ignore|include|indicate|keep|label|leave|limit|link|list|maintain|make|mark|mention|name|note|number|offer|order|outline|phrase|point|
prefer|present|prioriti[sz]e|propose|provide|put|quote|rank|recommend|refer|remember|remind|repeat|reply|report|respond|round|say|separate|show|
sign|skip|sort|speak|specify|spell|split|start|state|stick|structure|suggest|sum|summari[sz]e|tailor|take|talk|tell|translate|treat|try|
underline|use|verify|warn|wrap|write)`
	standingTimes = `(?:from now on|from here on|going forward|henceforth|from today on|(?:whenever|every time|each time|any time|anytime|when|if) i ask)`
	englishForm   = `^(?:(?:please|also|and|but|so|oh|okay|ok|hey|by the way|just)[ ,]+)*(?:please )?(?:always|never) (?:please )?(?:just |only |first )?` + standingVerbs + `\b|` +
		`\bplease (?:always|never) |\byou (?:should|must|need to|have to|can|shall) (?:always|never) |\b(?:make|be) sure (?:you |to )(?:always|never) |\b(?:remember|try) to always |` +
		`\bi(?:['’]d| would)? (?:want|like|prefer|need|expect) you (?:to )?(?:always|never) |\bi(?:['’]d| would)? always (?:want|like|prefer) (?:you to|(?:your|the) (?:answers|replies|responses)) |` +
		`^(?:please |and |so |ok(?:ay)?,? )*` + standingTimes + `\b.*\b(?:please|you (?:should|must|need to|have to|can)|i(?:['’]d| would)? (?:want|like|prefer) (?:you|your|the answer)|your (?:answers|replies|responses))\b|` +
		`^(?:please |and |so |ok(?:ay)?,? )*(?:from now on|going forward|henceforth|from here on)[ ,]+(?:please |just |only |always |never |don['’]t |do not )*` + standingVerbs + `\b|` +
		`^(?:please |and |so |ok(?:ay)?,? )*(?:whenever|every time|each time|when|if) i ask [^,]*, *(?:please |just |only |always |never |don['’]t |do not )*` + standingVerbs + `\b|` +
		`^(?:please |also |and |just |don['’]t |do not )*` + standingVerbs + `\b.*\b` + standingTimes + `\b`

	standingVerbsES = `(?:aclara|agrega|anade|ajusta|calcula|cita|compara|confirma|comprueba|convierte|contesta|corrige|da|dame|describe|destaca|di|dime|empieza|
escribe|especifica|evita|explica|formatea|haz|hazme|habla|hablame|incluye|indica|llama|llamame|manten|menciona|muestra|muestrame|ofrece|ordena|
pon|ponme|pregunta|preguntame|presenta|propon|recomienda|recuerda|recuerdame|repite|responde|respondeme|contestame|resalta|resume|senala|separa|
sugiere|termina|traduce|trata|tratame|usa|utiliza|verifica|aclare|agregue|anada|cite|confirme|conteste|diga|escriba|explique|incluya|indique|mencione|
muestre|ofrezca|ponga|responda|resuma|use|utilice|verifique)`
	standingTimesES = `(?:a partir de ahora|de ahora en adelante|desde ahora|en adelante|de aqui en adelante|cada vez que (?:te |le |yo )*(?:pregunt|pid|consult)[a-z]*|(?:cuando|siempre que|si) (?:te|le) (?:pregunt|pid|consult)[a-z]*)`
	spanishForm     = `^(?:(?:por favor|y|tambien|ademas|pero|vale|oye)[ ,]+)*siempre (?:me )?` + standingVerbsES + `\b|^(?:(?:por favor|y|tambien|ademas)[ ,]+)*` + standingVerbsES + ` siempre\b|` +
		`^(?:(?:por favor|y|tambien|ademas|pero)[ ,]+)*nunca (?:me |te |le )?[a-z]+(?:as|es)\b|\b(?:quiero|prefiero|me gustaria|necesito) que (?:siempre|nunca)\b|\bpor favor,? (?:siempre|nunca)\b|\b(?:debes|tienes que) (?:siempre )?[a-z]+r siempre\b|\bdebes siempre\b|` +
		standingTimesES + `\b.*(?:\bpor favor\b|\b(?:quiero|prefiero|me gustaria) que\b|[, ](?:siempre |no me |no |me )?` + standingVerbsES + `\b)|` +
		`^(?:(?:por favor|y|tambien)[ ,]+)*` + standingVerbsES + `\b.*\b` + standingTimesES

	koreanForm = `(?:항상|언제나|늘 |매번|앞으로는|앞으로 [^0-9]|이제부터|지금부터|(?:물어보면|물으면|질문하면|요청하면|물어볼 ?때|물을 ?때|질문할 ?때|부탁할 ?때|요청할 ?때|답할 ?때|대답할 ?때|답변할 ?때)).*` +
		`(?:줘|줘요|주세요|줄래|주렴|해라|하세요|달라|달라고|주길|주기를|말아|마세요|말 것|부탁해|부탁해요|부탁드려요|부탁합니다|부탁드립니다|바랍니다|바라|바라요|좋겠어|좋겠어요|좋겠습니다)[ .!~]*$`
	japaneseForm = `(?:いつも|常に|毎回|今後は?|これからは|以後は?|(?:聞いた|聞く|訊いた|尋ねた|質問した|質問する|頼んだ|答える|回答する|返事する|説明する)(?:とき|時|際|たび|度|場合)|(?:聞い|質問し|尋ね)たら).*` +
		`(?:ください|下さい|くれ|ほしい|欲しい|ほしいです|お願い|お願いします|お願いね|頼む|ようにして|ようにしてね|ないで|ないでね|てね|てよ|て)[ 。.!！ねよ]*$`
	chineseForm = `(?:^|[，,。 ])(?:请)?(?:总是|始终|每次|一律|以后|今后|往后|从现在(?:开始|起)?|从今以后|永远|總是|始終|以後|今後|從現在(?:開始|起)?|當我問|当我问|当我询问|我问[^，,]{0,20}(?:时|的时候)|我問[^，,]{0,20}(?:時|的時候)|回答(?:我)?(?:问题)?(?:时|的时候)).*` +
		`(?:请|請|都要|都用|都给|都請|你要|你都|给我|給我|别|不要|必须|必須|务必|務必|记得|記得|帮我|幫我|要(?:先|附|列|给|用|说|写|注|标|提)|用[^，,]{1,8}(?:回答|回复|回覆|写|說|说))|` +
		`^请(?:你)?(?:总是|始终|每次|一律|永远|以后)|^請(?:你)?(?:總是|始終|每次|一律|永遠|以後)`
)

// standingForms are those of all languages. A regular expression is dear; most sentences have none of its marks.
var standingForms = []sentenceForm{
	{[]string{"always", "never", "i ask", "from now", "from here on", "going forward", "henceforth", "from today on"}, compiled(englishForm)},
	{
		[]string{"siempre", "nunca", "de ahora", "desde ahora", "adelante", "cada vez", "cuando te ", "cuando le ", "si te ", "si le "},
		compiled(spanishForm),
	},
	{[]string{"항상", "언제나", "늘", "매번", "앞으로", "부터", "때", "면"}, compiled(koreanForm)},
	{[]string{"いつも", "常に", "毎回", "今後", "これから", "以後", "とき", "時", "際", "たび", "度", "場合", "たら"}, compiled(japaneseForm)},
	{
		[]string{"总是", "始终", "每次", "一律", "以后", "今后", "往后", "从现在", "从今", "永远", "總是", "始終", "以後", "今後", "從現在", "永遠", "时", "時"},
		compiled(chineseForm),
	},
}

// compiled is the expression of a form, which may be written on several lines.
func compiled(form string) *regexp.Regexp {
	return regexp.MustCompile(strings.ReplaceAll(form, "\n", ""))
}
