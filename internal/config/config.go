// Package config holds every setting of the server in one place: the fields of Config, whose tags give each its name,
// default, limits and help. Flags, environment variables, YAML keys and the reference are derived from them.
package config

import (
	"log/slog"
	"time"
)

// EnvPrefix begins the name of every environment variable of the program.
const EnvPrefix = "STRATA_"

// Config is what the server can be told. Tags of each field: name (flag and YAML key), default, enum (the values
// allowed), help. The environment variable is EnvPrefix and the name in upper case with underscores. Fields that kong
// passes over can be set in the file only.
type Config struct {
	Data           string        `name:"data" default:"strata.db" placeholder:"PATH" help:"The SQLite file that holds everything. Created when missing. Not used with mongodb-uri."`
	Listen         string        `name:"listen" default:"127.0.0.1:8081" placeholder:"HOST:PORT" help:"The address of the gRPC server. Port 0 takes a free one."`
	Insecure       bool          `name:"insecure" default:"false" help:"Allow listening beyond loopback without authentication: everybody who reaches the port reads and writes everything."`
	Reflection     bool          `name:"reflection" default:"true" negatable:"" help:"Answer gRPC reflection, so that grpcurl works without the proto files."`
	LogLevel       string        `name:"log-level" default:"info" enum:"debug,info,warn,error" help:"The least severity that is logged: debug, info, warn or error."`
	LogFormat      string        `name:"log-format" default:"auto" enum:"auto,text,json" help:"How log lines look: text, json, or auto (text on a terminal, else json)."`
	RequestTimeout time.Duration `name:"request-timeout" default:"10s" placeholder:"DURATION" help:"The longest a call may take, 100ms to 10m. A shorter deadline of the client wins."`
	DrainTimeout   time.Duration `name:"drain-timeout" default:"10s" placeholder:"DURATION" help:"How long a stopping server waits for running calls, 0s to 10m."`
	RecallCache    Bytes         `name:"recall-cache" default:"128MiB" placeholder:"SIZE" help:"Memory for the users' recall indexes, 1MiB to 64GiB; half a KiB a message. One user whose index takes more than half of it has a place beside it, at most eight times as large; while it is taken, contexts of further such users say that recall is degraded."`
	FactCache      Bytes         `name:"fact-cache" default:"128MiB" placeholder:"SIZE" help:"Memory for the users' facts and their vectors, 1MiB to 64GiB."`
	HeavyCalls     int           `name:"heavy-calls" default:"0" placeholder:"N" help:"How many calls that take much processor time or memory run at once, 0 to 1024; 0 for one less than there are processors, at least one. Others wait for two seconds at most and are then refused with RESOURCE_EXHAUSTED and a time to retry; small calls never wait."`
	CallMemory     Bytes         `name:"call-memory" default:"256MiB" placeholder:"SIZE" help:"Memory for calls that are large, 64MiB to 1TiB: half for what heavy calls work on, a quarter each for requests and for replies that were not sent yet. A call for which there is none waits and is then refused, as with heavy-calls."`
	MaxConnections int           `name:"max-connections" default:"1000" placeholder:"N" help:"How many connections may be open at once, 1 to 100000; further ones are closed."`
	ReplyTimeout   time.Duration `name:"reply-timeout" default:"30s" placeholder:"DURATION" help:"How long a reply may go unread until its connection is closed, 100ms to 10m; a second where other replies wait for the memory that it holds."`
	Workers        int           `name:"workers" default:"4" placeholder:"N" help:"How many pieces of background work run at once, 1 to 256. Where both models are built in it is one, since they use this machine."`

	MongoDBURI            Secret        `name:"mongodb-uri" placeholder:"URI" help:"The MongoDB that holds the truth in place of the SQLite file, such as mongodb://127.0.0.1:27017; then any number of servers may share it. It may hold a password: set the variable."`
	MongoDBDatabase       string        `name:"mongodb-database" default:"strata" placeholder:"NAME" help:"The database in MongoDB, 1 to 38 letters, digits, dashes and underscores."`
	MilvusAddress         string        `name:"milvus-address" placeholder:"HOST:PORT" help:"The Milvus that ranks facts by meaning, filtered before it ranks. Empty: the vectors of a user are compared in memory."`
	MilvusPrefix          string        `name:"milvus-prefix" default:"strata" placeholder:"NAME" help:"What the names of the collections in Milvus begin with, 1 to 32 letters, digits and underscores."`
	MilvusUsername        string        `name:"milvus-username" placeholder:"NAME" help:"The user in Milvus; empty where it asks for none."`
	MilvusPassword        Secret        `name:"milvus-password" placeholder:"PASSWORD" help:"The password of milvus-username. Set the variable, not the flag."`
	ElasticsearchURL      string        `name:"elasticsearch-url" placeholder:"URL" help:"The Elasticsearch 7.14 that finds messages and facts by their words too, such as http://127.0.0.1:9200. Empty: the index of the truth alone finds them."`
	ElasticsearchPrefix   string        `name:"elasticsearch-prefix" default:"strata" placeholder:"NAME" help:"What the names of the indexes in Elasticsearch begin with, 1 to 32 lower-case letters, digits and dashes."`
	ElasticsearchUsername string        `name:"elasticsearch-username" placeholder:"NAME" help:"The user in Elasticsearch; empty where it asks for none."`
	ElasticsearchPassword Secret        `name:"elasticsearch-password" placeholder:"PASSWORD" help:"The password of elasticsearch-username. Set the variable, not the flag."`
	ElasticsearchAPIKey   Secret        `name:"elasticsearch-api-key" placeholder:"KEY" help:"An API key in place of user and password. Set the variable, not the flag."`
	ElasticsearchShards   int           `name:"elasticsearch-shards" default:"1" placeholder:"N" help:"Into how many shards an index in Elasticsearch is cut, 1 to 1024. A search asks one, its user's. A change takes strata reindex."`
	ViewDeadline          time.Duration `name:"view-deadline" default:"300ms" placeholder:"DURATION" help:"How long an answer waits for Milvus and for Elasticsearch, 1ms to 10s; after it the answer is made without and says so."`

	ChatBaseURL     string        `name:"chat-base-url" placeholder:"URL" help:"The OpenAI-compatible endpoint of the chat models, such as https://api.openai.com/v1 or http://127.0.0.1:11434/v1. Empty: nothing leaves this machine, and what is built in summarises and extracts."`
	ChatAPIKey      Secret        `name:"chat-api-key" placeholder:"KEY" help:"The key of the chat endpoint. A flag can be read by other users of the machine: set the variable or the file."`
	ChatAPIKeyFile  string        `name:"chat-api-key-file" placeholder:"PATH" help:"The file that holds the key of the chat endpoint."`
	SummaryModel    string        `name:"summary-model" placeholder:"MODEL" help:"The chat model that summarises; empty for the built-in extractive summariser."`
	ExtractionModel string        `name:"extraction-model" placeholder:"MODEL" help:"The chat model that extracts facts; empty for the built-in rules, which know English and Korean."`
	ChatTimeout     time.Duration `name:"chat-timeout" default:"60s" placeholder:"DURATION" help:"The longest one call of a chat model may take, 1s to 10m."`
	ChatConcurrency int           `name:"chat-concurrency" default:"4" placeholder:"N" help:"How many calls the chat endpoint gets at once, 1 to 256."`

	EmbeddingBaseURL    string        `name:"embedding-base-url" placeholder:"URL" help:"The OpenAI-compatible endpoint of the embedding model."`
	EmbeddingAPIKey     Secret        `name:"embedding-api-key" placeholder:"KEY" help:"The key of the embedding endpoint. A flag can be read by other users of the machine: set the variable or the file."`
	EmbeddingAPIKeyFile string        `name:"embedding-api-key-file" placeholder:"PATH" help:"The file that holds the key of the embedding endpoint."`
	EmbeddingModel      string        `name:"embedding-model" default:"builtin:static-256" placeholder:"MODEL" help:"The embedding model of facts and messages. builtin:static-256 needs nothing and knows English; what is asked in another language is found by its words. builtin:hash-256 knows no meanings: all is found by its words. From one of these to another the server changes by itself; any other change takes strata reembed."`
	EmbeddingDimension  int           `name:"embedding-dimension" default:"0" placeholder:"N" help:"The dimension to ask the endpoint for, 1 to 16384; the model's own when 0."`
	EmbeddingTimeout    time.Duration `name:"embedding-timeout" default:"10s" placeholder:"DURATION" help:"The longest one call of the embedding endpoint may take in the background, 100ms to 10m."`
	EmbeddingDeadline   time.Duration `name:"embedding-deadline" default:"150ms" placeholder:"DURATION" help:"How long a context waits for the embedding of its query, 1ms to 10s; after it the context is built without and says so."`

	RerankBaseURL    string        `name:"rerank-base-url" placeholder:"URL" help:"What /rerank is put behind to reach a reranker, such as https://api.cohere.com/v2 or http://127.0.0.1:8080. It is sent the query and the best passages of each search of messages, contexts included. Empty: nothing is sent, and messages stand in the order of those who found them."`
	RerankAPIKey     Secret        `name:"rerank-api-key" placeholder:"KEY" help:"The key of the reranker. A flag can be read by other users of the machine: set the variable or the file."`
	RerankAPIKeyFile string        `name:"rerank-api-key-file" placeholder:"PATH" help:"The file that holds the key of the reranker."`
	RerankModel      string        `name:"rerank-model" placeholder:"MODEL" help:"The model of the reranker, such as rerank-v3.5."`
	RerankAPI        string        `name:"rerank-api" default:"cohere" enum:"cohere,jina,tei" help:"How the reranker is asked: cohere (vLLM, llama.cpp and Jina understand it too), jina (the same, without the documents in the answer) or tei (Text Embeddings Inference)."`
	RerankCandidates int           `name:"rerank-candidates" default:"50" placeholder:"N" help:"How many of the best messages are reranked, 2 to 200. Text Embeddings Inference refuses more than 32 unless it is told otherwise."`
	RerankDeadline   time.Duration `name:"rerank-deadline" default:"300ms" placeholder:"DURATION" help:"How long an answer waits for the reranker, 1ms to 10s; after it the answer is made without and says so."`

	MetricsListen string `name:"metrics-listen" default:"127.0.0.1:9464" placeholder:"HOST:PORT" help:"The address of the HTTP server with /metrics and /healthz. Port 0 takes a free one; empty turns it off."`
	OTLPEndpoint  string `name:"otlp-endpoint" placeholder:"URL" help:"Where traces go by OTLP over gRPC, such as http://127.0.0.1:4317; OTEL_EXPORTER_OTLP_ENDPOINT stands in for it. Empty: none are made."`

	DefaultProfile string              `name:"default-profile" default:"default" placeholder:"NAME" help:"The profile of sessions that name none."`
	TokenCounter   string              `name:"token-counter" default:"o200k_base" enum:"o200k_base,cl100k_base,chars_4,estimate" help:"How tokens are counted where neither request, model nor profile says: o200k_base, cl100k_base, chars_4 or estimate."`
	Windows        map[string]Window   `kong:"-" name:"windows" help:"Models by name: the tokens of their window and their counter. Adds to the built-in table; a model is found by the longest name that it begins with, with or without a vendor and / before it."`
	Profiles       Profiles            `kong:"-" name:"profiles" help:"Policies for building contexts and learning, by name. Each starts from the profile default; also there are batch, which asks models seldom, and chat, agent, langchain-default, koog-default and cost-saver, each with a policy for its history."`
	Strategies     map[string]Strategy `kong:"-" name:"strategies" help:"Strategies of your own for histories, by name; a profile's history.strategy or a call names one."`
}

