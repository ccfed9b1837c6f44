package summary

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/stratamem/strata/internal/language"
)

// notNames are words that take a capital without naming anything a source must hold.
var notNames = wordSet(
	`i i'm i've i'll i'd ok okay tv ai ui api pc cv usa uk us eu mr mrs ms dr prof god english internet user users assistant
	am pm christmas easter thanksgiving new-year dj ceo cto faq diy bbq vip btw lol omg asap fyi imo imho rofl`,
)

// greetings begin a line with a capital and are no names.
var greetings = wordSet(`hey hi hello hiya yeah yes yep no nope nah wow oh ah aw aww ooh ugh haha lol thanks thank congrats congratulations
	sure cool great nice awesome good bye goodbye cheers sorry please well absolutely definitely exactly totally really`)

// isName reports whether a word looks like a name: it has a capital that no sentence start explains, or a form that
// only names and identifiers have.
func isName(w word) bool {
	switch {
	case !hasLetter(w.text) || notNames[w.lower] || !isUpperFirst(w.text) && !isIdentifier(w.text):
		return false
	case strings.HasPrefix(w.lower, "i'"):
		return false
	}
	return !w.first || isIdentifier(w.text)
}

// isIdentifier reports whether a word has the form of an identifier: letters with digits, signs within, or capitals
// within, such as A-12, go.mod, iPhone and NASA.
func isIdentifier(w string) bool {
	if isHangulOrHan(w) || !hasLetter(w) {
		return false
	}
	if hasDigit(w) {
		return !isQuantity(w)
	}
	if strings.ContainsAny(w, "_@/#") {
		return true
	}
	upper := 0
	for i, r := range w {
		if i > 0 && unicode.IsUpper(r) {
			upper++
		}
	}
	return upper > 0 && !strings.Contains(w, "-") && !strings.ContainsAny(w, "'’")
}

// isQuantity reports whether digits with letters are a quantity, such as 16k, 2nd, 1990s, 5pm and 30min.
func isQuantity(w string) bool {
	rest := strings.TrimLeft(strings.ToLower(w), "0123456789.,:+")
	return quantityEndings[rest] || isHangul(rest)
}

var quantityEndings = wordSet(
	"k m s st nd rd th am pm a.m p.m h hr hrs min mins sec kg g km cm mm ml l lb lbs mb gb tb ft mph kmh x d w y yr yrs usd eur krw px ms -year-old -year -month -day -week -hour -minute",
)

func isHangulOrHan(w string) bool { return isScript(w, unicode.Hangul) || isScript(w, unicode.Han) }

// Korean names have no capitals. One is a surname with two syllables that given names are made of, or whatever a form
// of address follows.
var (
	surnames    = "김이박최정강조윤장임한오서신권황안송류전홍고문양손배백허유남심노하곽성차주우구민나진지엄채원천방공현함변염석"
	givenChars  = "민서지현준영수진은우연경호훈희정하윤예아유재성주혜나원도동승태철석미선기인규빈찬혁율건환린솔별슬람숙순옥자란화용광종병창상길덕복춘필근봉만식섭욱균범국배"
	addresses   = []string{"씨", "님", "군", "양"}
	notAddressd = wordSet(
		"고객 선생 사장 부모 손 어머 아버 형 누 하느 스승 주인 팀장 과장 부장 대표 이사 교수 원장 담임 강사 점장 회원 작가 감독 의사 간호사 사용자 이용자 할머 할아버 따 아드 며느 장모 사모 기사 실장 대리 본부장 이모 삼촌 손 여러 관리자 담당자 기자 변호사 약사 상담사 코치 트레이너 집주인",
	)
	notKorean = wordSet(
		"이미지 고기구 이유진 정수기 주인공 이번주 하반기 상반기 유자차 오미자 이용자 사용자 지원자 진행자 한인회 신용도 기초반 하우스 서비스 서류상 이용권 전자기 조만간 우선순 최우선 배우자 지도자 유지비 전자책 정기권 공기업 장기용 원자재 나머지 하나하 진지하 노하우 현미경 정도로 이상형 지하철 강아지 고민거 우유를",
	)
)

// particles are those that may follow a name.
var particles = sync.OnceValue(func() language.Particles { return language.NewParticles(language.ParticlesOfNames) })

// koreanNames are the names among a word and its next: with a form of address, or by their form before a particle.
func koreanName(w, next string) string {
	if !isHangul(w) {
		return ""
	}
	stem := particles().Off(w, 2)
	if hasPrefix(next, addresses[:1]) && utf8.RuneCountInString(next) <= 3 && utf8.RuneCountInString(w) >= 2 {
		return w
	}
	for _, a := range addresses[:2] {
		if name, ok := strings.CutSuffix(stem, a); ok && utf8.RuneCountInString(name) >= 2 && !notAddressd[name] {
			return name
		}
	}
	if stem != w && !notKorean[stem] && isFullName(stem) {
		return stem
	}
	return ""
}

func isFullName(s string) bool {
	rs := []rune(s)
	return len(rs) == 3 && strings.ContainsRune(surnames, rs[0]) &&
		strings.ContainsRune(givenChars, rs[1]) && strings.ContainsRune(givenChars, rs[2])
}
