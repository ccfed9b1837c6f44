package eval

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stratamem/strata/internal/memory"
)

// LoCoMo reads dialogues of LoCoMo (arXiv 2402.17753) from the JSON files at or below root: one object per dialogue, or the
// list of its original file. Both speakers are people, so every turn is a user's and has a name. Questions of the
// adversarial category are apart. JSON of another shape is passed over.
func LoCoMo(files fs.FS, root string) (Set, error) {
	return readFiles(files, root, ".json", locomoFile)
}

// fields are a JSON object's, undecoded.
type fields map[string]json.RawMessage

func locomoFile(name string, data []byte) ([]Dialogue, error) {
	if !json.Valid(data) {
		return nil, fmt.Errorf("not JSON, %d bytes", len(data))
	}
	list := []json.RawMessage{data}
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte("[")) {
		if err := json.Unmarshal(data, &list); err != nil {
			return nil, err
		}
	}
	var out []Dialogue
	for _, raw := range list {
		var f fields
		if json.Unmarshal(raw, &f) != nil || f["qa"] == nil {
			continue
		}
		d, err := locomoDialogue(name, f)
		if err != nil {
			return nil, err
		}
		out = append(out, d)
	}
	return out, nil
}

func locomoDialogue(name string, f fields) (Dialogue, error) {
	if id := strings.Trim(string(f["sample_id"]), `"`); id != "" {
		name = id
	}
	d := Dialogue{Name: strings.TrimPrefix(name, "conv-")}
	if err := f.unfold("conversation", "observation", "session_summary"); err != nil {
		return d, err
	}
	var err error
	if d.Sessions, err = locomoSessions(f); err != nil {
		return d, err
	}
	d.identify()
	d.Asked = d.dayAfter()
	return d, d.addLoCoMo(f["qa"])
}

// unfold puts the fields of the named objects beside the others, as the files of single dialogues have them.
func (f fields) unfold(names ...string) error {
	for _, n := range names {
		raw, ok := f[n]
		if !ok {
			continue
		}
		var inner fields
		if err := json.Unmarshal(raw, &inner); err != nil {
			return fmt.Errorf("%s: %w", n, err)
		}
		maps.Copy(f, inner)
	}
	return nil
}

// locomoSessions collects session_1, session_2 and so on. A date without turns is no session.
func locomoSessions(f fields) ([]Session, error) {
	var all []Session
	for n := 1; ; n++ {
		key := fmt.Sprintf("session_%d", n)
		date, dated := f[key+"_date_time"]
		raw, ok := f[key]
		if !ok && !dated {
			return all, nil
		}
		if !ok {
			continue
		}
		s, err := locomoSession(key, date, raw)
		if err == nil {
			err = s.addLearnt(f[key+"_observation"], f[key+"_summary"])
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
		all = append(all, s)
	}
}

func locomoSession(id string, date, raw json.RawMessage) (Session, error) {
	s := Session{ID: id}
	var when string
	if err := json.Unmarshal(date, &when); err != nil {
		return s, fmt.Errorf("date: %w", err)
	}
	var err error
	if s.Begin, err = time.Parse("3:04 pm on 2 January, 2006", when); err != nil {
		return s, fmt.Errorf("date: %w", err)
	}
	var turns []struct {
		Speaker string `json:"speaker"`
		ID      string `json:"dia_id"`
		Words   string `json:"text"`
		Caption string `json:"blip_caption"`
	}
	if err := json.Unmarshal(raw, &turns); err != nil {
		return s, fmt.Errorf("turns: %w", err)
	}
	for _, t := range turns {
		if text := withCaption(t.Words, t.Caption); text != "" {
			s.Turns = append(s.Turns, Turn{Label: t.ID, Role: memory.RoleUser, Name: t.Speaker, Text: text})
		}
	}
	return s, nil
}

// withCaption is what was said, with the caption of a shared picture after it.
func withCaption(words, caption string) string {
	if caption == "" {
		return words
	}
	return strings.TrimSpace(words + " [shares a photo of " + caption + "]")
}

// addLearnt reads what models made of the session; either may be missing.
func (s *Session) addLearnt(observations, summary json.RawMessage) error {
	if len(summary) > 0 {
		if err := json.Unmarshal(summary, &s.Summary); err != nil {
			return fmt.Errorf("summary: %w", err)
		}
	}
	if len(observations) == 0 {
		return nil
	}
	var bySpeaker map[string][][2]any
	if err := json.Unmarshal(observations, &bySpeaker); err != nil {
		return fmt.Errorf("observations: %w", err)
	}
	for _, speaker := range slices.Sorted(maps.Keys(bySpeaker)) {
		for _, o := range bySpeaker[speaker] {
			text, _ := o[0].(string)
			s.Facts = append(s.Facts, Fact{speaker, text, turnLabels(fmt.Sprint(o[1]))})
		}
	}
	return nil
}

func (d *Dialogue) addLoCoMo(raw json.RawMessage) error {
	var all []struct {
		Question string   `json:"question"`
		Category int      `json:"category"`
		Evidence []string `json:"evidence"`
	}
	if err := json.Unmarshal(raw, &all); err != nil {
		return fmt.Errorf("qa: %w", err)
	}
	sessions := d.sessionsOf()
	for i, q := range all {
		d.add(Question{
			ID: fmt.Sprintf("%s/%d", d.Name, i+1), Type: locomoType(q.Category), Text: q.Question, Apart: q.Category == adversarial,
		}, turnLabels(strings.Join(q.Evidence, " ")), sessions)
	}
	return nil
}

// adversarial is the category of questions that the dialogue does not answer; their evidence is what misleads.
const adversarial = 5

// locomoType names a category by what its questions need, after the number that the data set gives it.
func locomoType(category int) string {
	names := [...]string{1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", adversarial: "adversarial"}
	if category < 1 || category >= len(names) {
		return strconv.Itoa(category)
	}
	return fmt.Sprintf("%d %s", category, names[category])
}

// evidenceID finds turn ids in evidence as it was written, malformed ones included.
var evidenceID = regexp.MustCompile(`D:?(\d+):0*(\d+)`)

func turnLabels(written string) []string {
	var out []string
	for _, m := range evidenceID.FindAllStringSubmatch(written, -1) {
		if session, err := strconv.Atoi(m[1]); err == nil {
			out = append(out, fmt.Sprintf("D%d:%s", session, m[2]))
		}
	}
	return out
}
