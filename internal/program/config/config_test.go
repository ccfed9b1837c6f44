package config

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stratamem/strata/internal/contexts/compaction"
	"github.com/stratamem/strata/internal/contexts/contextprofile"
	"github.com/stratamem/strata/internal/learning/extract"
	"github.com/stratamem/strata/internal/learning/summary"
	"github.com/stratamem/strata/internal/memory"
)

func fileOf(text string) func(string) ([]byte, error) {
	return func(string) ([]byte, error) { return []byte(text), nil }
}

func load(t *testing.T, s Sources) Loaded {
	t.Helper()
	l, err := Load(s)
	if err != nil {
		t.Fatalf("Load: %v", err)
	}
	return l
}

func TestLoadGathersSettingsByRank(t *testing.T) {
	file := "data: file.db\nlisten: 127.0.0.1:1\nlog-level: warn\n"
	flags := Config{Data: "flag.db"}
	l := load(t, Sources{
		Flags: flags, FlagSet: map[string]bool{"data": true}, File: "s.yaml", ReadFile: fileOf(file),
		Environ: []string{"STRATA_DATA=env.db", "STRATA_LISTEN=127.0.0.1:2", "STRATA_TEST_ANYTHING=1", "HOME=/"},
	})
	want := []struct{ key, got, value, origin string }{
		{"data", l.Data, "flag.db", "flag --data"},
		{"listen", l.Listen, "127.0.0.1:2", "env STRATA_LISTEN"},
		{"log-level", l.LogLevel, "warn", "s.yaml:3"},
		{"log-format", l.LogFormat, "auto", "default"},
	}
	for _, w := range want {
		t.Run(w.key+" comes from "+w.origin, func(t *testing.T) {
			if w.got != w.value || l.Origin(w.key) != w.origin {
				t.Errorf("got %q from %q, want %q from %q", w.got, l.Origin(w.key), w.value, w.origin)
			}
		})
	}
}

func TestDefaultsAreTheDocumentedOnes(t *testing.T) {
	l := load(t, Sources{})
	if l.RequestTimeout != 10*time.Second || l.RecallCache != 128<<20 || !l.Reflection || l.Insecure {
		t.Errorf("got %+v", l.Config)
	}
	want := contextprofile.Profile{
		BudgetTokens: 8000, RecentN: 10, TopK: 200, RecallShare: .3, RecallFloor: 2000, Sections: contextprofile.Sections{State: true, Notes: true, Recalled: true, Recent: true}, MemoryRole: "user", MemoryPlace: "before", UserPrior: 1,
		StepLimit: 25, MaskSecrets: "memory", NotesShare: .1,
		History: compaction.Policy{
			Compress: compaction.Compress{
				Strategy: compaction.StrategyNone, LastN: compaction.DefaultLastN, ChunkMessages: compaction.DefaultChunkMessages,
				Writing: compaction.Writing{
					MaxTokens: compaction.DefaultSummaryTokens, ChunkTokens: compaction.DefaultChunkTokens, Fallback: compaction.FallbackExtract, Role: memory.RoleUser,
				},
			},
			Head: compaction.HeadSystemAndFirst, Clear: compaction.Clear{Keep: 3},
		},
		Facts: contextprofile.Facts{
			LongTerm: true, OfSession: true, Max: 20, MinSignificance: 1, Core: 5, Wishes: 3, CoreSignificance: 7, Share: .05, Relevance: 1, Significance: .25, Recency: .1,
			HalfLife: 365 * day,
		},
		Summaries: contextprofile.Summaries{
			Running: true, Previous: true, Periods: true, Share: .2, MaxSessions: 3, Weeks: 4, Months: 3,
			Temperature: -1, Policy: summary.Policy{
				Form: "tree", TriggerMessages: 11, KeepMessages: 5, Idle: 5 * time.Minute, Merge: 4, MaxTokens: 500, ChunkTokens: 6000, ResultBytes: 1500,
			},
		},
		Extraction: contextprofile.Extraction{Temperature: -1, Learn: "user", Triggers: extract.Triggers{
			AtReply: true, Messages: 6, Idle: 30 * time.Second, MaxMessages: 50, MaxTokens: 6000, ContextBytes: 1000,
		}},
		Retention: contextprofile.Retention{UnusedSignificance: 3},
	}
	if diff := cmp.Diff(want, l.Profiles["default"]); diff != "" {
		t.Error(diff)
	}
}

