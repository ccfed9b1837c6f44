package rerank

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// request is what the endpoint is told, by its dialect. top_n is the number of documents: Cohere and Jina would answer
// all without it, but some proxies put a smaller default in its place.
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

// result is what an answer says of one document. Both names are in use for the score; null stands for NaN with servers
// whose JSON has no other form for it.
type result struct {
	Index          *int     `json:"index"`
	RelevanceScore *float64 `json:"relevance_score"` // Cohere, Jina, vLLM, llama.cpp
	Score          *float64 `json:"score"`           // TEI
}

// scores reads an answer: an object with results, or a bare list as TEI's. It must name each document once, in any order.
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

// resultsOf takes an answer apart. What JSON says of a mistake may quote the answer, so it is not kept.
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
