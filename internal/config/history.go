package config

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// The names of the profiles that are always there beside the one named default, from which each starts.
const (
	// BatchProfile asks models seldom and with much at once: see batching.
	BatchProfile = "batch"
	// ChatProfile is for long chats with an assistant.
	ChatProfile = "chat"
	// AgentProfile is for agents whose tools say most of what is said.
	AgentProfile = "agent"
	// LangChainProfile does what LangChain's SummarizationMiddleware does.
	LangChainProfile = "langchain-default"
	// KoogProfile does what Koog's nodeLLMCompressHistory does.
	KoogProfile = "koog-default"
	// CostSaverProfile keeps as little as it can.
	CostSaverProfile = "cost-saver"
)

// readyMade says how each of these profiles differs from the one named default.
func readyMade() map[string]func(Profile) Profile {
	return map[string]func(Profile) Profile{
		BatchProfile: batching, ChatProfile: chatting, AgentProfile: acting,
		LangChainProfile: langChain, KoogProfile: koog, CostSaverProfile: saving,
	}
}

// batching changes a profile so that models are asked seldom and read little: two extractions and one summary for each
// hundred messages that come one by one without a pause, extractions being shown the last words of what the assistant
// said. Until then the messages themselves stand in the contexts of their session, as far as there is room, and other
// sessions find them by their words.
func batching(p Profile) Profile {
	p.Extraction.AtReply, p.Extraction.Messages, p.Extraction.Idle = false, 50, 10*time.Minute
	p.Extraction.MaxMessages, p.Extraction.MaxTokens, p.Extraction.ContextBytes = 100, 12_000, 80
	p.Summaries.TriggerMessages, p.Summaries.KeepMessages, p.Summaries.Idle = 120, 20, 10*time.Minute
	p.Summaries.ChunkTokens = 12_000
	return p
}

// preserved are the tags of messages that the ready-made policies leave alone, but for LangChain's and Koog's, which know
// no tags.
func preserved() List { return List{"name", "preference", "constraint"} }

// chatting changes a profile for long chats: what is older than the last twenty messages becomes one summary once there
// are fifty.
func chatting(p Profile) Profile {
	h := &p.History
	h.Trigger, h.Keep, h.Strategy = Triggers{{{Messages: 50}}, {{Tokens: 6000}}}, Size{Messages: 20}, WholeHistory
	h.Summary.MaxTokens, h.KeepTags = 800, preserved()
	return p
}

// acting changes a profile for agents with tools. Results are cleared first, since they say most and are needed least:
// the agent has read them, and can call the tool again. What is left of the older part becomes one summary, which takes
// up the one before; at its length nothing is lost that TestProfilesOnAHundredTurns planted.
func acting(p Profile) Profile {
	p.BudgetTokens = 16_000
	p.Summaries.TriggerMessages, p.Summaries.KeepMessages, p.Summaries.ResultBytes = 60, 20, 80
	p.Summaries.MaxTokens, p.Summaries.Share = 1000, 0.30
	h := &p.History
	h.Clear = ClearToolUses{Enabled: true, Trigger: Triggers{{{Tokens: 4000}}}, Keep: 3}
	h.Trigger, h.Keep, h.Strategy = Triggers{{{Tokens: 8000}}}, Size{Messages: 20}, WholeHistory
	h.Summary.MaxTokens, h.KeepTags = 3000, preserved()
	return p
}

// langChain changes a profile to what the documentation of SummarizationMiddleware shows: at a hundred messages all but
// the last twenty become one summary, of which the model is shown the last 4,000 tokens and the rest is lost. The
// documentation's other trigger, a fraction of 0.8, needs a window and is left to the caller.
func langChain(p Profile) Profile {
	h := &p.History
	h.Trigger, h.Keep, h.Strategy = Triggers{{{Messages: 100}}}, Size{Messages: 20}, WholeHistory
	h.Summary.ChunkTokens, h.Summary.Lossy, h.Head = 4000, true, "system"
	return p
}

// koog changes a profile to what Koog's documentation shows: at more than a hundred messages the whole history becomes
// one summary.
func koog(p Profile) Profile {
	h := &p.History
	h.Trigger, h.Strategy, h.PreserveMemory = Triggers{{{Messages: 101}}}, WholeHistory, true
	return p
}

