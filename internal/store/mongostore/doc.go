// Package mongostore keeps the primary store in a MongoDB database that any number of servers share.
//
// # What commits a write
//
// Only single documents are written atomically: the driver needs no transactions, no change streams and no replica set. Every
// write waits for the journal of a majority. A write that concerns several documents therefore has one commit point, the change
// of one document, and everything that follows from it can be derived from that document. A server that dies in between leaves
// work that the next reader completes before it reads; completing it twice, or late, must change nothing.
//
//	                  commit point                        what follows                       completed by
//
//	Append            insert turns/<session>/<n>   ──►    head in conversations              catchUp, newer
//	                  (unique keys: place, ids,
//	                  request)
//
//	ApplyFacts        users.applying = write,      ──►    facts, fact_revisions, forgotten,  appliedUser, which calls
//	                  users.fact_revision + 1             fact_vectors, quarantine, job     applyCommitted
//
//	PutSegment        search indexes.<user>: segments,   ──►    pending marks of turns cleared,    completedManifest
//	RetireSegments    Clearing, Retiring, epoch + 1       data of old segments deleted
//
//	PutNode           nodes.<key>                  ──►    Under of covered nodes, cursor,    the worker that still
//	                                                      job made final last               holds the job's work
//
//	SplitJob         jobs.<key> marked as split  ──►    the two halves inserted            readHalves
//
//	PutFactVectors    users.last_vector_no         ──►    vectors up to it count             readers skip higher numbers
//
//	EraseUser         insert erasures/<id>         ──►    users.ended, then the sessions'    PendingErasures, the same call
//	                                                      heads deleted, then the user       again, who needs the user's id
//	EraseSession      insert erasures/<id>         ──►    head deleted; jobs, summaries and  PendingErasures, the same call
//	                                                      weeks made of it                   again
//	EraseMessages     insert erasures/<id>, or     ──►    messages emptied; jobs replaced,   PendingErasures, the same call
//	                  with IfLastSeq a turn of            summaries made of them emptied     again, the next erasure of the
//	                  its own                                                                session
//
// # How each one stays right
//
// Append numbers by insert and not by a counter. It reads the session's end, plans the turns of all calls that wait (plan.go,
// without I/O), and inserts them in order. The key of a turn is its session and number, so two servers cannot store two turns in
// one place: the slower one is refused, reads what it lacks and plans again. Calls of one process wait in a queue per session
// (queue.go), so that servers compete and callers do not. After the insert the turn counts, whatever the head holds. Append
// writes the head before it returns; a reader that finds turns beyond the head adds them.
//
// ApplyFacts checks the decision against the user's fact_revision and puts the whole write into the user's document by
// compare-and-set. At most one write is there at a time: a reader or writer that finds one applies it first. Every step of
// applying changes only what is older than the write's revision, so a process that was held up for minutes cannot bring an older
// state back; it last deletes what a later write has forgotten meanwhile.
//
// The manifest in search indexes names the segments of a user's search index. Data of a segment is stored before the manifest names it and
// deleted after the manifest no longer does. Epoch orders the changes of pending marks: see manifestDoc.
//
// An erasure needs no reader's help, because it is acknowledged when all is done; what is left then is swept. What ends is
// found out by those who write, without asking first: Append by the write of the head that it makes anyway, which finds no such
// session (then it deletes its turn and begins anew), and writes by compare-and-set by their revision. Whoever inserts a document that
// hangs on a session or a user (OpenJob, PutNode, ChangeSummary, a session itself: see confirm) looks after the insert whether that
// lives, and deletes the document again if not: the erasure deletes the head before it deletes what hangs on it, so one of the two
// finds the other. A process that dies in between leaves a document that nobody sees; a call takes at most callTimeout, so the sweep
// that comes a minute later finds it. Of an erased message's summaries and corrections the same sweep takes away what came late.
//
// The user's document is deleted last and keeps the id till then, so that no message is acknowledged in the next life before the last
// one is in this. IfLastSeq holds because the erasure takes the place of the next turn: of it and an Append one is refused.
//
// Jobs are changed by compare-and-set on a counter in the job; what a change means is decided in package store (jobs.go), for
// every driver alike.
//
// # Where to read
//
// open.go has the types: one for each role of the contract, over a core with the collections. append.go, plan.go, head.go and
// queue.go are Append; applyfacts.go and committed.go are the writes of facts; searchindex.go and manifest.go the search index;
// journal.go the jobs; erase.go, erasemessages.go and erasemade.go the erasures. replicas_test.go and the tests named after these
// files stop a server between the two sides of the table and let another one go on.
package mongostore
