package tokens_test

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"strings"
	"testing"

	"github.com/stratamem/strata/internal/language/tokens"
	"github.com/stratamem/strata/internal/memory"
)

func TestPagesOfADocument(t *testing.T) {
	packed := func(objects string) string {
		var b bytes.Buffer
		w := zlib.NewWriter(&b)
		fmt.Fprint(w, objects)
		w.Close()
		return b.String()
	}
	page := "<</Type /Page/Parent 1 0 R>>\n"
	for name, c := range map[string]struct {
		mime, data string
		want       int
	}{
		"its objects stand open":       {"application/pdf", "%PDF-1.4\n<</Type/Pages/Count 2>>" + page + "<< /Type\n/Page >>", 2},
		"its objects are packed":       {"application/pdf", "%PDF-1.7\n9 0 obj <</Type /ObjStm /Filter /FlateDecode>>\nstream\r\n" + packed(page+page+page) + "\nendstream\n" + page, 4},
		"in capital letters":           {"Application/PDF", "%PDF-1.4\n" + page, 1},
		"its packed objects are not":   {"application/pdf", "%PDF-1.7\n" + page + "9 0 obj <</Type /ObjStm>>\nstream\nencrypted\nendstream", 0},
		"its packed objects end early": {"application/pdf", "%PDF-1.7\n" + page + "9 0 obj <</Type /ObjStm>>\nstream\n" + packed(strings.Repeat(page, 99))[:40], 0},
		"its stream is missing":        {"application/pdf", "%PDF-1.7\n" + page + "9 0 obj <</Type /ObjStm>>", 0},
		"it has none":                  {"application/pdf", "%PDF-1.7\n", 0},
		"it is something else":         {"application/pdf", page, 0},
		"it is said to be else":        {"text/plain", "%PDF-1.4\n" + page, 0},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tokens.Pages(memory.Part{Kind: memory.PartBlob, MIMEType: c.mime, Data: []byte(c.data)}); got != c.want {
				t.Errorf("%d pages, want %d", got, c.want)
			}
		})
	}
}
