package summary_test

import (
	"testing"

	"github.com/stratamem/strata/internal/learning/summary"
)

func TestWhatAnAssistantOnlyAcknowledges(t *testing.T) {
	for _, said := range []string{
		"Got it, thanks for letting me know!", "Sure thing!", "I'll keep that in mind.", "I will keep that in mind.", "Understood, I'll remember that.",
		"Duly noted.", "Good choice!", "That's wonderful news!", "Congratulations!", "Thanks for sharing that with me.", "Great question!",
		"Sounds like a plan.", "I'm glad you like it.", "I'm so sorry to hear that.", "Okay, I've noted that.",
		"멋지네요", "멋져요", "좋은 기회예요", "천천히 하세요", "응원해요", "네, 기억해 둘게요.", "알려 주셔서 감사합니다", "반가워요", "힘드시겠어요", "아쉽네요",
		"Lo tendré en cuenta.", "Entendido, lo recordaré.", "Gracias por contármelo.", "Lo siento mucho.", "Buena elección.", "¡Enhorabuena!", "Anotado.",
		"覚えておきます。", "承知しました、覚えておきますね。", "教えてくれてありがとうございます。", "それは素敵ですね。", "お大事に。", "残念ですね。",
		"我会记住的。", "好的，记下了。", "谢谢你告诉我。", "听起来不错。", "太遗憾了。", "加油！", "很高兴认识你。",
	} {
		if !summary.Acknowledges(said) {
			t.Errorf("%q is taken for a line of a summary", said)
		}
	}
	for _, said := range []string{
		"Oslo on 9 May.", "I'll book the table for Friday.", "I will remember to water the ficus.", "Good choice: Casa Verde is open on Monday.",
		"Got it, Oslo on 9 May.", "Congratulations on the job at Coupang!", "Sorry, the flight was cancelled.", "Thanks for sharing the key of flat 3.",
		"다음 주에 예약해 둘게요.", "좋은 기회지만 마감이 금요일이에요.", "Lo reservo para el viernes.", "金曜日に予約しておきます。", "我会预订周五的位子。",
	} {
		if summary.Acknowledges(said) {
			t.Errorf("%q is no line of a summary", said)
		}
	}
}
