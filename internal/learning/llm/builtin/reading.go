package builtin

import (
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/stratamem/strata/internal/language/text"
	"github.com/stratamem/strata/internal/learning/extract"
	"github.com/stratamem/strata/internal/memory"
)

// reading is the operations of the lines so far, and what was stated last: a correction is of that.
type reading struct {
	task   extract.Task
	ops    []extract.Op
	plays  bool      // whether a part is played, in which nothing is meant
	heard  time.Time // when the user last said something
	last   []finding // of the latest user line that stated something, without a question since
	stale  int       // user lines since
	said   string    // the user's line before
	latest statement // the sentence before, whatever it stated
}

// enTitle is an abbreviation before a name, whose stop ends no sentence.
var enTitle = enFacts.pattern("titles")

// enContracted are contractions typed without their apostrophe that are no other word.
var enContracted = enFacts.pattern("contracted")

// contract puts the apostrophe into such a contraction.
func contract(word string) string {
	for _, end := range [...]string{"nt", "ve", "re", "m", "s"} {
		if at := len(word) - len(end); end == "nt" && strings.HasSuffix(strings.ToLower(word), end) {
			return word[:at+1] + "'" + word[at+1:]
		} else if strings.HasSuffix(strings.ToLower(word), end) {
			return word[:at] + "'" + word[at:]
		}
	}
	return word
}

// maxStale is how many lines of the user may lie between a statement and its correction.
const maxStale = 2

// read takes one line of a user. Nothing is learnt from one that is there only to understand others.
func (r *reading) read(l extract.Line) {
	m := messageOf(l.Text)
	fresh, framed := true, r.played(l)
	if r.stale++; r.stale > maxStale {
		r.last = nil
	}
	for _, stated := range restatedAll(m.grammar.sentence.FindAllString(m.said, maxSentences)) {
		if r.turns(stated.said) {
			framed = r.plays
		}
		if framed = framed || frame.MatchString(strings.TrimSpace(stated.said)); framed {
			continue
		}
		sentence, alone := r.introduced(l, stated.said)
		sentence = asOfNow(afterGreeting(sentence))
		found, back := r.findAfterLatest(l, m, sentence)
		if back {
			stated.quote = strings.TrimSpace(sentence)
		}
		for _, f := range found {
			f = r.inPlaceOfMended(l, f)
			switch {
			case stated.quote != "":
				f.quote = stated.quote
			case alone != nil:
				f.quote = alone.Replace(f.quote)
			}
			if l.Learn {
				r.note(l, f)
			}
			if f.op == opAdd && fresh {
				r.last, r.stale, fresh = nil, 0, false
			}
			if f.op == opAdd {
				r.last = append(r.last, f)
			}
		}
		if strings.ContainsAny(sentence, "?？") {
			r.last = nil
		}
	}
	r.said = l.Text
}

// message is what a line says, and how its sentences are read where they do not show their language.
type message struct {
	said    string
	grammar *grammar
	spanish bool
}

// messageOf is a message as rules read it, up to where somebody else's words are pasted.
func messageOf(said string) message {
	said = enTitle.ReplaceAllString(strings.ReplaceAll(said, "’", "'"), "$1 $2")
	m := message{said: said, grammar: grammarOf(said), spanish: isSpanish(said)}
	if !m.spanish && m.grammar != &german { // "im" is a word of German
		m.said = enContracted.ReplaceAllStringFunc(said, contract)
	}
	if chat := pastedChat.FindStringIndex(m.said); chat != nil {
		m.said = m.said[:chat[0]]
	}
	return m
}

// languageOf is how a sentence of the message is read. Of a message in two languages each sentence is read by its own. Of a sentence in a
// Spanish or German message too little may show its language.
func (m message) languageOf(sentence string) (*grammar, *retelling) {
	g, t := grammarOf(sentence), retellingOf(sentence)
	if m.spanish && t == &englishRetelling {
		t = &spanishRetelling
	}
	if m.grammar == &german && g == &english && !text.ShowsEnglish(sentence) {
		g, t = &german, &germanRetelling
	}
	return g, t
}

var (
	// enQuit does not say what was quit: a job, unless something else in enQuitOtherwise was spoken of.
	enQuit          = enFacts.pattern("quit")
	enQuitOtherwise = enFacts.pattern("quit-otherwise")
)

