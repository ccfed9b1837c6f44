#!/usr/bin/env bash
# Installs the packages of package-lock.json outside the repository, once for each list, and lays a link to them here.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
folder=${XDG_CACHE_HOME:-${HOME:?}/.cache}/strata-typescript/$(sha256sum "$here/package-lock.json" | cut -c1-16)
if [ ! -e "$folder/made" ]; then
  rm -rf "$folder"
  mkdir -p "$folder"
  cp "$here/package.json" "$here/package-lock.json" "$folder"
  "$here/../../tools/again.sh" npm ci --prefix "$folder" --ignore-scripts --no-audit --no-fund --loglevel=error >&2
  touch "$folder/made"
fi
ln -sfn "$folder/node_modules" "$here/node_modules"
