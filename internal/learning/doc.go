// Package learning is the map of the wing that turns recorded messages into facts and summaries. It has no code of its own.
//
// A recorded turn meets its packages in this order:
//
//	jobrunner         finds what waits, fixes the range of a job, asks the model, stores the answer, applies it
//	extract           pure: the prompt, the check of each proposed operation, what becomes of the user's facts
//	factclassifier    pure: whether a statement is an order, or holds for the moment only
//	summary           pure: when and what to summarise, whether an answer may stand, which summaries contexts use
//	summary/standing  reads which summaries may be shown
//	llm               the contract of chat models; llm/openai calls them, llm/builtin needs none
//	facts, summaries  how people read and change facts and summaries
//	work              how far background work has come, its jobs, and maintenance
//	userlocks         lets people's changes of one user through one after the other
//
// The wing imports store, language and memory, and profiles from contexts/contextprofile. Begin with jobrunner/session.go
// for the work, with extract/decide.go for decisions.
package learning
