package intent

import "github.com/stratamem/strata/internal/text"

// AsksReply reports whether a query asks for what its reader said before: "What did you recommend for the balcony?", "네가
// 추천해 준 식당이 어디였지?". Whoever asks so is not helped by words of his own. "What do you recommend?" asks for something new.
// The forms are English, Spanish, Korean, Japanese and Chinese.
func AsksReply(query string) bool {
	folded := fold(text.Clip(query, maxTelling))
	for _, f := range replyForms {
		if f.isIn(folded) {
			return true
		}
	}
	return false
}

const (
	repliedEN    = `(?:recommended|suggested|advised|told|said|explained|proposed|mentioned|gave|given|described|outlined|provided|listed|wrote|written|showed|shown|answered|replied|promised|offered|came up with|drafted|shared|pointed out)`
	replyEN      = `(?:recommend|suggest|advise|tell|say|explain|propose|mention|give|describe|outline|provide|list|write|show|answer|reply|offer|come up with|draft|share|point out)`
	englishReply = `\b(?:did|didn['’]t) you (?:just |ever |already |originally |first |also |once )?` + replyEN + `\b|\b(?:have|had|haven['’]t) you (?:just |ever |already |once )?` + repliedEN + `\b|` +
		`\byou(?:['’]d| had|['’]ve| have)? (?:just |once |already |originally |first |also |previously |earlier )?` + repliedEN + `\b|\byour (?:\w+ )?(?:recommendation|advice|suggestion|answer|reply|explanation|response|tip|proposal|draft)s?\b`
	spanishReply = `\b(?:me |nos )?(?:recomendaste|sugeriste|aconsejaste|dijiste|explicaste|propusiste|mencionaste|diste|describiste|listaste|escribiste|mostraste|respondiste|contestaste|ofreciste|comentaste|contaste)\b|` +
		`\b(?:has|habias) (?:recomendado|sugerido|aconsejado|dicho|explicado|propuesto|mencionado|dado|descrito|escrito|mostrado|respondido|contestado|comentado)\b|\btus? (?:recomendacion|consejo|sugerencia|respuesta|explicacion|propuesta)(?:s|es)?\b`
	koreanReply = `(?:네가|니가|너가|당신이|너는|당신은|비서가|ai가|어시스턴트가).{0,20}(?:추천|제안|조언|권|말|알려|설명|소개|답|써|적어|가르쳐)[^ ]* ?(?:준|줬|했|한|해줬|주었|던)|` +
		`(?:추천|제안|조언|설명|소개|권)해 ?(?:준|줬|주었|주신|주셨)|(?:알려|가르쳐) ?(?:준|줬|주었|주신|주셨)|(?:네|너의|당신의) (?:추천|제안|조언|답변|대답|설명)`
	japaneseReply = `(?:勧めて|すすめて|薦めて|教えて|提案して|説明して|紹介して|答えて|書いて|アドバイスして)(?:くれ(?:た|て(?:い)?た|ました)|もら(?:った|いました)|いただ(?:いた|きました))|(?:あなた|君|きみ|お前)(?:が|は).{0,20}(?:勧めた|すすめた|薦めた|言った|言って(?:い)?た|提案した|答えた)|(?:あなた|君)の(?:おすすめ|提案|助言|アドバイス|回答|答え|説明)`
	chineseReply  = `[你您](?:之前|以前|上次|曾经|曾|刚才|当时|那天|先前|給我|给我|跟我|向我|对我|對我|为我)*(?:推荐|建议|說|说|告诉|提到|提|讲|解释|介绍|列|写|给|推薦|建議|告訴|解釋|介紹|列出|回答|答复)(?:过|過|了|给我的|給我的|我的|的)|[你您](?:之前|上次|以前|先前)(?:给|給|跟|向|对|對)?我?(?:推荐|建议|说|說|告诉|提|讲|解释|介绍|列|写|推薦|建議)|[你您]的(?:建议|推荐|回答|答复|解释|建議|推薦)`
)

// replyForms are what such queries of each language have.
var replyForms = []sentenceForm{
	{[]string{"you"}, compiled(englishReply)},
	{[]string{"ste", "has ", "habias ", "tu ", "tus "}, compiled(spanishReply)},
	{[]string{"추천", "제안", "조언", "권", "말", "알려", "설명", "소개", "답", "써", "적어", "가르쳐"}, compiled(koreanReply)},
	{[]string{"て", "た", "の"}, compiled(japaneseReply)},
	{[]string{"你", "您"}, compiled(chineseReply)},
}
