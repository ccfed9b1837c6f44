package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/bench/internal/measure"
	"github.com/stratamem/strata/bench/internal/scripted"
	"github.com/stratamem/strata/internal/language/tokens"
	"github.com/stratamem/strata/internal/learning/llm"
	"github.com/stratamem/strata/internal/testing/conversations"
	"github.com/stratamem/strata/internal/testing/llmtest"
)

const (
	visibleRounds = 50
	visibleBar    = 120 * time.Millisecond
	talkMessages  = 100
	quiet         = 3 * time.Second // without a model call: nothing more will come
)

// talkSettings shorten the idle times, so that the idle flush can be waited for: it comes once either way.
const talkSettings = `profiles:
  default: {summaries: {idle: 1s}, extraction: {idle: 1s}}
  batch: {summaries: {idle: 1s}, extraction: {idle: 1s}}
`

// learnFigure measures how soon a fact is there, and how many model calls a conversation costs.
func learnFigure(ctx context.Context, o options) error {
	if err := visibleFigure(ctx, o); err != nil {
		return fmt.Errorf("fact visible after Record: %w", err)
	}
	for _, m := range []talk{
		{name: "one by one, default profile", most: map[llm.Operation]int{llm.OpSummarize: 16, llm.OpMerge: 5, llm.OpExtract: 50}},
		{name: "one burst, default profile", burst: talkMessages, total: 15},
		{name: "one by one, batch profile", profile: "batch", total: 15, inputPerText: 2},
	} {
		if err := talkFigure(ctx, o, m); err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
	}
	return nil
}

// startScripted starts a server whose models answer at once.
func startScripted(ctx context.Context, o options, file string, model *llmtest.Server, args ...string) (*running, error) {
	data, err := o.path(file)
	if err != nil {
		return nil, err
	}
	return start(ctx, o.binary, data, append(scripted.ChatFlags(model.URL()), args...)...)
}

// visibleFigure records what a fact can be learnt from and looks until it is there.
func visibleFigure(ctx context.Context, o options) (err error) {
	model := llmtest.New(llmtest.Options{Chat: proposeAll})
	defer model.Close()
	s, err := startScripted(ctx, o, "visible.db", model)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	facts := memoryv1.NewFactServiceClient(s.conn)
	var took measure.Samples
	for i := range visibleRounds {
		session := fmt.Sprintf("s%d", i)
		req := &memoryv1.RecordRequest{UserId: figureUser, SessionId: session, Messages: []*memoryv1.Message{
			{Role: memoryv1.Role_ROLE_USER, Text: fmt.Sprintf("My locker at the gym has the number %d.", 1000+i)},
			{Role: memoryv1.Role_ROLE_ASSISTANT, Text: "Good to know."},
		}}
		begin := time.Now()
		if _, err := s.Record(ctx, req); err != nil {
			return err
		}
		err := measure.Until(ctx, "wait for the fact", func(ctx context.Context) (bool, error) {
			r, err := facts.ListFacts(ctx, &memoryv1.ListFactsRequest{UserId: figureUser, SessionId: session})
			return len(r.GetFacts()) == 1, err
		})
		if err != nil {
			return err
		}
		took = append(took, time.Since(begin))
	}
	o.report.Note(
		"   fact visible after Record, looked for every 20 ms: p50 %s, p99 %s",
		measure.Millis(took.P50()),
		measure.Millis(took.P99()),
	)
	o.report.AtMost("fact visible after Record (p99)", took.P99(), visibleBar)
	return nil
}

// proposeAll makes a fact of every line that may be learnt from, and summarises by repeating.
func proposeAll(r llmtest.Request) llmtest.Reply {
	if r.Operation != llm.OpExtract {
		return repeat(r)
	}
	var all []scripted.Proposal
	for _, m := range learnable(r.User) {
		all = append(all, propose(m.Message, m.Text))
	}
	return scripted.Propose(all)
}

// repeatWords is how long the repeated summaries are: no longer than a model was asked to write.
const repeatWords = 120

// repeat summarises by the first words of each line. A summary that began with a speaker's mark would be refused, since
// it could speak to its reader.
func repeat(r llmtest.Request) llmtest.Reply {
	if r.Operation == llm.OpExtract {
		return llmtest.Say(`{"operations":[]}`)
	}
	var lines []string
	for line := range strings.Lines(r.User) {
		if said, ok := strings.CutPrefix(strings.TrimSpace(line), "| "); ok && !strings.HasPrefix(said, "(") {
			lines = append(lines, strings.TrimPrefix(strings.TrimPrefix(said, "user: "), "assistant: "))
		}
	}
	var words []string
	for _, l := range lines {
		fields := strings.Fields(l)
		words = append(words, fields[:min(len(fields), max(1, repeatWords/len(lines)))]...)
	}
	return llmtest.Say(strings.Join(words, " ") + ".")
}

