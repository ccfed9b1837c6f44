package builtin_test

import (
	"slices"
	"strings"
	"testing"
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
			holding := remembered(t, chat(strings.Split(dialogue, " / ")))
			if len(holding) == 0 || slices.ContainsFunc(holding, func(f string) bool { return strings.Contains(f, old) }) {
				t.Errorf("holds %q", holding)
			}
		})
	}
}

func TestWhatIsNoNameIsNotLearntAsOne(t *testing.T) {
	for _, said := range []string{
		"I'm Korean American", "I'm Head Chef", "I'm South African", "I'm Team Lead", "This is New York", "Call me Tomorrow",
		"叫我起床吧", "医者を呼んで", "택시라고 불러도 돼", "Dime Más",
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
