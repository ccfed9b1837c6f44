package mongostore

import "go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

// The documents that a context reads many of, or waits for, are decoded without reflection, which took several times as long and as many
// allocations: see BenchmarkDecoding. As with the driver, a field that a document lacks stays as it is.
// TestDocumentsAreDecodedAsTheDriverDoes fails where one is forgotten.

// UnmarshalBSON implements bson.Unmarshaler.
func (d *userDoc) UnmarshalBSON(data []byte) error { return eachField(data, "a user", d.read) }

func (d *userDoc) read(name []byte, v bsoncore.Value) (ok bool) {
	switch string(name) {
	case "_id":
		return readText(v, &d.Scope)
	case "hash_key":
		return readText(v, &d.HashKey)
	case "tenant":
		return readText(v, &d.Tenant)
	case "user_id":
		return readText(v, &d.UserID)
	case "create_time":
		return readNumber(v, &d.CreateTime)
	case "update_time":
		return readNumber(v, &d.UpdateTime)
	case "timezone":
		return readText(v, &d.Timezone)
	case "language":
		return readText(v, &d.Language)
	case "extract":
		return readNumber(v, &d.Extract)
	case "revision":
		return readNumber(v, &d.Revision)
	case "state":
		return readText(v, &d.State)
	case "state_revision":
		return readNumber(v, &d.StateRevision)
	case "fact_revision":
		return readNumber(v, &d.FactRevision)
	case "applying":
		return readRaw(v, &d.Applying)
	case "last_vector_no":
		return readNumber(v, &d.LastVectorNo)
	case "periods_at":
		return readNumber(v, &d.PeriodsAt)
	case "importing":
		return readBool(v, &d.Importing)
	case "ended":
		return readText(v, &d.Ended)
	case "merge":
		return readOptional(v, &d.Merge, readMerge)
	case "feeds":
		return readDocument(v, &d.Feeds)
	}
	return true
}

// UnmarshalBSON implements bson.Unmarshaler.
func (d *userFeeds) UnmarshalBSON(data []byte) error {
	return eachField(data, "the checkpoints of a user", d.read)
}

func (d *userFeeds) read(name []byte, v bsoncore.Value) (ok bool) {
	switch string(name) {
	case "vectors":
		return readDocument(v, &d.Vectors)
	case "facts":
		return readDocument(v, &d.Facts)
	}
	return true
}

// UnmarshalBSON implements bson.Unmarshaler.
func (d *feedDoc) UnmarshalBSON(data []byte) error { return eachField(data, "a checkpoint", d.read) }

func (d *feedDoc) read(name []byte, v bsoncore.Value) (ok bool) {
	switch string(name) {
	case "at":
		return readNumber(v, &d.At)
	case "build":
		return readNumber(v, &d.Build)
	case "reset":
		return readNumber(v, &d.Reset)
	case "seq":
		return readNumber(v, &d.Seq)
	case "revision":
		return readNumber(v, &d.Revision)
	case "version":
		return readNumber(v, &d.Version)
	case "no":
		return readNumber(v, &d.No)
	}
	return true
}

// UnmarshalBSON implements bson.Unmarshaler.
func (d *sessionDoc) UnmarshalBSON(data []byte) error { return eachField(data, "a session", d.read) }

