package memory

// View names something that is derived from the primary store outside of it, and can be made again from it at any time.
type View int

// The views.
const (
	ViewVectors        View = iota + 1 // the facts' vectors, in Milvus
	ViewFacts                          // the facts' words, in Elasticsearch
	ViewTranscript                     // the messages' words, in Elasticsearch
	ViewMessageVectors                 // the messages' vectors, in Milvus
)

// Views are all views there can be.
func Views() []View { return []View{ViewVectors, ViewFacts, ViewTranscript, ViewMessageVectors} }

// String returns the view's name.
func (v View) String() string {
	switch v {
	case ViewVectors:
		return "vectors"
	case ViewFacts:
		return "facts"
	case ViewTranscript:
		return "transcript"
	case ViewMessageVectors:
		return "turns"
	}
	return "unknown"
}
