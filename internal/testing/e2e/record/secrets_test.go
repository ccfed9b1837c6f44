package record_test

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/contexts/contextprofile"
	"github.com/stratamem/strata/internal/program/config"
	"github.com/stratamem/strata/internal/testing/e2e"
	"github.com/stratamem/strata/internal/testing/llmtest"
)

func newSecrets() e2e.PlantedSecrets {
	r := rand.New(rand.NewPCG(1, 2))
	of := func(n int) string {
		const letters = "bcdfghjkmnpqrstvwxyzBCDFGHJKMNPQRSTVWXYZ23456789"
		b := make([]byte, n)
		for i := range b {
			b[i] = letters[r.IntN(len(letters))]
		}
		return string(b)
	}
	return e2e.PlantedSecrets{
		Password: "Zq7" + of(9), Token: "ghp_" + of(36), Card: "4539 1488 0343 6467", URL: of(14) + "1", Called: "glpat-" + of(20), Answered: "sk_live_" + of(24),
		Pending: "hf_" + strings.Map(func(r rune) rune {
			if '0' <= r && r <= '9' {
				return 'q'
			}
			return r
		}, of(34)),
		Metadata: "npm_" + of(36), Patched: "dop_v1_" + strings.Repeat("0a1b2c3d4e5f6789", 4),
	}
}

// heard is all that models were sent.
type heard struct {
	mu   sync.Mutex
	said []string
}

func (h *heard) Add(s ...string) {
	h.mu.Lock()
	h.said = append(h.said, s...)
	h.mu.Unlock()
}

func (h *heard) All() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.said)
}

// eager starts a model that learns and sums up whatever it reads and keeps what it was sent, and configures it.
func eager(t *testing.T) (*heard, func(*config.Config)) {
	t.Helper()
	h := &heard{}
	model := llmtest.New(llmtest.Options{
		Chat: func(r llmtest.Request) llmtest.Reply {
			h.Add(r.System, r.User)
			return e2e.Glad(r)
		},
		Embed: func(r llmtest.EmbedRequest) llmtest.EmbedReply {
			h.Add(r.Texts...)
			return llmtest.EmbedReply{}
		},
	})
	t.Cleanup(model.Close)
	return h, func(c *config.Config) {
		c.ChatBaseURL, c.SummaryModel, c.ExtractionModel = model.URL(), "scripted", "scripted"
		c.EmbeddingBaseURL, c.EmbeddingModel = model.URL(), "embedder"
		c.MetricsListen = "127.0.0.1:0"
	}
}

// TestSecretsStayInTheMessages: what nobody may learn from a copy is nowhere but in the messages that say it.
func TestSecretsStayInTheMessages(t *testing.T) {
	t.Parallel()
	s := newSecrets()
	models, configured := eager(t)
	h := e2e.StartOn(t, filepath.Join(t.TempDir(), "strata.db"), configured)
	made, transcript := h.TellSecrets(t, s)
	mustHideSecrets(t, s, models, made, h)
	for _, secret := range s.All() {
		if secret != s.Pending && !strings.Contains(allOf(t, transcript), secret) {
			t.Errorf("the transcript has lost %s", secret)
		}
	}
	recent := e2e.Must(h.BuildContext(h.Ctx, &memoryv1.BuildContextRequest{UserId: "ada", SessionId: "s", Render: memoryv1.Render_RENDER_TEXT}))(t)
	if text := recent.GetRendering(); !strings.Contains(text, s.Token) || !strings.Contains(text, s.Password) {
		t.Errorf("the recent messages are not as they were recorded: %s", text)
	}
	h.Stop()
	for table, found := range secretsByTable(t, h.Data, s) {
		// State is what the caller sets: the patches of turns, and what they came to.
		if state := table == "session_state" || table == "turns" && !slices.ContainsFunc(found, func(c string) bool { return c != "state_patch" }); !state &&
			table != "messages" && table != "originals" {
			t.Errorf("the table %s holds %q", table, found)
		}
	}
}