// Level is the least severity that is logged.
func (c Config) Level() slog.Level {
	switch c.LogLevel {
	case "debug":
		return slog.LevelDebug
	case "warn":
		return slog.LevelWarn
	case "error":
		return slog.LevelError
	}
	return slog.LevelInfo
}

// Profiles are policies by name. There is always one named default.
type Profiles map[string]Profile

// BuiltinProfile is the name of the profile that is always there and that the others start from.
const BuiltinProfile = "default"

// Profile is a policy for building contexts.
type Profile struct {
	BudgetTokens int64    `name:"budget-tokens" default:"8000" help:"The most tokens that a context may take, 1 to 10000000. It is raised within the model's window only as far as instructions, state and pending messages need."`
	BudgetShare  float64  `name:"budget-share" default:"0" help:"The same as a share of the model's window, 0 to 1; 0, or where no window is known, for budget-tokens."`
	RecentN      int      `name:"recent-n" default:"10" help:"How many of the session's last messages come before anything recalled, 0 to 1000."`
	TopK         int      `name:"top-k" default:"200" help:"The most recalled messages, 0 to 200."`
	MinScore     float64  `name:"min-score" default:"0" help:"The least relevance of a recalled message, 0 to 1."`
	RecallShare  float64  `name:"recall-share" default:"0.30" help:"The least share of the budget kept for recalled messages where there is that much worth recalling, 0 to 1."`
	RecallFloor  int64    `name:"recall-floor" default:"2000" help:"Up to how many tokens facts and recalled messages are filled with what was not found: neighbours of what was, what the user tells of himself, the rest of the best sessions and the newest; 0 to 10000000, 0 for no fill. Where min-score is above 0 no message is filled in, where facts.min-score is no fact."`
	Sections     Sections `name:"sections"`
	MemoryRole   string   `name:"memory-role" default:"user" enum:"system,developer,user" help:"In whose voice memory stands: system, developer or user."`
	MemoryPlace  string   `name:"memory-place" default:"before" enum:"before,after" help:"Where memory and state stand: before the session's messages, or after them, just before the last message of the user, so that a provider can cache all before it. For Anthropic memory is the user's there, whatever memory-role is."`
	CacheMark    bool     `name:"cache-mark" default:"false" help:"Whether a rendering for Anthropic marks what it begins with, as far as that stays the same, by cache_control."`
	Headings     string   `name:"headings" default:"" enum:",en,es,ko,ja,zh" help:"The language of headings: en, es, ko, ja or zh; that of the user, else of the user's latest messages, when empty."`
	Counter      string   `name:"counter" default:"" enum:",o200k_base,cl100k_base,chars_4,estimate" help:"How tokens are counted; token-counter when empty."`
	UserPrior    float64  `name:"user-prior" default:"1" help:"How strongly recall prefers what the user said over what the assistant said, 0 to 10."`

	StepLimit int     `name:"step-limit" default:"25" help:"After how many replies without a message of the user a reply says that the agent should stop, 1 to 10000."`
	History   History `name:"history"`

	Checks     map[string]Check `name:"checks" help:"Rules for the words of messages that are recorded, by name and in the order of their names; at most 50."`
	NotesShare float64          `name:"notes-share" default:"0.10" help:"The most of the budget that notes may take, 0 to 1."`

	MaskSecrets string `name:"mask-secrets" default:"memory" enum:"nowhere,memory,everywhere" help:"Where keys, tokens, passwords, card numbers and private keys in recorded messages are masked: nowhere; memory (in all that is made of messages, not in the messages themselves); everywhere (before the message is stored)."`

	Facts      Facts      `name:"facts"`
	Summaries  Summaries  `name:"summaries"`
	Extraction Extraction `name:"extraction"`
}

