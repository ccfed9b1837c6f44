// Package rehearsal has a server go through a Record and its facts before anybody makes one. The tables of words and grammars that
// these need are built at their first use; a server that has not rehearsed has its first callers wait for them.
package rehearsal

import (
	"github.com/stratamem/strata/internal/extract"
	"github.com/stratamem/strata/internal/memory"
	"github.com/stratamem/strata/internal/secretscan"
)

// Run looks for secrets in a statement, and verifies it as a fact. It stores nothing and asks no model. What it leaves built takes
// 6 MiB of the heap. The vocabularies of tokens and the grammars of the rules that learn without a model take more than that, and
// are left to the first message.
func Run() { learn("I moved to Lyon last week.") }

// learn does with a statement what is done with one that a user makes, from its Record until its facts are decided about, and returns
// the facts.
func learn(statement string) []extract.Proposal {
	said := memory.Message{
		Seq: 1, Role: memory.RoleUser, Origin: memory.DefaultOrigin(memory.RoleUser), Extract: memory.ExtractAllow,
		Parts: []memory.Part{memory.TextPart(statement)},
	}
	said.Parts = secretscan.Mark([][]memory.Part{said.Parts})[0]
	task := extract.NewTask(extract.Input{Messages: []memory.Message{said}})
	var ops []extract.Op
	for _, l := range task.Lines {
		ops = append(ops, extract.Op{Op: "add", Message: l.Alias, Text: l.Text, Quote: l.Text, Category: "other", Significance: 5})
	}
	facts, _ := extract.Verify(task, ops)
	return facts
}
