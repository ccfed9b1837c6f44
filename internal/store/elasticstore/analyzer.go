package elasticstore

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/elastic/go-elasticsearch/v7/esapi"

	"github.com/stratamem/strata/internal/store"
)

const (
	standard = "standard"
	icu      = "icu"
)

// analyzers are the names by which the server knows them, standard where none is named.
func (o Options) analyzers() []string {
	if len(o.Analyzers) == 0 {
		return []string{standard}
	}
	names := make([]string, len(o.Analyzers))
	for i, name := range o.Analyzers {
		names[i] = name
		if name == icu {
			names[i] = "icu_analyzer"
		}
	}
	return names
}

// plugins are the analyzers that come with a plugin.
func plugins(analyzer string) string {
	switch analyzer {
	case "nori", "kuromoji", "smartcn":
		return "analysis-" + analyzer
	case "icu_analyzer":
		return "analysis-icu"
	}
	return ""
}

// checkAnalyzers fails when the server lacks one of them.
func (v *View) checkAnalyzers(ctx context.Context) error {
	if !v.content {
		return nil
	}
	for _, name := range v.analyzers {
		if name == standard {
			continue // every server has it
		}
		b, err := body(map[string]string{"analyzer": name, "text": "a"})
		if err != nil {
			return err
		}
		err = v.call(ctx, esapi.IndicesAnalyzeRequest{Body: b}, nil)
		if r, refused := errors.AsType[*refusal](err); refused && r.status == http.StatusBadRequest {
			return fmt.Errorf("the analyzer %s is not there: %s: %w", name, remedy(name), store.ErrViewSettings)
		}
		if err != nil {
			return fmt.Errorf("ask for the analyzer %s: %w", name, err)
		}
	}
	return nil
}

func remedy(analyzer string) string {
	if plugin := plugins(analyzer); plugin != "" {
		return "install the plugin " + plugin + " on every node (bin/elasticsearch-plugin install " + plugin + ") and start them again, or name another"
	}
	return "name one that the server has, such as standard or whitespace"
}

// analyzed returns the mapping of a field of text that is taken apart by the analyzers.
func analyzed(names []string) map[string]any {
	field := map[string]any{"type": "text", "analyzer": names[0]}
	fields := map[string]any{}
	for _, name := range names[1:] {
		fields[name] = map[string]any{"type": "text", "analyzer": name}
	}
	if len(fields) > 0 {
		field["fields"] = fields
	}
	return field
}
