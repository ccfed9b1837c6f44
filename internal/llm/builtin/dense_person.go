package builtin

import (
	"strings"
	"unicode/utf8"

	regexp "github.com/stratamem/strata/internal/lazyregexp"
)

// koFinalSs is the place of the final ㅆ among the finals of a Hangul syllable: it makes a past.
const (
	koFirst, koLast = '가', '힣'
	koFinals        = 28
	koFinalSs       = 20
)

var koreanRetelling = retelling{
	clauses: regexp.MustCompile(`,\s+|;\s`),
	opener: regexp.MustCompile(
		`^(?:(?:네|예|응|아|아니요|아니|음|안녕하세요|안녕|반가워요?|반갑습니다|참|참고로|그리고|근데|그런데|그래서|사실|사실은|솔직히|일단|고마워요?|감사합니다|맞아요?|저기요|그냥|또|알고 보니|앗|아 참|와|헐|그럼|하여튼|아무튼|저는|전|나는|난|제가|내가|저도|나도|저희는|우리는|저희|우리|저|나|제|내)(?:[,.!~\s]+|$)|[,\s]+)*`,
	),
	person: personKorean,
	quoted: func(clause string) string { return `"` + clause + `"라고 한다.` },
	stop:   ".",
	worth:  1,
	topic: regexp.MustCompile(
		`^(?:팀 |우리 |주간 |정기 )?(회의|미팅|마감일?|출시일?|예산|월세|연봉|시험|비행기|결혼식|전화번호|주소|노트북|핸드폰|폰|사무실|스탠드업|스크럼|면접|발표|수업|배포|[^\s]{1,6} 색|좋아하는 \S+?)(?:은|는|이|가|일은) .*(?:예요|이에요|이야|입니다|로|있어|있어요|잡혔\S*|바뀌었\S*|바꿨\S*|옮겼\S*|옮겨졌\S*|변경\S*|미뤄졌\S*|연기\S*|당겨졌\S*|해|해요)$`,
	),
	personal: regexp.MustCompile(`.`),
	others: regexp.MustCompile(
		`^(?:\S*(?:친구|엄마|아빠|어머니|아버지|부모님|동생|언니|누나|형|오빠|남편|아내|와이프|아들|딸|사람|동료|팀장님?|할머니|할아버지|이모|삼촌))(?:들)?(?:은|는|이|가|께서|도)?\s`,
	),
	empty: regexp.MustCompile(
		`(?:^|\s)(?:너|네가|너를|너한테|당신|그쪽|이거|그거|이게|그게|이걸|그걸)(?:\s|$)|(?:줘|주세요|줄래|해라|하자|할게|할게요|볼게|볼게요|을게|올게|갈게|보자|가자|세요|십시오|겠어요?|겠다|네요?|구나|군요?|지요?|죠|까요?|나요|려고|어서|아서|해서|미안|면)$|^(?:카페|집|도서관|사무실)에서 일하고`,
	),
	attributes: []property{
		{"name", regexp.MustCompile(`^(?:이름은 |제 이름은 |내 이름은 )?\S{2,6}(?:이라고|라고) (?:해요|합니다|해|하고|불러)`)},
		{
			"home_city",
			regexp.MustCompile(
				`^(?:(?:나|저는|난|지금|지금은|이제|이제는|현재|요즘|저번 달에|지난달에|지난주에 이사했어|이사했어|이사해서) )*\S{1,12}(?:에서|에)? (?:살아|살고|산다|삽니다|살거든|거주|자취)|^(?:\S+ )?\S*(?:로|으로) 이사 ?(?:했|왔|갔)`,
			),
		},
		{"diet", regexp.MustCompile(`(?:비건|채식주의자|채식)(?:이|을|예|입|야| )`)},
		{"diet", regexp.MustCompile(`^(?:(?:이제|이제는|요즘|요즘은|다시) )+(?:고기|생선|육류)(?:를|을|도)? (?:다시 )?(?:먹|먹는|먹고)`)},
		{"wake_up_time", regexp.MustCompile(`^(?:(?:이제|이제는|요즘|요즘은|매일|보통|항상|아침|아침에) )*\S{1,4}시(?: ?반)?에 일어나`)},
		{"car", regexp.MustCompile(`^(?:(?:이제|이제는|요즘|지금은|차는|자동차는|차로) )+[^\s]{2,8}(?:을|를) (?:타|타요|타고|탄다|몰아|몰고|몰아요)`)},
		{"employer", regexp.MustCompile(`^(?:(?:이제|이제는|지금|지금은|현재|현재는) )*(?:[^\s]{2,12}(?:에|에서) (?:다녀|다닙니다|다니고|다닌다|일해|일하고|일합니다|근무)|[A-Z][A-Za-z]{1,11} (?:다녀|다닙니다|다니고|다닌다))`)},
		{"marital_status", regexp.MustCompile(`^(?:\S+ ){0,2}(?:결혼|이혼|약혼)(?:했|한 지)`)},
	},
}

