package grpcapi

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/types/known/durationpb"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/edge/grpcapi/requests"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/recall"
	"github.com/stratamem/strata/internal/recall/documentquery"
	"github.com/stratamem/strata/internal/recall/documents"
	"github.com/stratamem/strata/internal/store"
)

// DocumentService serves documents by namespace.
type DocumentService struct {
	memoryv1.UnimplementedDocumentServiceServer
	Documents documentKeeper
}

// documentKeeper keeps and finds documents.
type documentKeeper interface {
	Put(ctx context.Context, p documents.DocumentPut) (memory.Document, error)
	Get(ctx context.Context, user memory.UserRef, p memory.DocumentPlace, how documents.DocumentReading) (memory.Document, error)
	Delete(ctx context.Context, user memory.UserRef, p memory.DocumentPlace) error
	List(ctx context.Context, q store.DocumentList) (page []memory.Document, more bool, err error)
	Search(ctx context.Context, p recall.DocumentSearch, how documents.DocumentReading) (recall.DocumentsFound, error)
	Namespaces(ctx context.Context, user memory.UserRef, p documentquery.Pattern) ([][]string, error)
}

func (s *DocumentService) PutDocument(ctx context.Context, req *memoryv1.PutDocumentRequest) (*memoryv1.PutDocumentResponse, error) {
	c, in := documentChecker{&requests.Checker{}}, req.GetDocument()
	put := documents.DocumentPut{
		User:     memory.UserRef{Tenant: requests.TenantOf(ctx), UserID: c.ID("document.user_id", in.GetUserId())},
		Document: c.document(in), IfETag: c.Label("document.etag", in.GetEtag()),
	}
	if err := c.Err(); err != nil {
		return nil, err
	}
	d, err := s.Documents.Put(ctx, put)
	if err != nil {
		return nil, err
	}
	d.Value = nil
	return &memoryv1.PutDocumentResponse{Document: documentProto(in.GetUserId(), d, asValue)}, nil
}

// documentChecker checks what only documents have.
type documentChecker struct{ *requests.Checker }

func (c documentChecker) document(in *memoryv1.Document) memory.Document {
	d := memory.Document{
		DocumentPlace: c.place("document.", in.GetNamespace(), in.GetKey()), Value: c.value(in),
		Fields: in.GetIndexFields(), Unindexed: in.GetUnindexed(),
		TTL: c.Span("document.ttl", in.GetTtl(), documentquery.MinTTL, documentquery.MaxTTL).Truncate(time.Microsecond),
	}
	c.Count("document.index_fields", len(d.Fields), documentquery.MaxFields)
	for i, f := range d.Fields {
		field := fmt.Sprintf("document.index_fields[%d]", i)
		c.ID(field, f)
		if f != "" && !documentquery.IsPath(f) {
			c.Fault(field, "has a step without a name; write names with a dot between, such as notes[*].text")
		}
	}
	return d
}

// value is the value as the text of a JSON object.
func (c documentChecker) value(in *memoryv1.Document) json.RawMessage {
	text := in.GetValueJson()
	switch {
	case in.GetValue() != nil && text != "":
		c.Fault("document.value_json", "stands beside value; set one of them")
		return nil
	case in.GetValue() != nil:
		value := c.Object("document.value", in.GetValue(), documentquery.MaxValueBytes)
		if value == nil {
			return json.RawMessage("{}")
		}
		return value
	case text == "":
		c.Fault("document.value", "is required, or value_json")
		return nil
	}
	c.Bytes("document.value_json", len(text), documentquery.MaxValueBytes)
	if len(text) > documentquery.MaxValueBytes {
		return nil
	}
	var packed bytes.Buffer
	if json.Compact(&packed, []byte(text)) != nil || packed.Bytes()[0] != '{' || !utf8.ValidString(text) {
		c.Fault("document.value_json", "is not the text of a JSON object")
		return nil
	}
	if depthOf(packed.Bytes()) > requests.MaxObjectDepth {
		c.Fault("document.value_json", "is nested deeper than %d levels", requests.MaxObjectDepth)
		return nil
	}
	if structProto(packed.Bytes()) == nil {
		c.Fault("document.value_json", "has a number that is not finite, a text that is not UTF-8, or a name twice")
		return nil
	}
	return packed.Bytes()
}

