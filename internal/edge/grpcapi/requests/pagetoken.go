package requests

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/stratamem/strata/internal/memory"
)

// A page token is base64url of: version (1 byte), the query's fingerprint (8), the position, a CRC-32 of all that (4).
// It is opaque, not secret: a forged one can only name another place in the caller's own list.
const tokenVersion = 1

// queryFingerprint distinguishes queries: it covers everything of the request but where in its result a page begins.
func queryFingerprint(req proto.Message) [8]byte {
	query := proto.Clone(req).ProtoReflect()
	for _, name := range []protoreflect.Name{"page_token", "page_size"} {
		if f := query.Descriptor().Fields().ByName(name); f != nil {
			query.Clear(f)
		}
	}
	// Deterministic output may change between builds: then an old token is refused and the caller begins again.
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(query.Interface())
	if err != nil {
		return [8]byte{}
	}
	sum := sha256.Sum256(append([]byte(query.Descriptor().FullName()), b...))
	return [8]byte(sum[:8])
}

// PageToken returns the token of the page that begins at the position.
func PageToken(req proto.Message, position []byte) string {
	fp := queryFingerprint(req)
	b := append([]byte{tokenVersion}, fp[:]...)
	b = append(b, position...)
	b = binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
	return base64.RawURLEncoding.EncodeToString(b)
}

// PagePosition returns the position in a token, nil for the first page.
func PagePosition(req proto.Message, token string) ([]byte, error) {
	if token == "" {
		return nil, nil
	}
	b, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil || len(b) < 13 || b[0] != tokenVersion || crc32.ChecksumIEEE(b[:len(b)-4]) != binary.BigEndian.Uint32(b[len(b)-4:]) {
		return nil, BadToken("is damaged; give back next_page_token as it came")
	}
	if fp := queryFingerprint(req); [8]byte(b[1:9]) != fp {
		return nil, BadToken("belongs to another query; keep every other field the same between pages, or begin without a token")
	}
	return b[9 : len(b)-4], nil
}

// BadToken returns the error for a page token that cannot be taken.
func BadToken(description string) error {
	e := memory.InvalidField("page_token", "%s", description)
	e.Reason = memory.ReasonPageTokenInvalid
	return e
}

// PageNumber reads a position that is one number.
func PageNumber(req proto.Message, token string) (int64, error) {
	position, err := PagePosition(req, token)
	if err != nil || position == nil {
		return 0, err
	}
	n, size := binary.Uvarint(position)
	if size != len(position) || n > 1<<62 {
		return 0, BadToken("is damaged; give back next_page_token as it came")
	}
	return int64(n), nil
}

// NumberToken returns the token of a page whose position is one number.
func NumberToken(req proto.Message, n int64) string {
	return PageToken(req, binary.AppendUvarint(nil, uint64(n)))
}

// TimePosition reads a position that is a time and an id, nil for the first page.
func TimePosition(req proto.Message, token string) (*TimedID, error) {
	position, err := PagePosition(req, token)
	if err != nil || position == nil {
		return nil, err
	}
	if len(position) < 8 {
		return nil, BadToken("is damaged; give back next_page_token as it came")
	}
	micros := int64(binary.BigEndian.Uint64(position))
	return &TimedID{Time: time.UnixMicro(micros).UTC(), ID: string(position[8:])}, nil
}

// pagedRequest is a request for a page of a list.
type pagedRequest interface {
	proto.Message
	GetPageToken() string
}

// PagePosition is that of the page that is asked for, once all other fields are right.
func (c *Checker) PagePosition(req pagedRequest) ([]byte, error) {
	if err := c.Err(); err != nil {
		return nil, err
	}
	return PagePosition(req, req.GetPageToken())
}

// TimePosition is that of the page that is asked for, once all other fields are right; nil for the first page.
func (c *Checker) TimePosition(req pagedRequest) (*TimedID, error) {
	if err := c.Err(); err != nil {
		return nil, err
	}
	return TimePosition(req, req.GetPageToken())
}

// TimedID is the last entry of a page that is ordered by time, then id.
type TimedID struct {
	Time time.Time
	ID   string
}

// TimeToken returns the token of a page whose position is a time in microseconds and an id.
func TimeToken(req proto.Message, t time.Time, id string) string {
	position := binary.BigEndian.AppendUint64(nil, uint64(t.UnixMicro()))
	return PageToken(req, append(position, id...))
}

// Fitting returns how many of the entries may stand in one reply: those that stay below its limit, and at least one.
func Fitting[M proto.Message](entries []M) int {
	size := 0
	for i, e := range entries {
		if size += proto.Size(e); size > MaxReplyBytes && i > 0 {
			return i
		}
	}
	return len(entries)
}

// TimedPage returns those of a page's entries that fit into a reply, and the token of the next page: "" where more does not say that
// others follow and all fit. The list is ordered by time, then id.
func TimedPage[T any, M proto.Message](
	req proto.Message, page []T, more bool, write func(T) M, place func(T) TimedID,
) (all []M, next string) {
	all = make([]M, len(page))
	for i, entry := range page {
		all[i] = write(entry)
	}
	n := Fitting(all)
	if more || n < len(page) {
		last := place(page[n-1])
		next = TimeToken(req, last.Time, last.ID)
	}
	return all[:n], next
}
