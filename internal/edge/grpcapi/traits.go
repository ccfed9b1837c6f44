package grpcapi

import (
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/edge/grpcapi/requests"
	"github.com/stratamem/strata/internal/edge/grpcserver"
)

// habits of calls that admission treats unlike others.
var habits = map[string]grpcserver.Habit{
	memoryv1.MemoryService_Record_FullMethodName:         grpcserver.ShedLast,
	memoryv1.WorkService_WaitForWatermark_FullMethodName: grpcserver.WaitsForWork,
}

// noUsers are the requests whose user_id touches no user: KeyService's is of a key.
var noUsers = []protoreflect.FullName{(&memoryv1.CreateKeyRequest{}).ProtoReflect().Descriptor().FullName()}

// checkUser refuses an id that no user can have.
func checkUser(userID string) error {
	c := &requests.Checker{}
	c.ID("user_id", userID)
	return c.Err()
}

// Bytes of a request from which its call is heavy, by what the call does with each of them. Others become heavy by what
// they find stored.
const (
	heavyAnyBytes     = 256 << 10 // counting tokens alone takes 0.1 to 0.2 ms for each KiB
	heavyHistoryBytes = 32 << 10
	heavyQueryBytes   = 8 << 10 // a search by so many words reads much of the index
)

// heldPerByte is about what a call holds for each byte of its request while it works on it.
const heldPerByte = 16

// heavyBytes is what a call may hold by its request, 0 where it is not heavy by that.
func heavyBytes(req proto.Message) int64 {
	size, from := int64(proto.Size(req)), int64(heavyAnyBytes)
	switch r := req.(type) {
	case *memoryv1.CompactRequest, *memoryv1.CountTokensRequest:
		from = heavyHistoryBytes
	case *memoryv1.CheckMessagesRequest:
		from = heavyHistoryBytes
		if len(r.GetRules()) > 0 { // a rule of the caller's own may take long on few words
			from = heavyRulesBytes
		}
	case *memoryv1.SearchMessagesRequest:
		from = heavyQueryBytes
	case *memoryv1.BuildContextRequest:
		from = heavyHistoryBytes * 2
	}
	if size < from {
		return 0
	}
	return size * heldPerByte
}

// heavyRulesBytes are the bytes of rules and words together from which checking them is heavy.
const heavyRulesBytes = 4 << 10

// itemsOf is how many things a reply lists, or says were changed.
func itemsOf(reply proto.Message) int64 {
	if imported, ok := reply.(*memoryv1.ImportUserResponse); ok {
		return imported.GetMessages()
	}
	in := reply.ProtoReflect()
	verb := func(v string) bool { return strings.HasPrefix(string(in.Descriptor().Name()), v) }
	if !slices.ContainsFunc([]string{"List", "Search", "Pop", "RetryJobs"}, verb) {
		return 0
	}
	for i := range in.Descriptor().Fields().Len() {
		if f := in.Descriptor().Fields().Get(i); f.IsList() && f.Kind() == protoreflect.MessageKind {
			return int64(in.Get(f).List().Len())
		}
	}
	return 0
}
