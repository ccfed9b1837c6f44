package eino_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/components/tool/utils"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"

	"github.com/stratamem/strata/client"
	"github.com/stratamem/strata/client/eino"
)

var errFailed = errors.New("the model fails")

// oven is a tool that returns its temperature.
func oven(t *testing.T) tool.BaseTool {
	t.Helper()
	made, err := utils.InferTool("oven", "Heats the oven.", func(context.Context, struct {
		Degrees int `json:"degrees"`
	},
	) (string, error) {
		return "200°", nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func agent(t *testing.T, model *scripted, memory *eino.Memory, tools adk.ToolsConfig) adk.Agent {
	t.Helper()
	made, err := adk.NewChatModelAgent(t.Context(), &adk.ChatModelAgentConfig{
		Name: "cook", Description: "Helps with meals.", Instruction: "Be brief.", Model: model, ToolsConfig: tools,
		Middlewares: []adk.AgentMiddleware{memory.Middleware()},
	})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// finish reads all events of a run, streams too, and returns the first error.
func finish(events *adk.AsyncIterator[*adk.AgentEvent]) error {
	var failed error
	for {
		event, ok := events.Next()
		if !ok {
			return failed
		}
		if failed == nil {
			failed = event.Err
		}
		if event.Output == nil || event.Output.MessageOutput == nil {
			continue
		}
		if _, err := event.Output.MessageOutput.GetMessage(); err != nil && failed == nil {
			failed = err
		}
	}
}

// TestAnAgentRemembersWithoutKeepingAnything: each run has but the user's new words.
func TestAnAgentRemembersWithoutKeepingAnything(t *testing.T) {
	t.Parallel()
	for _, streaming := range []bool{false, true} {
		c, user := dial(t)
		if streaming {
			user += "-streaming"
		}
		told(t, c, user, "I am vegan, and I live in Porto.")
		memory := eino.New(c, eino.Options{})
		ctx := eino.With(t.Context(), eino.Scope{UserID: user, SessionID: "friday"})
		model := script(call("c1", "oven", `{"degrees":200}`), schema.AssistantMessage("A curry.", nil), schema.AssistantMessage("Rice.", nil))
		tools := adk.ToolsConfig{ToolsNodeConfig: compose.ToolsNodeConfig{Tools: []tool.BaseTool{oven(t)}}}
		runner := adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent(t, model, memory, tools), EnableStreaming: streaming})

		for _, words := range []string{"What can I cook for dinner?", "And beside it?"} {
			if err := finish(runner.Query(ctx, words)); err != nil {
				t.Fatal(err)
			}
		}

		first := prompt(model.asked[0])
		if !strings.HasPrefix(first, "system: Be brief.\n") || !strings.HasSuffix(first, "user: What can I cook for dinner?") ||
			!strings.Contains(first, "Is vegan.") {
			t.Errorf("the first call was asked\n%s", first)
		}
		if within := prompt(model.asked[1]); strings.Count(within, "Is vegan.") != strings.Count(first, "Is vegan.") ||
			!strings.HasSuffix(within, "\ntool: 200°") {
			t.Errorf("the second call of the run was asked\n%s", within)
		}
		turn := "user: What can I cook for dinner?\nassistant:  oven{\"degrees\":200}\ntool: 200°\nassistant: A curry."
		if second := prompt(model.asked[2]); !strings.HasSuffix(second, turn+"\nuser: And beside it?") {
			t.Errorf("the second run was asked\n%s", second)
		}
		if got, want := transcript(t, memory, ctx), turn+"\nuser: And beside it?\nassistant: Rice."; got != want {
			t.Errorf("recorded:\n%s\nwant:\n%s", got, want)
		}
	}
}

// TestAProgramThatKeepsTheHistoryGetsWhatItDoesNotSay: and a prompt that is sent again is recorded once.
func TestAProgramThatKeepsTheHistoryGetsWhatItDoesNotSay(t *testing.T) {
	t.Parallel()
	c, user := dial(t)
	told(t, c, user, "I am vegan, and I live in Porto.")
	memory := eino.New(c, eino.Options{Scope: eino.Scope{UserID: user, SessionID: "friday"}, History: eino.HistoryGiven})
	model := script(schema.AssistantMessage("Hello!", nil), schema.AssistantMessage("A curry.", nil), schema.AssistantMessage("A stew.", nil))
	runner := adk.NewRunner(t.Context(), adk.RunnerConfig{Agent: agent(t, model, memory, adk.ToolsConfig{})})

	history := []*schema.Message{schema.UserMessage("Hi!")}
	if err := finish(runner.Run(t.Context(), history)); err != nil {
		t.Fatal(err)
	}
	history = append(history, schema.AssistantMessage("Hello!", nil), schema.UserMessage("What can I cook for dinner?"))
	for range 2 {
		if err := finish(runner.Run(t.Context(), history)); err != nil {
			t.Fatal(err)
		}
	}

	asked := model.asked[1]
	if len(asked) != 5 || asked[1].Content != "Hi!" || !client.IsRecalled(asked[3].Content) || !strings.Contains(asked[3].Content, "Is vegan.") {
		t.Errorf("the model was asked\n%s", prompt(asked))
	}
	want := "user: Hi!\nassistant: Hello!\nuser: What can I cook for dinner?\nassistant: A curry.\nassistant: A stew."
	if got := transcript(t, memory, t.Context()); got != want {
		t.Errorf("recorded:\n%s\nwant:\n%s", got, want)
	}
}

func TestATurnThatAToolAnswersIsRecorded(t *testing.T) {
	t.Parallel()
	for _, streaming := range []bool{false, true} {
		c, user := dial(t)
		if streaming {
			user += "-streaming"
		}
		memory := eino.New(c, eino.Options{Scope: eino.Scope{UserID: user, SessionID: "s"}})
		model := script(call("c1", "oven", `{"degrees":200}`))
		tools := adk.ToolsConfig{
			ToolsNodeConfig: compose.ToolsNodeConfig{Tools: []tool.BaseTool{oven(t)}}, ReturnDirectly: map[string]bool{"oven": true},
		}
		if streaming {
			slow, err := utils.InferStreamTool("oven", "Heats the oven.", func(context.Context, struct{}) (*schema.StreamReader[string], error) {
				return schema.StreamReaderFromArray([]string{"200", "°"}), nil
			})
			if err != nil {
				t.Fatal(err)
			}
			tools.Tools = []tool.BaseTool{slow}
		}
		runner := adk.NewRunner(t.Context(), adk.RunnerConfig{Agent: agent(t, model, memory, tools), EnableStreaming: streaming})
		if err := finish(runner.Query(t.Context(), "Heat the oven.")); err != nil {
			t.Fatal(err)
		}
		want := "user: Heat the oven.\nassistant:  oven{\"degrees\":200}\ntool: 200°"
		if got := transcript(t, memory, t.Context()); got != want {
			t.Errorf("recorded:\n%s\nwant:\n%s", got, want)
		}
	}
}

func TestARunThatFailsRecordsNothing(t *testing.T) {
	t.Parallel()
	c, user := dial(t)
	memory := eino.New(c, eino.Options{Scope: eino.Scope{UserID: user, SessionID: "s"}})
	model := script(call("c1", "oven", `{"degrees":200}`)) // and then it fails
	tools := adk.ToolsConfig{ToolsNodeConfig: compose.ToolsNodeConfig{Tools: []tool.BaseTool{oven(t)}}}
	runner := adk.NewRunner(t.Context(), adk.RunnerConfig{Agent: agent(t, model, memory, tools)})
	if err := finish(runner.Query(t.Context(), "Heat the oven.")); !errors.Is(err, errFailed) {
		t.Fatalf("the run ended with %v", err)
	}
	if got := transcript(t, memory, t.Context()); got != "" {
		t.Errorf("recorded:\n%s", got)
	}
}

// TestARunThatIsResumedRecordsTheWholeTurn: and its checkpoint has nothing of memory.
func TestARunThatIsResumedRecordsTheWholeTurn(t *testing.T) {
	t.Parallel()
	c, user := dial(t)
	told(t, c, user, "I am vegan, and I live in Porto.")
	memory := eino.New(c, eino.Options{Scope: eino.Scope{UserID: user, SessionID: "s"}})
	model := script(call("c1", "order", `{}`), schema.AssistantMessage("It comes at eight.", nil))
	order, err := utils.InferTool("order", "Orders a meal.", func(ctx context.Context, _ struct{}) (string, error) {
		if interrupted, _, _ := tool.GetInterruptState[any](ctx); !interrupted {
			return "", tool.Interrupt(ctx, "May I order?")
		}
		return "ordered", nil
	})
	if err != nil {
		t.Fatal(err)
	}
	checkpoints := &checkpoints{kept: map[string][]byte{}}
	tools := adk.ToolsConfig{ToolsNodeConfig: compose.ToolsNodeConfig{Tools: []tool.BaseTool{order}}}
	runner := adk.NewRunner(t.Context(), adk.RunnerConfig{Agent: agent(t, model, memory, tools), CheckPointStore: checkpoints})

	if err := finish(runner.Query(t.Context(), "Order dinner.", adk.WithCheckPointID("1"))); err != nil {
		t.Fatal(err)
	}
	if got := transcript(t, memory, t.Context()); got != "" {
		t.Errorf("recorded before it ended:\n%s", got)
	}
	if kept := string(checkpoints.kept["1"]); kept == "" || strings.Contains(kept, "vegan") {
		t.Errorf("the checkpoint of %d bytes has memory", len(kept))
	}
	resumed, err := runner.Resume(t.Context(), "1")
	if err != nil {
		t.Fatal(err)
	}
	if err := finish(resumed); err != nil {
		t.Fatal(err)
	}
	want := "user: Order dinner.\nassistant:  order{}\ntool: ordered\nassistant: It comes at eight."
	if got := transcript(t, memory, t.Context()); got != want {
		t.Errorf("recorded:\n%s\nwant:\n%s", got, want)
	}
}

type checkpoints struct{ kept map[string][]byte }

func (c *checkpoints) Get(_ context.Context, id string) ([]byte, bool, error) {
	data, ok := c.kept[id]
	return data, ok, nil
}

func (c *checkpoints) Set(_ context.Context, id string, data []byte) error {
	c.kept[id] = data
	return nil
}

// TestWhatAgentsTellEachOtherTeachesNothing: the ADK has them say it in the user's place.
func TestWhatAgentsTellEachOtherTeachesNothing(t *testing.T) {
	t.Parallel()
	c, user := dial(t)
	memory := eino.New(c, eino.Options{Scope: eino.Scope{UserID: user, SessionID: "s"}})
	host, err := adk.NewChatModelAgent(t.Context(), &adk.ChatModelAgentConfig{
		Name: "host", Description: "Greets.", Model: script(schema.AssistantMessage("My name is Otto", []schema.ToolCall{
			{ID: "c1", Function: schema.FunctionCall{Name: adk.TransferToAgentToolName, Arguments: `{"agent_name":"cook"}`}},
		})),
	})
	if err != nil {
		t.Fatal(err)
	}
	cook := script(schema.AssistantMessage("A curry.", nil))
	both, err := adk.SetSubAgents(t.Context(), host, []adk.Agent{agent(t, cook, memory, adk.ToolsConfig{})})
	if err != nil {
		t.Fatal(err)
	}
	if err := finish(adk.NewRunner(t.Context(), adk.RunnerConfig{Agent: both}).Query(t.Context(), "What is for dinner?")); err != nil {
		t.Fatal(err)
	}
	got := transcript(t, memory, t.Context())
	if !strings.HasPrefix(got, "user: What is for dinner?\nuser: For context: [host] said: My name is Otto.") ||
		!strings.HasSuffix(got, "\nassistant: A curry.") {
		t.Errorf("recorded:\n%s", got)
	}
	learnt(t, c, user, "s")
}

func TestWithoutAServerARunFailsUnlessItMayGoOnWithout(t *testing.T) {
	t.Parallel()
	gone, err := client.New("127.0.0.1:1", client.Options{Retry: client.Retry{Attempts: 1}})
	if err != nil {
		t.Fatal(err)
	}
	defer gone.Close()
	scope := eino.Scope{UserID: "ada", SessionID: "s"}
	answer := schema.AssistantMessage("A curry.", nil)
	run := func(options eino.Options) error {
		runner := adk.NewRunner(t.Context(), adk.RunnerConfig{Agent: agent(t, script(answer), eino.New(gone, options), adk.ToolsConfig{})})
		return finish(runner.Query(t.Context(), "Dinner?"))
	}
	if err := run(eino.Options{Scope: scope}); err == nil || !strings.Contains(err.Error(), "recall for a call of the model") {
		t.Errorf("without a server: %v", err)
	}
	var failures []error
	err = run(eino.Options{Scope: scope, OnError: func(_ context.Context, err error) { failures = append(failures, err) }})
	if err != nil || len(failures) != 2 {
		t.Errorf("the run ended with %v; reported: %v", err, failures)
	}
	if err := run(eino.Options{}); err == nil || !strings.Contains(err.Error(), "memory needs a user and a session") {
		t.Errorf("without a user: %v", err)
	}
}

// TestAGraphHasMemoryByItsModel: whether it is invoked or streamed.
func TestAGraphHasMemoryByItsModel(t *testing.T) {
	t.Parallel()
	c, user := dial(t)
	told(t, c, user, "I am vegan, and I live in Porto.")
	memory := eino.New(c, eino.Options{Scope: eino.Scope{UserID: user, SessionID: "s"}})
	model := script(schema.AssistantMessage("A curry.", nil), schema.AssistantMessage("Rice.", nil), schema.AssistantMessage("Tea.", nil))
	graph := compose.NewChain[[]*schema.Message, *schema.Message]().AppendChatModel(memory.ChatModel(model))
	runnable, err := graph.Compile(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	if _, err := runnable.Invoke(t.Context(), []*schema.Message{schema.UserMessage("What can I cook for dinner?")}); err != nil {
		t.Fatal(err)
	}
	stream, err := runnable.Stream(t.Context(), []*schema.Message{schema.UserMessage("And beside it?")})
	if err != nil {
		t.Fatal(err)
	}
	whole, err := schema.ConcatMessageStream(stream)
	if err != nil || whole.Content != "Rice." {
		t.Fatalf("streamed %v, %v", whole, err)
	}
	// A stream that its reader closes is no turn.
	stream, err = memory.ChatModel(model).Stream(t.Context(), []*schema.Message{schema.UserMessage("To drink?")})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); err != nil {
		t.Fatal(err)
	}
	stream.Close()

	if asked := prompt(model.asked[0]); !strings.Contains(asked, "Is vegan.") {
		t.Errorf("the model was asked\n%s", asked)
	}
	want := "user: What can I cook for dinner?\nassistant: A curry.\nuser: And beside it?\nassistant: Rice."
	if got := transcript(t, memory, t.Context()); got != want {
		t.Errorf("recorded:\n%s\nwant:\n%s", got, want)
	}
}

// TestAStreamEndsWithTheFailureOfItsRecord: a turn that is not recorded never looks like one that is.
func TestAStreamEndsWithTheFailureOfItsRecord(t *testing.T) {
	t.Parallel()
	c, user := dial(t)
	memory := eino.New(c, eino.Options{Scope: eino.Scope{UserID: user, SessionID: "s"}})
	odd := schema.UserMessage("Dinner?")
	odd.Extra = map[string]any{"odd": make(chan int)} // nothing that JSON has a form for
	stream, err := memory.ChatModel(script(schema.AssistantMessage("A curry.", nil))).Stream(t.Context(), []*schema.Message{odd})
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err = stream.Recv(); err != nil {
			break
		}
	}
	if errors.Is(err, io.EOF) || !strings.Contains(err.Error(), "Extra") {
		t.Errorf("the stream ended with %v", err)
	}
}

func TestAModelAsksForMemoryByTools(t *testing.T) {
	t.Parallel()
	c, user := dial(t)
	memory := eino.New(c, eino.Options{Scope: eino.Scope{UserID: user, SessionID: "s"}})
	node, err := compose.NewToolNode(t.Context(), &compose.ToolsNodeConfig{Tools: memory.Tools()})
	if err != nil {
		t.Fatal(err)
	}
	use := func(name, arguments string) string {
		t.Helper()
		results, err := node.Invoke(t.Context(), call("c1", name, arguments))
		if err != nil {
			t.Fatal(err)
		}
		return results[0].Content
	}
	if got := use("search_memory", `{"query":"diet"}`); got != "Nothing is known about that." {
		t.Errorf("of a user whom nobody knows: %q", got)
	}
	if got := use("add_memory", `{"text":"Is vegan."}`); got != "Kept: Is vegan." {
		t.Errorf("kept: %q", got)
	}
	if got := use("search_memory", `{"query":"vegan"}`); !client.IsRecalled(got) || !strings.Contains(got, "Is vegan.") {
		t.Errorf("found: %q", got)
	}
}
