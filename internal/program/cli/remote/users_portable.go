package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/client"
	"github.com/stratamem/strata/internal/program/cli/terminal"
)

type usersExportCmd struct {
	User    string `arg:"" help:"The user."`
	File    string `type:"path" placeholder:"FILE" help:"The file to write; it appears only when it is whole. Without it the user is written to stdout."`
	Vectors bool   `help:"Write the vectors of facts and messages too, so that a server with the same embedding model need not make them again."`
}

// Help describes the file.
func (c *usersExportCmd) Help() string {
	return `Everything that is stored of the user: sessions with their messages and originals, state, summaries, facts with their
history, background work, and keyed hashes of what was deleted. One JSON object per line; docs/operate/export.md names every
field. Vectors are left out unless --vectors asks for them: they are made again from the texts. The last line holds a checksum, so
that a file that was cut is refused by strata users import.

The file holds everything that the user said, and secrets in it: keep it as safe as the data itself.`
}

// Run writes the user's file.
func (c *usersExportCmd) Run(r *terminal.Run) error {
	server, err := r.Dial()
	if err != nil {
		return err
	}
	defer func() { _ = server.Close() }()
	out, err := c.create(r.Env)
	if err != nil {
		return terminal.UsageError{Err: err}
	}
	defer out.discard()
	if err := c.receive(r, server, out); err != nil {
		return err
	}
	return out.keep()
}

func (c *usersExportCmd) receive(r *terminal.Run, server *client.Client, out io.Writer) error {
	ctx, patience := patientCall(r)
	defer patience.stop()
	stream, err := server.Users.ExportUser(ctx, &memoryv1.ExportUserRequest{UserId: c.User, Vectors: c.Vectors})
	if err != nil {
		return r.Explained(patience.Explained(err))
	}
	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return r.Explained(patience.Explained(err))
		}
		patience.renew()
		if _, err := out.Write(m.GetChunk()); err != nil {
			return fmt.Errorf("write the file: %w", err)
		}
	}
}

// wholeFile is a file that appears under its name only when it was kept.
type wholeFile struct {
	io.Writer
	temporary *os.File // nil for stdout
	path      string
}

func (c *usersExportCmd) create(env terminal.Env) (*wholeFile, error) {
	if c.File == "" {
		return &wholeFile{Writer: env.Stdout}, nil
	}
	f, err := os.CreateTemp(filepath.Dir(c.File), "."+filepath.Base(c.File)+".*") // readable by its owner alone
	if err != nil {
		return nil, err
	}
	return &wholeFile{Writer: f, temporary: f, path: c.File}, nil
}

// keep gives the file its name, once it is on the disk.
func (f *wholeFile) keep() error {
	if f.temporary == nil {
		return nil
	}
	if err := errors.Join(f.temporary.Sync(), f.temporary.Close()); err != nil {
		return fmt.Errorf("write the file: %w", err)
	}
	if err := os.Rename(f.temporary.Name(), f.path); err != nil {
		return fmt.Errorf("write the file: %w", err)
	}
	f.temporary = nil
	return nil
}

// discard removes a file that was not kept.
func (f *wholeFile) discard() {
	if f.temporary != nil {
		_ = f.temporary.Close()
		_ = os.Remove(f.temporary.Name())
	}
}

type usersImportCmd struct {
	File       string `arg:"" help:"A file of strata users export; - for stdin."`
	User       string `placeholder:"ID" help:"The user to import it as; that of the file when not set."`
	OnConflict string `enum:",skip,overwrite,new-ids" default:"" placeholder:"RULE" help:"What happens where the user is there already: skip leaves sessions and facts with a known id as they are, overwrite erases them for those of the file, new-ids adds all of the file under new ids. Without it the import is refused."`
}

// conflictRules are the rules by their names.
var conflictRules = map[string]memoryv1.OnConflict{
	"skip": memoryv1.OnConflict_ON_CONFLICT_SKIP, "overwrite": memoryv1.OnConflict_ON_CONFLICT_OVERWRITE,
	"new-ids": memoryv1.OnConflict_ON_CONFLICT_NEW_IDS,
}

