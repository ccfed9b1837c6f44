package console

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
)

func newForTest(t *testing.T) *Console {
	t.Helper()
	c, err := New(Options{Secret: []byte("0123456789abcdef"), Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestWords(t *testing.T) {
	c := newForTest(t)
	t.Run("every language has the same texts with the same arguments", func(t *testing.T) {
		english := c.words.words["en"].texts
		for name, w := range c.words.words {
			for key, text := range english {
				if strings.Count(w.texts[key], "%") != strings.Count(text, "%") || w.texts[key] == "" {
					t.Errorf("%s: %s is %q, in English %q", name, key, w.texts[key], text)
				}
			}
			if len(w.texts) != len(english) {
				t.Errorf("%s has %d texts, English %d", name, len(w.texts), len(english))
			}
		}
	})
	t.Run("every value that a page names has a word", func(t *testing.T) {
		for _, values := range []protoreflect.EnumDescriptor{
			memoryv1.Role(0).Descriptor(), memoryv1.Category(0).Descriptor(), memoryv1.FactCause(0).Descriptor(), memoryv1.FactOrigin(0).Descriptor(),
			memoryv1.SectionKind(0).Descriptor(), memoryv1.OmitReason(0).Descriptor(), memoryv1.Selection(0).Descriptor(),
			memoryv1.JobKind(0).Descriptor(), memoryv1.JobState(0).Descriptor(),
		} {
			for i := 1; i < values.Values().Len(); i++ {
				if name := string(values.Values().Get(i).Name()); c.words.words["en"].texts[name] == "" {
					t.Errorf("there is no word for %s", name)
				}
			}
		}
	})
	t.Run("the language is the chosen one, else the browser's, else English", func(t *testing.T) {
		for _, ask := range []struct{ cookie, header, want string }{
			{"", "", "en"},
			{"", "ko-KR,ko;q=0.9,en;q=0.5", "ko"},
			{"en", "ko", "en"},
			{"ko", "en", "ko"},
			{"xx", "de, ko;q=0.5", "ko"},
			{"", "de", "en"},
			{"", ";;;", "en"},
		} {
			r := httptest.NewRequest(http.MethodGet, "/console", nil)
			r.Header.Set("Accept-Language", ask.header)
			if ask.cookie != "" {
				r.AddCookie(&http.Cookie{Name: languageCookie, Value: ask.cookie})
			}
			if got := c.words.forRequest(r).Language; got != ask.want {
				t.Errorf("%+v: %s", ask, got)
			}
		}
	})
}

func TestSessions(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	s, err := newSessions([]byte("0123456789abcdef"), func() time.Time { return now })
	if err != nil {
		t.Fatal(err)
	}
	sealed := func(of session) *http.Request {
		w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/console", nil)
		if err := s.set(w, r, of); err != nil {
			t.Fatal(err)
		}
		r.AddCookie(w.Result().Cookies()[0])
		return r
	}
	begun := s.begin("strata_x")
	r := sealed(begun)
	t.Run("another server of the store reads a session", func(t *testing.T) {
		other, err := newSessions([]byte("0123456789abcdef"), func() time.Time { return now })
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := other.of(r); !ok || got != begun {
			t.Errorf("%+v, %t", got, ok)
		}
	})
	t.Run("a session of another secret is none", func(t *testing.T) {
		other, err := newSessions([]byte("0123456789abcdeF"), func() time.Time { return now })
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := other.of(r); ok {
			t.Error("it was read")
		}
	})
	t.Run("the token does not stand in the cookie", func(t *testing.T) {
		if cookie, _ := r.Cookie(sessionCookie); strings.Contains(cookie.Value, "strata_x") {
			t.Error(cookie.Value)
		}
	})
	t.Run("a session ends when it is logged out of", func(t *testing.T) {
		s.end(begun)
		if _, ok := s.of(r); ok {
			t.Error("it is good still")
		}
	})
	t.Run("however many are logged out of, memory is bounded, and the latest stay ended", func(t *testing.T) {
		for range maxEnded {
			s.end(s.begin(""))
		}
		last := s.begin("")
		last.Ends++
		s.end(last)
		if _, ok := s.of(sealed(last)); ok || len(s.ended) > maxEnded {
			t.Errorf("%t, %d are kept", ok, len(s.ended))
		}
	})
	t.Run("a session ends with its time", func(t *testing.T) {
		another := sealed(s.begin(""))
		now = now.Add(sessionLife)
		if _, ok := s.of(another); ok {
			t.Error("it is good still")
		}
	})
	t.Run("a form of one session is none of another", func(t *testing.T) {
		one, two := s.begin(""), s.begin("")
		if !s.isForm(one, s.formToken(one)) || s.isForm(two, s.formToken(one)) || s.isForm(one, "") {
			t.Error("forms are mistaken")
		}
	})
}

func TestANextPageIsOneOfTheConsole(t *testing.T) {
	for next, want := range map[string]string{
		"/console/fact?user=a%2Fb":  "/console/fact?user=a%2Fb",
		"/console":                  "/console",
		"":                          "/console",
		"//evil.example/console/":   "/console",
		"https://evil.example/":     "/console",
		"/console/../v1/users":      "/console",
		"/consoles":                 "/console",
		"/console//evil.example":    "/console",
		"/\\evil.example":           "/console",
		"javascript:alert(1)":       "/console",
		"/console/users\r\nX: y":    "/console",
		"/console/users#//evil.com": "/console/users",
	} {
		if got := safeNext(next); got != want {
			t.Errorf("%q leads to %q, want %q", next, got, want)
		}
	}
}

func TestTheTreeOfSummaries(t *testing.T) {
	seoul := time.FixedZone("KST", 9*60*60)
	at := func(text string) *timestamppb.Timestamp {
		parsed, err := time.ParseInLocation("2006-01-02 15:04", text, seoul)
		if err != nil {
			t.Fatal(err)
		}
		return timestamppb.New(parsed)
	}
	months := []*memoryv1.Summary{{Name: "2026-10"}}
	weeks := []*memoryv1.Summary{{Name: "2026-W40", StartTime: at("2026-09-28 00:00")}}
	sessions := []*memoryv1.Summary{
		{Name: "old", EndTime: at("2026-09-28 00:30")},
		{Name: "new", EndTime: at("2026-10-04 23:59")},
		{Name: "next", EndTime: at("2026-10-05 00:00")},
		{Name: "year", EndTime: at("2027-01-01 12:00")},
	}
	var lines []string
	var walk func(indent string, all []*branch)
	walk = func(indent string, all []*branch) {
		for _, b := range all {
			lines = append(lines, indent+b.Name)
			walk(indent+" ", b.Under)
		}
	}
	walk("", tree(months, weeks, sessions, seoul))
	want := []string{"2026-12", " 2026-W53", "  year", "2026-10", " 2026-W41", "  next", " 2026-W40", "  new", "  old"}
	if !slices.Equal(lines, want) {
		t.Errorf("%q, want %q", lines, want)
	}
}

func TestTheBarOfABudget(t *testing.T) {
	sections := []*memoryv1.Section{{Kind: memoryv1.SectionKind_SECTION_KIND_FACTS, Tokens: 250}, {Kind: memoryv1.SectionKind_SECTION_KIND_RECENT, Tokens: 1}}
	got := bar(sections, &memoryv1.ContextUsage{Tokens: 251, AvailableTokens: 1000})
	if len(got) != 2 || got[0].Wide != 250 || got[1].Start != 250 || got[1].Wide < 1 {
		t.Errorf("%+v", got)
	}
	if over := bar(sections, &memoryv1.ContextUsage{Tokens: 251, AvailableTokens: 100}); over[0].Start+over[0].Wide > 1000 {
		t.Errorf("more than its budget: %+v", over)
	}
}

func TestMarkedWords(t *testing.T) {
	got := marked("오늘은 vegan 요리", []*memoryv1.TextRange{{Start: 4, End: 9}, {Start: 2, End: 3}, {Start: 10, End: 99}})
	want := []piece{{"오늘은 ", false}, {"vegan", true}, {" ", false}, {"요리", true}}
	if !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}
