package terminal

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/alecthomas/kong"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// RPCError is a failed call with what a person can do about it.
type RPCError struct {
	Status *status.Status
	hint   string
}

func (e *RPCError) Error() string { return serverText(e.Status) }

// serverText is a status's message without the words that grpc puts around a failed dial, and in other words where the client's own
// time is up.
func serverText(st *status.Status) string {
	if st.Code() == codes.DeadlineExceeded && strings.HasPrefix(st.Message(), "context deadline exceeded") {
		return "the server did not reply in time"
	}
	const dialing = `connection error: desc = "transport: Error while dialing: `
	if text, ok := strings.CutPrefix(st.Message(), dialing); ok {
		return strings.TrimSuffix(text, `"`)
	}
	return st.Message()
}

// ConnectHint is what to do where the connection to a server failed so.
func ConnectHint(server, fault string) string {
	switch {
	case strings.Contains(fault, "not look like a TLS handshake"):
		return server + " does not speak TLS: leave https:// out"
	case strings.Contains(fault, "x509: certificate is valid for"), strings.Contains(fault, "SANs"):
		return "name the server with --server by a name that is in its certificate"
	case strings.Contains(fault, "failed to verify certificate"):
		return "name the PEM file with the certificates that may sign the server's one with --ca"
	case strings.Contains(fault, "reading server preface"):
		return "what listens at " + server + " speaks TLS or is no Strata server: over TLS write --server https://" + server
	}
	host := strings.TrimPrefix(strings.TrimPrefix(server, "http://"), "https://")
	if _, _, err := net.SplitHostPort(host); err != nil {
		return "no server answers at " + server + ": name its port too, such as " + server + ":8081"
	}
	return "no server answers at " + server + ": start one with strata serve, or name another with --server"
}

// commandOf is the command that a line got as far as, without other names that it has.
func commandOf(c *kong.Context) string {
	words := c.Model.Name
	for _, step := range c.Path {
		if step.Command != nil {
			words += " " + step.Command.Name
		}
	}
	return words
}

// parseHint is what to do where the words of a line are no command.
func parseHint(parse *kong.ParseError) string {
	help := "see " + commandOf(parse.Context) + " --help"
	node := parse.Context.Selected()
	if node != nil && len(node.Positional) > 0 && strings.HasPrefix(parse.Error(), "unexpected argument") {
		return "put an argument of several words between quotes; " + help
	}
	return help
}

// parseText is what kong says is wrong with a line, in other words where its own mislead: of a value that begins with a dash, without
// the flags that are like a misspelt one only because both are short, and without the empty value of a flag that is not given.
func parseText(said string) string {
	said = strings.Replace(said, ` must be one of "",`, " must be one of ", 1)
	if flag, rest, ok := strings.Cut(said, ": expected "); ok {
		if _, joined, ok := strings.Cut(rest, "; perhaps try "); ok {
			return flag + ": a value that begins with - is joined to its flag: " + strings.TrimSuffix(joined, "?")
		}
	}
	unknown, list, ok := strings.Cut(said, ", did you mean ")
	misspelt, isFlag := strings.CutPrefix(unknown, "unknown flag ")
	if !ok || !isFlag {
		return said
	}
	var meant []string
	for candidate := range strings.SplitSeq(strings.TrimSuffix(strings.TrimPrefix(list, "one of "), "?"), ", ") {
		if isMeant(misspelt, strings.Trim(candidate, `"`)) {
			meant = append(meant, strings.Trim(candidate, `"`))
		}
	}
	if len(meant) == 0 {
		return unknown
	}
	return unknown + ", did you mean " + strings.Join(meant, " or ") + "?"
}

// isMeant reports whether a flag that kong takes for near may be meant: two letters are all of a short name, so its first must be right.
func isMeant(misspelt, flag string) bool {
	const long = 4
	written, name := strings.TrimLeft(misspelt, "-"), strings.TrimLeft(flag, "-")
	return len(written) >= long && len(name) >= long || written != "" && strings.HasPrefix(name, written[:1])
}

// PrintError writes an error for people: the message, then the reason, fields that the message does not name, and the way out.
func PrintError(w io.Writer, p Palette, err error) {
	parse, isParse := errors.AsType[*kong.ParseError](err)
	said := err.Error()
	if isParse {
		said = parseText(said)
	}
	fmt.Fprintf(w, "%s %s\n", p.Red("strata:"), Clean(strings.ReplaceAll(said, "\n", "\n  ")))
	if isParse {
		fmt.Fprintf(w, "  %s\n", parseHint(parse))
	}
	e, ok := errors.AsType[*RPCError](err)
	if !ok {
		return
	}
	for _, d := range e.Status.Details() {
		switch d := d.(type) {
		case *errdetails.ErrorInfo:
			fmt.Fprintf(w, "  reason: %s\n", Clean(d.GetReason()))
		case *errdetails.BadRequest:
			for _, v := range d.GetFieldViolations() {
				if line := v.GetField() + ": " + v.GetDescription(); !strings.Contains(err.Error(), line) {
					fmt.Fprintf(w, "  %s\n", Clean(line))
				}
			}
		case *errdetails.RetryInfo:
			fmt.Fprintf(w, "  retry after: %s\n", d.GetRetryDelay().AsDuration())
		}
	}
	if e.hint != "" {
		fmt.Fprintf(w, "  %s\n", e.hint)
	}
}

// UsageError is a fault of the arguments.
type UsageError struct{ Err error }

func (e UsageError) Error() string { return e.Err.Error() }

func (e UsageError) Unwrap() error { return e.Err }

// ErrReported ends a run whose failure has been printed already.
var ErrReported = errors.New("failed")

// Usagef makes a UsageError.
func Usagef(format string, args ...any) error { return UsageError{Err: fmt.Errorf(format, args...)} }

// Explained adds to the error of a call what a person can do about it. Other errors pass.
func (r *Run) Explained(err error) error {
	st, ok := status.FromError(err)
	if err == nil || !ok {
		return err
	}
	e := &RPCError{Status: st}
	if st.Code() == codes.Unavailable && len(st.Details()) == 0 {
		e.hint = ConnectHint(r.Server, st.Message())
	}
	if st.Code() == codes.Unauthenticated {
		e.hint = r.KeyHint()
	}
	if st.Code() == codes.DeadlineExceeded && !strings.Contains(st.Message(), "request-timeout of") { // which no client can raise
		e.hint = "allow it more time with --timeout, now " + r.Timeout.String()
	}
	return e
}

// KeyHint is what to do where the server lets the caller in with none of its keys.
func (r *Run) KeyHint() string {
	if r.Key == "" && r.KeyFile == "" {
		return "give the token of a key by STRATA_KEY or --key-file; an admin makes one with strata keys create"
	}
	return "the key that you gave is unknown, expired, revoked or of a suspended tenant: the server's log says which; " +
		"strata keys list shows an admin the state of each"
}

// FaultText is an error without the words that grpc puts before a server's message.
func FaultText(err error) string {
	if st, ok := status.FromError(err); ok {
		return serverText(st)
	}
	return err.Error()
}
