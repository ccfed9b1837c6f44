package importing

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestImportDerivesTheSameIDsFromTheSamePlaces(t *testing.T) {
	line := []byte(`{"user_id":"ada","session_id":"s","messages":[{"role":"user","text":"yes"},{"role":"user","text":"yes"},{"id":"mine","role":"user","text":"yes"}]}`)
	ids := func(im *importer) (all []string) {
		requests, err := im.requests(line)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range requests.requests {
			all = append(all, r.GetRequestId())
			for _, m := range r.GetMessages() {
				all = append(all, m.GetId())
			}
		}
		return all
	}
	fresh := func() *importer { im := newImporter(); return &im }
	once := fresh()
	first, later := ids(once), ids(once)
	if diff := cmp.Diff(first, ids(fresh())); diff != "" {
		t.Errorf("a second import has other ids: %s", diff)
	}
	if first[1] == first[2] || first[1] == later[1] || first[0] == later[0] {
		t.Errorf("two places share an id: %v, %v", first, later)
	}
	if first[3] != "mine" {
		t.Errorf("the id of the file was not kept: %v", first)
	}
}

func TestImportKeepsCallsWithinTheLimitsOfRecord(t *testing.T) {
	var line strings.Builder
	line.WriteString(`{"user_id":"ada","session_id":"s","state":{"k":1},"messages":[`)
	for i := range 2500 {
		if i > 0 {
			line.WriteString(",")
		}
		fmt.Fprintf(&line, `{"role":"user","text":"%d %s"}`, i, strings.Repeat("x", 2000))
	}
	line.WriteString("]}")
	im := newImporter()
	calls, err := im.requests([]byte(line.String()))
	if err != nil {
		t.Fatal(err)
	}
	requests := calls.requests
	total := 0
	for i, r := range requests {
		bytes := 0
		for _, m := range r.GetMessages() {
			bytes += len(m.GetText())
		}
		if len(r.GetMessages()) > 1000 || bytes > 2<<20 {
			t.Errorf("call %d has %d messages and %d bytes", i, len(r.GetMessages()), bytes)
		}
		if last := i == len(requests)-1; last != (r.GetStatePatch() != nil) {
			t.Errorf("call %d of %d: state %v", i, len(requests), r.GetStatePatch())
		}
		total += len(r.GetMessages())
	}
	if total != 2500 {
		t.Errorf("%d messages", total)
	}
}

func TestProgressWithoutATerminalIsAJSONLine(t *testing.T) {
	var out bytes.Buffer
	p := &importProgress{counts: importCounts{Lines: 2, Stored: 3, Bytes: 9, TotalBytes: 20}}
	p.writeLine(&out)
	want := `{"lines":2,"messages_stored":3,"messages_skipped":0,"lines_failed":0,"bytes":9,"total_bytes":20}` + "\n"
	if out.String() != want {
		t.Errorf("got %s", out.String())
	}
}

// idsOf are the message ids and request ids that an import of the lines would use; lines that are bad have none.
func idsOf(lines ...string) (messages, requests []string) {
	im := newImporter()
	for _, line := range lines {
		calls, err := im.requests([]byte(line))
		if err != nil {
			continue
		}
		for _, r := range calls.requests {
			requests = append(requests, r.GetRequestId())
			for _, m := range r.GetMessages() {
				messages = append(messages, m.GetId())
			}
		}
	}
	return messages, requests
}

func TestAMendedLineLeavesTheIDsOfTheOthers(t *testing.T) {
	const first = `{"user_id":"ada","session_id":"s","messages":[{"role":"user","text":"one"}]}`
	const second = `{"user_id":"ada","session_id":"s","messages":[{"role":"user","text":"two"}]}`
	const third = `{"user_id":"ada","session_id":"s","messages":[{"role":"user","text":"three"}]}`
	before, _ := idsOf(first, second[:40], third)
	after, _ := idsOf(first, second, third)
	if len(before) != 2 || len(after) != 3 || before[0] != after[0] || before[1] != after[2] {
		t.Errorf("ids before %v, after %v", before, after)
	}
}

func TestAStateThatComesBackIsACallOfItsOwn(t *testing.T) {
	_, requests := idsOf(
		`{"user_id":"ada","session_id":"s","state":{"step":1}}`,
		`{"user_id":"ada","session_id":"s","state":{"step":2}}`,
		`{"user_id":"ada","session_id":"s","state":{"step":1}}`,
	)
	slices.Sort(requests)
	if len(slices.Compact(requests)) != 3 {
		t.Errorf("request ids %v", requests)
	}
}

func TestABadLineKeepsItsSessionWhereItNamesOne(t *testing.T) {
	cases := []struct {
		name, line, says string
		known            bool
	}{
		{"an unknown field", `{"user_id":"a","session_id":"s","text":"x"}`, "unknown field", true},
		{"no messages", `{"user_id":"a","session_id":"s"}`, "neither", true},
		{"a state that is no object", `{"user_id":"a","session_id":"s","state":[1]}`, "state", true},
		{"a call beyond all limits", `{"user_id":"a","session_id":"s","messages":[{"role":"user","text":"` + strings.Repeat("x", 5<<20) + `"}]}`, "too large", true},
		{"two objects", `{"user_id":"a","session_id":"s","state":{}} {"user_id":"b"}`, "own line", false},
		{"half an object", `{"user_id":"a","session_id":"s","sta`, "one JSON object", false},
		{"no session", `{"user_id":"a","state":{}}`, "session_id", false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			im := newImporter()
			_, err := im.requests([]byte(c.line))
			bad, ok := errors.AsType[*lineError](err)
			if !ok || !strings.Contains(bad.Error(), c.says) {
				t.Fatalf("got %v", err)
			}
			if c.known && (bad.session == nil || *bad.session != hash("a", "s")) || !c.known && bad.session != nil {
				t.Errorf("session %v", bad.session)
			}
		})
	}
}

func TestAByteOrderMarkChangesNoIDSoThatAnImportMayBeRepeatedWithout(t *testing.T) {
	const line = `{"user_id":"a","session_id":"s1","messages":[{"role":"user","text":"one"}]}` + "\n"
	var with, without []string
	for _, c := range []struct {
		file string
		ids  *[]string
	}{{"\ufeff" + line, &with}, {line, &without}} {
		if err := readLines(strings.NewReader(c.file), func(_ int, line []byte, size int) error {
			if size != len(c.file) {
				t.Errorf("a line of %d bytes counts as %d", len(c.file), size)
			}
			*c.ids, _ = idsOf(string(line))
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	if len(with) != 1 || !slices.Equal(with, without) {
		t.Errorf("ids %v, without the mark %v", with, without)
	}
}
