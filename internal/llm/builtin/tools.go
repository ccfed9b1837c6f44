package builtin

import (
	"slices"
	"strings"

	regexp "github.com/stratamem/strata/internal/lazyregexp"
)

// toolKinds are kinds of which a piece of work has one at a time, with what is known of each: who switches to MySQL does not
// have PostgreSQL any more.
var toolKinds = map[string]string{
	"database":            `postgres postgresql mysql mariadb sqlite mongodb mongo oracle cockroachdb dynamodb cassandra firestore couchdb scylladb clickhouse supabase mssql 포스트그레스 포스트그레sql 마이에스큐엘 몽고디비 오라클 마리아디비`,
	"message_broker":      `kafka rabbitmq nats pulsar activemq zeromq 카프카 래빗엠큐`,
	"frontend_framework":  `react vue angular svelte solidjs preact ember nextjs nuxt sveltekit 리액트 뷰 앵귤러 스벨트`,
	"backend_framework":   `django flask fastapi rails laravel spring springboot express nestjs gin phoenix 장고 플라스크 스프링 라라벨`,
	"cloud_provider":      `aws gcp azure hetzner digitalocean heroku vercel netlify 애저`,
	"editor":              `vim neovim emacs helix vscode intellij sublime zed nano pycharm webstorm goland 빔 인텔리제이`,
	"operating_system":    `linux windows macos ubuntu debian fedora arch nixos freebsd 리눅스 윈도우 윈도우즈 맥 우분투`,
	"infrastructure_tool": `terraform pulumi ansible chef puppet cloudformation 테라폼`,
	"container_platform":  `kubernetes nomad ecs swarm openshift 쿠버네티스`,
	"package_manager":     `npm yarn pnpm bun`,
	"mobile_platform":     `iphone android 아이폰 안드로이드`,
	"browser":             `firefox chrome safari brave vivaldi 파이어폭스 크롬`,
	"backend_language":    `python java golang rust kotlin scala elixir ruby php 파이썬 자바 러스트 코틀린`,
}

// kindOf is the kind of a tool by its name.
var kindOf = func() map[string]string {
	kinds := map[string]string{}
	for kind, names := range toolKinds {
		for name := range strings.FieldsSeq(names) {
			kinds[name] = kind
		}
	}
	return kinds
}()

// toolPurpose is what a tool is chosen for.
var toolPurpose = regexp.MustCompile(`(?i)\s(?:for|in) (?:the |our |my |this |a |an |all )*([^,]+)$`)

// toolGeneral are purposes that are the work at hand itself.
var toolGeneral = regexp.MustCompile(
	`(?i)^(?:new |side |current |whole )?(?:backend|frontend|project|projects|app|application|api|service|product|team|company|startup|system|stack|site|website|work|everything|now|production)$`,
)

// toolRejected is what a choice was made against, and what came before it.
var toolRejected = regexp.MustCompile(`(?i)\s(?:over|instead of|rather than|and not|not)\s.*$|^.*에서 `)

// toolWord is a name, with the Korean particle that clings to it.
var toolWord = regexp.MustCompile(`(?i)^([a-z0-9.+#-]+|\p{Hangul}+?)(?:을|를|으로|로|은|는|이|가)?$`)

// toolAttribute is the property of a choice of a tool: its kind, and what it is for; "" for another choice.
func toolAttribute(objects []string) string {
	if slices.ContainsFunc(objects, func(o string) bool { return strings.EqualFold(o, "against") }) {
		return ""
	}
	choice := " " + toolRejected.ReplaceAllString(strings.Join(objects, " "), "")
	purpose := ""
	if m := toolPurpose.FindStringSubmatch(choice); m != nil && !toolGeneral.MatchString(m[1]) {
		purpose = "_for_" + englishName(m[1])
	}
	kind := ""
	for word := range strings.FieldsSeq(strings.ToLower(choice)) {
		m := toolWord.FindStringSubmatch(strings.Trim(word, ".,"))
		if m == nil || kindOf[m[1]] == "" {
			continue
		}
		if kind != "" && kind != kindOf[m[1]] {
			return ""
		}
		kind = kindOf[m[1]]
	}
	if kind == "" || len(kind+purpose) > maxAttribute {
		return ""
	}
	return kind + purpose
}

// kindOfTool is the kind of the tool that an attribute is about; "" for another attribute.
func kindOfTool(attribute string) string {
	kind, _, _ := strings.Cut(attribute, "_for_")
	if _, ok := toolKinds[kind]; ok {
		return kind
	}
	return ""
}

// countedThing is a number and what there is so many of, without a name.
var countedThing = regexp.MustCompile(`(?i)^(?:an?|one|two|three|four|five|six|seven|eight|nine|ten|\d+) ((?:[\p{L}-]+ )*[\p{L}-]+)$`)

// countedName is the property of how many there are; "" where one has a name, since others may be beside it.
func countedName(object string) string {
	m := countedThing.FindStringSubmatch(object)
	if m == nil || strings.Contains(object, " named ") || strings.Contains(object, " called ") {
		return ""
	}
	name := englishName(m[1])
	for one, many := range map[string]string{"child": "kids", "children": "kids", "kid": "kids", "puppy": "puppies"} {
		if name == one {
			name = many
		}
	}
	if !strings.HasSuffix(name, "s") {
		name += "s"
	}
	return "number_of_" + name
}
