package cli

import (
	"github.com/alecthomas/kong"

	"github.com/stratamem/strata/internal/program/cli/remote"
	"github.com/stratamem/strata/internal/program/cli/remote/access"
	"github.com/stratamem/strata/internal/program/cli/remote/importing"
	"github.com/stratamem/strata/internal/program/cli/terminal"
)

// root is the command line.
type root struct {
	terminal.Options
	ShowVersion kong.VersionFlag `name:"version" hidden:"" help:"Print the version, as strata version does."`

	Serve      serveCmd            `cmd:"" help:"Run the server."`
	Demo       demoCmd             `cmd:"" help:"Show in a few seconds, offline, what an agent gets."`
	Record     remote.RecordCmd    `cmd:"" help:"Record a turn."`
	Context    remote.ContextCmd   `cmd:"" help:"Build the context of an agent's next turn."`
	Messages   remote.MessagesCmd  `cmd:"" help:"List a session's messages; hide, pin, tag, delete and pop them."`
	Compact    remote.CompactCmd   `cmd:"" help:"Make a history smaller by a policy, as BuildContext does with a stored one."`
	Check      remote.CheckCmd     `cmd:"" help:"Check the words of messages by rules, and mend what does not pass."`
	Search     remote.SearchCmd    `cmd:"" help:"Find a user's messages by their words."`
	Sessions   remote.SessionsCmd  `cmd:"" help:"List, show, label and delete sessions."`
	Facts      remote.FactsCmd     `cmd:"" help:"List, find and correct what was learnt about a user."`
	Documents  remote.DocumentsCmd `cmd:"" help:"Put, list, find and delete documents by namespace."`
	Summaries  remote.SummariesCmd `cmd:"" help:"Show summaries of sessions, weeks and months."`
	Users      remote.UsersCmd     `cmd:"" help:"List, set, export, import and erase users."`
	Jobs       remote.JobsCmd      `cmd:"" help:"Show the background work; retry or skip what failed."`
	Reembed    remote.ReembedCmd   `cmd:"" help:"Change the embedding model while the server serves."`
	Reindex    remote.ReindexCmd   `cmd:"" help:"Make Milvus and Elasticsearch again from what is stored, while the server serves."`
	Verify     remote.VerifyCmd    `cmd:"" help:"Compare Milvus and Elasticsearch with what is stored, and put right what differs."`
	Import     importing.ImportCmd `cmd:"" help:"Record whole sessions from a JSONL file."`
	Retention  remote.RetentionCmd `cmd:"" help:"List what is kept no longer, by the retention of the server's profiles."`
	Backup     backupCmd           `cmd:"" help:"Copy the data file while it is served."`
	Restore    restoreCmd          `cmd:"" help:"Make the data file what a backup holds, without what was erased since."`
	Migrate    migrateCmd          `cmd:"" help:"Bring the schemas of the configured stores up to date, without serving."`
	Copy       copyCmd             `cmd:"" help:"Move everything from a SQLite file to MongoDB, and compare."`
	Keys       access.KeysCmd      `cmd:"" help:"Make, list, rotate and revoke the keys that callers need."`
	Tenants    access.TenantsCmd   `cmd:"" help:"List, suspend and resume tenants."`
	Audit      access.AuditCmd     `cmd:"" help:"List who did what to whose memory, when, from where and with which outcome."`
	MCP        remote.MCPCmd       `cmd:"" name:"mcp" help:"Give a model's client one user's memory by the Model Context Protocol, over stdin and stdout."`
	Doctor     doctorCmd           `cmd:"" help:"Check configuration, server, background work, models, disk and clock."`
	Health     healthCmd           `cmd:"" help:"Ask a server whether it serves; exit code 0 when it does."`
	Config     configCmd           `cmd:"" help:"Show and check the server's configuration."`
	Version    versionCmd          `cmd:"" help:"Print the version."`
	Licenses   licensesCmd         `cmd:"" help:"Print the licences and notices of everything in this program."`
	Completion completionCmd       `cmd:"" help:"Print a completion script for a shell."`
}