func (d *sessionDoc) read(name []byte, v bsoncore.Value) (ok bool) {
	switch string(name) {
	case "_id":
		return readText(v, &d.Key)
	case "scope":
		return readText(v, &d.Scope)
	case "hash_key":
		return readText(v, &d.HashKey)
	case "tenant":
		return readText(v, &d.Tenant)
	case "user_id":
		return readText(v, &d.UserID)
	case "session_id":
		return readText(v, &d.SessionID)
	case "title":
		return readText(v, &d.Title)
	case "metadata":
		return readText(v, &d.Metadata)
	case "profile":
		return readText(v, &d.Profile)
	case "extract":
		return readNumber(v, &d.Extract)
	case "context_start":
		return readNumber(v, &d.ContextStart)
	case "revision":
		return readNumber(v, &d.Revision)
	case "create_time":
		return readNumber(v, &d.CreateTime)
	case "update_time":
		return readNumber(v, &d.UpdateTime)
	case "last_message_time":
		return readNumber(v, &d.LastMessage)
	case "last_turn":
		return readNumber(v, &d.LastTurn)
	case "last_seq":
		return readNumber(v, &d.LastSeq)
	case "steps":
		return readNumber(v, &d.Steps)
	case "state":
		return readText(v, &d.State)
	case "state_revision":
		return readNumber(v, &d.StateRevision)
	case "look_at":
		return readNumber(v, &d.LookAt)
	case "covered_seq":
		return readNumber(v, &d.CoveredSeq)
	case "covered_time":
		return readNumber(v, &d.CoveredTime)
	case "feed":
		return readDocument(v, &d.Feed)
	case "unconfirmed":
		return readBool(v, &d.Unconfirmed)
	}
	return true
}

// UnmarshalBSON implements bson.Unmarshaler.
func (t *turnDoc) UnmarshalBSON(data []byte) error { return eachField(data, "a turn", t.read) }

func (t *turnDoc) read(name []byte, v bsoncore.Value) (ok bool) {
	switch string(name) {
	case "_id":
		return readText(v, &t.ID)
	case "scope":
		return readText(v, &t.Scope)
	case "session":
		return readText(v, &t.Session)
	case "turn":
		return readNumber(v, &t.Turn)
	case "first_seq":
		return readNumber(v, &t.FirstSeq)
	case "last_seq":
		return readNumber(v, &t.LastSeq)
	case "n":
		return readNumber(v, &t.N)
	case "recallable":
		return readNumber(v, &t.Recallable)
	case "record_time":
		return readNumber(v, &t.RecordTime)
	case "last_message_time":
		return readNumber(v, &t.LastMessage)
	case "pending":
		return readNumber(v, &t.Pending)
	case "request":
		return readBytes(v, &t.Request)
	case "request_digest":
		return readBytes(v, &t.RequestDigest)
	case "result":
		return readText(v, &t.Result)
	case "patch":
		return readText(v, &t.Patch)
	case "state":
		return readText(v, &t.State)
	case "state_revision":
		return readNumber(v, &t.StateRevision)
	case "steps":
		return readNumber(v, &t.Steps)
	case "tokens":
		return readNumber(v, &t.Tokens)
	case "bytes":
		return readNumber(v, &t.Bytes)
	case "ids":
		return readList(v, &t.IDs, readBytes)
	case "calls":
		return readList(v, &t.Calls, readBytes)
	case "messages":
		return readDocuments(v, &t.Messages)
	case "erased":
		return readNumber(v, &t.Erased)
	case "erasure":
		return readText(v, &t.Erasure)
	}
	return true
}

// UnmarshalBSON implements bson.Unmarshaler.
func (d *messageDoc) UnmarshalBSON(data []byte) error { return eachField(data, "a message", d.read) }

func (d *messageDoc) read(name []byte, v bsoncore.Value) (ok bool) {
	switch string(name) {
	case "id":
		return readText(v, &d.ID)
	case "body_hash":
		return readBytes(v, &d.BodyHash)
	case "seq":
		return readNumber(v, &d.Seq)
	case "role":
		return readNumber(v, &d.Role)
	case "origin":
		return readNumber(v, &d.Origin)
	case "extract":
		return readNumber(v, &d.Extract)
	case "pinned":
		return readBool(v, &d.Pinned)
	case "hidden":
		return readBool(v, &d.Hidden)
	case "deleted":
		return readBool(v, &d.Deleted)
	case "freed":
		return readBool(v, &d.Freed)
	case "first_hash":
		return readBytes(v, &d.FirstHash)
	case "create_time":
		return readNumber(v, &d.CreateTime)
	case "record_time":
		return readNumber(v, &d.RecordTime)
	case "o200k":
		return readNumber(v, &d.O200K)
	case "cl100k":
		return readNumber(v, &d.CL100K)
	case "name":
		return readText(v, &d.Name)
	case "text":
		return readText(v, &d.Text)
	case "parts":
		return readText(v, &d.Parts)
	case "tags":
		return readList(v, &d.Tags, readText[string])
	case "metadata":
		return readText(v, &d.Metadata)
	case "original":
		return readOptional(v, &d.Original, readOriginal)
	}
	return true
}

