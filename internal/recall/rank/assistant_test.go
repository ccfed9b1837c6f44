package rank

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/stratamem/strata/internal/language/text"
	"github.com/stratamem/strata/internal/language/text/synonyms"
	"github.com/stratamem/strata/internal/language/text/when"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/recall/segment"
)

// chat is one of testdata/assistant as a user's index: three chats with an assistant whose replies are long, and one
// between people. All were written for this test.
type chat struct {
	docs      []segment.Doc
	lines     map[memory.Place]chatLine
	questions []chatQuestion
}

// chatLine is a message as a context shows it.
type chatLine struct {
	role  memory.Role
	head  string // "[2025-01-18] user: "
	words string
}

type chatQuestion struct {
	text     string
	kind     string
	asked    time.Time // a day after the chat's last session
	evidence map[memory.Place]bool
}

// wordsPrior is a Query.UserPrior for searches by words alone that do not ask for replies.
const wordsPrior = 1.0

// chatFile is the format of testdata/assistant.
type chatFile struct {
	Sessions []struct {
		Date     string        `json:"date"`
		Messages []chatMessage `json:"messages"`
	} `json:"sessions"`
	Questions []struct {
		Question string   `json:"question"`
		Evidence []string `json:"evidence"` // ids of messages
		Kind     string   `json:"kind"`
	} `json:"questions"`
}

type chatMessage struct {
	ID   string `json:"id"` // unique in the file
	Role string `json:"role"`
	Name string `json:"name"` // of people only
	Text string `json:"text"`
}

func loadChat(t *testing.T, name string) chat {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "assistant", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var file chatFile
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	c := chat{lines: map[memory.Place]chatLine{}}
	places := map[string]memory.Place{}
	var last time.Time
	for n, s := range file.Sessions {
		if last, err = time.Parse(time.DateOnly, s.Date); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for i, m := range s.Messages {
			place := memory.Place{Session: memory.SessionKey(fmt.Sprintf("%s-%02d", name, n+1)), Seq: int64(i + 1)}
			places[m.ID] = place
			c.addMessage(place, last.Add(time.Duration(9*60+i)*time.Minute), m)
		}
	}
	for _, q := range file.Questions {
		c.questions = append(c.questions, chatQuestion{
			text: q.Question, kind: q.Kind, asked: last.AddDate(0, 0, 1), evidence: evidenceOf(t, q.Evidence, places),
		})
	}
	return c
}

func (c *chat) addMessage(place memory.Place, at time.Time, m chatMessage) {
	role := memory.RoleUser
	if m.Role == "assistant" {
		role = memory.RoleAssistant
	}
	c.lines[place] = chatLine{role: role, head: fmt.Sprintf("[%s] %s: ", at.Format(time.DateOnly), m.Role), words: m.Text}
	c.docs = append(c.docs, segment.Analyze(memory.PlacedMessage{Place: place, Message: memory.Message{
		Role: role, Name: m.Name, CreateTime: at, Parts: []memory.Part{memory.TextPart(m.Text)},
	}}))
}

func evidenceOf(t *testing.T, ids []string, places map[string]memory.Place) map[memory.Place]bool {
	t.Helper()
	out := map[memory.Place]bool{}
	for _, id := range ids {
		place, ok := places[id]
		if !ok {
			t.Fatalf("evidence %s is no message", id)
		}
		out[place] = true
	}
	return out
}

// chatSetting is one way to rank.
type chatSetting struct {
	weights Weights
	prior   float64
	near    func(term string) []synonyms.Word // nil for none
}

func (s chatSetting) ask(q chatQuestion) Query {
	return Query{
		Terms: text.Terms(q.text), UserPrior: s.prior, Near: s.near,
		AsksWhen: when.Asks(q.text), Times: when.Find(q.text, q.asked),
	}
}

// chatStore is one user's messages.
type chatStore struct {
	index *Index
	lines map[memory.Place]chatLine
}