// TestSecretsMaskedEverywhereAreStoredNowhere: with mask-secrets at everywhere no file of the server has one.
func TestSecretsMaskedEverywhereAreStoredNowhere(t *testing.T) {
	t.Parallel()
	s := newSecrets()
	models, configured := eager(t)
	dir := t.TempDir()
	h := e2e.StartOn(t, filepath.Join(dir, "strata.db"), func(c *config.Config) {
		configured(c)
		p := c.Profiles["default"]
		p.MaskSecrets = "everywhere"
		c.Profiles["default"] = p
	})
	made, transcript := h.TellSecrets(t, s)
	mustHideSecrets(t, s, models, append(made, transcript...), h)
	again := e2e.Must(h.Record(h.Ctx, &memoryv1.RecordRequest{
		UserId: "ada", SessionId: "s", RequestId: "r1", Messages: s.Turn(t), StatePatch: e2e.Object("registry", e2e.StructString(s.Patched)),
	}))(t)
	resent := e2e.Must(h.Record(h.Ctx, &memoryv1.RecordRequest{UserId: "ada", SessionId: "s", Messages: s.Turn(t)}))(t)
	if again.GetLastSeq() != 5 || len(resent.GetDeduplicatedIds()) != 5 {
		t.Errorf("the same turn again: %v, %v", again, resent)
	}
	h.Stop()
	files := e2e.Must(os.ReadDir(dir))(t)
	for _, f := range files {
		if found := s.In(string(e2e.Must(os.ReadFile(filepath.Join(dir, f.Name())))(t))); len(found) > 0 {
			t.Errorf("the file %s holds %q", f.Name(), found)
		}
	}
	if len(files) == 0 {
		t.Error("there are no files")
	}
}

// TestSecretsInWhatACallerWritesBesideMessages: titles, labels and corrections are masked where the profile says so, before they
// are stored.
func TestSecretsInWhatACallerWritesBesideMessages(t *testing.T) {
	t.Parallel()
	const secret = "hunter2-Zebra9"
	const says, masked = "my password is " + secret, "my password is [secret: password]"
	for profile, want := range map[string]struct{ title, metadata, labels, correction string }{
		"nowhere":    {says, says, says, says},
		"memory":     {masked, says, says, masked},
		"everywhere": {masked, masked, masked, masked},
	} {
		t.Run(profile, func(t *testing.T) {
			h := e2e.StartOn(t, filepath.Join(t.TempDir(), "strata.db"), func(c *config.Config) {
				p := c.Profiles["default"]
				p.MaskSecrets = contextprofile.MaskSecrets(profile)
				c.Profiles["default"] = p
			})
			h.RecordTurn(t, "s", e2e.User("m1", "I moved to Lisbon in May and I work as a baker."), e2e.Assistant("", "Lisbon is a fine place for bakers."))
			h.Summarize(t, "s")
			session := e2e.Must(h.UpdateSession(h.Ctx, &memoryv1.UpdateSessionRequest{Session: &memoryv1.Session{
				UserId: "ada", SessionId: "s", Title: says, Metadata: e2e.Object("note", e2e.StructString(says)),
			}}))(t).GetSession()
			message := e2e.Must(h.UpdateMessage(h.Ctx, &memoryv1.UpdateMessageRequest{UserId: "ada", SessionId: "s", Message: &memoryv1.Message{
				Id: "m1", Tags: []string{says}, Metadata: e2e.Object("note", e2e.StructString(says)),
			}}))(t).GetMessage()
			sum := e2e.Must(h.Summaries().UpdateSummary(h.Ctx, &memoryv1.UpdateSummaryRequest{Summary: &memoryv1.Summary{
				UserId: "ada", Kind: memoryv1.SummaryKind_SUMMARY_KIND_SESSION, SessionId: "s", Text: says,
			}}))(t).GetSummary()
			note := func(of *structpb.Struct) string { return of.GetFields()["note"].GetStringValue() }
			got := []string{session.GetTitle(), note(session.GetMetadata()), message.GetTags()[0], note(message.GetMetadata()), sum.GetText()}
			if wants := []string{want.title, want.metadata, want.labels, want.labels, want.correction}; !slices.Equal(got, wants) {
				t.Errorf("got %q, want %q", got, wants)
			}
			h.Stop()
			if found := filesWith(t, h.Data, secret); want.labels == masked && len(found) > 0 {
				t.Errorf("%v hold the secret", found)
			}
		})
	}
}

// filesWith are the files of a database that hold some words.
func filesWith(t *testing.T, path, words string) []string {
	t.Helper()
	var found []string
	for _, name := range e2e.Must(filepath.Glob(path + "*"))(t) {
		if strings.Contains(string(e2e.Must(os.ReadFile(name))(t)), words) {
			found = append(found, name)
		}
	}
	return found
}

