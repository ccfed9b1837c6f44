// Package licenses holds the licences and notices that are shipped with the program.
package licenses

import _ "embed" // of the text

// Text is what NOTICE says of the data inside the program, and the licences and notices of everything that is linked into
// it. tools/licenses writes it: make generate.
//
//go:embed THIRD_PARTY_NOTICES
var Text string
