package main

import (
	"cmp"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

const (
	mit = `MIT License. Permission is hereby granted, free of charge, to any person obtaining a copy of this software, subject to: The above
		copyright notice and this permission notice shall be included. THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND.`
	threeClauses = `Redistributions of source code must retain the notice. Redistributions in binary form must reproduce it. Neither the name of X
		nor its contributors may be used to endorse or promote products derived from this software.`
)

func TestLicences(t *testing.T) {
	t.Run("every module that is linked into the program is under an allowed licence", func(t *testing.T) {
		modules, err := linked(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(modules) < 20 {
			t.Fatalf("%d modules were found: too few", len(modules))
		}
		for _, m := range slices.SortedFunc(maps.Values(modules), func(a, b *module) int { return cmp.Compare(a.path, b.path) }) {
			texts, err := m.texts()
			if err != nil {
				t.Error(err)
				continue
			}
			if _, err := check(m.path, texts); err != nil {
				t.Error(err)
			}
		}
	})
	t.Run("a licence that nobody knows is refused", func(t *testing.T) {
		wantRefused(t, "LICENSE", "You may use this on Sundays.", "nobody knows the licence")
	})
	t.Run("a licence that is known and not allowed is refused by its name", func(t *testing.T) {
		wantRefused(t, "LICENSE.txt", "Mozilla Public License Version 2.0", "MPL")
		wantRefused(t, "COPYING", "GNU AFFERO GENERAL PUBLIC LICENSE. Everyone is permitted to copy and distribute verbatim copies", "AGPL")
	})
	t.Run("an allowed licence does not excuse another in the same file", func(t *testing.T) {
		wantRefused(t, "LICENSE", "\"Commons Clause\" License Condition v1.0\n"+mit, "Commons-Clause")
	})
	t.Run("a module with a notice alone is refused", func(t *testing.T) {
		wantRefused(t, "NOTICE", "Copyright X", "none of its files holds a licence")
	})
	t.Run("licences are told apart", func(t *testing.T) {
		for want, text := range map[string]string{"MIT": mit, "BSD-3-Clause": threeClauses} {
			if got := idsOf(text); !slices.Equal(got, []string{want}) {
				t.Errorf("%v, want %s", got, want)
			}
		}
	})
	t.Run("the systems are those that are released", func(t *testing.T) {
		script, err := os.ReadFile("../release.sh")
		if err != nil {
			t.Fatal(err)
		}
		if want := `ALL="` + strings.Join(systems, " ") + `"`; !strings.Contains(string(script), want) {
			t.Errorf("tools/release.sh has no line %s", want)
		}
	})
}

func wantRefused(t *testing.T, file, text, because string) {
	t.Helper()
	_, err := check("example.org/x", []legal{{of: "example.org/x v1.0.0", file: file, text: text}})
	if err == nil || !strings.Contains(err.Error(), because) {
		t.Errorf("got %v, want an error with %q", err, because)
	}
}
