package secretscan_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/stratamem/strata/internal/language/secretscan"
	"github.com/stratamem/strata/internal/memory"
)

// The keys of the tests are made when they run: no file holds one.
const (
	digits  = "0123456789"
	hexa    = digits + "abcdef"
	small   = "abcdefghijklmnopqrstuvwxyz"
	upper   = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	alnum   = digits + small + upper
	base32  = upper + "234567"
	base64s = alnum + "+/"
)

type maker struct{ *rand.Rand }

func newMaker(seed uint64) maker { return maker{rand.New(rand.NewPCG(seed, 7))} }

func (r maker) of(letters string, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = letters[r.IntN(len(letters))]
	}
	return string(b)
}

func (r maker) pick(from ...string) string { return from[r.IntN(len(from))] }

// card is a number that begins so, with its check digit, in groups.
func (r maker) card(begin string, n int, sign string, groups ...int) string {
	number := begin + r.of(digits, n-1-len(begin))
	for d := byte('0'); ; d++ {
		sum, whole := 0, number+string(d)
		for i := range whole {
			v := int(whole[len(whole)-1-i] - '0')
			if i%2 == 1 {
				v = v*2/10 + v*2%10
			}
			sum += v
		}
		if sum%10 == 0 {
			number = whole
			break
		}
	}
	var parts []string
	for _, g := range groups {
		parts = append(parts, number[:g])
		number = number[g:]
	}
	return strings.Join(append(parts, number), sign)
}

func (r maker) jwt() string {
	return "eyJ" + r.of(alnum, 33) + ".eyJ" + r.of(alnum, 90) + "." + r.of(alnum+"-_", 43)
}

func (r maker) pem(kind string) string {
	var b strings.Builder
	b.WriteString("-----BEGIN " + kind + "-----\n")
	for range 12 {
		b.WriteString(r.of(base64s, 64) + "\n")
	}
	return b.String() + "-----END " + kind + "-----"
}

// planted is a message and the secret in it.
type planted struct{ text, secret string }

