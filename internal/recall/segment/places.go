package segment

import "github.com/stratamem/strata/internal/memory"

// Places returns where the messages of a segment are, by session and seq. Damaged data is refused.
func Places(data []byte) ([]memory.Place, error) {
	seg, err := Parse(data)
	if err != nil {
		return nil, err
	}
	places := make([]memory.Place, len(seg.Messages))
	for i := range seg.Messages {
		places[i] = seg.Messages[i].Place
	}
	return places, nil
}

// WithoutPlaces returns a segment without the messages at the places that are gone, and how many messages it has left: none of their
// words, times and vectors is in it. Where none is left the segment is nil. Damaged data is refused.
func WithoutPlaces(data []byte, gone func(memory.Place) bool) (left []byte, messages int, err error) {
	docs, err := Decode(data)
	if err != nil {
		return nil, 0, err
	}
	var kept []Doc
	for _, d := range docs {
		if !gone(d.Place) {
			kept = append(kept, d)
		}
	}
	if len(kept) == 0 {
		return nil, 0, nil
	}
	return Encode(kept), len(kept), nil
}
