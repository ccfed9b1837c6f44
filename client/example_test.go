package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/client"
	"github.com/stratamem/strata/internal/program/app"
	"github.com/stratamem/strata/internal/program/config"
)

// serve starts a server on an empty file, and returns its address.
func serve() (address string, stop func()) {
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
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx) }()
	return server.Addr(), func() {
		cancel()
		if err := <-ended; err != nil {
			log.Fatal(err)
		}
		_ = os.RemoveAll(folder)
	}
}

// Two calls: record each turn, build the context of the next one.
func Example() {
	address, stop := serve() // that of strata serve is 127.0.0.1:8081
	defer stop()
	memory, err := client.New(address, client.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer memory.Close()

	ctx := context.Background()
	_, err = memory.Memory.Record(ctx, &memoryv1.RecordRequest{UserId: "ada", SessionId: "monday", Messages: []*memoryv1.Message{
		{Role: memoryv1.Role_ROLE_USER, Text: "I am vegan, and I live in Porto."},
		{Role: memoryv1.Role_ROLE_ASSISTANT, Text: "Noted!"},
	}})
	if err != nil {
		log.Fatal(err)
	}
	next, err := memory.Memory.BuildContext(ctx, &memoryv1.BuildContextRequest{
		UserId: "ada", SessionId: "friday", Query: "a vegan restaurant where I live?",
		Fresh: &memoryv1.Freshness{Timeout: durationpb.New(20 * time.Second)},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(next.GetSections()) > 0)
	for fact, err := range memory.KnownFacts(ctx, &memoryv1.ListFactsRequest{UserId: "ada"}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(fact.GetText())
	}
	// Unordered output:
	// true
	// Is vegan.
	// Lives in Porto.
}

// Lists are iterators that ask for the next page when it is needed.
func ExampleClient_Messages() {
	address, stop := serve()
	defer stop()
	memory, err := client.New(address, client.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer memory.Close()

	ctx := context.Background()
	var turn []*memoryv1.Message
	for _, text := range []string{"one", "two", "three", "four", "five"} {
		turn = append(turn, &memoryv1.Message{Role: memoryv1.Role_ROLE_USER, Text: text})
	}
	if _, err := memory.Memory.Record(ctx, &memoryv1.RecordRequest{UserId: "ada", SessionId: "monday", Messages: turn}); err != nil {
		log.Fatal(err)
	}
	for m, err := range memory.Messages(ctx, &memoryv1.ListMessagesRequest{UserId: "ada", SessionId: "monday", PageSize: 2}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(m.GetSeq(), m.GetParts()[0].GetText().GetText())
	}
	// Output:
	// 1 one
	// 2 two
	// 3 three
	// 4 four
	// 5 five
}

// An error names its reason and the field.
func ExampleError() {
	address, stop := serve()
	defer stop()
	memory, err := client.New(address, client.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer memory.Close()

	_, err = memory.Memory.Record(context.Background(), &memoryv1.RecordRequest{UserId: "ada", SessionId: "monday", Messages: []*memoryv1.Message{
		{Text: "Who says this?"},
	}})
	var failed *client.Error
	if errors.As(err, &failed) {
		fmt.Println(failed.Code, failed.Fields[0].Field)
	}
	// Output:
	// InvalidArgument messages[0].role
}

// Items of a provider are kept as they are, and come back so.
func ExampleRead() {
	address, stop := serve()
	defer stop()
	memory, err := client.New(address, client.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer memory.Close()

	ctx := context.Background()
	turn := &memoryv1.RecordRequest{UserId: "ada", SessionId: "monday"}
	for _, item := range []string{
		`{"role":"user","content":[{"type":"text","text":"How is the weather?"}]}`,
		`{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"weather","input":{"city":"Porto"}}]}`,
	} {
		read, err := client.Read(json.RawMessage(item), client.Anthropic)
		if err != nil {
			log.Fatal(err)
		}
		turn.Messages = append(turn.Messages, read...)
	}
	if _, err := memory.Memory.Record(ctx, turn); err != nil {
		log.Fatal(err)
	}
	var kept []*memoryv1.Message
	for m, err := range memory.Messages(ctx, &memoryv1.ListMessagesRequest{UserId: "ada", SessionId: "monday", IncludeOriginal: true}) {
		if err != nil {
			log.Fatal(err)
		}
		kept = append(kept, m)
	}
	items, _ := client.Originals(kept, client.Anthropic)
	for _, item := range items {
		fmt.Println(string(item))
	}
	// Output:
	// {"role":"user","content":[{"type":"text","text":"How is the weather?"}]}
	// {"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"weather","input":{"city":"Porto"}}]}
}