// talk is a way to hold a conversation of 100 messages, with the most calls it may cost.
type talk struct {
	name, profile string
	burst         int // messages of one Record call; 0 for one
	most          map[llm.Operation]int
	total         int     // 0 for no limit
	inputPerText  float64 // tokens read by models for each token said; 0 for no limit
}

func talkFigure(ctx context.Context, o options, m talk) (err error) {
	settings := filepath.Join(o.dir, "talk.yaml")
	if err := os.WriteFile(settings, []byte(talkSettings), 0o600); err != nil {
		return err
	}
	model := llmtest.New(llmtest.Options{Chat: repeat})
	defer model.Close()
	s, err := startScripted(ctx, o, "talk.db", model, "--config", settings)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	said, err := hold(ctx, s, m)
	if err != nil {
		return err
	}
	if err := untilQuiet(ctx, model); err != nil {
		return err
	}
	return m.judge(o, model.Calls(), said)
}

// hold records the conversation and waits after each reply until its facts are learnt, as a person would let pass
// while typing. It returns the tokens said.
func hold(ctx context.Context, s *running, m talk) (said int64, err error) {
	shape := conversations.Shape{Seed: 11, Sessions: 1, Messages: talkMessages, MedianWords: 25, AssistantWords: 25}
	messages := shape.Conversations()[0].Messages
	counter, err := tokens.ByName(tokens.O200K)
	if err != nil {
		return 0, err
	}
	step := max(m.burst, 1)
	for i := 0; i < len(messages); i += step {
		req := &memoryv1.RecordRequest{UserId: figureUser, SessionId: "talk", Profile: m.profile}
		for _, message := range messages[i : i+step] {
			req.Messages = append(req.Messages, protoMessage(message))
			said += tokens.Tokens(counter, counter.Cost(message.PlainText()))
		}
		r, err := s.Record(ctx, req)
		if err != nil {
			return 0, err
		}
		if m.profile != "" || r.GetLastSeq()%2 == 1 {
			continue
		}
		if err := extracted(ctx, s, r.GetLastSeq()); err != nil {
			return 0, err
		}
	}
	return said, nil
}

// extracted waits until the facts of the messages are learnt, without making that happen sooner.
func extracted(ctx context.Context, s *running, seq int64) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	return measure.Until(ctx, "wait for extraction", func(ctx context.Context) (bool, error) {
		r, err := s.BuildContext(ctx, &memoryv1.BuildContextRequest{UserId: figureUser, SessionId: "talk", Query: "x"})
		return r.GetWatermarks().GetExtracted() >= seq, err
	})
}

// untilQuiet waits until no call has come in for a while.
func untilQuiet(ctx context.Context, model *llmtest.Server) error {
	calls, since := 0, time.Now()
	return measure.Until(ctx, "wait for the last model call", func(context.Context) (bool, error) {
		if n := len(model.Calls()); n != calls {
			calls, since = n, time.Now()
		}
		return time.Since(since) > quiet, nil
	})
}

func (m talk) judge(o options, calls []llmtest.Call, said int64) error {
	count, read, input := map[llm.Operation]int{}, map[llm.Operation]int64{}, int64(0)
	for _, c := range calls {
		count[c.Operation]++
		read[c.Operation] += c.Tokens
		input += c.Tokens
	}
	o.report.Note(
		"   %s: %d tokens said, %d calls read %d tokens (%.2f×): %d summaries %d, %d merges %d, %d extractions %d",
		m.name,
		said,
		len(calls),
		input,
		float64(input)/float64(said),
		count[llm.OpSummarize],
		read[llm.OpSummarize],
		count[llm.OpMerge],
		read[llm.OpMerge],
		count[llm.OpExtract],
		read[llm.OpExtract],
	)
	for _, op := range []llm.Operation{llm.OpSummarize, llm.OpMerge, llm.OpExtract} {
		if most, ok := m.most[op]; ok {
			o.report.NoMore(fmt.Sprintf("model calls, %s: %s", m.name, op), float64(count[op]), float64(most), "")
		}
	}
	if m.total > 0 {
		o.report.NoMore("model calls, "+m.name+": in all", float64(len(calls)), float64(m.total), "")
	}
	if m.inputPerText > 0 {
		o.report.NoMore("tokens read for each token said, "+m.name, float64(input)/float64(said), m.inputPerText, "")
	}
	return nil
}
