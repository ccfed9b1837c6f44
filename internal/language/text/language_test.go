package text_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/text/unicode/norm"

	"github.com/stratamem/strata/internal/language/text"
)

// meet reports whether a query has a term of a message.
func meet(query, message string) bool {
	terms := text.Terms(message)
	return slices.ContainsFunc(text.Terms(query), func(t string) bool { return slices.Contains(terms, t) })
}

func wantTerms(t *testing.T, in, want string) {
	t.Helper()
	if diff := cmp.Diff(want, strings.Join(text.Terms(in), " ")); diff != "" {
		t.Errorf("terms of %q (-want +got):\n%s", in, diff)
	}
}

func wantMeetings(t *testing.T, pairs map[string]string) {
	t.Helper()
	for query, message := range pairs {
		if !meet(query, message) {
			t.Errorf("%q has %q, which %q with %q does not", query, text.Terms(query), message, text.Terms(message))
		}
	}
}

func wantStrangers(t *testing.T, pairs map[string]string) {
	t.Helper()
	for query, message := range pairs {
		if meet(query, message) {
			t.Errorf("%q with %q meets %q with %q", query, text.Terms(query), message, text.Terms(message))
		}
	}
}

func TestKorean(t *testing.T) {
	t.Run("a noun is found with every particle and inside compounds", func(t *testing.T) {
		particles := strings.Fields("이 가 은 는 을 를 과 와 의 도 만 에 에서 에게 한테 까지 부터 처럼 보다 으로 로 이랑 랑 에서는 까지도 에는 이에요 예요 입니다 이야 들이 하고 이었어요")
		for _, noun := range strings.Fields("사과 포도 수도 종이 회의 주의 나이 광고 라면 창고 의자 바다 가게 시계 지하 아이 고기 결과 도로 온도 커피 자리 다리 머리 여행 학교 친구 가족 음악 영화 사진") {
			for _, particle := range particles {
				wantMeetings(t, map[string]string{noun: noun + particle, noun + particle: noun})
			}
			wantMeetings(t, map[string]string{noun: "새" + noun + "집"})
		}
	})
	t.Run("what clings to a word is no term", func(t *testing.T) {
		wantTerms(t, "고구마를", "고 고구 구 구마 마")
		wantTerms(t, "고구마가", "고 고구 구 구마 마")
		wantTerms(t, "나는 그것을 어디에서 했어요?", "")
	})
	t.Run("forms of a verb meet", func(t *testing.T) {
		wantMeetings(t, map[string]string{
			"마셨어요": "마시고", "마십니다": "마셔요", "배웠어": "배우는", "샀어?": "사려고", "여행했어요": "여행", "수영하러": "수영을",
			"달려": "달리는", "걱정됐어": "걱정", "먹었습니다": "먹고", "학생이었다": "학생", "만나셨어": "만나요", "좋아하나요": "좋아해요", "좋아하는": "좋아했던", "맛있었습니다": "맛있는",
		})
	})
	t.Run("forms of an irregular verb meet", func(t *testing.T) {
		wantMeetings(t, map[string]string{
			"구웠어?": "굽고 있어", "더웠지?": "너무 덥네", "도와줬어?": "동생을 돕는다", "물어봤어?": "길을 묻다가", "예약해 줬어?": "식당을 예약해줬어", "예약했어?": "예약해주셨어", "걸었어?": "걷다가 비를 만났어", "지었어?": "집을 짓고", "썼어?": "편지를 쓰는 중",
			"커?": "방이 크고", "울었어?": "아기가 우는 소리", "어디 살아?": "부산에 삽니다", "흘렀어?": "강이 흐르거든", "골랐어?": "색을 고르기로", "뭐라고 불러?": "삼촌이라고 부르지",
			"더운 날": "그날은 덥고", "무거웠어?": "짐이 무겁다",
		})
	})
	t.Run("one syllable finds the words that hold it", func(t *testing.T) {
		wantMeetings(t, map[string]string{"강": "어제 한강에서 걸었어", "물": "물을 마셨어", "차": "새 차가 왔다", "산": "등산을 좋아해"})
	})
}

func TestJapanese(t *testing.T) {
	t.Run("widths, Kana and forms of composition are one", func(t *testing.T) {
		wantMeetings(t, map[string]string{
			"りんご": "リンゴを買った", "ﾘﾝｺﾞ": "りんごが好き", "サーバ": "サーバーを直した", norm.NFD.String("がっこう"): "ガッコウ",
		})
	})
	t.Run("particles and endings are no terms", func(t *testing.T) {
		wantTerms(t, "食べました", "食")
		wantTerms(t, "これは何ですか", "")
		wantTerms(t, "猫がとてもかわいいです", "猫 かわ")
	})
	t.Run("forms of a word meet in its root", func(t *testing.T) {
		wantMeetings(t, map[string]string{"飲みましたか": "コーヒーを飲む", "楽しかった": "楽しい旅行", "引っ越した": "引越しの日"})
	})
	t.Run("one character finds the words that hold it", func(t *testing.T) {
		wantMeetings(t, map[string]string{"水": "水曜日に泳ぐ", "犬": "子犬がいる", "人": "百人来た"})
	})
	t.Run("roots that are function words in Chinese are found", func(t *testing.T) {
		wantMeetings(t, map[string]string{"誰と会った?": "友達に会えた", "何を話した?": "話せてよかった", "来たのは誰?": "姉が来ます"})
	})
}

