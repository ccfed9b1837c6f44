package config

import (
	"net"
	"reflect"
	"regexp"
	"strings"
	"time"

	"github.com/stratamem/strata/internal/store/milvusindex"
)

// DefaultData is the data file where nothing names another.
const DefaultData = "strata.db"

// checkStores finds combinations of stores that make no sense: two primary stores, and settings of a backend that is not named.
func (c Config) checkStores(fs *faults) {
	c.checkBackends(fs)
	c.checkPrimary(fs)
	c.checkMilvus(fs)
	c.checkElasticsearch(fs)
	within(fs, "view-deadline", c.ViewDeadline, time.Millisecond, 10*time.Second)
	if c.MilvusAddress == "" && c.ElasticsearchURL == "" && c.ViewDeadline != Default().ViewDeadline {
		fs.add("view-deadline", "%s", uselessWithout("milvus-address or elasticsearch-url"))
	}
}

func (c Config) checkPrimary(fs *faults) {
	uri := c.MongoDBURI.Reveal()
	switch {
	case uri == "" && c.Data == "":
		fs.add("data", "it is empty: name the SQLite file, such as %s, or set mongodb-uri", DefaultData)
	case uri != "" && c.Data != "" && c.Data != DefaultData:
		fs.add(
			"data",
			"mongodb-uri is set too, and there is one primary store: leave data out, or leave mongodb-uri out; strata copy moves a file into MongoDB",
		)
	case uri != "" && !strings.HasPrefix(uri, "mongodb://") && !strings.HasPrefix(uri, "mongodb+srv://"):
		fs.add("mongodb-uri", "it is not a connection string: write it with mongodb:// or mongodb+srv://, such as mongodb://127.0.0.1:27017")
	}
	matches(fs, "mongodb-database", c.MongoDBDatabase, `^[A-Za-z0-9_-]{1,38}$`, "1 to 38 letters, digits, dashes and underscores")
}

func (c Config) checkMilvus(fs *faults) {
	matches(fs, "milvus-prefix", c.MilvusPrefix, `^[A-Za-z][A-Za-z0-9_]{0,31}$`, "1 to 32 letters, digits and underscores, a letter first")
	within(fs, "milvus-partitions", c.MilvusPartitions, 1, 1024)
	if c.MilvusAddress == "" {
		return
	}
	if _, _, err := net.SplitHostPort(c.MilvusAddress); err != nil {
		fs.add("milvus-address", "%q is not an address: write host:port, such as 127.0.0.1:19530", c.MilvusAddress)
	}
	c.checkMilvusIndex(fs)
	c.checkMilvusCredentials(fs)
	c.checkMilvusTLS(fs)
}

func (c Config) checkMilvusIndex(fs *faults) {
	built, err := milvusindex.Default(c.MilvusIndex).WithBuild(c.MilvusIndexParams)
	if err != nil {
		fs.add("milvus-index-params", "%v", err)
		return
	}
	if _, err = built.WithSearch(c.MilvusSearchParams); err != nil {
		fs.add("milvus-search-params", "%v", err)
	}
}

// VectorIndex is the index that Milvus is asked for. The settings must have been checked.
func (c Config) VectorIndex() milvusindex.Index {
	x, err := milvusindex.Default(c.MilvusIndex).WithBuild(c.MilvusIndexParams)
	if err == nil {
		x, err = x.WithSearch(c.MilvusSearchParams)
	}
	if err != nil {
		panic("config: settings of milvus-index that were not checked: " + err.Error())
	}
	return x
}

func (c Config) checkMilvusCredentials(fs *faults) {
	if c.MilvusUsername == "" {
		needs(fs, "milvus-password", c.MilvusPassword.Reveal(), "milvus-username")
	}
	if c.MilvusToken.IsSet() && c.MilvusUsername != "" {
		fs.add("milvus-token", "milvus-username is set too, and one of them is used: leave the other out")
	}
	if c.MilvusDatabase != "" {
		matches(fs, "milvus-database", c.MilvusDatabase, `^[A-Za-z_][A-Za-z0-9_]{0,254}$`,
			"1 to 255 letters, digits and underscores, no digit first")
	}
}

func (c Config) checkMilvusTLS(fs *faults) {
	f := clientFiles{"milvus-tls", c.MilvusTLSCA, c.MilvusTLSCert, c.MilvusTLSKey, c.MilvusTLSServerName}
	if !c.MilvusTLS {
		f.need(fs, "milvus-tls")
		return
	}
	f.checkPair(fs)
}

