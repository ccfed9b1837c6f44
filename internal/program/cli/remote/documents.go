package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/program/cli/terminal"
)

// DocumentsCmd groups the commands about documents by namespace.
type DocumentsCmd struct {
	Put        documentsPutCmd        `cmd:"" help:"Store a JSON object under a namespace and a key."`
	Get        documentsGetCmd        `cmd:"" aliases:"show" help:"Print a document's value."`
	List       documentsListCmd       `cmd:"" help:"List documents by namespace and key."`
	Search     documentsSearchCmd     `cmd:"" help:"Find documents by words and meaning."`
	Delete     documentsDeleteCmd     `cmd:"" help:"Delete a document."`
	Namespaces documentsNamespacesCmd `cmd:"" help:"List the namespaces that hold documents."`
}

// documentPlace names a document.
type documentPlace struct {
	User      string `arg:"" help:"The user."`
	Namespace string `arg:"" help:"The namespace: its labels with a slash between, such as memories/food."`
	Key       string `arg:"" help:"The document's key."`
}

// labelsOf are the labels of a namespace as it is given to a command.
func labelsOf(namespace string) []string {
	if namespace == "" {
		return nil
	}
	return strings.Split(namespace, "/")
}

func namespaceText(labels []string) string { return terminal.OneLine(strings.Join(labels, "/")) }

type documentsPutCmd struct {
	documentPlace
	Value     string        `arg:"" help:"The JSON object; @PATH for the content of a file, - for stdin."`
	Field     []string      `sep:"none" placeholder:"PATH" help:"Search only this part of the value, such as profile.city or notes[*].text; may be repeated."`
	Unindexed bool          `help:"No query finds it."`
	TTL       time.Duration `name:"ttl" placeholder:"DURATION" help:"How long after it was put or read last it expires, such as 720h; never when not given."`
	ETag      string        `name:"etag" help:"Refuse unless this is the stored document's etag."`
}

// Run stores the document and prints where.
func (c *documentsPutCmd) Run(r *terminal.Run) error {
	value, err := c.value(r.Env)
	if err != nil {
		return err
	}
	d := &memoryv1.Document{
		UserId: c.User, Namespace: labelsOf(c.Namespace), Key: c.Key, ValueJson: value, IndexFields: c.Field, Unindexed: c.Unindexed,
		Etag: c.ETag,
	}
	if c.TTL != 0 {
		d.Ttl = durationpb.New(c.TTL)
	}
	req := &memoryv1.PutDocumentRequest{Document: d}
	reply, err := terminal.Ask(r, memoryv1.NewDocumentServiceClient, memoryv1.DocumentServiceClient.PutDocument, req)
	if err != nil {
		return err
	}
	return r.Show(reply.GetDocument(), terminal.Views{
		Table: func(w io.Writer) { r.Fields(w, documentFields(reply.GetDocument())) },
		Quiet: func(w io.Writer) { fmt.Fprintln(w, reply.GetDocument().GetKey()) },
	})
}

func (c *documentsPutCmd) value(env terminal.Env) (string, error) {
	path, isFile := strings.CutPrefix(c.Value, "@")
	var b []byte
	var err error
	switch {
	case c.Value == "-":
		b, err = io.ReadAll(env.Stdin)
	case isFile:
		b, err = os.ReadFile(path)
	default:
		b = []byte(c.Value)
	}
	if err != nil {
		return "", terminal.Usagef("the value cannot be read: %w", err)
	}
	return string(b), nil
}

func documentFields(d *memoryv1.Document) [][]string {
	ttl := "never"
	if d.GetExpireTime() != nil {
		ttl = terminal.Clock(d.GetExpireTime())
	}
	return [][]string{
		{"namespace", namespaceText(d.GetNamespace())},
		{"key", terminal.OneLine(d.GetKey())},
		{"created", terminal.Clock(d.GetCreateTime())},
		{"put", terminal.Clock(d.GetUpdateTime())},
		{"expires", ttl},
		{"etag", terminal.OneLine(d.GetEtag())},
	}
}

