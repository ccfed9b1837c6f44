package builtin_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWhatPeopleSayOfThemselvesIsLearnt(t *testing.T) {
	for _, tc := range []struct{ said, text string }{
		{"Hi, I'm Bob", "Name is Bob."},
		{"I'm Margaret Liu", "Name is Margaret Liu."},
		{"My email is margaret@example.com", "Email is margaret@example.com."},
		{"From now on, call me Liz", "Goes by Liz."},
		{"Call me Liz instead, please", "Goes by Liz."},
		{"Llámame Liz, por favor.", "Quiere que le llamen Liz."},
		{"이제부터 리즈라고 불러 주세요", "이름은 리즈."},
		{"これからはリズと呼んでください", "リズと呼ばれたい。"},
		{"请叫我小王", "希望被叫做小王。"},
		{"I can't eat gluten", "Cannot eat gluten."},
		{"I cannot eat shellfish", "Cannot eat shellfish."},
		{"안녕! 나는 지수야. I work at Samsung as a backend engineer", "Works at Samsung."},
		{"안녕하세요, I'm Kim Minsu. 나 이제 Kakao 다녀", "Name is Kim Minsu."},
		{"안녕하세요, I'm Kim Minsu. 나 이제 Kakao 다녀", "이제 Kakao 다닌다."},
		{"こんにちは。 I'm allergic to nuts. よろしくね", "Is allergic to nuts."},
		{"Please answer in English from now on, 근데 편하게", "Answer in English from now on, 근데 편하게."},
		{"my sister Mia is allergic to peanuts", "Sister Mia is allergic to peanuts."},
		{"Sorry, I'm late. My husband Karim works nights, so mornings are quiet here.", "Husband Karim works nights."},
		{"We named our son after my late uncle Ravi.", "Named their son after their late uncle Ravi."},
		{"I teach a beginners' salsa class downtown.", "Teaches a beginners' salsa class downtown."},
		{"I've never been to the US.", "Has never been to the US."},
		{"Python을 Java보다 선호해", "Python을 Java보다 선호한다."},
		{"DB는 PostgreSQL로 결정했어요", "DB는 PostgreSQL로 결정했다."},
		{"나 비건이야", "비건이다."},
		{"아 참, 나 글루텐 못 먹어. 빵은 빼 줘.", "글루텐 못 먹는다."},
		{"내 동생 루이는 당뇨가 있어.", "동생 루이는 당뇨가 있다."},
		{"私はビーガンなんです。", "ビーガンなんです。"},
		{"データベースはPostgreSQLに決めました。", "データベースはPostgreSQLに決めました。"},
		{"弟のルイは糖尿病です。", "弟のルイは糖尿病です。"},
		{"看護師を11年やっていますが、今でも好きです。", "看護師を11年やっています。"},
		{"我对坚果过敏。", "对坚果过敏。"},
		{"对了，我不能吃麸质，面包就不要了。", "不能吃麸质。"},
		{"我弟弟路易有糖尿病。", "弟弟路易有糖尿病。"},
		{"我是护士，对虾过敏", "对虾过敏。"},
		{"对，我对花生过敏", "对花生过敏。"},
		{"我住在上海，对花生过敏，而且不吃辣", "对花生过敏。"},
		{"Mira, es que no puedo comer gluten, así que nada de pan.", "No puede comer gluten."},
		{"Uso un portátil con Fedora.", "Usa un portátil con Fedora."},
		{"Mi hermano Luis es diabético.", "Su hermano Luis es diabético."},
	} {
		t.Run(tc.said, func(t *testing.T) {
			var texts []string
			for _, f := range learntOf(t, tc.said) {
				texts = append(texts, f.Text)
				if f.Evidence[0].Quote == "" {
					t.Errorf("%q has no quote", f.Text)
				}
			}
			if !slices.Contains(texts, tc.text) || slices.Contains(texts, "Has a sister.") {
				t.Errorf("learnt %q, want %q", texts, tc.text)
			}
		})
	}
}

func TestOfWhatHoldsForTheMomentNothingIsKept(t *testing.T) {
	for _, said := range []string{
		"医者を呼んでください", "叫我起床",
		"I'm getting an error on line 3.", "I woke up late and missed breakfast.", "If I won the lottery I'd buy an island.", "I love that you explained it.",
		"Estoy leyendo tu respuesta.", "Si me tocara la lotería me compraba una isla.", "Creo que ya lo entiendo, gracias.",
		"12월 1일부터.", "3월 3일 오후 7시에", "12月1日から。", "从12月1日开始。",
		"지금 답변 읽고 있어.", "로또 되면 섬을 살 거야.", "회의가 취소돼서 한 시간 비었어.",
		"今、回答を読んでいます。", "宝くじが当たったら島を買うよ。", "話せて楽しかったです。",
		"我正在看你的回答。", "如果中了彩票我就买个岛。", "跟你聊天很愉快。",
	} {
		t.Run(said, func(t *testing.T) {
			if facts := learntOf(t, said); len(facts) > 0 {
				t.Errorf("learnt %q", facts[0].Text)
			}
		})
	}
}

