package memory

import (
	"errors"
	"fmt"
	"time"
)

// Kind is what a caller can do about an error. The server maps each kind to one gRPC code.
type Kind int

// The kinds.
const (
	KindInvalid         Kind = iota + 1 // the request is wrong: mend it
	KindNotFound                        // there is no such thing
	KindExists                          // the id is taken by something else
	KindPrecondition                    // the state is not what the request expects
	KindConflict                        // somebody was faster: read again and retry
	KindExhausted                       // a quota or the disk is full, or too many large calls run
	KindUnavailable                     // the store or a provider does not respond: retry later
	KindInternal                        // a fault of the service
	KindUnauthenticated                 // the credential is missing or not good
	KindDenied                          // the caller's role does not allow the call
)

// Reason is the stable, machine-readable cause of an error: ErrorReason of the API without its prefix.
type Reason string

// The reasons. Each has a constant of the same name in proto/memory/v1/error.proto.
const (
	ReasonFieldInvalid      Reason = "FIELD_INVALID"
	ReasonPageTokenInvalid  Reason = "PAGE_TOKEN_INVALID"
	ReasonBudgetTooSmall    Reason = "BUDGET_TOO_SMALL"
	ReasonProfileUnknown    Reason = "PROFILE_UNKNOWN"
	ReasonUserNotFound      Reason = "USER_NOT_FOUND"
	ReasonSessionNotFound   Reason = "SESSION_NOT_FOUND"
	ReasonMessageNotFound   Reason = "MESSAGE_NOT_FOUND"
	ReasonFactNotFound      Reason = "FACT_NOT_FOUND"
	ReasonSummaryNotFound   Reason = "SUMMARY_NOT_FOUND"
	ReasonJobNotFound       Reason = "JOB_NOT_FOUND"
	ReasonJobNotParked      Reason = "JOB_NOT_PARKED"
	ReasonJobNotSkippable   Reason = "JOB_NOT_SKIPPABLE"
	ReasonJobNotRevertible  Reason = "JOB_NOT_REVERTIBLE"
	ReasonCheckRefused      Reason = "CHECK_REFUSED"
	ReasonReembedRunning    Reason = "REEMBED_RUNNING"
	ReasonModelUnavailable  Reason = "MODEL_UNAVAILABLE"
	ReasonRequestIDReused   Reason = "REQUEST_ID_REUSED"
	ReasonMessageIDReused   Reason = "MESSAGE_ID_REUSED"
	ReasonLastSeqMismatch   Reason = "LAST_SEQ_MISMATCH"
	ReasonETagMismatch      Reason = "ETAG_MISMATCH"
	ReasonContention        Reason = "CONTENTION"
	ReasonStoreUnavailable  Reason = "STORE_UNAVAILABLE"
	ReasonStoreFull         Reason = "STORE_FULL"
	ReasonShuttingDown      Reason = "SHUTTING_DOWN"
	ReasonOverloaded        Reason = "OVERLOADED"
	ReasonLimitExceeded     Reason = "LIMIT_EXCEEDED"
	ReasonUserExists        Reason = "USER_EXISTS"
	ReasonInternal          Reason = "INTERNAL"
	ReasonUnauthenticated   Reason = "UNAUTHENTICATED"
	ReasonRoleDenied        Reason = "ROLE_DENIED"
	ReasonKeyNotFound       Reason = "KEY_NOT_FOUND"
	ReasonKeyRevoked        Reason = "KEY_REVOKED"
	ReasonTenantErased      Reason = "TENANT_ERASED"
	ReasonIssuerUnavailable Reason = "ISSUER_UNAVAILABLE"
	ReasonAuditUnavailable  Reason = "AUDIT_UNAVAILABLE"
	ReasonAuditOff          Reason = "AUDIT_OFF"
	ReasonDocumentNotFound  Reason = "DOCUMENT_NOT_FOUND"
)

// Error is the only error whose text may reach a caller; anything else is logged and becomes INTERNAL. Message,
// Fields and Metadata must never hold message content.
type Error struct {
	Kind     Kind
	Reason   Reason
	Message  string            // safe to show
	Fields   []FieldError      // what is wrong with which field, for KindInvalid
	Metadata map[string]string // every variable that Message contains
	Retry    time.Duration     // how long to wait before a retry; 0 when retrying does not help
	Err      error             // the cause, for the log
}

// FieldError is what is wrong with one field of a request, with its limit and the fix.
type FieldError struct {
	Field       string // a path such as messages[2].parts[0].text
	Description string
}

// Error returns the message and, after it, the cause.
func (e *Error) Error() string {
	if e.Err == nil {
		return e.Message
	}
	return e.Message + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// InvalidField is the error for one bad field. The description must name the limit and the fix.
func InvalidField(field, format string, args ...any) *Error {
	d := fmt.Sprintf(format, args...)
	return &Error{
		Kind: KindInvalid, Reason: ReasonFieldInvalid, Message: field + ": " + d,
		Fields: []FieldError{{Field: field, Description: d}}, Metadata: map[string]string{"field": field},
	}
}

// ReasonOf returns the reason of the first Error in err's chain, "" when there is none.
func ReasonOf(err error) Reason {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Reason
	}
	return ""
}

// IsGone reports whether err says that the user or the session does not exist, or not any more.
func IsGone(err error) bool {
	reason := ReasonOf(err)
	return reason == ReasonUserNotFound || reason == ReasonSessionNotFound
}
