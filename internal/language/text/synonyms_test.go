package text_test

import (
	"slices"
	"testing"

	"github.com/stratamem/strata/internal/language/text"
)

func TestSynonyms(t *testing.T) {
	t.Run("everyday words of one meaning meet in Spanish, Korean, Japanese and Chinese", func(t *testing.T) {
		wantMeetings(t, map[string]string{
			"¿qué le gusta a mi papá?": "a los padres les encanta", "¿dónde está mi coche nuevo?": "vendí el carro ayer", "¿cuánto es el sueldo en la empresa?": "me subieron el salario", //nolint:misspell // Spanish
			"아버지 생신": "아빠가 오셨다", "여자친구는 뭘 좋아해?": "여친이 왔어", "면접은 언제야?": "인터뷰를 봤다", "결혼식 장소는?": "예식을 올린다",
			"夫はどこで働く？": "旦那が転職した", "給料はいくら？": "年収が上がった", "怪我をした？": "足を負傷して休んだ",
			"妻子喜欢什么？": "我老婆买了花", "领导怎么说？": "老板同意了", "医生开了什么？": "大夫说没事",
		})
	})
	t.Run("words of different meanings stay strangers", func(t *testing.T) {
		wantStrangers(t, map[string]string{
			"¿dónde vive mi madre?": "el perro de la prima ladra", "아버지 취미": "어머니 생신이야", "夫の趣味": "妻が買った本", "妻子的爱好": "丈夫买了花",
		})
	})
	t.Run("an English text has no term of a group", func(t *testing.T) {
		for _, term := range text.Terms("My papa and the doctor took the auto to the hospital") {
			if term[0] == '=' {
				t.Error(term)
			}
		}
	})
	t.Run("places of terms never fall back", func(t *testing.T) {
		for _, s := range []string{"我老婆喜欢自行车和写代码", "旦那と夕食を食べた。親父の怪我", "여자친구랑 아버지가 결혼식에 왔다", "mi papá y el coche de la empresa"} {
			tokens := text.Tokens(s)
			if !slices.IsSortedFunc(tokens, func(a, b text.Token) int { return a.Start - b.Start }) || !slices.IsSortedFunc(tokens, func(a, b text.Token) int { return a.End - b.End }) {
				t.Errorf("%q: %v", s, tokens)
			}
		}
	})
}
