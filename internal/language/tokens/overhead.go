package tokens

// What a provider adds to the words, in tokens.
const (
	// MessageOverhead wraps a message: three tokens, and a fourth for models before gpt-4o, by the OpenAI cookbook's
	// "How to count tokens with tiktoken". Anthropic publishes no figure; the same is taken.
	MessageOverhead = 4
	// NameOverhead goes with a message's name, by the same page.
	NameOverhead = 1
	// CallOverhead wraps a tool call beside its name and arguments. No provider publishes it; it is an upper estimate
	// for the call's marks and id.
	CallOverhead = 8
)