func (c Config) checkElasticsearch(fs *faults) {
	matches(
		fs,
		"elasticsearch-prefix",
		c.ElasticsearchPrefix,
		`^[a-z][a-z0-9-]{0,31}$`,
		"1 to 32 lower-case letters, digits and dashes, a letter first",
	)
	within(fs, "elasticsearch-shards", c.ElasticsearchShards, 1, 1024)
	if c.ElasticsearchURL == "" {
		return
	}
	checkURL(fs, "elasticsearch-url", c.ElasticsearchURL, "http://127.0.0.1:9200")
	c.checkElasticsearchTLS(fs)
	c.checkAnalyzers(fs)
	if c.ElasticsearchUsername == "" {
		needs(fs, "elasticsearch-password", c.ElasticsearchPassword.Reveal(), "elasticsearch-username")
	}
	if c.ElasticsearchAPIKey.IsSet() && c.ElasticsearchUsername != "" {
		fs.add("elasticsearch-api-key", "elasticsearch-username is set too, and one of them is used: leave the other out")
	}
}

func (c Config) checkElasticsearchTLS(fs *faults) {
	f := clientFiles{"elasticsearch-tls", c.ElasticsearchTLSCA, c.ElasticsearchTLSCert, c.ElasticsearchTLSKey, c.ElasticsearchTLSServerName}
	if !strings.HasPrefix(c.ElasticsearchURL, "https://") {
		f.need(fs, "an elasticsearch-url of https://")
		return
	}
	f.checkPair(fs)
}

// clientFiles are the settings of a client's side of TLS, whose names begin with prefix: see certificates.ClientFiles.
type clientFiles struct{ prefix, ca, cert, key, serverName string }

// need adds a fault for each that is set, since what turns TLS on is not.
func (f clientFiles) need(fs *faults, other string) {
	needs(fs, f.prefix+"-ca", f.ca, other)
	needs(fs, f.prefix+"-cert", f.cert, other)
	needs(fs, f.prefix+"-key", f.key, other)
	needs(fs, f.prefix+"-server-name", f.serverName, other)
}

// checkPair adds a fault for a certificate without its key, and for a key without its certificate.
func (f clientFiles) checkPair(fs *faults) {
	if (f.cert == "") != (f.key == "") {
		fs.add(f.prefix+"-cert", "a certificate and its key belong together: set %[1]s-cert and %[1]s-key, or neither", f.prefix)
	}
}

func (c Config) checkAnalyzers(fs *faults) {
	names := c.ElasticsearchAnalyzers.List()
	if len(names) == 0 || len(names) > 8 {
		fs.add("elasticsearch-analyzers", "it names %d analyzers: name 1 to 8, such as standard", len(names))
	}
	for _, name := range names {
		matches(fs, "elasticsearch-analyzers", name, `^[a-z][a-z0-9_]{0,63}$`, "lower-case letters, digits and underscores, a letter first")
	}
}

// backend is a server that may be configured. Its settings share a prefix, and its address turns it on.
type backend struct {
	prefix, addressKey string
	configured         bool
}

func (c Config) backends() []backend {
	return []backend{
		{"mongodb-", "mongodb-uri", c.MongoDBURI.IsSet()},
		{"milvus-", "milvus-address", c.MilvusAddress != ""},
		{"elasticsearch-", "elasticsearch-url", c.ElasticsearchURL != ""},
		{"rerank-", "rerank-base-url", c.RerankBaseURL != ""},
	}
}

// checkBackends adds a fault for each setting of a backend that is not as it is by default, though the backend's address is not set.
func (c Config) checkBackends(fs *faults) {
	given, byDefault := reflect.ValueOf(c), reflect.ValueOf(Default())
	for _, b := range c.backends() {
		for _, s := range Settings() {
			if b.configured || !strings.HasPrefix(s.Name, b.prefix) {
				continue
			}
			if !reflect.DeepEqual(given.Field(s.index).Interface(), byDefault.Field(s.index).Interface()) {
				fs.add(s.Name, "%s", uselessWithout(b.addressKey))
			}
		}
	}
}

// needs adds a fault when a setting has a value, though what it belongs to is not set.
func needs(fs *faults, key, value, other string) {
	if value != "" {
		fs.add(key, "%s", uselessWithout(other))
	}
}

func uselessWithout(other string) string {
	return "it does nothing without " + other + ": set that too, or leave this out"
}

func matches(fs *faults, key, value, pattern, rule string) {
	if !regexp.MustCompile(pattern).MatchString(value) {
		fs.add(key, "%q cannot be used: write %s", value, rule)
	}
}
