// Package sessions records turns, reads and changes sessions and users, and replaces the messages of a session.
//
// A turn meets the packages in this order:
//
//	sessions   Recorder decides everything before the one write that is acknowledged; Sessions, Users and Replacer
//	porter     exports a user as a file, imports one, merges one into a user who is there
//	portable   the format of that file, written and read
//
// The wing imports erasure, contexts, access, recall, learning, store, language and memory. Begin with record.go.
package sessions
