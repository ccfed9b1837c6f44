package rerank

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// request is the body of the request in the endpoint's dialect. top_n is the number of documents: Cohere and Jina would
// return all without it, but some proxies have a smaller default.
func (c *Client) request(query string, documents []string) any {
	if c.options.API == TEI {
		return teiRequest{Query: query, Texts: documents, Truncate: true}
	}
	r := cohereRequest{Model: c.options.Model, Query: query, Documents: documents, TopN: len(documents)}
	if c.options.API == Jina {
		r.ReturnDocuments = new(bool)
	}
	return r
}

type cohereRequest struct {
	Model           string   `json:"model"`
	Query           string   `json:"query"`
	Documents       []string `json:"documents"`
	TopN            int      `json:"top_n"`
	ReturnDocuments *bool    `json:"return_documents,omitempty"` // Cohere's v2 does not know it
}

type teiRequest struct {
	Query    string   `json:"query"`
	Texts    []string `json:"texts"`
	Truncate bool     `json:"truncate"`
}

// result is the response's entry for one document. Both names are in use for the score; servers write NaN as null.
type result struct {
	Index          *int     `json:"index"`
	RelevanceScore *float64 `json:"relevance_score"` // Cohere, Jina, vLLM, llama.cpp
	Score          *float64 `json:"score"`           // TEI
}

// scores decodes a response: an object with results, or a bare list as TEI's. It must name each document once, in any
// order.
func scores(answer []byte, documents int) ([]float64, *Error) {
	results, failure := resultsOf(answer)
	if failure != nil {
		return nil, failure
	}
	if len(results) != documents {
		return nil, nonsense(fmt.Sprintf("the reranker answered %d scores for %d documents", len(results), documents))
	}
	out, seen := make([]float64, documents), make([]bool, documents)
	for _, r := range results {
		score := r.RelevanceScore
		if score == nil {
			score = r.Score
		}
		switch {
		case r.Index == nil || *r.Index < 0 || *r.Index >= documents:
			return nil, nonsense("the reranker answered an index that no document has")
		case seen[*r.Index]:
			return nil, nonsense("the reranker answered two scores for one document")
		case score == nil:
			return nil, nonsense("the reranker answered a document without a score that is a number")
		}
		out[*r.Index], seen[*r.Index] = *score, true
	}
	return out, nil
}

// resultsOf splits a response into its entries. The text of a JSON error may quote the response, so it is dropped.
func resultsOf(answer []byte) ([]result, *Error) {
	var in struct {
		Results []result `json:"results"`
	}
	var into any = &in
	if bytes.HasPrefix(bytes.TrimSpace(answer), []byte("[")) {
		into = &in.Results
	}
	if err := json.Unmarshal(answer, into); err != nil {
		return nil, nonsense("the answer is not the JSON of a reranker: are the base URL and the API right?")
	}
	return in.Results, nil
}