func TestChinese(t *testing.T) {
	t.Run("function words are no terms", func(t *testing.T) {
		wantTerms(t, "你的猫呢？", "猫")
		wantTerms(t, "什么时候", "")
	})
	t.Run("one character finds the words that hold it", func(t *testing.T) {
		wantMeetings(t, map[string]string{"水": "我昨天喝水了", "茶": "他喜欢绿茶", "买": "买了一本书"})
	})
	t.Run("a word is found in whatever stands around it", func(t *testing.T) {
		wantMeetings(t, map[string]string{"自行车": "我的自行车被偷了", "京都": "上周去京都旅行"})
	})
}

func TestSpanish(t *testing.T) {
	t.Run("forms of a word meet", func(t *testing.T) {
		wantMeetings(t, map[string]string{
			"¿Cuándo compró la casa?": "Ayer compramos unas cosas para las casas", "las canciones": "La canción es de mi hermana",
			"¿Qué aprende el niño?": "La niña está aprendiendo a nadar",
		})
	})
	t.Run("stop words are no terms", func(t *testing.T) {
		wantTerms(t, "¿Dónde está y qué es lo que tiene?", "")
	})
	t.Run("a query of one word meets texts of both languages", func(t *testing.T) {
		wantMeetings(t, map[string]string{
			"montaña": "Fuimos a las montañas con mi tía", "montana": "la montaña es muy alta", "viaje": "los viajes de mi padre", "casa": "Vendimos las casas de la playa",
			"Casa": "we ate at la Casa in Austin", "café": "the cafe is on the corner", "cafe": "un café con leche", "hotel": "el hotel de los padres",
		})
	})
	t.Run("forms of a verb whose stem changes meet", func(t *testing.T) {
		wantMeetings(t, map[string]string{
			"¿Qué pidió Luis?": "Siempre pido tacos con mi hermano", "¿Dónde duerme el gato?": "Anoche durmió en la cama", "¿Qué trajo Ana?": "Te traigo un pastel",
			"¿Cuánto cuesta el piso?":    "Me costó mil euros", //nolint:misspell // Spanish
			"¿Qué encontró en la calle?": "No encuentro mis gafas", "¿Qué empezó en mayo?": "Empecé un curso de yoga",
			"¿Quién conduce el coche?": "Conduje toda la noche", "¿Qué le duele a Luis?": "Me dolía la espalda", "¿A quién conoce en la fiesta?": "No conozco a su suegra",
			"¿Qué leyó en el tren?": "Estoy leyendo una novela", "¿Qué lápiz es el tuyo?": "Compré lápices para la niña", "¿Qué rompió el niño?": "La ventana está rota",
		})
	})
	t.Run("one little word or ending of Spanish is enough where none is English", func(t *testing.T) {
		wantMeetings(t, map[string]string{"¿Qué empezó en mayo?": "Empieza un curso", "¿Qué vendió Ana en el mercado?": "Vendimos tres coches", "¿Qué comió con mi tía?": "Comimos pizza"})
		wantTerms(t, "soy milk", "soy milk")
	})
	t.Run("names meet across languages", func(t *testing.T) {
		wantMeetings(t, map[string]string{
			"¿Qué hizo Carlos en la escuela?": "Carlos is at the school", "what did María do?": "El coche es de María", "¿Dónde vive Emma?": "Emma", "¿Y James, en qué trabaja?": "James works for the city",
		})
	})
	t.Run("an English text has English stems only, whatever names and loans are in it", func(t *testing.T) {
		wantTerms(t, "We met José at the café in San José, he cooks paella", "meet jose cafe san jose cook paella")
		wantTerms(t, "children running", "child run")
		wantTerms(t, "No me!", "")
	})
	t.Run("little words of English are no sign of Spanish words that look like them", func(t *testing.T) {
		wantStrangers(t, map[string]string{"¿Tomas té?": "Te lo dije"})
	})
}

func TestGerman(t *testing.T) {
	t.Run("forms of a word meet", func(t *testing.T) {
		wantMeetings(t, map[string]string{
			"Wo wohnen meine Schwestern?": "Meine Schwester wohnt in Kiel", "Welche Häuser haben wir gesehen?": "Das Haus ist nicht zu verkaufen",
			"Welche Bücher mag ich?": "Ich lese gerade ein Buch", "Was macht mein Hund?": "Unsere Hunde schlafen nur noch",
		})
	})
	t.Run("stop words are no terms", func(t *testing.T) {
		wantTerms(t, "Was ist das und wo bin ich?", "")
	})
	t.Run("a query of one word meets the text", func(t *testing.T) {
		wantMeetings(t, map[string]string{"Klavier": "Ich spiele Klavier", "Köln": "Ich wohne in Köln", "koln": "Ich wohne in Köln"})
	})
	t.Run("English and Spanish texts with words that German has too keep their terms", func(t *testing.T) {
		wantTerms(t, "I was in the war, also in an art museum, so the bin was a gift", "war art museum bin gift")
		wantTerms(t, "Der Spiegel is a magazine that Jürgen reads in Köln", "der spiegel magazin jurgen read koln")
		wantMeetings(t, map[string]string{"¿Es de Müller la casa?": "Las casas de Müller"})
	})
}

func TestScriptsMixInOneMessage(t *testing.T) {
	const message = "오늘 Docker 컨테이너를 再起動して Kubernetes에 올렸다 👍 mañana テスト 3회"
	for _, query := range []string{"Docker", "docker는?", "컨테이너", "再起動", "kubernetes", "👍🏽", "Mañana", "てすと", "올렸어", "３"} {
		if !meet(query, message) {
			t.Errorf("%q does not find it", query)
		}
	}
}