// Sections says which parts a context has beside instructions and pending messages.
type Sections struct {
	State    bool `name:"state" default:"true" help:"Whether a context has the session's state, without its notes."`
	Notes    bool `name:"notes" default:"true" help:"Whether a context has the notes of the user and of the session."`
	Recalled bool `name:"recalled" default:"true" help:"Whether a context has recalled messages."`
	Recent   bool `name:"recent" default:"true" help:"Whether a context has the session's latest messages."`
}

// Facts says which facts a context has. A fact's score is relevance^a × significance^b × recency^c.
type Facts struct {
	LongTerm         bool          `name:"long-term" default:"true" help:"Whether a context has facts of other sessions."`
	OfSession        bool          `name:"of-session" default:"true" help:"Whether a context has the facts learnt in its session."`
	Max              int           `name:"max" default:"20" help:"The most facts of other sessions, 0 to 200."`
	MinScore         float64       `name:"min-score" default:"0" help:"The least score of a fact of other sessions that has something of the query, 0 to 1; 0 takes them by rank as far as there is room."`
	Core             int           `name:"core" default:"5" help:"How many facts about a name, health or diet, or pinned ones, stand in a context whatever its query is, 0 to 200; fewer where there is little room. Up to three wishes about how to answer stand beside them."`
	CoreSignificance int           `name:"core-significance" default:"7" help:"How significant such a fact is at least, 1 to 10. Extraction gives as much only to a name, health or family, or to what is said in two messages."`
	Share            float64       `name:"share" default:"0.05" help:"The most of the budget that facts take before anything is recalled, 0 to 1. What was found beyond it takes what all else leaves."`
	Relevance        float64       `name:"relevance" default:"1" help:"The exponent of a fact's relevance in its score, 0 to 10."`
	Significance     float64       `name:"significance" default:"0.25" help:"The exponent of a fact's significance in its score, 0 to 10."`
	Recency          float64       `name:"recency" default:"0.1" help:"The exponent of a fact's recency in its score, 0 to 10."`
	HalfLife         time.Duration `name:"half-life" default:"365d" help:"After how long a fact's recency is half of what it was, 1h to 36500d. Pinned facts do not age."`
}

