package record_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/testing/e2e"
)

// fileOf puts a document of ada's under notes/… and returns it.
func fileOf(t *testing.T, h *e2e.Server, key, value string, namespace ...string) *memoryv1.Document {
	t.Helper()
	return e2e.Must(h.Documents().PutDocument(h.Ctx, &memoryv1.PutDocumentRequest{Document: &memoryv1.Document{
		UserId: "ada", Namespace: append([]string{"notes"}, namespace...), Key: key, ValueJson: value,
	}}))(t).GetDocument()
}

// foundKeys are the keys of what a search finds, best first.
func foundKeys(t *testing.T, h *e2e.Server, req *memoryv1.SearchDocumentsRequest) string {
	t.Helper()
	req.UserId = "ada"
	var keys []string
	for _, hit := range e2e.Must(h.Documents().SearchDocuments(h.Ctx, req))(t).GetHits() {
		keys = append(keys, hit.GetDocument().GetKey())
	}
	return strings.Join(keys, " ")
}

func TestDocuments(t *testing.T) {
	t.Parallel()
	h := e2e.Start(t)
	t.Run("a value comes back as its text was, and as an object", func(t *testing.T) {
		const value = `{"b":1.50,"a":[9007199254740993,null],"ü":"é"}`
		put := fileOf(t, h, "exact", value)
		if put.GetEtag() == "" || put.GetValue() != nil || put.GetValueJson() != "" || put.GetCreateTime() == nil {
			t.Errorf("put %v", put)
		}
		get := &memoryv1.GetDocumentRequest{UserId: "ada", Namespace: []string{"notes"}, Key: "exact", AsJson: true}
		if got := e2e.Must(h.Documents().GetDocument(h.Ctx, get))(t).GetDocument().GetValueJson(); got != value {
			t.Errorf("got %s", got)
		}
		get.AsJson = false
		if got := e2e.Must(h.Documents().GetDocument(h.Ctx, get))(t).GetDocument().GetValue().AsMap(); got["b"] != 1.5 || got["ü"] != "é" {
			t.Errorf("got %v", got)
		}
	})
	t.Run("documents are found by words and meaning under a prefix, as a filter admits them", func(t *testing.T) {
		fileOf(t, h, "porridge", `{"note": "Oat porridge with blueberries for breakfast", "rating": 5}`, "food")
		fileOf(t, h, "soup", `{"note": "Leek soup in the evening", "rating": 3}`, "food")
		fileOf(t, h, "kayak", `{"note": "The kayak needs a new paddle", "rating": 5}`, "boats")
		if got := foundKeys(t, h, &memoryv1.SearchDocumentsRequest{Query: "blueberries"}); !strings.HasPrefix(got, "porridge") {
			t.Errorf("found %s", got)
		}
		if got := foundKeys(t, h, &memoryv1.SearchDocumentsRequest{Query: "paddles", NamespacePrefix: []string{"notes", "boats"}}); got != "kayak" {
			t.Errorf("found %s", got)
		}
		for filter, want := range map[string]string{
			`{"rating": 5}`:                     "kayak porridge",
			`{"rating": {"$lt": 5}}`:            "soup",
			`{"rating": {"$gte": 3, "$ne": 3}}`: "kayak porridge",
		} {
			f := &structpb.Struct{}
			if err := f.UnmarshalJSON([]byte(filter)); err != nil {
				t.Fatal(err)
			}
			if got := foundKeys(t, h, &memoryv1.SearchDocumentsRequest{Filter: f}); got != want {
				t.Errorf("%s found %s, want %s, the latest first", filter, got, want)
			}
		}
		if got := foundKeys(t, h, &memoryv1.SearchDocumentsRequest{PageSize: 1, Offset: 1}); got != "soup" {
			t.Errorf("the second latest is %s", got)
		}
	})
	t.Run("what shares nothing with the query follows what does, where that is asked for", func(t *testing.T) {
		for _, d := range []*memoryv1.Document{
			{Key: "soup", ValueJson: `{"note": "Leek soup in the evening"}`},
			{Key: "kayak", ValueJson: `{"note": "The kayak needs a new paddle"}`},
			{Key: "count", ValueJson: `{"count": 3}`},
			{Key: "secret", ValueJson: `{"note": "Leek soup"}`, Unindexed: true},
		} {
			d.UserId, d.Namespace = "ada", []string{"mixed"}
			e2e.Must(h.Documents().PutDocument(h.Ctx, &memoryv1.PutDocumentRequest{Document: d}))(t)
		}
		search := func(change func(*memoryv1.SearchDocumentsRequest)) string {
			req := &memoryv1.SearchDocumentsRequest{NamespacePrefix: []string{"mixed"}, Query: "paddle of a kayak"}
			change(req)
			return foundKeys(t, h, req)
		}
		if got := search(func(*memoryv1.SearchDocumentsRequest) {}); got != "kayak" {
			t.Errorf("without them found %s", got)
		}
		all := func(req *memoryv1.SearchDocumentsRequest) { req.IncludeUnrelated = true }
		if got := search(all); got != "kayak soup" {
			t.Errorf("with them found %s", got)
		}
		if got := search(func(req *memoryv1.SearchDocumentsRequest) { all(req); req.Offset, req.PageSize = 1, 1 }); got != "soup" {
			t.Errorf("the second is %s", got)
		}
		if got := search(func(req *memoryv1.SearchDocumentsRequest) { all(req); req.MinScore = .1 }); got != "kayak" {
			t.Errorf("with a least score found %s", got)
		}
	})
	t.Run("what is put again, deleted or not to be searched is found as it is now", func(t *testing.T) {
		fileOf(t, h, "changing", `{"note": "a trumpet"}`)
		if got := foundKeys(t, h, &memoryv1.SearchDocumentsRequest{Query: "trumpet", PageSize: 1}); got != "changing" {
			t.Errorf("found %s", got)
		}
		fileOf(t, h, "changing", `{"note": "a violin"}`)
		if got := foundKeys(t, h, &memoryv1.SearchDocumentsRequest{Query: "violin", PageSize: 1}); got != "changing" {
			t.Errorf("found %s", got)
		}
		e2e.Must(h.Documents().DeleteDocument(h.Ctx, &memoryv1.DeleteDocumentRequest{UserId: "ada", Namespace: []string{"notes"}, Key: "changing"}))(t)
		if got := foundKeys(t, h, &memoryv1.SearchDocumentsRequest{Query: "violin"}); strings.Contains(got, "changing") {
			t.Errorf("found %s", got)
		}
		e2e.Must(h.Documents().PutDocument(h.Ctx, &memoryv1.PutDocumentRequest{Document: &memoryv1.Document{
			UserId: "ada", Namespace: []string{"notes"}, Key: "hidden", ValueJson: `{"note": "a bassoon"}`, Unindexed: true,
		}}))(t)
		e2e.Must(h.Documents().PutDocument(h.Ctx, &memoryv1.PutDocumentRequest{Document: &memoryv1.Document{
			UserId: "ada", Namespace: []string{"notes"}, Key: "part", ValueJson: `{"title": "an oboe", "body": "a bassoon"}`, IndexFields: []string{"title"},
		}}))(t)
		if got := foundKeys(t, h, &memoryv1.SearchDocumentsRequest{Query: "bassoon", MinScore: .9}); got != "" {
			t.Errorf("found %s", got)
		}
		if got := foundKeys(t, h, &memoryv1.SearchDocumentsRequest{Query: "oboe", PageSize: 1}); got != "part" {
			t.Errorf("found %s", got)
		}
	})
	t.Run("a list goes by namespace and key, page by page, and namespaces match patterns", func(t *testing.T) {
		var keys []string
		req := &memoryv1.ListDocumentsRequest{UserId: "ada", NamespacePrefix: []string{"notes", "food"}, PageSize: 1}
		for {
			page := e2e.Must(h.Documents().ListDocuments(h.Ctx, req))(t)
			for _, d := range page.GetDocuments() {
				keys = append(keys, d.GetKey())
			}
			if req.PageToken = page.GetNextPageToken(); req.GetPageToken() == "" {
				break
			}
		}
		if got := strings.Join(keys, " "); got != "porridge soup" {
			t.Errorf("listed %s", got)
		}
		namespaces := e2e.Must(h.Documents().ListNamespaces(h.Ctx, &memoryv1.ListNamespacesRequest{UserId: "ada", Suffix: []string{"*", "food"}}))(t).GetNamespaces()
		if len(namespaces) != 1 || strings.Join(namespaces[0].GetLabels(), "/") != "notes/food" {
			t.Errorf("namespaces %v", namespaces)
		}
	})
	t.Run("a stale etag is refused, and a document that has another stays", func(t *testing.T) {
		first := fileOf(t, h, "etag", `{"n": 1}`)
		second := fileOf(t, h, "etag", `{"n": 2}`)
		_, err := h.Documents().PutDocument(h.Ctx, &memoryv1.PutDocumentRequest{Document: &memoryv1.Document{
			UserId: "ada", Namespace: []string{"notes"}, Key: "etag", ValueJson: `{"n": 3}`, Etag: first.GetEtag(),
		}})
		e2e.Refused(t, err, codes.Aborted, "ETAG_MISMATCH", "")
		got := e2e.Must(h.Documents().GetDocument(h.Ctx, &memoryv1.GetDocumentRequest{UserId: "ada", Namespace: []string{"notes"}, Key: "etag"}))(t).GetDocument()
		if got.GetEtag() != second.GetEtag() {
			t.Errorf("got %v", got)
		}
	})
	t.Run("a read begins the time to live anew, unless it is to be kept", func(t *testing.T) {
		put := e2e.Must(h.Documents().PutDocument(h.Ctx, &memoryv1.PutDocumentRequest{Document: &memoryv1.Document{
			UserId: "ada", Namespace: []string{"brief"}, Key: "k", ValueJson: `{"note": "soon gone"}`, Ttl: durationpb.New(time.Hour),
		}}))(t).GetDocument()
		get := func(keep bool) time.Time {
			r := e2e.Must(h.Documents().GetDocument(h.Ctx, &memoryv1.GetDocumentRequest{UserId: "ada", Namespace: []string{"brief"}, Key: "k", KeepTtl: keep}))(t)
			return r.GetDocument().GetExpireTime().AsTime()
		}
		first := put.GetExpireTime().AsTime()
		if !get(true).Equal(first) {
			t.Error("a read that keeps the time to live changed it")
		}
		renewed := get(false)
		if !renewed.After(first) || !get(true).Equal(renewed) {
			t.Errorf("expires at %v, and after a read at %v", first, renewed)
		}
	})
	t.Run("bad requests name the field, and nothing is stored", func(t *testing.T) {
		for field, d := range map[string]*memoryv1.Document{
			"document.namespace":       {Key: "k", ValueJson: "{}"},
			"document.namespace[1]":    {Namespace: []string{"a", ""}, Key: "k", ValueJson: "{}"},
			"document.key":             {Namespace: []string{"a"}, ValueJson: "{}"},
			"document.value":           {Namespace: []string{"a"}, Key: "k"},
			"document.value_json":      {Namespace: []string{"a"}, Key: "k", ValueJson: `[1]`},
			"document.ttl":             {Namespace: []string{"a"}, Key: "k", ValueJson: "{}", Ttl: durationpb.New(time.Millisecond)},
			"document.index_fields[0]": {Namespace: []string{"a"}, Key: "k", ValueJson: "{}", IndexFields: []string{"a..b"}},
		} {
			d.UserId = "nobody"
			_, err := h.Documents().PutDocument(h.Ctx, &memoryv1.PutDocumentRequest{Document: d})
			e2e.Refused(t, err, codes.InvalidArgument, "FIELD_INVALID", field)
		}
		large := fmt.Sprintf(`{"a": "%s"}`, strings.Repeat("x", 64<<10))
		_, err := h.Documents().PutDocument(h.Ctx, &memoryv1.PutDocumentRequest{Document: &memoryv1.Document{UserId: "nobody", Namespace: []string{"a"}, Key: "k", ValueJson: large}})
		e2e.Refused(t, err, codes.InvalidArgument, "FIELD_INVALID", "document.value_json")
		filter := e2e.Must(structpb.NewStruct(map[string]any{"a": map[string]any{"$in": "x"}}))(t)
		_, err = h.Documents().SearchDocuments(h.Ctx, &memoryv1.SearchDocumentsRequest{UserId: "ada", Filter: filter})
		e2e.Refused(t, err, codes.InvalidArgument, "FIELD_INVALID", "filter.a")
		_, err = h.Users().GetUser(h.Ctx, &memoryv1.GetUserRequest{UserId: "nobody"})
		e2e.Refused(t, err, codes.NotFound, "USER_NOT_FOUND", "")
	})
	t.Run("documents go with the user to another server, and what was deleted does not come back with a file", func(t *testing.T) {
		fileOf(t, h, "gone", `{"note": "to be deleted"}`)
		file := e2e.Must(h.Export(t, "ada"))(t)
		before := listAll(t, h, "ada")
		other := e2e.Start(t)
		if r := e2e.Must(other.Imported(other.Ctx, "ada", file, 1<<20))(t); int(r.GetDocuments()) != len(before) {
			t.Errorf("imported %v", r)
		}
		if after := listAll(t, other, "ada"); strings.Join(after, "\n") != strings.Join(before, "\n") {
			t.Errorf("before %v\nafter %v", before, after)
		}
		e2e.Must(h.Documents().DeleteDocument(h.Ctx, &memoryv1.DeleteDocumentRequest{UserId: "ada", Namespace: []string{"notes"}, Key: "gone"}))(t)
		r := e2e.Must(h.Merged(h.Ctx, "ada", file, 1<<20, memoryv1.OnConflict_ON_CONFLICT_OVERWRITE))(t)
		if r.GetLeftDocuments() != 1 || int(r.GetDocuments()) != len(before)-1 {
			t.Errorf("imported over: %v", r)
		}
		fileOf(t, h, "gone", `{"note": "put since"}`)
		e2e.Must(h.Merged(h.Ctx, "ada", file, 1<<20, memoryv1.OnConflict_ON_CONFLICT_OVERWRITE))(t)
		if after := strings.Join(listAll(t, h, "ada"), "\n"); strings.Contains(after, "to be deleted") || !strings.Contains(after, "put since") {
			t.Errorf("after a file of before came over what was put since:\n%s", after)
		}
	})
	t.Run("a value's brackets in strings are no levels, and 33 levels are refused", func(t *testing.T) {
		for value, code := range map[string]codes.Code{
			`{"a": "` + strings.Repeat(`[{\\\"`, 40) + `"}`:                         codes.OK,
			`{"a": ` + strings.Repeat("[", 31) + strings.Repeat("]", 31) + `}`:      codes.OK,
			`{"a": ` + strings.Repeat("[", 32) + strings.Repeat("]", 32) + `}`:      codes.InvalidArgument,
			`{"a": "\\", "b": ` + strings.Repeat("[", 32) + strings.Repeat("]", 32): codes.InvalidArgument,
			"\n {} \t":         codes.OK,
			"  ":               codes.InvalidArgument,
			`{"a": 1e999}`:     codes.InvalidArgument,
			`{"a": 1, "a": 2}`: codes.InvalidArgument,
		} {
			_, err := h.Documents().PutDocument(h.Ctx, &memoryv1.PutDocumentRequest{Document: &memoryv1.Document{
				UserId: "levels", Namespace: []string{"a"}, Key: "k", ValueJson: value,
			}})
			if status.Code(err) != code {
				t.Errorf("%.60q: %v, want %v", value, err, code)
			}
		}
	})
}

// listAll are the places and values of all documents.
func listAll(t *testing.T, h *e2e.Server, user string) (all []string) {
	t.Helper()
	page := e2e.Must(h.Documents().ListDocuments(h.Ctx, &memoryv1.ListDocumentsRequest{UserId: user, PageSize: 500, AsJson: true}))(t)
	for _, d := range page.GetDocuments() {
		all = append(all, strings.Join(d.GetNamespace(), "/")+" "+d.GetKey()+" "+d.GetValueJson()+" "+d.GetUpdateTime().AsTime().String())
	}
	return all
}
