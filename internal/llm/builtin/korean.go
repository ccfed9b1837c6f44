package builtin

import (
	"strings"
	"unicode"
	"unicode/utf8"

	regexp "github.com/stratamem/strata/internal/lazyregexp"
)

var korean = grammar{
	sentence: regexp.MustCompile(`(?:[^.!?。~\n]|\.[\p{L}\p{N}])+[.!?。~…]*`),
	blocked: regexp.MustCompile(
		`\?|["“”'‘’「」『』]|ㅋㅋ|ㅎㅎ|😂|🤣|만약|만일|(?:이)?라면 |다면|으면 좋겠|면 좋겠|농담|장난|라고 (?:했|하더|말했|그랬|해|하는)|다고 (?:했|하더|말했|그랬|해|하는|들었)|(?:대요|래요|더라고요|더라|대|냬요)[.!~]*\s*$|` +
			`소설|번역|예를 들|예문|문장|대사|가사|역할|척 |것 같|거 같|아마|혹시|어쩌면|뻔했|뻔 했|예전에는|예전엔|어렸을 때|어릴 때|옛날|(?:까요|나요|을까|ㄹ까|할까|는지요|죠|세요|주세요|줘|줄래|해라|하자|합시다|볼래)[.!~]*\s*$|` +
			`(?:친구|엄마|아빠|어머니|아버지|부모님|동생|언니|누나|형|오빠|그녀|남편|아내|와이프|아들|딸|팀장|팀장님|동료|상사|남자친구|여자친구|남친|여친|사람들|사람|애들|선생님|할머니|할아버지|걔|그분|누가|다들|모두|당신|너|넌|네가)(?:들)?(?:은|는|이|가|도|께서)? `,
	),
	clauses: regexp.MustCompile(`,\s+|(?:지만|는데|은데|인데|아서|어서|라서)\s`),
	opener: regexp.MustCompile(
		`^(?:(?:네|예|응|아|아니요|아니|음|안녕하세요|안녕|반갑습니다|참|참고로|그리고|근데|그런데|그래서|사실|솔직히|일단|고마워요|감사합니다|맞아요|저기요|그냥|또|참 나|알고 보니|알고보니|검사 결과|앗|아 참|미안|죄송해요|혹시 몰라서 말씀드리면|지만|는데|은데|인데|아서|어서|라서)(?:[,.!~\s]+|$)|[,\s]+)*(?:(?:저는|전|나는|난|제가|내가|저도|나도|저희는|우리는|저희|우리|저|나)\s+)?(?:(?:요즘|요새|지금은|이제는|이제|인제|더 이상은|더 이상|더이상|더는|알고 보니|사실은|현재|최근에|최근|` + koDated + `|드디어|원래|평소에|보통|항상|정말|진짜|매우|아주|특히|개인적으로|결국|몇 년 전에)\s+)*`,
	),
	rules:  koreanRules,
	dated:  regexp.MustCompile(`(?:^|\s)((?:` + koDated + `)\s+)$`),
	event:  regexp.MustCompile(`[했왔갔꿨랐웠났었았였]다\.$`),
	trim:   strings.TrimSpace,
	person: func(s string) string { return s },
	name:   koreanName,

	inversions:  koInversions,
	enders:      koEnders,
	corrections: koCorrections,
	past:        koPast,
	join:        joinKorean,
}

