package edge_test

import (
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/known/durationpb"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/testing/e2e"
)

// rpc is a method of one of the services.
type rpc struct {
	name string // as it is called: /memory.v1.MemoryService/Record
	in   protoreflect.MessageDescriptor
	out  protoreflect.FullName
}

// rpcs is every method of every service that is no stream: streams have tests of their own.
func rpcs() []rpc {
	var all []rpc
	protoregistry.GlobalFiles.RangeFilesByPackage("memory.v1", func(file protoreflect.FileDescriptor) bool {
		for i := range file.Services().Len() {
			service := file.Services().Get(i)
			for j := range service.Methods().Len() {
				m := service.Methods().Get(j)
				if m.IsStreamingClient() || m.IsStreamingServer() {
					continue
				}
				all = append(all, rpc{"/" + string(service.FullName()) + "/" + string(m.Name()), m.Input(), m.Output().FullName()})
			}
		}
		return true
	})
	slices.SortFunc(all, func(a, b rpc) int { return strings.Compare(a.name, b.name) })
	return all
}

// reply is an empty one.
func (r rpc) reply() proto.Message {
	of, err := protoregistry.GlobalTypes.FindMessageByName(r.out)
	if err != nil {
		panic(err) // the generated code registers all of them
	}
	return of.New().Interface()
}

// hostileCall is a request with a hostile string in one of its fields.
type hostileCall struct {
	rpc            rpc
	field, hostile string
	req            proto.Message
}

// stringField is where a string may stand in a request, from the outermost field to the innermost.
type stringField struct {
	path []protoreflect.FieldDescriptor
	key  bool // the string is a key of the map that the path ends in
}

func (f stringField) String() string {
	var names []string
	for _, fd := range f.path {
		names = append(names, string(fd.Name()))
	}
	if f.key {
		names = append(names, "(key)")
	}
	return strings.Join(names, ".")
}

// stringFields is every place in a message that a string may stand in. A kind of message that holds itself has no end: it
// is looked into once on the way to a field.
func stringFields(d protoreflect.MessageDescriptor) []stringField {
	return fieldsBelow(nil, d, map[protoreflect.FullName]bool{})
}

func fieldsBelow(path []protoreflect.FieldDescriptor, d protoreflect.MessageDescriptor, inside map[protoreflect.FullName]bool) []stringField {
	if inside[d.FullName()] {
		return nil
	}
	inside[d.FullName()] = true
	defer delete(inside, d.FullName())
	var all []stringField
	for i := range d.Fields().Len() {
		fd := d.Fields().Get(i)
		here := append(slices.Clone(path), fd)
		value := fd
		if fd.IsMap() {
			value = fd.MapValue()
			if fd.MapKey().Kind() == protoreflect.StringKind {
				all = append(all, stringField{path: here, key: true})
			}
		}
		switch value.Kind() {
		case protoreflect.StringKind:
			all = append(all, stringField{path: here})
		case protoreflect.MessageKind:
			all = append(all, fieldsBelow(here, value.Message(), inside)...)
		}
	}
	return all
}

// with is a copy of the request with the string in the field.
func (f stringField) with(base proto.Message, s string) proto.Message {
	req := proto.Clone(base)
	m, last := req.ProtoReflect(), len(f.path)-1
	for _, fd := range f.path[:last] {
		m = enter(m, fd)
	}
	put(m, f.path[last], f.key, s)
	return req
}

// enter returns the message in a field, in its first entry where there are several: one that is there, or a new one.
func enter(m protoreflect.Message, fd protoreflect.FieldDescriptor) protoreflect.Message {
	if text := m.Descriptor().Fields().ByName("text"); fd.Name() == "parts" && text != nil {
		m.Clear(text) // a message has text or parts
	}
	isNew := !m.Has(fd)
	switch {
	case fd.IsMap():
		entries := m.Mutable(fd).Map()
		key := protoreflect.ValueOfString("key").MapKey()
		isNew = !entries.Has(key)
		m = entries.Mutable(key).Message()
	case fd.IsList() && isNew:
		m = m.Mutable(fd).List().AppendMutable().Message()
	case fd.IsList():
		m = m.Mutable(fd).List().Get(0).Message()
	default:
		m = m.Mutable(fd).Message()
	}
	if isNew {
		furnish(m)
	}
	return m
}

