package eino

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/cloudwego/eino/components"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
)

// ChatModel returns the model with memory, for a node of a graph or chain, or for a flow: what Middleware does for agents of the ADK,
// which need either of both. A turn that was streamed is recorded before the stream ends: its failure is the stream's last error.
// A stream that is closed before its end records nothing.
func (m *Memory) ChatModel(inner model.ToolCallingChatModel) model.ToolCallingChatModel {
	return &chatModel{inner: inner, memory: m}
}

type chatModel struct {
	inner  model.ToolCallingChatModel
	memory *Memory
}

// Generate implements model.BaseChatModel.
func (c *chatModel) Generate(ctx context.Context, input []*schema.Message, opts ...model.Option) (*schema.Message, error) {
	messages, err := c.memory.before(ctx, input)
	if err != nil {
		return nil, err
	}
	output, err := c.inner.Generate(ctx, messages, opts...)
	if err != nil {
		return nil, err
	}
	return output, c.memory.after(ctx, append(slices.Clone(input), output))
}

// Stream implements model.BaseChatModel.
func (c *chatModel) Stream(
	ctx context.Context, input []*schema.Message, opts ...model.Option,
) (*schema.StreamReader[*schema.Message], error) {
	messages, err := c.memory.before(ctx, input)
	if err != nil {
		return nil, err
	}
	output, err := c.inner.Stream(ctx, messages, opts...)
	if err != nil {
		return nil, err
	}
	return watched(output, func(pieces []*schema.Message) error {
		whole, err := schema.ConcatMessages(pieces)
		if err != nil {
			return fmt.Errorf("put a streamed message together: %w", err)
		}
		return c.memory.after(ctx, append(slices.Clone(input), whole))
	}), nil
}

// WithTools implements model.ToolCallingChatModel.
func (c *chatModel) WithTools(tools []*schema.ToolInfo) (model.ToolCallingChatModel, error) {
	inner, err := c.inner.WithTools(tools)
	if err != nil {
		return nil, err
	}
	return &chatModel{inner: inner, memory: c.memory}, nil
}

// IsCallbacksEnabled implements components.Checker: where the model runs callbacks by itself, nobody else may.
func (c *chatModel) IsCallbacksEnabled() bool { return components.IsCallbacksEnabled(c.inner) }

// GetType implements components.Typer.
func (c *chatModel) GetType() string {
	name, _ := components.GetType(c.inner)
	return name
}

// watched returns a stream of the same pieces. done has all of them before the stream ends; its error is the stream's. A stream that fails,
// is empty, or is closed by its reader before the end does not come so far.
func watched[T any](stream *schema.StreamReader[T], done func([]T) error) *schema.StreamReader[T] {
	reader, writer := schema.Pipe[T](1)
	go func() {
		defer stream.Close()
		defer writer.Close()
		var pieces []T
		var none T
		for {
			piece, err := stream.Recv()
			if errors.Is(err, io.EOF) {
				break
			}
			if closed := writer.Send(piece, err); closed || err != nil {
				return
			}
			pieces = append(pieces, piece)
		}
		if len(pieces) == 0 {
			return
		}
		if err := done(pieces); err != nil {
			writer.Send(none, err)
		}
	}()
	return reader
}