func TestEnvironmentCanNameTheFile(t *testing.T) {
	l := load(t, Sources{Environ: []string{"STRATA_CONFIG=/etc/strata.yaml"}, ReadFile: fileOf("data: x.db")})
	if l.File != "/etc/strata.yaml" || l.Origin("data") != "/etc/strata.yaml:1" {
		t.Errorf("file %q, origin %q", l.File, l.Origin("data"))
	}
}

func TestProfilesStartFromTheDefaultOne(t *testing.T) {
	file := `
profiles:
  brief:
    budget-tokens: 1000
    sections: {recalled: false}
  default:
    recent-n: 4
windows:
  my/model:latest: {tokens: 4096}
`
	l := load(t, Sources{File: "s.yaml", ReadFile: fileOf(file)})
	brief := l.Profiles["brief"]
	if brief.BudgetTokens != 1000 || brief.RecentN != 4 || brief.Sections != (contextprofile.Sections{State: true, Notes: true, Recent: true}) {
		t.Errorf("brief is %+v", brief)
	}
	if d := l.Profiles["default"]; d.BudgetTokens != 8000 || d.RecentN != 4 {
		t.Errorf("default is %+v", d)
	}
	if w, ok := l.Window("my/model:latest"); !ok || w != (Window{4096, "estimate", false}) {
		t.Errorf("window is %+v", w)
	}
	if o := l.Origin("profiles.brief.budget-tokens"); o != "s.yaml:4" {
		t.Errorf("origin is %q", o)
	}
}

func TestAWindowNamedDefaultIsAWindowLikeAnyOther(t *testing.T) {
	l := load(t, Sources{File: "s.yaml", ReadFile: fileOf("windows: {m: {tokens: 9}, default: {tokens: 5, counter: chars_4}}\n")})
	if w := l.Windows["m"]; w != (Window{9, "estimate", false}) {
		t.Errorf("window is %+v", w)
	}
	_, err := Load(Sources{File: "s.yaml", ReadFile: fileOf("windows: {m: {counter: chars_4}, default: {tokens: 5}}\n")})
	if err == nil || !strings.Contains(err.Error(), "windows.m.tokens") {
		t.Errorf("a window without tokens is accepted: %v", err)
	}
}