// UnmarshalBSON implements bson.Unmarshaler.
func (d *nodeDoc) UnmarshalBSON(data []byte) error { return eachField(data, "a summary", d.read) }

func (d *nodeDoc) read(name []byte, v bsoncore.Value) (ok bool) {
	switch string(name) {
	case "_id":
		return readText(v, &d.Key)
	case "scope":
		return readText(v, &d.Scope)
	case "id":
		return readText(v, &d.ID)
	case "kind":
		return readNumber(v, &d.Kind)
	case "leaf":
		return readBool(v, &d.Leaf)
	case "session":
		return readText(v, &d.Session)
	case "session_id":
		return readText(v, &d.SessionID)
	case "level":
		return readNumber(v, &d.Level)
	case "from":
		return readNumber(v, &d.From)
	case "to":
		return readNumber(v, &d.To)
	case "start":
		return readNumber(v, &d.Start)
	case "under":
		return readNumber(v, &d.Under)
	case "generation":
		return readNumber(v, &d.Generation)
	case "cumulative":
		return readBool(v, &d.Cumulative)
	case "previous":
		return readText(v, &d.Previous)
	case "children":
		return readList(v, &d.Children, readText[string])
	case "text":
		return readText(v, &d.Text)
	case "appended":
		return readNumber(v, &d.Appended)
	case "o200k":
		return readNumber(v, &d.O200K)
	case "cl100k":
		return readNumber(v, &d.CL100K)
	case "language":
		return readText(v, &d.Language)
	case "model":
		return readText(v, &d.Model)
	case "from_time":
		return readOptional(v, &d.FromTime, readNumber[int64])
	case "to_time":
		return readOptional(v, &d.ToTime, readNumber[int64])
	case "period":
		return readText(v, &d.Period)
	case "period_start":
		return readOptional(v, &d.PeriodStart, readNumber[int64])
	case "period_end":
		return readOptional(v, &d.PeriodEnd, readNumber[int64])
	case "create_time":
		return readNumber(v, &d.CreateTime)
	case "passed":
		return readDocuments(v, &d.Passed)
	case "rebuild":
		return readNumber(v, &d.Rebuild)
	}
	return true
}

// UnmarshalBSON implements bson.Unmarshaler.
func (m *manifestDoc) UnmarshalBSON(data []byte) error {
	return eachField(data, "a list of segments", m.read)
}

func (m *manifestDoc) read(name []byte, v bsoncore.Value) (ok bool) {
	switch string(name) {
	case "_id":
		return readText(v, &m.Scope)
	case "rev":
		return readNumber(v, &m.Rev)
	case "next_no":
		return readNumber(v, &m.NextNo)
	case "epoch":
		return readNumber(v, &m.Epoch)
	case "retiring":
		return readBool(v, &m.Retiring)
	case "clearing":
		return readList(v, &m.Clearing, readText[string])
	case "segments":
		return readDocuments(v, &m.Segments)
	case "last_no":
		return readNumber(v, &m.LastNo)
	case "feed":
		return readDocument(v, &m.Feed)
	}
	return true
}

// UnmarshalBSON implements bson.Unmarshaler.
func (d *segmentEntry) UnmarshalBSON(data []byte) error { return eachField(data, "a segment", d.read) }

