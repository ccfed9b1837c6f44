package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/grpc"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
)

// costly is a kind of call that costs much.
type costly struct {
	name   string
	beyond bool // it asks for more than is done: refused as invalid
	call   func(context.Context, clients) error
}

// clients ask services over one connection.
type clients struct {
	memory  memoryv1.MemoryServiceClient
	history memoryv1.HistoryServiceClient
}

func clientsOf(conn *grpc.ClientConn) clients {
	return clients{memoryv1.NewMemoryServiceClient(conn), memoryv1.NewHistoryServiceClient(conn)}
}

// The largest that requests may hold, less what encoding adds.
const (
	mebibyte    = 1<<20 - 1<<10
	twoMebibyte = 2<<20 - 64<<10
)

// costlyCalls are the 20 kinds that were found to cost most of what the limits allow, and kinds that cost most until they
// are refused.
func costlyCalls() []costly {
	return slices.Concat(costlyChecks(), costlyHistories(), costlyReads(), costlyRefusals())
}

// The texts of checks are as long as MaxSteps of package contentchecks allows.
func costlyChecks() []costly {
	equal := "[" + strings.TrimSuffix(strings.Repeat("["+strings.TrimSuffix(strings.Repeat("1.5,", 10_000), ",")+"],", 20), ",") + "]"
	return []costly{
		{"CheckMessages, nested optional pattern over 512 KiB", false, checkPattern("(?:a?){85}b", filled("a", 512<<10))},
		{"CheckMessages, quadratic pattern over 4 KiB", false, checkPattern("(?s)a(.*b)?", filled("a", 4<<10))},
		{"CheckMessages, pattern of a thousand options over 64 KiB", false, checkPattern("(?:a?){1000}b", filled("a", 64<<10))},
		{"CheckMessages, a thousand long stop words over 512 KiB", false, checkStopWords(512 << 10)},
		{"CheckMessages, length in tokens of 384 KiB", false, checkTokens(384 << 10)},
		{"CheckMessages, markup in 128 KiB of its beginnings", false, checkMarkup(128 << 10)},
		{
			"CheckMessages, schema with a pattern of a thousand options",
			false,
			checkSchema(`{"pattern":"(?:a?){1000}b"}`, `"`+filled("a", 8<<10)+`"`),
		},
		{"CheckMessages, schema that compares equal arrays", false, checkSchema(`{"uniqueItems":true}`, equal)},
		{"CheckMessages, schema of thousands of parts", false, checkSchema(
			`{"allOf":[`+strings.TrimSuffix(strings.Repeat(`{"a":1},`, 2900), ",")+`]}`, "1")},
	}
}

// costlyRefusals ask for more than is done.
func costlyRefusals() []costly {
	bombs := strings.Repeat("(?:a?){1000}", 3)
	return []costly{
		{"refused: nested optional pattern over a mebibyte", true, checkPattern("(?:a?){85}b", filled("a", mebibyte))},
		{"refused: quadratic pattern over a mebibyte", true, checkPattern("(?s)a(.*b)?", filled("a", mebibyte))},
		{"refused: a thousand long stop words over a mebibyte", true, checkStopWords(mebibyte)},
		{"refused: length in tokens of a mebibyte", true, checkTokens(mebibyte)},
		{"refused: markup in a mebibyte of its beginnings", true, checkMarkup(mebibyte)},
		{"refused: schema with three patterns of a thousand options", true, checkSchema(
			fmt.Sprintf(`{"pattern":%q,"description":%q}`, bombs, strings.Repeat("x", 56<<10)), `"aaaa"`)},
	}
}

// checkStopWords checks a text for words that all begin as it does.
func checkStopWords(bytes int) func(context.Context, clients) error {
	words := make([]string, 1000)
	for i := range words {
		words[i] = strings.Repeat("가", 80) + fmt.Sprint(i)
	}
	return check(filled("가", bytes), &memoryv1.CheckRule{Test: &memoryv1.CheckRule_StopWords{StopWords: &memoryv1.StopWords{Words: words}}})
}

func checkTokens(bytes int) func(context.Context, clients) error {
	rule := &memoryv1.CheckRule{Test: &memoryv1.CheckRule_MaxLength{MaxLength: &memoryv1.MaxLength{Tokens: 100_000}}}
	return check(filled("hello 안녕 ", bytes), rule)
}

func checkMarkup(bytes int) func(context.Context, clients) error {
	return check(filled("<a*b_[`", bytes), &memoryv1.CheckRule{Test: &memoryv1.CheckRule_Markup{Markup: &memoryv1.MarkupKinds{
		Kinds: []memoryv1.Markup{memoryv1.Markup_MARKUP_HTML, memoryv1.Markup_MARKUP_MARKDOWN, memoryv1.Markup_MARKUP_CONTROL},
	}}})
}

