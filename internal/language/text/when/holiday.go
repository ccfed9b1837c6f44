package when

import "time"

// The holidays that word lists name: see valueNames.
const (
	christmas = iota
	christmasEve
	newYear
	newYearsEve
	epiphany
	valentine
	easter
	holyWeek
	halloween
	thanksgiving
	lunarNewYear
	midAutumn
	goldenWeek
	obon
	nationalDay // of China
	childrensDay
)

// holiday are the days of a holiday that begins in a year; ok is false where it is not known when that was.
func (c calendar) holiday(y int, r reading) (out stretch, ok bool) {
	of := func(m time.Month, first, last int) (stretch, bool) {
		return c.days(date(y, m, first), date(y, m, last+1)), true
	}
	around := func(day time.Time, before, after int) (stretch, bool) {
		return c.days(day.AddDate(0, 0, -before), day.AddDate(0, 0, after+1)), !day.IsZero()
	}
	switch r.values[holiday] {
	case christmas:
		return of(time.December, 24, 26)
	case christmasEve:
		return of(time.December, 24, 24)
	case newYear: // mostly the days about it are meant
		return c.days(date(y-1, time.December, 31), date(y, time.January, 4)), true
	case newYearsEve:
		return of(time.December, 31, 31)
	case epiphany:
		return of(time.January, 5, 6)
	case valentine:
		return of(time.February, 14, 14)
	case easter:
		return around(easterOf(y), 2, 1)
	case holyWeek:
		return around(easterOf(y), 7, 0)
	case halloween:
		return of(time.October, 31, 31)
	case thanksgiving:
		first := date(y, time.November, 1)
		thursday := 1 + (3-isoWeekday(first)+7)%7
		return of(time.November, thursday+21, thursday+24)
	case lunarNewYear:
		return around(lunarNewYears[y], 1, 6)
	case midAutumn:
		return around(midAutumns[y], 1, 1)
	case goldenWeek:
		return c.days(date(y, time.April, 29), date(y, time.May, 6)), true
	case obon:
		return of(time.August, 13, 16)
	case nationalDay:
		return of(time.October, 1, 7)
	case childrensDay:
		return of(time.May, 5, 5)
	}
	return stretch{}, false
}

// easterOf is Easter Sunday of the Gregorian calendar, by the algorithm of Meeus, Jones and Butcher (Nature, 1876).
func easterOf(y int) time.Time {
	a, b, c := y%19, y/100, y%100
	d, e, f := b/4, b%4, (b+8)/25
	g := (b - f + 1) / 3
	h := (19*a + b - d - g + 15) % 30
	i, k := c/4, c%4
	l := (32 + 2*e + 2*i - h - k) % 7
	m := (a + 11*h + 22*l) / 451
	n := h + l - 7*m + 114
	return date(y, time.Month(n/31), n%31+1)
}

// Holidays of the moon, as they were and will be in China; in Korea some are a day later.
var (
	lunarNewYears = moons(time.January, 25, 43, 32, 22, 41, 29, 48, 37, 26, 44, 34)
	midAutumns    = moons(time.September, 31, 21, 10, 29, 17, 36, 25, 15, 33, 22, 12)
)

// moons are the days of the years from 2020 on, each as a day from the beginning of a month, which may lie in the next one.
func moons(m time.Month, days ...int) map[int]time.Time {
	out := map[int]time.Time{}
	for i, d := range days {
		out[2020+i] = date(2020+i, m, d)
	}
	return out
}