// Help describes what an import does.
func (c *usersImportCmd) Help() string {
	return `The user must not be there yet, or --on-conflict say what becomes of what is. Nobody is served any of it until the whole file
has arrived and agrees with its checksum: of a file that was cut, was changed or is bad nothing stays. Afterwards
a new user is what the file says: ids, times, revisions, evidence, summaries and state are the same, a message that was recorded
before the export is known, and what was deleted is not learnt again. Indexes are made again in the background, and vectors where the
file holds none or those of another embedding model.

To record sessions of another program, see strata import.`
}

// importChunk is how many bytes of the file are sent at once.
const importChunk = 256 << 10

// Run sends the file and prints what was imported.
func (c *usersImportCmd) Run(r *terminal.Run) error {
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
	reply, err := c.send(r, server, in)
	if err != nil {
		return err
	}
	return r.Show(reply, terminal.Views{
		Table: func(w io.Writer) {
			fmt.Fprintf(w, "%s: %s, %s, %s and %s imported\n", terminal.OneLine(reply.GetUser().GetUserId()), terminal.Counted(reply.GetSessions(), "session"),
				terminal.Counted(reply.GetMessages(), "message"), terminal.Counted(reply.GetFacts(), "fact"), terminal.Counted(reply.GetDocuments(), "document"))
			if reply.GetLeftSessions()+reply.GetLeftFacts()+reply.GetLeftDocuments() > 0 {
				fmt.Fprintf(w, "left out: %s, %s and %s\n", terminal.Counted(reply.GetLeftSessions(), "session"), terminal.Counted(reply.GetLeftFacts(), "fact"),
					terminal.Counted(reply.GetLeftDocuments(), "document"))
			}
			if reply.GetVectors()+reply.GetLeftVectors() > 0 {
				fmt.Fprintf(w, "vectors: %d imported, %d left out and made again\n", reply.GetVectors(), reply.GetLeftVectors())
			}
		},
		Quiet: func(w io.Writer) { fmt.Fprintln(w, reply.GetUser().GetUserId()) },
	})
}

func (c *usersImportCmd) send(r *terminal.Run, server *client.Client, in io.Reader) (*memoryv1.ImportUserResponse, error) {
	ctx, patience := patientCall(r)
	defer patience.stop()
	stream, err := server.Users.ImportUser(ctx)
	if err != nil {
		return nil, r.Explained(patience.Explained(err))
	}
	buffer := make([]byte, importChunk)
	for ended := false; !ended; {
		n, err := io.ReadFull(in, buffer)
		ended = errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		if err != nil && !ended {
			return nil, fmt.Errorf("read the file: %w", err)
		}
		patience.renew()
		err = stream.Send(&memoryv1.ImportUserRequest{UserId: c.User, OnConflict: conflictRules[c.OnConflict], Chunk: buffer[:n]})
		if errors.Is(err, io.EOF) { // the server has replied already: CloseAndRecv says why
			break
		}
		if err != nil {
			return nil, r.Explained(patience.Explained(err))
		}
	}
	patience.renew()
	reply, err := stream.CloseAndRecv()
	return reply, r.Explained(patience.Explained(err))
}

// patience ends a stream on which nothing moves for the timeout of a call.
type patience struct {
	timer   *time.Timer
	timeout time.Duration
	cancel  context.CancelCauseFunc
	ctx     context.Context //nolint:containedctx // its cause is why it ended
}

var errNothingMoves = errors.New("nothing moved on the stream")

// patientCall returns a context for a stream.
func patientCall(r *terminal.Run) (context.Context, *patience) {
	ctx, cancel := context.WithCancelCause(r.Ctx)
	p := &patience{timeout: r.Timeout, cancel: cancel, ctx: ctx}
	p.timer = time.AfterFunc(r.Timeout, func() { cancel(errNothingMoves) })
	return ctx, p
}

func (p *patience) renew() { p.timer.Reset(p.timeout) }

func (p *patience) stop() {
	p.timer.Stop()
	p.cancel(nil)
}

// Explained is the error of a stream: why it was given up, where it was.
func (p *patience) Explained(err error) error {
	if err != nil && errors.Is(context.Cause(p.ctx), errNothingMoves) {
		return fmt.Errorf("nothing came of the server for %s: allow it more time with --timeout", p.timeout)
	}
	return err
}