func (d *segmentEntry) read(name []byte, v bsoncore.Value) (ok bool) {
	switch string(name) {
	case "no":
		return readNumber(v, &d.No)
	case "analyzer":
		return readText(v, &d.Analyzer)
	case "messages":
		return readNumber(v, &d.Messages)
	case "bytes":
		return readNumber(v, &d.Bytes)
	case "replaces":
		return readList(v, &d.Replaces, readNumber[int64])
	case "embedding":
		return readNumber(v, &d.Embedding)
	case "hash":
		return readBytes(v, &d.Hash)
	}
	return true
}

// UnmarshalBSON implements bson.Unmarshaler.
func (d *factDoc) UnmarshalBSON(data []byte) error { return eachField(data, "a fact", d.read) }

func (d *factDoc) read(name []byte, v bsoncore.Value) (ok bool) {
	switch string(name) {
	case "_id":
		return readText(v, &d.Key)
	case "scope":
		return readText(v, &d.Scope)
	case "id":
		return readText(v, &d.ID)
	case "sessions":
		return readList(v, &d.Sessions, readText[string])
	case "missing":
		return readList(v, &d.Missing, readNumber[int])
	case "purged":
		return readNumber(v, &d.KeptFrom)
	}
	return d.State.read(name, v)
}

// UnmarshalBSON implements bson.Unmarshaler.
func (d *factState) UnmarshalBSON(data []byte) error {
	return eachField(data, "the state of a fact", d.read)
}

func (d *factState) read(name []byte, v bsoncore.Value) (ok bool) {
	switch string(name) {
	case "change":
		return readNumber(v, &d.Change)
	case "revision":
		return readNumber(v, &d.Revision)
	case "text":
		return readText(v, &d.Text)
	case "category":
		return readNumber(v, &d.Category)
	case "tags":
		return readList(v, &d.Tags, readText[string])
	case "significance":
		return readNumber(v, &d.Significance)
	case "confidence":
		return readFraction(v, &d.Confidence)
	case "subject":
		return readText(v, &d.Subject)
	case "attribute":
		return readText(v, &d.Attribute)
	case "evidence":
		return readDocuments(v, &d.Evidence)
	case "valid_from":
		return readOptional(v, &d.ValidFrom, readNumber[int64])
	case "valid_to":
		return readOptional(v, &d.ValidTo, readNumber[int64])
	case "superseded_by":
		return readText(v, &d.SupersededBy)
	case "pinned":
		return readBool(v, &d.Pinned)
	case "origin":
		return readNumber(v, &d.Origin)
	case "protected":
		return readBool(v, &d.Protected)
	case "language":
		return readText(v, &d.Language)
	case "model":
		return readText(v, &d.Model)
	case "create_time":
		return readNumber(v, &d.CreateTime)
	case "update_time":
		return readNumber(v, &d.UpdateTime)
	case "last_used":
		return readOptional(v, &d.LastUsed, readNumber[int64])
	}
	return true
}

// UnmarshalBSON implements bson.Unmarshaler.
func (d *evidenceDoc) UnmarshalBSON(data []byte) error {
	return eachField(data, "the evidence of a fact", d.read)
}

func (d *evidenceDoc) read(name []byte, v bsoncore.Value) (ok bool) {
	switch string(name) {
	case "session":
		return readText(v, &d.Session)
	case "session_id":
		return readText(v, &d.SessionID)
	case "seq":
		return readNumber(v, &d.Seq)
	case "message_id":
		return readText(v, &d.MessageID)
	case "quote":
		return readText(v, &d.Quote)
	case "time":
		return readOptional(v, &d.Time, readNumber[int64])
	case "ends":
		return readBool(v, &d.Ends)
	}
	return true
}

func readMerge(v bsoncore.Value, to *mergeDoc) bool { return readDocument(v, to) }

func readOriginal(v bsoncore.Value, to *originalDoc) bool { return readDocument(v, to) }
