package llm

import "context"

type payerKey struct{}

// Payer is the tenant whose budget model calls are of.
type Payer struct {
	Tenant  string
	Limited bool // whether calls are refused once the budget is used up
}

// ForTenant returns a context whose model calls are paid by the tenant: they are refused once its budget is used up.
func ForTenant(ctx context.Context, tenant string) context.Context {
	return context.WithValue(ctx, payerKey{}, Payer{tenant, true})
}

// ChargedTo returns a context whose model calls are paid by the tenant, whether or not its budget is used up.
func ChargedTo(ctx context.Context, tenant string) context.Context {
	return context.WithValue(ctx, payerKey{}, Payer{tenant, false})
}

// PayerOf returns who pays for model calls made with ctx; false for nobody.
func PayerOf(ctx context.Context) (Payer, bool) {
	p, ok := ctx.Value(payerKey{}).(Payer)
	return p, ok
}
