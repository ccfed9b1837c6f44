package app

import (
	"github.com/stratamem/strata/internal/language/secretscan"
	"github.com/stratamem/strata/internal/learning/extract"
	"github.com/stratamem/strata/internal/memory"
)

// warmUp looks for secrets in a statement and verifies it as a fact, so that the tables of words and grammars that a Record and its facts
// need are built before the first call. Without it the first callers wait for these tables, which are built at their first use. It stores
// nothing and asks no model. The tables take 6 MiB of the heap. The vocabularies of tokens and the grammars of the rules that learn without
// a model take more, and are left to the first message.
func warmUp() { warmUpWith("I moved to Lyon last week.") }

// warmUpWith treats a statement as one of a user, from its Record until its facts are decided about, and returns the facts.
func warmUpWith(statement string) []extract.Proposal {
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