// furnish sets what a new message may not lack.
func furnish(m protoreflect.Message) {
	samples := map[protoreflect.Name]string{"json": "{}", "arguments": "{}", "mime_type": "text/plain", "uri": "https://example.com/"}
	for i := range m.Descriptor().Fields().Len() {
		fd := m.Descriptor().Fields().Get(i)
		sample := samples[fd.Name()]
		if sample == "" {
			sample = "harbour"
		}
		switch {
		case fd.IsList() || fd.IsMap() || fd.ContainingOneof() != nil && fd.Name() != "string_value":
		case fd.Kind() == protoreflect.StringKind:
			m.Set(fd, protoreflect.ValueOfString(sample))
		case fd.Kind() == protoreflect.BytesKind:
			m.Set(fd, protoreflect.ValueOfBytes([]byte(sample)))
		}
	}
}

func put(m protoreflect.Message, fd protoreflect.FieldDescriptor, asKey bool, s string) {
	value := protoreflect.ValueOfString(s)
	switch {
	case asKey:
		entries := m.Mutable(fd).Map()
		entry := entries.NewValue()
		furnish(entry.Message())
		entries.Set(value.MapKey(), entry)
	case fd.IsList():
		m.Mutable(fd).List().Append(value)
	default:
		m.Set(fd, value)
	}
}

// userOf is the user that a request names; "" for none.
func userOf(req proto.Message) string {
	m := req.ProtoReflect()
	for _, inside := range []protoreflect.Name{"fact", "session", "user", "summary", "document"} {
		if fd := m.Descriptor().Fields().ByName(inside); fd != nil {
			m = m.Get(fd).Message()
		}
	}
	if fd := m.Descriptor().Fields().ByName("user_id"); fd != nil {
		return m.Get(fd).String()
	}
	return ""
}

