package terminal

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/client"
	"github.com/stratamem/strata/internal/program/config"
)

// AuthorFlag is the flag of every command that corrects what is remembered.
type AuthorFlag struct {
	Author *string `placeholder:"NAME" help:"Who makes the change: kept with the revision, and listed in its history. The name that you are logged in by when not given; empty for nobody."`
}

// AuthorName is who makes the change.
func (f AuthorFlag) AuthorName(env Env) string {
	if f.Author != nil {
		return *f.Author
	}
	for _, variable := range []string{"USER", "LOGNAME", "USERNAME"} {
		if name, _ := env.Getenv(variable); name != "" {
			return name
		}
	}
	return ""
}

// Server is where a server is, and who may have signed its certificate: see options.
type Server struct{ Address, CA string }

// tls is how its certificate is checked; nil where its address does not begin with https://.
func (s Server) tls() (*tls.Config, error) {
	if !strings.HasPrefix(s.Address, "https://") {
		return nil, nil
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if s.CA == "" {
		return config, nil
	}
	pem, err := os.ReadFile(s.CA)
	if err != nil {
		return nil, Usagef("--ca: %w", err)
	}
	config.RootCAs = x509.NewCertPool()
	if !config.RootCAs.AppendCertsFromPEM(pem) {
		return nil, Usagef("--ca %s: there is no certificate in it: it holds PEM", s.CA)
	}
	return config, nil
}

// Dial prepares a connection whose calls are made once: who runs a command sees at once what failed.
func Dial(to Server, token string) (*client.Client, error) {
	config, err := to.tls()
	if err != nil {
		return nil, err
	}
	c, err := client.New(to.Address, client.Options{Key: token, TLS: config, Retry: client.Retry{Attempts: 1}})
	if err != nil {
		return nil, Usagef("--server %s: %w", to.Address, err)
	}
	return c, nil
}

// CallOn runs f with a client of one of the server's services, within the timeout.
func CallOn[C any](r *Run, newClient func(grpc.ClientConnInterface) C, f func(ctx context.Context, c C) error) error {
	server, err := r.Dial()
	if err != nil {
		return err
	}
	defer func() { _ = server.Close() }()
	ctx, cancel := context.WithTimeout(r.Ctx, r.Timeout)
	defer cancel()
	return r.Explained(f(ctx, newClient(server.Conn())))
}

// Ask makes one call of one of the server's services, within the timeout.
func Ask[C, Q, P any](
	r *Run, newClient func(grpc.ClientConnInterface) C, rpc func(C, context.Context, Q, ...grpc.CallOption) (P, error), req Q,
) (reply P, err error) {
	err = CallOn(r, newClient, func(ctx context.Context, client C) (err error) {
		reply, err = rpc(client, ctx, req)
		return err
	})
	return reply, err
}

// paged is a request for one page of a list, and listing the reply to it.
type (
	paged interface {
		proto.Message
		GetPageToken() string
	}
	listing interface {
		proto.Message
		GetNextPageToken() string
	}
)

// ListAll asks for a list page by page, until it has limit items or all; a limit of 0 means all. most is the largest page that the server
// gives. The token that is left in the reply says that there is more.
func ListAll[C any, Q paged, P listing, T any](
	r *Run, newClient func(grpc.ClientConnInterface) C, rpc func(C, context.Context, Q, ...grpc.CallOption) (P, error), req Q,
	items func(P) []T, limit AtMost, most int,
) (all P, err error) {
	all = all.ProtoReflect().New().Interface().(P)
	err = CallOn(r, newClient, func(ctx context.Context, client C) error {
		more, err := Pages(limit, most, func(size int32, token string) (int, string, error) {
			setField(req, "page_size", size)
			setField(req, "page_token", token)
			page, err := rpc(client, ctx, req)
			if err != nil {
				return 0, "", err
			}
			proto.Merge(all, page)
			return len(items(all)), page.GetNextPageToken(), nil
		})
		setField(all, "next_page_token", more)
		return err
	})
	return all, err
}

func setField(m proto.Message, name protoreflect.Name, value any) {
	fields := m.ProtoReflect()
	fields.Set(fields.Descriptor().Fields().ByName(name), protoreflect.ValueOf(value))
}

// Pages asks for one page after the other until there are enough; a limit of 0 means all. ask returns how many things it
// has gathered so far. The token that is left says that there is more.
func Pages(limit AtMost, most int, ask func(size int32, token string) (have int, next string, err error)) (more string, err error) {
	have, token := 0, ""
	for {
		if have, token, err = ask(pageSize(limit, have, most), token); err != nil {
			return "", err
		}
		if token == "" || limit > 0 && have >= int(limit) {
			return token, nil
		}
	}
}

// MaxJobs is the most that the API returns of jobs at once.
const MaxJobs = 500

// MaxPage is the most that the API returns of messages at once.
const MaxPage = 1000

// AtMost is the --limit of a list: how many things to print, 0 for all.
type AtMost int

// Validate is called by kong, which puts the flag before the error.
func (n AtMost) Validate() error {
	if n < 0 {
		return fmt.Errorf("it is %d: set it from 1, or to 0 for all", n)
	}
	return nil
}

// pageSize is how many things to ask for when some of a limit are there; a limit of 0 means all.
func pageSize(limit AtMost, have, most int) int32 {
	if limit == 0 {
		return int32(most)
	}
	return int32(min(int(limit)-have, most))
}

// MaxSessions is the most that the API returns of sessions at once.
const MaxSessions = 500

// Dial prepares a connection to the server, after misspelt environment variables are refused.
func (r *Run) Dial() (*client.Client, error) {
	if err := config.CheckEnv(r.Env.Environ, ClientEnv()); err != nil {
		return nil, err
	}
	token, err := r.Token()
	if err != nil {
		return nil, err
	}
	return Dial(Server{r.Server, r.CA}, token)
}

// Token is the token of the caller's key, "" for none.
func (r *Run) Token() (string, error) {
	if r.Key != "" || r.KeyFile == "" {
		return strings.TrimSpace(r.Key), nil
	}
	b, err := os.ReadFile(r.KeyFile)
	if err != nil {
		return "", Usagef("--key-file: %w", err)
	}
	return strings.TrimSpace(string(b)), nil
}

// Call runs f with a client of the server, within the timeout.
func (r *Run) Call(f func(ctx context.Context, c memoryv1.MemoryServiceClient) error) error {
	return CallOn(r, memoryv1.NewMemoryServiceClient, f)
}

// MaxFacts is the most that the API returns of facts at once.
const MaxFacts = 500

// MaxUsers is the most that the API returns of users, keys or tenants at once.
const MaxUsers = 500