var (
	koEnding = regexp.MustCompile(`(?:이에요|이예요|이야|입니다|이거든요|이고요)$`)
	koMine   = regexp.MustCompile(`(?:^|\s)(?:나|내|나를|날|나한테|나에게|내가|제|저|저를|저한테|저에게|제가|우리|저희)(?:\s|$)`)
)

// koPlain are endings in the plain style, longest first.
var koPlain = [...][2]string{
	{"하고 있어요", "하고 있다"},
	{"하고 있어", "하고 있다"},
	{"있어요", "있다"},
	{"있어", "있다"},
	{"있습니다", "있다"},
	{"없어요", "없다"},
	{"없어", "없다"},
	{"없습니다", "없다"},
	{"써요", "쓴다"},
	{"써", "쓴다"},
	{"살아요", "산다"},
	{"살아", "산다"},
	{"다녀요", "다닌다"},
	{"다녀", "다닌다"},
	{"먹어요", "먹는다"},
	{"먹어", "먹는다"},
	{"마셔요", "마신다"},
	{"마셔", "마신다"},
	{"키워요", "키운다"},
	{"키워", "키운다"},
	{"가요", "간다"},
	{"예요", "이다"},
	{"싶어요", "싶다"},
	{"싶어", "싶다"},
}

// koVerbNouns are nouns of what one does: "…해" after them is a verb, not an adjective.
var koVerbNouns = regexp.MustCompile(
	`(?:일|선호|좋아|싫어|공부|사용|운영|관리|준비|생각|개발|운동|원|게|근무|활동|전공|배포|작업|요리|봉사|산책|축구|여행|거주|출근|퇴근|연주|수집|사랑|노래|담당|이용|작성|기록|저장|호스팅)(해요|해|합니다)$`,
)

// personKorean is a clause without its speaker, in the plain style where its ending is known.
func personKorean(clause string) (string, bool) {
	if koMine.MatchString(clause) {
		return "", false
	}
	return koPlainly(clause), true
}

func koPlainly(clause string) string {
	for _, ending := range [...]string{"어요", "습니다", "거든요", "네요", "어"} {
		stem, ok := strings.CutSuffix(clause, ending)
		if last, _ := utf8.DecodeLastRuneInString(stem); ok && last >= koFirst && last <= koLast && int(last-koFirst)%koFinals == koFinalSs {
			return stem + "다"
		}
	}
	if koEnding.MatchString(clause) {
		return koEnding.ReplaceAllString(clause, "이다")
	}
	if m := koVerbNouns.FindStringSubmatch(clause); m != nil {
		return strings.TrimSuffix(clause, m[1]) + "한다"
	}
	for _, e := range koPlain {
		if stem, ok := strings.CutSuffix(clause, e[0]); ok && stem != "" {
			return stem + e[1]
		}
	}
	return clause
}