// requests is for each RPC a call of the attacker that goes well, or is refused as refusedAnyway says. Its own data is
// what it names, so that with another user in its place the call names what is not theirs.
//
// Reindex and Verify have no string, and Reembed names the model that is in use: that starts nothing, and an endpoint
// that has no other model refuses every other name.
func (s *siege) requests(t *testing.T) map[string]proto.Message {
	t.Helper()
	fact := e2e.Must(s.Facts().ListFacts(s.Ctx, &memoryv1.ListFactsRequest{UserId: e2e.Attacker}))(t).GetFacts()[0].GetFactId()
	job := e2e.Must(s.Work().ListJobs(s.Ctx, &memoryv1.ListJobsRequest{UserId: e2e.Attacker, States: e2e.AllStates}))(t).GetJobs()[0].GetJobId()
	said := func() *memoryv1.Message {
		return &memoryv1.Message{Role: memoryv1.Role_ROLE_USER, Text: "Is there a ferry at the harbour?"}
	}
	tagged := &memoryv1.Message{Id: "m1", Tags: []string{"ferry"}}
	return map[string]proto.Message{
		memoryv1.MemoryService_Record_FullMethodName:         &memoryv1.RecordRequest{UserId: e2e.Attacker, SessionId: "s2", Messages: []*memoryv1.Message{said()}},
		memoryv1.MemoryService_BuildContext_FullMethodName:   &memoryv1.BuildContextRequest{UserId: e2e.Attacker, SessionId: "s1", Query: "the harbour", Pending: []*memoryv1.Message{said()}, Explain: true},
		memoryv1.MemoryService_GetSession_FullMethodName:     &memoryv1.GetSessionRequest{UserId: e2e.Attacker, SessionId: "s1"},
		memoryv1.MemoryService_ListSessions_FullMethodName:   &memoryv1.ListSessionsRequest{UserId: e2e.Attacker},
		memoryv1.MemoryService_UpdateSession_FullMethodName:  &memoryv1.UpdateSessionRequest{Session: &memoryv1.Session{UserId: e2e.Attacker, SessionId: "s2"}},
		memoryv1.MemoryService_ListMessages_FullMethodName:   &memoryv1.ListMessagesRequest{UserId: e2e.Attacker, SessionId: "s1"},
		memoryv1.MemoryService_SearchMessages_FullMethodName: &memoryv1.SearchMessagesRequest{UserId: e2e.Attacker, Query: "the harbour", Explain: true},
		memoryv1.MemoryService_UpdateMessage_FullMethodName:  &memoryv1.UpdateMessageRequest{UserId: e2e.Attacker, SessionId: "s1", Message: tagged, UpdateMask: e2e.MaskOf("tags")},

		// What would be gone is only counted, so that the other calls find it; the session that is popped is named by none of them.
		memoryv1.MemoryService_DeleteMessages_FullMethodName:  &memoryv1.DeleteMessagesRequest{UserId: e2e.Attacker, SessionId: "s1", MessageIds: []string{"m1"}, ValidateOnly: true},
		memoryv1.MemoryService_ReplaceMessages_FullMethodName: &memoryv1.ReplaceMessagesRequest{UserId: e2e.Attacker, SessionId: sessionsOf(0)[1]},
		memoryv1.MemoryService_PopMessages_FullMethodName:     &memoryv1.PopMessagesRequest{UserId: e2e.Attacker, SessionId: sessionsOf(0)[1], Count: 1},
		memoryv1.MemoryService_DeleteSession_FullMethodName:   &memoryv1.DeleteSessionRequest{UserId: e2e.Attacker, SessionId: "s1", ValidateOnly: true},
		memoryv1.SummaryService_DeleteSummary_FullMethodName:  &memoryv1.DeleteSummaryRequest{UserId: e2e.Attacker, SessionId: "s1", ValidateOnly: true},
		memoryv1.UserService_EraseUser_FullMethodName:         &memoryv1.EraseUserRequest{UserId: e2e.Attacker, ValidateOnly: true},
		memoryv1.WorkService_GetJob_FullMethodName:            &memoryv1.GetJobRequest{UserId: e2e.Attacker, JobId: job},

		memoryv1.FactService_CreateFact_FullMethodName:        &memoryv1.CreateFactRequest{Fact: &memoryv1.Fact{UserId: e2e.Attacker, Text: "Takes the ferry at the harbour"}},
		memoryv1.FactService_GetFact_FullMethodName:           &memoryv1.GetFactRequest{UserId: e2e.Attacker, FactId: fact},
		memoryv1.FactService_ListFacts_FullMethodName:         &memoryv1.ListFactsRequest{UserId: e2e.Attacker, PageSize: 20},
		memoryv1.FactService_SearchFacts_FullMethodName:       &memoryv1.SearchFactsRequest{UserId: e2e.Attacker, Query: "boat in the harbour"},
		memoryv1.FactService_UpdateFact_FullMethodName:        &memoryv1.UpdateFactRequest{Fact: &memoryv1.Fact{UserId: e2e.Attacker, FactId: fact, Tags: []string{"ferry"}}, UpdateMask: e2e.MaskOf("tags")},
		memoryv1.FactService_DeleteFact_FullMethodName:        &memoryv1.DeleteFactRequest{UserId: e2e.Attacker, FactId: fact},
		memoryv1.FactService_ListFactRevisions_FullMethodName: &memoryv1.ListFactRevisionsRequest{UserId: e2e.Attacker, FactId: fact},
		memoryv1.FactService_RestoreFact_FullMethodName:       &memoryv1.RestoreFactRequest{UserId: e2e.Attacker, FactId: fact, Revision: 1},
		memoryv1.FactService_ListQuarantined_FullMethodName:   &memoryv1.ListQuarantinedRequest{UserId: e2e.Attacker},

		memoryv1.DocumentService_PutDocument_FullMethodName: &memoryv1.PutDocumentRequest{Document: &memoryv1.Document{
			UserId: e2e.Attacker, Namespace: []string{"notes"}, Key: "ferry", ValueJson: `{"note": "leaves at the harbour"}`,
		}},
		memoryv1.DocumentService_GetDocument_FullMethodName:     &memoryv1.GetDocumentRequest{UserId: e2e.Attacker, Namespace: []string{"notes"}, Key: "ferry"},
		memoryv1.DocumentService_DeleteDocument_FullMethodName:  &memoryv1.DeleteDocumentRequest{UserId: e2e.Attacker, Namespace: []string{"notes"}, Key: "passing"},
		memoryv1.DocumentService_ListDocuments_FullMethodName:   &memoryv1.ListDocumentsRequest{UserId: e2e.Attacker, NamespacePrefix: []string{"notes"}},
		memoryv1.DocumentService_SearchDocuments_FullMethodName: &memoryv1.SearchDocumentsRequest{UserId: e2e.Attacker, Query: "harbour"},
		memoryv1.DocumentService_ListNamespaces_FullMethodName:  &memoryv1.ListNamespacesRequest{UserId: e2e.Attacker, Prefix: []string{"notes"}},

		memoryv1.SummaryService_GetSummary_FullMethodName:    &memoryv1.GetSummaryRequest{UserId: e2e.Attacker, SessionId: "s1"},
		memoryv1.SummaryService_ListSummaries_FullMethodName: &memoryv1.ListSummariesRequest{UserId: e2e.Attacker},
		memoryv1.SummaryService_Summarize_FullMethodName:     &memoryv1.SummarizeRequest{UserId: e2e.Attacker, SessionId: "s1"},

		memoryv1.SummaryService_UpdateSummary_FullMethodName:        &memoryv1.UpdateSummaryRequest{Summary: &memoryv1.Summary{UserId: e2e.Attacker, SessionId: "s1", Text: "The ferry leaves at the harbour."}},
		memoryv1.SummaryService_RebuildSummary_FullMethodName:       &memoryv1.RebuildSummaryRequest{UserId: e2e.Attacker, SessionId: "s1"},
		memoryv1.SummaryService_ListSummaryRevisions_FullMethodName: &memoryv1.ListSummaryRevisionsRequest{UserId: e2e.Attacker, SessionId: "s1"},
		memoryv1.SummaryService_RestoreSummary_FullMethodName:       &memoryv1.RestoreSummaryRequest{UserId: e2e.Attacker, SessionId: "s1"},

		memoryv1.UserService_GetUser_FullMethodName:    &memoryv1.GetUserRequest{UserId: e2e.Attacker},
		memoryv1.UserService_ListUsers_FullMethodName:  &memoryv1.ListUsersRequest{},
		memoryv1.UserService_UpdateUser_FullMethodName: &memoryv1.UpdateUserRequest{User: &memoryv1.User{UserId: e2e.Attacker, Language: "ko"}},

		memoryv1.WorkService_WaitForWatermark_FullMethodName: &memoryv1.WaitForWatermarkRequest{UserId: e2e.Attacker, SessionId: "s1", Of: []memoryv1.Watermark{memoryv1.Watermark_WATERMARK_INDEXED}, Timeout: durationpb.New(1e6)},
		memoryv1.WorkService_ListJobs_FullMethodName:         &memoryv1.ListJobsRequest{UserId: e2e.Attacker, States: e2e.AllStates},
		memoryv1.WorkService_RetryJob_FullMethodName:         &memoryv1.RetryJobRequest{UserId: e2e.Attacker, JobId: job},
		memoryv1.WorkService_RetryJobs_FullMethodName:        &memoryv1.RetryJobsRequest{UserId: e2e.Attacker, Reason: "transient_exhausted"},
		memoryv1.WorkService_SkipJob_FullMethodName:          &memoryv1.SkipJobRequest{UserId: e2e.Attacker, JobId: job},

		memoryv1.WorkService_RevertJob_FullMethodName: &memoryv1.RevertJobRequest{UserId: e2e.Attacker, JobId: job},

		memoryv1.MaintenanceService_Reembed_FullMethodName:      &memoryv1.ReembedRequest{Model: "embedder"},
		memoryv1.MaintenanceService_Reindex_FullMethodName:      &memoryv1.ReindexRequest{Views: []memoryv1.View{99}},
		memoryv1.MaintenanceService_Verify_FullMethodName:       &memoryv1.VerifyRequest{Views: []memoryv1.View{99}},
		memoryv1.MaintenanceService_ListExpiring_FullMethodName: &memoryv1.ListExpiringRequest{},

		memoryv1.KeyService_CreateKey_FullMethodName: &memoryv1.CreateKeyRequest{Role: memoryv1.KeyRole_KEY_ROLE_USER, UserId: e2e.Attacker},
		memoryv1.KeyService_ListKeys_FullMethodName:  &memoryv1.ListKeysRequest{},
		memoryv1.KeyService_RotateKey_FullMethodName: &memoryv1.RotateKeyRequest{KeyId: s.key(t)},
		memoryv1.KeyService_RevokeKey_FullMethodName: &memoryv1.RevokeKeyRequest{KeyId: s.key(t)},

		memoryv1.AuditService_ListAuditEntries_FullMethodName: &memoryv1.ListAuditEntriesRequest{},

		memoryv1.TenantService_GetTenant_FullMethodName: &memoryv1.GetTenantRequest{},
		memoryv1.TenantService_UpdateTenant_FullMethodName: &memoryv1.UpdateTenantRequest{
			Tenant: &memoryv1.Tenant{Tenant: "acme", DefaultProfile: "default"},
		},
		memoryv1.TenantService_ListTenants_FullMethodName:   &memoryv1.ListTenantsRequest{},
		memoryv1.TenantService_SuspendTenant_FullMethodName: &memoryv1.SuspendTenantRequest{Tenant: "acme"},
		memoryv1.TenantService_EraseTenant_FullMethodName:   &memoryv1.EraseTenantRequest{Tenant: "acme", ValidateOnly: true},
		memoryv1.TenantService_ResumeTenant_FullMethodName:  &memoryv1.ResumeTenantRequest{Tenant: "acme"},

		memoryv1.HistoryService_CountTokens_FullMethodName: &memoryv1.CountTokensRequest{Messages: []*memoryv1.Message{said()}},
		memoryv1.HistoryService_Compact_FullMethodName:     &memoryv1.CompactRequest{Messages: []*memoryv1.Message{said()}},
		memoryv1.HistoryService_CheckMessages_FullMethodName: &memoryv1.CheckMessagesRequest{
			Messages: []*memoryv1.Message{said()}, Rules: []*memoryv1.CheckRule{e2e.StopWords("ferries", memoryv1.CheckAction_CHECK_ACTION_STRIP, "ferry")},
		},
	}
}

