package when

import "testing"

func TestAsksForATime(t *testing.T) {
	for _, query := range []string{
		"When did she move?", "when?", "What year did they meet?", "which month was it", "What time is the call?", "how long did it take",
		"What was the date of the trip?", "Since when does he run?", "What day is it?", "ＷＨＥＮ did she move?",
		"언제 이사했어?", "생일이 언제야?", "며칠이야?", "몇 월에 갔지?", "몇 시에 만나?", "얼마나 오래 살았어?", "무슨 요일이었지?", "언제부터 배웠어?",
		"いつ引っ越した?", "誕生日はいつですか", "何日でしたか", "何月に行った?", "何年", "どのくらいかかった?", "いつから習っていますか", "何曜日?",
		"你什么时候搬家的?", "什麼時候", "几月去的?", "哪年毕业的?", "哪一天", "住了多久?", "星期几?", "花了多长时间",
		"¿Cuándo se mudó?", "cuando se mudó?", "¿Desde cuando vive allí?", "¿Qué día es?", "¿En qué año nació?", "en qué mes fue",
		"¿Cuánto tiempo tardó?", "que dia fue", "Wann ist sie umgezogen?", "Seit wann läuft er?", "In welchem Jahr war das?", "Wie lange hat es gedauert?", //nolint:misspell // Spanish
	} {
		t.Run(query, func(t *testing.T) {
			if !Asks(query) {
				t.Errorf("%q asks for a time", query)
			}
		})
	}
}

func TestAsksForNoTime(t *testing.T) {
	for _, query := range []string{
		"", "What did she eat?", "Where was the whenever sign?", "how many dogs", "what dayglow paint", "언제나 그랬어", "언제든지 와", "며칠 전에 뭐 했어?",
		"몇 년 전에 갔던 곳은?", "いつも何を食べる?", "いつか行きたい場所は?", "何を食べた?", "你吃了什么?", "¿Qué comió?", "Me llamó cuando llegué", "Was hat sie gegessen?", "Wie geht es dir?", "¿Cuánto costó?", //nolint:misspell // Spanish
	} {
		t.Run(query, func(t *testing.T) {
			if Asks(query) {
				t.Errorf("%q asks for no time", query)
			}
		})
	}
}

func TestMentionsTime(t *testing.T) {
	for _, message := range []string{
		"I went there yesterday.", "Last Friday was fun", "three days", "We just met", "this summer we swim", "THIS MORNING", "in 2019", "two weeks ago",
		"since then", "In January", "my weekends", "어제 갔어", "이번 주에 해", "몇 년 전이야", "지난주에 샀어", "3월에 이사했어", "며칠 걸렸어", "작년이야", "주말에 봐", "화요일이야", "２０２３년",
		"昨日行った", "先週買った", "三月に引っ越した", "2年住んだ", "日曜日です", "最近始めた", "昨天去了", "上个月", "三天", "周末见", "刚刚到", "两周",
		"Fui ayer", "la semana pasada", "hace mucho", "en marzo", "mañana voy", "este verano", "el año que viene",
		"Gestern war ich dort", "letzte Woche", "am Montag", "im Januar", "diesen Sommer",
	} {
		t.Run(message, func(t *testing.T) {
			if !MentionsTime(message) {
				t.Errorf("%q mentions a time", message)
			}
		})
	}
}

func TestMentionsNoTime(t *testing.T) {
	for _, message := range []string{
		"", "I like dogs", "You may be right", "The summer was warm", "this is it", "12345 of them", "123 of them", "someday", "Lastly, no",
		"강아지가 좋아", "커피 한 잔", "이번에는 두 개 사", "我以前是老师", "¿Qué ha pasado?", "Se ve desde el balcón", "犬が好きです", "水を飲む", "我喜欢狗", "Me gustan los perros", "en verano no", "Ich mag Hunde", "Der Sommer ist schön", "😀",
	} {
		t.Run(message, func(t *testing.T) {
			if MentionsTime(message) {
				t.Errorf("%q mentions no time", message)
			}
		})
	}
}