// quitsOtherwise reports whether a sentence of a line such as "I quit last Friday" is of something else than a job.
func (r *reading) quitsOtherwise(l extract.Line, sentence string) bool {
	return enQuit.MatchString(sentence) && enQuitOtherwise.MatchString(r.said+"\n"+l.Text)
}

// find is what a sentence of a line states, and what it takes back.
func (r *reading) find(l extract.Line, m message, sentence string) []finding {
	g, t := m.languageOf(sentence)
	found := g.read(sentence, r.last)
	if slices.ContainsFunc(found, finding.retracts) && r.quitsOtherwise(l, sentence) {
		found = slices.DeleteFunc(found, finding.retracts)
	}
	states := slices.ContainsFunc(found, finding.adds)
	// Between people "remember that …" comforts or reminds the other; nobody asks for anything to be kept.
	f, ok := asked(sentence)
	remembers := f.rule == rememberedRule
	if ok && (!states && !remembers || remembers && !r.task.BetweenPeople() && !g.readsEach(sentence)) {
		found = append(found, f)
	}
	if !ok && !states {
		found = append(found, t.calledWithin(sentence)...)
	}
	ended := r.ended(l, sentence, found)
	if len(ended) > 0 && r.quitsOtherwise(l, sentence) {
		ended = nil
	}
	found = append(found, ended...)
	found = append(found, g.left(sentence, t, found, r.replaces(l))...)
	if len(ended) > 0 {
		found = append(found, t.successors(sentence, found)...)
	}
	return found
}

// frame begins what its speaker does not state: a text to translate or to mend, or somebody else's words. It lasts to the end of the
// message.
var frame = marks{"frames"}.pattern(`(?i)%s`)

// pastedChat is what somebody else said and was told. What stands after it may be either's.
var pastedChat = marks{"chats"}.pattern(`(?im)%s`)

// A part that is played lasts over messages: until its player says that it is over, or has said nothing for so long.
var (
	plays     = marks{"plays"}.pattern(`(?i)%s`)
	playsOver = marks{"plays-over"}.pattern(`(?i)%s`)
)

const longestPlayPause = time.Hour

// played reports whether a part is played when a line of a user begins, by the lines before it.
func (r *reading) played(l extract.Line) bool {
	r.plays = r.plays && l.Time.Sub(r.heard) <= longestPlayPause
	r.heard = l.Time
	return r.plays
}

// hear takes note of a line of which nothing else is read than whether a part is played after it.
func (r *reading) hear(l extract.Line) {
	r.played(l)
	for _, sentence := range grammarOf(l.Text).sentence.FindAllString(l.Text, maxSentences) {
		r.turns(sentence)
	}
}

// turns reports whether a sentence begins or ends a part that is played.
func (r *reading) turns(sentence string) bool {
	sentence = strings.TrimSpace(sentence)
	over := playsOver.MatchString(sentence)
	if !over && !plays.MatchString(sentence) {
		return false
	}
	r.plays = !over
	return true
}

// readsEach reports whether a sentence is several clauses, of each of which a rule reads at least half: then the facts of the clauses
// leave out nothing that the whole sentence would keep.
func (g *grammar) readsEach(sentence string) bool {
	clauses := split(sentence, g.clauses)
	return len(clauses) > 1 && !slices.ContainsFunc(clauses, func(clause string) bool {
		found := g.find(clause)
		return len(found) == 0 || 2*len(strings.Fields(found[0].text)) < len(strings.Fields(clause))
	})
}

// afterGreeting is a sentence without a greeting in another script before it: "안녕하세요, I'm Ana" is English.
func afterGreeting(sentence string) string {
	said := strings.TrimSpace(sentence)
	for _, t := range [...]*retelling{&koreanRetelling, &japaneseRetelling, &chineseRetelling} {
		rest := said[len(t.opener.FindString(said)):]
		if rest != said && rest != "" && !strings.ContainsFunc(rest, func(r rune) bool { return r > unicode.MaxLatin1 && unicode.IsLetter(r) }) {
			return rest
		}
	}
	return sentence
}

// asOfNow is a sentence without what it says was so before: of "I drink coffee, but since May I only drink tea" it is "I only drink tea".
// Both clauses must be about the same doing, for who lives in Bruges since May may work where he did.
func asOfNow(sentence string) string {
	if !strings.Contains(sentence, " but ") { // as most, for which the expression would cost more
		return sentence
	}
	m := enSuperseded.FindStringSubmatch(sentence)
	if m == nil || enBesides.MatchString(sentence) {
		return sentence
	}
	before, now, verb := m[1], m[2], strings.ToLower(m[3])
	if !slices.Contains(strings.Fields(strings.ToLower(before)), verb) {
		return sentence
	}
	return now
}

