package extract

import (
	"testing"
	"time"
)

func TestRelativeDatesBecomeAbsolute(t *testing.T) {
	wednesday := time.Date(2023, 5, 10, 12, 0, 0, 0, time.UTC)
	for in, want := range map[string]string{
		"Moved yesterday.":                  "Moved on 9 May 2023.",
		"Has lived there since yesterday.":  "Has lived there since 9 May 2023.",
		"Started today.":                    "Started on 10 May 2023.",
		"Leaves tomorrow morning.":          "Leaves on 11 May 2023.",
		"Met her the day before yesterday.": "Met her on 8 May 2023.",
		"Flies the day after tomorrow.":     "Flies on 12 May 2023.",
		"Saw it last night.":                "Saw it on 9 May 2023.",
		"Moved last week.":                  "Moved in the week of 1 May 2023.",
		"Moves next month.":                 "Moves in June 2023.",
		"Graduated last year.":              "Graduated in 2022.",
		"Met last Friday.":                  "Met on 5 May 2023.",
		"Met last Wed.":                     "Met on 3 May 2023.",
		"Meets next Monday.":                "Meets on 15 May 2023.",
		"Ran last weekend.":                 "Ran on the weekend of 6 May 2023.",
		"Quit 3 days ago.":                  "Quit on 7 May 2023.",
		"Quit about five years ago.":        "Quit in 2018.",
		"Moved two months ago.":             "Moved in March 2023.",
		"Opens in two weeks.":               "Opens in the week of 22 May 2023.",
		"Likes Friday Night Lights.":        "Likes Friday Night Lights.",
		"Likes the Today show.":             "Likes the Today show.",
		"어제 이사했다.":                          "2023년 5월 9일 이사했다.",
		"어제부터 부산에 산다.":                      "2023년 5월 9일부터 부산에 산다.",
		"그저께 만났다.":                          "2023년 5월 8일 만났다.",
		"모레 떠난다.":                           "2023년 5월 12일 떠난다.",
		"지난주에 이사했다.":                        "2023년 5월 1일 주에 이사했다.",
		"지난주 금요일에 만났다.":                     "2023년 5월 5일에 만났다.",
		"다음 주 월요일에 시작한다.":                   "2023년 5월 15일에 시작한다.",
		"다음 달에 이사한다.":                       "2023년 6월에 이사한다.",
		"작년에 졸업했다.":                         "2022년에 졸업했다.",
		"3년 전에 시작했다.":                       "2020년에 시작했다.",
		"두 달 전에 그만뒀다.":                      "2023년 3월에 그만뒀다.",
		"사흘 전에 만났다.":                        "2023년 5월 7일에 만났다.",
		"오늘날 기술을 공부한다.":                     "오늘날 기술을 공부한다.",
		"내일배움카드가 있다.":                       "내일배움카드가 있다.",
	} {
		if got := absolute(in, wednesday); got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
}

func TestRelativeDatesOfOtherLanguagesBecomeAbsolute(t *testing.T) {
	wednesday := time.Date(2023, 5, 10, 12, 0, 0, 0, time.UTC)
	for language, rows := range map[string][][2]string{
		"Korean": {
			{"어제 이사했다.", "2023년 5월 9일 이사했다."},
			{"그저께 만났다.", "2023년 5월 8일 만났다."},
			{"그제도 만났다.", "2023년 5월 8일도 만났다."},
			{"오늘 시작했다.", "2023년 5월 10일 시작했다."},
			{"내일까지 끝낸다.", "2023년 5월 11일까지 끝낸다."},
			{"모레 떠난다.", "2023년 5월 12일 떠난다."},
			{"지난주에 이사했다.", "2023년 5월 1일 주에 이사했다."},
			{"이번 주에 이사한다.", "2023년 5월 8일 주에 이사한다."},
			{"다음 주에 이사한다.", "2023년 5월 15일 주에 이사한다."},
			{"지난달에 그만뒀다.", "2023년 4월에 그만뒀다."},
			{"작년에 졸업했다.", "2022년에 졸업했다."},
			{"내년에 결혼한다.", "2024년에 결혼한다."},
			{"지난 금요일에 만났다.", "2023년 5월 5일에 만났다."},
			{"지난 주말에 만났다.", "2023년 5월 6일 주말에 만났다."},
			{"작년 여름에 만났다.", "2022년 여름에 만났다."},
			{"어젯밤 늦게 왔다.", "2023년 5월 9일 늦게 왔다."},
			{"며칠 전에 만났다.", "며칠 전에 만났다."},
			{"최근 2주 동안 쉬었다.", "최근 2주 동안 쉬었다."},
			{"5월에 만났다.", "5월에 만났다."},
		},
		"Japanese": {
			{"昨日引っ越した。", "2023年5月9日引っ越した。"},
			{"一昨日会った。", "2023年5月8日会った。"},
			{"おととい会った。", "2023年5月8日会った。"},
			{"今日から働く。", "2023年5月10日から働く。"},
			{"明日出発する。", "2023年5月11日出発する。"},
			{"明後日出発する。", "2023年5月12日出発する。"},
			{"先週引っ越した。", "2023年5月1日の週引っ越した。"},
			{"今週は休みだ。", "2023年5月8日の週は休みだ。"},
			{"来週東京出張。", "2023年5月15日の週東京出張。"},
			{"先月退職した。", "2023年4月退職した。"},
			{"去年の夏に結婚した。", "2022年の夏に結婚した。"},
			{"去年卒業した。", "2022年卒業した。"},
			{"来年大学に入る。", "2024年大学に入る。"},
			{"先週の金曜日に会った。", "2023年5月5日に会った。"},
			{"先週末に走った。", "2023年5月6日の週末に走った。"},
			{"私は3年前に始めた。", "私は2020年に始めた。"},
			{"卒業の3年前に始めた。", "卒業の3年前に始めた。"},
			{"日本週間に行った。", "日本週間に行った。"},
		},
		"Chinese": {
			{"昨天搬家了。", "2023年5月9日搬家了。"},
			{"前天见面了。", "2023年5月8日见面了。"},
			{"今天开始上班。", "2023年5月10日开始上班。"},
			{"明天出发。", "2023年5月11日出发。"},
			{"后天出发。", "2023年5月12日出发。"},
			{"後天出發。", "2023年5月12日出發。"},
			{"上周搬家了。", "2023年5月1日那周搬家了。"},
			{"上星期搬家了。", "2023年5月1日那周搬家了。"},
			{"上週搬家了。", "2023年5月1日那週搬家了。"},
			{"本周休息。", "2023年5月8日那周休息。"},
			{"下周去北京。", "2023年5月15日那周去北京。"},
			{"上个月辞职了。", "2023年4月辞职了。"},
			{"上個月辭職了。", "2023年4月辭職了。"},
			{"去年毕业了。", "2022年毕业了。"},
			{"明年结婚。", "2024年结婚。"},
			{"上周五见面了。", "2023年5月5日见面了。"},
			{"三年前搬到北京。", "2020年搬到北京。"},
			{"毕业三年后结婚了。", "毕业三年后结婚了。"},
		},
		"Spanish": {
			{"Se mudó ayer.", "Se mudó el 9 de mayo de 2023."},
			{"Ayer se mudó.", "El 9 de mayo de 2023 se mudó."},
			{"La vio anteayer.", "La vio el 8 de mayo de 2023."},
			{"Trabaja allí desde hoy.", "Trabaja allí desde el 10 de mayo de 2023."},
			{"Viaja mañana.", "Viaja el 11 de mayo de 2023."},
			{"Viaja mañana por la mañana.", "Viaja el 11 de mayo de 2023."},
			{"Corre por la mañana.", "Corre por la mañana."},
			{"Viaja pasado mañana.", "Viaja el 12 de mayo de 2023."},
			{"Se mudó la semana pasada.", "Se mudó en la semana del 1 de mayo de 2023."},
			{"El plan de la semana pasada era malo.", "El plan de la semana del 1 de mayo de 2023 era malo."},
			{"Está de viaje esta semana.", "Está de viaje en la semana del 8 de mayo de 2023."},
			{"Se muda la próxima semana.", "Se muda en la semana del 15 de mayo de 2023."},
			{"Se muda la semana que viene.", "Se muda en la semana del 15 de mayo de 2023."},
			{"Renunció el mes pasado.", "Renunció en abril de 2023."},
			{"Se graduó el año pasado.", "Se graduó en 2022."},
			{"Es la foto del año pasado.", "Es la foto de 2022."},
			{"Se casa el próximo año.", "Se casa en 2024."},
			{"La vio el viernes pasado.", "La vio el 5 de mayo de 2023."},
			{"Es la carta del viernes pasado.", "Es la carta del 5 de mayo de 2023."},
			{"La reunión de ayer fue mal.", "La reunión del 9 de mayo de 2023 fue mal."},
			{"Vive allí desde hace tres años.", "Vive allí desde 2020."},
			{"Hace tres años que vive allí.", "Hace tres años que vive allí."},
			{"Hoy en día prefiere el té.", "Hoy en día prefiere el té."},
			{"Works with Hoy and Ayer.", "Works with Hoy and Ayer."},
		},
	} {
		for _, row := range rows {
			if got := absolute(row[0], wednesday); got != row[1] {
				t.Errorf("%s: %q becomes %q, want %q", language, row[0], got, row[1])
			}
		}
	}
}

func TestADayIsTheSpeakersDay(t *testing.T) {
	seoul := time.FixedZone("KST", 9*60*60)
	for name, tc := range map[string]struct {
		said time.Time
		want string
	}{
		"just before midnight": {time.Date(2023, 5, 9, 14, 59, 59, 0, time.UTC), "on 8 May 2023"},
		"just after midnight":  {time.Date(2023, 5, 9, 15, 0, 0, 0, time.UTC), "on 9 May 2023"},
		"new year":             {time.Date(2022, 12, 31, 15, 0, 0, 0, time.UTC), "on 31 December 2022"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := absolute("yesterday", tc.said.In(seoul)); got != tc.want {
				t.Errorf("yesterday is %q, want %q", got, tc.want)
			}
		})
	}
	t.Run("and so it is in every language, over a change of clocks and a new year", func(t *testing.T) {
		for zone, rows := range map[string]map[string]string{
			"America/Los_Angeles": {"2025-11-02T06:30:00Z": "2025-10-31", "2025-01-01T07:59:00Z": "2024-12-30"},
			"Asia/Seoul":          {"2024-12-31T15:00:00Z": "2024-12-31", "2025-03-08T15:30:00Z": "2025-03-08"},
			"Europe/Berlin":       {"2025-03-30T22:30:00Z": "2025-03-30", "2025-10-26T22:30:00Z": "2025-10-25"},
		} {
			in, err := time.LoadLocation(zone)
			if err != nil {
				t.Fatal(err)
			}
			for said, want := range rows {
				at, err := time.Parse(time.RFC3339, said)
				if err != nil {
					t.Fatal(err)
				}
				day, err := time.Parse(time.DateOnly, want)
				if err != nil {
					t.Fatal(err)
				}
				for word, layout := range map[string]string{
					"yesterday": "on 2 January 2006", "어제": "2006년 1월 2일", "昨日": "2006年1月2日", "昨天": "2006年1月2日",
				} {
					if got := absolute(word, at.In(in)); got != day.Format(layout) {
						t.Errorf("%s at %s in %s is %q, want %q", word, said, zone, got, day.Format(layout))
					}
				}
			}
		}
	})
	t.Run("a month ago on the 31st is the month before", func(t *testing.T) {
		if got := absolute("a month ago", time.Date(2023, 3, 31, 12, 0, 0, 0, time.UTC)); got != "in February 2023" {
			t.Errorf("it is %q", got)
		}
	})
}
