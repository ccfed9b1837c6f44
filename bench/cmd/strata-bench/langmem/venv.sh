#!/usr/bin/env bash
# Makes a virtual environment with requirements.txt, once for each list, and prints its Python. sqlite-vec is an extension of
# SQLite, and not every Python loads those: it takes the first python3 of the path that does.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
folder=${XDG_CACHE_HOME:-${HOME:?}/.cache}/strata-python/langmem-$(sha256sum "$here/requirements.txt" | cut -c1-16)
if [ ! -e "$folder/made" ]; then
  rm -rf "$folder"
  made=
  for python in $(type -ap python3); do
    if "$python" -c 'import sqlite3; sqlite3.connect(":memory:").enable_load_extension(True)' 2>/dev/null; then
      "$python" -m venv "$folder" >&2
      made=1
      break
    fi
  done
  [ -n "$made" ] || { echo "no python3 of the path has a sqlite3 that loads extensions, which sqlite-vec needs" >&2; exit 1; }
  "$folder/bin/pip" install --quiet --disable-pip-version-check -r "$here/requirements.txt" >&2
  touch "$folder/made"
fi
echo "$folder/bin/python"