func newChatStore(w Weights, chats ...chat) chatStore {
	s := chatStore{index: NewIndexWith(w), lines: map[memory.Place]chatLine{}}
	for _, c := range chats {
		s.index.Add(c.docs...)
		maps.Copy(s.lines, c.lines)
	}
	return s
}

// chatFigures are means over questions.
type chatFigures struct {
	at5, at10, at20  float64 // share of the evidence among the first hits
	all10            float64 // share of the questions all of whose evidence is among the first ten
	user10, reply10  float64 // as at10, of the evidence by one role alone
	whole2k, whole4k float64 // share of the evidence in a context of so many tokens
	cut2k, cut4k     float64 // the same, where a message is cut to its best passage
	kinds            string  // at10 by kind of question, and how many there are
}

func (f chatFigures) String() string {
	return fmt.Sprintf("recall@5 %.3f, @10 %.3f, @20 %.3f, all@10 %.3f, @10 of user %.3f, of replies %.3f; "+
		"whole in 2k %.3f, 4k %.3f; cut in 2k %.3f, 4k %.3f",
		f.at5, f.at10, f.at20, f.all10, f.user10, f.reply10, f.whole2k, f.whole4k, f.cut2k, f.cut4k)
}

// eachAlone asks the questions of each chat of a store that holds nothing else.
func eachAlone(s chatSetting, chats ...chat) chatFigures {
	var all shares
	for _, c := range chats {
		all.ask(s, newChatStore(s.weights, c), c.questions)
	}
	return all.figures()
}

// among asks the questions of some chats of one store that holds others too.
func among(s chatSetting, asked []chat, others ...chat) chatFigures {
	var all shares
	store := newChatStore(s.weights, slices.Concat(asked, others)...)
	for _, c := range asked {
		all.ask(s, store, c.questions)
	}
	return all.figures()
}

// shares collects, under a figure's name, the share of each question's evidence that was found.
type shares map[string][]float64

func (s *shares) add(name string, evidence, found map[memory.Place]bool) {
	if len(evidence) == 0 {
		return
	}
	if *s == nil {
		*s = shares{}
	}
	n := 0
	for p := range evidence {
		if found[p] {
			n++
		}
	}
	(*s)[name] = append((*s)[name], float64(n)/float64(len(evidence)))
}

func (s *shares) ask(how chatSetting, store chatStore, questions []chatQuestion) {
	for _, q := range questions {
		hits := store.index.Search(how.ask(q)).Hits
		ten := firstHits(hits, 10)
		s.add("@5", q.evidence, firstHits(hits, 5))
		s.add("@10", q.evidence, ten)
		s.add("@20", q.evidence, firstHits(hits, 20))
		s.add("user", store.by(q.evidence, memory.RoleUser), ten)
		s.add("reply", store.by(q.evidence, memory.RoleAssistant), ten)
		s.add("kind "+q.kind, q.evidence, ten)
		s.add("whole 2k", q.evidence, store.packed(hits, 2000, wholeMessage))
		s.add("whole 4k", q.evidence, store.packed(hits, 4000, wholeMessage))
		s.add("cut 2k", q.evidence, store.packed(hits, 2000, bestPassage))
		s.add("cut 4k", q.evidence, store.packed(hits, 4000, bestPassage))
	}
}

func (s shares) figures() chatFigures {
	f := chatFigures{
		at5: meanOf(s["@5"]), at10: meanOf(s["@10"]), at20: meanOf(s["@20"]),
		user10: meanOf(s["user"]), reply10: meanOf(s["reply"]),
		whole2k: meanOf(s["whole 2k"]), whole4k: meanOf(s["whole 4k"]), cut2k: meanOf(s["cut 2k"]), cut4k: meanOf(s["cut 4k"]),
	}
	for _, share := range s["@10"] {
		if share == 1 {
			f.all10 += 1 / float64(len(s["@10"]))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s)) {
		if kind, ok := strings.CutPrefix(name, "kind "); ok {
			f.kinds += fmt.Sprintf(" %s %.2f (%d)", kind, meanOf(s[name]), len(s[name]))
		}
	}
	return f
}

