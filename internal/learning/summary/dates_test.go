package summary_test

import (
	"testing"
	"time"

	"github.com/stratamem/strata/internal/learning/summary"
	"github.com/stratamem/strata/internal/memory"
)

func TestResolvedDatesStandInEveryLanguage(t *testing.T) {
	wednesday := time.Date(2023, 5, 10, 12, 0, 0, 0, time.UTC)
	for language, rows := range map[string][]struct{ said, right, wrong string }{
		"English": {{"I moved to Lisbon yesterday.", "The user moved to Lisbon on 9 May 2023.", "The user moved to Lisbon on 2 May 2023."}},
		"Korean":  {{"어제 리스본으로 이사했어요.", "2023년 5월 9일 리스본으로 이사했다.", "2023년 5월 2일 리스본으로 이사했다."}},
		"Japanese": {
			{"昨日リスボンに引っ越しました。", "2023年5月9日にリスボンに引っ越した。", "2023年5月2日にリスボンに引っ越した。"},
			{"先週の金曜日に会いました。", "2023年5月5日に会った。", "2023年6月5日に会った。"},
			{"去年大学を卒業しました。", "2022年に大学を卒業した。", "2019年に大学を卒業した。"},
			{"先月会社を辞めました。", "2023年4月に会社を辞めた。", "2023年2月に会社を辞めた。"},
		},
		"Chinese": {
			{"我昨天搬到了里斯本。", "用户于2023年5月9日搬到里斯本。", "用户于2023年5月2日搬到里斯本。"},
			{"我上个月辞职了。", "用户于2023年4月辞职。", "用户于2023年2月辞职。"},
			{"我上周五见了她。", "用户于2023年5月5日见了她。", "用户于2023年6月5日见了她。"},
		},
		"Spanish": {
			{"Ayer me mudé a Lisboa.", "El usuario se mudó a Lisboa el 9 de mayo de 2023.", "El usuario se mudó a Lisboa el 2 de mayo de 2023."},
			{"Renuncié el mes pasado.", "El usuario renunció en abril de 2023.", "El usuario renunció en febrero de 2023."},
			{"Me gradué el año pasado.", "El usuario se graduó en 2022.", "El usuario se graduó en 2019."},
		},
	} {
		for _, row := range rows {
			task := summary.Task{Kind: memory.SummarySession, MaxTokens: 200, Location: time.UTC, Lines: []summary.SourceText{
				{Role: memory.RoleUser, Time: wednesday, Text: row.said},
			}}
			if _, reason := summary.Check(task, summary.Answer{Text: row.right}); reason != "" {
				t.Errorf("%s: %q of %q is refused as %s", language, row.right, row.said, reason)
			}
			if _, reason := summary.Check(task, summary.Answer{Text: row.wrong}); reason != summary.RefusalInvented {
				t.Errorf("%s: %q of %q is not refused as invented: %q", language, row.wrong, row.said, reason)
			}
		}
	}
}
