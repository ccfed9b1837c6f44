package cli

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/config"
)

// dial prepares a connection to the server, after misspelt environment variables are refused.
func (r *run) dial() (*grpc.ClientConn, error) {
	if err := config.CheckEnv(r.env.Environ, clientEnv()); err != nil {
		return nil, err
	}
	return dial(r.Server)
}

func dial(addr string) (*grpc.ClientConn, error) {
	conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, usagef("--server %s: %w", addr, err)
	}
	return conn, nil
}

// call runs f with a client of the server, within the timeout.
func (r *run) call(f func(ctx context.Context, c memoryv1.MemoryServiceClient) error) error {
	conn, err := r.dial()
	if err != nil {
		return err
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(r.ctx, r.Timeout)
	defer cancel()
	return r.explained(f(ctx, memoryv1.NewMemoryServiceClient(conn)))
}