// saving changes a profile so that little is sent: a small budget, results cleared but for the last, a short summary.
func saving(p Profile) Profile {
	p.BudgetTokens, p.RecentN = 3000, 4
	h := &p.History
	h.Clear = ClearToolUses{Enabled: true, Keep: 1, Inputs: true}
	h.Trigger, h.Keep, h.Strategy = Triggers{{{Tokens: 2000}}}, Size{Messages: 6}, WholeHistory
	h.Summary.MaxTokens, h.TrimTokens, h.KeepTags = 400, 3000, preserved()
	return p
}

// The strategies that are built in.
const (
	NoStrategy    = "none"
	WholeHistory  = "whole-history"
	LastMessages  = "last-messages"
	Chunked       = "chunked"
	RetrieveFacts = "facts"
)

// History says what becomes of the messages of a session, or of a history that is compacted, before they are sent. It
// changes contexts and never the transcript.
type History struct {
	Trigger        Triggers           `name:"trigger" help:"When the strategy is applied: any of a list of sizes that the history has reached, such as messages 100, tokens 8000 or fraction 0.8 of the model's window; sizes joined with and must all be reached. Never when empty."`
	Keep           Size               `name:"keep" help:"The latest messages, which the strategy leaves as they are: messages, tokens or fraction with a number. None when empty."`
	Strategy       string             `name:"strategy" default:"none" help:"What becomes of the messages before them: none, whole-history (one summary), last-messages (one summary of the last of them), chunked (a summary of each part), facts (what they say about the concepts) or a name under strategies."`
	LastMessages   int                `name:"last-messages" default:"20" help:"How many messages last-messages summarises, 1 to 100000."`
	ChunkMessages  int                `name:"chunk-messages" default:"50" help:"How many messages each part of chunked has, 1 to 100000."`
	Concepts       map[string]Concept `name:"concepts" help:"What facts looks for, by keyword; at most 32."`
	Summary        Summarizing        `name:"summary"`
	TrimMessages   int                `name:"trim-messages" default:"0" help:"The most messages that remain, 0 to 100000, beside the beginning; 0 for any number."`
	TrimTokens     int64              `name:"trim-tokens" default:"0" help:"The most tokens that remain, 0 to 10000000; 0 for any number."`
	TrimFraction   float64            `name:"trim-fraction" default:"0" help:"The most that remains as a fraction of the model's window, 0 to 1; 0 for any part."`
	Head           string             `name:"head" default:"system-and-first" enum:"system-and-first,system-or-first,system" help:"What of the beginning survives beside its system messages: the first words of a user (system-and-first), the first message where there is no system message (system-or-first) or nothing (system)."`
	Clear          ClearToolUses      `name:"clear-tool-uses"`
	KeepTags       List               `name:"keep-tags" help:"Messages with one of these tags stay, as pinned ones do."`
	PreserveMemory bool               `name:"preserve-memory" default:"false" help:"Whether messages stay that a memory service had put into the prompt."`
}

// Concept is something to look for in a history.
type Concept struct {
	Description string `name:"description" help:"What to look for, such as: the user's preferences for the style of answers."`
	Single      bool   `name:"single" default:"false" help:"Whether one answer is looked for; else as many as there are."`
}

// Summarizing says how the summaries of a history are written.
type Summarizing struct {
	Prompt      string `name:"prompt" help:"What the model is told in place of the built-in prompt; {messages} and {previous} stand for the messages and the summary before them."`
	Model       string `name:"model" help:"The chat model; summary-model when empty."`
	MaxTokens   int64  `name:"max-tokens" default:"500" help:"The most tokens of one summary, 50 to 10000."`
	ChunkTokens int64  `name:"trim-tokens-to-summarize" default:"6000" help:"The most tokens of messages in one call of the model, 500 to 1000000; more are summarised part by part."`
	Lossy       bool   `name:"lossy" default:"false" help:"Whether only the last trim-tokens-to-summarize tokens are summarised and the rest is left out; in stored sessions nothing is."`
	Fallback    string `name:"fallback" default:"extract" enum:"keep,drop,whole,extract" help:"What happens when the model fails or finds nothing: keep (the messages stay), drop, whole (one summary by the built-in prompt) or extract (one by the built-in summariser)."`
	Role        string `name:"role" default:"user" enum:"user,assistant,system" help:"In whose voice summaries stand: user, assistant or system."`
	Prefix      string `name:"prefix" help:"What a summary begins with; Here is a summary of the conversation to date: when empty."`
}

