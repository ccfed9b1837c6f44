package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/stratamem/strata/internal/program/app"
	"github.com/stratamem/strata/internal/program/cli/terminal"
	"github.com/stratamem/strata/internal/program/config"
)

// backupCmd copies the data file while it is served.
type backupCmd struct {
	To string `arg:"" placeholder:"FILE" help:"The file to write. It must not exist."`
	settings
}

// Help says what a backup holds.
func (c *backupCmd) Help() string {
	return `The backup holds everything that was acknowledged when it began: users, sessions, messages, facts, summaries, jobs and
the receipts of erasures. It is a data file of its own, readable by its owner only, and it holds what people said: keep it as
safe as the data file. A server may have the data file open and goes on serving.

What is erased after a backup is in the backup still. The ledger of erasures (--erasure-ledger) says so when the backup is
restored, so keep the ledger apart from the backups, and never put an older ledger in place of a newer one.`
}

// Run writes the backup and prints its size.
func (c *backupCmd) Run(r *terminal.Run) error {
	cfg, err := c.load(r)
	if err != nil {
		return err
	}
	size, err := app.Backup(r.Ctx, cfg.Config, c.To)
	if err != nil {
		return fmt.Errorf("back up %s: %w", cfg.Data, err)
	}
	fmt.Fprintf(r.Env.Stdout, "%s: %d bytes, read back and whole\n", absolute(c.To), size)
	return nil
}

// restoreCmd makes the data file what a backup holds.
type restoreCmd struct {
	From    string `arg:"" type:"existingfile" placeholder:"BACKUP" help:"The file that strata backup wrote."`
	Replace bool   `help:"Move a data file that is there away, instead of refusing."`
	settings
}

// Help says what is not restored.
func (c *restoreCmd) Help() string {
	return `No server may have the data file open. What was erased after the backup was taken is erased again by the ledger of
erasures (--erasure-ledger), before anybody can see it; configured views (Milvus, Elasticsearch) are made again once the
server serves. With --replace the data file of before is moved, not deleted: its new name is printed. Delete it when you do not
need it: nothing is erased from it any more.`
}

// Run restores, and prints what was erased again.
func (c *restoreCmd) Run(r *terminal.Run) error {
	cfg, err := c.load(r)
	if err != nil {
		return err
	}
	if _, err := os.Lstat(cfg.Data); err == nil && !c.Replace && cfg.Primary() == config.PrimarySQLite {
		return fmt.Errorf("restore %s: %s exists already: give --replace, which moves it away and keeps it, or name another file with --data",
			c.From, absolute(cfg.Data))
	}
	aside := ""
	if c.Replace {
		if aside, err = besides(cfg.Data, r.Env.Now().UTC().Format("20060102T150405Z")); err != nil {
			return err
		}
	}
	done, err := app.Restore(r.Ctx, cfg.Config, c.From, aside, newLog(cfg.Config, r.Env))
	if err != nil {
		return fmt.Errorf("restore %s: %w", c.From, err)
	}
	fmt.Fprintf(r.Env.Stdout, "%s is restored; of %d erasures in the ledger %d were carried out again\n",
		absolute(cfg.Data), done.Erasures.Entries, done.Erasures.Repeated)
	if done.NoLedger != "" {
		fmt.Fprintf(r.Env.Stderr, "there is no ledger of erasures at %s: what was erased after the backup is in the restored file. "+
			"If anything was, put the newest ledger there and restore again, before you serve it\n", absolute(done.NoLedger))
	}
	if done.Aside != "" {
		fmt.Fprintf(r.Env.Stdout, "the data file of before is %s: delete it when you do not need it\n", absolute(done.Aside))
	}
	return nil
}

// besides is a name beside the data file that nothing has.
func besides(path, stamp string) (string, error) {
	name := path + ".before-" + stamp
	if _, err := os.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%s exists already: try again in a second", name)
	}
	return name, nil
}
