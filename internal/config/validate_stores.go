package config

import (
	"net"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/stratamem/strata/internal/milvusindex"
)

// DefaultData is the data file where nothing names another.
const DefaultData = "strata.db"

// checkStores finds combinations of stores that make no sense: two truths, and settings of a store that is not named.
func (c Config) checkStores(fs *faults) {
	c.checkTruth(fs)
	c.checkMilvus(fs)
	c.checkElasticsearch(fs)
	within(fs, "view-deadline", c.ViewDeadline, time.Millisecond, 10*time.Second)
}

func (c Config) checkTruth(fs *faults) {
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
	if uri == "" {
		needs(fs, "mongodb-database", c.MongoDBDatabase, "strata", "mongodb-uri")
	}
	matches(fs, "mongodb-database", c.MongoDBDatabase, `^[A-Za-z0-9_-]{1,38}$`, "1 to 38 letters, digits, dashes and underscores")
}

func (c Config) checkMilvus(fs *faults) {
	matches(fs, "milvus-prefix", c.MilvusPrefix, `^[A-Za-z][A-Za-z0-9_]{0,31}$`, "1 to 32 letters, digits and underscores, a letter first")
	if c.MilvusAddress == "" {
		needs(fs, "milvus-prefix", c.MilvusPrefix, "strata", "milvus-address")
		needs(fs, "milvus-username", c.MilvusUsername, "", "milvus-address")
		needs(fs, "milvus-password", c.MilvusPassword.Reveal(), "", "milvus-address")
		needs(fs, "milvus-token", c.MilvusToken.Reveal(), "", "milvus-address")
		needs(fs, "milvus-database", c.MilvusDatabase, "", "milvus-address")
		needs(fs, "milvus-partitions", strconv.Itoa(c.MilvusPartitions), "64", "milvus-address")
		if c.MilvusTLS {
			fs.add("milvus-tls", "it does nothing without milvus-address: set that too, or leave this out")
		}
	} else if _, _, err := net.SplitHostPort(c.MilvusAddress); err != nil {
		fs.add("milvus-address", "%q is not an address: write host:port, such as 127.0.0.1:19530", c.MilvusAddress)
	}
	within(fs, "milvus-partitions", c.MilvusPartitions, 1, 1024)
	c.checkMilvusIndex(fs)
	c.checkMilvusCredentials(fs)
	c.checkMilvusTLS(fs)
}

func (c Config) checkMilvusIndex(fs *faults) {
	if c.MilvusAddress == "" {
		needs(fs, "milvus-index", c.MilvusIndex, milvusindex.Flat, "milvus-address")
	}
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
	if c.MilvusUsername == "" && c.MilvusAddress != "" {
		needs(fs, "milvus-password", c.MilvusPassword.Reveal(), "", "milvus-username")
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
		needs(fs, "elasticsearch-prefix", c.ElasticsearchPrefix, "strata", "elasticsearch-url")
		needs(fs, "elasticsearch-username", c.ElasticsearchUsername, "", "elasticsearch-url")
		needs(fs, "elasticsearch-password", c.ElasticsearchPassword.Reveal(), "", "elasticsearch-url")
		needs(fs, "elasticsearch-api-key", c.ElasticsearchAPIKey.Reveal(), "", "elasticsearch-url")
		return
	}
	checkURL(fs, "elasticsearch-url", c.ElasticsearchURL)
	c.checkElasticsearchTLS(fs)
	c.checkAnalyzers(fs)
	if c.ElasticsearchUsername == "" {
		needs(fs, "elasticsearch-password", c.ElasticsearchPassword.Reveal(), "", "elasticsearch-username")
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
	needs(fs, f.prefix+"-ca", f.ca, "", other)
	needs(fs, f.prefix+"-cert", f.cert, "", other)
	needs(fs, f.prefix+"-key", f.key, "", other)
	needs(fs, f.prefix+"-server-name", f.serverName, "", other)
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

// needs adds a fault when a setting is not as it is by default, though what it belongs to is not set.
func needs(fs *faults, key, value, byDefault, other string) {
	if value != byDefault {
		fs.add(key, "it does nothing without %s: set that too, or leave this out", other)
	}
}

func matches(fs *faults, key, value, pattern, rule string) {
	if !regexp.MustCompile(pattern).MatchString(value) {
		fs.add(key, "%q cannot be used: write %s", value, rule)
	}
}