// Pieces of patterns: an object of up to four words, how a statement ends in the polite, formal and plain style, and
// the copula.
const (
	koThing  = `(\S+?(?: \S+){0,3}?)`
	koHow    = `(?:(?:정말|진짜|아주|매우|너무|제일|가장|훨씬|더|특히|많이|무척|엄청|별로|다시|계속|열심히|처음으로)\s+)*`
	koDone   = `(?:어요|습니다|어|다|음|거든요|네요|답니다|지요|고요|구요)`
	koMade   = `(?:했` + koDone + `|함|해서요)`
	koIs     = `(?:이에요|이예요|예요|입니다|이야|야|이다|임|이고요|고요|거든요|이거든요|랍니다|이랍니다)`
	koHas    = `(?:있` + koDone + `|있음)`
	koDoes   = `(?:해요|합니다|해|한다|함|하는 편이에요|하는 편입니다|하거든요|해서요|한답니다|하고요)`
	koOngo   = `고 ?(?:있` + koDone + `)`
	koJobs   = `((?:\S+ ){0,2}\S*(?:개발자|프로그래머|교사|선생님|선생|교수|간호사|의사|수의사|약사|디자이너|학생|대학생|대학원생|고등학생|기획자|작가|변호사|회계사|엔지니어|요리사|셰프|연구원|공무원|기자|번역가|사진작가|화가|음악가|피아니스트|소방관|경찰관|경찰|은행원|회사원|직장인|프리랜서|주부|마케터|바리스타|데이터 분석가|분석가|건축가|승무원|군인|농부|상담사))`
	koFamily = `(아내|남편|와이프|딸|아들|강아지|고양이|반려견|반려묘|여자친구|남자친구|동생|언니|누나|형|오빠|회사)`
)

// koDated are words before a statement that say when that happened.
const koDated = `(?:지난|저번) ?주(?: [월화수목금토일]요일)?에|지난 [월화수목금토일]요일에|(?:지난|저번) ?달에|작년에|재작년에|올해|어제|그저께|그제|엊그제`

func ko(pattern string) *regexp.Regexp { return regexp.MustCompile(`^` + pattern + `$`) }

