package grpcserver

import (
	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/stratamem/strata/internal/access/auth"
)

// API is the services of a Server, with what the Server must know of their calls.
type API struct {
	// Register registers the services.
	Register func(grpc.ServiceRegistrar)
	// Calls has a row for each method, by its full name. A server with a method that has no row does not start.
	Calls map[string]Rule
	// Habits of methods that differ from others, by the full name.
	Habits map[string]Habit
	// NoUsers are the requests whose user_id touches no user.
	NoUsers []protoreflect.FullName
	// CheckUser must refuse an id that no user can have.
	CheckUser func(userID string) error
	// Heavy must return how many bytes a call may hold by its request; 0 where the request alone does not make it heavy.
	Heavy func(request proto.Message) int64
	// Items must return how many things a reply lists, or says were changed.
	Items func(reply proto.Message) int64
	// Status must map an error to the status that the caller sees. known is false for a fault of the server.
	Status func(err error) (st *status.Status, known bool)
}

// Habit is how admission treats a method.
type Habit int

// The habits.
const (
	ShedLast     Habit = iota + 1 // refused after all others where a tenant has too many calls
	WaitsForWork                  // waits for background work, and does not hold a place at the primary store meanwhile
)

// Scope is what a call touches, and so what a principal must be allowed.
type Scope int

// The scopes.
const (
	OfUser   Scope = iota + 1 // the memory of the user that the request names: that one's alone, where the principal is bound to one
	OfTenant                  // of all users of the tenant: a principal that is bound to one sees that one alone, and the handler sees to it
	OfNobody                  // nothing that is stored
	OfServer                  // all tenants: the principal must be of the tenant default
	Open                      // whether the server serves, and its API: everybody may ask, without a credential
)

// Rule is a row of the table: who may call a method, what it touches, and whose calls of it have an entry in the audit.
type Rule struct {
	Scope   Scope
	Roles   []auth.Role
	Audited Audited
}

// Audited says whose calls of a method have an entry in the audit.
type Audited int

// When the calls of a method have entries.
const (
	undecided Audited = iota // such a method keeps the server from starting
	Never                    // it touches nothing that is stored
	ByAdmins                 // reads memory, or does an agent's daily work: by admins, and by all where agents' calls are asked for
	Always
)
