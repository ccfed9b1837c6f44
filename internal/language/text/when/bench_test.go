package when

import (
	"strings"
	"testing"
	"time"
)

func BenchmarkFind(b *testing.B) {
	now := time.Date(2026, 11, 18, 15, 30, 0, 0, time.UTC)
	for name, query := range map[string]string{
		"no time":               "Where did we go hiking together with the kids and the old dog, and who else came along with all of us?",
		"no time, Korean":       "합창단 친구들이랑 산에 올라갔는데 정말 좋았어. 그때 누가 같이 있었지?",
		"no time in 4000 bytes": strings.Repeat("Where did we go hiking together with the kids? ", 85),
		"English":               "What did I do last week with my friends from the choir?",
		"Korean":                "지난주 화요일에 합창단 친구들이랑 뭐 했어?",
		"Japanese":              "先週の火曜日に合唱団の友達と何をしましたか",
		"Spanish":               "¿Qué hice la semana pasada con mis amigos del coro?",
		"a time in 4000 bytes":  strings.Repeat("Where did we go hiking together with the kids? ", 84) + "In May 2023, two days ago or last week?",
		"only times":            strings.Repeat("last week ", 400),
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				Find(query, now)
			}
		})
	}
}

func BenchmarkMentionsTime(b *testing.B) {
	for name, message := range map[string]string{
		"no time": "We went hiking together with the kids and the old dog, and it was lovely up there.",
		"Korean":  "합창단 친구들이랑 산에 올라갔는데 정말 좋았어.",
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				MentionsTime(message)
			}
		})
	}
}