func costlyHistories() []costly {
	whole := &memoryv1.ContextPolicy{Compress: &memoryv1.CompressPolicy{
		Keep: &memoryv1.ContextKeep{Messages: 5}, Strategy: &memoryv1.CompressPolicy_Whole{Whole: &memoryv1.WholeHistory{}},
		Fallback: memoryv1.CompressFallback_COMPRESS_FALLBACK_EXTRACT,
	}}
	return []costly{
		{"Compact, two mebibytes in 1,000 messages into one summary", false, compact(1000, twoMebibyte/1000, whole)},
		{"Compact, two mebibytes in 8 messages into one summary", false, compact(8, twoMebibyte/8, whole)},
		{"Compact, two mebibytes in 1,000 messages trimmed by tokens", false, compact(1000, twoMebibyte/1000,
			&memoryv1.ContextPolicy{Trim: &memoryv1.TrimPolicy{Tokens: 100_000}})},
		{"CountTokens, two mebibytes of Korean", false, countTokens(filled("기억은 오래 남는다 ", twoMebibyte))},
		{"CountTokens, two mebibytes without a blank", false, countTokens(filled("xqzj", twoMebibyte))},
		{"Record, two mebibytes in 900 messages", false, func(ctx context.Context, c clients) error {
			_, err := c.memory.Record(ctx, &memoryv1.RecordRequest{
				UserId: "writer", SessionId: "writes", Extract: memoryv1.ExtractMode_EXTRACT_MODE_NONE, Messages: manyMessages(900, twoMebibyte/1000),
			})
			return err
		}},
	}
}

func costlyReads() []costly {
	budget, recent := int64(1_000_000), int32(40)
	trim := &memoryv1.ContextPolicy{Trim: &memoryv1.TrimPolicy{Messages: 20}}
	return []costly{
		{"BuildContext, a policy over a long session", false, func(ctx context.Context, c clients) error {
			_, err := c.memory.BuildContext(ctx, &memoryv1.BuildContextRequest{
				UserId: "long", SessionId: longSession, Overrides: &memoryv1.ContextOverrides{Policy: trim, BudgetTokens: &budget},
			})
			return err
		}},
		{"BuildContext, 40 large messages in 8,000 tokens", false, func(ctx context.Context, c clients) error {
			_, err := c.memory.BuildContext(ctx, &memoryv1.BuildContextRequest{
				UserId:    figureUser,
				SessionId: largeSession,
				Overrides: &memoryv1.ContextOverrides{RecentN: &recent},
				Render:    memoryv1.Render_RENDER_TEXT,
			})
			return err
		}},
		{"BuildContext, 40 large messages in 1,000,000 tokens", false, func(ctx context.Context, c clients) error {
			_, err := c.memory.BuildContext(ctx, &memoryv1.BuildContextRequest{
				UserId: figureUser, SessionId: largeSession, Overrides: &memoryv1.ContextOverrides{RecentN: &recent, BudgetTokens: &budget},
			})
			return err
		}},
		{"ListMessages, a page of large messages", false, func(ctx context.Context, c clients) error {
			_, err := c.memory.ListMessages(ctx, &memoryv1.ListMessagesRequest{UserId: figureUser, SessionId: largeSession, PageSize: 1000})
			return err
		}},
		{"SearchMessages, 64 KiB of words over a long session", false, func(ctx context.Context, c clients) error {
			_, err := c.memory.SearchMessages(
				ctx,
				&memoryv1.SearchMessagesRequest{UserId: "long", Query: filled("note of item ", 64<<10-16), PageSize: 100},
			)
			return err
		}},
	}
}

func checkPattern(expression, words string) func(context.Context, clients) error {
	return check(
		words,
		&memoryv1.CheckRule{Test: &memoryv1.CheckRule_Patterns{Patterns: &memoryv1.Patterns{Expressions: []string{expression}}}},
	)
}

func checkSchema(schema, words string) func(context.Context, clients) error {
	return check(words, &memoryv1.CheckRule{Test: &memoryv1.CheckRule_Json{Json: &memoryv1.JsonText{Schema: schema}}})
}

func check(words string, rule *memoryv1.CheckRule) func(context.Context, clients) error {
	rule.Name, rule.Action = "r", memoryv1.CheckAction_CHECK_ACTION_REMOVE
	req := &memoryv1.CheckMessagesRequest{
		Messages: []*memoryv1.Message{{Id: "m", Role: memoryv1.Role_ROLE_USER, Text: words}}, Rules: []*memoryv1.CheckRule{rule},
	}
	return func(ctx context.Context, c clients) error {
		_, err := c.history.CheckMessages(ctx, req)
		return err
	}
}

func compact(messages, bytes int, policy *memoryv1.ContextPolicy) func(context.Context, clients) error {
	req := &memoryv1.CompactRequest{Messages: manyMessages(messages, bytes-64), Policy: policy}
	return func(ctx context.Context, c clients) error {
		_, err := c.history.Compact(ctx, req)
		return err
	}
}

func countTokens(words string) func(context.Context, clients) error {
	req := &memoryv1.CountTokensRequest{Texts: []string{words}}
	return func(ctx context.Context, c clients) error {
		_, err := c.history.CountTokens(ctx, req)
		return err
	}
}

// manyMessages are messages of so many bytes each, of a user and the model in turn: what a user said last, however many
// messages it is, is never made into a summary.
func manyMessages(n, bytes int) []*memoryv1.Message {
	roles := [...]memoryv1.Role{memoryv1.Role_ROLE_USER, memoryv1.Role_ROLE_ASSISTANT}
	all := make([]*memoryv1.Message, n)
	for i := range all {
		all[i] = &memoryv1.Message{Role: roles[i%2], Text: filled(fmt.Sprintf("On day %d she said: yes. ", i), bytes)}
	}
	return all
}

// filled repeats a text up to so many bytes, whole.
func filled(part string, bytes int) string { return strings.Repeat(part, bytes/len(part)) }
