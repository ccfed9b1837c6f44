package config

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stratamem/strata/internal/tokens"
)

// maxTokens is the most that a budget or a window may be, as the API's limit for overrides.
const maxTokens = 10_000_000

// Validate joins a Fault for every setting that is out of its limits.
func (c Config) Validate() error {
	var errs []error
	for _, f := range c.faults() {
		errs = append(errs, f)
	}
	return errors.Join(errs...)
}

func (c Config) faults() []*Fault {
	var fs faults
	c.checkStores(&fs)
	c.checkListen(&fs, "listen", c.Listen)
	if c.MetricsListen != "" {
		c.checkListen(&fs, "metrics-listen", c.MetricsListen)
	}
	c.checkProviders(&fs)
	within(&fs, "request-timeout", c.RequestTimeout, 100*time.Millisecond, 10*time.Minute)
	within(&fs, "drain-timeout", c.DrainTimeout, 0, 10*time.Minute)
	within(&fs, "recall-cache", c.RecallCache, 1<<20, 64<<30)
	within(&fs, "fact-cache", c.FactCache, 1<<20, 64<<30)
	within(&fs, "heavy-calls", c.HeavyCalls, 0, 1024)
	within(&fs, "call-memory", c.CallMemory, 64<<20, 1<<40)
	within(&fs, "max-connections", c.MaxConnections, 1, 100_000)
	within(&fs, "reply-timeout", c.ReplyTimeout, 100*time.Millisecond, 10*time.Minute)
	within(&fs, "workers", c.Workers, 1, 256)
	if _, ok := c.Profiles[c.DefaultProfile]; !ok {
		fs.add("default-profile", "there is no profile %q%s", c.DefaultProfile, didYouMean(c.DefaultProfile, slices.Collect(maps.Keys(c.Profiles))))
	}
	for _, name := range slices.Sorted(maps.Keys(c.Windows)) {
		within(&fs, "windows."+name+".tokens", c.Windows[name].Tokens, 1, maxTokens)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Profiles)) {
		c.Profiles[name].check(&fs, "profiles."+name+".")
		c.Profiles[name].History.check(&fs, "profiles."+name+".history.", c.Strategies)
		c.checkChatModel(&fs, "profiles."+name+".history.summary.model", c.Profiles[name].History.Summary.Model)
		c.checkWords(&fs, name)
	}
	c.checkStrategies(&fs)
	return fs
}

// checkWords finds what is wrong with a profile's checks, tokens counted as the profile says.
func (c Config) checkWords(fs *faults, profile string) {
	p := c.Profiles[profile]
	counter, err := tokens.ByName(cmp.Or(p.Counter, c.TokenCounter))
	if err != nil {
		fs.add("token-counter", "%v", err)
		return
	}
	p.checkRules(fs, "profiles."+profile+".checks.", counter)
}

func (p Profile) check(fs *faults, prefix string) {
	within(fs, prefix+"notes-share", p.NotesShare, 0, 1)
	within(fs, prefix+"budget-tokens", p.BudgetTokens, 1, maxTokens)
	within(fs, prefix+"budget-share", p.BudgetShare, 0, 1)
	within(fs, prefix+"recent-n", p.RecentN, 0, 1000)
	within(fs, prefix+"top-k", p.TopK, 0, 200)
	within(fs, prefix+"min-score", p.MinScore, 0, 1)
	within(fs, prefix+"recall-share", p.RecallShare, 0, 1)
	within(fs, prefix+"recall-floor", p.RecallFloor, 0, maxTokens)
	within(fs, prefix+"user-prior", p.UserPrior, 0, 10)
	within(fs, prefix+"step-limit", p.StepLimit, 1, 10_000)
	p.Facts.check(fs, prefix+"facts.")
	p.Summaries.check(fs, prefix+"summaries.")
	p.Extraction.check(fs, prefix+"extraction.")
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
	if !loopback(host) && !c.Insecure {
		fs.add(key, "%q can be reached from other machines, and without authentication %s: "+
			"listen on 127.0.0.1:%s, or set insecure to accept that", address, exposed(key), port)
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

type faults []*Fault

func (fs *faults) add(key, format string, args ...any) {
	*fs = append(*fs, &Fault{Key: key, Text: fmt.Sprintf(format, args...)})
}

// within adds a fault when the value is out of its limits; NaN is out of all.
func within[T cmp.Ordered](fs *faults, key string, value, least, most T) {
	if !(value >= least && value <= most) {
		fs.add(key, "%v is out of its limits: set it from %v to %v", value, least, most)
	}
}
