// Package memory has the nouns of a conversation memory: users, sessions, turns, messages, facts and summaries, and the one
// error type whose text may reach a caller. All wings import it. It imports the standard library alone.
//
// The folders below it hold what every wing needs and no wing owns:
//
//	toolcalls       pairs tool calls with their results, and says where a conversation may be cut
//	safegroup       runs goroutines whose panics end as errors
//	retry           says how long to wait before a retry, and when to stop
//	backendlatency  measures how long a call waited for other servers
//	replytime       keeps enough of a call's time for its reply
//	secret          holds values that never print themselves
//
// They import the standard library and this wing. Begin with message.go and error.go.
package memory
