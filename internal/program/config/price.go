package config

import (
	"cmp"
	"maps"
	"slices"
)

// Price is what a model costs.
type Price struct {
	Input  float64 `name:"input" default:"0" help:"The price of a million tokens that the model reads, 0 to 1e6."`
	Output float64 `name:"output" default:"0" help:"The price of a million tokens that the model writes, 0 to 1e6."`
}

// Price returns the price of the longest name that the model's begins with, as Window does.
func (c Config) Price(model string) (Price, bool) {
	for _, name := range spellings(model) {
		if p, ok := longestPrefix(c.Prices, name); ok {
			return p, true
		}
	}
	return Price{}, false
}

// Unpriced are the models of endpoints that have no price: no limit on costs can hold them.
func (c Config) Unpriced() []string { return c.UnpricedWith(c.SummaryModel, c.ExtractionModel) }

// UnpricedWith is Unpriced where these chat models, "" for none, are asked in place of the server's.
func (c Config) UnpricedWith(chat ...string) []string {
	var all []string
	for _, model := range chat {
		if _, ok := c.Price(model); model != "" && !ok {
			all = append(all, model)
		}
	}
	if _, ok := c.Price(c.EmbeddingModel); c.EmbeddingBaseURL != "" && !ok {
		all = append(all, c.EmbeddingModel)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// mostOfLimit is the largest value of a limit.
const mostOfLimit = 1e12

func (c Config) checkLimits(fs *faults) {
	for _, f := range []struct {
		name  string
		value float64
	}{
		{"tenant-requests-per-second", c.TenantRequests},
		{"user-requests-per-second", c.UserRequests},
		{"key-requests-per-second", c.KeyRequests},
		{"tenant-model-tokens-per-day", float64(c.TenantTokens)},
		{"tenant-cost-per-day", c.TenantDayCost},
		{"tenant-cost-per-month", c.TenantMonthCost},
		{"tenant-messages", float64(c.TenantMessages)},
		{"user-messages", float64(c.UserMessages)},
	} {
		within(fs, f.name, f.value, 0, mostOfLimit)
	}
	within(fs, "tenant-bytes-per-second", c.TenantBytes, 0, 900<<30)
	within(fs, "user-bytes-per-second", c.UserBytes, 0, 900<<30)
	within(fs, "key-bytes-per-second", c.KeyBytes, 0, 900<<30)
	for _, name := range slices.Sorted(maps.Keys(c.Prices)) {
		within(fs, "prices."+name+".input", c.Prices[name].Input, 0, 1e6)
		within(fs, "prices."+name+".output", c.Prices[name].Output, 0, 1e6)
	}
	if unpriced := c.Unpriced(); len(unpriced) > 0 && cmp.Or(c.TenantDayCost, c.TenantMonthCost) > 0 {
		fs.add("prices", "%s has no price, so that no limit on costs can hold it: set prices.%s", unpriced[0], unpriced[0])
	}
}
