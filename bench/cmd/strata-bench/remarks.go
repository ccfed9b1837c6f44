package main

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/bench/internal/scripted"
	"github.com/stratamem/strata/internal/learning/llm"
	"github.com/stratamem/strata/internal/testing/conversations"
	"github.com/stratamem/strata/internal/testing/llmtest"
)

// The conversations in which the server is killed: two users, five sessions, 500 messages.
const (
	remarkUsers    = 2
	remarkSessions = 5
	remarksEach    = 100 // messages of a session
	remarkRound    = 10  // messages of a session between two looks
	sharedEvery    = 20  // so often a user says what was said in other sessions too
	movesEvery     = 50  // so often a user moves, so that a fact takes another's place
)

// remark is one message. Every message has words of its own, so that a prompt shows what it was made of.
type remark struct {
	session   int // from 0
	seq       int64
	words     string
	statement string // what can be learnt from it; "" for nothing
	said      time.Time
}

const moves = "I live in "

// remarks are the messages of all sessions, by session. Users speak at odd places, a model at even ones.
func remarks() [][]remark {
	words := conversations.Shape{Seed: 21}.Queries(remarkSessions * remarksEach)
	shared := conversations.Shape{Seed: 22}.Queries(remarkUsers * remarksEach)
	begin := time.Date(2025, time.March, 3, 8, 0, 0, 0, time.UTC)
	out := make([][]remark, remarkSessions)
	for s := range out {
		for i := range remarksEach {
			r := remark{session: s, seq: int64(i + 1), words: words[s*remarksEach+i]}
			round := i / remarkRound * remarkSessions
			r.said = begin.Add(time.Duration(round+s)*6*time.Hour + time.Duration(i%remarkRound)*time.Minute)
			r.statement = r.states(shared[s%remarkUsers*remarksEach+i])
			out[s] = append(out[s], r)
		}
	}
	return out
}

// states is what the message lets the service learn: what a user says, one thing a message.
func (r remark) states(shared string) string {
	switch {
	case r.seq%2 == 0:
		return ""
	case r.seq%movesEvery == movesEvery-1:
		return moves + strings.Join(strings.Fields(r.words)[:3], " ") + "."
	case r.seq%sharedEvery == sharedEvery-1:
		return "The project is about " + shared + "."
	}
	return fmt.Sprintf("Item %d is about %s.", r.number(), r.words)
}

// number names the message among all.
func (r remark) number() int64 { return int64(r.session+1)*1000 + r.seq }

func (r remark) user() string { return remarkUser(r.session) }

func remarkUser(session int) string { return fmt.Sprintf("seams-%d", session%remarkUsers) }

func remarkSession(session int) string { return fmt.Sprintf("s%d", session) }

func (r remark) message() *memoryv1.Message {
	m := &memoryv1.Message{
		Id: fmt.Sprint(r.number()), Role: memoryv1.Role_ROLE_USER, CreateTime: timestamppb.New(r.said),
		Text: fmt.Sprintf("Note %d: %s", r.number(), r.statement),
	}
	if r.statement == "" {
		m.Role, m.Text = memoryv1.Role_ROLE_ASSISTANT, fmt.Sprintf("Noted as %d: %s.", r.number(), r.words)
	}
	return m
}

// turns are the messages of a round as Record calls of 2, 4, 1 and 3 messages.
func turns(round []remark) []*memoryv1.RecordRequest {
	var out []*memoryv1.RecordRequest
	for _, n := range []int{2, 4, 1, 3} {
		turn := round[:n]
		round = round[n:]
		req := &memoryv1.RecordRequest{UserId: turn[0].user(), SessionId: remarkSession(turn[0].session), RequestId: fmt.Sprint(turn[0].number())}
		for _, r := range turn {
			req.Messages = append(req.Messages, r.message())
		}
		out = append(out, req)
	}
	return out
}

// oracle is what a user's facts must be in the end, whatever the order in which they were learnt.
type oracle struct{ current, past map[string]bool }

func oracles(all [][]remark) map[string]oracle {
	out, home := map[string]oracle{}, map[string]remark{}
	for _, session := range all {
		for _, r := range session {
			if _, ok := out[r.user()]; !ok {
				out[r.user()] = oracle{map[string]bool{}, map[string]bool{}}
			}
			switch {
			case r.statement == "":
			case strings.HasPrefix(r.statement, moves):
				out[r.user()].past[r.statement] = true
				if r.said.After(home[r.user()].said) {
					home[r.user()] = r
				}
			default:
				out[r.user()].current[r.statement] = true
			}
		}
	}
	for user, r := range home {
		out[user].current[r.statement] = true
		delete(out[user].past, r.statement)
	}
	return out
}

// listener is the script of the model in these conversations. It learns every statement, and counts how often it is
// asked for the same.
type listener struct {
	mu    sync.Mutex
	asked map[string]int
}

func (l *listener) answer(r llmtest.Request) llmtest.Reply {
	made := material(r)
	l.mu.Lock()
	l.asked[string(r.Operation)+made]++
	l.mu.Unlock()
	if r.Operation == llm.OpExtract {
		return stated(made)
	}
	r.User = made
	return repeat(r)
}

// counts are all calls, and those beyond the first for the same.
func (l *listener) counts() (calls, again int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, n := range l.asked {
		calls += n
		again += n - 1
	}
	return calls, again
}

// material is the part of a prompt that its range alone decides: facts and summaries that are there to understand it
// may be others when it is asked again.
func material(r llmtest.Request) string {
	title := "conversation:\n"
	if r.Operation == llm.OpExtract {
		title = "Messages:\n"
	}
	if _, after, ok := strings.Cut(r.User, title); ok {
		return after
	}
	return r.User
}

// propose is the proposal of a statement. Where somebody lives is one value at a time.
func propose(message, statement string) scripted.Proposal {
	p := scripted.Proposal{Op: "add", Text: statement, Category: "other", Significance: 5, Confidence: 1, Message: message, Quote: statement}
	if strings.HasPrefix(statement, moves) {
		p.Category, p.Attribute = "personal_info", "home_city"
	}
	return p
}

// learnable are the messages of a prompt that may be learnt from, as they were said.
func learnable(prompt string) []scripted.Message {
	all := scripted.Learnable(prompt)
	for i := range all {
		all[i].Text = strings.ReplaceAll(all[i].Text, "\n  ", "\n")
	}
	return all
}

// stated proposes what follows the number of each message.
func stated(prompt string) llmtest.Reply {
	var all []scripted.Proposal
	for _, m := range learnable(prompt) {
		_, statement, _ := strings.Cut(m.Text, ": ")
		all = append(all, propose(m.Message, statement))
	}
	return scripted.Propose(all)
}
