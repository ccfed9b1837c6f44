#!/usr/bin/env bash
# Checks every module of Go in the repository: go mod tidy would change nothing, and all of its code compiles, with its tests and with each of
# its build tags. Of a module that only pins tools it fetches the tools. It finds the modules and the tags itself.
set -euo pipefail
cd "$(dirname "$0")/.."

diff=$(mktemp)
trap 'rm -f "$diff"' EXIT

# fetch asks the registry for all that the module in $1 wants, so that no later step asks it.
fetch() {
  tools/again.sh go list -C "$1" -deps -test ./... tool 2> >(grep -v 'matched no packages' >&2) >/dev/null
}

# tidy fails where go mod tidy would change go.mod or go.sum. A difference is no failure of the registry, so it is not asked again.
tidy() {
  tools/again.sh bash -c 'go mod tidy -C "$1" -diff >"$2" || [ -s "$2" ]' -- "$1" "$diff"
  [ ! -s "$diff" ] || { cat "$diff"; echo "$1 is not tidy: run go mod tidy -C $1 and commit it" >&2; return 1; }
}

# tags lists the build tags that the files of the module in $1 name, without those that the toolchain sets for a system or a processor.
# Another module below it is left out.
tags() {
  find "$1" -mindepth 1 -type d -exec test -e '{}/go.mod' ';' -prune -o -name '*.go' -exec grep -h '^//go:build ' '{}' + |
    sed 's|^//go:build||' | grep -oE '[A-Za-z_][A-Za-z0-9_.]*' | sort -u | grep -vxE "$known" || true
}
known="unix|cgo|race|ignore|gc|gccgo|go1\..*|$(go tool dist list | tr '/' '\n' | sort -u | paste -sd'|')"

# compile builds and vets the packages of the module in $1, if it has any. vet compiles the tests too.
compile() {
  local tag
  [ -n "$(go list -C "$1" ./... 2>/dev/null)" ] || return 0
  go build -C "$1" -o /dev/null ./...
  go vet -C "$1" ./...
  for tag in $(tags "$1"); do
    echo "$1 with the tag $tag"
    go vet -C "$1" -tags="$tag" ./...
  done
}

for mod in $(find . -name node_modules -prune -o -name go.mod -print | sort); do
  at=$(dirname "$mod")
  echo "$at"
  fetch "$at"
  tidy "$at"
  compile "$at"
done
