package mongostore_test

import (
	"slices"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/store"
)

func TestSessionsOfAnEarlierSchemaAreBroughtUp(t *testing.T) {
	name := database(t)
	s := open(t, name)
	user := memory.UserRef{Tenant: "t", UserID: "ada"}
	first := benchTurn(user.Session("hides"), 2)
	said := first.Time.Add(-90 * 24 * time.Hour)
	first.Messages[0].CreateTime, first.Messages[1].CreateTime = said, said.Add(-time.Hour)
	hidden := true
	for _, p := range []store.AppendParams{first, benchTurn(user.Session("shows"), 2)} {
		if _, err := s.Append(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	hide := store.MessageUpdate{Ref: first.Ref, MessageID: first.Messages[0].ID, Hidden: &hidden, Time: first.Time}
	if _, err := s.UpdateMessage(t.Context(), hide); err != nil {
		t.Fatal(err)
	}
	db := client(t).Database(name)
	set := func(collection string, filter, change bson.D) {
		t.Helper()
		if _, err := db.Collection(collection).UpdateMany(t.Context(), filter, change); err != nil {
			t.Fatal(err)
		}
	}
	set("conversations", bson.D{}, bson.D{{Key: "$unset", Value: bson.D{{Key: "last_message_time", Value: ""}, {Key: "look_at", Value: ""}}}})
	set("turns", bson.D{}, bson.D{{Key: "$unset", Value: bson.D{{Key: "last_message_time", Value: ""}}}})
	set("meta", bson.D{{Key: "_id", Value: "schema"}}, bson.D{{Key: "$set", Value: bson.D{{Key: "version", Value: 7}}}})
	s = open(t, name)

	t.Run("they say when they were last spoken in", func(t *testing.T) {
		head, err := s.Session(t.Context(), first.Ref)
		if err != nil || !head.LastMessageTime.Equal(said) {
			t.Errorf("last spoken in at %v, want %v; error %v", head.LastMessageTime, said, err)
		}
	})
	t.Run("those with single hidden messages are looked at, and no others", func(t *testing.T) {
		refs, err := s.PendingSessions(t.Context(), first.Time, 9)
		if err != nil || !slices.Equal(refs, []memory.SessionRef{first.Ref}) {
			t.Errorf("pending are %v, error %v", refs, err)
		}
	})
}
