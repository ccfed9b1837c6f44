package llmtest

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stratamem/strata/internal/learning/llm"
)

// Format is how a request asks for structured output.
type Format string

// The formats.
const (
	FormatNone   Format = "text"
	FormatObject Format = "json_object"
	FormatSchema Format = "json_schema"
)

// Request is a chat request.
type Request struct {
	Operation   llm.Operation // guessed from the schema's name and the prompt
	N           int           // from 1, over all requests
	Model       string
	System      string
	User        string
	Format      Format
	SchemaName  string
	Schema      json.RawMessage
	Strict      bool
	MaxTokens   int // by either name of the limit
	Temperature *float64
}

// Reply is the reply to a chat request. The zero value is an empty text that ended by itself.
type Reply struct {
	Delays
	Text       string
	Finish     string  // the finish_reason; stop when empty
	Refusal    string  // the refusal of the message
	Usage      Usage   // counted by o200k when Input and Output are 0
	Status     int     // other than 0 and 200: Failure is answered
	Failure    Failure // with Status; a default one of the status when empty
	RetryAfter string  // the header: seconds or a date
	Fault      Fault   // takes the place of the rest
}

// Usage is what a reply says it cost.
type Usage struct {
	Input, Output int
	Unreported    bool // the reply has no usage
}

// Say replies with a text.
func Say(text string) Reply { return Reply{Text: text} }

// Truncated replies with a text that was cut off.
func Truncated(text string) Reply { return Reply{Text: text, Finish: "length"} }

// Refused replies with the refusal field.
func Refused(why string) Reply { return Reply{Refusal: why} }

// Filtered replies with what a content filter left.
func Filtered() Reply { return Reply{Finish: "content_filter"} }

// Fails replies with an error.
func Fails(status int, f Failure) Reply { return Reply{Status: status, Failure: f} }

// Limited replies with 429; after is the Retry-After header, "" for none.
func Limited(after string) Reply {
	return Reply{
		Status:     http.StatusTooManyRequests,
		RetryAfter: after,
		Failure:    Failure{Type: "requests", Code: "rate_limit_exceeded", Message: "Rate limit reached."},
	}
}

// TooLong replies that the prompt does not fit the model, as OpenAI does.
func TooLong() Reply {
	return Fails(http.StatusBadRequest, Failure{
		Type: "invalid_request_error", Code: "context_length_exceeded", Param: "messages",
		Message: "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
	})
}

// Broken replies with a fault.
func Broken(f Fault) Reply { return Reply{Fault: f} }

// wireRequest is the part of the API's request that a script may want to see.
type wireRequest struct {
	Model    string `json:"model"`
	Messages []struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	} `json:"messages"`
	MaxTokens           int      `json:"max_tokens"`
	MaxCompletionTokens int      `json:"max_completion_tokens"`
	Temperature         *float64 `json:"temperature"`
	ResponseFormat      struct {
		Type       Format `json:"type"`
		JSONSchema struct {
			Name   string          `json:"name"`
			Strict bool            `json:"strict"`
			Schema json.RawMessage `json:"schema"`
		} `json:"json_schema"`
	} `json:"response_format"`
}

func (w wireRequest) request() Request {
	r := Request{
		Model: w.Model, Format: w.ResponseFormat.Type, MaxTokens: max(w.MaxTokens, w.MaxCompletionTokens), Temperature: w.Temperature,
		SchemaName: w.ResponseFormat.JSONSchema.Name, Schema: w.ResponseFormat.JSONSchema.Schema, Strict: w.ResponseFormat.JSONSchema.Strict,
	}
	if r.Format == "" {
		r.Format = FormatNone
	}
	for _, m := range w.Messages {
		if m.Role == "system" {
			r.System += m.Content
		} else {
			r.User += m.Content
		}
	}
	r.Operation = guess(r)
	return r
}

// guess recognises what a prompt of llm.Prompted is for. A test compares it with the real prompts.
func guess(r Request) llm.Operation {
	switch {
	case r.SchemaName == "facts", strings.Contains(r.System, "lasting facts"):
		return llm.OpExtract
	case strings.Contains(r.System, "a user's week"), strings.Contains(r.System, "a user's month"):
		return llm.OpPeriod
	case strings.HasPrefix(r.System, "You merge"):
		return llm.OpMerge
	}
	return llm.OpSummarize
}

func (s *Server) chat(w http.ResponseWriter, r *http.Request) {
	var wire wireRequest
	if err := json.NewDecoder(r.Body).Decode(&wire); err != nil {
		writeError(w, http.StatusBadRequest, Failure{Type: "invalid_request_error", Message: "The body is not JSON."})
		return
	}
	req := wire.request()
	req.N = s.record(r, Call{Operation: req.Operation, Model: req.Model, Format: req.Format, Tokens: count(req.System, req.User)})
	if s.isBarred(w, r) || s.isUnsupported(w, req) {
		return
	}
	reply := Say("ok")
	if s.options.Chat != nil {
		reply = s.options.Chat(req)
	}
	if s.wait(r, reply.Delays) && !s.isFault(w, r, reply.Fault) {
		reply.write(w, req)
	}
}

// isUnsupported refuses a response format that the server does not support, and reports whether it did.
func (s *Server) isUnsupported(w http.ResponseWriter, r Request) bool {
	if s.options.Formats == nil || r.Format == FormatNone || slices.Contains(s.options.Formats, r.Format) {
		return false
	}
	writeError(w, http.StatusBadRequest, Failure{
		Type:    "invalid_request_error",
		Param:   "response_format",
		Message: "Invalid parameter: 'response_format' of type '" + string(r.Format) + "' is not supported with this model.",
	})
	return true
}

func (p Reply) write(w http.ResponseWriter, r Request) {
	if p.RetryAfter != "" {
		w.Header().Set("Retry-After", p.RetryAfter)
	}
	if p.Status != 0 && p.Status != http.StatusOK {
		if p.Failure == (Failure{}) {
			p.Failure = Failure{Type: "server_error", Message: http.StatusText(p.Status)}
		}
		writeError(w, p.Status, p.Failure)
		return
	}
	writeJSON(w, http.StatusOK, p.body(r))
}

func (p Reply) body(r Request) map[string]any {
	finish := p.Finish
	if finish == "" {
		finish = "stop"
	}
	message := map[string]any{"role": "assistant", "content": p.Text}
	if p.Refusal != "" {
		message["refusal"] = p.Refusal
	}
	body := map[string]any{
		"id": "chatcmpl-" + strconv.Itoa(r.N), "object": "chat.completion", "created": time.Time{}.Unix(), "model": r.Model,
		"choices": []any{map[string]any{"index": 0, "message": message, "finish_reason": finish}},
	}
	if !p.Usage.Unreported {
		body["usage"] = p.Usage.wire(count(r.System, r.User), count(p.Text))
	}
	return body
}

// wire is the usage object; what is not set is counted.
func (u Usage) wire(input, output int64) map[string]int64 {
	if u.Input != 0 || u.Output != 0 {
		input, output = int64(u.Input), int64(u.Output)
	}
	return map[string]int64{"prompt_tokens": input, "completion_tokens": output, "total_tokens": input + output}
}
