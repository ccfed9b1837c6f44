package text

import (
	"strings"
	"sync"

	"github.com/stratamem/strata/internal/language/languagedata"
)

// stopSet is the English stop list, which holds for every text in Latin letters.
var stopSet = sync.OnceValue(func() languagedata.Set { return languagedata.English.Set(languagedata.StopWords) })

// baseForms are the base forms of irregular English words.
var baseForms = sync.OnceValue(func() map[string]string {
	table := map[string]string{}
	for _, line := range languagedata.English.Lines(languagedata.IrregularForms) {
		forms := strings.Fields(line)
		for _, f := range forms[1:] {
			table[f] = forms[0]
		}
	}
	return table
})
