package lazyregexp_test

import (
	"regexp"
	"slices"
	"sync"
	"testing"

	"github.com/stratamem/strata/internal/language/lazyregexp"
)

func TestAnExpressionMatchesAsOneOfPackageRegexp(t *testing.T) {
	const source, said = `(?i)\b(?P<day>mon|tues)day\b`, "Monday and tuesday, not Sunday"
	lazy, eager := lazyregexp.MustCompile(source), regexp.MustCompile(source)
	if got, want := lazy.FindAllString(said, -1), eager.FindAllString(said, -1); !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
	if got, want := lazy.FindStringSubmatch(said), eager.FindStringSubmatch(said); !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
	if got, want := lazy.ReplaceAllString(said, "some ${day}"), eager.ReplaceAllString(said, "some ${day}"); got != want {
		t.Errorf("replaced %q, want %q", got, want)
	}
	if got, want := lazy.SubexpIndex("day"), eager.SubexpIndex("day"); got != want {
		t.Errorf("the group is %d, want %d", got, want)
	}
}

func TestAnExpressionIsUsedByManyAtATime(t *testing.T) {
	re := lazyregexp.MustCompile(`^a+$`)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if !re.MatchString("aaa") || re.MatchString("ab") {
				t.Error("matches otherwise")
			}
		})
	}
	all.Wait()
}

func TestASourceThatIsNoneIsFoundByAnyTestOfItsPackage(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("it is taken")
		}
	}()
	lazyregexp.MustCompile("(")
}

func TestASourceMayBePutTogetherWhenItIsNeeded(t *testing.T) {
	re := lazyregexp.MustCompileFrom(func() string { return "a" + "b" })
	if !re.MatchString("cab") || re.String() != "ab" {
		t.Errorf("%s does not match", re)
	}
}
