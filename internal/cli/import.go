package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
)

// importCmd records the sessions of a file.
type importCmd struct {
	File   string `arg:"" help:"The file; - for stdin."`
	Strict bool   `help:"Stop at the first bad line."`
}

// Help describes the format.
func (c *importCmd) Help() string {
	return `One JSON object per line, each a session or a piece of one:

  {"user_id": "ada", "session_id": "s1",
   "messages": [{"role": "user", "text": "I am vegan", "create_time": "2026-03-02T18:00:00Z"},
                {"role": "assistant", "parts": [{"text": {"text": "Noted."}}]}],
   "state": {"step": 2}}

(on one line in the file.) A message has role (system, developer, user, assistant or tool), text or parts, and
optionally id, name, create_time, tags, metadata, origin, extract, pinned and original, as in the API. state is merged
into the session's state after its messages; profile is the policy profile of a new session.

Running an import again is safe: ids that are missing are derived from user, session, position and content, so what is
stored already is skipped and counted, and an import that was cut short goes on where it stopped. A bad line is
reported with its number and does not stop the others, unless --strict; the exit code is then 1.`
}

// Run records every line and prints what was done.
func (c *importCmd) Run(r *run) error {
	in, err := c.open(r.env)
	if err != nil {
		return usageError{err}
	}
	defer in.Close() //nolint:errcheck // only read
	conn, err := r.dial()
	if err != nil {
		return err
	}
	defer conn.Close()
	job := &importJob{
		run: r, client: memoryv1.NewMemoryServiceClient(conn), strict: c.Strict,
		importer: importer{positions: map[[32]byte]int{}}, progress: r.startProgress(sizeOf(in)),
	}
	err = readLines(in, job.line)
	job.progress.stop()
	return job.finish(err)
}

func (c *importCmd) open(env Env) (io.ReadCloser, error) {
	if c.File == "-" {
		return io.NopCloser(env.Stdin), nil
	}
	return os.Open(c.File)
}

// importJob is one import under way.
type importJob struct {
	*run
	client   memoryv1.MemoryServiceClient
	strict   bool
	importer importer
	progress *importProgress
	faults   []string // shown at the end, so that they do not tear the bar
}

// maxFaults is how many bad lines are described; the others are counted.
const maxFaults = 20

// line records one line. A bad line is no error of the import unless it is strict; a server that is gone is.
func (j *importJob) line(no int, line []byte, size int) error {
	err := j.record(line)
	j.progress.add(func(c *importCounts) {
		c.Lines++
		c.Bytes += int64(size)
		if err != nil {
			c.Failed++
		}
	})
	if err == nil {
		return nil
	}
	if code := status.Code(err); code == codes.Unavailable || code == codes.Canceled || j.ctx.Err() != nil {
		return fmt.Errorf("line %d: %w", no, j.explained(err))
	}
	if j.strict {
		return fmt.Errorf("line %d: %w", no, j.explained(err))
	}
	if len(j.faults) < maxFaults {
		j.faults = append(j.faults, fmt.Sprintf("line %d: %s", no, faultText(err)))
	}
	return nil
}

// faultText is an error without the words that grpc puts before a server's message.
func faultText(err error) string {
	if st, ok := status.FromError(err); ok {
		return serverText(st)
	}
	return err.Error()
}

func (j *importJob) record(line []byte) error {
	requests, err := j.importer.requests(line)
	if err != nil {
		return err
	}
	for _, req := range requests {
		if err := j.send(req); err != nil {
			return err
		}
	}
	return nil
}

func (j *importJob) send(req *memoryv1.RecordRequest) error {
	ctx, cancel := context.WithTimeout(j.ctx, j.Timeout)
	defer cancel()
	reply, err := j.client.Record(ctx, req)
	if err != nil {
		return err
	}
	known := len(reply.GetDeduplicatedIds())
	if reply.GetReplayed() {
		known = len(req.GetMessages())
	}
	j.progress.add(func(c *importCounts) {
		c.Stored += len(req.GetMessages()) - known
		c.Skipped += known
	})
	return nil
}

// finish prints the result. Faults go to stderr.
func (j *importJob) finish(err error) error {
	counts := j.progress.snapshot()
	for _, f := range j.faults {
		fmt.Fprintln(j.env.Stderr, clean(f))
	}
	if more := counts.Failed - len(j.faults); more > 0 && !j.strict && len(j.faults) == maxFaults {
		fmt.Fprintf(j.env.Stderr, "and %d bad lines more\n", more)
	}
	switch j.Output {
	case "json":
		err = errors.Join(err, j.showValue(counts))
	case "table":
		fmt.Fprintf(j.env.Stdout, "%d lines: %d messages stored, %d known already, %d lines failed\n", counts.Lines, counts.Stored, counts.Skipped, counts.Failed)
	}
	if err == nil && counts.Failed > 0 {
		return errReported
	}
	if err != nil && !j.strict {
		return fmt.Errorf("the import stopped; run it again to go on: %w", err)
	}
	return err
}
