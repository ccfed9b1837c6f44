package mcpserver

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
)

// author is who changed a fact, as its revisions say.
const author = "a model, over MCP"

// learning is how long add_memory waits for what is learnt from what it recorded.
const learning = 5 * time.Second

type addMemoryIn struct {
	Text string `json:"text" jsonschema:"what to remember, as the person would say it, in the first person and their language: I am vegan."`
}

type addMemoryOut struct {
	Session string   `json:"session" jsonschema:"the conversation it was recorded in"`
	Seq     int64    `json:"seq" jsonschema:"its place there"`
	Learnt  []Memory `json:"learnt" jsonschema:"the facts that were learnt from it; what taught no fact is found by search_transcript and get_context"`
	Waiting bool     `json:"waiting,omitempty" jsonschema:"whether facts are still being learnt from it"`
}

type updateMemoryIn struct {
	ID   string `json:"id" jsonschema:"the id of the memory"`
	Text string `json:"text" jsonschema:"what it shall say, in the third person: Lives in Lisbon."`
}

type updateMemoryOut struct {
	Memory Memory `json:"memory"`
}

type deleteMemoryIn struct {
	ID string `json:"id" jsonschema:"the id of the memory"`
}

type deleteMemoryOut struct {
	Deleted string `json:"deleted" jsonschema:"the id of the memory that is gone"`
}

// addWriting adds the tools that change memory.
func (t tools) addWriting(s *mcp.Server) {
	addTool(s, t.described, writing("add_memory", "Remember",
		"Records a lasting statement of the person, from which facts are learnt: preferences, who they are, goals, decisions, how they want "+
			"to be served. Record what they said, not your conclusions.", adding), t.addMemory)
	addTool(s, t.described, writing("update_memory", "Correct a memory",
		"Changes what a memory says when the person corrects it. What it said before is kept in its history.", changing), t.updateMemory)
	addTool(s, t.described, writing("delete_memory", "Forget a memory",
		"Deletes a memory when the person asks for it. It cannot be undone.", changing), t.deleteMemory)
}

// effect is what a tool does to memory.
type effect int

const (
	adding   effect = iota + 1 // it adds
	changing                   // it changes or deletes what is there
)

func writing(name, title, description string, does effect) *mcp.Tool {
	closed, destructive := false, does == changing
	return &mcp.Tool{
		Name: name, Title: title, Description: description,
		Annotations: &mcp.ToolAnnotations{DestructiveHint: &destructive, OpenWorldHint: &closed, IdempotentHint: does == changing},
	}
}

// addMemory records a message of the user and waits until facts are learnt from it: so what a model notes is verified, deduplicated
// and quarantined as everything else that is said.
func (t tools) addMemory(ctx context.Context, in addMemoryIn) (addMemoryOut, error) {
	recorded, err := t.memory.Record(ctx, &memoryv1.RecordRequest{
		UserId: t.UserID, SessionId: t.SessionID,
		Messages: []*memoryv1.Message{{Role: memoryv1.Role_ROLE_USER, Text: in.Text}},
	})
	if err != nil {
		return addMemoryOut{}, err
	}
	out := addMemoryOut{Session: t.SessionID, Seq: recorded.GetLastSeq(), Learnt: []Memory{}}
	waited, err := t.work.WaitForWatermark(ctx, &memoryv1.WaitForWatermarkRequest{
		UserId: t.UserID, SessionId: t.SessionID, MinSeq: recorded.GetLastSeq(), Of: []memoryv1.Watermark{memoryv1.Watermark_WATERMARK_EXTRACTED},
		Timeout: durationpb.New(learning),
	})
	if err != nil {
		return addMemoryOut{}, fmt.Errorf("recorded, but what was learnt is not known: %w", err)
	}
	if !waited.GetReached() {
		out.Waiting = true
		return out, nil
	}
	page, err := t.facts.ListFacts(ctx, &memoryv1.ListFactsRequest{UserId: t.UserID, SessionId: t.SessionID})
	if err != nil {
		return addMemoryOut{}, fmt.Errorf("recorded, but what was learnt is not known: %w", err)
	}
	for _, f := range page.GetFacts() {
		saysIt := func(e *memoryv1.Evidence) bool { return e.GetSeq() == out.Seq && e.GetSessionId() == t.SessionID }
		if slices.ContainsFunc(f.GetEvidence(), saysIt) {
			out.Learnt = append(out.Learnt, memoryOf(f))
		}
	}
	return out, nil
}

func (t tools) updateMemory(ctx context.Context, in updateMemoryIn) (updateMemoryOut, error) {
	reply, err := t.facts.UpdateFact(ctx, &memoryv1.UpdateFactRequest{
		Fact: &memoryv1.Fact{UserId: t.UserID, FactId: in.ID, Text: in.Text}, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"text"}},
		Author: author,
	})
	if err != nil {
		return updateMemoryOut{}, err
	}
	return updateMemoryOut{Memory: memoryOf(reply.GetFact())}, nil
}

func (t tools) deleteMemory(ctx context.Context, in deleteMemoryIn) (deleteMemoryOut, error) {
	_, err := t.facts.DeleteFact(ctx, &memoryv1.DeleteFactRequest{UserId: t.UserID, FactId: in.ID})
	return deleteMemoryOut{Deleted: in.ID}, err
}

// instant reads a time that a model gave; nil for none.
func instant(field, given string) (*timestamppb.Timestamp, error) {
	if given == "" {
		return nil, nil
	}
	t, err := time.Parse(time.RFC3339, given)
	if err != nil {
		return nil, fmt.Errorf("%s: must be a time such as 2026-03-01T00:00:00Z", field)
	}
	return timestamppb.New(t), nil
}
