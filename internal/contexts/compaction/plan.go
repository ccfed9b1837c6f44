package compaction

import "context"

// Plan is what a policy makes of a history as far as no model has to be asked. It never changes, so it may be used
// concurrently if its counter may.
type Plan struct {
	ready *run // hidden, mended and cleared
}

func newPlan(ctx context.Context, h History, p Policy) (*Plan, error) {
	r := newRun(ctx, h, p)
	if err := stopped(ctx); err != nil {
		return nil, err
	}
	r.items.nameCalls(r.ended)
	var tied map[int]bool
	if p.Hide.StartSeq > 0 || p.Hide.StartID != "" || len(p.Hide.Exclude) > 0 {
		r.do(StageHide, func(e *Effect) { tied = r.hide(e) })
	}
	r.mend(tied)
	if p.Clear.Enabled {
		r.do(StageClear, func(e *Effect) { r.clear(e) })
	}
	return &Plan{ready: r}, stopped(ctx)
}

// Run asks the model and completes the result. It asks one thing after the other, since a question may depend on the answer
// before. Equal answers give equal requests and results. The only errors are a memory.Error of reason BUDGET_TOO_SMALL,
// when what must stay takes more than the limit of Trim, and that of ctx, once it has ended.
func (p *Plan) Run(ctx context.Context, ask func(Request) Answer) (Result, error) {
	return p.ready.clone().finish(ctx, ask)
}

// placeholder stands for the words of a summary where only its place is of interest.
const placeholder = "…"

// Trial returns the result that the plan comes to when every summary is a placeholder: no model is asked. Its Effects say which
// stages are due, and its Omitted which messages the strategy takes.
func (p *Plan) Trial(ctx context.Context) (Result, error) {
	r := p.ready.clone()
	if !r.policy.Compress.Strategy.IsCustom() {
		r.policy.Compress.Prompt = placeholder // answers to an own prompt are not checked
	}
	return r.finish(ctx, func(Request) Answer { return Answer{Text: placeholder} })
}

// WithTrim returns the plan with another limit for what it keeps. It returns a memory.Error where the limit is a share of a
// window that is not known. Trimming comes last: nothing that was decided depends on the limit.
func (p *Plan) WithTrim(t Trim) (*Plan, error) {
	r := p.ready.clone()
	r.policy.Trim = t
	return &Plan{ready: r}, r.policy.CheckWindow("policy", r.history.Window)
}

// finish does what is left after a plan.
func (r *run) finish(ctx context.Context, ask func(Request) Answer) (Result, error) {
	r.within(ctx)
	if r.policy.Compresses() {
		r.do(StageCompress, func(e *Effect) { r.compress(ctx, ask, e) })
	}
	if err := stopped(ctx); err != nil {
		return Result{}, err
	}
	if r.policy.Clear.Enabled && len(r.written) > 0 {
		r.clearAgain()
	}
	if r.policy.Trims() {
		var err error
		if r.do(StageTrim, func(e *Effect) { err = r.trim(ctx, e) }); err != nil {
			return Result{}, err
		}
	}
	if err := stopped(ctx); err != nil {
		return Result{}, err
	}
	return r.result(), nil
}

// clearAgain clears what a summary's own length makes due, so that a second run finds nothing to do.
func (r *run) clearAgain() {
	n := len(r.cleared)
	r.do(StageClear, func(e *Effect) { r.clear(e) })
	if len(r.cleared) == n {
		r.effects = r.effects[:len(r.effects)-1]
	}
}
