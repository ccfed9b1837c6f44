#!/usr/bin/env bash
# Installs the clients of TestRealClients outside the repository, once for each list of them, and prints the folder: the programs of
# this one, node_modules, a Python with grpcio, and grpcurl. It wants Node.js with npm, Python 3, Go, and the registries of packages.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
tools=$here/../../../../../../tools
lists=("$here/package-lock.json" "$here/requirements.txt" "$tools/grpcurl/go.mod")
folder=${XDG_CACHE_HOME:-${HOME:?}/.cache}/strata-clients/$(cat "${lists[@]}" | sha256sum | cut -c1-16)
if [ ! -e "$folder/made" ]; then
  rm -rf "$folder"
  mkdir -p "$folder"
  cp "$here/package.json" "$here/package-lock.json" "$folder"
  "$tools/again.sh" npm ci --prefix "$folder" --ignore-scripts --no-audit --no-fund --loglevel=error >&2
  python3 -m venv "$folder/python" >&2
  "$tools/again.sh" "$folder/python/bin/pip" install --quiet --disable-pip-version-check -r "$here/requirements.txt" >&2
  "$tools/again.sh" go build -modfile="$tools/grpcurl/go.mod" -trimpath -o "$folder/grpcurl" github.com/fullstorydev/grpcurl/cmd/grpcurl >&2
  touch "$folder/made"
fi
cp "$here"/*.mjs "$here"/*.py "$folder"
echo "$folder"
