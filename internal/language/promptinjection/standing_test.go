package promptinjection_test

import (
	"testing"

	"github.com/stratamem/strata/internal/language/promptinjection"
)

func TestStanding(t *testing.T) {
	check := func(t *testing.T, want bool, messages ...string) {
		t.Helper()
		for _, m := range messages {
			if got := promptinjection.IsStanding(m); got != want {
				t.Errorf("%q: got %v", m, got)
			}
		}
	}
	t.Run("a wish for every answer is told by its form, whatever it is about", func(t *testing.T) {
		check(t, true,
			"Always include the tempo in beats per minute when I ask about songs.", "Never use emojis.", "Please always answer in metric units.",
			"From now on, keep it under three sentences.", "Whenever I ask about hikes, tell me the elevation gain.",
			"I moved last week. I'd like you to always spell out the street name.", "Give me the source every time I ask about news.",
			"You should never round prices.", "Going forward please use British spelling.", "When I ask for recipes, please leave out coriander.",
			"Siempre incluye el precio cuando te pregunte por restaurantes.", "A partir de ahora respóndeme de tú.", "Nunca uses abreviaturas.",
			"Cada vez que te pida una receta, dame las calorías.", "Quiero que siempre cites la fuente.", "Contesta siempre en español, por favor.",
			"Antworte bitte immer auf Deutsch.", "Nenne mir ab jetzt die Quelle.", "Wenn ich dich nach Rezepten frage, nenne bitte die Kalorien.", "Ab sofort bitte nur noch metrisch rechnen.",
			"Ich möchte, dass du immer die Quelle nennst.",
			"앞으로는 항상 존댓말로 답해 줘.", "요리 물어볼 때 칼로리도 알려 주세요", "매번 출처를 달아 주세요.", "이제부터 짧게 대답해 줘",
			"いつも敬語で答えてください。", "今後は箇条書きでお願いします。", "料理について聞いたときは、カロリーも教えてね。", "毎回出典を付けてほしい。",
			"以后回答请用中文。", "每次我问价格都给我人民币的。", "从现在起不要用表情符号。", "请总是附上来源。", "我问菜谱的时候，请写上热量。")
	})
	t.Run("what somebody does, asks or says once is none", func(t *testing.T) {
		check(t, false,
			"I always include my cat in photos.", "Never mind.", "She never gave it back.", "Always a pleasure!", "Did I ask you to always use metric units?",
			"Can you always see the sea from there?", "I've never been to Peru.", "My boss gets angry when I ask for a day off.", "From now on I will run every day.",
			"We should never have sold the house.", "Always been my favourite.", "Give me the source, please.", "I'm going forward with the plan.",
			"Siempre desayuno a las ocho.", "Nunca he estado en Perú.", "De ahora en adelante voy a correr cada día.", "¿Siempre usas abreviaturas?",
			"Ich stehe immer um acht auf.", "Ich war nie in Peru.", "Ab jetzt laufe ich jeden Tag.", "Nenne bitte die Quelle.", "Immer mit der Ruhe.",
			"나는 항상 여덟 시에 일어나.", "앞으로 3일 날씨 알려 줘", "어릴 때 부산에 살았어요.", "출처를 달아 주세요.",
			"私はいつも八時に起きます。", "小さい時は京都に住んでいました。", "出典を付けてください。", "これから出かけます。",
			"我总是八点起床。", "我每次都坐地铁。", "以后我想去秘鲁。", "请附上来源。", "小时候我住在北京。", "")
	})
}

func TestAsksReply(t *testing.T) {
	check := func(t *testing.T, want bool, queries ...string) {
		t.Helper()
		for _, q := range queries {
			if got := promptinjection.AsksReply(q); got != want {
				t.Errorf("%q: got %v", q, got)
			}
		}
	}
	t.Run("a query asks for what the assistant said before", func(t *testing.T) {
		check(t, true, "What did you recommend for the balcony?", "Which book was it that you suggested?", "Remind me of your advice about the lease.", "The cream you told me about?",
			"¿Qué me recomendaste para el balcón?", "¿Cuál era tu consejo sobre el alquiler?", "Was hast du mir für den Balkon empfohlen?", "Wie war deine Empfehlung zur Miete?", "네가 추천해 준 식당이 어디였지?", "아까 알려 준 방법이 뭐였어?",
			"この前教えてくれた店はどこ？", "あなたのアドバイスは何でしたか？", "你之前推荐的餐厅是哪家？", "你给我的建议是什么？你说过的那个", "您的建议是什么？")
	})
	t.Run("a query that asks for something new, or for what the user or others said, does not", func(t *testing.T) {
		check(t, false, "What do you recommend for the balcony?", "Can you suggest a book?", "What did I tell you about the lease?", "What did Ana recommend?", "Did you know that I moved?",
			"¿Qué me recomiendas para el balcón?", "¿Qué te dije del alquiler?", "Was empfiehlst du für den Balkon?", "Was habe ich dir über die Miete gesagt?", "식당 추천해 줘", "내가 뭐라고 말했지?", "店を教えてください。", "私は何と言いましたか？",
			"推荐一家餐厅吧", "我说过什么？", "")
	})
}
