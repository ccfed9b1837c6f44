// Package near knows which English words mean about the same, so that a question for a "physician" meets a "doctor".
package near

// Word is a word that is near to another.
type Word struct {
	Term   string  // of text.Terms
	Cosine float32 // of both words' vectors, above 0 to 1
}
