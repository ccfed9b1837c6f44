package mongostore_test

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

func TestMessagesThatWereStoredBeforeSecretsWereNotedAreLookedThrough(t *testing.T) {
	name := database(t)
	s := open(t, name)
	ref := memory.UserRef{Tenant: "t", UserID: "ada"}.Session("s")
	p := benchTurn(ref, 1)
	p.Messages[0].Parts = []memory.Part{memory.TextPart("my password is hunter2, ok?")}
	if _, err := s.Append(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	meta := client(t).Database(name).Collection("meta")
	if _, err := meta.UpdateOne(t.Context(), bson.D{{Key: "_id", Value: "schema"}}, bson.D{{Key: "$set", Value: bson.D{{Key: "version", Value: 6}}}}); err != nil {
		t.Fatal(err)
	}
	messages, err := open(t, name).Messages(t.Context(), store.MessageQuery{Ref: ref, Limit: 9})
	if err != nil {
		t.Fatal(err)
	}
	if m := messages[0]; m.SaidText() != "my password is [secret: password], ok?" || m.PlainText() != "my password is hunter2, ok?" {
		t.Errorf("%q", m.SaidText())
	}
}
