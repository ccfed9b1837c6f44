package statuses

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/edge/grpcserver"
	"github.com/stratamem/strata/internal/memory"
)

func TestToStatus(t *testing.T) {
	rows := map[memory.Kind]codes.Code{
		memory.KindInvalid: codes.InvalidArgument, memory.KindNotFound: codes.NotFound, memory.KindExists: codes.AlreadyExists,
		memory.KindPrecondition: codes.FailedPrecondition, memory.KindConflict: codes.Aborted,
		memory.KindExhausted: codes.ResourceExhausted, memory.KindUnavailable: codes.Unavailable, memory.KindInternal: codes.Internal,
	}
	for kind, code := range rows {
		t.Run(code.String(), func(t *testing.T) {
			err := fmt.Errorf("append: %w", &memory.Error{Kind: kind, Reason: memory.ReasonContention, Message: "m", Retry: time.Second, Metadata: map[string]string{"k": "v"}})
			st, _ := ToStatus(err)
			if st.Code() != code || st.Message() != "m" {
				t.Errorf("status %v", st)
			}
			info := st.Details()[0].(*errdetails.ErrorInfo)
			if info.GetReason() != "CONTENTION" || info.GetDomain() != "strata" || info.GetMetadata()["k"] != "v" {
				t.Errorf("info %v", info)
			}
			if _, ok := st.Details()[1].(*errdetails.RetryInfo); !ok {
				t.Errorf("details %v", st.Details())
			}
		})
	}
	t.Run("a cancelled call and a passed deadline keep their codes", func(t *testing.T) {
		if st, known := ToStatus(fmt.Errorf("x: %w", context.Canceled)); st.Code() != codes.Canceled || !known {
			t.Errorf("status %v", st)
		}
		if st, known := ToStatus(context.DeadlineExceeded); st.Code() != codes.DeadlineExceeded || !known {
			t.Errorf("status %v", st)
		}
	})
	t.Run("a passed deadline says whose it is", func(t *testing.T) {
		for want, late := range map[string]*grpcserver.LateError{
			"the caller's own deadline passed":           {Err: context.DeadlineExceeded},
			"the server's request-timeout of 1ns passed": {RequestTimeout: time.Nanosecond, Err: context.DeadlineExceeded},
		} {
			st, known := ToStatus(fmt.Errorf("read: %w", late))
			if st.Code() != codes.DeadlineExceeded || !known || !strings.HasPrefix(st.Message(), want) ||
				!strings.Contains(st.Message(), "request_id") {
				t.Errorf("status %v, want %s", st, want)
			}
		}
	})
	t.Run("any other error shows nothing of itself", func(t *testing.T) {
		st, known := ToStatus(errors.New("SELECT secret"))
		if st.Code() != codes.Internal || known || strings.Contains(st.String(), "secret") {
			t.Errorf("status %v", st)
		}
	})
}

// The proto lists the reasons for clients; the domain has them as strings. They must be the same.
func TestReasonsAreInTheProto(t *testing.T) {
	reasons := []memory.Reason{
		memory.ReasonFieldInvalid, memory.ReasonPageTokenInvalid, memory.ReasonBudgetTooSmall, memory.ReasonProfileUnknown,
		memory.ReasonUserNotFound, memory.ReasonSessionNotFound, memory.ReasonMessageNotFound,
		memory.ReasonRequestIDReused, memory.ReasonMessageIDReused, memory.ReasonLastSeqMismatch, memory.ReasonETagMismatch,
		memory.ReasonContention, memory.ReasonStoreUnavailable, memory.ReasonStoreFull, memory.ReasonShuttingDown, memory.ReasonInternal,
		memory.ReasonFactNotFound, memory.ReasonSummaryNotFound, memory.ReasonJobNotFound, memory.ReasonJobNotParked,
		memory.ReasonReembedRunning, memory.ReasonCheckRefused, memory.ReasonJobNotSkippable, memory.ReasonModelUnavailable,
		memory.ReasonOverloaded, memory.ReasonLimitExceeded, memory.ReasonTenantErased, memory.ReasonJobNotRevertible, memory.ReasonUserExists,
		memory.ReasonUnauthenticated, memory.ReasonRoleDenied, memory.ReasonKeyNotFound, memory.ReasonKeyRevoked,
		memory.ReasonIssuerUnavailable, memory.ReasonAuditUnavailable, memory.ReasonAuditOff, memory.ReasonDocumentNotFound,
	}
	want := map[string]bool{"ERROR_REASON_UNSPECIFIED": true}
	for _, r := range reasons {
		want["ERROR_REASON_"+string(r)] = true
	}
	got := slices.Sorted(maps.Keys(memoryv1.ErrorReason_value))
	if !slices.Equal(got, slices.Sorted(maps.Keys(want))) {
		t.Errorf("proto %v, domain %v", got, slices.Sorted(maps.Keys(want)))
	}
}