func TestALaterValueTakesThePlaceOfAnEarlierOne(t *testing.T) {
	for dialogue, old := range map[string]string{
		"Vivo en Bilbao con mi pareja. / Me mudé a Granada el mes pasado.":      "Bilbao",
		"横浜に住んでいます。 / 先月大阪に引っ越しました。":                                            "横浜",
		"我住在杭州。 / 我上个月搬到成都了。":                                                   "杭州",
		"我住在北京 / 我上周搬到上海了":                                                      "北京",
		"나는 지수야. I work at Samsung. / 나 Coupang으로 이직했어!":                        "Samsung",
		"I work at Samsung / 나 이제 Kakao 다녀":                                     "Samsung",
		"我住在北京 / 我们最近搬到上海了":                                                     "北京",
		"My name is Jon / Sorry, my name is John with an h":                     "Jon.",
		"I'm Margaret Liu / Actually my name is Margaret Chen now":              "Liu",
		"Call me Liz / From now on call me Beth":                                "Liz",
		"Llámame Liz / Mejor llámame Beth":                                      "Liz",
		"リズと呼んでください / 今後はベスと呼んで":                                                "リズ",
		"叫我小王就好 / 以后请叫我老王":                                                      "小王",
		"My email is ada@old.example / My new email address is ada@new.example": "old",
		"저는 부산에 살아요. / 지난달에 서울로 이사했어요.":                                         "부산",
		"Our deadline is 3 March. / The deadline got moved to 10 April.":        "3 March",
		"Usamos MySQL en el proyecto. / Hemos pasado de MySQL a PostgreSQL 16.": "Usamos MySQL",
	} {
		t.Run(dialogue, func(t *testing.T) {
			holding := remembered(t, chat(linesOf(dialogue)))
			if len(holding) == 0 || slices.ContainsFunc(holding, func(f string) bool { return strings.Contains(f, old) }) {
				t.Errorf("holds %q", holding)
			}
		})
	}
}

