#!/usr/bin/env bash
# Makes a virtual environment with the SDKs of requirements.txt, once for each list, and prints its Python.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
folder=${XDG_CACHE_HOME:-${HOME:?}/.cache}/strata-sdks/$(sha256sum "$here/requirements.txt" | cut -c1-16)
if [ ! -e "$folder/made" ]; then
  rm -rf "$folder"
  python3 -m venv "$folder" >&2
  "$here/../../../../tools/again.sh" "$folder/bin/pip" install --quiet --disable-pip-version-check -r "$here/requirements.txt" >&2
  touch "$folder/made"
fi
echo "$folder/bin/python"
