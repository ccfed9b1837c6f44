package tokens

import (
	"bytes"
	"compress/zlib"
	"io"
	"strings"

	"github.com/stratamem/strata/internal/memory"
)

// PageTokens is what a page of a document is counted as: its text, up to 3,000 tokens, and its picture. Both providers read
// pages as both (https://docs.anthropic.com/en/docs/build-with-claude/pdf-support#estimate-your-costs and
// https://platform.openai.com/docs/guides/pdf-files).
const PageTokens = 3000 + anthropicMost

// MaxPages is how many pages a document may have for both providers to take it.
const MaxPages = 100

// maxInflated is how much of a document's compressed directory is read.
const maxInflated = 16 << 20

// Pages is how many pages a part has that is a PDF document inline, at least as many as a reader would show; 0 where it is
// none, or where they cannot be counted, as of an encrypted one. A document by reference is not read.
func Pages(p memory.Part) int {
	if p.Kind != memory.PartBlob || !strings.EqualFold(p.MIMEType, "application/pdf") || !bytes.HasPrefix(p.Data, []byte("%PDF-")) {
		return 0
	}
	pages, left := pageObjects(p.Data), maxInflated
	for rest := p.Data; ; {
		_, after, found := bytes.Cut(rest, []byte("/ObjStm"))
		if !found {
			return pages
		}
		objects, ok := readObjectStream(after, left)
		if !ok {
			return 0
		}
		pages += pageObjects(objects)
		left -= len(objects)
		rest = after
	}
}

// readObjectStream decompresses the object stream whose dictionary begins with after (ISO 32000-1, 7.5.7). It returns false if
// the stream is damaged or longer than most bytes.
func readObjectStream(after []byte, most int) ([]byte, bool) {
	dictionary, data, found := bytes.Cut(after, []byte("stream"))
	if !found || bytes.Contains(dictionary, []byte("endobj")) || bytes.Contains(dictionary, []byte("/Predictor")) {
		return nil, false
	}
	r, err := zlib.NewReader(bytes.NewReader(bytes.TrimLeft(data, "\r\n")))
	if err != nil {
		return nil, false
	}
	objects, err := io.ReadAll(io.LimitReader(r, int64(most)+1))
	return objects, err == nil && len(objects) <= most
}

// pageObjects counts the objects that contain /Type /Page.
func pageObjects(data []byte) int {
	n := 0
	for {
		_, after, found := bytes.Cut(data, []byte("/Type"))
		if !found {
			return n
		}
		data = after
		name, ok := bytes.CutPrefix(bytes.TrimLeft(after, " \t\r\n\f\x00"), []byte("/Page"))
		if ok && (len(name) == 0 || !isLetter(rune(name[0]))) {
			n++
		}
	}
}
