package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/bench/internal/measure"
)

// mongoKillFigure kills the MongoDB server under load and counts what the clients of a server of ours, which stays, were
// promised and did not get.
func mongoKillFigure(ctx context.Context, o options) (err error) {
	db, err := newMongoServer(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.run("wipe")) }()
	if err := db.run("start"); err != nil {
		return err
	}
	s, err := startWith(ctx, measure.ServerOptions{Binary: o.binary, Env: []string{"STRATA_MONGODB_URI=" + db.uri()}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	l, t := newLedger(), toll{}
	rng := rand.New(rand.NewPCG(5, 2))
	recovered := measure.Samples{}
	for cycle := range o.cycles {
		after, err := mongoKillCycle(ctx, db, s, l, cycle, time.Duration(300+rng.IntN(700))*time.Millisecond)
		if err != nil {
			return fmt.Errorf("cycle %d: %w", cycle, err)
		}
		recovered = append(recovered, after)
	}
	for _, w := range l.writers {
		t.acknowledged += len(w.acknowledged)
	}
	if err := l.count(ctx, s, &t); err != nil {
		return err
	}
	o.report.Note(
		"   %d × kill -9 of MongoDB: %d turns acknowledged, %d unacknowledged ones sent again, %d of them had been stored; after it answered again a Record succeeded within %s",
		o.cycles,
		t.acknowledged,
		l.resent,
		l.replayed,
		measure.Millis(recovered.Quantile(1)),
	)
	o.report.Zero(fmt.Sprintf("kill -9 of MongoDB, %d cycles: acknowledged messages lost", o.cycles), t.lost)
	o.report.Zero(fmt.Sprintf("kill -9 of MongoDB, %d cycles: messages doubled", o.cycles), t.doubled)
	o.report.Zero(fmt.Sprintf("kill -9 of MongoDB, %d cycles: out of order, gaps, turns torn apart", o.cycles), t.disordered)
	return nil
}

// mongoKillCycle writes until the database is killed, starts it again, and returns how long after that a write succeeded.
func mongoKillCycle(ctx context.Context, db mongoServer, s *running, l *ledger, cycle int, after time.Duration) (time.Duration, error) {
	var wg sync.WaitGroup
	for i := range crashWriters {
		w := l.writer(cycle, i)
		wg.Go(func() { w.write(ctx, s) })
	}
	time.Sleep(after)
	err := db.run("kill")
	wg.Wait()
	if err := errors.Join(err, db.run("start")); err != nil {
		return 0, err
	}
	begin := time.Now()
	if err := awaitWrites(ctx, s); err != nil {
		return 0, err
	}
	return time.Since(begin), l.resend(ctx, s, cycle)
}

// awaitWrites waits until the server of ours has found the database again.
func awaitWrites(ctx context.Context, c memoryv1.MemoryServiceClient) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	return measure.Until(ctx, "write after the database came back", func(ctx context.Context) (bool, error) {
		_, err := c.Record(ctx, &memoryv1.RecordRequest{
			UserId: "probe", SessionId: "probe", Messages: []*memoryv1.Message{{Role: memoryv1.Role_ROLE_USER, Text: "hello"}},
		})
		return err == nil, nil
	})
}

// mongoServer is a server of its own, with its data, started by the project's script.
type mongoServer struct {
	script, state, port string
}

// newMongoServer prepares a folder in which the script finds the program that is installed already.
func newMongoServer(ctx context.Context, o options) (mongoServer, error) {
	installed := os.Getenv("STRATA_BACKENDS_DIR")
	if installed == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return mongoServer{}, fmt.Errorf("find the installed servers: %w", err)
		}
		installed = filepath.Join(home, ".cache", "strata-backends")
	}
	state := filepath.Join(o.dir, "mongodb-server")
	if err := os.MkdirAll(state, 0o700); err != nil {
		return mongoServer{}, fmt.Errorf("prepare a database server: %w", err)
	}
	for _, program := range []string{"rust", "secantus-venv"} {
		if err := os.Symlink(filepath.Join(installed, program), filepath.Join(state, program)); err != nil && !errors.Is(err, os.ErrExist) {
			return mongoServer{}, fmt.Errorf("prepare a database server: %w", err)
		}
	}
	addr, err := measure.FreeAddr(ctx)
	if err != nil {
		return mongoServer{}, err
	}
	_, port, err := net.SplitHostPort(addr)
	return mongoServer{script: filepath.Join(o.backends, "mongodb.sh"), state: state, port: port}, err
}

func (m mongoServer) uri() string { return "mongodb://127.0.0.1:" + m.port + "/?directConnection=true" }

func (m mongoServer) run(verb string) error {
	c := exec.Command(m.script, verb) //nolint:noctx // ending it must not be cut short
	c.Env = append(os.Environ(), "STRATA_BACKENDS_DIR="+m.state, "MONGODB_PORT="+m.port)
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", m.script, verb, err, out)
	}
	return nil
}
