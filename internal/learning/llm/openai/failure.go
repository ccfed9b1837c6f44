package openai

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	sdk "github.com/sashabaranov/go-openai"

	"github.com/stratamem/strata/internal/learning/llm"
	"github.com/stratamem/strata/internal/memory"
)

// Failure classifies an error of the client. header is the reply's; nil without one. Endpoints quote the prompt in their
// errors, so only the status, the type and the code are kept.
func Failure(model string, err error, header http.Header) *llm.Error {
	f := &llm.Error{Model: model, RetryAfter: retryAfter(header), Usage: memory.ModelUsage{Calls: 1}}
	if s, ok := hear(err); ok {
		f.Class, f.Status, f.Code, f.Err = s.class(), s.status, s.labels(), s.cause()
		return f
	}
	f.Class, f.Err = unheard(err)
	f.Code = unreached(err)
	var r *redirectError
	if errors.As(err, &r) {
		f.Status = r.status
	}
	return f
}

// said is an endpoint's description of an error.
type said struct {
	status int
	kind   string
	code   string
	text   string // in lower case, by which errors without a code are classified; it may hold content and is never kept
}

// maxErrorText is how much of an error body is looked at, in bytes.
const maxErrorText = 16 << 10

// hear reads both errors that the client has. The second is about a body of another form, and may wrap one of the first
// that is empty, so it is looked for first.
func hear(err error) (said, bool) {
	var other *sdk.RequestError
	if errors.As(err, &other) {
		var flat struct { // older vLLM
			Type string `json:"type"`
		}
		_ = json.Unmarshal(other.Body, &flat) // a body of any other form has no type
		return said{other.HTTPStatusCode, label(flat.Type), "", clipped(string(other.Body))}, true
	}
	var api *sdk.APIError
	if errors.As(err, &api) {
		text := api.Message
		if api.Param != nil {
			text += " " + *api.Param
		}
		return said{api.HTTPStatusCode, label(api.Type), label(code(api.Code)), clipped(text)}, true
	}
	return said{}, false
}

// code is an error's code, which some endpoints give as a number.
func code(v any) string {
	if v == nil {
		return ""
	}
	return fmt.Sprint(v)
}

func clipped(text string) string { return strings.ToLower(text[:min(len(text), maxErrorText)]) }

// labelForm is what types and codes look like; anything else might be content.
var labelForm = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)

func label(s string) string {
	if !labelForm.MatchString(s) {
		return ""
	}
	return s
}

func (s said) class() llm.Class {
	switch {
	case s.isTooLong():
		return llm.ClassTooLong
	case s.code == "insufficient_quota" || s.kind == "insufficient_quota":
		return llm.ClassPermanent // of status 429, but waiting does not pay the bill
	case s.status == http.StatusTooManyRequests:
		return llm.ClassLimited
	case s.status >= 500, s.status == http.StatusRequestTimeout, s.status == http.StatusConflict, s.status == http.StatusTooEarly:
		return llm.ClassTransient
	}
	return llm.ClassPermanent
}

// tooLong are the words by which endpoints without a code for it report too long an input: OpenAI, Azure, vLLM, llama.cpp,
// Ollama, TEI.
var tooLong = []string{
	"context_length_exceeded",
	"context length",
	"context window",
	"context size",
	"maximum context",
	"prompt is too long",
	"input is too long",
	"input length exceeds",
	"must have less than",
	"reduce the length",
	"too many tokens",
}

func (s said) isTooLong() bool {
	switch s.status {
	case http.StatusRequestEntityTooLarge:
		return true
	case http.StatusTooManyRequests: // larger than what a minute allows: it would never pass
		return strings.Contains(s.text, "request too large")
	case http.StatusBadRequest, http.StatusUnprocessableEntity:
		return s.code == "context_length_exceeded" || s.kind == "exceed_context_size_error" || s.mentions(tooLong)
	}
	return false
}

// formats are the words of endpoints that do not support a response format, or not this schema.
var formats = []string{"response_format", "response format", "json_schema", "json_object", "structured output", "guided", "grammar"}

func (s said) refusesFormat() bool {
	switch s.status {
	case http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusNotImplemented:
		return !s.isTooLong() && s.mentions(formats)
	}
	return false
}

