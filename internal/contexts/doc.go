// Package contexts is the map of the wing that makes the context of the next model call. It has no code of its own.
//
// A BuildContext meets its packages in this order:
//
//	contextprofile  named profiles, and what a call changes of one; settingschema says how a setting is described
//	                contextprofile/sessionguards reads a user's fences and where a session is masked
//	builder         gathers what is stored and found, and drives the packages below
//	compaction      pure: context policies; compactmodel asks the models that they name
//	template        pure: values in instructions
//	assembly        pure: what stands in the context within its budget
//	assembly/render pure: how it is written for OpenAI, Anthropic or as text
//	history         compacts, checks and counts histories that nobody stores
//	contentchecks   pure: rules for the words of messages
//
// The wing imports access, recall, learning, store, language and memory. Any wing may import contextprofile: a profile says
// what is learnt and how long it is kept, too. Begin with builder/context.go.
package contexts