// ended is what a sentence takes back of what is known of its speaker, in words that no grammar reads. A property that the
// sentence gives another value needs no taking back.
func (r *reading) ended(l extract.Line, sentence string, read []finding) []finding {
	if len(sentence) > maxSentenceBytes || !extract.Denies(sentence) && !extract.MayEnd(sentence) {
		return nil
	}
	speaker := r.task.SpeakerOf(l)
	quote := strings.Trim(sentence, " \t\r\n,;")
	replaced := func(attribute string) bool {
		return attribute != "" && slices.ContainsFunc(read, func(f finding) bool { return f.attribute == attribute })
	}
	var out []finding
	for _, k := range r.task.Known {
		own := strings.EqualFold(k.Fact.Subject, speaker) && !k.Fact.Protected && !k.Fact.Pinned && !replaced(k.Fact.Attribute)
		if own && len(out) < extract.MaxEndings && extract.Ends(sentence, k.Fact) {
			out = append(
				out,
				finding{op: opRetract, rule: &factRule{}, text: k.Fact.Text, attribute: k.Fact.Attribute, quote: quote, known: k.Alias},
			)
		}
	}
	for _, op := range r.ops {
		stated := statedAs(speaker, op.Text, op.Quote)
		stated.Attribute = op.Attribute
		if op.Op == opAdd && op.Subject == speaker && op.Message != l.Alias && !replaced(op.Attribute) && len(out) < extract.MaxEndings &&
			extract.Ends(sentence, stated) {
			out = append(out, finding{op: opRetract, rule: &factRule{}, text: op.Text, attribute: op.Attribute, quote: quote})
		}
	}
	return out
}

// successors are what a sentence puts in place of what it ends, whatever else it would have to say to be kept.
func (t *retelling) successors(sentence string, read []finding) []finding {
	var out []finding
	if t.rulesOnly {
		return nil
	}
	for _, clause := range split(sentence, t.clauses) {
		clause = fromSuccessor(t.bare(clause))
		if extract.TakesPlace(clause) && t.states(clause) && !covered(clause, read) {
			out = append(out, t.find(clause))
		}
	}
	return out
}

// fromSuccessor is a Japanese or Chinese clause from where it says what takes the place of something: there a space may end what
// was said before. A clause of another script is whole.
func fromSuccessor(clause string) string {
	parts := strings.Fields(clause)
	if !strings.ContainsFunc(clause, text.Clings) || strings.ContainsFunc(clause, isHangul) {
		return clause
	}
	return strings.Join(parts[max(0, slices.IndexFunc(parts, extract.TakesPlace)):], " ")
}

func isHangul(r rune) bool { return unicode.Is(unicode.Hangul, r) }

// replaces returns a function that reports of a finding of a line whether it puts another value in place of what is known of its speaker.
func (r *reading) replaces(l extract.Line) func(finding) bool {
	speaker := r.task.SpeakerOf(l)
	return func(f finding) bool {
		newer := statedAs(speaker, f.text, f.quote)
		for _, k := range r.task.Known {
			if strings.EqualFold(k.Fact.Subject, speaker) && extract.Replaces(newer, k.Fact) {
				return true
			}
		}
		return slices.ContainsFunc(r.ops, func(op extract.Op) bool {
			return op.Op == opAdd && op.Subject == speaker && extract.Replaces(newer, statedAs(speaker, op.Text, op.Quote))
		})
	}
}

// statedAs is a finding as a fact is compared.
func statedAs(speaker, text, quote string) memory.Fact {
	return memory.Fact{Subject: speaker, Text: text, Evidence: []memory.Evidence{{Quote: quote}}}
}

// left is what a sentence states beside what the rules have found in it: the clauses that are worth keeping, else what is
// only implied.
func (g *grammar) left(sentence string, t *retelling, read []finding, replaces func(finding) bool) []finding {
	out := g.kept(sentence, t, read, replaces)
	if len(out) > 0 || len(read) > 0 || len(sentence) > maxSentenceBytes || g.blocked.MatchString(sentence) {
		return out
	}
	for _, clause := range split(sentence, g.clauses) {
		if owned := g.owned(clause); len(owned) > 0 {
			out = append(out, owned[0])
		}
	}
	return out
}

