package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/bench/internal/measure"
	"github.com/stratamem/strata/internal/testing/conversations"
	"github.com/stratamem/strata/internal/testing/llmtest"
)

const (
	langmemDimension = 1536
	langmemHits      = 20 // of a search, on both sides
	langmemTurn      = 20 // searches of one side before the other has its turn
	barLangMem       = 25 // how many times as long LangMem's search should take
)

// langmemFigure measures SearchFacts over the socket beside LangMem's search tool over LangGraph's SqliteStore with sqlite-vec: the
// same facts, vectors and queries, in turns. The vectors come from a stub over HTTP on this side, from a dictionary within the
// process on LangMem's, so that its embedder costs it nothing; both have the queries' vectors before they are asked.
func langmemFigure(ctx context.Context, o options) (err error) {
	shape := conversations.W()
	shape.Sessions = 1
	data, err := o.path("langmem-facts.db")
	if err != nil {
		return err
	}
	if err := errors.Join(prepareFile(ctx, o, data, shape), seedFacts(ctx, data, shape)); err != nil {
		return err
	}
	queries := shape.Queries(warmCalls + o.calls)
	f := factsRun{options: o, data: data, shape: shape, dimension: langmemDimension}
	model := f.embedder(queries)
	defer model.Close()
	s, err := f.serve(ctx, model)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	other, err := startLangMem(ctx, o, factTexts(manyFacts, shape), queries)
	if err != nil {
		return err
	}
	return errors.Join(compareWithLangMem(ctx, o, s, other, queries), other.stop())
}

func compareWithLangMem(ctx context.Context, o options, s *running, other *langmem, queries []string) error {
	var ours, handler, tool, store measure.Samples
	for i := 0; i < len(queries); i += langmemTurn {
		turn := queries[i:min(i+langmemTurn, len(queries))]
		for _, q := range turn {
			found, err := timedSearch(ctx, s, &memoryv1.SearchFactsRequest{UserId: figureUser, Query: q, PageSize: langmemHits})
			if err != nil {
				return err
			}
			if found.hits != langmemHits {
				return fmt.Errorf("the search found %d facts of %d", found.hits, langmemHits)
			}
			ours, handler = append(ours, found.client), append(handler, found.handler)
		}
		for j := range turn {
			t, err := other.search(i + j)
			if err != nil {
				return err
			}
			tool, store = append(tool, t.tool()), append(store, t.store())
		}
	}
	ours, handler, tool, store = ours[warmCalls:], handler[warmCalls:], tool[warmCalls:], store[warmCalls:]
	o.report.Note("   %d facts of %d numbers, %d searches each, in turns of %d: SearchFacts at the client p50 %s p99 %s, in the handler %s, %s;",
		manyFacts, langmemDimension, len(ours), langmemTurn, measure.Millis(ours.P50()), measure.Millis(ours.P99()),
		measure.Millis(handler.P50()), measure.Millis(handler.P99()))
	o.report.Note("   LangMem's tool p50 %s p99 %s, SqliteStore.search alone %s, %s", measure.Millis(tool.P50()), measure.Millis(tool.P99()),
		measure.Millis(store.P50()), measure.Millis(store.P99()))
	times := func(a measure.Samples, q float64) float64 { return float64(a.Quantile(q)) / float64(ours.Quantile(q)) }
	o.report.Note("   SqliteStore.search alone: %.3g × SearchFacts at the client; the fastest tenth of both, which other work on the machine "+
		"disturbs least: %s and %s, %.3g ×", times(store, .5), measure.Millis(tool.Quantile(.1)), measure.Millis(ours.Quantile(.1)), times(tool, .1))
	o.report.AtLeast("LangMem's search of the same facts, p50: × SearchFacts at the client", times(tool, .5), barLangMem, "")
	return nil
}

// langmem is a Python with LangMem, filled and waiting for queries.
type langmem struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
}

// langmemTimes are what one search took there, in microseconds.
type langmemTimes struct {
	Tool  float64 `json:"tool_us"`
	Store float64 `json:"store_us"`
	Found int     `json:"found"`
}

func (t langmemTimes) tool() time.Duration { return time.Duration(t.Tool * float64(time.Microsecond)) }

func (t langmemTimes) store() time.Duration {
	return time.Duration(t.Store * float64(time.Microsecond))
}

// startLangMem makes its virtual environment, hands it the texts with their vectors and returns when its store is full.
func startLangMem(ctx context.Context, o options, facts, queries []string) (*langmem, error) {
	database, err := o.path("langmem.db")
	if err != nil {
		return nil, err
	}
	texts, vectors := database+".texts.json", database+".vectors"
	if err := writeTexts(texts, vectors, append(facts[:len(facts):len(facts)], queries...)); err != nil {
		return nil, err
	}
	venv := exec.CommandContext(ctx, o.langmem+"/venv.sh")
	venv.Stderr = os.Stderr
	python, err := venv.Output()
	if err != nil {
		return nil, fmt.Errorf("make a virtual environment with LangMem: %w", err)
	}
	args := []string{o.langmem + "/search.py", database, strconv.Itoa(langmemDimension), strconv.Itoa(len(facts)), texts, vectors}
	l := &langmem{cmd: exec.CommandContext(ctx, strings.TrimSpace(string(python)), args...)} //nolint:gosec // as the script printed it
	l.cmd.Stderr = os.Stderr
	out, err := l.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("read what LangMem prints: %w", err)
	}
	if l.in, err = l.cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("write to LangMem: %w", err)
	}
	l.out = bufio.NewScanner(out)
	begin := time.Now()
	if err := l.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start LangMem: %w", err)
	}
	if !l.out.Scan() || l.out.Text() != "ready" {
		return nil, errors.Join(fmt.Errorf("LangMem printed %q where it should be ready", l.out.Text()), l.out.Err(), l.stop())
	}
	o.report.Note("   LangMem has %d memories after %s", len(facts), time.Since(begin).Round(time.Millisecond))
	return l, nil
}

// search has it search for the query of that index.
func (l *langmem) search(query int) (langmemTimes, error) {
	var t langmemTimes
	if _, err := fmt.Fprintln(l.in, query); err != nil {
		return t, fmt.Errorf("ask LangMem: %w", err)
	}
	if !l.out.Scan() {
		return t, fmt.Errorf("LangMem ended: %w", errors.Join(l.out.Err(), io.ErrUnexpectedEOF))
	}
	if err := json.Unmarshal(l.out.Bytes(), &t); err != nil {
		return t, fmt.Errorf("read LangMem's times: %w", err)
	}
	if t.Found != langmemHits {
		return t, fmt.Errorf("LangMem found %d memories of %d", t.Found, langmemHits)
	}
	return t, nil
}

func (l *langmem) stop() error {
	if err := errors.Join(l.in.Close(), l.cmd.Wait()); err != nil {
		return fmt.Errorf("end LangMem: %w", err)
	}
	return nil
}

// writeTexts writes the texts, and the vectors that the stub gives them.
func writeTexts(textsFile, vectorsFile string, texts []string) error {
	encoded, err := json.Marshal(texts)
	if err != nil {
		return fmt.Errorf("encode texts: %w", err)
	}
	vectors := make([]byte, 0, len(texts)*langmemDimension*4)
	for _, t := range texts {
		if vectors, err = binary.Append(vectors, binary.LittleEndian, llmtest.Vector(t, langmemDimension)); err != nil {
			return fmt.Errorf("encode vectors: %w", err)
		}
	}
	return errors.Join(os.WriteFile(textsFile, encoded, 0o600), os.WriteFile(vectorsFile, vectors, 0o600))
}
