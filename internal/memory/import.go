package memory

// OnConflict says what an import does where the user, or a thing of the user with the same id, is there already. The zero value
// refuses it.
type OnConflict int

// The rules for an import.
const (
	ConflictSkipped     OnConflict = iota + 1 // what is there stays
	ConflictOverwritten                       // what is there is erased, and what comes takes its place
	ConflictRenamed                           // nothing is there: what comes gets new ids
)