func meanOf(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(max(len(values), 1))
}

func firstHits(hits []Hit, k int) map[memory.Place]bool {
	out := map[memory.Place]bool{}
	for _, h := range hits[:min(k, len(hits))] {
		out[h.Place] = true
	}
	return out
}

// by is the evidence of one role.
func (s chatStore) by(evidence map[memory.Place]bool, role memory.Role) map[memory.Place]bool {
	out := map[memory.Place]bool{}
	for p := range evidence {
		if s.lines[p].role == role {
			out[p] = true
		}
	}
	return out
}

// packed is which messages a context of so many tokens holds when lines are taken in the order of the hits, and one that
// does not fit is left out. Four characters count as a token.
func (s chatStore) packed(hits []Hit, tokens int, cut func(words string, h Hit) string) map[memory.Place]bool {
	out := map[memory.Place]bool{}
	for _, h := range hits {
		line := s.lines[h.Place]
		price := (utf8.RuneCountInString(line.head) + utf8.RuneCountInString(cut(line.words, h)) + 3) / 4
		if price <= tokens {
			tokens -= price
			out[h.Place] = true
		}
	}
	return out
}

func wholeMessage(words string, _ Hit) string { return words }

func bestPassage(words string, h Hit) string { return h.Passage.Of(words) }

func assistantChats(t *testing.T) []chat {
	t.Helper()
	return []chat{loadChat(t, "renovation"), loadChat(t, "booking_site"), loadChat(t, "half_marathon")}
}

// withChat changes the weights of assistant chats.
func withChat(change func(*KindWeights)) Weights {
	w := DefaultWeights()
	change(&w.AssistantChat)
	return w
}

// TestAssistantChats keeps the quality of the ranking where replies are long. The bars stand below what was measured, by
// about the standard error of so many questions.
func TestAssistantChats(t *testing.T) {
	chats := assistantChats(t)
	byPrior := map[float64]chatFigures{}
	for _, prior := range []float64{0, .5, 1} {
		byPrior[prior] = measure(t, "default weights", DefaultWeights(), prior, chats)
	}
	defaults := byPrior[wordsPrior]
	t.Logf("recall@10 by kind of question:%s", defaults.kinds)

	t.Run("the evidence is among the first ten messages and in the context", func(t *testing.T) {
		atLeast(t, "recall@10", defaults.at10, .74)
		atLeast(t, "evidence in 2k tokens, replies cut", defaults.cut2k, .78)
		atLeast(t, "evidence in 4k tokens, replies cut", defaults.cut4k, .87)
	})
	t.Run("one user may have several such chats", func(t *testing.T) {
		together := among(chatSetting{weights: DefaultWeights(), prior: wordsPrior}, chats)
		t.Logf("in one store: %v", together)
		atLeast(t, "recall@10", together.at10, .69)
		atLeast(t, "evidence in 4k tokens, replies cut", together.cut4k, .77)
	})
	t.Run("the weights of chats between people are worse here", func(t *testing.T) {
		person := withChat(func(w *KindWeights) { *w = DefaultWeights().Person })
		for _, prior := range []float64{0, 1} {
			atLeast(t, "recall@10", byPrior[prior].at10, measure(t, "weights of people", person, prior, chats).at10+.02)
		}
	})
	t.Run("weaker normalisation of the length is worse", func(t *testing.T) {
		half := measure(t, "b .5", withChat(func(w *KindWeights) { w.B = .5 }), wordsPrior, chats)
		atLeast(t, "recall@10", defaults.at10, half.at10+.01)
	})
	t.Run("a reply's words help to find what it answers", func(t *testing.T) {
		bare := measure(t, "no words of the reply", withChat(func(w *KindWeights) { w.Reply = 0 }), wordsPrior, chats)
		atLeast(t, "evidence in 4k tokens, replies cut", defaults.cut4k, bare.cut4k+.03)
	})
	t.Run("a context holds more evidence where replies are cut to their best passage", func(t *testing.T) {
		atLeast(t, "evidence in 2k tokens", defaults.cut2k, defaults.whole2k+.02)
		atLeast(t, "evidence in 4k tokens", defaults.cut4k, defaults.whole4k+.03)
	})
	t.Run("the user prior finds more of what the user said, and still the replies", func(t *testing.T) {
		atLeast(t, "recall@10 of what the user said", byPrior[1].user10, byPrior[0].user10+.04)
		atLeast(t, "recall@10 of replies", byPrior[1].reply10, .8)
	})
}