type documentsGetCmd struct {
	documentPlace
	KeepTTL bool `name:"keep-ttl" help:"Leave its time to live as if nobody had read it."`
}

// Run prints the document: its value alone, so that it can be piped.
func (c *documentsGetCmd) Run(r *terminal.Run) error {
	var d *memoryv1.Document
	err := terminal.CallOn(r, memoryv1.NewDocumentServiceClient, func(ctx context.Context, client memoryv1.DocumentServiceClient) error {
		reply, err := client.GetDocument(ctx, &memoryv1.GetDocumentRequest{
			UserId: c.User, Namespace: labelsOf(c.Namespace), Key: c.Key, AsJson: r.Output != "json", KeepTtl: c.KeepTTL,
		})
		d = reply.GetDocument()
		return err
	})
	if err != nil {
		return err
	}
	return r.Show(d, terminal.Views{
		Table: func(w io.Writer) { fmt.Fprintln(w, indented(d.GetValueJson())) },
		Quiet: func(w io.Writer) { fmt.Fprintln(w, d.GetKey()) },
	})
}

func indented(value string) string {
	var out bytes.Buffer
	if json.Indent(&out, []byte(value), "", "  ") != nil {
		return value
	}
	return out.String()
}

type documentsListCmd struct {
	User   string          `arg:"" help:"The user."`
	Prefix string          `arg:"" optional:"" help:"Only namespaces that begin with these labels, such as memories/food."`
	Limit  terminal.AtMost `default:"50" help:"The most documents to list; 0 for all."`
}

// maxDocuments is the most that the API returns of documents at once.
const maxDocuments = 500

// Run prints the documents, page by page from the server.
func (c *documentsListCmd) Run(r *terminal.Run) error {
	req := &memoryv1.ListDocumentsRequest{UserId: c.User, NamespacePrefix: labelsOf(c.Prefix), AsJson: r.Output != "json"}
	all, err := terminal.ListAll(
		r, memoryv1.NewDocumentServiceClient, memoryv1.DocumentServiceClient.ListDocuments, req,
		(*memoryv1.ListDocumentsResponse).GetDocuments, c.Limit, maxDocuments,
	)
	if err != nil {
		return err
	}
	return r.Show(all, terminal.Views{
		Table: func(w io.Writer) {
			var rows [][]string
			for _, d := range all.GetDocuments() {
				rows = append(rows, []string{
					namespaceText(d.GetNamespace()), terminal.OneLine(d.GetKey()), terminal.Clock(d.GetUpdateTime()),
					terminal.Clock(d.GetExpireTime()), terminal.OneLine(d.GetValueJson()),
				})
			}
			r.Table(w, slices.Concat(terminal.Cut.Columns("namespace", "key"), terminal.Spare.Columns("put", "expires"), terminal.Cut.Columns("value")), rows)
			terminal.More(r, all.GetNextPageToken())
		},
		Quiet: func(w io.Writer) {
			for _, d := range all.GetDocuments() {
				fmt.Fprintf(w, "%s\t%s\n", namespaceText(d.GetNamespace()), d.GetKey())
			}
		},
	})
}

type documentsSearchCmd struct {
	User     string  `arg:"" help:"The user."`
	Query    string  `arg:"" optional:"" help:"What to look for; the latest put when not given."`
	Prefix   string  `placeholder:"LABELS" help:"Only namespaces that begin with these labels, such as memories/food."`
	Filter   string  `placeholder:"JSON" help:"Only documents whose value has these members, such as {\"rating\": {\"$gte\": 4}}."`
	MinScore float64 `placeholder:"SCORE" help:"The least score, 0 to 1."`
	Limit    int32   `default:"10" help:"The most documents to list, at most 100."`
	KeepTTL  bool    `name:"keep-ttl" help:"Leave their time to live as if nobody had read them."`
	Rest     bool    `name:"include-unrelated" help:"Also list, behind them, documents that share nothing with the query, with score 0 at the end."`
}

