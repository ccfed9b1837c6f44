package telemetry

import "github.com/stratamem/strata/internal/contexts/compaction"

// HistoryShrunk counts what a context policy did to a history. The call is a name of the code.
func (r *Recorder) HistoryShrunk(call string, h compaction.Result) {
	if len(h.Effects) == 0 { // there is no policy
		return
	}
	r.historyTokens.WithLabelValues(call, "before").Add(float64(h.Before.Tokens))
	r.historyTokens.WithLabelValues(call, "after").Add(float64(h.After.Tokens))
	if h.Window > 0 {
		r.historyShare.WithLabelValues(call).Observe(h.Share(h.After.Tokens))
	}
	for _, e := range h.Effects {
		r.policyStages.WithLabelValues(call, string(e.Stage), stageOutcome(e)).Inc()
		if saved := e.Before.Tokens - e.After.Tokens; saved > 0 {
			r.policySaved.WithLabelValues(call, string(e.Stage)).Add(float64(saved))
		}
	}
}

// stageOutcome is what a stage did: idle where nothing triggered it, unchanged where it found nothing to do.
func stageOutcome(e compaction.Effect) string {
	switch {
	case e.Fallback != "":
		return "fallback"
	case e.Before != e.After:
		return "changed"
	case e.Triggered:
		return "unchanged"
	}
	return "idle"
}