// TestTwoKindsInOneStore asks for what people said to each other and for what was said to an assistant. Each kind loses
// a little by the mere number of messages.
func TestTwoKindsInOneStore(t *testing.T) {
	table, err := synonyms.Open()
	if err != nil {
		t.Fatal(err)
	}
	s := chatSetting{weights: DefaultWeights(), prior: wordsPrior, near: table.Of}
	people := loadChat(t, "people")
	peopleAlone := eachAlone(s, people).at10
	var chatAlone, chatBeside, peopleBeside []float64
	for _, c := range assistantChats(t) {
		chatAlone = append(chatAlone, eachAlone(s, c).at10)
		chatBeside = append(chatBeside, among(s, []chat{c}, people).at10)
		peopleBeside = append(peopleBeside, among(s, []chat{people}, c).at10)
	}
	t.Logf("an assistant's chat: recall@10 %.3f alone, %.3f beside people", meanOf(chatAlone), meanOf(chatBeside))
	t.Logf("people: recall@10 %.3f alone, %.3f beside an assistant's chat", peopleAlone, meanOf(peopleBeside))

	t.Run("a chat with an assistant is found as well beside people", func(t *testing.T) {
		atLeast(t, "recall@10", meanOf(chatBeside), meanOf(chatAlone)-.04)
	})
	t.Run("what people said is found beside a chat with an assistant", func(t *testing.T) {
		atLeast(t, "recall@10 alone", peopleAlone, .8)
		atLeast(t, "recall@10 beside the chat", meanOf(peopleBeside), peopleAlone-.03)
	})
}

// TestTheUserPriorIsSplit keeps people between the two sides of a chat with an assistant.
func TestTheUserPriorIsSplit(t *testing.T) {
	const user, assistant = memory.RoleUser, memory.RoleAssistant
	x := index(doc("p", 1, user, "Ann", "red fox"), doc("a", 1, user, "", "red fox"), doc("a", 2, assistant, "", "red fox"), doc("a", 3, memory.RoleTool, "", "red fox"))
	priors := func(prior float64) map[string]float64 {
		out := map[string]float64{}
		for _, h := range x.Search(Query{Terms: []string{"fox"}, UserPrior: prior, Explain: true}).Hits {
			for _, f := range h.Why.Factors {
				if f.Name == FactorUserPrior {
					out[fmt.Sprintf("%s%d", h.Session, h.Seq)] = f.Value
				}
			}
		}
		return out
	}
	t.Run("the user's messages gain its root, all others of the chat lose it, and people keep their scores", func(t *testing.T) {
		if diff := cmp.Diff(map[string]float64{"a1": 2, "a2": .5, "a3": .5}, priors(3)); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("without one no factor is named", func(t *testing.T) {
		if diff := cmp.Diff(map[string]float64{}, priors(0)); diff != "" {
			t.Error(diff)
		}
	})
}

// measure asks each chat's questions alone.
func measure(t *testing.T, name string, w Weights, prior float64, chats []chat) chatFigures {
	t.Helper()
	f := eachAlone(chatSetting{weights: w, prior: prior}, chats...)
	t.Logf("%s, user prior %g: %v", name, prior, f)
	return f
}

func atLeast(t *testing.T, name string, got, least float64) {
	t.Helper()
	if got < least {
		t.Errorf("%s is %.3f, want at least %.3f", name, got, least)
	}
}