// Run prints the hits, best first.
func (c *documentsSearchCmd) Run(r *terminal.Run) error {
	req := &memoryv1.SearchDocumentsRequest{
		UserId: c.User, NamespacePrefix: labelsOf(c.Prefix), Query: c.Query, MinScore: c.MinScore, PageSize: c.Limit, KeepTtl: c.KeepTTL,
		AsJson: r.Output != "json", IncludeUnrelated: c.Rest,
	}
	if c.Filter != "" {
		req.Filter = &structpb.Struct{}
		if err := req.GetFilter().UnmarshalJSON([]byte(c.Filter)); err != nil {
			return terminal.Usagef("--filter: %w", err)
		}
	}
	reply, err := terminal.Ask(r, memoryv1.NewDocumentServiceClient, memoryv1.DocumentServiceClient.SearchDocuments, req)
	if err != nil {
		return err
	}
	return r.Show(reply, terminal.Views{
		Table: func(w io.Writer) {
			var rows [][]string
			for _, h := range reply.GetHits() {
				d := h.GetDocument()
				rows = append(rows, []string{
					fmt.Sprintf("%.2f", h.GetScore()), namespaceText(d.GetNamespace()), terminal.OneLine(d.GetKey()), terminal.OneLine(d.GetValueJson()),
				})
			}
			r.Table(w, slices.Concat(terminal.Whole.Columns("score"), terminal.Cut.Columns("namespace", "key"), terminal.Wrapped.Columns("value")), rows)
			for _, late := range reply.GetDegraded() {
				fmt.Fprintf(r.Env.Stderr, "%s: %s\n", late.GetTier(), late.GetReason())
			}
		},
		Quiet: func(w io.Writer) {
			for _, h := range reply.GetHits() {
				fmt.Fprintf(w, "%s\t%s\n", namespaceText(h.GetDocument().GetNamespace()), h.GetDocument().GetKey())
			}
		},
	})
}

type documentsDeleteCmd struct{ documentPlace }

// Run deletes the document.
func (c *documentsDeleteCmd) Run(r *terminal.Run) error {
	err := terminal.CallOn(r, memoryv1.NewDocumentServiceClient, func(ctx context.Context, client memoryv1.DocumentServiceClient) error {
		_, err := client.DeleteDocument(ctx, &memoryv1.DeleteDocumentRequest{UserId: c.User, Namespace: labelsOf(c.Namespace), Key: c.Key})
		return err
	})
	if err != nil {
		return err
	}
	return r.Show(&memoryv1.DeleteDocumentResponse{}, terminal.Views{
		Table: func(w io.Writer) {
			fmt.Fprintf(w, "deleted %s of %s\n", terminal.OneLine(c.Key), terminal.OneLine(c.Namespace))
		},
		Quiet: func(io.Writer) {},
	})
}

type documentsNamespacesCmd struct {
	User   string          `arg:"" help:"The user."`
	Prefix string          `placeholder:"LABELS" help:"Only namespaces that begin with these labels; * stands for any one."`
	Suffix string          `placeholder:"LABELS" help:"Only namespaces that end with these labels; * stands for any one."`
	Depth  int32           `placeholder:"N" help:"How many labels to list of each; all when not given."`
	Limit  terminal.AtMost `default:"100" help:"The most namespaces to list; 0 for all."`
}

// Run prints the namespaces.
func (c *documentsNamespacesCmd) Run(r *terminal.Run) error {
	req := &memoryv1.ListNamespacesRequest{
		UserId: c.User, Prefix: labelsOf(c.Prefix), Suffix: labelsOf(c.Suffix), MaxDepth: c.Depth,
	}
	all, err := terminal.ListAll(
		r, memoryv1.NewDocumentServiceClient, memoryv1.DocumentServiceClient.ListNamespaces, req,
		(*memoryv1.ListNamespacesResponse).GetNamespaces, c.Limit, 1000,
	)
	if err != nil {
		return err
	}
	list := func(w io.Writer) {
		for _, n := range all.GetNamespaces() {
			fmt.Fprintln(w, namespaceText(n.GetLabels()))
		}
	}
	return r.Show(all, terminal.Views{Table: func(w io.Writer) { list(w); terminal.More(r, all.GetNextPageToken()) }, Quiet: list})
}
