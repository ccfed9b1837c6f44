package promptinjection_test

import (
	"testing"

	"github.com/stratamem/strata/internal/language/promptinjection"
)

func TestTelling(t *testing.T) {
	want := func(t *testing.T, disclosure promptinjection.Disclosure, messages ...string) {
		t.Helper()
		for _, m := range messages {
			if got := promptinjection.DisclosureOf(m); got != disclosure {
				t.Errorf("%q: got %d, want %d", m, got, disclosure)
			}
		}
	}
	t.Run("greetings, thanks, laughter and acknowledgements tell nothing", func(t *testing.T) {
		want(t, promptinjection.DisclosesNothing, "ok", "OK.", "haha", "Hahaha!!", "Thanks a lot!", "Got it.", "sounds good", "You're welcome!", "👍", "Hi there!",
			"vale", "jajaja", "Muchas gracias", "de acuerdo", "ㅋㅋㅋ", "네 알겠습니다", "고마워!", "아하 그렇구나", "なるほど", "ありがとうございます", "わかりました。", "好的", "谢谢", "哈哈哈", "")
	})
	t.Run("names, health and diet are essential", func(t *testing.T) {
		want(t, promptinjection.DisclosesEssential, "I am allergic to nuts", "My name is Ada.", "Soy alérgica a los mariscos", "나 새우 알레르기 있어", "저는 비건이에요", "卵アレルギーがあります", "我对花生过敏",
			"I'm vegan, by the way. What should we cook?", "나 매운 거 못 먹어")
	})
	t.Run("what somebody says of oneself is of the speaker, also beside a question", func(t *testing.T) {
		want(t, promptinjection.DisclosesSpeaker, "I live in Porto", "My sister plays the cello", "Vivo en Valencia desde hace dos años", "Me gusta el té", "나 부산 살아", "저는 커피를 좋아해요", "私は東京に住んでいます", "我在上海工作",
			"I just moved to Lisbon. Where can one swim?")
	})
	t.Run("questions and other statements are something else", func(t *testing.T) {
		want(t, promptinjection.DisclosesSomething, "What is my name?", "Can I eat this?", "The train leaves at nine.", "¿Qué cenamos hoy?", "저녁 뭐 먹을까?", "El tren sale a las nueve", "기차는 아홉 시에 떠나요")
	})
}
