package history

// Plan is what a policy makes of a history, with what is still to be asked of a model. It never changes.
type Plan struct {
	history History
	policy  Policy
}

func newPlan(h History, p Policy) *Plan {
	return &Plan{history: h, policy: p}
}

// Next answers what to ask a model after those answers, which are of the requests before, in order; false when there
// is nothing more to ask. Equal answers give equal requests.
func (p *Plan) Next(answers []Answer) (Request, bool) {
	return Request{}, false
}

// Finish takes the answers of all requests, in order, to the result. The only error is a memory.Error of reason
// BUDGET_TOO_SMALL: what must stay takes more than the limit of Trim.
func (p *Plan) Finish(answers []Answer) (Result, error) {
	return Result{}, nil
}
