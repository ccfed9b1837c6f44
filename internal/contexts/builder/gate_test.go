package builder_test

import "context"

// openGate admits every call.
type openGate struct{}

func (openGate) Heavy(context.Context, int64) error { return nil }

func (openGate) Aside(_ context.Context, do func() error) error { return do() }
