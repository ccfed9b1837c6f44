package grpcapi

import (
	"encoding/json"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/stratamem/strata/internal/edge/grpcapi/requests"
	"github.com/stratamem/strata/internal/memory"
)

// statePatchFrom checks what is merged into a state. A patch names its notes in one way, so that their order means nothing.
func statePatchFrom(c *requests.Checker, field string, in *structpb.Struct) json.RawMessage {
	single := false
	for key := range in.GetFields() {
		if name, ok := strings.CutPrefix(key, memory.NotesKey+"/"); ok {
			single = true
			checkNoteName(c, field+"."+memory.NotesKey, name)
		}
	}
	if notes, ok := in.GetFields()[memory.NotesKey]; ok {
		checkNotes(c, field+"."+memory.NotesKey, notes)
		if single {
			c.Fault(field, "has %s and keys that begin with %s/; use one of the two", memory.NotesKey, memory.NotesKey)
		}
	}
	return c.Object(field, in, memory.MaxStateBytes)
}

func checkNotes(c *requests.Checker, field string, in *structpb.Value) {
	switch k := in.GetKind().(type) {
	case *structpb.Value_NullValue:
	case *structpb.Value_StructValue:
		for name := range k.StructValue.GetFields() {
			checkNoteName(c, field, name)
		}
	default:
		c.Fault(field, "is no object; write notes by their names, or null to delete all of them")
	}
}

func checkNoteName(c *requests.Checker, field, name string) {
	if name == "" || len(name) > requests.MaxID {
		c.Fault(field, "has a name of %d bytes; it must have 1 to %d", len(name), requests.MaxID)
	}
}
