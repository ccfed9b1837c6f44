package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/stratamem/strata/internal/program/cli/terminal"
)

// completionCmd prints a completion script, derived from the commands and flags that the parser knows.
type completionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash: source <(strata completion bash). zsh: source <(strata completion zsh). fish: strata completion fish | source."`
}

// Run prints the script.
func (c *completionCmd) Run(r *terminal.Run) error {
	places := placesOf(r.Kong.Model.Node, nil)
	switch c.Shell {
	case "bash":
		writeBash(r.Env.Stdout, places)
	case "zsh":
		writeZsh(r.Env.Stdout, places)
	case "fish":
		writeFish(r.Env.Stdout, places)
	}
	return nil
}

// place is a command with the words that may follow it.
type place struct {
	path     []string // the commands up to it; empty for the program
	commands []*kong.Node
	values   []string     // those of arguments with a closed list
	flags    []*kong.Flag // with those of the commands above
}

func placesOf(n *kong.Node, path []string) []place {
	p := place{path: path, commands: n.Children, flags: slices.Concat(n.AllFlags(true)...)}
	for _, arg := range n.Positional {
		if arg.Enum != "" {
			p.values = append(p.values, strings.Split(arg.Enum, ",")...)
		}
	}
	all := []place{p}
	for _, child := range n.Children {
		all = append(all, placesOf(child, append(slices.Clone(path), child.Name))...)
	}
	return all
}

// words are the values, commands and flags that may follow.
func (p place) words() []string {
	words := slices.Clone(p.values)
	for _, c := range p.commands {
		words = append(words, c.Name)
	}
	for _, f := range p.flags {
		words = append(words, "--"+f.Name)
	}
	return words
}

// key is the path as the scripts keep it.
func (p place) key() string { return strings.Join(p.path, " ") }

// enumFlags are the flags with a closed list of values, each once.
func enumFlags(places []place) []*kong.Flag {
	seen := map[string]bool{}
	var flags []*kong.Flag
	for _, p := range places {
		for _, f := range p.flags {
			if f.Enum != "" && !seen[f.Name] {
				seen[f.Name] = true
				flags = append(flags, f)
			}
		}
	}
	return flags
}

func enumWords(f *kong.Flag) string {
	return strings.TrimSpace(strings.ReplaceAll(f.Enum, ",", " "))
}

// flagPattern matches the flag, and its short form, in a shell's case.
func flagPattern(f *kong.Flag) string {
	if f.Short == 0 {
		return "--" + f.Name
	}
	return fmt.Sprintf("--%s|-%c", f.Name, f.Short)
}

// writeWalk writes the part that bash and zsh share: the words before the cursor become $at.
func writeWalk(w io.Writer, places []place) {
	var patterns []string
	for _, p := range places[1:] {
		patterns = append(patterns, fmt.Sprintf("%q", " "+p.key()))
	}
	fmt.Fprintf(w, "    case \"$at $w\" in %s) at=\"$at $w\" ;; esac\n  done\n", strings.Join(patterns, "|"))
}

func writeBash(w io.Writer, places []place) {
	fmt.Fprint(w, "_strata() {\n  local cur=${COMP_WORDS[COMP_CWORD]} at='' words='' w\n  case ${COMP_WORDS[COMP_CWORD-1]} in\n")
	for _, f := range enumFlags(places) {
		fmt.Fprintf(w, "    %s) COMPREPLY=($(compgen -W '%s' -- \"$cur\")); return ;;\n", flagPattern(f), enumWords(f))
	}
	fmt.Fprint(w, "  esac\n  for w in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n")
	writeWalk(w, places)
	fmt.Fprint(w, "  case $at in\n")
	for _, p := range places {
		fmt.Fprintf(w, "    %q) words='%s' ;;\n", lead(p.key()), strings.Join(p.words(), " "))
	}
	fmt.Fprint(w, "  esac\n  COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n}\ncomplete -o default -F _strata strata\n")
}

func writeZsh(w io.Writer, places []place) {
	fmt.Fprint(w, "#compdef strata\n_strata() {\n  local at='' w\n  case ${words[CURRENT-1]} in\n")
	for _, f := range enumFlags(places) {
		fmt.Fprintf(w, "    %s) compadd -- %s; return ;;\n", flagPattern(f), enumWords(f))
	}
	fmt.Fprint(w, "  esac\n  for w in \"${(@)words[2,CURRENT-1]}\"; do\n")
	writeWalk(w, places)
	fmt.Fprint(w, "  case $at in\n")
	for _, p := range places {
		fmt.Fprintf(w, "    %q) compadd -- %s ;;\n", lead(p.key()), strings.Join(p.words(), " "))
	}
	fmt.Fprint(w, "  esac\n  [[ ${words[CURRENT]} == -* ]] || _files\n}\ncompdef _strata strata\n")
}

// lead puts the space before a path that the walk leaves there.
func lead(key string) string {
	if key == "" {
		return ""
	}
	return " " + key
}

func writeFish(w io.Writer, places []place) {
	for _, p := range places {
		when := fishCondition(p)
		for _, c := range p.commands {
			fmt.Fprintf(w, "complete -c strata -f -n %s -a %s -d %s\n", fishQuote(when), c.Name, fishQuote(c.Help))
		}
		for _, v := range p.values {
			fmt.Fprintf(w, "complete -c strata -f -n %s -a %s\n", fishQuote(when), v)
		}
		for _, f := range p.flags {
			fmt.Fprintf(w, "complete -c strata -n %s -l %s%s -d %s\n", fishQuote(when), f.Name, fishValue(f), fishQuote(f.Help))
		}
	}
}

// fishCondition holds where the words of the place may come.
func fishCondition(p place) string {
	if len(p.path) == 0 {
		return "__fish_use_subcommand"
	}
	var conditions []string
	for _, name := range p.path {
		conditions = append(conditions, "__fish_seen_subcommand_from "+name)
	}
	if len(p.commands) > 0 {
		var names []string
		for _, c := range p.commands {
			names = append(names, c.Name)
		}
		conditions = append(conditions, "not __fish_seen_subcommand_from "+strings.Join(names, " "))
	}
	return strings.Join(conditions, "; and ")
}

// fishValue returns what follows a flag.
func fishValue(f *kong.Flag) string {
	short := ""
	if f.Short != 0 {
		short = fmt.Sprintf(" -s %c", f.Short)
	}
	switch {
	case f.IsBool():
		return short
	case f.Enum != "":
		return short + " -x -a " + fishQuote(enumWords(f))
	}
	return short + " -r"
}

func fishQuote(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "'"
}