// depthOf is how deep objects and lists stand in each other in valid JSON. It looks at no byte but quotes, backslashes and brackets,
// so that it is no second parser.
func depthOf(valid []byte) (deepest int) {
	depth, isString := 0, false
	for i := 0; i < len(valid); i++ {
		switch b := valid[i]; {
		case isString && b == '\\':
			i++
		case b == '"':
			isString = !isString
		case isString:
		case b == '{', b == '[':
			depth++
			deepest = max(deepest, depth)
		case b == '}', b == ']':
			depth--
		}
	}
	return deepest
}

// place checks where a document is; in is the path before the fields.
func (c documentChecker) place(in string, namespace []string, key string) memory.DocumentPlace {
	if len(namespace) == 0 {
		c.Fault(in+"namespace", "is required: 1 to %d labels", documentquery.MaxLabels)
	}
	return memory.DocumentPlace{Namespace: c.labels(in+"namespace", namespace), Key: c.ID(in+"key", key)}
}

// labels checks a namespace, or a part of one.
func (c documentChecker) labels(field string, labels []string) []string {
	if len(labels) > documentquery.MaxLabels {
		c.Fault(field, "has %d labels; the limit is %d", len(labels), documentquery.MaxLabels)
		return nil
	}
	size := 0
	for i, l := range labels {
		c.ID(fmt.Sprintf("%s[%d]", field, i), l)
		size += len(l)
	}
	c.Bytes(field, size, documentquery.MaxNamespaceBytes)
	return labels
}

// valueForm is how a reply holds values.
type valueForm int

const (
	asValue valueForm = iota
	asText
)

func formOf(asJSON bool) valueForm {
	if asJSON {
		return asText
	}
	return asValue
}

func readingOf(keepTTL bool) documents.DocumentReading {
	if keepTTL {
		return documents.KeepTTL
	}
	return documents.RenewTTL
}

func unrelatedOf(included bool) recall.Unrelated {
	if included {
		return recall.Follow
	}
	return recall.LeaveOut
}

func documentProto(userID string, d memory.Document, form valueForm) *memoryv1.Document {
	out := &memoryv1.Document{
		UserId: userID, Namespace: d.Namespace, Key: d.Key, IndexFields: d.Fields, Unindexed: d.Unindexed,
		CreateTime: timeProto(d.CreateTime), UpdateTime: timeProto(d.UpdateTime), ExpireTime: timeProto(d.ExpireTime), Etag: d.ETag,
	}
	if d.TTL > 0 {
		out.Ttl = durationpb.New(d.TTL)
	}
	if form == asText {
		out.ValueJson = string(d.Value)
	} else {
		out.Value = structProto(d.Value)
	}
	return out
}

func (s *DocumentService) GetDocument(ctx context.Context, req *memoryv1.GetDocumentRequest) (*memoryv1.GetDocumentResponse, error) {
	c := documentChecker{&requests.Checker{}}
	user, place := c.UserRef(ctx, req.GetUserId()), c.place("", req.GetNamespace(), req.GetKey())
	if err := c.Err(); err != nil {
		return nil, err
	}
	d, err := s.Documents.Get(ctx, user, place, readingOf(req.GetKeepTtl()))
	if err != nil {
		return nil, err
	}
	return &memoryv1.GetDocumentResponse{Document: documentProto(req.GetUserId(), d, formOf(req.GetAsJson()))}, nil
}

func (s *DocumentService) DeleteDocument(
	ctx context.Context, req *memoryv1.DeleteDocumentRequest,
) (*memoryv1.DeleteDocumentResponse, error) {
	c := documentChecker{&requests.Checker{}}
	user, place := c.UserRef(ctx, req.GetUserId()), c.place("", req.GetNamespace(), req.GetKey())
	if err := c.Err(); err != nil {
		return nil, err
	}
	if err := s.Documents.Delete(ctx, user, place); err != nil {
		return nil, err
	}
	return &memoryv1.DeleteDocumentResponse{}, nil
}

func (s *DocumentService) ListDocuments(ctx context.Context, req *memoryv1.ListDocumentsRequest) (*memoryv1.ListDocumentsResponse, error) {
	c := documentChecker{&requests.Checker{}}
	q := store.DocumentList{
		User: c.UserRef(ctx, req.GetUserId()), Prefix: c.labels("namespace_prefix", req.GetNamespacePrefix()), Limit: c.Page(req.GetPageSize(), 50, 500),
	}
	last, err := c.PagePosition(req)
	if err != nil {
		return nil, err
	}
	if last != nil {
		after := store.PlaceOf(string(last))
		q.After = &after
	}
	page, more, err := s.Documents.List(ctx, q)
	if err != nil {
		return nil, err
	}
	return documentPage(req, page, more), nil
}

