// Package store has the contracts between the service and its stores. MongoDB or one SQLite file is the truth; Milvus and
// Elasticsearch are views that can be made again from it. Each "must" has a subtest of the same name in
// internal/testing/storetest, which every driver runs.
//
// Every method takes the user it acts for, and must never read or write anything of another user or tenant. A method that
// finds no such user or session returns a memory.Error with USER_NOT_FOUND or SESSION_NOT_FOUND unless its comment promises
// something else. A store that cannot be reached returns STORE_UNAVAILABLE, never an empty result. Times are UTC to the
// microsecond.
//
// A write meets the packages in this order:
//
//	store           the contracts, their errors, and what several drivers decide
//	writeplan       what a write changes, decided before it is written; pure, the same for every driver
//	sqlitestore     the primary store in one file
//	mongostore      the primary store in MongoDB
//	milvusstore     the view of vectors; milvusindex has the indexes that Milvus can be asked for
//	elasticstore    the view of texts
//	openretry       opens a view whose server does not respond at the start
//	messagereader   reads messages for calls, and has large reads admitted first
//	workloop        the loop, the queue and the lease of background workers
//	storecopy       copies a primary store into another
//
// The wing imports language and memory. Drivers know nothing of each other; only internal/program/app names them. Begin
// with store.go, then docs/contribute/new-store.md.
package store
