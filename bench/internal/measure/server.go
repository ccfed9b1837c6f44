// Package measure starts the real server as a child process and says how fast, how large and how right it is. It is
// used by the tools beside the product and by tests, never by the product.
package measure

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
)

// startLimit is how long a server may take until it answers its health check.
const startLimit = 3 * time.Minute

// ErrEnded says that a server ended before it was ready.
var ErrEnded = errors.New("the server ended before it was ready")

// ServerOptions says which server to start.
type ServerOptions struct {
	Binary string   // the program
	Data   string   // its data file; "" where Env names another primary store
	Listen string   // HOST:PORT; "" for a free port of loopback
	Args   []string // further flags
	Env    []string // KEY=VALUE beside this process's own
}

// Server is a running child process.
type Server struct {
	Addr string

	cmd    *exec.Cmd
	log    *syncBuffer
	exited chan struct{}
	err    error // of the exit; read after exited is closed
}

// StartServer starts `BINARY serve` and returns when it answers its health check. The caller must end it with Stop or
// Kill.
func StartServer(ctx context.Context, o ServerOptions) (*Server, error) {
	addr := o.Listen
	if addr == "" {
		var err error
		if addr, err = FreeAddr(ctx); err != nil {
			return nil, err
		}
	}
	s := &Server{Addr: addr, log: &syncBuffer{}, exited: make(chan struct{})}
	args := []string{"serve", "--listen", addr, "--log-format", "json", "--metrics-listen", ""}
	if o.Data != "" {
		args = append(args, "--data", o.Data)
	}
	args = append(args, o.Args...)
	s.cmd = exec.Command(o.Binary, args...) //nolint:noctx // the child outlives the context of its start
	s.cmd.Stdout, s.cmd.Stderr, s.cmd.Env = s.log, s.log, append(os.Environ(), o.Env...)
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", o.Binary, err)
	}
	go func() {
		s.err = s.cmd.Wait()
		close(s.exited)
	}()
	if err := s.waitReady(ctx); err != nil {
		return nil, errors.Join(err, s.Kill())
	}
	return s, nil
}

// FreeAddr is an address of loopback that nobody listens on. Its port is below those that a system gives to connections, and to
// listeners that ask for any, so that none of them has it when it is used.
func FreeAddr(ctx context.Context) (string, error) {
	const first, ports, tries = 20_000, 7_000, 100
	var lc net.ListenConfig
	var err error
	for range tries {
		var l net.Listener
		if l, err = lc.Listen(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", first+rand.N(ports))); err == nil {
			return l.Addr().String(), l.Close()
		}
	}
	return "", fmt.Errorf("find a free port: %w", err)
}

func (s *Server) waitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	go func() {
		select {
		case <-s.exited:
			cancel()
		case <-ctx.Done():
		}
	}()
	conn, err := Dial(s.Addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	for {
		r, err := healthpb.NewHealthClient(conn).Check(ctx, &healthpb.HealthCheckRequest{}, grpc.WaitForReady(true))
		if err == nil && r.GetStatus() == healthpb.HealthCheckResponse_SERVING {
			return nil
		}
		if s.hasExited() {
			return fmt.Errorf("%w; its log:\n%s", ErrEnded, s.log)
		}
		if ctx.Err() != nil {
			return fmt.Errorf("server at %s did not get ready; its log:\n%s", s.Addr, s.log)
		}
		pause(ctx, 5*time.Millisecond)
	}
}

// Kill ends the server as a power cut would end the process: without a chance to write anything.
func (s *Server) Kill() error {
	if err := s.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("kill server: %w", err)
	}
	<-s.exited
	return nil
}

// Stop asks the server to end and waits until it has.
func (s *Server) Stop() error {
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stop server: %w", err)
	}
	<-s.exited
	if s.err != nil {
		return fmt.Errorf("server ended with an error: %w; its log:\n%s", s.err, s.log)
	}
	return nil
}

// Commits is how many transactions the server committed, each with one fsync, background work included. A server says
// so when it stops: call Stop first.
func (s *Server) Commits() (int64, error) {
	m := commitsLine.FindStringSubmatch(s.log.String())
	if m == nil {
		return 0, errors.New("the server's log does not say how many transactions it committed")
	}
	return strconv.ParseInt(m[1], 10, 64)
}

var commitsLine = regexp.MustCompile(`"commits":(\d+)`)

// Exited is closed when the process has ended.
func (s *Server) Exited() <-chan struct{} { return s.exited }

func (s *Server) hasExited() bool {
	select {
	case <-s.exited:
		return true
	default:
		return false
	}
}

// ResidentBytes is the memory that the process holds.
func (s *Server) ResidentBytes() (int64, error) {
	return procKiB(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid), "VmRSS:")
}

// PeakBytes is the most memory that the process has held.
func (s *Server) PeakBytes() (int64, error) {
	return procKiB(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid), "VmHWM:")
}

func procKiB(path, key string) (int64, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return 0, fmt.Errorf("read memory use: %w", err)
	}
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, key); ok {
			kib, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			return kib << 10, err
		}
	}
	return 0, fmt.Errorf("no %s in %s", key, path)
}

// Dial connects to a server, with windows as those of the package client. Calls made before it listens fail at once unless they wait for
// it.
func Dial(addr string) (*grpc.ClientConn, error) {
	conn, err := grpc.NewClient("passthrough:///"+addr, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithStaticStreamWindowSize(1<<20), grpc.WithStaticConnWindowSize(4<<20))
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", addr, err)
	}
	return conn, nil
}

// pause waits for d or the end of ctx.
func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// Until asks again and again, every 20 ms, until done returns true, an error, or ctx ends.
func Until(ctx context.Context, what string, done func(context.Context) (bool, error)) error {
	for {
		ok, err := done(ctx)
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		if ok {
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("%s: %w", what, ctx.Err())
		}
		pause(ctx, 20*time.Millisecond)
	}
}

// syncBuffer is a buffer that a child writes while its parent may read.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}