func mustHideSecrets(t *testing.T, s e2e.PlantedSecrets, models *heard, made []proto.Message, h *e2e.Server) {
	t.Helper()
	prompts := models.All()
	for _, p := range prompts {
		if found := s.In(p); len(found) > 0 {
			t.Errorf("a model was sent %q in %.300q", found, p)
		}
	}
	if all := strings.Join(prompts, "\n"); !strings.Contains(all, "[secret: password") || !strings.Contains(all, "Lisbon") {
		t.Error("the models were not sent the messages")
	}
	for _, reply := range made {
		if text := e2e.Encode(t, reply); len(s.In(text)) > 0 {
			t.Errorf("%T holds %q: %.400s", reply, s.In(text), text)
		}
	}
	if text := allOf(t, made); !strings.Contains(text, "[secret: password]") {
		t.Error("nothing was recalled with a mask")
	}
	for name, text := range map[string]string{"log": h.Log.String(), "metrics": h.Scrape(t)} {
		if found := s.In(text); len(found) > 0 {
			t.Errorf("%s hold %q", name, found)
		}
	}
}

func allOf(t *testing.T, replies []proto.Message) string {
	t.Helper()
	var b strings.Builder
	for _, r := range replies {
		b.WriteString(e2e.Encode(t, r))
		if list, ok := r.(*memoryv1.ListMessagesResponse); ok {
			for _, m := range list.GetMessages() {
				b.Write(m.GetOriginal().GetData())
			}
		}
	}
	return b.String()
}

// secretsByTable are the secrets in a data file, by the tables that hold them.
func secretsByTable(t *testing.T, path string, s e2e.PlantedSecrets) map[string][]string {
	t.Helper()
	db := e2e.Must(sql.Open("sqlite", path))(t)
	defer func() { _ = db.Close() }()
	out := map[string][]string{}
	eachRow(t, db, `SELECT name FROM sqlite_schema WHERE type = 'table'`, func(_ []string, table []any) {
		name := fmt.Sprintf("%s", table[0])
		eachRow(t, db, `SELECT * FROM "`+name+`"`, func(columns []string, values []any) {
			for i, v := range values {
				if found := s.In(fmt.Sprintf("%s", v)); len(found) > 0 {
					out[name] = append(out[name], columns[i])
				}
			}
		})
	})
	if len(out) == 0 {
		t.Error("no table holds a secret: the search finds nothing")
	}
	return out
}

// eachRow calls of with every row of a query.
func eachRow(t *testing.T, db *sql.DB, query string, of func(columns []string, values []any)) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	columns := e2e.Must(rows.Columns())(t)
	for rows.Next() {
		values, into := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		of(columns, values)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
}

// TestSecretsStayInTheMessagesOnRealServers is the same over MongoDB, Milvus and Elasticsearch.
func TestSecretsStayInTheMessagesOnRealServers(t *testing.T) {
	t.Parallel()
	s := newSecrets()
	models, configured := eager(t)
	r := e2e.OnBackends(t, configured)
	made, _ := r.TellSecrets(t, s)
	mustHideSecrets(t, s, models, made, r.Server)
	client := e2e.Must(mongo.Connect(options.Client().ApplyURI(r.Corner.MongoDB)))(t)
	defer func() { _ = client.Disconnect(context.WithoutCancel(t.Context())) }()
	db := client.Database(r.Corner.Name)
	held := 0
	for _, name := range e2e.Must(db.ListCollectionNames(t.Context(), bson.D{}))(t) {
		var docs []bson.Raw
		if err := e2e.Must(db.Collection(name).Find(t.Context(), bson.D{}))(t).All(t.Context(), &docs); err != nil {
			t.Fatal(err)
		}
		for _, doc := range docs {
			if found := s.In(string(doc)); len(found) > 0 {
				held++
				if name != "turns" && name != "conversations" { // messages and states
					t.Errorf("the collection %s holds %q", name, found)
				}
			}
		}
	}
	if held == 0 {
		t.Error("no collection holds a secret: the search finds nothing")
	}
	e2e.Eventually(t, "the index has what was said beside the secrets", func() bool { return r.Indexed(t, "lisbon") > 0 })
	for _, secret := range s.All() {
		if n := r.Indexed(t, "*"+core(secret)+"*"); n > 0 {
			t.Errorf("Elasticsearch finds %d rows by the middle of %q", n, secret)
		}
	}
}

// core is the middle of the longest run of letters and digits, in lower case: what stemming leaves of a secret.
func core(secret string) string {
	longest := ""
	for _, run := range strings.FieldsFunc(strings.ToLower(secret), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		if len(run) > len(longest) {
			longest = run
		}
	}
	return longest[len(longest)/4 : max(len(longest)*3/4, len(longest)/4+3)]
}
