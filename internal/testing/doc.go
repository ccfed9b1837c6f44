// Package testing is the map of what only tests and measuring tools use. It has no code of its own; the linter keeps the
// product from importing it.
//
//	e2e              the server over a socket: a harness, and a package of tests for each theme: record, contexts, facts,
//	                 erasure, transfer, access, edge, faults
//	storetest        the conformance suite of stores; memview has views in memory, backend the addresses of real servers
//	llmtest          a model over HTTP that follows a script
//	conversations    made-up conversations, the same from the same seed
//	providerrules    the rules of providers for lists of messages
//	backendtest      a corner of the real servers, and proxies that break the way to them
//	hostilerequests  requests that nobody of good will sends
//	canceltest       contexts that end after so many looks
//	heaptest         whether a cache's count of its entries is what they take of the heap
//
// A test of one package stands beside it. A promise of the whole server stands in e2e, under the name of its theme. Begin
// with e2e/server.go and docs/contribute/testing.md.
package testing
