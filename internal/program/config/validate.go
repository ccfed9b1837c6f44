package config

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stratamem/strata/internal/contexts/compaction"
	"github.com/stratamem/strata/internal/contexts/contextprofile"
	"github.com/stratamem/strata/internal/contexts/settingschema"
	"github.com/stratamem/strata/internal/language/tokens"
)

// Validate joins a Fault for every setting that is out of its limits.
func (c Config) Validate() error {
	var errs []error
	for _, f := range c.faults().all {
		errs = append(errs, f)
	}
	return errors.Join(errs...)
}

func (c Config) faults() faults {
	fs := faults{limits: map[string]string{}}
	c.checkStores(&fs)
	c.checkListen(&fs, "listen", c.Listen)
	c.checkHTTP(&fs)
	c.checkTLS(&fs)
	if c.MetricsListen != "" {
		c.checkListen(&fs, "metrics-listen", c.MetricsListen)
	}
	c.checkProviders(&fs)
	c.checkLimits(&fs)
	c.checkTenantHosts(&fs)
	within(&fs, "request-timeout", c.RequestTimeout, 100*time.Millisecond, 10*time.Minute)
	within(&fs, "drain-timeout", c.DrainTimeout, 0, 10*time.Minute)
	if c.AuditRetention != 0 {
		within(&fs, "audit-retention", c.AuditRetention, 24*time.Hour, 876_000*time.Hour)
	}
	within(&fs, "recall-cache", c.RecallCache, 1<<20, 64<<30)
	within(&fs, "fact-cache", c.FactCache, 1<<20, 64<<30)
	within(&fs, "heavy-calls", c.HeavyCalls, 0, 1024)
	within(&fs, "call-memory", c.CallMemory, 64<<20, 1<<40)
	within(&fs, "max-connections", c.MaxConnections, 1, 100_000)
	within(&fs, "reply-timeout", c.ReplyTimeout, 100*time.Millisecond, 10*time.Minute)
	within(&fs, "workers", c.Workers, 1, 256)
	if _, ok := c.Profiles[c.DefaultProfile]; !ok {
		fs.add(
			"default-profile",
			"there is no profile %q%s",
			c.DefaultProfile,
			settingschema.DidYouMean(c.DefaultProfile, slices.Collect(maps.Keys(c.Profiles))),
		)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Windows)) {
		within(&fs, "windows."+name+".tokens", c.Windows[name].Tokens, 1, contextprofile.MaxTokens)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Profiles)) {
		c.checkProfile(&fs, name)
	}
	c.checkStrategies(&fs)
	return fs
}

// checkProfile finds what is wrong with a profile, as it stands in the configuration.
func (c Config) checkProfile(fs *faults, name string) {
	prefix, p := "profiles."+name+".", c.Profiles[name]
	fs.addAll(prefix, p.Faults())
	if custom, ok := p.History.Compress.Strategy.Custom(); ok {
		if _, ok := c.Strategies[custom]; !ok {
			fs.add(prefix+"history.strategy", "there is no strategy %q: set one of %s", custom, strings.Join(c.strategyNames(), ", "))
		}
	}
	c.checkChatModel(fs, prefix+"history.summary.model", p.History.Compress.Model)
	counter, err := tokens.ByName(cmp.Or(p.Counter, c.TokenCounter))
	if err != nil {
		fs.add("token-counter", "%v", err)
		return
	}
	fs.addAll(prefix, p.CheckFaults(counter))
}

// strategyNames are the strategies that a profile may name, the built-in ones first.
func (c Config) strategyNames() []string {
	var names []string
	for _, s := range compaction.NamedStrategies() {
		names = append(names, string(s))
	}
	return append(names, slices.Sorted(maps.Keys(c.Strategies))...)
}

// checkStrategies refuses names that are taken and models that cannot be asked.
func (c Config) checkStrategies(fs *faults) {
	for _, name := range slices.Sorted(maps.Keys(c.Strategies)) {
		if slices.Contains(compaction.NamedStrategies(), compaction.Strategy(name)) {
			fs.add("strategies."+name, "the name is taken by what is built in: choose another one")
		}
		c.checkChatModel(fs, "strategies."+name+".model", c.Strategies[name].Model)
	}
}