func documentPage(req *memoryv1.ListDocumentsRequest, page []memory.Document, more bool) *memoryv1.ListDocumentsResponse {
	all := make([]*memoryv1.Document, len(page))
	for i, d := range page {
		all[i] = documentProto(req.GetUserId(), d, formOf(req.GetAsJson()))
	}
	n := requests.Fitting(all)
	out := &memoryv1.ListDocumentsResponse{Documents: all[:n]}
	if more || n < len(page) {
		out.NextPageToken = requests.PageToken(req, []byte(store.PlaceKey(page[n-1].DocumentPlace)))
	}
	return out
}

// maxDocumentOffset is how many hits can be passed over.
const maxDocumentOffset = 10_000

func (s *DocumentService) SearchDocuments(
	ctx context.Context,
	req *memoryv1.SearchDocumentsRequest,
) (*memoryv1.SearchDocumentsResponse, error) {
	c := documentChecker{&requests.Checker{}}
	search := recall.DocumentSearch{
		User: c.UserRef(ctx, req.GetUserId()), Prefix: c.labels("namespace_prefix", req.GetNamespacePrefix()), Query: req.GetQuery(),
		Filter: c.filter(req), MinScore: requests.Between(c.Checker, "min_score", req.GetMinScore(), 0, 1),
		Offset: int(requests.Between(c.Checker, "offset", req.GetOffset(), 0, maxDocumentOffset)), Limit: c.Page(req.GetPageSize(), 10, 100),
		Beside: unrelatedOf(req.GetIncludeUnrelated()),
	}
	c.Bytes("query", len(search.Query), requests.MaxQueryBytes)
	if err := c.Err(); err != nil {
		return nil, err
	}
	found, err := s.Documents.Search(ctx, search, readingOf(req.GetKeepTtl()))
	if err != nil {
		return nil, err
	}
	out := &memoryv1.SearchDocumentsResponse{Embedder: found.Embedder, Degraded: degradedProto(found.Degraded)}
	for _, h := range found.Hits {
		d := documentProto(req.GetUserId(), h.Document, formOf(req.GetAsJson()))
		out.Hits = append(out.Hits, &memoryv1.DocumentHit{Document: d, Score: h.Score})
	}
	out.Hits = out.Hits[:requests.Fitting(out.GetHits())]
	return out, nil
}

func (c documentChecker) filter(req *memoryv1.SearchDocumentsRequest) documentquery.Filter {
	before := len(c.Faults)
	c.Fields("filter", req.GetFilter(), 1)
	c.Count("filter", len(req.GetFilter().GetFields()), documentquery.MaxConditions)
	if len(c.Faults) > before {
		return nil
	}
	filter, faults := documentquery.NewFilter(req.GetFilter().AsMap())
	for _, f := range faults {
		c.Fault("filter."+f.Name, "%s", f.Fix)
	}
	return filter
}

func (s *DocumentService) ListNamespaces(
	ctx context.Context, req *memoryv1.ListNamespacesRequest,
) (*memoryv1.ListNamespacesResponse, error) {
	c := documentChecker{&requests.Checker{}}
	user, size := c.UserRef(ctx, req.GetUserId()), c.Page(req.GetPageSize(), 100, 1000)
	pattern := documentquery.Pattern{
		Prefix: c.labels("prefix", req.GetPrefix()), Suffix: c.labels("suffix", req.GetSuffix()),
		MaxDepth: int(requests.Between(c.Checker, "max_depth", req.GetMaxDepth(), 0, documentquery.MaxLabels)),
	}
	last, err := c.PagePosition(req)
	if err != nil {
		return nil, err
	}
	all, err := s.Documents.Namespaces(ctx, user, pattern)
	if err != nil {
		return nil, err
	}
	out := &memoryv1.ListNamespacesResponse{}
	for _, n := range all {
		if last != nil && store.NamespaceKey(n) <= string(last) {
			continue
		}
		if len(out.GetNamespaces()) == size {
			out.NextPageToken = requests.PageToken(req, []byte(store.NamespaceKey(out.GetNamespaces()[size-1].GetLabels())))
			break
		}
		out.Namespaces = append(out.Namespaces, &memoryv1.Namespace{Labels: n})
	}
	return out, nil
}