var japaneseRetelling = retelling{
	clauses: regexp.MustCompile(`(?:けど|けれど|が|し|から)、|ので、?|です、|、今は`),
	opener: regexp.MustCompile(
		`^(?:(?:はい|うん|ええ|いえ|いや|あの|えっと|まあ|ちなみに|実は|じつは|そういえば|あと|それと|それに|でも|だから|こんにちは|はじめまして|初めまして|ありがとう(?:ございます)?|そうですね|そうだね|けど|けれど|が|し|ので|から|私は|僕は|俺は|わたしは|ぼくは|私、|僕、|私も|僕も|私が|僕が)、?|[、\s]+)*(?:うちの)?`,
	),
	person: personJapanese,
	quoted: func(clause string) string { return "「" + clause + "」と話している。" },
	stop:   "。",
	worth:  1,
	topic: regexp.MustCompile(
		`^(?:チームの|うちの|週次の|定例の)?(会議|ミーティング|定例|締め切り|締切|リリース|ローンチ|予算|家賃|給料|試験|フライト|結婚式|住所|電話番号|車|パソコン|スマホ|オフィス|スタンドアップ|スクラム|面接|発表|授業|デプロイ|好きな\p{Han}{1,3})[はが].*(?:です|だ|予定|になりました|になった|変わりました|変わった|変更\S*|移りました|延期\S*|あります)$`,
	),
	personal: regexp.MustCompile(`.`),
	empty:    regexp.MustCompile(`(?:ください|下さい|お願いします|お願い|ね|かな|でしょう|ましょう|よう|て|って|だろう|みよう|たいです|ごめん|なさい)$|あなた|君の|そちら|^(?:それ|これ|あれ|その|この|あの)`),
	attributes: []property{
		{"name", regexp.MustCompile(`^\p{Han}{1,4}(?:です|といいます|と申します|って(?:いいます|言います))$`)},
		{"name", regexp.MustCompile(`^(?:私の|僕の)?名前は|と申します$`)},
		{"home_city", regexp.MustCompile(`^(?:(?:先月|先週|今月|去年|この前|最近)?引っ越して、?)?(?:今は|現在は?|いまは)?[^はが]{1,20}に(?:住んで|引っ越しました|引っ越した|引っ越してき|越してき)`)},
		{"employer", regexp.MustCompile(`^(?:今は|現在は?)?[^はが]{1,25}(?:に勤めて|で働いて|で働き始め|に転職し|に入社し|に就職し)`)},
		{
			"job_title",
			regexp.MustCompile(
				`^(?:今は|現在は?)?[^はが]{0,12}(?:として働い|(?:エンジニア|看護師|教師|先生|医師|医者|弁護士|デザイナー|プログラマー|会計士|建築家|料理人|公務員|研究者|記者|美容師|薬剤師|保育士|イラストレーター|大学生|会社員)(?:です|だ|をして|をやって))`,
			),
		},
		{"diet", regexp.MustCompile(`^(?:今は|また|最近は?|最近また)?(?:お?肉|魚)を?(?:また)?食べ(?:るようになり|るようになっ|始め|ています|ている)`)},
		{"wake_up_time", regexp.MustCompile(`^(?:今は|いまは|最近は|毎日|毎朝|だいたい|いつも|朝)*[0-9０-９一二三四五六七八九十]{1,2}時(?:半|[0-9一二三四五十]+分)?に(?:は)?起き`)},
		{"car", regexp.MustCompile(`^(?:今は|車は|愛車は|マイカーは|最近は|今の車は)+[^はがバ電自]{2,12}(?:に乗って|です)`)},
		{"diet", regexp.MustCompile(`^(?:今は|もう)?(?:ビーガン|ヴィーガン|ベジタリアン|菜食)`)},
		{"marital_status", regexp.MustCompile(`^(?:もう|去年|先月|今は)?(?:結婚して|結婚しました|離婚し|独身|婚約し)`)},
		{"age", regexp.MustCompile(`^(?:今年で?)?[0-9０-９]{1,3}歳`)},
		{"birthday", regexp.MustCompile(`^(?:私の|僕の)?誕生日は`)},
	},
}

var (
	jaMine    = regexp.MustCompile(`^(?:私|僕|俺|わたし|ぼく)(?:たち)?の`)
	jaSpeaks  = regexp.MustCompile(`私|僕|俺|わたし|ぼく`)
	jaTrailer = regexp.MustCompile(`(?:んだよね|んですよね|んですよ|んだよ|よね|ですよ|だよ|ますよ|けど|けれど)$`)
)

// jaTrailed is what a clause ends with, without what only speaks to the listener.
var jaTrailed = map[string]string{
	"んだよね":  "",
	"んですよね": "んです",
	"んですよ":  "んです",
	"んだよ":   "",
	"よね":    "",
	"ですよ":   "です",
	"だよ":    "だ",
	"ますよ":   "ます",
	"けど":    "",
	"けれど":   "",
}

// personJapanese is a clause without its speaker.
func personJapanese(clause string) (string, bool) {
	written := jaMine.ReplaceAllString(clause, "")
	if trailer := jaTrailer.FindString(written); trailer != "" {
		written = strings.TrimSuffix(written, trailer) + jaTrailed[trailer]
	}
	written = strings.TrimSuffix(written, "な")
	return written, !jaSpeaks.MatchString(written) && written != ""
}

