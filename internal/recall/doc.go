// Package recall finds a user's messages and facts, by words and by meaning: it keeps users' indexes and facts in memory, asks
// views and a reranker where there are some, and reads what it found again from the primary store under the caller's scope.
//
// A recorded message, and then a query, meet the packages in this order:
//
//	indexing       writes messages into the search index of their user, with vectors; gives facts theirs
//	viewfeed       feeds Milvus and Elasticsearch by the change feed, verifies and rebuilds them
//	embed          the contract of embedders; embed/static and embed/builtin need no network, embed/openai calls an endpoint
//	segment        pure: messages as terms and vectors, and the pieces of a search index that hold them
//	rank           pure: the index of a user's messages in memory, and its ranking: BM25F, vectors, times, fusion
//	factrank       pure: the same for facts
//	dot            inner products by the processor's vector instructions
//	rerank         asks a reranker's endpoint
//	documents      documents by namespace; documentquery decides filters and patterns
//
// The wing imports learning, store, language and memory, and profiles from contexts/contextprofile. What writes an index
// and what reads it meet in the store. Begin with search.go.
package recall