// Summaries says which summaries a context has, and when and how they are made.
type Summaries struct {
	Running     bool          `name:"running" default:"true" help:"Whether a context has the running summary of its session."`
	Previous    bool          `name:"previous" default:"true" help:"Whether a context has summaries of previous sessions."`
	Periods     bool          `name:"periods" default:"true" help:"Whether a context has weekly and monthly summaries."`
	Share       float64       `name:"share" default:"0.20" help:"The most of the budget that summaries may take, 0 to 1."`
	MaxSessions int           `name:"max-sessions" default:"3" help:"The most previous sessions, 0 to 100. The current one is not counted."`
	MaxAge      time.Duration `name:"max-age" default:"0s" help:"How old a previous session's last summarised message may be, 0s to 36500d; 0s for any age."`
	Weeks       int           `name:"weeks" default:"4" help:"The most weekly summaries, 0 to 52."`
	Months      int           `name:"months" default:"3" help:"The most monthly summaries, 0 to 24."`

	Prompt       string  `name:"prompt" help:"What summaries of sessions keep and drop, in words for the model, in place of the built-in ones; at most 8 KiB. {max_tokens} stands for the most tokens, {language} for the language; {{ and }} for braces."`
	PeriodPrompt string  `name:"period-prompt" help:"The same for summaries of weeks and months."`
	Language     string  `name:"language" placeholder:"TAG" help:"The language that summaries are written in by a model, as a BCP 47 tag such as de; that of their source when empty."`
	Temperature  float64 `name:"temperature" default:"-1" help:"The model's temperature for summaries, 0 to 2; -1 leaves it to the endpoint."`

	Form            string        `name:"form" default:"tree" enum:"tree,recursive" help:"tree: summaries of ranges, merged level by level. recursive: each rewrites the one before together with the new messages."`
	TriggerMessages int           `name:"trigger-messages" default:"11" help:"Summarise at so many messages without a summary, 0 to 10000; 0 for never."`
	TriggerTokens   int64         `name:"trigger-tokens" default:"0" help:"Summarise at so many tokens without a summary, 0 to 10000000; 0 for never."`
	TriggerFraction float64       `name:"trigger-fraction" default:"0" help:"Summarise at this fraction of window, 0 to 1; 0 for never."`
	Window          int64         `name:"window" default:"0" help:"The tokens that the fractions are of: the window of the model that the contexts are for, 0 to 10000000."`
	Idle            time.Duration `name:"idle" default:"5m" help:"Summarise the rest so long after the last message, kept messages too, 0s to 36500d; 0s for never."`
	KeepMessages    int           `name:"keep-messages" default:"5" help:"How many of the latest messages a trigger leaves without a summary, 0 to 10000. The largest of the keeps counts."`
	KeepTokens      int64         `name:"keep-tokens" default:"0" help:"How many of the latest tokens a trigger leaves without a summary, 0 to 10000000."`
	KeepFraction    float64       `name:"keep-fraction" default:"0" help:"Which fraction of window a trigger leaves without a summary, 0 to 1."`
	Merge           int           `name:"merge" default:"4" help:"How many summaries of a level make one of the next, 2 to 32."`
	MaxTokens       int64         `name:"max-tokens" default:"500" help:"The most tokens of one summary, 50 to 10000."`
	ChunkTokens     int64         `name:"chunk-tokens" default:"6000" help:"The most tokens of messages in one call of the summariser, 500 to 1000000."`
	ResultBytes     int           `name:"result-bytes" default:"1500" help:"How much of a tool's result the summariser is shown, 40 to 100000 bytes. Where results are many and long, less of them leaves more of what was said."`
}

