package memoryv1_test

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/program/app"
	"github.com/stratamem/strata/internal/program/config"
)

// connect starts a server on an empty file, and connects to it as an agent does to one that runs: grpc.NewClient and no more.
func connect() (*grpc.ClientConn, func()) {
	folder, err := os.MkdirTemp("", "strata-example-*")
	if err != nil {
		log.Fatal(err)
	}
	cfg := config.Default()
	cfg.Data, cfg.Listen, cfg.MetricsListen = filepath.Join(folder, "strata.db"), "127.0.0.1:0", ""
	cfg.RequestTimeout, cfg.EmbeddingDeadline = 2*time.Minute, 10*time.Second // a slow machine shows the same
	server, err := app.New(context.Background(), cfg, app.Options{Log: slog.New(slog.DiscardHandler), Version: "example"})
	if err != nil {
		log.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx) }()
	conn, err := grpc.NewClient(server.Addr(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		log.Fatal(err)
	}
	return conn, func() {
		_ = conn.Close()
		stop()
		if err := <-ended; err != nil {
			log.Fatal(err)
		}
		_ = os.RemoveAll(folder)
	}
}

// Two calls: record each turn, build the context of the next one. Freshness waits until what was said elsewhere is learnt.
func Example() {
	conn, stop := connect() // grpc.NewClient("127.0.0.1:8081", …)
	defer stop()
	ctx := context.Background()
	memory := memoryv1.NewMemoryServiceClient(conn)

	_, err := memory.Record(ctx, &memoryv1.RecordRequest{UserId: "ada", SessionId: "monday", RequestId: "turn-1", Messages: []*memoryv1.Message{
		{Role: memoryv1.Role_ROLE_USER, Text: "I am vegan, and I live in Porto."},
		{Role: memoryv1.Role_ROLE_ASSISTANT, Text: "Noted!"},
	}})
	if err != nil {
		log.Fatal(err)
	}
	next, err := memory.BuildContext(ctx, &memoryv1.BuildContextRequest{
		UserId: "ada", SessionId: "friday", Query: "a vegan restaurant where I live?",
		Fresh: &memoryv1.Freshness{Timeout: durationpb.New(20 * time.Second)},
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, section := range next.GetSections() {
		if section.GetKind() == memoryv1.SectionKind_SECTION_KIND_FACTS {
			for _, item := range section.GetItems() {
				fmt.Println(item.GetFact().GetText())
			}
		}
	}
	// Unordered output:
	// Is vegan.
	// Lives in Porto.
}

// A call that timed out is repeated with the same request_id: nothing is stored twice.
func ExampleMemoryServiceClient_Record() {
	conn, stop := connect()
	defer stop()
	memory := memoryv1.NewMemoryServiceClient(conn)

	turn := &memoryv1.RecordRequest{UserId: "ada", SessionId: "monday", RequestId: "turn-1", Messages: []*memoryv1.Message{
		{Id: "m1", Role: memoryv1.Role_ROLE_USER, Text: "Hello"},
	}}
	for range 2 {
		stored, err := memory.Record(context.Background(), turn)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(stored.GetLastSeq(), stored.GetReplayed())
	}
	// Output:
	// 1 false
	// 1 true
}

// An error names its reason and the field.
func ExampleMemoryServiceClient_BuildContext() {
	conn, stop := connect()
	defer stop()
	memory := memoryv1.NewMemoryServiceClient(conn)

	budget := int64(10)
	_, err := memory.BuildContext(context.Background(), &memoryv1.BuildContextRequest{
		UserId: "ada", SessionId: "monday", Render: memoryv1.Render_RENDER_TEXT, Overrides: &memoryv1.ContextOverrides{BudgetTokens: &budget},
	})
	for _, detail := range status.Convert(err).Details() {
		switch d := detail.(type) {
		case *errdetails.ErrorInfo:
			fmt.Println(d.GetReason())
		case *errdetails.BadRequest:
			fmt.Println(d.GetFieldViolations()[0].GetField())
		}
	}
	// Unordered output:
	// BUDGET_TOO_SMALL
	// overrides.budget_tokens
}

// Pages are read until there is no token of a next one.
func ExampleMemoryServiceClient_ListMessages() {
	conn, stop := connect()
	defer stop()
	ctx := context.Background()
	memory := memoryv1.NewMemoryServiceClient(conn)
	for _, text := range []string{"one", "two", "three"} {
		_, err := memory.Record(ctx, &memoryv1.RecordRequest{UserId: "ada", SessionId: "monday", Messages: []*memoryv1.Message{
			{Role: memoryv1.Role_ROLE_USER, Text: text},
		}})
		if err != nil {
			log.Fatal(err)
		}
	}

	page := &memoryv1.ListMessagesRequest{UserId: "ada", SessionId: "monday", PageSize: 2}
	for {
		listed, err := memory.ListMessages(ctx, page)
		if err != nil {
			log.Fatal(err)
		}
		for _, m := range listed.GetMessages() {
			fmt.Println(m.GetSeq(), m.GetParts()[0].GetText().GetText())
		}
		if page.PageToken = listed.GetNextPageToken(); page.PageToken == "" {
			break
		}
	}
	// Output:
	// 1 one
	// 2 two
	// 3 three
}

// A fact that is stated by hand is found by its words and is never changed by what is learnt.
func ExampleFactServiceClient_CreateFact() {
	conn, stop := connect()
	defer stop()
	ctx := context.Background()
	facts := memoryv1.NewFactServiceClient(conn)

	_, err := facts.CreateFact(ctx, &memoryv1.CreateFactRequest{Fact: &memoryv1.Fact{
		UserId: "ada",
		Text:   "Prefers trains to planes.", Category: memoryv1.Category_CATEGORY_PREFERENCE, Significance: 7,
	}})
	if err != nil {
		log.Fatal(err)
	}
	found, err := facts.SearchFacts(ctx, &memoryv1.SearchFactsRequest{UserId: "ada", Query: "book a train?"})
	if err != nil {
		log.Fatal(err)
	}
	for _, hit := range found.GetHits() {
		fmt.Println(hit.GetFact().GetText())
	}
	// Output:
	// Prefers trains to planes.
}

// A history that the agent holds itself is made smaller by a policy; nothing is stored.
func ExampleHistoryServiceClient_Compact() {
	conn, stop := connect()
	defer stop()
	history := memoryv1.NewHistoryServiceClient(conn)

	var messages []*memoryv1.Message
	for i := range 60 {
		messages = append(messages,
			&memoryv1.Message{Role: memoryv1.Role_ROLE_USER, Text: fmt.Sprintf("Question %d: what is %d squared?", i, i)},
			&memoryv1.Message{Role: memoryv1.Role_ROLE_ASSISTANT, Text: fmt.Sprintf("%d squared is %d.", i, i*i)})
	}
	small, err := history.Compact(context.Background(), &memoryv1.CompactRequest{Messages: messages, Profile: "chat"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(small.GetChanged(), len(small.GetMessages()) < len(messages)/4)
	// Output:
	// true true
}