var koreanRules = []factRule{
	{"personal_info", 9, ko(`(?:제|내) 이름은 (\S+?)` + koIs), "이름은 $1.", "name", ownName, 0},
	{"personal_info", 9, ko(`(\S+?)(?:이라고|라고) (?:합니다|해요|불러 주세요|불러주세요|불러 줘|불러줘)`), "이름은 $1.", "name", ownName, 0},
	{
		"personal_info",
		8,
		ko(koThing + `에서? (?:혼자 |같이 |가족과 |가족이랑 )?(?:살아요|삽니다|살아|산다|살고 ?있` + koDone + `|살거든요|거주하고 ?있` + koDone + `|거주합니다)`),
		"$1에 산다.",
		"home_city",
		koLasting,
		0,
	},
	{"personal_info", 8, ko(koThing + `(으로|로|에) 이사(?:를)? ?(?:했|왔|갔|와서 살고 있)` + koDone), "$1$2 이사했다.", "home_city", koLasting, 0},
	{"personal_info", 8, ko(koThing + `(으로|로) (?:이직` + koMade + `|회사를 옮겼` + koDone + `)`), "$1$2 이직했다.", "employer", koLasting, 0},
	{"personal_info", 7, ko(`(?:(?:작년|올해|지난달|지난주)에? )?(결혼|이혼|약혼)(?:을)? ?` + koMade), "$1했다.", "marital_status", nil, 0},
	{"personal_info", 7, ko(`(미혼|기혼|싱글|돌싱)` + koIs), "$1이다.", "marital_status", nil, 0},
	{
		"personal_info",
		8,
		ko(koThing + `에서 (?:(\S+?)(?:으로|로) )?(?:일` + koDoes + `|일하` + koOngo + `|근무` + koDoes + `|근무하` + koOngo + `)`),
		"$1에서 일한다.",
		"employer",
		koWorkplace,
		0,
	},
	{"personal_info", 7, ko(koThing + `에 다(?:녀요|닙니다|녀|닌다|니고 ?있` + koDone + `|니거든요)`), "$1에 다닌다.", "", koPlaceOfStudy, 0},
	{"personal_info", 7, ko(koThing + `에 다(?:녀요|닙니다|녀|닌다|니고 ?있` + koDone + `|니거든요)`), "$1에 다닌다.", "employer", koLasting, 0},
	{"personal_info", 8, ko(koThing + `(으로|로) 일(?:` + koDoes + `|하` + koOngo + `)`), "$1$2 일한다.", "job_title", koLasting, 0},
	{"personal_info", 8, ko(koJobs + koIs), "직업은 $1.", "job_title", koLasting, 0},
	{"preference", 8, ko(`(채식주의자|비건|베지테리언)` + koIs), "$1이다.", "diet", nil, 0},
	{
		"personal_info",
		7,
		ko(`(?:올해 |이제 |벌써 )*(\d{1,3}|스무|스물\S+|서른\S*|마흔\S*|쉰\S*) ?살(?:` + koIs + `|(?:이|은)? ?(?:됐|되었)` + koDone + `)`),
		"$1살이다.",
		"age",
		nil,
		0,
	},
	{"personal_info", 8, ko(`(?:제|내) 생일은 (.+?월 ?.+?일)` + koIs), "생일은 $1.", "birthday", nil, 0},
	{"personal_info", 7, ko(`(?:(?:제|내|우리|저희) |우리 ?집 )?` + koFamily + ` 이름은 (\S+?)` + koIs), "$1 이름은 $2.", "$1_이름", nil, 2},
	{"personal_info", 9, ko(koThing + ` ?(?:알레르기|알러지)(?:가)? (?:좀 |심하게 )?` + koHas), "$1 알레르기가 있다.", "allergic_to_$1", koLasting, 0},
	{"personal_info", 8, ko(`(당뇨|천식|고혈압|저혈압|아토피|빈혈|편두통|불면증|우울증|비염)(?:이|가)? ?` + koHas), "$1이(가) 있다.", "", nil, 0},
	{
		"personal_info",
		7,
		ko(koThing + `(을|를)?( (?:한|두|세|네|다섯|여섯) ?마리)? (?:키워요|키웁니다|키워|키운다|키우` + koOngo + `|기르` + koOngo + `|길러요)`),
		"$1$2 $3 키운다.",
		"",
		koLasting,
		0,
	},
	{"personal_info", 7, ko(koThing + ` 출신` + koIs), "$1 출신이다.", "hometown", koLasting, 0},
	{"preference", 5, ko(`(?:제 |내 )?취미는 ` + koThing + koIs), "취미는 $1.", "", koLasting, 0},

	{"preference", 6, ko(`(?:가장|제일) 좋아하는 (\S+?)(은|는) ` + koThing + koIs), "가장 좋아하는 $1$2 $3.", "favorite_$1", koLasting, 3},
	{
		"preference",
		7,
		ko(koThing + `보다(?:는)? (.+?)(을|를|이|가) ` + koHow + `(?:좋아` + koDoes + `|선호` + koDoes + `|좋아요|좋습니다)`),
		"$1보다 $2$3 더 좋아한다.",
		either,
		koLasting,
		0,
	},
	{"preference", 6, ko(koThing + `(을|를)? ` + koHow + `(?:좋아` + koDoes + `|사랑` + koDoes + `)`), "$1$2 좋아한다.", "likes_$1", koLasting, 0},
	{"preference", 6, ko(koThing + `(을|를) ` + koHow + `선호` + koDoes), "$1$2 선호한다.", "likes_$1", koLasting, 0},
	{"preference", 5, ko(koThing + `(을|를) ` + koHow + `(?:즐겨요|즐깁니다|즐겨|즐긴다)`), "$1$2 즐긴다.", "likes_$1", koLasting, 0},
	{"preference", 6, ko(koThing + `(을|를)? ` + koHow + `싫어` + koDoes), "$1$2 싫어한다.", "likes_$1", koLasting, 0},
	{"preference", 6, ko(koThing + `(이|가) ` + koHow + `(?:싫어요|싫습니다|싫어|싫다|싫어졌` + koDone + `)`), "$1$2 싫다.", "likes_$1", koHard, 0},
	{
		"preference",
		6,
		ko(koThing + `(을|를|은|는)? ` + koHow + `(?:안 좋아` + koDoes + `|좋아하지 않(?:아요|습니다|아|는다))`),
		"$1$2 좋아하지 않는다.",
		"likes_$1",
		koLasting,
		0,
	},
	{
		"preference",
		7,
		ko(`(?:더 이상 |더는 |이제 |이제는 )?` + koThing + `(?:을|를|은|는)? (?:(?:전혀|아예|진짜|정말|절대|거의|잘) )*(안|못) (먹|마시|피우)(?:어요|습니다|어|는다|고 있어요|거든요|게 됐어요)`),
		"$1 $2 $3는다.",
		"does_$1",
		koLasting,
		0,
	},
	{
		"preference",
		7,
		ko(`(?:더 이상 |더는 |이제 |이제는 )?` + koThing + `(?:을|를|은|는)? (?:(?:전혀|아예|진짜|정말|절대|거의|잘) )*(안|못) (?:마셔요|마십니다|마셔|마신다)`),
		"$1 $2 마신다.",
		"does_$1",
		koLasting,
		0,
	},
	{
		"preference",
		7,
		ko(`(?:더 이상 |더는 |이제 |이제는 )?` + koThing + `(을|를|은|는) (먹|마시|피우|쓰)지 않(?:아요|습니다|아|는다|기로 했어요|고 있어요)`),
		"$1$2 $3지 않는다.",
		"does_$1",
		koLasting,
		0,
	},
	{"decision", 7, ko(`(담배|술|커피|고기|탄산음료|밀가루)(를|을)? 끊었` + koDone), "$1$2 끊었다.", "does_$1", nil, 0},

	{"decision", 7, ko(`(\S+(?: \S+){0,7}?기로) (?:했|결정했|마음먹었|정했|결심했)` + koDone), "$1 했다.", chosen, koDecided, 0},
	{"decision", 7, ko(koThing + `(을|를|으로|로) (?:골랐|선택했|결정했|정했)` + koDone), "$1$2 선택했다.", chosen, koLasting, 0},
	{"decision", 7, ko(koThing + `(으로|로) (?:바꿨|갈아탔|전환했|옮겼)` + koDone), "$1$2 바꿨다.", chosen, koLasting, 0},
	{"goal", 6, ko(koThing + `(을|를)? ` + koHow + `(배우|공부하|만들|개발하|준비하|구축하)` + koOngo), "$1$2 $3고 있다.", "", koPursued, 0},
	{"goal", 6, ko(koThing + `(을|를)? ` + koHow + `(?:공부|준비|개발) ?중` + koIs), "$1$2 준비하고 있다.", "", koLasting, 0},
	{"goal", 6, ko(koThing + `(이|가) 되고 싶` + koDone), "$1$2 되고 싶다.", "", koLasting, 0},
	{"goal", 7, ko(`(?:(?:제|내|올해) )?목표는 (\S+(?: \S+){0,5}?)` + koIs), "목표는 $1.", "", koLasting, 0},
	{
		"pain_point",
		6,
		ko(koThing + `(이|가|은|는) ` + koHow + `(?:어려워요|어렵습니다|어려워|어렵다|어렵네요|힘들어요|힘듭니다|힘들어|힘드네요|서툴러요|서툽니다|약해요)`),
		"$1$2 어렵다.",
		"",
		koHard,
		0,
	},
	{"pain_point", 6, ko(koThing + ` (?:게|것이) ` + koHow + `(?:어려워요|어렵습니다|어려워|어렵다|어렵네요|힘들어요|힘듭니다|힘들어|서툴러요)`), "$1 것이 어렵다.", "", koHard, 0},
	{"pain_point", 6, ko(koThing + `에 (?:많은 )?어려움을 (?:겪` + koOngo + `|느껴요|느낍니다)`), "$1에 어려움을 겪는다.", "", koLasting, 0},
}

