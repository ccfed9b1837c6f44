package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// allowed are the licences, by SPDX identifier, under which modules may be linked: permissive ones, which ask for no more than that their
// text is shipped with a binary. Whoever adds one decides that for everybody who ships the program.
var allowed = []string{"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", publicDomain}

const publicDomain = "LicenseRef-public-domain"

// licence is one that is recognised, by sentences that all stand in its text, in lower case with single spaces, and that do not.
type licence struct {
	id    string
	has   []string
	lacks []string
}

// known are the licences that are recognised. Those that are not allowed are here to be named, and to be found beside an allowed one.
var known = []licence{
	{id: "Apache-2.0", has: []string{"apache license", "version 2.0, january 2004", "terms and conditions for use, reproduction, and distribution"}},
	{id: "BSD-2-Clause", has: bsd, lacks: []string{"neither the name", "may not be used to endorse", "all advertising materials"}},
	{id: "BSD-3-Clause", has: append(slices.Clone(bsd), "endorse or promote products derived from"), lacks: []string{"all advertising materials"}},
	{id: "BSD-4-Clause", has: append(slices.Clone(bsd), "all advertising materials")},
	{id: "ISC", has: []string{"permission to use, copy, modify, and", "distribute this software for any purpose with or without fee is hereby granted"}},
	{id: "MIT", has: []string{
		"permission is hereby granted, free of charge, to any person obtaining a copy", "the above copyright notice and this permission notice",
		"without warranty of any kind",
	}},
	{id: publicDomain, has: []string{"all of the code and documentation in sqlite has been dedicated to the public domain"}},
	{id: "GPL", has: []string{"gnu general public license", "everyone is permitted to copy and distribute verbatim copies"}},
	{id: "LGPL", has: []string{"gnu lesser general public license", "everyone is permitted to copy and distribute verbatim copies"}},
	{id: "AGPL", has: []string{"gnu affero general public license", "everyone is permitted to copy and distribute verbatim copies"}},
	{id: "MPL", has: []string{"mozilla public license"}},
	{id: "EPL", has: []string{"eclipse public license"}},
	{id: "SSPL", has: []string{"server side public license"}},
	{id: "BUSL", has: []string{"business source license"}},
	{id: "Elastic", has: []string{"elastic license"}},
	{id: "Commons-Clause", has: []string{"commons clause"}},
	{id: "CC-BY-NC", has: []string{"creative commons", "noncommercial"}},
}

var bsd = []string{"redistributions of source code must retain", "redistributions in binary form must reproduce"}

var space = regexp.MustCompile(`[\s*#/]+`)

// idsOf are the licences that a text holds.
func idsOf(text string) []string {
	text = strings.TrimSpace(space.ReplaceAllString(strings.ToLower(text), " "))
	var ids []string
	for _, l := range known {
		missing := func(s string) bool { return !strings.Contains(text, space.ReplaceAllString(s, " ")) }
		present := func(s string) bool { return !missing(s) }
		if !slices.ContainsFunc(l.has, missing) && !slices.ContainsFunc(l.lacks, present) {
			ids = append(ids, l.id)
		}
	}
	return ids
}

// noLicences are files, by the SHA-256 of their text, that are called licences and under which nothing is linked. Another version of such
// a file is to be read again.
var noLicences = map[string]string{
	"ce9c578c2968e316b80b180c3f5a5d70a8f32f37256c1bcf944a5de4f9f4eb59": "where the logo of modernc.org/memory is from",
	"77b00d378fa8a729f1b99b0a84fbbd081c7950ebcabb6406f6a2d2a9a46d5ca6": "lists the licences of what the repository of modernc.org/sqlite uses; what of it is linked is a module with licences of its own",
}

// isLicence says which of the files that are shipped must hold a licence; the others are notices and grants beside one.
var isLicence = regexp.MustCompile(`(?i)^(licen[cs]e|copying)([-._].*)?$`)

// check returns the licences of a module, sorted, and refuses one whose licence is not known or not allowed.
func check(module string, texts []legal) ([]string, error) {
	var ids []string
	var errs []error
	for _, t := range texts {
		if sum := sha256.Sum256([]byte(t.text)); noLicences[hex.EncodeToString(sum[:])] != "" {
			continue
		}
		in := idsOf(t.text)
		if t.id != "" {
			in = append(in, t.id)
		}
		if len(in) == 0 && isLicence.MatchString(t.file) {
			errs = append(errs, fmt.Errorf("%s: nobody knows the licence in %s: read it, and add it to known in tools/licenses/allowed.go", t.of, t.file))
		}
		for _, id := range in {
			if !slices.Contains(allowed, id) {
				errs = append(errs, fmt.Errorf("%s: %s is under %s, which is not among the allowed licences (%s): use another module",
					t.of, t.file, id, strings.Join(allowed, ", ")))
			}
		}
		ids = append(ids, in...)
	}
	if len(ids) == 0 && len(errs) == 0 {
		errs = append(errs, fmt.Errorf("%s: none of its files holds a licence that is known", module))
	}
	slices.Sort(ids)
	return slices.Compact(ids), errors.Join(errs...)
}