// key makes an API key and returns its id.
func (s *siege) key(t *testing.T) string {
	t.Helper()
	keys := memoryv1.NewKeyServiceClient(s.Conn)
	return e2e.Must(keys.CreateKey(s.Ctx, &memoryv1.CreateKeyRequest{Role: memoryv1.KeyRole_KEY_ROLE_AGENT}))(t).GetKey().GetKeyId()
}

// refusedAnyway is what is answered to the requests that are refused: a job that is done cannot be retried or skipped, one
// that made a summary cannot be reverted,
// and no view has the number 99.
var refusedAnyway = map[string]codes.Code{
	memoryv1.WorkService_RetryJob_FullMethodName:          codes.FailedPrecondition,
	memoryv1.WorkService_SkipJob_FullMethodName:           codes.FailedPrecondition,
	memoryv1.WorkService_RevertJob_FullMethodName:         codes.FailedPrecondition,
	memoryv1.SummaryService_RestoreSummary_FullMethodName: codes.InvalidArgument, // a summary that nobody corrected
	memoryv1.MaintenanceService_Reindex_FullMethodName:    codes.InvalidArgument,
	memoryv1.MaintenanceService_Verify_FullMethodName:     codes.InvalidArgument,
}

// mustAccept sends every request as it is: hostile strings in one that is refused for another reason would prove nothing.
func (s *siege) mustAccept(t *testing.T) {
	t.Helper()
	for _, r := range rpcs() {
		req := s.base[r.name]
		if req == nil {
			t.Fatalf("there is no request for %s", r.name)
		}
		if r.name == memoryv1.DocumentService_DeleteDocument_FullMethodName { // the first of its service: what the others read is put here
			s.file(t, "passing")
			s.file(t, "ferry")
		}
		if r.name == memoryv1.FactService_DeleteFact_FullMethodName {
			req = &memoryv1.DeleteFactRequest{UserId: e2e.Attacker, FactId: s.passing(t)}
		}
		if err := s.Conn.Invoke(s.Ctx, r.name, req, r.reply()); status.Code(err) != refusedAnyway[r.name] {
			t.Errorf("%s without hostile strings: %v", r.name, err)
		}
	}
}

// file puts a document.
func (s *siege) file(t *testing.T, key string) {
	t.Helper()
	e2e.Must(s.Documents().PutDocument(s.Ctx, &memoryv1.PutDocumentRequest{Document: &memoryv1.Document{
		UserId: e2e.Attacker, Namespace: []string{"notes"}, Key: key, ValueJson: `{"note": "leaves at the harbour"}`,
	}}))(t)
}

// passing is a fact that may be deleted.
func (s *siege) passing(t *testing.T) string {
	t.Helper()
	return e2e.Must(s.Facts().CreateFact(s.Ctx, &memoryv1.CreateFactRequest{Fact: &memoryv1.Fact{UserId: e2e.Attacker, Text: "Passes by"}}))(t).GetFact().GetFactId()
}
