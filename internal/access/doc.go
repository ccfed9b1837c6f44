// Package access is the map of the wing that says who may call, and how much. It has no code of its own.
//
// A call meets its packages in this order:
//
//	certificates  TLS from files that are followed when they change
//	auth          who calls: principals, verifiers, API keys, tokens of an issuer
//	quota         what tenants, users and keys may use: rates, budgets of models, numbers of messages
//	audit         who did what to whose memory: what an entry holds and where it goes
//	admin         keys, tenants and their limits, for administrators
//
// What a role may call is a table in internal/edge/grpcapi/access.go. The wing imports learning/llm, whose budgets quota
// keeps, store, language and memory. Begin with auth.
package access
