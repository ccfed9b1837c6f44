// Command notices writes the licences and notices of everything that is linked into the program, for every system that it
// is built for: what the Go modules and Go itself ask to be shipped with a binary, and what NOTICE says of embedded data.
//
//	go run ./tools/licenses >internal/program/cli/THIRD_PARTY_NOTICES
package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// The program, and the systems that it is released for: what is linked differs.
const program = "github.com/stratamem/strata/cmd/strata"

var systems = []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64", "windows/arm64"}

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "notices:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	modules, err := linked(ctx)
	if err != nil {
		return err
	}
	var all []legal
	var list []listed
	var errs []error
	for _, m := range slices.SortedFunc(maps.Values(modules), func(a, b *module) int { return cmp.Compare(a.path, b.path) }) {
		texts, err := m.texts()
		if err != nil {
			return err
		}
		ids, err := check(m.path, texts)
		errs = append(errs, err)
		all, list = append(all, texts...), append(list, listed{strings.TrimSpace(m.path + " " + m.version), ids})
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	data, err := embedded()
	if err != nil {
		return err
	}
	_, err = os.Stdout.Write(render(data, list, all))
	return err
}

// module is one that packages of the program are in.
type module struct {
	path, version, root string
	dirs                map[string]bool // of the packages
}

// linked finds the modules of all packages of the program, and Go's own library.
func linked(ctx context.Context) (map[string]*module, error) {
	const format = `{{if .Standard}}std|{{.Root}}{{else}}{{with .Module}}{{if not .Main}}{{.Path}}|{{.Dir}}|{{.Version}}|{{$.Dir}}{{end}}{{end}}{{end}}`
	modules := map[string]*module{}
	for _, system := range systems {
		goos, goarch, _ := strings.Cut(system, "/")
		cmd := exec.CommandContext(ctx, "go", "list", "-deps", "-f", format, program)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+goos, "GOARCH="+goarch)
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("list what %s links on %s: %w", program, system, err)
		}
		for line := range strings.Lines(string(out)) {
			f := strings.Split(strings.TrimSpace(line), "|")
			switch {
			case len(f) == 2:
				modules["std"] = &module{path: "The Go programming language and its standard library", root: f[1], dirs: map[string]bool{f[1]: true}}
			case len(f) == 4:
				if modules[f[0]] == nil {
					modules[f[0]] = &module{path: f[0], version: f[2], root: f[1], dirs: map[string]bool{}}
				}
				modules[f[0]].dirs[f[3]] = true
			}
		}
	}
	return modules, nil
}

// legal is one licence or notice.
type legal struct {
	of   string // module and version, and the folder inside it
	file string // its name; "" for what elsewhere says
	id   string // of the licence, where the text does not hold it but names it
	text string
}

// elsewhere says what modules without a licence of their own are under.
var elsewhere = map[string]legal{
	"github.com/milvus-io/milvus-proto/go-api/v2": {id: "Apache-2.0", text: "The module has no licence file. It is generated from the protocol files of Milvus (https://github.com/milvus-io/milvus),\n" +
		"which is licensed to the LF AI & Data foundation under the Apache License, Version 2.0: see the text above."},
}

// isLegal says which files are to be shipped.
var isLegal = regexp.MustCompile(`(?i)^(licen[cs]e|copying|copyright|notice|patents)([-._].*)?$`)

// texts are the files in the folders of the linked packages and above them, up to the module's root.
func (m *module) texts() ([]legal, error) {
	dirs := map[string]bool{m.root: true}
	for dir := range m.dirs {
		for ; strings.HasPrefix(dir, m.root) && !dirs[dir]; dir = filepath.Dir(dir) {
			dirs[dir] = true
		}
	}
	var found []legal
	for _, dir := range slices.Sorted(maps.Keys(dirs)) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if !e.Type().IsRegular() || !isLegal.MatchString(e.Name()) || strings.HasSuffix(e.Name(), ".go") {
				continue
			}
			text, err := os.ReadFile(filepath.Join(dir, e.Name()))
			if err != nil {
				return nil, err
			}
			of := strings.TrimSpace(m.path + " " + m.version)
			if inside, err := filepath.Rel(m.root, dir); err == nil && inside != "." {
				of += ", " + filepath.ToSlash(inside)
			}
			found = append(found, legal{of: of, file: e.Name(), text: tidy(text)})
		}
	}
	if said, ok := elsewhere[m.path]; ok && len(found) == 0 {
		said.of = m.path + " " + m.version
		return []legal{said}, nil
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("module %s has no licence in %s: see what it is under before it is shipped", m.path, m.root)
	}
	return found, nil
}

// tidy makes texts comparable that differ in their line ends only.
func tidy(text []byte) string {
	lines := strings.Split(strings.ReplaceAll(string(text), "\r\n", "\n"), "\n")
	for i, l := range lines {
		lines[i] = strings.TrimRight(l, " \t\f")
	}
	return strings.Trim(strings.Join(lines, "\n"), "\n")
}

// embedded is what NOTICE says of the data inside the program.
func embedded() (string, error) {
	notice, err := os.ReadFile("NOTICE")
	if errors.Is(err, fs.ErrNotExist) {
		return "", errors.New("there is no NOTICE here: run it at the top of the repository")
	}
	if err != nil {
		return "", err
	}
	apache, err := os.ReadFile("LICENSE")
	if err != nil {
		return "", err
	}
	return tidy(notice) + "\n\n" + tidy(apache), nil
}

const rule = "================================================================================"

// listed is a module with its licences.
type listed struct {
	module   string
	licences []string
}

// render lists the modules, and writes each text once, below all that it belongs to.
func render(data string, list []listed, all []legal) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s\n\nThe program holds the following software, under the licences below.\n\n", data)
	for _, l := range list {
		fmt.Fprintf(&b, "  %-26s %s\n", strings.Join(l.licences, ", "), l.module)
	}
	owners := map[string][]string{}
	var order []string
	for _, l := range all {
		if owners[l.text] == nil {
			order = append(order, l.text)
		}
		if !slices.Contains(owners[l.text], l.of) {
			owners[l.text] = append(owners[l.text], l.of)
		}
	}
	for _, text := range order {
		fmt.Fprintf(&b, "\n%s\n%s\n%s\n\n%s\n", rule, strings.Join(owners[text], "\n"), rule, text)
	}
	return b.Bytes()
}
