package grpcapi

import (
	"flag"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc"

	memoryv1 "github.com/stratamem/strata/api/memory/v1"
	"github.com/stratamem/strata/internal/access/auth"
	"github.com/stratamem/strata/internal/edge/grpcserver"
)

var update = flag.Bool("update", false, "write the tables of docs/operate/access.md and audit.md")

func TestEveryMethodHasARowInTheTable(t *testing.T) {
	s := grpc.NewServer()
	memoryv1.RegisterUserServiceServer(s, &UserService{})
	services := s.GetServiceInfo()
	if err := NewAPI().Check(services); err != nil {
		t.Fatal(err)
	}
	without := func(change func(map[string]grpcserver.Rule)) error {
		table := map[string]grpcserver.Rule{}
		for m, r := range accessTable {
			table[m] = r
		}
		change(table)
		return grpcserver.API{Calls: table, NoUsers: noUsers}.Check(services)
	}
	t.Run("a server with a method that has none does not start", func(t *testing.T) {
		err := without(func(table map[string]grpcserver.Rule) { delete(table, memoryv1.UserService_GetUser_FullMethodName) })
		if err == nil || !strings.Contains(err.Error(), "/memory.v1.UserService/GetUser has no row") {
			t.Error(err)
		}
	})
	t.Run("nor one with a method of which nobody decided whether it has entries in the audit", func(t *testing.T) {
		err := without(func(table map[string]grpcserver.Rule) {
			table[memoryv1.UserService_GetUser_FullMethodName] = grpcserver.Rule{Scope: grpcserver.OfUser, Roles: agents}
		})
		if err == nil || !strings.Contains(err.Error(), "/memory.v1.UserService/GetUser: nobody decided") {
			t.Error(err)
		}
	})
	t.Run("nor one with a row of a user's memory whose request names no user, or the other way round", func(t *testing.T) {
		for method, wrong := range map[string]grpcserver.Scope{
			memoryv1.UserService_ListUsers_FullMethodName: grpcserver.OfUser, memoryv1.UserService_UpdateUser_FullMethodName: grpcserver.OfNobody,
		} {
			if without(func(table map[string]grpcserver.Rule) {
				table[method] = grpcserver.Rule{Scope: wrong, Roles: agents, Audited: grpcserver.Always}
			}) == nil {
				t.Errorf("%s may have scope %d", method, wrong)
			}
		}
	})
}

func TestThePagesHaveTheTables(t *testing.T) {
	for path, table := range map[string]string{"../../../docs/operate/access.md": accessMarkdown(), "../../../docs/operate/audit.md": auditMarkdown()} {
		const begin, end = "<!-- table -->\n", "<!-- end of table -->\n"
		page, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		before, rest, _ := strings.Cut(string(page), begin)
		_, after, ok := strings.Cut(rest, end)
		if !ok {
			t.Fatalf("%s has no marks for the table", path)
		}
		want := before + begin + table + end + after
		if *update {
			if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
		} else if string(page) != want {
			t.Errorf("%s has another table: run go test ./internal/edge/grpcapi -run Tables -update, and read what changed", path)
		}
	}
}

// accessMarkdown is the table of who may call what, in Markdown.
func accessMarkdown() string {
	b := &strings.Builder{}
	roles := auth.Roles()
	b.WriteString("| call |")
	for _, r := range roles {
		b.WriteString(" " + r.String() + " |")
	}
	b.WriteString(" about |\n|---|" + strings.Repeat("---|", len(roles)+1) + "\n")
	for _, method := range slices.Sorted(maps.Keys(accessTable)) {
		r := accessTable[method]
		if r.Scope == grpcserver.Open {
			continue
		}
		b.WriteString("| " + strings.TrimPrefix(method, "/"+grpcserver.APIPackage+".") + " |")
		for _, role := range roles {
			b.WriteString(" " + cell(r, role) + " |")
		}
		b.WriteString(" " + scopeNames[r.Scope] + " |\n")
	}
	return b.String()
}

var scopeNames = map[grpcserver.Scope]string{grpcserver.OfUser: "a user", grpcserver.OfTenant: "the tenant's users", grpcserver.OfNobody: "no user", grpcserver.OfServer: "all tenants"}

func cell(r grpcserver.Rule, role auth.Role) string {
	switch {
	case !slices.Contains(r.Roles, role):
		return "–"
	case role == auth.RoleUser && (r.Scope == grpcserver.OfUser || r.Scope == grpcserver.OfTenant):
		return "own"
	case role == auth.RoleOperator && r.Scope == grpcserver.OfUser:
		return "without ids"
	}
	return "yes"
}

// auditMarkdown is the table of whose calls have entries in the audit, in Markdown.
func auditMarkdown() string {
	b := &strings.Builder{}
	b.WriteString("| call | has an entry |\n|---|---|\n")
	for _, method := range slices.Sorted(maps.Keys(accessTable)) {
		if r := accessTable[method]; r.Scope != grpcserver.Open {
			b.WriteString("| " + strings.TrimPrefix(method, "/"+grpcserver.APIPackage+".") + " | " + auditedNames[r.Audited] + " |\n")
		}
	}
	return b.String()
}

var auditedNames = map[grpcserver.Audited]string{grpcserver.Never: "no", grpcserver.ByAdmins: "by admins", grpcserver.Always: "yes"}
