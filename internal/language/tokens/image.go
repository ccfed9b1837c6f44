package tokens

import (
	"strings"

	"github.com/stratamem/strata/internal/memory"
)

// ImageTokens is what an image is counted as whose size is not known. It is the most that an image takes by Anthropic's
// formula, and more than any takes by OpenAI's: see Image.
const ImageTokens = anthropicMost

// OpenAI's formula, as published for GPT-4o and GPT-4
// (https://platform.openai.com/docs/guides/images-vision#calculating-costs).
const (
	openaiBase    = 85 // of an image, and all of one with low detail
	openaiTile    = 170
	openaiPixels  = 512  // the side of a tile
	openaiLongest = 2048 // what the longer side is scaled down to, first
	openaiShorter = 768  // what the shorter side is scaled down to then
)

// Anthropic's formula (https://docs.anthropic.com/en/docs/build-with-claude/vision#evaluate-image-size).
const (
	anthropicPixels  = 750  // that make a token
	anthropicLongest = 1568 // what the longer side is scaled down to
	anthropicMost    = 1600 // an image of more tokens is scaled down to about these
)

// IsImage reports whether a part is an image, inline or by reference.
func IsImage(p memory.Part) bool {
	return (p.Kind == memory.PartBlob || p.Kind == memory.PartURI) && strings.HasPrefix(strings.ToLower(p.MIMEType), "image/")
}

// Image is how many tokens an image part takes. OpenAI's counters count by OpenAI's formula; the others by the larger of
// OpenAI's and Anthropic's, since the model may be of either kind. Where the size is not known it is ImageTokens, but what
// OpenAI takes for low detail where that was asked for.
func Image(p memory.Part, c Counter) int64 {
	var i memory.Image
	if p.Image != nil {
		i = *p.Image
	}
	ofOpenAI := c.Name() == O200K || c.Name() == CL100K
	known := i.Width > 0 && i.Height > 0
	switch {
	case ofOpenAI && (known || i.Detail == memory.ImageLow):
		return openaiImage(i)
	case known:
		return max(openaiImage(i), anthropicImage(i))
	}
	return ImageTokens
}

func openaiImage(i memory.Image) int64 {
	if i.Detail == memory.ImageLow {
		return openaiBase
	}
	w, h := int64(i.Width), int64(i.Height)
	w, h = shrink(w, h, max(w, h), openaiLongest)
	w, h = shrink(w, h, min(w, h), openaiShorter)
	return openaiBase + openaiTile*divideUp(w, openaiPixels)*divideUp(h, openaiPixels)
}

func anthropicImage(i memory.Image) int64 {
	w, h := int64(i.Width), int64(i.Height)
	w, h = shrink(w, h, max(w, h), anthropicLongest)
	return min(divideUp(w*h, anthropicPixels), anthropicMost)
}

// shrink scales both sides, rounded up, so that the given one becomes limit, unless it is no longer than that.
func shrink(w, h, side, limit int64) (int64, int64) {
	if side <= limit {
		return w, h
	}
	return divideUp(w*limit, side), divideUp(h*limit, side)
}

func divideUp(a, b int64) int64 { return (a + b - 1) / b }
