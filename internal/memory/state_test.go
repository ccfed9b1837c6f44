package memory

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestMergeState(t *testing.T) {
	at := Change{Revision: 7, Time: time.Date(2026, 11, 21, 9, 30, 0, 0, time.UTC)}
	const stamp = `,"revision":7,"time":"2026-11-21T09:30:00Z"}`
	const old = `{"value":"a","revision":3,"time":"2026-01-01T00:00:00Z"}`
	for name, c := range map[string]struct{ state, patch, want string }{
		"a patch sets keys":                              {`{"a":1}`, `{"b":2}`, `{"a":1,"b":2}`},
		"null deletes a key":                             {`{"a":1,"b":2}`, `{"a":null}`, `{"b":2}`},
		"values are replaced, not merged":                {`{"a":{"x":1}}`, `{"a":{"y":1}}`, `{"a":{"y":1}}`},
		"nothing left is no state":                       {`{"a":1}`, `{"a":null}`, ``},
		"a note is stamped":                              {``, `{"notes":{"plan":"a"}}`, `{"notes":{"plan":{"value":"a"` + stamp + `}}`},
		"a note may be any JSON":                         {``, `{"notes":{"plan":[1,{"a":2}]}}`, `{"notes":{"plan":{"value":[1,{"a":2}]` + stamp + `}}`},
		"notes are merged one by one":                    {`{"notes":{"old":` + old + `}}`, `{"notes":{"plan":"b"}}`, `{"notes":{"old":` + old + `,"plan":{"value":"b"` + stamp + `}}`},
		"a path names one note":                          {`{"notes":{"old":` + old + `}}`, `{"notes/plan":"b"}`, `{"notes":{"old":` + old + `,"plan":{"value":"b"` + stamp + `}}`},
		"a note that says the same keeps its stamp":      {`{"notes":{"old":` + old + `}}`, `{"notes":{"old":"a"}}`, `{"notes":{"old":` + old + `}}`},
		"a note as it was read is the same note":         {`{"notes":{"old":` + old + `}}`, `{"notes":{"old":{"revision":9,"time":"2026-02-02T00:00:00Z","value":"a"}}}`, `{"notes":{"old":` + old + `}}`},
		"a note that says something else is stamped":     {`{"notes":{"old":` + old + `}}`, `{"notes":{"old":"b"}}`, `{"notes":{"old":{"value":"b"` + stamp + `}}`},
		"null deletes a note":                            {`{"a":1,"notes":{"old":` + old + `}}`, `{"notes":{"old":null}}`, `{"a":1}`},
		"null deletes a note by its path":                {`{"notes":{"old":` + old + `}}`, `{"notes/old":null}`, ``},
		"null deletes all notes":                         {`{"a":1,"notes":{"old":` + old + `}}`, `{"notes":null}`, `{"a":1}`},
		"an empty patch of notes changes none":           {`{"notes":{"old":` + old + `}}`, `{"notes":{}}`, `{"notes":{"old":` + old + `}}`},
		"what is no object of notes is any other value":  {``, `{"notes":"free text"}`, `{"notes":"free text"}`},
		"notes take the place of what was none":          {`{"notes":"free text"}`, `{"notes/plan":"b"}`, `{"notes":{"plan":{"value":"b"` + stamp + `}}`},
		"an object with other members is a plain value":  {``, `{"notes":{"n":{"value":1,"revision":2,"x":3}}}`, `{"notes":{"n":{"value":{"value":1,"revision":2,"x":3}` + stamp + `}}`},
		"a patch of nothing changes nothing":             {`{"a":1}`, ``, `{"a":1}`},
		"angle brackets stay as they are":                {``, `{"notes":{"a":"<b>"}}`, `{"notes":{"a":{"value":"<b>"` + stamp + `}}`},
		"a slash without a name is a key like any other": {``, `{"notes/":1}`, `{"notes/":1}`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := MergeState(json.RawMessage(c.state), json.RawMessage(c.patch), at)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, string(got)); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
	t.Run("a state that outgrows its limit is refused", func(t *testing.T) {
		_, err := MergeState(nil, json.RawMessage(`{"a":"`+strings.Repeat("x", MaxStateBytes)+`"}`), at)
		if ReasonOf(err) != ReasonFieldInvalid {
			t.Errorf("error %v", err)
		}
	})
}

func TestSplitNotes(t *testing.T) {
	state := json.RawMessage(`{"goal":"x","notes":{"b":{"value":2,"revision":3,"time":"2026-01-01T00:00:00Z"},"a":"bare"}}`)
	rest, notes := SplitNotes(state)
	want := []Note{
		{Name: "a", Value: json.RawMessage(`"bare"`)},
		{Name: "b", Value: json.RawMessage(`2`), Revision: 3, Time: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)},
	}
	if d := cmp.Diff(want, notes); d != "" || string(rest) != `{"goal":"x"}` {
		t.Errorf("rest %s, notes (-want +got):\n%s", rest, d)
	}
	if got := string(PlainState(state)); got != `{"goal":"x","notes":{"a":"bare","b":2}}` {
		t.Errorf("the plain state is %s", got)
	}
	for name, state := range map[string]string{"a state without notes": `{"a":1}`, "what is no object of notes": `{"notes":[1]}`, "no state": ``} {
		t.Run(name+" is left as it is", func(t *testing.T) {
			rest, notes := SplitNotes(json.RawMessage(state))
			if string(rest) != state || len(notes) > 0 || string(PlainState(json.RawMessage(state))) != state {
				t.Errorf("rest %s, notes %v", rest, notes)
			}
		})
	}
}

func TestPatchingTwiceChangesNothing(t *testing.T) {
	value := rapid.SampledFrom([]string{`1`, `"x"`, `{"a":null}`, `null`, `[]`, `{"value":1,"revision":2,"time":"2026-01-01T00:00:00Z"}`, `{}`})
	object := rapid.Custom(func(t *rapid.T) json.RawMessage {
		all := map[string]json.RawMessage{}
		// Callers send one or the other
		keys := rapid.SampledFrom([][]string{{"a", "b", "notes"}, {"a", "notes/x", "notes/y"}}).Draw(t, "kind")
		for _, key := range rapid.SliceOfN(rapid.SampledFrom(keys), 0, 4).Draw(t, "keys") {
			all[key] = json.RawMessage(value.Draw(t, "value"))
		}
		out, err := EncodeJSON(all)
		if err != nil {
			t.Fatal(err)
		}
		return out
	})
	rapid.Check(t, func(t *rapid.T) {
		state, err := MergeState(nil, object.Draw(t, "state"), Change{Revision: 1, Time: time.Unix(1, 0).UTC()})
		if err != nil {
			t.Fatal(err)
		}
		patch := object.Draw(t, "patch")
		once, err := MergeState(state, patch, Change{Revision: 2, Time: time.Unix(2, 0).UTC()})
		if err != nil {
			t.Fatal(err)
		}
		twice, err := MergeState(once, patch, Change{Revision: 3, Time: time.Unix(3, 0).UTC()})
		if err != nil {
			t.Fatal(err)
		}
		if string(once) != string(twice) {
			t.Fatalf("once %s\ntwice %s", once, twice)
		}
	})
}
