package safegroup_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// testOnly is the tree that only tests and measuring tools use: a panic there ends no server.
var testOnly = []string{"internal/testing"}

func TestEveryGoroutineOfTheProductIsContained(t *testing.T) {
	files := 0
	for _, tree := range []string{"cmd", "internal", "migrations"} {
		err := filepath.WalkDir(filepath.Join("../../..", tree), func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			name := filepath.ToSlash(strings.TrimPrefix(path, filepath.Join("../../..")+string(filepath.Separator)))
			if d.IsDir() && (slices.Contains(testOnly, name) || name == "internal/memory/safegroup") {
				return fs.SkipDir
			}
			if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
				return nil
			}
			files++
			return checkFile(t, path, name)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if files < 100 {
		t.Errorf("only %d files were looked at", files)
	}
}

// checkFile finds what starts a goroutine whose panic would end the program.
func checkFile(t *testing.T, path, name string) error {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if found := starts(n); found != "" {
			t.Errorf("%s:%d: %s: start it with internal/memory/safegroup, so that a panic there is an error", name, set.Position(n.Pos()).Line, found)
		}
		return true
	})
	return nil
}

func starts(n ast.Node) string {
	switch n := n.(type) {
	case *ast.GoStmt:
		return "a go statement"
	case *ast.ImportSpec:
		if n.Path.Value == `"golang.org/x/sync/errgroup"` {
			return "errgroup"
		}
	case *ast.SelectorExpr:
		if pkg, ok := n.X.(*ast.Ident); ok && pkg.Name == "sync" && n.Sel.Name == "WaitGroup" {
			return "sync.WaitGroup"
		}
	}
	return ""
}