func TestLoadRefuses(t *testing.T) {
	cases := []struct {
		name, file string
		env        []string
		want       []string
	}{
		{"an unknown key, naming line and nearest", "data: x.db\nrequest_timeot: 1s\n", nil, []string{"request_timeot (s.yaml:2)", "did you mean request-timeout?"}},
		{"an unknown key of a profile", "profiles:\n  a:\n    topk: 3\n", nil, []string{"profiles.a.topk (s.yaml:3)", "did you mean top-k?"}},
		{"an unknown variable, naming the nearest", "", []string{"STRATA_LISEN=x"}, []string{"STRATA_LISEN (environment)", "did you mean STRATA_LISTEN?"}},
		{"a key given twice", "data: a\ndata: b\n", nil, []string{"s.yaml", "already defined"}},
		{"text that is not YAML", "data: [\n", nil, []string{"the file is not YAML"}},
		{"a list for a value", "data: [a]\n", nil, []string{"data (s.yaml:1): it must be a single value, not a list"}},
		{"an empty value", "data:\n", nil, []string{"data (s.yaml:1)", "not nothing"}},
		{"a list for the file", "- a\n", nil, []string{"it must be keys with values, not a list"}},
		{"two documents", "data: a\n---\ndata: b\n", nil, []string{"2 documents"}},
		{"an alias", "data: &a x\nlisten: *a\n", nil, []string{"anchor or alias"}},
		{"a word that is no level", "", []string{"STRATA_LOG_LEVEL=loud"}, []string{"log-level (env STRATA_LOG_LEVEL)", "debug, info, warn, error"}},
		{"a number that is no duration", "request-timeout: 10\n", nil, []string{"request-timeout (s.yaml:1)", "such as 10s"}},
		{"a size that is none", "recall-cache: much\n", nil, []string{"such as 64MiB"}},
		{"a deadline out of its limits", "request-timeout: 1ms\n", nil, []string{"from 100ms to 10m"}},
		{"an open door", "listen: 0.0.0.0:8081\n", nil, []string{"listen (s.yaml:1)", "127.0.0.1:8081", "set insecure"}},
		{"an open door without a host", "listen: :8081\n", nil, []string{"set insecure"}},
		{"an address without a port", "listen: localhost\n", nil, []string{"such as 127.0.0.1:8081"}},
		{"a default profile that is not there", "default-profile: brif\nprofiles: {brief: {top-k: 1}}\n", nil, []string{`no profile "brif"`, "did you mean brief?"}},
		{
			"limits of a profile, all at once", "profiles: {a: {top-k: 201, min-score: .nan, recall-share: 2, budget-tokens: 0}}\n", nil,
			[]string{"profiles.a.top-k", "from 0 to 200", "profiles.a.min-score", "profiles.a.recall-share", "profiles.a.budget-tokens"},
		},
		{"a fraction of an unknown window", "profiles: {a: {summaries: {trigger-fraction: 0.5}}}\n", nil, []string{"profiles.a.summaries.trigger-fraction (s.yaml:1)", "set profiles.a.summaries.window", "128000"}},
		{"to keep all that a trigger fires at", "profiles: {a: {summaries: {keep-messages: 11}}}\n", nil, []string{"profiles.a.summaries.keep-messages", "not below trigger-messages, 11"}},
		{"limits of facts, summaries and extraction, all at once", "profiles: {a: {facts: {max: 201, half-life: 1s}, summaries: {merge: 1, form: bush}, extraction: {max-messages: 0, learn: all}}}\n", nil, []string{
			"profiles.a.facts.max", "profiles.a.facts.half-life", "from 1h to", "profiles.a.summaries.merge", `"bush" is not one of tree, recursive`,
			"profiles.a.extraction.max-messages", `"all" is not one of user, user+assistant`,
		}},
		{"days that are no number", "profiles: {a: {facts: {half-life: xd}}}\n", nil, []string{`"xd" is not a duration`}},
		{"days beyond all time", "profiles: {a: {facts: {half-life: 2000000000d}}}\n", nil, []string{"is not a duration"}},
		{"a model without an endpoint", "summary-model: m\n", nil, []string{"summary-model (s.yaml:1)", "set chat-base-url"}},
		{"an endpoint without a model", "chat-base-url: http://localhost:1/v1\n", nil, []string{"set summary-model, extraction-model or both"}},
		{"an embedding model without an endpoint", "embedding-model: m\n", nil, []string{"set embedding-base-url"}},
		{"an embedder that is not built in", "embedding-model: builtin:magic\n", nil, []string{"builtin:static-256", "builtin:hash-N"}},
		{"a hash embedder that is too wide", "embedding-model: builtin:hash-9999\n", nil, []string{"from 16 to 4096"}},
		{"a dimension that the built-in embedder does not have", "embedding-dimension: 8\n", nil, []string{"has a dimension of its own"}},
		{"a reranker without a model", "rerank-base-url: http://localhost:1/v1\n", nil, []string{"rerank-base-url (s.yaml:1)", "set rerank-model"}},
		{"a reranker without an endpoint", "rerank-model: m\n", nil, []string{"rerank-model (s.yaml:1)", "it does nothing without rerank-base-url"}},
		{"a reranker that is no address", "rerank-base-url: localhost:1\nrerank-model: m\n", nil, []string{"rerank-base-url (s.yaml:1)", "http://"}},
		{"a key of no reranker", "rerank-api-key: canary\n", nil, []string{"it does nothing without rerank-base-url"}},
		{"a form of no reranker", "rerank-api: tei\n", nil, []string{"it does nothing without rerank-base-url"}},
		{"a reranker that reads one message", "rerank-candidates: 1\n", nil, []string{"set it from 2 to 200"}},
		{"a reranker that nobody waits for", "rerank-deadline: 0s\n", nil, []string{"set it from 1ms to 10s"}},
		{"a chat endpoint that is no address", "chat-base-url: localhost\n", nil, []string{"such as https://api.openai.com/v1"}},
		{"a search engine that is no address", "elasticsearch-url: localhost\n", nil, []string{"such as http://127.0.0.1:9200"}},
		{"a limit above the highest", "tenant-cost-per-day: 2e12\n", nil, []string{"2000000000000 is out of its limits: set it from 0 to 1000000000000"}},
		{"a word for a number", "workers: many\n", nil, []string{`"many" is not a whole number: write one such as 4, from 1 to 256`}},
		{"a word for a number in the environment", "", []string{"STRATA_HEAVY_CALLS=many"}, []string{`"many" is not a whole number`, ", from 0 to 1024"}},
		{"a word for a number of a profile", "profiles:\n  brief:\n    top-k: many\n", nil, []string{`profiles.brief.top-k (s.yaml:3): "many" is not a whole number`, ", from 0 to 200"}},
		{"a word for a share", "profiles: {brief: {recall-share: half}}\n", nil, []string{`"half" is not a number`, ", from 0 to 1"}},
		{"a word for a number of a model", "windows: {m.x: {tokens: many}}\n", nil, []string{`windows.m.x.tokens (s.yaml:1): "many" is not a whole number`, ", from 1 to 10000000"}},
		{"an endpoint that is no address", "otlp-endpoint: localhost:4317\n", nil, []string{"otlp-endpoint (s.yaml:1)", "http://127.0.0.1:4317"}},
		{"metrics for everybody", "metrics-listen: 0.0.0.0:9464\n", nil, []string{"metrics-listen (s.yaml:1)", "set insecure"}},
		{"a window of no tokens", "windows: {m: {tokens: 0}}\n", nil, []string{"windows.m.tokens"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := Load(Sources{File: "s.yaml", ReadFile: fileOf(c.file), Environ: c.env})
			if err == nil {
				t.Fatal("accepted")
			}
			for _, w := range c.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("error does not say %q:\n%v", w, err)
				}
			}
			if f, ok := errors.AsType[*Fault](err); !ok || f.Key == "" {
				t.Errorf("no Fault in %v", err)
			}
		})
	}
}