// plant makes a hundred messages, each with a secret, as people and agents write them.
func plant(seed uint64) []planted {
	r := newMaker(seed)
	var all []planted
	// A text has %s where the secret stands.
	add := func(text, secret string) { all = append(all, planted{strings.ReplaceAll(text, "%s", secret), secret}) }

	add("my AWS key id is %s, region eu-west-1", "AKIA"+r.of(base32, 16))
	add("aws_secret_access_key = %s", r.of(base64s, 39)+"k")
	add("export AWS_SECRET_ACCESS_KEY=%s", r.of(base64s, 39)+"Q")
	add("[default]\naws_access_key_id=x\naws_secret_access_key=%s\n", r.of(alnum, 40))
	add("use the temporary one: %s.", "ASIA"+r.of(base32, 16))
	add("here is my github token: %s", "ghp_"+r.of(alnum, 36))
	add("git clone https://%s@github.com/a/b", "ghp_"+r.of(alnum, 36))
	add("The bot uses %s, please rotate it", "gho_"+r.of(alnum, 36))
	add("github_pat: `%s`", "github_pat_"+r.of(alnum, 22)+"_"+r.of(alnum, 59))
	add("CI has %s as its token", "ghs_"+r.of(alnum, 36))
	add("glab auth login --token %s", "glpat-"+r.of(alnum, 20))
	add("runner: %s", "glrt-"+r.of(alnum, 20))
	add("The deploy key is %s, use it only for staging.", "sk_live_"+r.of(alnum, 24))
	add("stripe restricted key (%s)", "rk_live_"+r.of(alnum, 30))
	add("test mode: %s", "sk_test_"+r.of(alnum, 24))
	add("slack bot: %s", "xoxb-"+r.of(digits, 12)+"-"+r.of(digits, 12)+"-"+r.of(alnum, 24))
	add("user token %s for the import", "xoxp-"+r.of(digits, 12)+"-"+r.of(digits, 12)+"-"+r.of(digits, 12)+"-"+r.of(hexa, 32))
	add("post it to %s", "https://hooks.slack.com/services/T"+r.of(upper+digits, 8)+"/B"+r.of(upper+digits, 10)+"/"+r.of(alnum, 24))
	add("OPENAI_API_KEY=%s", "sk-proj-"+r.of(alnum, 74)+"T3BlbkFJ"+r.of(alnum, 74))
	add("my openai key is %s", "sk-"+r.of(alnum, 20)+"T3BlbkFJ"+r.of(alnum, 20))
	add("claude: %s", "sk-ant-api03-"+r.of(alnum, 93)+"AA")
	add("with openrouter I use %s", "sk-or-v1-"+r.of(hexa, 64))
	add("groq %s works", "gsk_"+r.of(alnum, 52))
	add("HF token %s", "hf_"+r.of(small+upper, 34))
	add("maps key %s", "AIza"+r.of(alnum, 35))
	add("client secret is %s", "GOCSPX-"+r.of(alnum, 28))
	add("npm login with %s", "npm_"+r.of(alnum, 36))
	add("pypi upload -p %s", "pypi-AgEIcHlwaS5vcmc"+r.of(alnum, 70))
	add("SendGrid: %s", "SG."+r.of(alnum, 22)+"."+r.of(alnum, 43))
	add("mailgun_key: %s", "key-"+r.of(hexa, 32))
	add("twilio %s", "SK"+r.of(hexa, 32))
	add("digitalocean %s", "dop_v1_"+r.of(hexa, 64))
	add("The Databricks one: %s", "dapi"+r.of(hexa, 32))
	add("shopify admin %s", "shpat_"+r.of(hexa, 32))
	add("notion %s", "ntn_"+r.of(digits, 11)+r.of(alnum, 35))
	add("linear %s", "lin_api_"+r.of(alnum, 40))
	add("vault token %s", "hvs."+r.of(alnum, 95))
	add("docker login -p %s", "dckr_pat_"+r.of(alnum, 27))
	add("telegram bot %s", r.of("123456789", 1)+r.of(digits, 9)+":AA"+r.of(alnum, 33))
	add("grafana %s", "glsa_"+r.of(alnum, 32)+"_"+r.of(hexa, 8))
	add("age key: %s", "AGE-SECRET-KEY-1"+r.of("QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", 58))
	add("DATADOG_API_KEY=%s", r.of(hexa, 32))
	add("perplexity %s", "pplx-"+r.of(alnum, 48))
	add("atlassian: %s", "ATATT3"+r.of(alnum, 186))
	add("Planetscale %s", "pscale_tkn_"+r.of(alnum, 43))

	add("Authorization: Bearer %s", r.jwt())
	add("the session token is %s", r.jwt())
	add(`{"access_token":"%s","expires_in":3600}`, r.jwt())
	add("curl -H 'Authorization: Bearer %s' https://api.acme.io/v1", r.of(alnum, 40))
	add("Authorization: Basic %s", r.of(alnum, 24)+"==")
	add("send it with Bearer %s in the header", r.of(alnum, 32))
	add("X-Api-Key: %s", r.of(alnum, 32))
	add("curl -u admin:%s https://jenkins.acme.io", r.of(alnum, 12)+"9!")
	add("GET /v1/data?api_key=%s&page=2", r.of(alnum, 32))

	for _, kind := range []string{"RSA PRIVATE KEY", "PRIVATE KEY", "OPENSSH PRIVATE KEY", "EC PRIVATE KEY", "PGP PRIVATE KEY BLOCK"} {
		add("here:\n%s\nkeep it safe", r.pem(kind))
	}
	add(`{"private_key":"%s\n"}`, strings.ReplaceAll(r.pem("PRIVATE KEY"), "\n", `\n`))

	add("postgres://app:%s@db.internal:5432/app", r.of(alnum, 16))
	add("DATABASE_URL=mysql://root:%s@10.0.0.7/shop", r.of(alnum, 10))
	add("mongodb+srv://svc:%s@cluster0.mongodb.net/?w=majority", r.of(alnum, 14))
	add("redis://:%s@cache:6379/0", r.of(alnum, 20))
	add("Server=tcp:db;Database=x;User ID=sa;Password=%s;Encrypt=true", r.of(alnum, 12)+"!")
	add("DefaultEndpointsProtocol=https;AccountName=acme;AccountKey=%s;EndpointSuffix=core.windows.net", r.of(base64s, 86)+"==")
	add("amqps://guest:%s@mq.acme.io", r.of(alnum, 12))

	add("my password is %s", "hunter2")
	add("My wifi password is %s.", "Tr0ub4dor&3")
	add("the password for the router is %s, don't lose it", r.of(alnum, 7)+"7")
	add("I changed my password to %s", "Summer"+r.of(digits, 4)+"!")
	add("password: %s", "correcthorse"+r.of(digits, 2))
	add("Login ada, passwd=%s", "qwerty"+r.of(digits, 3))
	add("our admin password is \"%s\"", "swordfish")
	add("the password is %s.", "opensesame")
	add(`{"user":"ada","password":"%s"}`, "s3cr3t-"+r.of(digits, 4))
	add("my card's PIN is %s", r.of(digits, 4))
	add("내 비밀번호는 %s야", "hunter2")
	add("비밀번호는 %s입니다", r.of(alnum, 9)+"1")
	add("와이파이 비번: %s", "cafe"+r.of(digits, 4))
	add("패스워드가 %s로 바뀌었어", "Seoul"+r.of(digits, 4)+"!")
	add("API 키는 %s예요", r.of(alnum, 31)+"2")
	add("mi contraseña es %s", "gato"+r.of(digits, 4))
	add("La contraseña del router es %s.", "Madrid!"+r.of(digits, 2))
	add("la clave de la caja es %s", r.of(digits, 6))
	add("パスワードは%sです", "neko"+r.of(digits, 4))
	add("パスワード：%s", r.of(alnum, 10)+"8")
	add("暗証番号は%sです", r.of(digits, 4))
	add("我的密码是%s", "panda"+r.of(digits, 4))
	add("密码：%s", r.of(alnum, 9)+"3")
	add("wifi密码改成%s了", "Beijing"+r.of(digits, 4))

	add("my card is %s, exp 04/29", r.card("4", 16, " ", 4, 4, 4))
	add("Visa %s", r.card("4", 16, "-", 4, 4, 4))
	add("pay with %s", r.card("53", 16, ""))
	add("Amex: %s", r.card("37", 15, " ", 4, 6))
	add("카드번호는 %s 이에요", r.card("54", 16, "-", 4, 4, 4))

	add("and the CVV is %s", r.of(digits, 3))
	add("my seed phrase is %s", strings.TrimSpace(strings.Repeat("ribbon lumber walnut orbit ", 3)))
	add("SMTP_PASSWORD=%s", r.of(alnum, 15)+"4")
	add("JWT_SECRET=%s\nPORT=8080\n", r.of(alnum, 20))
	return all
}

