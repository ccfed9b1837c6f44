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
	t.Run("a month ago on the 31st is the month before", func(t *testing.T) {
		if got := absolute("a month ago", time.Date(2023, 3, 31, 12, 0, 0, 0, time.UTC)); got != "in February 2023" {
			t.Errorf("it is %q", got)
		}
	})
}
