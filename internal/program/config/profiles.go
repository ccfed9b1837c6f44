package config

import (
	"time"

	"github.com/stratamem/strata/internal/contexts/compaction"
	"github.com/stratamem/strata/internal/contexts/contextprofile"
	"github.com/stratamem/strata/internal/memory/toolcalls"
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
func readyMade() map[string]func(contextprofile.Profile) contextprofile.Profile {
	return map[string]func(contextprofile.Profile) contextprofile.Profile{
		BatchProfile: batching, ChatProfile: chatting, AgentProfile: acting,
		LangChainProfile: langChain, KoogProfile: koog, CostSaverProfile: saving,
	}
}

// batching changes a profile so that models are asked seldom and read little: two extractions and one summary for each
// hundred messages that come one by one without a pause, extractions being shown the last words of what the assistant
// said. Until then the messages themselves stand in the contexts of their session, as far as there is room, and other
// sessions find them by their words.
func batching(p contextprofile.Profile) contextprofile.Profile {
	p.Extraction.AtReply, p.Extraction.Messages, p.Extraction.Idle = false, 50, 10*time.Minute
	p.Extraction.MaxMessages, p.Extraction.MaxTokens, p.Extraction.ContextBytes = 100, 12_000, 80
	p.Summaries.TriggerMessages, p.Summaries.KeepMessages, p.Summaries.Idle = 120, 20, 10*time.Minute
	p.Summaries.ChunkTokens = 12_000
	return p
}

// preserved are the tags of messages that the ready-made policies leave alone, but for LangChain's and Koog's, which know
// no tags.
func preserved() []string { return []string{"name", "preference", "constraint"} }

// chatting changes a profile for long chats: what is older than the last twenty messages becomes one summary once there
// are fifty.
func chatting(p contextprofile.Profile) contextprofile.Profile {
	h := &p.History
	h.Compress.Triggers = []toolcalls.Trigger{{Messages: 50}, {Tokens: 6000}}
	h.Compress.Keep, h.Compress.Strategy = toolcalls.Keep{Messages: 20}, compaction.StrategyWhole
	h.Compress.MaxTokens, h.KeepTags = 800, preserved()
	return p
}

// acting changes a profile for agents with tools. Results are cleared first, since they say most and are needed least:
// the agent has read them, and can call the tool again. What is left of the older part becomes one summary, which takes
// up the one before; at its length nothing is lost that TestProfilesOnAHundredTurns planted.
func acting(p contextprofile.Profile) contextprofile.Profile {
	p.BudgetTokens = 16_000
	p.Summaries.TriggerMessages, p.Summaries.KeepMessages, p.Summaries.ResultBytes = 60, 20, 80
	p.Summaries.MaxTokens, p.Summaries.Share = 1000, 0.30
	h := &p.History
	h.Clear = compaction.Clear{Enabled: true, Triggers: []toolcalls.Trigger{{Tokens: 4000}}, Keep: 3}
	h.Compress.Triggers = []toolcalls.Trigger{{Tokens: 8000}}
	h.Compress.Keep, h.Compress.Strategy = toolcalls.Keep{Messages: 20}, compaction.StrategyWhole
	h.Compress.MaxTokens, h.KeepTags = 3000, preserved()
	return p
}

// langChain changes a profile to what the documentation of SummarizationMiddleware shows: at a hundred messages all but
// the last twenty become one summary, of which the model is shown the last 4,000 tokens and the rest is lost. The
// documentation's other trigger, a fraction of 0.8, needs a window and is left to the caller.
func langChain(p contextprofile.Profile) contextprofile.Profile {
	h := &p.History
	h.Compress.Triggers = []toolcalls.Trigger{{Messages: 100}}
	h.Compress.Keep, h.Compress.Strategy = toolcalls.Keep{Messages: 20}, compaction.StrategyWhole
	h.Compress.ChunkTokens, h.Compress.Lossy, h.Head = 4000, true, compaction.HeadSystem
	return p
}

// koog changes a profile to what Koog's documentation shows: at more than a hundred messages the whole history becomes
// one summary.
func koog(p contextprofile.Profile) contextprofile.Profile {
	h := &p.History
	h.Compress.Triggers, h.Compress.Strategy, h.PreserveMemory = []toolcalls.Trigger{{Messages: 101}}, compaction.StrategyWhole, true
	return p
}

// saving changes a profile so that little is sent: a small budget, results cleared but for the last, a short summary.
func saving(p contextprofile.Profile) contextprofile.Profile {
	p.BudgetTokens, p.RecentN = 3000, 4
	h := &p.History
	h.Clear = compaction.Clear{Enabled: true, Keep: 1, ClearInputs: true}
	h.Compress.Triggers = []toolcalls.Trigger{{Tokens: 2000}}
	h.Compress.Keep, h.Compress.Strategy = toolcalls.Keep{Messages: 6}, compaction.StrategyWhole
	h.Compress.MaxTokens, h.Trim.Tokens, h.KeepTags = 400, 3000, preserved()
	return p
}