func TestAFaultOfTheDefaultProfileIsSaidOnce(t *testing.T) {
	file := "profiles:\n  default: {top-k: 1000}\n  brief: {recent-n: 2}\n  long: {top-k: 1000}\n"
	_, err := Load(Sources{File: "s.yaml", ReadFile: fileOf(file)})
	want := "profiles.default.top-k (s.yaml:2): 1000 is out of its limits: set it from 0 to 200\n" +
		"profiles.long.top-k (s.yaml:4): 1000 is out of its limits: set it from 0 to 200"
	if err == nil || err.Error() != want {
		t.Errorf("error %v\nwant %s", err, want)
	}
}

func TestSecretsAreNeverShown(t *testing.T) {
	l := load(t, Sources{
		Environ: []string{"STRATA_CHAT_API_KEY=sk-canary", "STRATA_CHAT_BASE_URL=http://localhost:1/v1", "STRATA_SUMMARY_MODEL=m"},
	})
	if l.ChatAPIKey.Reveal() != "sk-canary" {
		t.Fatalf("the key does not arrive: %q", l.ChatAPIKey.Reveal())
	}
	var log strings.Builder
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "key", l.ChatAPIKey, "config", l.Config)
	encoded, err := json.Marshal(l.Config)
	if err != nil {
		t.Fatal(err)
	}
	shown := fmt.Sprintf("%v %+v %#v %s %q", l.Config, l.Config, l.Config, l.ChatAPIKey, l.ChatAPIKey) + log.String() + string(encoded) + fmt.Sprint(l.Values())
	if strings.Contains(shown, "sk-canary") || !strings.Contains(shown, "(set)") {
		t.Errorf("shown: %s", shown)
	}
}

func TestAPasswordInAnAddressIsRefusedWithoutRepeatingIt(t *testing.T) {
	_, err := Load(Sources{Environ: []string{"STRATA_CHAT_BASE_URL=https://me:canary@example.com/v1", "STRATA_SUMMARY_MODEL=m"}})
	if err == nil || strings.Contains(err.Error(), "canary") {
		t.Errorf("got %v", err)
	}
}

func TestAnEndpointMayStandReadyBesideTheBuiltInEmbedder(t *testing.T) {
	load(t, Sources{Environ: []string{"STRATA_EMBEDDING_BASE_URL=http://localhost:1/v1", "STRATA_EMBEDDING_MODEL=builtin:hash-512"}})
}

