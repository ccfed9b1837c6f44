package memory

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// MaxStateBytes is the most that the state of a session or user may take as JSON.
const MaxStateBytes = 64 << 10

// NotesKey is the key of a state that holds notes by their names. A patch may also name a single note: NotesKey, a slash
// and the note's name.
const NotesKey = "notes"

// Change is one change of a state.
type Change struct {
	Revision int64     // of the state: the turn's number in a session
	Time     time.Time // in UTC, to the microsecond
}

// Note is an entry under NotesKey.
type Note struct {
	Name     string
	Value    json.RawMessage // any JSON but null
	Revision int64           // of the change that wrote it; 0 when it is not known
	Time     time.Time       // of that change; zero when it is not known
}

// stampedNote is a note as a state holds it.
type stampedNote struct {
	Value    json.RawMessage `json:"value"`
	Revision int64           `json:"revision"`
	Time     time.Time       `json:"time"`
}

// MergeState merges a patch into a state key by key, not deeply; null deletes a key. Both are JSON objects or nil. Notes
// are merged one by one in the same way, and those that the patch changes get the revision and the time of the change.
// Where the patch holds a note as a state does, with revision and time, its value counts. The result is compact with sorted
// keys, nil when empty. A state that outgrows MaxStateBytes is refused.
func MergeState(state, patch json.RawMessage, c Change) (json.RawMessage, error) {
	merged, err := members(state)
	if err != nil {
		return nil, err
	}
	changes, err := members(patch)
	if err != nil {
		return nil, err
	}
	for _, key := range slices.Sorted(maps.Keys(changes)) {
		if names := noteNames(key, changes[key]); names != nil {
			merged[NotesKey] = mergeNotes(merged[NotesKey], names, c)
			continue
		}
		merged[key] = changes[key]
	}
	return encodeState(merged)
}

func members(object json.RawMessage) (map[string]json.RawMessage, error) {
	out := map[string]json.RawMessage{}
	if isNull(object) {
		return out, nil
	}
	if err := json.Unmarshal(object, &out); err != nil {
		return nil, fmt.Errorf("merge state: %w", err)
	}
	return out, nil
}

func encodeState(merged map[string]json.RawMessage) (json.RawMessage, error) {
	maps.DeleteFunc(merged, func(_ string, v json.RawMessage) bool { return isNull(v) })
	if len(merged) == 0 {
		return nil, nil
	}
	out, err := EncodeJSON(merged)
	if err != nil {
		return nil, fmt.Errorf("encode state: %w", err)
	}
	if len(out) > MaxStateBytes {
		return nil, InvalidField(
			"state_patch",
			"the state would take %d bytes as JSON; the limit is %d: delete keys with null",
			len(out),
			MaxStateBytes,
		)
	}
	return out, nil
}

// isNull reports null; nothing is null too.
func isNull(v json.RawMessage) bool { return len(v) == 0 || bytes.Equal(v, []byte("null")) }

// noteNames are the notes that a member of a patch changes, nil when it changes none: then it is like any other.
func noteNames(key string, value json.RawMessage) map[string]json.RawMessage {
	if name, ok := strings.CutPrefix(key, NotesKey+"/"); ok && name != "" {
		return map[string]json.RawMessage{name: value}
	}
	if key != NotesKey {
		return nil
	}
	if notes, err := members(value); err == nil && !isNull(value) {
		return notes
	}
	return nil
}

// mergeNotes is the notes of a state with some changed; nil when none is left.
func mergeNotes(notes json.RawMessage, changes map[string]json.RawMessage, c Change) json.RawMessage {
	merged, err := members(notes)
	if err != nil {
		merged = map[string]json.RawMessage{}
	}
	for name, value := range changes {
		value, was := noteOf(name, value).Value, noteOf(name, merged[name])
		switch {
		case isNull(value):
			delete(merged, name)
		case !bytes.Equal(value, was.Value):
			merged[name], _ = EncodeJSON(stampedNote{value, c.Revision, c.Time}) // JSON, a number and a time always encode
		}
	}
	if len(merged) == 0 {
		return nil
	}
	out, _ := EncodeJSON(merged) // what was decoded encodes
	return out
}

// noteOf reads a note as a state holds it, or a bare value.
func noteOf(name string, raw json.RawMessage) Note {
	if object, err := members(raw); err == nil && len(object) == 3 {
		d := json.NewDecoder(bytes.NewReader(raw))
		d.DisallowUnknownFields()
		var s stampedNote
		if d.Decode(&s) == nil {
			return Note{name, s.Value, s.Revision, s.Time}
		}
	}
	return Note{Name: name, Value: raw}
}

// SplitNotes is a state without its notes, nil when nothing else is in it, and its notes by name. What stands under
// NotesKey without being notes stays in the state.
func SplitNotes(state json.RawMessage) (rest json.RawMessage, notes []Note) {
	all, err := members(state)
	if err != nil || isNull(all[NotesKey]) {
		return state, nil
	}
	held, err := members(all[NotesKey])
	if err != nil {
		return state, nil
	}
	for _, name := range slices.Sorted(maps.Keys(held)) {
		if note := noteOf(name, held[name]); !isNull(note.Value) {
			notes = append(notes, note)
		}
	}
	delete(all, NotesKey)
	if len(all) == 0 {
		return nil, notes
	}
	rest, _ = EncodeJSON(all) // what was decoded encodes
	return rest, notes
}

// PlainState is a state with the bare values of its notes, without revisions and times.
func PlainState(state json.RawMessage) json.RawMessage {
	rest, notes := SplitNotes(state)
	if len(notes) == 0 {
		return state
	}
	all, _ := members(rest) // what was encoded decodes
	values := map[string]json.RawMessage{}
	for _, n := range notes {
		values[n.Name] = n.Value
	}
	all[NotesKey], _ = EncodeJSON(values)
	out, _ := EncodeJSON(all)
	return out
}

// Member returns what a decoded JSON value has under a name: a member of an object, or the item of an array at an index; nil for
// nothing.
func Member(v any, name string) any {
	switch v := v.(type) {
	case map[string]any:
		return v[name]
	case []any:
		if i, err := strconv.Atoi(name); err == nil && i >= 0 && i < len(v) {
			return v[i]
		}
	}
	return nil
}

// EncodeJSON encodes v compactly with sorted keys, and leaves <, > and & as they are: the JSON is counted and shown to
// models, not to browsers.
func EncodeJSON(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