// koVague are words that point at something said elsewhere or hold only now.
var koVague = regexp.MustCompile(
	`(?:^|\s)(?:첫 ?번째|두 ?번째|세 ?번째|마지막|위에|아래|이거|그거|저거|이것|그것|저것|그게|이게|저게|이걸|그걸|저걸|여기|거기|저기|이건|그건|이런|그런|저런|어떤|뭐|뭔가|아무|다|오늘|오늘은|지금|방금|내일|아까|이따|이따가|잠깐|너무|네|당신|그쪽|우리|너를|널|님을|이곳|그곳|집|밖|혼자|다시|여러분|이|그|저)(?:은|는|이|가|을|를|에|도|만)?(?:\s|$)`,
)

// koDenied ends an object that is denied: the verb of another rule.
var koDenied = regexp.MustCompile(`(?:^|\s)(?:안|못)$`)

// koForeign is a topic or subject other than the speaker before the object.
var koForeign = regexp.MustCompile(`^\S+(?:은|는|께서|에서는|에게는)\s`)

// koDescribes are adjectives that end like a topic.
var koDescribes = regexp.MustCompile(`^(?:짧은|많은|좋은|작은|높은|낮은|맑은|깊은|얇은|밝은|넓은|같은|늦은|젊은|굵은|붉은|검은|\S*있는|\S*없는|\S+하는) `)