func TestEveryBuiltInEmbedderIsTaken(t *testing.T) {
	if d := load(t, Sources{}).EmbeddingModel; d != "builtin:static-256" {
		t.Errorf("the default is %s", d)
	}
	for _, model := range []string{"builtin:static-256", "builtin:hash-16", "builtin:hash-256", "builtin:hash-4096"} {
		load(t, Sources{Environ: []string{"STRATA_EMBEDDING_MODEL=" + model}})
	}
}

func TestAKeyComesFromItsFile(t *testing.T) {
	env := []string{"STRATA_EMBEDDING_API_KEY_FILE=/run/key"}
	l := load(t, Sources{Environ: env, ReadFile: fileOf("sk-1\n")})
	if l.EmbeddingAPIKey.Reveal() != "sk-1" || l.Origin("embedding-api-key") != "/run/key" {
		t.Errorf("got %q from %q", l.EmbeddingAPIKey.Reveal(), l.Origin("embedding-api-key"))
	}
	for name, s := range map[string]Sources{
		"is set too": {Environ: append(env, "STRATA_EMBEDDING_API_KEY=x"), ReadFile: fileOf("sk-1")},
		"no key":     {Environ: env, ReadFile: fileOf(" \n")},
		"be read":    {Environ: env, ReadFile: func(string) ([]byte, error) { return nil, fs.ErrNotExist }},
	} {
		if _, err := Load(s); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestTheStandardVariableNamesTheEndpointOfTraces(t *testing.T) {
	standard := "OTEL_EXPORTER_OTLP_ENDPOINT=http://collector:4317"
	l := load(t, Sources{Environ: []string{standard}})
	if l.OTLPEndpoint != "http://collector:4317" || l.Origin("otlp-endpoint") != "env OTEL_EXPORTER_OTLP_ENDPOINT" {
		t.Errorf("got %q from %q", l.OTLPEndpoint, l.Origin("otlp-endpoint"))
	}
	if l = load(t, Sources{Environ: []string{standard, "STRATA_OTLP_ENDPOINT=http://mine:1"}}); l.OTLPEndpoint != "http://mine:1" {
		t.Errorf("the program's own setting does not win: %q", l.OTLPEndpoint)
	}
}

func TestTheBatchingProfileStartsFromTheDefaultOne(t *testing.T) {
	l := load(t, Sources{File: "s.yaml", ReadFile: fileOf("profiles: {batch: {extraction: {messages: 40}}, default: {recent-n: 4, facts: {half-life: 7d}}}\n")})
	b := l.Profiles[BatchProfile]
	if b.Extraction.AtReply || b.Extraction.Messages != 40 || b.Summaries.TriggerMessages != 120 || b.RecentN != 4 || b.Facts.HalfLife != 7*day {
		t.Errorf("batch is %+v", b)
	}
	for _, v := range l.Values() {
		if v.Key == "profiles.batch.facts.half-life" && v.Value != "7d" {
			t.Errorf("printed as %+v", v)
		}
	}
}

func TestEachStoreIsChosenOnItsOwn(t *testing.T) {
	mongo, milvus, elastic := []string{"STRATA_MONGODB_URI=mongodb://db:27017"}, []string{"STRATA_MILVUS_ADDRESS=milvus:19530"}, []string{"STRATA_ELASTICSEARCH_URL=http://es:9200"}
	for mask := range 8 {
		var env []string
		for i, set := range [][]string{mongo, milvus, elastic} {
			if mask>>i&1 == 1 {
				env = append(env, set...)
			}
		}
		load(t, Sources{Environ: env})
	}
}

func TestStoresThatMakeNoSenseTogetherAreRefusedWithTheReason(t *testing.T) {
	for _, c := range []struct{ env, says string }{
		{"STRATA_MONGODB_URI=mongodb://db STRATA_DATA=x.db", "there is one primary store"},
		{"STRATA_MONGODB_URI=http://user:secret@db", "it is not a connection string"},
		{"STRATA_MONGODB_DATABASE=other", "it does nothing without mongodb-uri"},
		{"STRATA_MONGODB_URI=mongodb://db STRATA_MONGODB_DATABASE=a.b", "letters, digits, dashes and underscores"},
		{"STRATA_MILVUS_PREFIX=other", "it does nothing without milvus-address"},
		{"STRATA_MILVUS_PASSWORD=x", "it does nothing without milvus-address"},
		{"STRATA_MILVUS_ADDRESS=milvus:1 STRATA_MILVUS_PASSWORD=x", "it does nothing without milvus-username"},
		{"STRATA_MILVUS_ADDRESS=milvus", "write host:port"},
		{"STRATA_MILVUS_ADDRESS=milvus:1 STRATA_MILVUS_PREFIX=a-b", "letters, digits and underscores"},
		{"STRATA_MILVUS_INDEX=HNSW", "it does nothing without milvus-address"},
		{"STRATA_MILVUS_PARTITIONS=16", "it does nothing without milvus-address"},
		{"STRATA_MILVUS_ADDRESS=milvus:1 STRATA_MILVUS_INDEX=HNSV", "is not one of"},
		{"STRATA_MILVUS_ADDRESS=milvus:1 STRATA_MILVUS_INDEX_PARAMS=M=16", "milvus-index-params (env STRATA_MILVUS_INDEX_PARAMS): FLAT is built without parameters"},
		{"STRATA_MILVUS_ADDRESS=milvus:1 STRATA_MILVUS_INDEX=IVF_FLAT STRATA_MILVUS_SEARCH_PARAMS=nprobe=129", "milvus-search-params (env STRATA_MILVUS_SEARCH_PARAMS): nprobe=129 is above nlist"},
		{"STRATA_MILVUS_ADDRESS=milvus:1 STRATA_MILVUS_PARTITIONS=1025", "out of its limits"},
		{"STRATA_MILVUS_TOKEN=secret", "it does nothing without milvus-address"},
		{"STRATA_MILVUS_DATABASE=x", "it does nothing without milvus-address"},
		{"STRATA_MILVUS_TLS=true", "it does nothing without milvus-address"},
		{"STRATA_MILVUS_ADDRESS=milvus:1 STRATA_MILVUS_USERNAME=u STRATA_MILVUS_TOKEN=secret", "one of them is used"},
		{"STRATA_MILVUS_ADDRESS=milvus:1 STRATA_MILVUS_DATABASE=a-b", "letters, digits and underscores"},
		{"STRATA_MILVUS_ADDRESS=milvus:1 STRATA_MILVUS_TLS_CA=ca.pem", "it does nothing without milvus-tls"},
		{"STRATA_MILVUS_ADDRESS=milvus:1 STRATA_MILVUS_TLS_SERVER_NAME=x", "it does nothing without milvus-tls"},
		{"STRATA_MILVUS_ADDRESS=milvus:1 STRATA_MILVUS_TLS=true STRATA_MILVUS_TLS_CERT=c.pem", "set milvus-tls-cert and milvus-tls-key"},
		{"STRATA_ELASTICSEARCH_URL=http://es:1 STRATA_ELASTICSEARCH_TLS_CA=ca.pem", "it does nothing without an elasticsearch-url of https://"},
		{"STRATA_ELASTICSEARCH_URL=https://es:1 STRATA_ELASTICSEARCH_TLS_KEY=k.pem", "set elasticsearch-tls-cert and elasticsearch-tls-key"},
		{"STRATA_ELASTICSEARCH_URL=http://es:1 STRATA_ELASTICSEARCH_ANALYZERS=nori,Kuromoji", "Kuromoji"},
		{"STRATA_ELASTICSEARCH_URL=http://es:1 STRATA_ELASTICSEARCH_ANALYZERS=,", "name 1 to 8"},
		{"STRATA_ELASTICSEARCH_API_KEY=x", "it does nothing without elasticsearch-url"},
		{"STRATA_ELASTICSEARCH_URL=es:9200", "it is not an address"},
		{"STRATA_ELASTICSEARCH_URL=http://u:p@es:9200", "it holds a user"},
		{"STRATA_ELASTICSEARCH_URL=http://es STRATA_ELASTICSEARCH_USERNAME=u STRATA_ELASTICSEARCH_API_KEY=x", "one of them is used"},
		{"STRATA_ELASTICSEARCH_URL=http://es STRATA_ELASTICSEARCH_PREFIX=Strata", "lower-case"},
		{"STRATA_VIEW_DEADLINE=11s", "out of its limits"},
	} {
		_, err := Load(Sources{Environ: strings.Fields(c.env)})
		if err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: got %v, want it to say %q", c.env, err, c.says)
		}
	}
}

func TestEverySettingOfABackendIsRefusedWithoutItsAddress(t *testing.T) {
	// other has a value that is allowed and not the default, for settings where "x" is neither.
	other := map[string]string{
		"elasticsearch-content": "false", "elasticsearch-shards": "4", "milvus-index": "HNSW", "milvus-partitions": "16",
		"milvus-tls": "true", "rerank-api": "tei", "rerank-candidates": "20", "rerank-deadline": "1s",
	}
	for prefix, address := range map[string]string{
		"mongodb-": "mongodb-uri", "milvus-": "milvus-address", "elasticsearch-": "elasticsearch-url", "rerank-": "rerank-base-url",
	} {
		for _, s := range Settings() {
			if !strings.HasPrefix(s.Name, prefix) || s.Name == address {
				continue
			}
			value, ok := other[s.Name]
			if !ok {
				value = "x"
			}
			_, err := Load(Sources{Environ: []string{s.Env + "=" + value}, ReadFile: fileOf("key")})
			want := s.Name + " (env " + s.Env + "): it does nothing without " + address + ": set that too, or leave this out"
			if err == nil || !slices.Contains(strings.Split(err.Error(), "\n"), want) {
				t.Errorf("%s=%s: got %v, want %s", s.Name, value, err, want)
			}
		}
	}
	_, err := Load(Sources{Environ: []string{"STRATA_VIEW_DEADLINE=1s"}})
	if err == nil || !strings.Contains(err.Error(), "it does nothing without milvus-address or elasticsearch-url") {
		t.Errorf("a deadline of no view: got %v", err)
	}
}

func TestASettingOfABackendAtItsDefaultNeedsNoAddress(t *testing.T) {
	load(t, Sources{Environ: []string{"STRATA_ELASTICSEARCH_SHARDS=1", "STRATA_MILVUS_PARTITIONS=64", "STRATA_VIEW_DEADLINE=300ms"}})
}

func TestInsecureOpensTheDoor(t *testing.T) {
	load(t, Sources{Environ: []string{"STRATA_LISTEN=0.0.0.0:8081", "STRATA_INSECURE=true"}})
}

func TestLoopbackAddressesNeedNoPermission(t *testing.T) {
	for _, listen := range []string{"localhost:0", "127.0.0.9:1", "[::1]:8081"} {
		load(t, Sources{Environ: []string{"STRATA_LISTEN=" + listen}})
	}
}

func TestAFileThatIsMissingIsAFault(t *testing.T) {
	_, err := Load(Sources{File: "gone.yaml", ReadFile: func(string) ([]byte, error) { return nil, fs.ErrNotExist }})
	if err == nil || !strings.Contains(err.Error(), "gone.yaml") {
		t.Errorf("got %v", err)
	}
}

func TestWindowIsFoundByTheLongestName(t *testing.T) {
	cases := []struct {
		model  string
		tokens int64
	}{
		{"gpt-4", 8_192},
		{"gpt-4-0613", 8_192},
		{"gpt-4-turbo-2024-04-09", 128_000},
		{"gpt-4o-mini", 128_000},
		{"gpt-4.1-nano", 1_047_576},
		{"o1-mini-2024-09-12", 128_000},
		{"claude-3-5-sonnet@20240620", 200_000},
		{"claude-sonnet-4-5-20250929", 200_000},
		{"gemini-2.5-flash-lite", 1_048_576},
		{"gpt-5.2", 400_000},
		{"gpt-5.2-chat-latest", 128_000},
		{"o3-pro", 200_000},
		{"claude-opus-4-5", 200_000},
		{"anthropic/claude-sonnet-4-5", 200_000},
		{"openrouter/anthropic/claude-sonnet-4.5:beta", 200_000},
		{"gemini/gemini-3-flash-preview", 1_048_576},
		{"llama3.1", 128_000},
		{"llama3.1:8b", 128_000},
		{"meta-llama/Llama-3.3-70B-Instruct-Turbo", 128_000},
		{"llama-3", 8_192},
		{"Qwen/Qwen3-32B", 32_768},
		{"qwen3", 32_768},
		{"deepseek-chat", 131_072},
		{"deepseek/deepseek-r1", 65_536},
		{"mistral-large-latest", 262_144},
		{"x-ai/grok-4", 256_000},
		{"grok-4-fast-reasoning", 2_000_000},
		{"gpt-4.5", 0},
		{"gpt", 0},
		{"", 0},
		{"/", 0},
		{"nobody/gpt", 0},
	}
	for _, c := range cases {
		t.Run(c.model, func(t *testing.T) {
			w, ok := Default().Window(c.model)
			if w.Tokens != c.tokens || ok != (c.tokens > 0) {
				t.Errorf("got %+v, %v; want %d tokens", w, ok, c.tokens)
			}
		})
	}
}

func TestTheBuiltInWindowsStandInAFileOfSettings(t *testing.T) {
	l := load(t, Sources{File: "windows.yaml", ReadFile: os.ReadFile})
	for name, want := range l.Windows {
		if got, ok := Default().Window(name); !ok || got != want {
			t.Errorf("%s: %+v is built in, %+v stands in the file", name, got, want)
		}
	}
	if len(l.Windows) == 0 {
		t.Error("the file has no windows")
	}
}

func TestTheFilesWindowsWinOverBuiltInOnes(t *testing.T) {
	c := Default()
	c.Windows["gpt-4o"] = Window{Tokens: 5, Counter: "chars_4"}
	if w, _ := c.Window("gpt-4o-mini"); w.Tokens != 5 {
		t.Errorf("got %+v", w)
	}
}

func TestBytesAreReadAndWritten(t *testing.T) {
	for text, want := range map[string]Bytes{"64MiB": 64 << 20, "1 gib": 1 << 30, "1.5KiB": 1536, "2MB": 2e6, "7": 7, "7B": 7, "0": 0} {
		var b, again Bytes
		if err := b.UnmarshalText([]byte(text)); err != nil || b != want {
			t.Errorf("%s: got %d, %v; want %d", text, b, err, want)
		}
		if err := again.UnmarshalText([]byte(b.String())); err != nil || again != b {
			t.Errorf("%s: %s does not come back", text, b)
		}
	}
	for _, text := range []string{"", "MiB", "-1", "NaN", "1e30", "9999999999GiB", "1TB"} {
		if err := new(Bytes).UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q was accepted", text)
		}
	}
}

