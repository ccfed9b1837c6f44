package summary

import (
	"slices"
	"strings"

	regexp "github.com/stratamem/strata/internal/lazyregexp"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/text"
)

// label is a line's "Name: " that names the author of the rest, as transcripts have it; marks of lists and of bold type may
// be around the name.
var label = regexp.MustCompile(`^[-*•\d.)\s]*([\pL\pN][\pL\pN ._-]{0,39}?)\**\s*(?::\**(?:[ \t]+|$)|：\**[ \t]*)`)

// SplitLabel returns the author that a line names, in lower case, and the rest; who is "" without a label.
func SplitLabel(line string) (who, said string) {
	m := label.FindStringSubmatch(line)
	if m == nil {
		return "", line
	}
	return strings.ToLower(strings.TrimSpace(m[1])), line[len(m[0]):]
}

// speakers are the labels of roles in the supported languages. Each occurs once.
var speakers = map[memory.Role][]string{
	memory.RoleUser:      strings.Fields("user human customer client 사용자 유저 고객 ユーザー 利用者 用户 使用者 usuario usuaria cliente"),
	memory.RoleAssistant: strings.Fields("assistant ai bot model chatbot agent 어시스턴트 도우미 비서 상담원 アシスタント 助手 机器人 客服 asistente agente"),
	memory.RoleSystem:    strings.Fields("system 시스템 システム 系统 系統 sistema"),
	memory.RoleDeveloper: strings.Fields("developer 개발자 開発者 开发者 desarrollador"),
	memory.RoleTool:      strings.Fields("tool 도구 ツール 工具 herramienta"),
}

// roleOf returns the role that a label names; 0 for a person's name and anything else before a colon.
func roleOf(who string) memory.Role {
	for role, names := range speakers {
		if slices.Contains(names, who) {
			return role
		}
	}
	return 0
}

// Who returns the name that a summary gives the line's speaker, on one line: the name, else the role. A person's name that
// equals a role's is left out, so that nobody can pass for the system.
func (l Line) Who() string {
	name := strings.Join(strings.Fields(l.Speaker), " ")
	if named := roleOf(strings.ToLower(name)); name == "" || named != 0 && named != l.Role {
		return l.Role.String()
	}
	return name
}

// orders begin a sentence that commands its reader; overrides do so anywhere in a sentence, and sharper ones begin words
// that are attributed to an assistant or a system in languages other than English.
var (
	orders = regexp.MustCompile(
		`(?i)^(?:[-*•\d.) ]*)(?:please\b|ignore\b|disregard\b|forget (?:all|everything|previous|your)|you (?:must|should|need to|have to|are now|will now|can now)\b|do not (?:tell|reveal|mention|follow|forget)\b|don't (?:tell|reveal|forget)\b|from now on\b|let me know\b|feel free\b|would you like\b|i hope (?:this|that) helps|note to (?:the )?(?:reader|assistant|model|ai)|remember to\b|always (?:answer|reply|respond|obey)|act as\b|pretend\b)`,
	)
	// overrides are never part of a summary unless the source has the words.
	overrides = regexp.MustCompile(
		`(?i)(?:ignore|disregard) (?:all |any |the )?(?:previous|prior|above|earlier) (?:instructions|messages|rules)|(?:이전|위의?|앞선) (?:모든 )?(?:지시|명령|지침)(?:사항)?(?:을|를)? ?(?:모두 )?무시|(?:알려|말씀해|확인해|참고해|무시해|기억해|응답해|답변해|작성해) ?(?:주세요|주십시오|주시기 바랍니다)|하(?:십시오|세요)[.!]?$`,
	)
	sharper = regexp.MustCompile(
		`(?i)^(?:always\b|never\b|obey\b|reveal\b|de ahora en adelante|a partir de ahora|ignor[ae]n?\b|olvida\b|obedece\b|siempre (?:responde|obedece|contesta)|从现在(?:起|开始)|以后(?:请|都|必须)|忽略|无视|忘记|必须|これから(?:は)?|今から|以後|今後|無視|忘れて|必ず|지금부터|이제부터|앞으로는?|무시|잊어|반드시)`,
	)
)

// instructs reports whether an answer gives its reader orders. A sentence of the source, such as a request that is quoted
// whole, does not; nor do words that the answer attributes to somebody, unless it attributes them to an assistant or a
// system that never wrote them.
func (t Task) instructs(answer string) bool {
	source := strings.ToLower(t.source() + t.Previous)
	for line := range strings.Lines(answer) {
		said := memory.Role(0)
		for _, s := range text.SentenceSpans(line) {
			sentence := strings.TrimSpace(s.Of(line))
			if found := overrides.FindString(sentence); found != "" && !strings.Contains(source, strings.ToLower(found)) {
				return true
			}
			who, words := SplitLabel(sentence)
			if who == "" || roleOf(who) == 0 {
				who, words = "", sentence
			} else {
				said = roleOf(who)
			}
			if t.commands(said, who != "", words) {
				return true
			}
		}
	}
	return false
}

// commands reports whether words that an answer attributes to a role, 0 for nobody, command its reader.
func (t Task) commands(role memory.Role, labelled bool, words string) bool {
	switch {
	case role == memory.RoleUser && labelled:
		return false
	case role == memory.RoleSystem && labelled && !t.quotes(role, words):
		return true
	case !orders.MatchString(words) && (role == 0 || role == memory.RoleUser || !sharper.MatchString(words)):
		return false
	}
	return role == 0 || !t.quotes(role, words)
}

// quotes reports whether the words are the role's own, in a message or in a summary that is summarised.
func (t Task) quotes(role memory.Role, words string) bool {
	words = strings.ToLower(strings.Trim(words, " .!?…。！？*_\"“”"))
	if words == "" {
		return true
	}
	for _, l := range t.Lines {
		if l.Role == role && strings.Contains(strings.ToLower(l.Text), words) {
			return true
		}
	}
	before := t.Previous
	for _, p := range t.Parts {
		before += "\n" + p.Text
	}
	for line := range strings.Lines(before) {
		if who, said := SplitLabel(line); roleOf(who) == role && strings.Contains(strings.ToLower(said), words) {
			return true
		}
	}
	return false
}