const maxKoreanObject = 30

// koLasting accepts an object that means something on its own and belongs to the speaker.
func koLasting(object string) bool {
	n := utf8.RuneCountInString(object)
	return n > 0 && n <= maxKoreanObject && !koVague.MatchString(object) && !koDenied.MatchString(object) &&
		(!koForeign.MatchString(object) || koDescribes.MatchString(object))
}

var koNoWorkplace = regexp.MustCompile(`(?:카페|집|재택|야외|도서관|사무실|밖|자리|환경|상태)$`)

func koWorkplace(object string) bool { return koLasting(object) && !koNoWorkplace.MatchString(object) }

// koStudies are where one goes to learn, to train or to pray, not to work.
var koStudies = regexp.MustCompile(`(?:대|학교|대학|대학원|학원|유치원|어린이집|헬스장|헬스|체육관|수영장|요가|필라테스|교회|성당|절|병원|도서관|모임|동호회|교실|센터|스터디|수업)$`)

func koPlaceOfStudy(object string) bool { return koStudies.MatchString(object) && koLasting(object) }

// koErrands are decisions that are over soon.
var koErrands = regexp.MustCompile(
	`(?:오늘|내일|이따|다음 ?주|이번 ?주|회의|미팅|저녁에|점심|저녁|주말에|주말|만나기로|보기로|쉬기로|자기로|먹기로|가기로|놀기로|전화하기로|연락하기로|이야기하기로|산책하기로|시키기로|기다리기로)`,
)

func koDecided(object string) bool {
	n := utf8.RuneCountInString(object)
	return n > 0 && n <= maxKoreanObject && !koVague.MatchString(object) && !koErrands.MatchString(object)
}

// koMeals are in the making for an hour.
var koMeals = regexp.MustCompile(`(?:아침|점심|저녁|밥|식사|요리|간식|커피|보고서|발표|발표 자료|회의|답변|함수|파일|표|목록)$`)

func koPursued(object string) bool { return koLasting(object) && !koMeals.MatchString(object) }

// koPassing are hard for a moment, not for good.
var koPassing = regexp.MustCompile(
	`^(?:몸|마음|하루|일|일이|아침|월요일|상황|사는 것|사는 게|인생|이해|문제|시험|생각보다|날씨|기분|운동|말|말하기|요즘|결정|선택|설명|코드|파일|버그|에러|오류|설정|함수|과제|숙제|문장|질문|발표|면접|출근)$`,
)

func koHard(object string) bool { return koLasting(object) && !koPassing.MatchString(object) }

// koNoNames are what stands where a name may stand.
var koNoNames = regexp.MustCompile(`^(?:비밀|뭐|무엇|없|아직|생각|좋다|싫다|그렇|이렇|저렇|편하게|아무)`)

func ownName(object string) bool {
	n := utf8.RuneCountInString(object)
	return n >= 2 && n <= 20 && !koNoNames.MatchString(object)
}

func koreanName(object string) string {
	return strings.Join(
		strings.FieldsFunc(strings.ToLower(object), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }),
		"_",
	)
}
