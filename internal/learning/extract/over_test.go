package extract_test

import (
	"testing"

	"github.com/stratamem/strata/internal/learning/extract"
	"github.com/stratamem/strata/internal/memory"
)

func TestWordsAloneEndAFactByTheNameOfItsThing(t *testing.T) {
	for _, tc := range []struct{ name, fact, said string }{
		{"a thing that is gone", "Drives an old Honda Civic.", "the civic finally died on I-25, so i bought a used bolt"},
		{"a thing that is sold", "Tiene una moto, una vespa.", "vendí la vespa y ahora voy en bici"},
		{"an activity", "Learns Italian on Duolingo.", "I stopped taking Italian."},
		{"an activity in Korean", "필라테스 화목으로 다니고 있다.", "필라테스는 그만뒀어"},
		{"an activity in Chinese", "打羽毛球 每周日下午在园区。", "羽毛球停了 手腕腱鞘炎 改游泳了"},
		{"a role of the speaker's", "新学期、3年2組の担任になった。", "私は来月から学年主任。担任は外れる"},
		{"whoever holds a role", "Dentist is Dr Amari on Grove Street.", "Dr Amari retired"},
		{"whoever holds a role in Chinese", "园长姓徐。", "可惜徐园长月底退休"},
		{"another holder of a role", "Boss is called Henrik.", "my new boss is Salma"},
		{"another holder of a role in Spanish", "De proveedor tiro de Maderas Cueto.", "cambié de proveedor, ahora compro en Forestal Nora"},
		{"who comes after the thing is with the speaker", "Plays hockey with my son.", "i quit hockey"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if !extract.Ends(tc.said, memory.Fact{Text: tc.fact}) {
				t.Errorf("%q does not end %q", tc.said, tc.fact)
			}
		})
	}
}

func TestWordsEndNoFactOfAnotherThing(t *testing.T) {
	for _, tc := range []struct{ name, fact, said string }{
		{"somebody else's thing", "Drives an old Honda Civic.", "my brother's civic finally died"},
		{"somebody else's activity", "Son plays hockey.", "i quit hockey"},
		{"part of another name", "Works at the hockey shop.", "i quit hockey"},
		{"part of another name in Japanese", "担任の先生は森先生です。", "担任は外れる"},
		{"the battery of a thing", "Phone is a Pixel 6.", "my pixel's battery died"},
		{"what is asked", "Plays bass in a band called Tin Roof.", "did tin roof break up?"},
		{"what is supposed", "Works at Halden.", "if i quit Halden i'd open a shop"},
		{"what is planned", "Drives an old Honda Civic.", "i'm going to sell the civic, i should have sold the civic last year"},
		{"what is wished in Korean", "주말마다 카페에서 알바해.", "카페 알바 그만두고 싶다"},
		{"what is off for a day", "在学瑜伽。", "今天瑜伽停了"},
		{"what is denied", "Plays hockey.", "i didn't quit hockey"},
		{"another one of what there are many of", "Friend is Al.", "my new friend is Bo"},
		{"what is only left somewhere", "Toca el violín en una orquesta.", "dejé el violín en tu casa ayer"},
		{"another role at the same place", "Treasurer of the rowing club.", "the secretary of the rowing club stepped down"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if extract.Ends(tc.said, memory.Fact{Text: tc.fact}) {
				t.Errorf("%q ends %q", tc.said, tc.fact)
			}
		})
	}
}