// exposed says, by setting, what an open door gives away.
func exposed(key string) string {
	if key == "listen" {
		return "everybody who reaches it reads and writes everything"
	}
	return "everybody who reaches it sees how much is stored and which models are used"
}

func (c Config) checkListen(fs *faults, key, address string) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		fs.add(key, "%q is not an address: write host:port, such as 127.0.0.1:8081", address)
		return
	}
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > math.MaxUint16 {
		fs.add(key, "the port %q is not a number from 0 to 65535", port)
	}
	if loopback(host) || c.Insecure || key == "listen" && c.Auth == AuthRequired {
		return
	}
	way := "listen on 127.0.0.1:" + port
	if key == "listen" {
		way += ", set auth to required"
	}
	fs.add(key, "%q can be reached from other machines, and without authentication %s: %s, or set insecure to accept that",
		address, exposed(key), way)
}

// checkHTTP checks who may call over HTTP.
func (c Config) checkHTTP(fs *faults) {
	for _, origin := range c.CORSOrigins.List() {
		u, err := url.Parse(origin)
		if origin != "*" && (err != nil || u.Scheme == "" || u.Host == "" || u.Path != "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil) {
			fs.add("cors-origins", "%q is not an origin: write scheme://host or scheme://host:port, such as https://app.example.org", origin)
		}
	}
	for _, host := range c.HTTPHosts.List() {
		if strings.ContainsAny(host, "/:@ ") || host != strings.ToLower(host) {
			fs.add("http-hosts", "%q is not a host name: write it in lower case without scheme and port, such as memory.example.org", host)
		}
	}
}

// checkTenantHosts checks where tenants may have models.
func (c Config) checkTenantHosts(fs *faults) {
	for _, host := range c.TenantHosts.List() {
		if u, err := url.Parse("https://" + host); err != nil || u.Host != host || host != strings.ToLower(host) {
			fs.add("tenant-model-hosts", "%q is not a host: write it in lower case without scheme and path, such as models.example.org:8443", host)
		}
	}
}

// loopback reports whether only this machine can reach the host. Names other than localhost may stand for anything.
func loopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}

// faults are what is wrong with a configuration.
type faults struct {
	all    []*Fault
	limits map[string]string // of every setting that has some but those of profiles, such as "from 1 to 256"
}

func (fs *faults) add(key, format string, args ...any) {
	fs.all = append(fs.all, &Fault{Key: key, Text: fmt.Sprintf(format, args...)})
}

// addAll adds what is wrong with a part of the configuration, whose keys begin with the prefix.
func (fs *faults) addAll(prefix string, all settingschema.Faults) {
	for _, f := range all {
		if f.Text == "" {
			fs.addOutOfLimits(prefix+f.Key, f.Value, f.Low, f.High)
			continue
		}
		text := f.Text
		if f.Other != "" {
			text = strings.Replace(text, f.Other, prefix+f.Other, 1)
		}
		fs.add(prefix+f.Key, "%s", text)
	}
}

func (fs *faults) addOutOfLimits(key string, value, least, most any) {
	fs.add(key, "%s is out of its limits: set it %s", valueText(value), limitsText(least, most))
}

func limitsText(least, most any) string { return "from " + valueText(least) + " to " + valueText(most) }

// within adds a fault when the value is out of its limits; NaN is out of all.
func within[T cmp.Ordered](fs *faults, key string, value, least, most T) {
	fs.limits[key] = limitsText(least, most)
	if !(value >= least && value <= most) {
		fs.addOutOfLimits(key, value, least, most)
	}
}

// limitsOf returns the limits of a setting, "" for one that has none.
func (fs *faults) limitsOf(key string) string {
	if ofProfile, ok := strings.CutPrefix(key, "profiles."); ok {
		_, name, _ := strings.Cut(ofProfile, ".")
		if least, most, ok := contextprofile.Limits(name); ok {
			return limitsText(least, most)
		}
	}
	return fs.limits[key]
}
