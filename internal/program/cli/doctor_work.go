package cli

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/client"
	"github.com/stratamem/strata/internal/program/cli/remote"
	"github.com/stratamem/strata/internal/program/cli/terminal"
	"github.com/stratamem/strata/internal/program/config"
	"github.com/stratamem/strata/internal/program/telemetry"
)

// checkJobs looks for work that waits for a person.
func checkJobs(ctx context.Context, server *client.Client) finding {
	reply, err := server.Work.ListJobs(ctx, &memoryv1.ListJobsRequest{
		States: []memoryv1.JobState{memoryv1.JobState_JOB_STATE_PARKED}, PageSize: terminal.MaxJobs,
	})
	if err != nil {
		return warn("parked jobs cannot be listed: "+terminal.FaultText(err), "read the server's log")
	}
	if len(reply.GetJobs()) == 0 {
		return checkFailing(ctx, server)
	}
	j := reply.GetJobs()[0]
	count := fmt.Sprint(len(reply.GetJobs()))
	if reply.GetNextPageToken() != "" {
		count = "more than " + count
	}
	text := fmt.Sprintf(
		"%s; the latest: %s of %s %s: %s",
		count,
		remote.JobKindName(j),
		terminal.OneLine(j.GetSessionId()),
		remote.JobSpan(j),
		terminal.OneLine(j.GetReason()),
	)
	return warn(text, "mend the reason, then "+retryCommand(reply.GetJobs(), reply.GetNextPageToken() != ""))
}

// retryCommand returns how parked jobs are given a new try, the latest first; more says that there are others. What maintenance left is
// begun again by its own command.
func retryCommand(parked []*memoryv1.Job, more bool) string {
	j := parked[0]
	switch {
	case j.GetKind() == memoryv1.JobKind_JOB_KIND_REEMBED:
		return "run strata reembed again"
	case len(parked) > 1 || more:
		return "strata jobs retry --all; strata jobs list --state parked shows all"
	}
	return fmt.Sprintf("strata jobs retry %s %s", terminal.ShellWord(j.GetUserId()), j.GetJobId())
}

// checkFailing looks for jobs that failed and are tried again: what they wait for is known before they are parked.
func checkFailing(ctx context.Context, server *client.Client) finding {
	reply, err := server.Work.ListJobs(ctx, &memoryv1.ListJobsRequest{
		States: []memoryv1.JobState{memoryv1.JobState_JOB_STATE_OPEN}, PageSize: terminal.MaxJobs,
	})
	if err != nil {
		return warn("open jobs cannot be listed: "+terminal.FaultText(err), "read the server's log")
	}
	failing := slices.DeleteFunc(reply.GetJobs(), func(j *memoryv1.Job) bool { return j.GetReason() == "" })
	if len(failing) == 0 {
		return ok("none")
	}
	j := failing[0]
	return warn(
		fmt.Sprintf(
			"none parked; %d failed and are tried again, the latest: %s of %s %s: %s",
			len(failing),
			remote.JobKindName(j),
			terminal.OneLine(j.GetSessionId()),
			remote.JobSpan(j),
			terminal.OneLine(j.GetReason()),
		),
		"mend the reason; they are tried again by themselves, and strata jobs list shows when",
	)
}

// checkMetrics reads what the server measured since it started.
func checkMetrics(ctx context.Context, cfg config.Loaded) []finding {
	if cfg.MetricsListen == "" {
		return []finding{named("metrics", warn("they are off in the configuration here", "set metrics-listen, such as 127.0.0.1:9464"))}
	}
	all, err := fetchMetrics(ctx, cfg.MetricsListen)
	if err != nil {
		return []finding{named("metrics", warn(err.Error(), "name the one of the server, which it prints when it starts, with --metrics-listen, or turn it on there"))}
	}
	m := measured(all)
	return []finding{
		named("providers", m.providers()), named("background work", m.waiting()), named("quarantine", m.quarantine()),
		named("summaries", m.summaries()), named("models", m.models()), named("embedder", m.embedder()), named("degraded", m.degraded()),
	}
}

func fetchMetrics(ctx context.Context, address string) ([]telemetry.Sample, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/metrics", http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("ask %s for metrics: %w", address, err)
	}
	reply, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, fmt.Errorf("no metrics: %w", err)
	}
	defer reply.Body.Close() //nolint:errcheck // it was only read
	if reply.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answers %s", address, reply.Status)
	}
	return telemetry.Read(reply.Body)
}

// measured are the samples of one scrape.
type measured []telemetry.Sample

// by adds up a metric by one label, in the label's order, and leaves out zeros.
func (m measured) by(name, label string) (parts []part) {
	for _, s := range m {
		if s.Name != name || s.Value == 0 {
			continue
		}
		key := s.Labels[label]
		if i := slices.IndexFunc(parts, func(p part) bool { return p.name == key }); i >= 0 {
			parts[i].value += s.Value
		} else {
			parts = append(parts, part{key, s.Value})
		}
	}
	slices.SortFunc(parts, func(a, b part) int { return strings.Compare(a.name, b.name) })
	return parts
}

// part is a share of a metric.
type part struct {
	name  string
	value float64
}

// counts writes parts as name and number.
func counts(parts []part) string {
	words := make([]string, len(parts))
	for i, p := range parts {
		words[i] = fmt.Sprintf("%s %.0f", terminal.OneLine(p.name), p.value)
	}
	return strings.Join(words, ", ")
}

