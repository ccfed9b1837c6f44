// Package language is the map of the wing that knows languages and texts. It has no code of its own.
//
// A text meets its packages in this order:
//
//	languagedata     the word lists of each language, a folder for each; letters, numerals and particles
//	lazyregexp       regular expressions that are compiled at their first use
//	text             the terms, sentences and passages of a text
//	text/when        the times that words name
//	text/synonyms    English words that mean about the same
//	tokens           counts the tokens of texts and messages
//	prompttags       the tags around what the service writes into a prompt; recognises them in messages
//	secretscan       finds keys, passwords and card numbers
//	promptinjection  tells statements about a person from orders, wishes and small talk
//
// All of it is pure: no I/O, no clock, no randomness. The wing imports memory alone. Rules about facts and summaries that
// know a language still stand in learning. Begin with languagedata/lists.go and docs/contribute/new-language.md.
package language
