package text

import (
	"strings"
	"testing"
)

func TestEachSynonymIsOfOneGroup(t *testing.T) {
	for name, list := range map[string]string{"spanish": spanishSynonyms, "korean": koreanSynonyms, "chinese": chineseSynonyms, "japanese": japaneseSynonyms} {
		seen := map[string]bool{}
		for w := range strings.FieldsSeq(strings.ReplaceAll(list, ";", " ")) {
			if seen[w] {
				t.Errorf("%s: %s stands there twice", name, w)
			}
			seen[w] = true
		}
	}
}
