package eino

import (
	"context"
	"slices"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"
)

// Middleware is for ChatModelAgentConfig.Middlewares of the agent that speaks with the user. Memory stands among the messages of a call
// of the model alone: neither what the agent goes on with nor a checkpoint has it. The turn is recorded when the model has answered
// without calling a tool, or a tool has answered in its place; a run that fails or is interrupted before that records nothing, and one
// that is resumed records the whole turn.
func (m *Memory) Middleware() adk.AgentMiddleware {
	return adk.AgentMiddleware{
		BeforeChatModel: func(ctx context.Context, state *adk.ChatModelAgentState) error {
			messages, err := m.before(ctx, state.Messages)
			if err != nil {
				return err
			}
			state.Messages = messages
			return nil
		},
		AfterChatModel: func(ctx context.Context, state *adk.ChatModelAgentState) error {
			state.Messages = withoutMemory(state.Messages)
			return m.after(ctx, state.Messages)
		},
		WrapToolCall: compose.ToolMiddleware{Invokable: m.invoked, Streamable: m.streamed},
	}
}

// invoked records the turn that ends with what a tool returns, which the agent returns in the place of an answer.
func (m *Memory) invoked(next compose.InvokableToolEndpoint) compose.InvokableToolEndpoint {
	return func(ctx context.Context, input *compose.ToolInput) (*compose.ToolOutput, error) {
		output, err := next(ctx, input)
		if err != nil {
			return nil, err
		}
		return output, m.toolAnswered(ctx, input, output.Result)
	}
}

func (m *Memory) streamed(next compose.StreamableToolEndpoint) compose.StreamableToolEndpoint {
	return func(ctx context.Context, input *compose.ToolInput) (*compose.StreamToolOutput, error) {
		output, err := next(ctx, input)
		if err != nil {
			return nil, err
		}
		output.Result = watched(output.Result, func(pieces []string) error {
			var whole string
			for _, piece := range pieces {
				whole += piece
			}
			return m.toolAnswered(ctx, input, whole)
		})
		return output, nil
	}
}

// toolAnswered records the turn if the agent ends with this call. To hand over to another agent is no answer.
func (m *Memory) toolAnswered(ctx context.Context, input *compose.ToolInput, result string) error {
	if input.Name == adk.TransferToAgentToolName {
		return nil
	}
	var messages []*schema.Message
	err := compose.ProcessState(ctx, func(_ context.Context, state *adk.State) error {
		if state.HasReturnDirectly && state.ReturnDirectlyToolCallID == input.CallID {
			messages = slices.Clone(state.Messages)
		}
		return nil
	})
	if err != nil || messages == nil {
		return nil //nolint:nilerr // a tool that runs in no agent has no such state
	}
	return m.after(ctx, append(messages, schema.ToolMessage(result, input.CallID, schema.WithToolName(input.Name))))
}