func total(parts []part) (sum float64) {
	for _, p := range parts {
		sum += p.value
	}
	return sum
}

// providers returns what summarises, extracts and embeds.
func (m measured) providers() finding {
	var words []string
	for _, s := range m {
		if s.Name == "strata_provider_info" {
			words = append(words, terminal.OneLine(s.Labels["purpose"])+" by "+terminal.OneLine(s.Labels["model"]))
		}
	}
	if len(words) == 0 {
		return warn("the server does not say what summarises, extracts and embeds", "install the same version on both sides")
	}
	slices.Sort(words)
	return ok("%s", strings.Join(words, ", "))
}

// longWait is how long work may wait before the doctor warns.
const longWait = 10 * time.Minute

// waiting returns how long the oldest work of each kind has waited.
func (m measured) waiting() finding {
	parts := m.by("strata_work_oldest_pending_seconds", "kind")
	if turns := total(m.by("strata_turns_pending_seconds", "")); turns > 0 {
		parts = append(parts, part{"sessions to look at", turns})
	}
	if len(parts) == 0 {
		return ok("nothing waits")
	}
	var words []string
	longest := time.Duration(0)
	for _, p := range parts {
		age := time.Duration(p.value * float64(time.Second)).Round(time.Second)
		words = append(words, fmt.Sprintf("%s %s", terminal.OneLine(p.name), age))
		longest = max(longest, age)
	}
	text := "waiting longest: " + strings.Join(words, ", ")
	if longest > longWait {
		return warn(text, "strata jobs list shows what waits and why; a slow model gets more done with more workers and chat-concurrency")
	}
	return ok("%s", text)
}

// quarantine returns what of the models' answers was refused.
func (m measured) quarantine() finding {
	parts := m.by("strata_quarantined_stored", "reason")
	if len(parts) == 0 {
		return ok("nothing was refused")
	}
	return ok("%.0f operations refused: %s; strata facts quarantine USER shows them", total(parts), counts(parts))
}

// summaries returns what of the summaries was refused or mended.
func (m measured) summaries() finding {
	refused, appended := m.by("strata_summary_refused_total", "reason"), total(m.by("strata_summary_anchors_appended_total", ""))
	text := "none refused"
	if len(refused) > 0 {
		text = fmt.Sprintf("%.0f refused: %s", total(refused), counts(refused))
	}
	return ok("%s; %.0f lost names, numbers, dates and decisions put back", text, appended)
}

// tooManyFailures is the share of failed calls above which the doctor warns.
const tooManyFailures = .1

// models returns what chat models were asked and what that took.
func (m measured) models() finding {
	calls, tokens := m.by("strata_model_calls_total", "operation"), m.by("strata_model_tokens_total", "direction")
	if len(calls) == 0 {
		return ok("not called yet")
	}
	failures := m.failures("strata_model_calls_total", "stop", "length")
	text := fmt.Sprintf("%.0f calls: %s; tokens: %s", total(calls), counts(calls), counts(tokens))
	return judged(
		text,
		total(calls),
		failures,
		"check chat-base-url, chat-api-key, summary-model and extraction-model; refused is a model that will not work on what it is given; "+
			"the log names each failure",
	)
}

// manyWaiting is how many texts may wait for a vector without a warning: what was said in the last seconds.
const manyWaiting = 20

// embedder returns what the embedder was asked, and what it has not been asked yet.
func (m measured) embedder() finding {
	calls := m.by("strata_embedding_calls_total", "model")
	waiting := m.by("strata_embedding_waiting", "of")
	text := "not called yet"
	if len(calls) > 0 {
		text = fmt.Sprintf("%.0f calls: %s; %.0f texts", total(calls), counts(calls), total(m.by("strata_embedding_texts_total", "model")))
	}
	if total(waiting) > manyWaiting {
		return warn(
			text+"; without a vector yet, and found by their words alone: "+counts(waiting),
			"look again in a minute: fewer must wait then; if not, the log says what the endpoint answers, and embedding-timeout how long it may take",
		)
	}
	if len(calls) == 0 {
		return ok("%s", text)
	}
	return judged(
		text,
		total(calls),
		m.failures("strata_embedding_calls_total", "ok"),
		"check embedding-base-url, embedding-api-key and embedding-model; the log names each failure",
	)
}

// failures are the outcomes of a metric that are not among the good ones.
func (m measured) failures(name string, good ...string) []part {
	return slices.DeleteFunc(m.by(name, "outcome"), func(p part) bool { return slices.Contains(good, p.name) })
}

// judged warns where too many calls failed.
func judged(text string, calls float64, failures []part, fix string) finding {
	if len(failures) == 0 {
		return ok("%s; none failed", text)
	}
	text += "; failed: " + counts(failures)
	if total(failures) > calls*tooManyFailures {
		return warn(text, fix)
	}
	return ok("%s", text)
}

// degraded returns which tiers could not do their part.
func (m measured) degraded() finding {
	parts := m.by("strata_degraded_total", "tier")
	if len(parts) == 0 {
		return ok("every reply was whole")
	}
	return warn("replies without a tier: "+counts(parts), "each of these replies says why in degraded; strata context --explain shows one")
}
