package promptinjection

import "testing"

func TestPleasantriesAreTold(t *testing.T) {
	for _, s := range []string{
		"ok", "OK.", "Okay!", "Thanks!", "Thank you so much", "lol", "hahahaha", "Haha, that's funny!", "Got it.", "Sounds good!", "You're welcome!", "No problem.",
		"Great, thanks!", "Sure, happy to help!", "I see.", "Noted.", "Will do.", "Is there anything else?", "How are you?", "👍",
		"ㅋㅋㅋ", "ㅋㅋㅋㅋㅋ 진짜?", "고마워!", "네 알겠습니다.", "응응", "그렇구나", "감사합니다!", "대박 ㅋㅋ", "천만에요.", "ㅠㅠ",
		"ありがとうございます！", "了解です。", "はい", "笑", "ｗｗｗ", "そうなんですね。", "よかったです！", "どういたしまして。", "わかりました。",
		"谢谢！", "好的。", "哈哈哈哈", "嗯嗯", "收到", "不客气", "太好了！", "明白了。", "没问题。",
		"Gracias", "¡Muchas gracias!", "jajaja", "Vale, perfecto.", "De nada.", "¡Qué bien!", "Entendido.", "Claro, por supuesto.",
	} {
		if !IsPleasantry(s) {
			t.Errorf("%q is none", s)
		}
	}
	for _, s := range []string{
		"I am vegan.", "hi! I'm bob", "I like coffee", "Yes, on Friday.", "Thanks, my name is Ana.", "Try Dune.", "The good place is closed.", "No peanuts please.",
		"커피 좋아해", "나 비건이야", "네, 금요일이요.", "오늘 비 와", "와인 좋아해요", "アレルギーがあります。", "はい、金曜日です。", "コーヒーが好き", "我吃素。", "我对花生过敏", "好吃的餐厅在哪里", "我喜欢咖啡",
		"Soy vegano.", "Vivo en Madrid.", "No como carne.", "Gracias, mi pedido es el 4417.",
	} {
		if IsPleasantry(s) {
			t.Errorf("%q is one", s)
		}
	}
}