var chineseRetelling = retelling{
	clauses: regexp.MustCompile(`[，,；;]\s*`),
	opener: regexp.MustCompile(
		`^(?:对[，,、！!。\s]+|(?:嗯+|对了|是的|是啊|好的|好吧|哈哈+|其实|说实话|另外|还有|而且|不过|但是|但|所以|因为|然后|顺便说一下|顺便|话说|你好|您好|大家好|谢谢你?|哦|啊|那个|就是)[，,、！!。\s]*|[，,；;\s]+)*`,
	),
	person: personChinese,
	quoted: func(clause string) string { return "说：“" + clause + "。”" },
	stop:   "。",
	worth:  1,
	topic: regexp.MustCompile(
		`^(?:我们?的?|团队的?|每周的?)?(会议|例会|站会|截止日期|上线时间|上线日期|发布时间|预算|房租|工资|考试|航班|婚礼|地址|电话|电脑|手机|办公室|面试|汇报|部署时间|最喜欢的\p{Han}{1,3}?)(?:是|在|改到|改成|改在|换成|换到|定在|推迟到|提前到|最多|每周|现在|已经).+`,
	),
	personal: regexp.MustCompile(`.`),
	empty:    regexp.MustCompile(`你|您|^(?:这|那|它|请|帮|把(?:它|这|那)|给我|再|让我|祝)|(?:吧|吗|呢|呀|哦|啦|一下|看看|这个|那个|不要了)$`),
	attributes: []property{
		{"name", regexp.MustCompile(`^我(?:的名字)?(?:叫|是叫)|^我的名字是`)},
		{"preferred_name", regexp.MustCompile(`^(?:大家|朋友们?|同事们?|家里人?|家人)都?叫我`)},
		{"home_city", regexp.MustCompile(`^(?:(?:我们?|这周|上周|上个月|刚|已经)*搬家了[，\s])?(?:我们?|咱们)?(?:现在|目前|已经|上个?月|上周|上个?星期|这周|这个?月|昨天|前天|最近|前不久|不久前|今年|去年|刚|刚刚|又|家)*(?:住在|住到|搬到|搬去|搬来|搬回|定居在?)`)},
		{"employer", regexp.MustCompile(`^我?(?:现在|目前|刚|上周|上个月)*在\S+(?:上班|工作|就职|任职)|^我?(?:现在|刚|上周|上个月)*(?:入职|跳槽到|加入了?)`)},
		{
			"job_title",
			regexp.MustCompile(`^我?(?:现在|目前)?(?:是|在\S+当|当)\S{0,8}(?:护士|老师|教师|医生|程序员|工程师|设计师|律师|会计|厨师|记者|学生|公务员|研究员|画师|司机|经理|产品经理|分析师)`),
		},
		{"diet", regexp.MustCompile(`^我?(?:现在|已经|又|重新|开始)*(?:是)?(?:吃素|素食|纯素|吃肉)`)},
		{"wake_up_time", regexp.MustCompile(`^我?(?:现在|每天|一般|通常|都|早上|平时)*[0-9一二三四五六七八九十]{1,2}点(?:半|[0-9一二三四五十]+分)?(?:就|才)?起床`)},
		{"car", regexp.MustCompile(`^我?(?:现在|平时)?开(?:的是)?(?:一?辆|一?台)`)},
		{"marital_status", regexp.MustCompile(`^我们?(?:已经|去年|刚|上个月)*(?:结婚|离婚|订婚|单身)`)},
		{"age", regexp.MustCompile(`^我?(?:今年|刚满|已经)*[0-9一二三四五六七八九十]{1,4}岁`)},
		{"birthday", regexp.MustCompile(`^我?的?生日是?`)},
	},
}

var (
	zhHome  = regexp.MustCompile(`^我们?家的?`)
	zhMine  = regexp.MustCompile(`^(?:我们?的?|咱们?的?|本人)`)
	zhAfter = regexp.MustCompile(
		`^((?:现在|目前|最后|后来|最近|去年|今年|明年|上周|上个月|下个月|下周|昨天|前天|春天|夏天|秋天|冬天|以前|平时|周末|每天|每周\S|每年|从小|大学时?|\p{Han}{1,4}月份?|\p{Han}{1,4}号|数据库|前端|后端|标志|设计|早上|晚上|今年\p{Han}天)，?)(?:我们?|咱们?)`,
	)
	zhSpeaks = regexp.MustCompile(`我|咱`)
)

// personChinese is a clause without its speaker.
func personChinese(clause string) (string, bool) {
	written := clause
	if zhHome.MatchString(written) {
		written = zhHome.ReplaceAllString(written, "家里的")
	} else {
		written = zhAfter.ReplaceAllString(zhMine.ReplaceAllString(written, ""), "$1")
	}
	return written, !zhSpeaks.MatchString(written) && written != ""
}
