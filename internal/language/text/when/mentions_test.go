package when

import (
	"testing"
	"time"
)

func TestAMessageTellsOfTimesAsSeenFromWhenItWasSaid(t *testing.T) {
	const zone = "America/Los_Angeles"
	said := at(t, "2026-03-05 20:00", zone) // a Thursday evening, the 6th in UTC
	for words, want := range map[string][2]string{
		"we met yesterday":                      {"2026-03-04", "2026-03-05"},
		"this morning I saw the doctor":         {"2026-03-05 05:00", "2026-03-05 12:00"},
		"mum arrives thursday":                  {"2026-03-12", "2026-03-13"},
		"deadline for roughs 28 march":          {"2026-03-28", "2026-03-29"},
		"booked a room for the 30th":            {"2026-03-30", "2026-03-31"},
		"28일 아침 7시 12분 기차":                      {"2026-03-28 05:00", "2026-03-28 12:00"},
		"여친 생일이 5월 3일이라 연습하는 거야":                {"2026-05-03", "2026-05-04"},
		"二十六号开车走":                               {"2026-03-26", "2026-03-27"},
		"四月二十六提车":                               {"2026-04-26", "2026-04-27"},
		"来週の月曜に面接がある":                           {"2026-03-09", "2026-03-10"},
		"le debo el capítulo dos el 31":         {"2026-03-31", "2026-04-01"},
		"la semana que viene empiezo el curso":  {"2026-03-09", "2026-03-16"},
		"on the night of the 8th we were still": {"2026-03-08 18:00", "2026-03-09 05:00"},
	} {
		t.Run(words, func(t *testing.T) {
			from, to := at(t, want[0], zone), at(t, want[1], zone)
			got := MentionsIn(words).At(nil, said, from, to)
			for _, s := range got {
				if s.From.Equal(from) && s.To.Equal(to) {
					return
				}
			}
			t.Errorf("%q mentions %v, want %s to %s", words, got, want[0], want[1])
		})
	}
	t.Run("words without a time tell of none", func(t *testing.T) {
		for _, words := range []string{"", "we had soup", "I have 3 days", "every Monday", "el 31 por ciento"} {
			if got := MentionsIn(words); got != nil {
				t.Errorf("%q mentions %v", words, got.At(nil, said, said.AddDate(-9, 0, 0), said.AddDate(9, 0, 0)))
			}
		}
	})
	t.Run("damaged data mentions no time, whatever it is", func(t *testing.T) {
		whole := MentionsIn("on the night of March 8, last week, two days ago and on Friday")
		for cut := range whole {
			for _, b := range []byte{0, 1, 0x7f, 0xff} {
				damaged := append(append(Mentions{}, whole[:cut]...), b)
				damaged.At(nil, said, said.AddDate(-200, 0, 0), said)
			}
		}
	})
	t.Run("what cannot lie in the time that is asked for costs no calendar", func(t *testing.T) {
		far := said.AddDate(1, 0, 0)
		if got := MentionsIn("we met yesterday").At(nil, said, far, far.Add(time.Hour)); len(got) > 0 {
			t.Errorf("mentions %v", got)
		}
	})
}

func TestWhatIsNotAsExactAsItsGrainIsNotRelative(t *testing.T) {
	for _, words := range []string{"late last month", "at the end of last week", "the other day", "지난달 말에", "先月の終わりに", "a finales del mes pasado"} {
		if got := Read(words).RelativeAt(at(t, wednesday, "UTC")); len(got) > 0 {
			t.Errorf("%q is %+v", words, got)
		}
	}
}

func TestWordsThatOnlyBoundATime(t *testing.T) {
	now := at(t, wednesday, "UTC")
	for query, want := range map[string]bool{
		"how much did I write until April 9?": true, "what changed since last week?": true, "before March 8": true, "starting next month": true,
		"3월 8일 이후에 뭐 했어?": true, "先週から": true, "上周之后": true, "desde la semana pasada": true, "antes del 8 de marzo": true,
		"what do I have to finish by the end of the month?": false, "on April 9": false, "지난주에 뭐 했어?": false, "la semana pasada": false, "先週の会議": false, "昨天中午之前来了谁？": false,
	} {
		t.Run(query, func(t *testing.T) {
			found := Find(query, now)
			if len(found) != 1 || found[0].Bounds != want {
				t.Errorf("found %+v, want one that bounds: %v", found, want)
			}
		})
	}
}

func TestOrdersThatAQueryAsksFor(t *testing.T) {
	for query, want := range map[string]Order{
		"when did I last go running? the last time":   Latest,
		"what was the most recent book I mentioned?":  Latest,
		"마지막으로 병원에 간 게 언제야?":                          Latest,
		"最後に歯医者に行ったのはいつ？":                             Latest,
		"我最近一次跑步是什么时候":                                Latest,
		"¿cuándo fue la última vez que corrí?":        Latest,
		"what did I tell you when we first talked?":   FirstTalk,
		"우리 처음 대화했을 때 내가 뭐라고 했지?":                     FirstTalk,
		"最初に話したとき何を頼んだ？":                              FirstTalk,
		"我们第一次聊天的时候说了什么":                              FirstTalk,
		"la primera vez que hablamos":                 FirstTalk,
		"what did we decide in our last conversation": LatestTalk,
		"the last time we talked":                     LatestTalk,
		"지난번 대화에서 뭐라고 했지":                             LatestTalk,
		"前回話したとき":                                     LatestTalk,
		"上次聊天的时候":                                     LatestTalk,
		"en nuestra última conversación":              LatestTalk,
		"what did I eat last week?":                   AnyOrder,
		"my first dog":                                AnyOrder,
		"":                                            AnyOrder,
	} {
		t.Run(query, func(t *testing.T) {
			got := OrderIn(query)
			if got.Order != want {
				t.Errorf("order %d, want %d", got.Order, want)
			}
			if want != AnyOrder && (got.Start >= got.End || got.End > len(query)) {
				t.Errorf("words from %d to %d", got.Start, got.End)
			}
		})
	}
}
