package cli

import (
	"time"

	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/program/cli/terminal"
)

// The names of the demo's conversation.
const (
	demoUser    = "ada"
	demoPlans   = "birthday-plans"
	demoCheckup = "two-days-before"
)

// demoTurn is one Record call of the script.
type demoTurn struct {
	id       string
	at       time.Time
	messages []*memoryv1.Message
	state    map[string]any
}

// demoPast is the first session: a dinner is planned, with a tool call, its result and what the agent keeps as state.
func demoPast() []demoTurn {
	monday := time.Date(2026, time.March, 2, 18, 0, 0, 0, time.UTC)
	minute := func(n int) time.Time { return monday.Add(time.Duration(n) * time.Minute) }
	return []demoTurn{
		{id: "turn-1", at: minute(0), messages: []*memoryv1.Message{
			said(
				"user",
				"My name is Ada. I live in Lisbon. My sister Mira turns thirty on Saturday the 14th, and I want to take her and two friends out to dinner.",
			),
			said("assistant", "What a good plan! Is there anything the kitchen should know, and what may it cost?"),
		}},
		{id: "turn-2", at: minute(2), messages: []*memoryv1.Message{
			said("user", "I am vegan. Mira is allergic to peanuts. At most 60 euros per person."),
			calls("call-1", "find_restaurants", `{"city":"Lisbon","diet":"vegan","max_eur":60}`),
			answers("call-1", `[{"name":"Casa Verde","area":"Alfama","menu_eur":45,"peanuts":false}]`),
			said(
				"assistant",
				"The restaurant Casa Verde in Alfama has a vegan menu for 45 euros and cooks without peanuts. Shall I hold a table for four at eight?",
			),
		}},
		{
			id:    "turn-3",
			at:    minute(5),
			state: map[string]any{"task": "birthday dinner", "guests": 4, "table": "held"},
			messages: []*memoryv1.Message{
				said("user", "Yes please, on the terrace if it is warm. Tell Mira beforehand, she hates surprises."),
				said("assistant", "Done: Casa Verde, Saturday the 14th at 20:00, four people, on the terrace. I will write to Mira first."),
			},
		},
		{id: "turn-4", at: minute(9), messages: []*memoryv1.Message{
			said("user", "Great. And remind me to water the ficus on Sundays."),
			said("assistant", "I will remind you every Sunday morning."),
		}},
	}
}

// demoQuestions are the turns of the second session, each with the answer Ada's agent gives. The second changes her mind.
func demoQuestions() []demoTurn {
	thursday := time.Date(2026, time.March, 12, 9, 0, 0, 0, time.UTC)
	minute := func(n int) time.Time { return thursday.Add(time.Duration(n) * time.Minute) }
	return []demoTurn{
		{id: "turn-1", at: thursday, state: map[string]any{"task": "answer questions about the dinner"}, messages: []*memoryv1.Message{
			said("user", "Saturday is near. Which restaurant did we choose, and is it safe for Mira?"),
			said("assistant", "Casa Verde in Alfama, Saturday at 20:00. It cooks without peanuts, so Mira can eat everything."),
		}},
		{id: "turn-2", at: minute(3), messages: []*memoryv1.Message{
			said("user", "One thing has changed. I am vegetarian now. A little cheese is fine."),
			said("assistant", "Good to know: I will tell Casa Verde that cheese is fine for you."),
		}},
		{id: "turn-3", at: minute(5), messages: []*memoryv1.Message{
			said("user", "I would like to order wine too. How much is left per person?"),
			said("assistant", "You set 60 euros per person and the menu costs 45, so 15 euros are left for wine."),
		}},
		{id: "turn-4", at: minute(8), messages: []*memoryv1.Message{
			said("user", "Write a note to the restaurant in Lisbon: what must Casa Verde know about Mira and me?"),
			said("assistant", "A table for four on Saturday at 20:00, on the terrace. No peanuts for Mira, who is allergic; Ada is vegetarian."),
		}},
	}
}

func said(role, text string) *memoryv1.Message {
	return &memoryv1.Message{Role: terminal.RoleOf(role), Text: text}
}

func calls(id, name, arguments string) *memoryv1.Message {
	call := &memoryv1.ToolCall{Id: id, Name: name, Arguments: arguments}
	return &memoryv1.Message{Role: memoryv1.Role_ROLE_ASSISTANT, Parts: []*memoryv1.Part{{Kind: &memoryv1.Part_ToolCall{ToolCall: call}}}}
}

func answers(id, text string) *memoryv1.Message {
	words := &memoryv1.Part{Kind: &memoryv1.Part_Text{Text: &memoryv1.Text{Text: text}}}
	result := &memoryv1.ToolResult{CallId: id, Parts: []*memoryv1.Part{words}}
	return &memoryv1.Message{Role: memoryv1.Role_ROLE_TOOL, Parts: []*memoryv1.Part{{Kind: &memoryv1.Part_ToolResult{ToolResult: result}}}}
}

// request is the Record call of a turn.
func (t demoTurn) request(session string) (*memoryv1.RecordRequest, error) {
	for _, m := range t.messages {
		m.CreateTime = timestamppb.New(t.at)
	}
	req := &memoryv1.RecordRequest{UserId: demoUser, SessionId: session, RequestId: t.id, Messages: t.messages}
	if t.state == nil {
		return req, nil
	}
	state, err := structpb.NewStruct(t.state)
	req.StatePatch = state
	return req, err
}