func TestSecretsAreFound(t *testing.T) {
	all, missed := plant(1), 0
	if len(all) != 100 {
		t.Fatalf("%d are planted", len(all))
	}
	for seed := range uint64(5) {
		for _, p := range plant(seed + 1) {
			found := secretscan.Find(p.text)
			if masked := memory.Masked(p.text, found); strings.Contains(masked, p.secret) || len(found) == 0 || leaks(masked, p.secret) {
				missed++
				t.Logf("missed: %q in %q", p.secret, masked)
			}
		}
	}
	t.Logf("%d of 500 missed", missed)
	if missed > 25 {
		t.Errorf("%d of 500 planted secrets were missed, at most 25 may be", missed)
	}
}

var masks = regexp.MustCompile(`\[secret: [^\]]*\]`)

// leaks reports whether a large part of the secret is left.
func leaks(masked, secret string) bool {
	masked = masks.ReplaceAllString(masked, "")
	n := max(len(secret)/2, 6)
	for i := 0; i+n <= len(secret); i++ {
		if strings.Contains(masked, secret[i:i+n]) {
			return true
		}
	}
	return false
}

// honest makes a message without a secret, full of what looks like one.
func honest(r maker, i int) string {
	uuid := func() string {
		return r.of(hexa, 8) + "-" + r.of(hexa, 4) + "-4" + r.of(hexa, 3) + "-a" + r.of(hexa, 3) + "-" + r.of(hexa, 12)
	}
	texts := []func() string{
		func() string { return "commit " + r.of(hexa, 40) + " broke the build, " + r.of(hexa, 7) + " was fine" },
		func() string { return "the image is sha256:" + r.of(hexa, 64) },
		func() string { return "request id " + uuid() + " took 3.2 s" },
		func() string { return "user " + uuid() + " opened order " + uuid() },
		func() string {
			return "I read ISBN 978-" + r.of(digits, 1) + "-" + r.of(digits, 4) + "-" + r.of(digits, 4) + "-" + r.of(digits, 1)
		},
		func() string { return "ISBN 978" + r.of(digits, 10) + " is out of print" },
		func() string { return "call me at +49 " + r.of(digits, 3) + " " + r.of(digits, 8) },
		func() string { return "my number is 010-" + r.of(digits, 4) + "-" + r.of(digits, 4) },
		func() string { return "phone (" + r.of("23456789", 3) + ") " + r.of(digits, 3) + "-" + r.of(digits, 4) },
		func() string { return "order number " + r.of(digits, 10) + " has not arrived" },
		func() string {
			return "Bestellnummer " + r.of(digits, 3) + "-" + r.of(digits, 7) + "-" + r.of(digits, 7)
		},
		func() string { return "tracking 1Z" + r.of(upper+digits, 16) },
		func() string { return "![photo](" + r.of(alnum, 22) + ".png) look" },
		func() string { return "see https://cdn.acme.io/img/" + r.of(base64s[:62], 32) + ".jpg?w=400" },
		func() string { return "https://youtu.be/" + r.of(alnum+"-_", 11) + "?t=" + r.of(digits, 2) },
		func() string { return "docs: https://docs.google.com/document/d/" + r.of(alnum, 44) + "/edit" },
		func() string { return "export OPENAI_API_KEY=your_api_key_here" },
		func() string { return "API_KEY=${API_KEY} docker compose up" },
		func() string { return "client = OpenAI(api_key=os.environ[\"OPENAI_API_KEY\"])" },
		func() string { return "password: <your password>" },
		func() string { return "const token = await getToken(user.id);" },
		func() string { return "type User = { id: number; password: string; token?: string }" },
		func() string { return "postgres://user:password@localhost:5432/db is the example in the docs" },
		func() string { return "sk_live_xxxxxxxxxxxxxxxxxxxxxxxx goes there" },
		func() string { return "I forgot my password again, how do I reset it?" },
		func() string { return "my password is wrong, it says" },
		func() string { return "The password is required and must have 8 characters." },
		func() string { return "비밀번호를 잊어버렸어" },
		func() string { return "비밀번호는 8자 이상이어야 해요" },
		func() string { return "パスワードを忘れました" },
		func() string { return "密码太长了" },
		func() string { return "La clave es la paciencia." },
		func() string { return "olvidé mi contraseña" },
		func() string { return "my monkey is called " + r.pick("Toto", "Coco") + " and he turned 12" },
		func() string { return "the key takeaway: revenue grew 12.5 % in 2024-Q3" },
		func() string { return "primary key: customer_id, foreign key: order_2024_id" },
		func() string { return "version 1.22.333-rc.4+build." + r.of(digits, 8) },
		func() string {
			return "at " + r.of(digits, 13) + " ms since 1970, id " + r.of("123456789", 1) + r.of(digits, 17)
		},
		func() string { return "checksum: md5 " + r.of(hexa, 32) },
		func() string {
			return "IBAN? no; my zip is " + r.of(digits, 5) + " and I was born on 1990-0" + r.of("123456789", 1) + "-1" + r.of(digits, 1)
		},
		func() string { return "The token economy is 3 years old, she said; access was 24/7." },
		func() string { return "go.sum: h1:" + r.of(base64s, 43) + "=" },
		func() string { return "ETag: \"" + r.of(hexa, 32) + "\"" },
		func() string { return "trace " + r.of(hexa, 32) + " span " + r.of(hexa, 16) },
		func() string { return "tokens: 12345 in, 678 out, author: j.smith2001" },
		func() string {
			return "MAC " + r.of(hexa, 2) + ":" + r.of(hexa, 2) + ":" + r.of(hexa, 2) + ":" + r.of(hexa, 2) + ":1a:2b, IPv6 fe80::" + r.of(hexa, 4)
		},
		func() string { return "the secret is to cook it slowly, 45 minutes at 180 degrees" },
		func() string { return "lat 48.137154, lon 11.576124, on page " + r.of(digits, 3) },
		func() string { return "docker pull ghcr.io/acme/app@sha256:" + r.of(hexa, 64) },
		func() string { return "session " + r.of(alnum, 20) + " ended; job " + r.of(digits, 16)[:12] },
	}
	return texts[i%len(texts)]()
}