// note adds an operation, in place of those of the same message that it takes the place of: whoever corrects himself within
// one message means the last.
func (r *reading) note(l extract.Line, f finding) {
	r.ops = slices.DeleteFunc(r.ops, func(o extract.Op) bool {
		sameProperty := f.attribute != "" && o.Attribute == f.attribute
		return o.Message == l.Alias && o.Op == opAdd && (sameProperty || f.op == opRetract && o.Text == f.text)
	})
	if len(r.ops) < extract.MaxOps {
		r.ops = append(r.ops, f.operation(r.task, l))
	}
}

// read is what a sentence says: what it corrects of what was stated last, what it states, and what it takes back.
func (g *grammar) read(sentence string, last []finding) []finding {
	asserted := sentence
	if g.past != nil {
		asserted = g.past.ReplaceAllString(sentence, "")
	}
	if len(sentence) > maxSentenceBytes || g.blocked.MatchString(asserted) {
		return nil
	}
	if f, ok := g.applyCorrection(sentence, last); ok {
		return []finding{f}
	}
	var out []finding
	for _, clause := range split(sentence, g.clauses) {
		stated := g.find(clause)
		if g.blocked.MatchString(clause) { // it is only read for what is past
			stated = nil
		}
		out = append(out, stated...)
	}
	for _, clause := range append(split(sentence, g.clauses), sentence) {
		for _, f := range g.denials(clause, sentence) {
			out = slices.DeleteFunc(out, func(o finding) bool { return o.text == f.text && o.attribute == f.attribute })
			settled := slices.ContainsFunc(out, func(o finding) bool { return o.attribute != "" && o.attribute == f.attribute })
			if !settled {
				out = append(out, f)
			}
		}
	}
	return out
}

// denials are the facts that a clause takes back.
func (g *grammar) denials(clause, sentence string) []finding {
	clause = strings.TrimSpace(clause)
	quote := g.strip(clause)
	said := g.ordered(quote)
	if attribute := g.ends(said); attribute != "" {
		return []finding{{op: opRetract, attribute: attribute, quote: quote, rule: &factRule{}}}
	}
	var out []finding
	for _, inv := range g.inversions() {
		m := inv.pattern.FindStringSubmatch(said)
		if m == nil {
			continue
		}
		for _, template := range inv.stated {
			for _, stated := range variants(template, m[1:]) {
				for _, f := range append(g.find(stated), g.owned(stated)...) {
					if extract.Ends(sentence, memory.Fact{Text: f.text, Attribute: f.attribute}) {
						f.op, f.quote = opRetract, quote
						out = append(out, f)
					}
				}
			}
		}
	}
	return out
}

// owned is that there is somebody or something of the speaker's, and all that was said of them.
func (g *grammar) owned(stated string) []finding {
	opener, said := g.opened(stated)
	for i := range g.implied() {
		if f, ok := g.apply(&g.implied()[i], opener, said); ok {
			all := f
			all.text = capital(strings.TrimPrefix(strings.TrimSuffix(f.text, "."), "Has a "))
			return []finding{f, all}
		}
	}
	return nil
}

// ends is the property whose value a clause ends without naming it.
func (g *grammar) ends(said string) string {
	for _, end := range g.enders() {
		if end.pattern.MatchString(said) {
			return end.name
		}
	}
	return ""
}

// strip is a clause without what stands before and after its statement.
func (g *grammar) strip(clause string) string {
	opener := g.opener.FindString(clause)
	said := strings.TrimRight(clause[len(opener):], " .,!~;…♡^")
	if g.tags != nil {
		said = strings.TrimRight(said[:len(said)-len(g.tags.FindString(said))], " ,")
	}
	return said
}

// variants is a template filled with groups; <playing> stands for the verbs that the form may be of.
func variants(template string, groups []string) []string {
	for i, group := range groups {
		template = strings.ReplaceAll(template, "$"+string(rune('1'+i)), group)
	}
	before, rest, verbs := strings.Cut(template, "<")
	if !verbs {
		return []string{template}
	}
	doing, after, _ := strings.Cut(rest, ">")
	var out []string
	for _, verb := range verbsOf(doing) {
		out = append(out, before+verb+after)
	}
	return out
}

// verbsOf are the verbs that a form in -ing may be of: play of playing, smoke of smoking, run of running.
func verbsOf(doing string) []string {
	root, ok := strings.CutSuffix(doing, "ing")
	if !ok || len(root) < 2 {
		return nil
	}
	out := []string{root, root + "e"}
	if n := len(root); root[n-1] == root[n-2] {
		out = append(out, root[:n-1])
	}
	return out
}

