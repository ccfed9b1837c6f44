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
	Data           string            `name:"data" default:"strata.db" placeholder:"PATH" help:"The SQLite file that holds everything. Created when missing."`
	Listen         string            `name:"listen" default:"127.0.0.1:8081" placeholder:"HOST:PORT" help:"The address of the gRPC server. Port 0 takes a free one."`
	Insecure       bool              `name:"insecure" default:"false" help:"Allow listening beyond loopback without authentication: everybody who reaches the port reads and writes everything."`
	Reflection     bool              `name:"reflection" default:"true" negatable:"" help:"Answer gRPC reflection, so that grpcurl works without the proto files."`
	LogLevel       string            `name:"log-level" default:"info" enum:"debug,info,warn,error" help:"The least severity that is logged: debug, info, warn or error."`
	LogFormat      string            `name:"log-format" default:"auto" enum:"auto,text,json" help:"How log lines look: text, json, or auto (text on a terminal, else json)."`
	RequestTimeout time.Duration     `name:"request-timeout" default:"10s" placeholder:"DURATION" help:"The longest a call may take, 100ms to 10m. A shorter deadline of the client wins."`
	DrainTimeout   time.Duration     `name:"drain-timeout" default:"10s" placeholder:"DURATION" help:"How long a stopping server waits for running calls, 0s to 10m."`
	RecallCache    Bytes             `name:"recall-cache" default:"64MiB" placeholder:"SIZE" help:"Memory for the users' recall indexes, 1MiB to 64GiB."`
	DefaultProfile string            `name:"default-profile" default:"default" placeholder:"NAME" help:"The profile of sessions that name none."`
	TokenCounter   string            `name:"token-counter" default:"o200k_base" enum:"o200k_base,cl100k_base,chars_4,estimate" help:"How tokens are counted where neither request, model nor profile says: o200k_base, cl100k_base, chars_4 or estimate."`
	Windows        map[string]Window `kong:"-" name:"windows" help:"Models by name: the tokens of their window and their counter. Adds to the built-in table; a model is found by the longest name that it begins with."`
	Profiles       Profiles          `kong:"-" name:"profiles" help:"Policies for building contexts, by name. Each starts from the profile default."`
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

// BuiltinProfile is the name of the profile that is always there.
const BuiltinProfile = "default"

// Profile is a policy for building contexts.
type Profile struct {
	BudgetTokens int64    `name:"budget-tokens" default:"8000" help:"The most tokens that the whole prompt may take, 1 to 10000000."`
	RecentN      int      `name:"recent-n" default:"10" help:"How many of the session's last messages come before anything recalled, 0 to 1000."`
	TopK         int      `name:"top-k" default:"200" help:"The most recalled messages, 0 to 200."`
	MinScore     float64  `name:"min-score" default:"0" help:"The least relevance of a recalled message, 0 to 1."`
	RecallShare  float64  `name:"recall-share" default:"0.30" help:"The least share of the budget kept for recalled messages where there is that much worth recalling, 0 to 1."`
	Sections     Sections `name:"sections"`
	MemoryRole   string   `name:"memory-role" default:"user" enum:"system,developer,user" help:"In whose voice memory stands: system, developer or user."`
	Counter      string   `name:"counter" default:"" enum:",o200k_base,cl100k_base,chars_4,estimate" help:"How tokens are counted; token-counter when empty."`
	UserPrior    float64  `name:"user-prior" default:"1" help:"How strongly recall prefers what the user said over what the assistant said, 0 to 10."`
}

// Sections says which parts a context has beside instructions and pending messages.
type Sections struct {
	State    bool `name:"state" default:"true" help:"Whether a context has the session's state."`
	Recalled bool `name:"recalled" default:"true" help:"Whether a context has recalled messages."`
	Recent   bool `name:"recent" default:"true" help:"Whether a context has the session's latest messages."`
}

// Default returns every setting at its default.
func Default() Config {
	c := Config{Windows: map[string]Window{}, Profiles: Profiles{BuiltinProfile: defaultProfile()}}
	setDefaults(&c)
	return c
}

// defaultProfile is the profile that is always there.
func defaultProfile() Profile {
	var p Profile
	setDefaults(&p)
	return p
}
