package assembly

import "math"

// space is room in a context, or what something takes of it.
type space struct {
	tokens int64 // in units of the counter
	bytes  int
}

func (s space) less(p space) space { return space{s.tokens - p.tokens, s.bytes - p.bytes} }

func (s space) plus(p space) space { return space{s.tokens + p.tokens, s.bytes + p.bytes} }

// lacking is why the room does not hold something, 0 when it does.
func lacking(room, need space) OmitReason {
	switch {
	case need.tokens > room.tokens:
		return OmitBudget
	case need.bytes > room.bytes:
		return OmitReplySize
	}
	return 0
}

// available is the room of a whole context.
func available(in *Input) space {
	room := space{in.Available * in.Counter.Per(), in.MaxBytes}
	if in.MaxBytes == 0 {
		room.bytes = math.MaxInt
	}
	return room
}

// portion is a share of Available, as far as it is left. No share takes more than a quarter of the bytes.
func portion(in *Input, share float64, left space) space {
	room := space{int64(share * float64(in.Available*in.Counter.Per())), left.bytes}
	if in.MaxBytes > 0 {
		room.bytes = in.MaxBytes / 4
	}
	return space{min(room.tokens, left.tokens), min(room.bytes, left.bytes)}
}

// bytesPerToken is more bytes than a token of any prose takes: shorter texts may not fit, longer ones cannot.
const bytesPerToken = 16

// mayFit reports whether a text of so many bytes may fit into room. One that cannot need not be counted.
func mayFit(in *Input, bytes int, room space) bool {
	return int64(bytes)*in.Counter.Per()/bytesPerToken <= room.tokens
}