// encodings are the words of endpoints that do not support an encoding of vectors.
var encodings = []string{"encoding_format", "encoding format", "base64"}

// RefusesEncoding reports whether an endpoint may have refused a call because of the encoding of vectors that it asks for. Proxies refuse
// a parameter without naming it, and some that do name it call it an internal error.
func RefusesEncoding(err error) bool {
	s, ok := hear(err)
	switch {
	case !ok || s.isTooLong():
		return false
	case s.status == http.StatusBadRequest, s.status == http.StatusUnprocessableEntity, s.status == http.StatusNotImplemented:
		return true
	}
	return s.mentions(encodings)
}

func (s said) isFiltered() bool {
	return s.status == http.StatusBadRequest && (s.code == "content_filter" || s.code == "content_policy_violation")
}

func (s said) mentions(words []string) bool {
	for _, w := range words {
		if strings.Contains(s.text, w) {
			return true
		}
	}
	return false
}

// labels are the type and the code of an error.
func (s said) labels() string {
	var labels []string
	for _, l := range []string{s.kind, s.code} {
		if l != "" && !slices.Contains(labels, l) {
			labels = append(labels, l)
		}
	}
	return strings.Join(labels, ", ")
}

// cause is the part of the description that is kept.
func (s said) cause() error {
	if labels := s.labels(); labels != "" {
		return errors.New("the endpoint says " + labels)
	}
	return errors.New("the endpoint gives no code")
}

// unreached returns why an endpoint was not reached, "" where it may have been.
func unreached(err error) string {
	var name *net.DNSError
	switch {
	case errors.As(err, &name):
		return "no such host"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused"
	}
	return ""
}

// unheard classifies an error that does not come from the endpoint.
func unheard(err error) (llm.Class, error) {
	var redirect *redirectError
	var long *http.MaxBytesError
	var certificate *tls.CertificateVerificationError
	var network *net.OpError
	var name *net.DNSError
	switch {
	case errors.As(err, &redirect):
		return llm.ClassPermanent, redirect
	case errors.As(err, &long):
		return llm.ClassPermanent, fmt.Errorf("the answer is longer than %d bytes", long.Limit)
	case errors.As(err, &certificate):
		return llm.ClassPermanent, errors.New("the endpoint's certificate cannot be verified")
	case errors.Is(err, context.Canceled):
		return llm.ClassTransient, fmt.Errorf("given up: %w", context.Canceled)
	case errors.Is(err, context.DeadlineExceeded):
		return llm.ClassTransient, fmt.Errorf("no answer in time: %w", context.DeadlineExceeded)
	case errors.As(err, &name):
		return llm.ClassTransient, name
	case errors.As(err, &network):
		return llm.ClassTransient, network
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return llm.ClassTransient, errors.New("the answer broke off")
	case isUnreadable(err):
		return llm.ClassTransient, errors.New("the answer is not the JSON of this API: is the base URL right?")
	case isMisuse(err):
		return llm.ClassPermanent, err
	}
	return llm.ClassTransient, errors.New("the connection broke")
}

func isUnreadable(err error) bool {
	var syntax *json.SyntaxError
	var form *json.UnmarshalTypeError
	return errors.As(err, &syntax) || errors.As(err, &form)
}

// isMisuse reports whether the client itself refused the model before it sent anything.
func isMisuse(err error) bool {
	return errors.Is(err, sdk.ErrChatCompletionInvalidModel) || errors.Is(err, sdk.ErrReasoningModelLimitationsOther) ||
		errors.Is(err, sdk.ErrReasoningSamplingUnsupported)
}

// maxRetryAfter bounds what an endpoint may ask for.
const maxRetryAfter = time.Hour

// retryAfter reads the header of that name (RFC 9110, section 10.2.3). A date is taken against the reply's own Date, so
// that the two clocks need not agree; without Date it returns 0.
func retryAfter(h http.Header) time.Duration {
	value := h.Get("Retry-After")
	if s, err := strconv.ParseFloat(value, 64); err == nil && s > 0 {
		return time.Duration(min(s, maxRetryAfter.Seconds()) * float64(time.Second))
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	sent, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		return 0
	}
	return min(max(at.Sub(sent), 0), maxRetryAfter)
}
