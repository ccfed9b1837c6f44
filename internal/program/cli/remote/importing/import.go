// Package importing has the command that records the conversations of a file: of lines in Strata's own format, or of another
// program's export. It calls a running server.
package importing

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/program/cli/terminal"
)

// ImportCmd records the sessions of a file.
type ImportCmd struct {
	File    string `arg:"" help:"The file; - for stdin."`
	Format  string `enum:"strata,anthropic,chatgpt,claude,mem0,openai,openai-finetune" default:"strata" help:"Whose file it is: ${enum}."`
	User    string `help:"The user, where the file is another program's and names none."`
	Session string `help:"The session, where the file is another program's and its conversations have no ids; of several each gets its number behind it. The file's name when not given."`
	SkipBad bool   `help:"Go on after a bad line, without the later lines of its session."`
}

// Help describes the format.
func (c *ImportCmd) Help() string {
	return `One JSON object per line, each a session or a piece of one:

  {"user_id": "ada", "session_id": "s1",
   "messages": [{"role": "user", "text": "I am vegan", "create_time": "2026-03-02T18:00:00Z"},
                {"role": "assistant", "parts": [{"text": {"text": "Noted."}}]}],
   "state": {"step": 2}}

(on one line in the file.) A message has role (system, developer, user, assistant or tool), text or parts, and
optionally id, name, create_time, tags, metadata, origin, extract, pinned, hidden and original, as in the API. state is merged
into the session's state after its messages; profile is the policy profile of a new session. Messages may have the form of
OpenAI, Anthropic or LangChain instead.

Files of other programs are read with --format and --user:

` + formatsHelp() + `

Such a file is read whole before anything is sent. Fields of which nothing is made are named. Each conversation becomes a
session under its own id, with its title; what it says in a form that has none here is kept as an opaque part.

Running an import again is safe: ids that are missing are derived from user, session, content and how often the session
had that content before, so what is stored already is skipped and counted, and an import that was cut short goes on
where it stopped.

Messages are stored in the order of the file. So an import stops at the first bad line: mend it and run the whole file
again. With --skip-bad it goes on: bad lines are reported with their numbers, and the later lines of a bad line's
session are held back, reported and counted as failed too; after mending, run the whole file again, and they follow in
order. A bad line whose session is unknown (no JSON, or no user_id or session_id) holds nothing back: mended later,
its messages come after those of its session that were stored meanwhile. A call that the server could not carry out,
unlike one that it refused, always stops the import. The exit code is 1 when any line failed.`
}

// Run records every line and prints what was done.
func (c *ImportCmd) Run(r *terminal.Run) error {
	if c.Format != "strata" {
		if c.SkipBad {
			return terminal.Usagef("--skip-bad goes with Strata's own format: of another program's file all is imported or nothing")
		}
		return c.runForeign(r)
	}
	if c.User != "" || c.Session != "" {
		return terminal.Usagef("--user and --session belong to --format: each line of Strata's own format names them")
	}
	in, err := terminal.OpenInput(r.Env, c.File)
	if err != nil {
		return terminal.UsageError{Err: err}
	}
	defer in.Close() //nolint:errcheck // only read
	server, err := r.Dial()
	if err != nil {
		return err
	}
	defer func() { _ = server.Close() }()
	job := &importJob{
		Run: r, client: server.Memory, skipBad: c.SkipBad,
		importer: newImporter(), held: map[[sha256.Size]byte]int{}, progress: startProgress(r, sizeOf(in)),
	}
	err = readLines(in, job.line)
	job.progress.stop()
	return job.finish(err)
}

// importJob is one import under way.
type importJob struct {
	*terminal.Run
	client   memoryv1.MemoryServiceClient
	skipBad  bool
	importer importer
	held     map[[sha256.Size]byte]int // sessions with a bad line, and its number: what follows would be out of order
	progress *importProgress
	faults   []string // shown at the end, so that they do not tear the bar
}

// maxFaults is how many bad lines are described; the others are counted.
const maxFaults = 20

// line records one line. A bad line ends the import unless bad lines are to be skipped; whatever else goes wrong ends it.
func (j *importJob) line(no int, line []byte, size int) error {
	err := j.record(no, line)
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
	bad, ok := errors.AsType[*lineError](err)
	if !ok {
		return fmt.Errorf("the import stopped; run it again to go on: line %d: %w", no, j.Explained(err))
	}
	if !j.skipBad {
		return fmt.Errorf("the import stopped; mend the line and run it again, or go on with --skip-bad: line %d: %w", no, j.Explained(bad.err))
	}
	if len(j.faults) < maxFaults {
		j.faults = append(j.faults, fmt.Sprintf("line %d: %s", no, terminal.FaultText(bad.err)))
	}
	return nil
}

// record stores a line. A line that is bad, or comes after a bad one of its session, gives a *lineError.
func (j *importJob) record(no int, line []byte) error {
	err := j.store(line)
	bad, ok := errors.AsType[*lineError](err)
	if ok && bad.session != nil && j.held[*bad.session] == 0 {
		j.held[*bad.session] = no
	}
	return err
}

func (j *importJob) store(line []byte) error {
	calls, err := j.importer.requests(line)
	if err != nil {
		return err
	}
	if bad := j.held[calls.session]; bad > 0 {
		return &lineError{session: &calls.session, err: fmt.Errorf("held back: line %d of the same session failed", bad)}
	}
	for _, req := range calls.requests {
		err := j.send(req)
		if refused(err) {
			return &lineError{session: &calls.session, err: err}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// refused reports whether the server found fault with the call itself, so that a repeat would be refused again. After
// anything else, such as a passed deadline or a full disk, a repeat may succeed.
func refused(err error) bool {
	code := status.Code(err)
	return code == codes.InvalidArgument || code == codes.AlreadyExists
}

func (j *importJob) send(req *memoryv1.RecordRequest) error {
	ctx, cancel := context.WithTimeout(j.Ctx, j.Timeout)
	defer cancel()
	reply, err := j.client.Record(ctx, req)
	if err != nil {
		return err
	}
	stored, known := recordedOf(req, reply)
	j.progress.add(func(c *importCounts) {
		c.Stored += stored
		c.Skipped += known
	})
	return nil
}

// recordedOf is how many messages of a call were stored, and how many were known: all of one that was made before.
func recordedOf(req *memoryv1.RecordRequest, reply *memoryv1.RecordResponse) (stored, known int) {
	all := len(req.GetMessages())
	if reply.GetReplayed() {
		return 0, all
	}
	known = len(reply.GetDeduplicatedIds())
	return all - known, known
}

// finish prints the result. Faults go to stderr.
func (j *importJob) finish(err error) error {
	counts := j.progress.snapshot()
	for _, f := range j.faults {
		fmt.Fprintln(j.Env.Stderr, terminal.Clean(f))
	}
	if more := counts.Failed - len(j.faults); more > 0 && len(j.faults) == maxFaults {
		fmt.Fprintf(j.Env.Stderr, "and %d bad lines more\n", more)
	}
	switch j.Output {
	case "json":
		err = errors.Join(err, j.ShowValue(counts))
	case "table":
		fmt.Fprintf(
			j.Env.Stdout,
			"%s: %s stored, %d known already, %s failed\n",
			terminal.Counted(int64(counts.Lines), "line"),
			terminal.Counted(int64(counts.Stored), "message"),
			counts.Skipped,
			terminal.Counted(int64(counts.Failed), "line"),
		)
	}
	if err == nil && counts.Failed > 0 {
		return terminal.ErrReported
	}
	return err
}
