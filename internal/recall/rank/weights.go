package rank

// Kind says by which weights a message is ranked.
type Kind string

// The kinds. A message is of the kind person when its role is user, it has a name, and its session holds no assistant
// message; all else is assistant chat.
const (
	KindPerson        Kind = "person"
	KindAssistantChat Kind = "assistant_chat"
)

// SearchUserPrior is the Query.UserPrior of a search that does not ask for replies. Source: measured on BEAM-128K, where it
// lifts recall@10 by .05 with vectors and .03 without; with 1, recall of replies falls to a half and a third of that.
const SearchUserPrior = .5

// Weights are the weights of both kinds.
type Weights struct {
	Person        KindWeights
	AssistantChat KindWeights
}

// KindWeights says what a passage's field consists of: how much each source's terms count in it. A message's own words
// count 1. No weight may be negative; they are rounded to 1/65536, so that sums are exact in any order.
type KindWeights struct {
	K1 float64 // saturation of BM25
	B  float64 // length normalisation of BM25, 0 to 1

	Before         float64 // the message before, in the same session
	BeforeQuestion float64 // the message before, when it is a question by another speaker
	After          float64 // the message after
	TwoBefore      float64
	TwoAfter       float64
	Reply          float64 // the assistant's reply, on the user's message
	NeighbourWords int     // a longer neighbour is scaled down to this many words

	Name float64 // the speaker's name
	Date float64 // the day, as "8 May 2023" in UTC
	Fact float64 // the facts that were learnt from the message
	Near float64 // a word near to one of the query, times their cosine, wherever the query's own word would count

	// MentionsTime multiplies the score when the query asks when, and the message mentions a time. 1 turns it off.
	MentionsTime float64
	// InTime is how much of its score a message gains that was written in the time that the query names; one written
	// soon after it gains less. 0 turns it off.
	InTime float64
	// Named multiplies the score when the query names exactly one of the user's people, and the message is theirs.
	// 1 turns it off.
	Named float64
}

// DefaultWeights are the weights that were measured: for chats between people on LoCoMo (the window of one field,
// k1 1.2, b .5, factor 1.4 for the named speaker), for chats with an assistant on BEAM-128K (b 1, no window but the
// reply). One set for both loses half of the recall of the other. Facts were measured with the observations of LoCoMo's
// files, between people only: elsewhere they do not count here. Near words were measured on both: with an assistant,
// whose replies are long, they cost .02 of recall@10, and half as much of them made no clear difference. A time that the
// query names made no difference there, as each chat had few days; it counts all the same, so that "last week" means
// last week.
func DefaultWeights() Weights {
	return Weights{
		Person: KindWeights{
			K1: 1.2, B: .5,
			Before: .5, BeforeQuestion: 1, After: .3, TwoBefore: .5, TwoAfter: .3, NeighbourWords: 20,
			Name: 2, Date: 1, Fact: 1, Near: .5, MentionsTime: 1.2, InTime: .3, Named: 1.4,
		},
		AssistantChat: KindWeights{K1: 1.2, B: 1, Reply: .3, NeighbourWords: 20, MentionsTime: 1, InTime: .3, Named: 1},
	}
}
