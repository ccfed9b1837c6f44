package e2e

import (
	"os"
	"slices"
	"strings"
)

// written are strings that mean something to somebody: to a database, a query language, a file system, a terminal.
var written = []string{
	// quotes and escapes
	`"`, `'`, "`", `\`, `\\`, `\"`, `"\`, `\u0022`, `\x22`, `&quot;`, `%22`, `%2e%2e%2f`, `\n`, `\0`,
	// MongoDB
	`$`, `$gt`, `$ne`, `$where`, `{"$ne":null}`, `{"$gt":""}`, `[$ne]`, `$$ROOT`, `$set`, `$unset`, `a.b`, `.`, `..`, `a.$.b`, `$[]`,
	`this.a == this.a`, `'; return true; var x='`, `_id`, `__proto__`, `{$where:"sleep(100)"}`, `ObjectId("000000000000000000000000")`,
	// Milvus expressions
	`" or true or "`, `" or scope != "`, `scope == "a"`, `" or scope like "%`, `" || true || "`, `') or (true`, `scope in ["a","b"]`,
	`" and valid_to > 0 or "`, `{x}`, `{scope}`, `like "%"`, `not true`, `json_contains(a,1)`, `exists x`, `-1 or 1 == 1`,
	// Elasticsearch and Lucene
	`*`, `?`, `*:*`, `scope:*`, `_all:*`, `_exists_:scope`, `a OR b`, `a AND NOT b`, `NOT *`, `+a -b`, `a~2`, `a^10`, `/.*/`, `[* TO *]`, `{a TO z}`,
	`"a b"~3`, `(a`, `a)`, `&&`, `||`, `!`, `<em>`, `_routing`, `"}},{"match_all":{}},{"`, `{"match_all":{}}`, `{"query":{"match_all":{}}}`,
	"{\"index\":{}}\n{\"a\":1}", `../_search`, `_all`, `*,-scope`, `<logstash-{now/d}>`, `%3Clogstash%3E`, `painless`, `{{mustache}}`,
	// SQL
	`' OR '1'='1`, `'; DROP TABLE users; --`, `" OR ""="`, `1; DELETE FROM facts`, `%`, `_`, `%%`, `a' UNION SELECT * FROM turns --`, `--`, `/* */`,
	`x' AND 1=0 /*`, `?1`, `:name`, `@name`, `MATCH`, `a NEAR b`, `NULL`, `null`,
	// formats, paths, shells, markup
	`%s`, `%n%n%n`, `%!d(string=x)`, `%00`, `../../etc/passwd`, `..\..\windows`, `/`, `//`, `C:\`, `file:///etc/passwd`, `; rm -rf x`, `$(id)`, "`id`", `|id`, `&`,
	`${jndi:ldap://x}`, `{{7*7}}`, `#{7*7}`, `<script>alert(1)</script>`, `<!--`, `]]>`, `<?xml?>`, `=1+1`, `@SUM(1)`,
	// JSON and numbers
	`{`, `}`, `[`, `]`, `{}`, `[]`, `{"a":`, `"a"`, `true`, `false`, `0`, `-0`, `1e999`, `NaN`, `Infinity`, `9223372036854775808`, `0x7f`, `undefined`,
	// what no id may hold, and what looks like nothing
	"\x00", "a\x00b", "\r\n", "a\nb", "\t", "\x1b[31m", "\u007f", "\u0085", "\u2028", "\u2029", "\ufeff", "\u200b", "\u200d", "\u200e", "\u200f", "\u202e", "\u2066", "\u00ad", "\u00a0", "\u3000", " ", "  ", "\ufffd", "\uffff", "\U0010ffff", "\ue000",
	// scripts, and letters that change their size with their case
	"\u6c49\u5b57", "\ud55c\uae00", "\u1112\u1161\u11ab", "\u65e5\u672c\u8a9e", "\u0627\u0644\u0639\u0631\u0628\u064a\u0629", "\u05e2\u05d1\u05e8\u05d9\u05ea", "\u0e44\u0e17\u0e22", "\u0130", "\u0131", "\u00df", "\u1e9e", "\ufb01", "\u01c4", "\u03c2", "e\u0301", "\u00e9", "\u212b",
	"\U00020000", "\U0001f600", "\U0001f468\u200d\U0001f469\u200d\U0001f467", "\U0001d400", "Z\u0351\u036b\u0343\u036a", "\uff41\uff42\uff43", "\uff02", "\uff07", "\uff04\uff4e\uff45",
	// names that mean something here
	"s1", "s2", "m1", "strata", "admin", "facts", "transcript", "vectors", "meta", "embedder", "text", "tags", "user_id", "metadata.x", "state", "profile", "Asia/Seoul",
}

// HostileStrings is what is written, and what can be made: delimiters around ids, near twins of ids, and long ones. None is
// the id of the attacker or of a victim: who names a user is answered what that user has.
func HostileStrings() []string {
	all := slices.Clone(written)
	for _, d := range []string{"/", ":", "#", "|", "\\", "\"", "'", "\x00", "\n", " ", "%", "*", "_", "."} {
		all = append(all, Attacker+d, d+Attacker+d, "victim"+d, d+"victim", "victim"+d+"s1")
	}
	for _, id := range []string{Attacker, "victim"} {
		all = append(all, strings.ToTitle(id)+".", id+"\u0301", id+"\u200b", id+"0", id[:len(id)-3]+".", strings.ReplaceAll(id, "i", "\u0456")+".", id+id)
	}
	for _, n := range []int{254, 255, 256, 1 << 10, 64<<10 + 1} {
		all = append(all, strings.Repeat("x", n), strings.Repeat("\"", n))
	}
	all = append(all, strings.Repeat("\U0001f600", 64), strings.Repeat("(", 2000), strings.Repeat("{\"a\":", 500), strings.Repeat("a OR ", 500)+"b", strings.Repeat("\u0301", 100))
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(s string) bool { return s == Attacker || slices.Contains(Victims, s) })
}

// Attacker sends every call of these tests. Its data lies beside that of the victims, whose ids nearly are its own.
const Attacker = "mallory/\ud55c\uae00"

// Victims are the users whose data no call may reach. None of them is a hostile string.
var Victims = []string{
	"mallory/\u1112\u1161\u11ab\u1100\u1173\u11af", // the same text, decomposed
	"Mallory/\ud55c\uae00", "MALLORY/\ud55c\uae00", "mallory/\ud55c\uae00 ", " mallory/\ud55c\uae00", "mallory/\ud55c",
	"mallory/\ud55c\uae00/s1", "mallory", "mallory/", "mallory/*", "mallory/%", "mallory/__", "mallory/.*", "mallory\\\ud55c\uae00",
	"mallory:\ud55c\uae00", "m\u0430llory/\ud55c\uae00", // a Cyrillic a
	"\uff4d\uff41\uff4c\uff4c\uff4f\uff52\uff59/\ud55c\uae00", "mallory\uff0f\ud55c\uae00", "default", "victim",
}

func Sampled(all []string, every int) []string {
	if os.Getenv("STRATA_TEST_FULL") == "1" {
		return all
	}
	var some []string
	for i := 0; i < len(all); i += every {
		some = append(some, all[i])
	}
	return some
}