// In a first conversation people introduce themselves, each in another way.
func TestAFirstConversationIsLearntFrom(t *testing.T) {
	for said, want := range map[string][]string{
		"Hola, soy Mina":                                        {"Se llama Mina."},
		"Muy buenas, soy Noemí Paz":                             {"Se llama Noemí Paz."},
		"Soy Lucía, de Granada, y doy clases de yoga":           {"Se llama Lucía, de Granada.", "Da clases de yoga."},
		"Buenas, me llamo Rodrigo pero todos me dicen Rodri":    {"Se llama Rodrigo.", "Todos le dicen Rodri."},
		"Hey there, the name's Priya but everyone calls me Pri": {"Name is Priya.", "Goes by Pri."},
		"안녕하세요, 김도윤이라고 합니다. 편하게 도윤이라고 불러주세요": {"이름은 김도윤.", "이름은 도윤."},
		"你好，我叫林小雨，叫我小雨就行":                    {"叫林小雨。", "希望被叫做小雨。"},

		"I used to be a nurse but I quit to open my own bakery":               {"Used to be a nurse.", "Left a job to open their own bakery."},
		"I got laid off from my bank job so I'm retraining as an electrician": {"Is training to become an electrician."},
		"Era enfermera pero lo dejé para abrir una panadería":                 {"Era enfermera pero lo dejó para abrir una panadería."},
		"I'm a night owl so mornings are rough for me":                        {"Is a night owl."},
		"저는 아침형 인간이에요":                                                        {"아침형 인간이다."},
		"보리라는 시바견을 키우고 있어요":                                                   {"보리라는 시바견을 키운다."},
		"我家养了一只柴犬，叫麦子":                                                        {"家里养了一只柴犬，叫麦子。"},
		"我是成都人，现在在杭州生活":                                                       {"是成都人。", "现在在杭州生活。"},
		"返事は短めに、敬語なしでお願いします":                                                  {"返事は短めに、敬語なしで。"},
		"Contéstame sin rodeos":                                               {"Contéstame sin rodeos."},
		"Respóndeme siempre en catalán.":                                      {"Respóndeme siempre en catalán."},
		"답은 짧게 해 주세요":                                                         {"답은 짧게 해 주세요."},
		"回答请简短一点":                                                             {"回答请简短一点。"},
		"No bullet points, please.":                                           {"No bullet points."},
		"The backend is written in Elixir.":                                   {"The backend is written in Elixir."},
		"CI runs on Buildkite.":                                               {"CI runs on Buildkite."},
		"El backend está escrito en Go.":                                      {"El backend está escrito en Go."},
		"Mis hijos se llaman Nora y Leo.":                                     {"Sus hijos se llaman Nora y Leo."},
		"我以前当老师":                                                              {"以前当老师。"},
		"名前はゆきです、京都に住んでいます":                                                   {"名前はゆき。", "京都に住んでいます。"},
		"I don't drink any more.":                                             {"Does not drink."},
		"I'm vegan, what can I eat in Japan?":                                 {"Is vegan."},
		"My daughter has asthma, which cities have clean air?":                {"Daughter has asthma."},
		"I don't need a visa, do I?":                                          nil,
		"Traduce al inglés: tengo dos perros. Vivo en Madrid.":                nil,
		"다음 글을 번역해 줘: 저는 서울에 살아요. 저는 의사예요.":                                   nil,
		"次の文を英訳してください：私は東京に住んでいます。犬を飼っています。":            nil,
		"请翻译成英文：我住在北京。我对花生过敏。":                          nil,
		"Respóndeme corto y sin tecnicismos, por favor": {"Respóndeme corto y sin tecnicismos."},
	} {
		t.Run(said, func(t *testing.T) {
			slices.Sort(want)
			if diff := cmp.Diff(want, stated(t, said)); diff != "" {
				t.Errorf("what is learnt (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAPlanForADayToComeIsKept(t *testing.T) {
	for said, want := range map[string]string{
		"I have my driving test next Friday":                        "Has their driving test on 8 May 2026.",
		"Flying to Tokyo on the 12th of May for a friend's wedding": "Flying to Tokyo on the 12th of May for a friend's wedding.",
		"I'm getting married in September":                          "Is getting married in September.",
		"El martes que viene inauguro una exposición de cerámica":   "El 12 de mayo de 2026 inaugura una exposición de cerámica.",
		"다음 주 화요일에 도자기 전시회를 열어요":                                    "2026년 5월 12일에 도자기 전시회를 연다.",
		"다음 달 3일에 운전면허 시험을 봐요":                                      "2026년 6월 3일에 운전면허 시험을 본다.",
		"来週の火曜日に陶芸の展示会を開きます":                                        "2026年5月12日に陶芸の展示会を開きます。",
		"下周二我要办一个陶艺展":                                               "2026年5月12日要办一个陶艺展。",
	} {
		t.Run(said, func(t *testing.T) {
			if diff := cmp.Diff([]string{want}, stated(t, said)); diff != "" {
				t.Errorf("what is learnt (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNoPlanIsReadIntoAQuestionAnErrandOrWhatWasCancelled(t *testing.T) {
	for _, said := range []string{
		"I have a question about my flight next week", "Can you help me plan my trip next month", "Let's talk about my exam next week",
		"I need to write a report about the wedding industry in June", "다음 주에 시험 범위가 뭐예요", "다음 주 날씨가 좋대요",
		"来週の会議は火曜日です", "下周二的天气怎么样", "请帮我写一份下周比赛的通知", "Hola, soy nueva aquí",
		"The name's not important", "I quit to go to bed",
		"Soy Batman", "Soy Dios", "Soy Papá Noel",
	} {
		t.Run(said, func(t *testing.T) {
			if facts := stated(t, said); len(facts) > 0 {
				t.Errorf("learnt %q", facts)
			}
		})
	}
}

// stated are the facts that a message states, sorted, without those that it takes back.
func stated(t *testing.T, said string) []string {
	t.Helper()
	var out []string
	for _, f := range learn(t, chat([]string{said})) {
		out = append(out, f.text)
	}
	slices.Sort(out)
	return out
}

func TestWhatIsNoNameIsNotLearntAsOne(t *testing.T) {
	for _, said := range []string{
		"I'm Korean American", "I'm Head Chef", "I'm South African", "I'm Team Lead", "This is New York", "Call me Tomorrow",
		"叫我起床吧", "医者を呼んで", "택시라고 불러도 돼", "Dime Más", "Soy Piscis", "Soy Ingeniera", "Soy Dios", "Soy Batman", "Soy Papá Noel", "我叫他起床", "夜型人間です", "看護師です", "元気です",
	} {
		t.Run(said, func(t *testing.T) {
			for _, f := range learntOf(t, said) {
				if f.Attribute == "name" || f.Attribute == "preferred_name" {
					t.Errorf("learnt %q", f.Text)
				}
			}
		})
	}
}
