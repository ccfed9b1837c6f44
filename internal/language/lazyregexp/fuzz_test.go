package lazyregexp_test

import (
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/stratamem/strata/internal/language/lazyregexp"
)

// differs returns the name of a method that returns something else than that of package regexp does; "" where none does.
func differs(lazy *lazyregexp.Regexp, eager *regexp.Regexp, s string) string {
	upper := func(match string) string { return strings.ToUpper(match) }
	for _, c := range []struct {
		method    string
		got, want any
	}{
		{"MatchString", lazy.MatchString(s), eager.MatchString(s)},
		{"FindString", lazy.FindString(s), eager.FindString(s)},
		{"FindStringIndex", lazy.FindStringIndex(s), eager.FindStringIndex(s)},
		{"FindStringSubmatch", lazy.FindStringSubmatch(s), eager.FindStringSubmatch(s)},
		{"FindStringSubmatchIndex", lazy.FindStringSubmatchIndex(s), eager.FindStringSubmatchIndex(s)},
		{"FindAllString", lazy.FindAllString(s, -1), eager.FindAllString(s, -1)},
		{"FindAllStringIndex", lazy.FindAllStringIndex(s, 2), eager.FindAllStringIndex(s, 2)},
		{"FindAllStringSubmatch", lazy.FindAllStringSubmatch(s, -1), eager.FindAllStringSubmatch(s, -1)},
		{"FindAllStringSubmatchIndex", lazy.FindAllStringSubmatchIndex(s, -1), eager.FindAllStringSubmatchIndex(s, -1)},
		{"ReplaceAllString", lazy.ReplaceAllString(s, "<$0>"), eager.ReplaceAllString(s, "<$0>")},
		{"ReplaceAllStringFunc", lazy.ReplaceAllStringFunc(s, upper), eager.ReplaceAllStringFunc(s, upper)},
		{"Split", lazy.Split(s, -1), eager.Split(s, -1)},
		{"Split of none", lazy.Split(s, 0), eager.Split(s, 0)},
	} {
		if !reflect.DeepEqual(c.got, c.want) {
			return c.method
		}
	}
	return ""
}

// sources are expressions of every kind of part, with texts that they match.
func sources() map[string]string {
	return map[string]string{
		`(?i)\b(?:if|would|could have)\b|만약`:                  "What IF we could  have 만약",
		`(?i)(?:^|[^\p{L}])(?:dej[ée]|él|niño)(?:[^\p{L}]|$)`: "DEJÉ a mi NIÑO",
		`(\S+?)에서 (?:\S+ ){0,2}\S+?(?:으로|로) (?:바꿨|옮겼)`:        "서울에서 작년에 부산으로 옮겼다",
		`^(?:no more|rip) ([a-z]+?)(?: now|$)`:                "no more coffee now",
		`(?i)quick|miss`:                                      "QUIC\u212a mi\u017fs",
		`(?s)a.{2,3}b+?|^$|\Bx\B`:                             "a\n\nbb axb",
		`(?m)^- (?P<item>gr[ae]y|colou?r)s*$`:                 "- gray\n- colours",
		`[^\s@]+@[^\s@]+\.[a-z]{2,}`:                          "mail a@b.example now",
		`\x{fffd}|\xff`:                                       "a\xffb",
		`(?:abc)+|(?:de)*f`:                                   "abcabc def",
	}
}

func FuzzAnExpressionMatchesAsOneOfPackageRegexp(f *testing.F) {
	for source := range sources() {
		for _, text := range sources() {
			f.Add(source, text)
		}
	}
	f.Fuzz(func(t *testing.T, source, text string) {
		if len(source) > 200 || len(text) > 1000 {
			return
		}
		eager, err := regexp.Compile(source)
		if err != nil {
			return
		}
		lazy := lazyregexp.MustCompile(source)
		// What an expression is made of, and what it matches in part, come nearest to what it needs.
		for _, s := range []string{text, source, strings.ToUpper(text), strings.ToLower(text), text + source, eager.FindString(text)} {
			if method := differs(lazy, eager, s); method != "" {
				t.Errorf("%s of %q in %q is not that of package regexp", method, source, s)
			}
		}
	})
}
