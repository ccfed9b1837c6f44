package cli

import (
	"context"
	"fmt"
	"io"

	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/stratamem/strata/internal/program/cli/terminal"
)

// healthCmd asks a server whether it serves: the check of a container that holds nothing but the program.
type healthCmd struct{}

// Run fails unless the server reports that it is serving.
func (c *healthCmd) Run(r *terminal.Run) error {
	var reply *grpc_health_v1.HealthCheckResponse
	err := terminal.CallOn(r, grpc_health_v1.NewHealthClient, func(ctx context.Context, client grpc_health_v1.HealthClient) (err error) {
		reply, err = client.Check(ctx, &grpc_health_v1.HealthCheckRequest{})
		return err
	})
	if err != nil {
		return err
	}
	if s := reply.GetStatus(); s != grpc_health_v1.HealthCheckResponse_SERVING {
		return fmt.Errorf("%s says %s", r.Server, s)
	}
	return r.Show(reply, terminal.Views{
		Table: func(w io.Writer) { fmt.Fprintf(w, "%s is serving\n", r.Server) },
		Quiet: func(io.Writer) {},
	})
}