// ClearToolUses says when a placeholder takes the place of old tool results.
type ClearToolUses struct {
	Enabled bool     `name:"enabled" default:"false" help:"Whether results of old tool calls are cleared."`
	Trigger Triggers `name:"trigger" help:"When they are, as the history's trigger; always when empty."`
	Keep    int      `name:"keep" default:"3" help:"How many of the latest tool uses keep their results, 0 to 100000."`
	AtLeast int64    `name:"clear-at-least" default:"0" help:"The least tokens that clearing must save, 0 to 10000000."`
	Exclude List     `name:"exclude-tools" help:"Tools whose results are never cleared."`
	Inputs  bool     `name:"clear-tool-inputs" default:"false" help:"Whether the arguments of the calls are cleared too."`
	Instead string   `name:"placeholder" help:"What stands in the place of a result; [Old tool result content cleared] when empty."`
}

// Strategy is one of your own: which of the messages before those that are kept the model reads, and what it is told.
type Strategy struct {
	Roles    List   `name:"roles" help:"Only messages of these roles: system, developer, user, assistant, tool."`
	Contains List   `name:"contains" help:"Only messages with one of these words in them, in any case."`
	Tags     List   `name:"tags" help:"Only messages with one of these tags."`
	Names    List   `name:"names" help:"Only messages of speakers with one of these names."`
	Prompt   string `name:"prompt" help:"What the model is told; {messages} and {previous} stand for the messages and the summary before them. The messages stay as they are when it is empty."`
	Model    string `name:"model" help:"The chat model; summary-model when empty."`
	Fallback string `name:"fallback" default:"extract" enum:"keep,drop,whole,extract" help:"What happens when the model fails or no message passes, as history.summary.fallback."`
}

// check finds what is wrong with a profile's history.
func (h History) check(fs *faults, prefix string, strategies map[string]Strategy) {
	within(fs, prefix+"last-messages", h.LastMessages, 1, maxSizeMessages)
	within(fs, prefix+"chunk-messages", h.ChunkMessages, 1, maxSizeMessages)
	within(fs, prefix+"concepts", len(h.Concepts), 0, 32)
	within(fs, prefix+"summary.max-tokens", h.Summary.MaxTokens, 50, 10_000)
	within(fs, prefix+"summary.trim-tokens-to-summarize", h.Summary.ChunkTokens, 500, maxCallTokens)
	within(fs, prefix+"trim-messages", h.TrimMessages, 0, maxSizeMessages)
	within(fs, prefix+"trim-tokens", h.TrimTokens, 0, maxTokens)
	within(fs, prefix+"trim-fraction", h.TrimFraction, 0, 1)
	within(fs, prefix+"clear-tool-uses.keep", h.Clear.Keep, 0, maxSizeMessages)
	within(fs, prefix+"clear-tool-uses.clear-at-least", h.Clear.AtLeast, 0, maxTokens)
	h.checkStrategy(fs, prefix, strategies)
}

// checkStrategy refuses a strategy that is not there, or that has nothing to do.
func (h History) checkStrategy(fs *faults, prefix string, strategies map[string]Strategy) {
	known := append([]string{NoStrategy, WholeHistory, LastMessages, Chunked, RetrieveFacts}, slices.Sorted(maps.Keys(strategies))...)
	switch {
	case !slices.Contains(known, h.Strategy):
		fs.add(prefix+"strategy", "there is no strategy %q: set one of %s", h.Strategy, strings.Join(known, ", "))
	case h.Strategy == RetrieveFacts && len(h.Concepts) == 0:
		fs.add(prefix+"concepts", "facts has nothing to look for: name a concept with a description")
	case h.Strategy != NoStrategy && len(h.Trigger) == 0:
		fs.add(prefix+"trigger", "the strategy %q is never applied: set a trigger such as messages 100, or the strategy to none", h.Strategy)
	}
}

// checkStrategies refuses names that are taken and roles that do not exist.
func (c Config) checkStrategies(fs *faults) {
	builtin := []string{NoStrategy, WholeHistory, LastMessages, Chunked, RetrieveFacts}
	roles := []string{"system", "developer", "user", "assistant", "tool"}
	for _, name := range slices.Sorted(maps.Keys(c.Strategies)) {
		if slices.Contains(builtin, name) {
			fs.add("strategies."+name, "the name is taken by what is built in: choose another one")
		}
		c.checkChatModel(fs, "strategies."+name+".model", c.Strategies[name].Model)
		for _, role := range c.Strategies[name].Roles {
			if !slices.Contains(roles, role) {
				fs.add("strategies."+name+".roles", "there is no role %q: set any of %s", role, strings.Join(roles, ", "))
			}
		}
	}
}
