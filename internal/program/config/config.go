// Package config holds every setting of the server in one place: the fields of Config, whose tags give each its name,
// default, limits and help. Flags, environment variables, YAML keys and the reference are derived from them.
package config

import (
	"log/slog"
	"time"

	"github.com/stratamem/strata/internal/contexts/contextprofile"
	"github.com/stratamem/strata/internal/memory/secret"
)

// EnvPrefix begins the name of every environment variable of the program.
const EnvPrefix = "STRATA_"

// Config has every setting of the server. Tags of each field: name (flag and YAML key), default, enum (the values
// allowed), help. The environment variable is EnvPrefix and the name in upper case with underscores. Fields that kong
// passes over can be set in the file only.
type Config struct {
	Data           string        `name:"data" default:"strata.db" placeholder:"PATH" help:"The SQLite file that holds everything. Created when missing. Not used with mongodb-uri."`
	ErasureLedger  string        `name:"erasure-ledger" placeholder:"PATH" help:"The file that notes what was erased, so that a restored backup forgets it again. Keep it out of what is backed up. Empty: beside the data file, with .erasures behind its name; with mongodb-uri a database beside the store's, with _erasures behind its name."`
	Retention      string        `name:"retention" default:"erase" enum:"erase,report" help:"What becomes of what the profiles' retention lets go: erase (at the start and each hour), or report (strata retention lists it, and nothing is erased)."`
	Audit          string        `name:"audit" default:"on" enum:"on,off,agents" help:"Whether the server keeps who did what to whose memory: on (what people and admins do, what is deleted and edited by anyone, and who was refused), agents (the same, and everything that agents record and read), or off. Nothing of what is remembered stands in it: see strata audit."`
	AuditRetention time.Duration `name:"audit-retention" default:"9600h" placeholder:"DURATION" help:"How long an entry of the audit is kept, 24h to 876000h (in the file days too, such as 400d); 0s for ever. The default is a year and the time to look back on it."`
	AuditLog       string        `name:"audit-log" placeholder:"PATH" help:"The file that gets each entry of the audit as a line of JSON too, or - for the standard error. It may be moved away or cut at any time. Empty: none."`
	Listen         string        `name:"listen" default:"127.0.0.1:8081" placeholder:"HOST:PORT" help:"The address of the server: gRPC, gRPC-Web, Connect and HTTP with JSON on one port. Port 0 takes a free one."`
	CORSOrigins    Names         `name:"cors-origins" placeholder:"ORIGIN,…" help:"The origins whose web pages may call over HTTP, such as https://app.example.org, divided by commas; * for all. Empty: no page may."`
	HTTPHosts      Names         `name:"http-hosts" placeholder:"NAME,…" help:"The host names by which HTTP requests may call the server, without ports, divided by commas. Empty: localhost and addresses of loopback, or every name with insecure or where auth is required."`
	Auth           string        `name:"auth" default:"none" enum:"none,required" help:"Who may call: none (everybody who reaches the port, which is this machine alone) or required (who sends the token of a key: see strata keys; then the server may listen beyond loopback)."`
	TLSCert        string        `name:"tls-cert" placeholder:"PATH" help:"The PEM file with the server's certificate and its chain. With it the port speaks TLS alone. A changed file counts within 10 s for new connections; one that cannot be used leaves the old one."`
	TLSKey         string        `name:"tls-key" placeholder:"PATH" help:"The PEM file with the certificate's private key. Both are used once they belong together."`
	TLSClientCA    string        `name:"tls-client-ca" placeholder:"PATH" help:"The PEM file with the certificates that may sign clients' ones. Clients with one of the names in client-certificates need no token then."`
	JWTIssuer      string        `name:"jwt-issuer" placeholder:"URL" help:"The issuer of JSON Web Tokens that may call, as their claim iss names it. Asked for its keys by OpenID Connect discovery, unless jwt-keys says where they are. Needs auth required."`
	JWTAudience    string        `name:"jwt-audience" placeholder:"NAME" help:"What the claim aud of a token must hold. Required with jwt-issuer."`
	JWTKeys        string        `name:"jwt-keys" placeholder:"URL" help:"The URL or the file of the issuer's JSON Web Key Set. A file is read when the server starts."`
	JWTTenant      string        `name:"jwt-tenant-claim" placeholder:"CLAIM" help:"The claim with the tenant, such as org.id; a token without it is refused. Empty: all tokens are of the tenant default."`
	JWTUser        string        `name:"jwt-user-claim" default:"sub" placeholder:"CLAIM" help:"The claim with the user whose memory a token with the role user reaches."`
	JWTRole        string        `name:"jwt-role-claim" placeholder:"CLAIM" help:"The claim with the role: agent, user, operator or admin, or a list with one of them; a token without it is refused. Empty: jwt-role."`
	JWTOtherwise   string        `name:"jwt-role" default:"user" enum:"agent,user,operator,admin" help:"The role of all tokens where jwt-role-claim is empty."`
	BootstrapKey   bool          `name:"bootstrap-key" default:"false" help:"Make a key of an admin at the start, where there is no key yet, and print its token once."`
	Insecure       bool          `name:"insecure" default:"false" help:"Allow listening beyond loopback without authentication: everybody who reaches the port reads and writes everything. Metrics have none, whatever auth says."`
	Reflection     bool          `name:"reflection" default:"true" negatable:"" help:"Answer gRPC reflection, so that grpcurl works without the proto files."`
	Console        bool          `name:"console" default:"true" negatable:"" help:"Serve the console, pages for people, at /console on the same port and behind the same credentials."`
	LogLevel       string        `name:"log-level" default:"info" enum:"debug,info,warn,error" help:"The least severity that is logged: debug, info, warn or error."`
	LogFormat      string        `name:"log-format" default:"auto" enum:"auto,text,json" help:"How log lines look: text, json, or auto (text on a terminal, else json)."`
	RequestTimeout time.Duration `name:"request-timeout" default:"10s" placeholder:"DURATION" help:"The longest a call may take, 100ms to 10m. A shorter deadline of the client wins."`
	DrainTimeout   time.Duration `name:"drain-timeout" default:"10s" placeholder:"DURATION" help:"How long a stopping server waits for running calls, 0s to 10m."`
	RecallCache    Bytes         `name:"recall-cache" default:"128MiB" placeholder:"SIZE" help:"Memory for the users' recall indexes, 1MiB to 64GiB; half a KiB a message of long histories, 2.6 KiB of short ones. One user whose index takes more than half of it has a place beside it, at most eight times as large; while it is taken, contexts of further such users say that recall is degraded."`
	FactCache      Bytes         `name:"fact-cache" default:"128MiB" placeholder:"SIZE" help:"Memory for the users' facts and documents with their vectors, 1MiB to 64GiB; 1.6 to 2.9 KiB a fact beside its vector, twice that while facts are learnt."`
	HeavyCalls     int           `name:"heavy-calls" default:"0" placeholder:"N" help:"How many calls that take much processor time or memory run at once, 0 to 1024; 0 for one less than there are processors, at least one. Others wait for two seconds at most and are then refused with RESOURCE_EXHAUSTED and a time to retry; small calls never wait."`
	CallMemory     Bytes         `name:"call-memory" default:"256MiB" placeholder:"SIZE" help:"Memory for calls that are large, 64MiB to 1TiB: half for what heavy calls work on, a quarter each for requests and for replies that were not sent yet. A call for which there is none waits and is then refused, as with heavy-calls."`
	MaxConnections int           `name:"max-connections" default:"1000" placeholder:"N" help:"How many connections may be open at once, 1 to 100000; further ones are closed."`
	ReplyTimeout   time.Duration `name:"reply-timeout" default:"30s" placeholder:"DURATION" help:"How long a reply may go unread until its connection is closed, 100ms to 10m; a second where other replies wait for the memory that it holds."`
	Workers        int           `name:"workers" default:"4" placeholder:"N" help:"How many pieces of background work run at once, 1 to 256. Where both models are built in it is one, since they use this machine."`

	MongoDBURI                 secret.Text   `name:"mongodb-uri" placeholder:"URI" help:"The MongoDB that is the primary store in place of the SQLite file, such as mongodb://127.0.0.1:27017; then any number of servers may share it. It may hold a password: set the variable."`
	MongoDBDatabase            string        `name:"mongodb-database" default:"strata" placeholder:"NAME" help:"The database in MongoDB, 1 to 38 letters, digits, dashes and underscores."`
	MilvusAddress              string        `name:"milvus-address" placeholder:"HOST:PORT" help:"The Milvus that ranks facts by meaning, filtered before it ranks. Empty: the vectors of a user are compared in memory."`
	MilvusPrefix               string        `name:"milvus-prefix" default:"strata" placeholder:"NAME" help:"What the names of the collections in Milvus begin with, 1 to 32 letters, digits and underscores."`
	MilvusUsername             string        `name:"milvus-username" placeholder:"NAME" help:"The user in Milvus; empty where it asks for none."`
	MilvusPassword             secret.Text   `name:"milvus-password" placeholder:"PASSWORD" help:"The password of milvus-username. Set the variable, not the flag."`
	MilvusToken                secret.Text   `name:"milvus-token" placeholder:"TOKEN" help:"An API token in place of user and password. Set the variable, not the flag."`
	MilvusDatabase             string        `name:"milvus-database" placeholder:"NAME" help:"The database in Milvus that holds the collections; it must be there. Empty: the server's default one."`
	MilvusIndex                string        `name:"milvus-index" default:"FLAT" enum:"FLAT,HNSW,IVF_FLAT,SCANN,DISKANN" help:"The type of the index of vectors: FLAT compares all vectors of a user's partition and misses none; HNSW, IVF_FLAT, SCANN and DISKANN compare few of them and may miss some. A change takes strata reindex; until then collections serve with the index that they have."`
	MilvusIndexParams          string        `name:"milvus-index-params" placeholder:"NAME=N,…" help:"How the index is built: M (4 to 64, 16) and efConstruction (8 to 512, 200) of HNSW, nlist (1 to 65536, 128) of IVF_FLAT and SCANN. A change takes strata reindex."`
	MilvusSearchParams         string        `name:"milvus-search-params" placeholder:"NAME=N,…" help:"How the index is searched: ef (1 to 32768, 256) of HNSW, nprobe (1 to nlist, 32) of IVF_FLAT and SCANN, reorder_k (1 to 16384, 512) of SCANN, search_list (1 to 65535, 256) of DISKANN. More finds more and takes longer. ef, reorder_k and search_list count as no less than the rows that are asked for. search_list counts as no more than 200, or ten times these rows where that is more."`
	MilvusPartitions           int           `name:"milvus-partitions" default:"64" placeholder:"N" help:"Into how many partitions the users of a collection are spread, 1 to 1024; a search looks at one. A change takes strata reindex."`
	MilvusTLS                  bool          `name:"milvus-tls" default:"false" help:"Speak TLS with Milvus. Without it passwords and tokens go over the network as they are."`
	MilvusTLSCA                string        `name:"milvus-tls-ca" placeholder:"PATH" help:"The PEM file with the certificates that may sign that of Milvus. Empty: those that the system trusts."`
	MilvusTLSCert              string        `name:"milvus-tls-cert" placeholder:"PATH" help:"The PEM file with the certificate by which Milvus knows this client, for a server that asks for one (tlsMode 2). It is read for each connection, so that a renewed one counts."`
	MilvusTLSKey               string        `name:"milvus-tls-key" placeholder:"PATH" help:"The PEM file with the private key of milvus-tls-cert."`
	MilvusTLSServerName        string        `name:"milvus-tls-server-name" placeholder:"NAME" help:"The name that the certificate of Milvus must have. Empty: the host of milvus-address."`
	ElasticsearchURL           string        `name:"elasticsearch-url" placeholder:"URL" help:"The Elasticsearch 7.14 that finds messages and facts by their words too, such as http://127.0.0.1:9200. Empty: the search index in the primary store finds them alone."`
	ElasticsearchPrefix        string        `name:"elasticsearch-prefix" default:"strata" placeholder:"NAME" help:"What the names of the indexes in Elasticsearch begin with, 1 to 32 lower-case letters, digits and dashes."`
	ElasticsearchUsername      string        `name:"elasticsearch-username" placeholder:"NAME" help:"The user in Elasticsearch; empty where it asks for none."`
	ElasticsearchPassword      secret.Text   `name:"elasticsearch-password" placeholder:"PASSWORD" help:"The password of elasticsearch-username. Set the variable, not the flag."`
	ElasticsearchAPIKey        secret.Text   `name:"elasticsearch-api-key" placeholder:"KEY" help:"An API key in place of user and password. Set the variable, not the flag."`
	ElasticsearchShards        int           `name:"elasticsearch-shards" default:"1" placeholder:"N" help:"Into how many shards an index in Elasticsearch is cut, 1 to 1024. A search asks one of each index, its user's. A change counts for new indexes: those of further months, and all after strata reindex."`
	ElasticsearchContent       bool          `name:"elasticsearch-content" default:"true" negatable:"" help:"Whether documents in Elasticsearch hold what people look for and see: tenant, user, session, role, times and text. Without, they hold keys, numbers and stems alone. Indexes made without it stay so until strata reindex; where it is turned off, no further document gets any, and strata reindex takes it from the others."`
	ElasticsearchAnalyzers     Names         `name:"elasticsearch-analyzers" default:"standard" placeholder:"NAME,…" help:"How the server takes text apart for people's queries: standard, whitespace, or of plugins that every node has nori, kuromoji, smartcn, icu, and any other analyzer it knows. The first is that of the field text, each further one has a field of its own, such as text.nori. A change counts for new indexes: those of further months, and all after strata reindex. Strata ranks by its own stems whatever is set."`
	ElasticsearchTLSCA         string        `name:"elasticsearch-tls-ca" placeholder:"PATH" help:"The PEM file with the certificates that may sign that of Elasticsearch. Empty: those that the system trusts."`
	ElasticsearchTLSCert       string        `name:"elasticsearch-tls-cert" placeholder:"PATH" help:"The PEM file with the certificate by which Elasticsearch knows this client, for a server that asks for one. It is read for each connection, so that a renewed one counts."`
	ElasticsearchTLSKey        string        `name:"elasticsearch-tls-key" placeholder:"PATH" help:"The PEM file with the private key of elasticsearch-tls-cert."`
	ElasticsearchTLSServerName string        `name:"elasticsearch-tls-server-name" placeholder:"NAME" help:"The name that the certificate of Elasticsearch must have. Empty: the host of elasticsearch-url."`
	ViewDeadline               time.Duration `name:"view-deadline" default:"300ms" placeholder:"DURATION" help:"How long an answer waits for Milvus and for Elasticsearch, 1ms to 10s; after it the answer is made without and says so."`

	ChatBaseURL     string        `name:"chat-base-url" placeholder:"URL" help:"The OpenAI-compatible endpoint of the chat models, such as https://api.openai.com/v1 or http://127.0.0.1:11434/v1. Empty: nothing leaves this machine, and what is built in summarises and extracts."`
	ChatAPIKey      secret.Text   `name:"chat-api-key" placeholder:"KEY" help:"The key of the chat endpoint. A flag can be read by other users of the machine: set the variable or the file."`
	ChatAPIKeyFile  string        `name:"chat-api-key-file" placeholder:"PATH" help:"The file that holds the key of the chat endpoint."`
	SummaryModel    string        `name:"summary-model" placeholder:"MODEL" help:"The chat model that summarises; empty for the built-in extractive summariser."`
	ExtractionModel string        `name:"extraction-model" placeholder:"MODEL" help:"The chat model that extracts facts; empty for the built-in rules, which know English, Spanish, German, Korean, Japanese and Chinese."`
	TenantHosts     Names         `name:"tenant-model-hosts" placeholder:"HOST,…" help:"The hosts at which tenants may have chat models of their own, as name or name:port, divided by commas; they may at that of chat-base-url too. What they say to their models goes there."`
	TenantKeys      string        `name:"tenant-keys" placeholder:"PATH" help:"The folder whose files hold the keys of tenants' own chat models: each tenant names a file. A file that changes counts at once."`
	ChatTimeout     time.Duration `name:"chat-timeout" default:"60s" placeholder:"DURATION" help:"The longest one call of a chat model may take, 1s to 10m."`
	ChatConcurrency int           `name:"chat-concurrency" default:"4" placeholder:"N" help:"How many calls the chat endpoint gets at once, 1 to 256."`

	EmbeddingBaseURL    string        `name:"embedding-base-url" placeholder:"URL" help:"The OpenAI-compatible endpoint of the embedding model."`
	EmbeddingAPIKey     secret.Text   `name:"embedding-api-key" placeholder:"KEY" help:"The key of the embedding endpoint. A flag can be read by other users of the machine: set the variable or the file."`
	EmbeddingAPIKeyFile string        `name:"embedding-api-key-file" placeholder:"PATH" help:"The file that holds the key of the embedding endpoint."`
	EmbeddingModel      string        `name:"embedding-model" default:"builtin:static-256" placeholder:"MODEL" help:"The embedding model of facts and messages. builtin:static-256 needs nothing and knows English; what is asked in another language is found by its words. builtin:hash-256 knows no meanings: all is found by its words. From one of these to another the server changes by itself; any other change takes strata reembed."`
	EmbeddingDimension  int           `name:"embedding-dimension" default:"0" placeholder:"N" help:"The dimension to ask the endpoint for, 1 to 16384; the model's own when 0."`
	EmbeddingTimeout    time.Duration `name:"embedding-timeout" default:"10s" placeholder:"DURATION" help:"The longest one call of the embedding endpoint may take in the background, 100ms to 10m."`
	EmbeddingDeadline   time.Duration `name:"embedding-deadline" default:"150ms" placeholder:"DURATION" help:"How long a context waits for the embedding of its query, 1ms to 10s; after it the context is built without and says so."`

	RerankBaseURL    string        `name:"rerank-base-url" placeholder:"URL" help:"What /rerank is put behind to reach a reranker, such as https://api.cohere.com/v2 or http://127.0.0.1:8080. It is sent the query and the best passages of each search of messages, contexts included. Empty: nothing is sent, and messages stand in the order of those who found them."`
	RerankAPIKey     secret.Text   `name:"rerank-api-key" placeholder:"KEY" help:"The key of the reranker. A flag can be read by other users of the machine: set the variable or the file."`
	RerankAPIKeyFile string        `name:"rerank-api-key-file" placeholder:"PATH" help:"The file that holds the key of the reranker."`
	RerankModel      string        `name:"rerank-model" placeholder:"MODEL" help:"The model of the reranker, such as rerank-v3.5."`
	RerankAPI        string        `name:"rerank-api" default:"cohere" enum:"cohere,jina,tei" help:"How the reranker is asked: cohere (vLLM, llama.cpp and Jina understand it too), jina (the same, without the documents in the answer) or tei (Text Embeddings Inference)."`
	RerankCandidates int           `name:"rerank-candidates" default:"50" placeholder:"N" help:"How many of the best messages are reranked, 2 to 200. Text Embeddings Inference refuses more than 32 unless it is configured otherwise."`
	RerankDeadline   time.Duration `name:"rerank-deadline" default:"300ms" placeholder:"DURATION" help:"How long an answer waits for the reranker, 1ms to 10s; after it the answer is made without and says so."`

	TenantRequests     float64                      `name:"tenant-requests-per-second" default:"0" placeholder:"N" help:"Calls a second that a tenant may make on each server, 0 to 1e12; as many may come at once. 0 for any number, as in all limits. Further ones are refused with RESOURCE_EXHAUSTED and a time to retry. strata tenants set gives a tenant a limit of its own."`
	UserRequests       float64                      `name:"user-requests-per-second" default:"0" placeholder:"N" help:"The same about each user of a tenant."`
	KeyRequests        float64                      `name:"key-requests-per-second" default:"0" placeholder:"N" help:"The same with each API key."`
	TenantBytes        Bytes                        `name:"tenant-bytes-per-second" default:"0B" placeholder:"SIZE" help:"Bytes of requests a second that a tenant may send to each server, 0B to 900GiB; 8MiB may come at once."`
	UserBytes          Bytes                        `name:"user-bytes-per-second" default:"0B" placeholder:"SIZE" help:"The same about each user of a tenant."`
	KeyBytes           Bytes                        `name:"key-bytes-per-second" default:"0B" placeholder:"SIZE" help:"The same with each API key."`
	TenantTokens       int64                        `name:"tenant-model-tokens-per-day" default:"0" placeholder:"N" help:"Tokens that models may read and write for a tenant on a day in UTC, over all servers, 0 to 1e12. Then its background work waits, and calls that need a model are refused."`
	TenantDayCost      float64                      `name:"tenant-cost-per-day" default:"0" placeholder:"AMOUNT" help:"What models may cost a tenant on a day in UTC, in the unit of prices, 0 to 1e12."`
	TenantMonthCost    float64                      `name:"tenant-cost-per-month" default:"0" placeholder:"AMOUNT" help:"What models may cost a tenant in a month in UTC, in the unit of prices, 0 to 1e12."`
	TenantMessages     int64                        `name:"tenant-messages" default:"0" placeholder:"N" help:"Messages that a tenant may have stored, 0 to 1e12. Erased ones do not count."`
	UserMessages       int64                        `name:"user-messages" default:"0" placeholder:"N" help:"Messages that a user may have stored, 0 to 1e12."`
	ClientCertificates map[string]ClientCertificate `kong:"-" name:"client-certificates" help:"Whom the names of clients' certificates stand for: URIs, DNS names, mail addresses or common names."`
	Prices             map[string]Price             `kong:"-" name:"prices" help:"What models cost, by name: chat and embedding models. A model is found as in windows. All in one unit, such as USD."`

	MetricsListen string `name:"metrics-listen" default:"127.0.0.1:9464" placeholder:"HOST:PORT" help:"The address of the HTTP server with /metrics and /healthz. Port 0 takes a free one; empty turns it off."`
	OTLPEndpoint  string `name:"otlp-endpoint" placeholder:"URL" help:"Where traces go by OTLP over gRPC, such as http://127.0.0.1:4317; OTEL_EXPORTER_OTLP_ENDPOINT stands in for it. Empty: none are made."`

	DefaultProfile string                             `name:"default-profile" default:"default" placeholder:"NAME" help:"The profile of sessions that name none."`
	TokenCounter   string                             `name:"token-counter" default:"o200k_base" enum:"o200k_base,cl100k_base,chars_4,estimate" help:"How tokens are counted where neither request, model nor profile says: o200k_base, cl100k_base, chars_4 or estimate."`
	Windows        map[string]Window                  `kong:"-" name:"windows" help:"Models by name: the tokens of their window and their counter. Adds to the built-in table; a model is found by the longest name that it begins with, with or without a vendor and / before it."`
	Profiles       Profiles                           `kong:"-" name:"profiles" help:"Policies for building contexts and learning, by name. Each starts from the profile default; also there are batch, which asks models seldom, and chat, agent, langchain-default, koog-default and cost-saver, each with a policy for its history."`
	Strategies     map[string]contextprofile.Strategy `kong:"-" name:"strategies" help:"Strategies of your own for histories, by name; a profile's history.strategy or a call names one."`
}

// AuthRequired is the Auth of a server that lets nobody in without a credential.
const AuthRequired = "required"

// The values of Audit.
const (
	AuditOff    = "off"
	AuditAgents = "agents"
)

// AuditToStderr is the AuditLog that writes to the standard error.
const AuditToStderr = "-"

// RetentionReport is the Retention of a server that erases nothing by itself.
const RetentionReport = "report"

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
type Profiles map[string]contextprofile.Profile

// BuiltinProfile is the name of the profile that is always there and that the others start from.
const BuiltinProfile = "default"

// Default returns every setting at its default.
func Default() Config {
	c := Config{
		Windows: map[string]Window{}, Strategies: map[string]contextprofile.Strategy{}, Profiles: Profiles{BuiltinProfile: defaultProfile()},
	}
	c.Profiles.derive()
	setDefaults(&c)
	return c
}

// defaultProfile is the profile that is always there.
func defaultProfile() contextprofile.Profile {
	var p contextprofile.Profile
	setDefaults(&p)
	return p
}
