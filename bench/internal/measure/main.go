package measure

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// Main runs a measuring command until it ends or is interrupted, and returns its exit code: 0, 1 when a figure falls
// short of its bar, 2 for any other fault.
func Main(name string, run func(context.Context) error) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx)
	if err == nil {
		return 0
	}
	fmt.Fprintln(os.Stderr, name+":", err)
	if errors.Is(err, ErrShort) {
		return 1
	}
	return 2
}
