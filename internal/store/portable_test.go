package store_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

func TestEqualDataHasOneForm(t *testing.T) {
	job := memory.Job{Answer: []byte{}}
	cases := map[string][2]store.Record{
		"a session": {
			{Session: &store.SessionRecord{Session: memory.Session{Metadata: json.RawMessage{}, State: json.RawMessage{}}}},
			{Session: &store.SessionRecord{}},
		},
		"a turn": {
			{Turn: &store.TurnRecord{
				RequestHash: []byte{}, RequestDigest: []byte{}, Result: json.RawMessage{}, StatePatch: json.RawMessage{},
				Messages: []store.MessageRecord{{BodyHash: []byte{}, Message: memory.Message{
					Parts: []memory.Part{}, Tags: []string{}, Metadata: json.RawMessage{}, Original: &memory.Original{Data: []byte{}},
				}}},
			}},
			{Turn: &store.TurnRecord{Messages: []store.MessageRecord{{Message: memory.Message{Original: &memory.Original{}}}}}},
		},
		"a turn without messages": {{Turn: &store.TurnRecord{Messages: []store.MessageRecord{}}}, {Turn: &store.TurnRecord{}}},
		"a node":                  {{Node: &memory.SummaryNode{Children: []string{}}}, {Node: &memory.SummaryNode{}}},
		"a fact": {
			{Fact: &store.FactRecord{
				Fact:      memory.Fact{Tags: []string{}, Evidence: []memory.Evidence{}},
				Revisions: []memory.FactRevision{{Fact: memory.Fact{Tags: []string{}, Evidence: []memory.Evidence{}}}},
				Vectors:   []store.VersionedVector{{Vector: []float32{}}},
			}},
			{Fact: &store.FactRecord{Revisions: []memory.FactRevision{{}}, Vectors: []store.VersionedVector{{}}}},
		},
		"a job, whose empty answer is one": {{Job: &job}, {Job: &memory.Job{Answer: []byte{}}}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c[1], store.Canonical(c[0])); diff != "" {
				t.Errorf("differs (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCanonicalLeavesWhatItIsGivenAlone(t *testing.T) {
	given := store.Record{Turn: &store.TurnRecord{Messages: []store.MessageRecord{{Message: memory.Message{Tags: []string{}}}}}}
	store.Canonical(given)
	if given.Turn.Messages[0].Tags == nil {
		t.Error("the tags were changed in place")
	}
}