// applyCorrection returns the last finding changed as the sentence corrects it, and false if the sentence corrects none.
func (g *grammar) applyCorrection(sentence string, last []finding) (finding, bool) {
	said := strings.TrimRight(strings.TrimSpace(sentence), " .,!~;…")
	for _, c := range g.corrections() {
		m := c.pattern.FindStringSubmatch(said)
		if m == nil {
			continue
		}
		right, wrong := m[c.pattern.SubexpIndex("right")], ""
		if i := c.pattern.SubexpIndex("wrong"); i >= 0 {
			wrong = m[i]
		}
		certain := wrong != "" || g.takenBack != nil && g.takenBack.MatchString(said)
		for _, f := range slices.Backward(last) {
			mended, ok := g.mend(f, right, wrong)
			if ok && mended.attribute != f.attribute {
				mended.mends, ok = &f, certain
			}
			if !ok {
				mended, ok = g.swap(f, right, wrong)
			}
			if ok {
				mended.quote = said
				return mended, true
			}
		}
	}
	return finding{}, false
}

// noValue is what follows the words of a correction without being one.
var noValue = marks{"no-value"}.pattern(`(?i)^(?:%s)(?:\s|$)`)

// mend is a statement with another object: the same rule must find it.
func (g *grammar) mend(f finding, right, wrong string) (finding, bool) {
	if f.attribute == "" || f.said == "" || noValue.MatchString(right) {
		return finding{}, false
	}
	object := f.object()
	if wrong != "" && !strings.Contains(strings.ToLower(object), strings.ToLower(wrong)) {
		return finding{}, false
	}
	if number, rest, _ := strings.Cut(object, " "); isNumber(number) && isNumber(right) && rest != "" {
		right += " " + rest
	}
	for _, mended := range g.find(g.join(f.said[:f.from], right, f.said[f.to:])) {
		ofObject := mended.attribute != "" && strings.Contains(f.rule.attribute, "$") // who is allergic to pecans is to another thing
		if mended.rule == f.rule && (mended.attribute == f.attribute || ofObject) && mended.text != f.text {
			return mended, true
		}
	}
	return finding{}, false
}

// swap is a clause that was kept with another value in place of what was wrong in it, or of its only value of that kind.
func (g *grammar) swap(f finding, right, wrong string) (finding, bool) {
	if f.said != "" || f.op != opAdd || noValue.MatchString(right) {
		return finding{}, false
	}
	clause, right := f.quote, strings.TrimPrefix(right, enBeforeValue.FindString(right))
	for _, kind := range g.values() {
		if kind.pattern.FindString(right) != right || right == "" {
			continue
		}
		at := kind.pattern.FindAllStringIndex(clause, 2)
		if len(at) != 1 {
			continue
		}
		old := clause[at[0][0]:at[0][1]]
		if wrong != "" && !strings.Contains(strings.ToLower(wrong), strings.ToLower(old)) || strings.EqualFold(old, right) {
			continue
		}
		mended := retellingOf(clause).find(clause[:at[0][0]] + right + clause[at[0][1]:])
		mended.mends = &f
		return mended, true
	}
	return finding{}, false
}

// enBeforeValue is what stands before a value.
var enBeforeValue = enFacts.pattern("before-value")

// inPlaceOfMended is a correction that takes the place of what it corrects: of an operation so far, or of a known fact.
func (r *reading) inPlaceOfMended(l extract.Line, f finding) finding {
	if f.mends == nil {
		return f
	}
	speaker := r.task.SpeakerOf(l)
	r.ops = slices.DeleteFunc(r.ops, func(o extract.Op) bool {
		return l.Learn && o.Op == opAdd && o.Text == f.mends.text && o.Subject == speaker
	})
	for _, k := range r.task.Known {
		quotes := func(e memory.Evidence) bool { return e.Quote == f.mends.quote }
		same := k.Fact.Text == f.mends.text || slices.ContainsFunc(k.Fact.Evidence, quotes)
		if same && strings.EqualFold(k.Fact.Subject, speaker) && !k.Fact.Protected && !k.Fact.Pinned {
			f.known = k.Alias
		}
	}
	return f
}

// isNumber reports whether a word is a number.
func isNumber(word string) bool {
	digits := strings.TrimFunc(word, unicode.IsDigit) == "" && word != ""
	return digits ||
		slices.Contains([]string{"one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"}, strings.ToLower(word))
}