func TestHonestMessagesAreLeftAlone(t *testing.T) {
	r, masked := newMaker(3), 0
	for i := range 1000 {
		text := honest(r, i)
		if found := secretscan.Find(text); len(found) > 0 {
			masked++
			t.Logf("masked: %s", memory.Masked(text, found))
		}
	}
	t.Logf("%d of 1000 masked", masked)
	if masked > 10 {
		t.Errorf("%d of 1000 honest messages were masked, at most 10 may be", masked)
	}
}

func TestFind(t *testing.T) {
	t.Run("what is found does not depend on what stands around it", func(t *testing.T) {
		for _, p := range plant(9) {
			if len(secretscan.Find(p.text)) == 0 {
				continue
			}
			text := strings.Repeat("All work and no play. ", 500) + "\n" + p.text + "\n" + strings.Repeat("나무 아래. ", 500)
			if masked := memory.Masked(text, secretscan.Find(text)); strings.Contains(masked, p.secret) {
				t.Errorf("%q is not found within a long text", p.text)
			}
		}
	})
	t.Run("a masked text has no secrets", func(t *testing.T) {
		for _, p := range plant(4) {
			masked := memory.Masked(p.text, secretscan.Find(p.text))
			if again := secretscan.Find(masked); len(again) > 0 {
				t.Errorf("%q has %v", masked, again)
			}
		}
	})
	t.Run("spans ascend, are apart, within the text and at borders of characters", func(t *testing.T) {
		r := newMaker(5)
		for range 300 {
			text := r.pick("비밀번호는 ", "password: ", "key=", "🔑") + plant(r.Uint64())[r.IntN(100)].text + r.pick("야", "🔑", "", "\xff\xfe")
			end := 0
			for _, s := range secretscan.Find(text) {
				if s.Start < end || s.End <= s.Start || s.End > len(text) || s.Kind == "" {
					t.Fatalf("%v in %q", s, text)
				}
				end = s.End
			}
		}
	})
	t.Run("a private key that is cut off is found up to its end", func(t *testing.T) {
		key := newMaker(6).pem("RSA PRIVATE KEY")
		text := "key:\n" + key[:400] + "\n\nwhat next?"
		if got := memory.Masked(text, secretscan.Find(text)); got != "key:\n[secret: private key]\n\nwhat next?" {
			t.Errorf("%q", got)
		}
	})
}