func TestValuesAreWrittenAsAPersonWould(t *testing.T) {
	for want, value := range map[string]any{
		"10m": 10 * time.Minute, "1m": time.Minute, "1m30s": 90 * time.Second, "2h": 2 * time.Hour, "10h": 10 * time.Hour,
		"1h10m": 70 * time.Minute, "90d": 90 * 24 * time.Hour, "0s": time.Duration(0), "1000000": 1e6, "0.25": 0.25, "7": 7,
	} {
		if got := valueText(value); got != want {
			t.Errorf("%v is written %s, want %s", value, got, want)
		}
	}
}

func TestValuesNameEverySettingWithItsOrigin(t *testing.T) {
	l := load(t, Sources{Environ: []string{"STRATA_DRAIN_TIMEOUT=1m"}})
	got := map[string]Value{}
	for _, v := range l.Values() {
		got[v.Key] = v
	}
	if v := got["drain-timeout"]; v.Value != "1m" || v.Origin != "env STRATA_DRAIN_TIMEOUT" {
		t.Errorf("got %+v", v)
	}
	if v := got["profiles.default.sections.recent"]; v.Value != "true" || v.Origin != "default" {
		t.Errorf("got %+v", v)
	}
}

var update = flag.Bool("update", false, "rewrite golden files")

func TestReferenceIsTheGoldenFile(t *testing.T) {
	const golden = "testdata/reference.md"
	if *update {
		if err := os.WriteFile(golden, []byte(Reference()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), Reference()); diff != "" {
		t.Errorf("run go test ./internal/program/config -update if this is wanted:\n%s", diff)
	}
}

func TestCheckEnvKnowsSettingsAndTheOthersItIsTold(t *testing.T) {
	known := []string{"STRATA_DATA=x", "STRATA_CONFIG=y", "STRATA_SERVER=z", "STRATA_TEST_MONGODB_URI=u", "STRATA_BACKENDS_DIR=d", "STRATA_BINARY=b", "PATH=/"}
	if err := CheckEnv(known, []string{"STRATA_SERVER"}); err != nil {
		t.Error(err)
	}
	if err := CheckEnv(known, nil); err == nil || !strings.Contains(err.Error(), "STRATA_SERVER") {
		t.Errorf("got %v", err)
	}
}