// Extraction says when facts are learnt from messages, and from whose.
type Extraction struct {
	AtReply      bool          `name:"at-reply" default:"true" help:"Whether facts are extracted after each reply of the assistant."`
	Messages     int           `name:"messages" default:"6" help:"Extract at so many messages, 0 to 500; 0 for never."`
	Idle         time.Duration `name:"idle" default:"30s" help:"Extract the rest so long after the last message, 0s to 36500d; 0s for never."`
	MaxMessages  int           `name:"max-messages" default:"50" help:"The most messages of one call, 1 to 500; a backlog is taken in chunks."`
	MaxTokens    int64         `name:"max-tokens" default:"6000" help:"The most tokens of messages in one call, 500 to 1000000."`
	ContextBytes int           `name:"context-bytes" default:"1000" help:"How much is shown, from its end, of a message that nothing is learnt from, 40 to 100000."`
	Prompt       string        `name:"prompt" help:"What is added to the prompt of extraction: what to keep and what never, which category fits, how significant something is; at most 8 KiB. {{ and }} stand for braces."`
	Temperature  float64       `name:"temperature" default:"-1" help:"The model's temperature for extraction, 0 to 2; -1 leaves it to the endpoint."`
	Language     string        `name:"language" placeholder:"TAG" help:"The language that facts are written in by a model, as a BCP 47 tag such as de; that of the message they come from when empty. Their quotes stay as they were said."`
	Learn        string        `name:"learn" default:"user" enum:"user,user+assistant" help:"Whose words may become facts: user or user+assistant."`
}

// Default returns every setting at its default.
func Default() Config {
	c := Config{Windows: map[string]Window{}, Strategies: map[string]Strategy{}, Profiles: Profiles{BuiltinProfile: defaultProfile()}}
	c.Profiles.derive()
	setDefaults(&c)
	return c
}

// defaultProfile is the profile that is always there.
func defaultProfile() Profile {
	var p Profile
	setDefaults(&p)
	return p
}