// hostile are texts that are made to be slow to read.
func hostile() map[string]string {
	r := newMaker(8)
	fill := func(unit string) string { return strings.Repeat(unit, 2<<20/len(unit)) }
	many := func(unit func() string) string {
		var b strings.Builder
		for b.Len() < 2<<20 {
			b.WriteString(unit())
		}
		return b.String()
	}
	return map[string]string{
		"prose":           fill("The token of the month goes to Ada, who passed her key exam in April. "),
		"key":             fill("key"),
		"key=":            fill("key="),
		"keys and values": many(func() string { return "api_key=" + r.of(alnum, 10) + " " }),
		"short values":    many(func() string { return "key:" + r.of(alnum, 8) + "," }),
		"ey":              fill("ey.ey-ey "),
		"tokens":          many(func() string { return "ghp_" + r.of(alnum, 36) + " " }),
		"begin":           fill("-----BEGIN PRIVATE KEY-----"),
		"base64":          r.of(base64s, 2<<20),
		"digits":          r.of(digits, 2<<20),
		"groups":          fill("4111 1111 1111 1112 "),
		"context words":   fill("facebook sourcegraph intra cloudflare "),
		"passwords":       fill("password is password is "),
		"url":             fill("://a:"),
		"seed words":      fill("seed phrase: zoo zoo zoo zoo zoo zoo zoo zoo zoo zoo zoo "),
		"bearer":          fill("bearer aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa "),
		"one value":       "token=" + r.of(alnum, 2<<20),
		"blanks":          fill("secret                    "),
		"korean":          fill("비밀번호는 이제 "),
	}
}

// BenchmarkMark is what a turn costs whose one message is made to be slow to read.
func BenchmarkMark(b *testing.B) {
	for name, text := range hostile() {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				secretscan.Mark([][]memory.Part{{memory.TextPart(text)}})
			}
		})
	}
}

func BenchmarkFind(b *testing.B) {
	texts := hostile()
	texts["a short message"] = "I moved to Lisbon last week, and my sister's new number is 555-0142."
	for name, text := range texts {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				secretscan.Find(text)
			}
		})
	}
}

func FuzzFind(f *testing.F) {
	for _, p := range plant(2) {
		f.Add(p.text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		end := 0
		for _, s := range secretscan.Find(text) {
			if s.Start < end || s.End <= s.Start || s.End > len(text) {
				t.Fatalf("%v", s)
			}
			end = s.End
		}
		_ = fmt.Sprint(memory.Masked(text, secretscan.Find(text)))
	})
}
