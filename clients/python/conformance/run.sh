#!/usr/bin/env bash
# Runs tests of contracts that frameworks have in their source distributions, of the versions that are installed from
# requirements-test.txt, on the adapters: the OpenAI Agents SDK's of sessions, LangGraph's of stores. STRATA_BINARY is the server;
# PYTHONPATH has the package. The distributions, both under the MIT licence, stay in the cache.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
python=$("$here/../venv.sh")
export PYTHONPATH=$PYTHONPATH:$here

# suite has pytest run files of a distribution with a plugin of this folder.
suite() {
  local name=$1 plugin=$2 wanted folder
  shift 2
  wanted=$name==$("$python" -c "import importlib.metadata as m; print(m.version('$name'))")
  folder=${XDG_CACHE_HOME:-${HOME:?}/.cache}/strata-python/sources-$wanted
  if [ ! -e "$folder/made" ]; then
    rm -rf "$folder"
    mkdir -p "$folder"
    "$here/../../../tools/again.sh" "$python" -m pip download --quiet --disable-pip-version-check --no-binary :all: --no-deps --dest "$folder" "$wanted" >&2
    tar -xzf "$folder"/*.tar.gz -C "$folder" --strip-components=1
    touch "$folder/made"
  fi
  echo "$wanted: $*"
  (cd "$folder" && "$python" -m pytest -q -p "$plugin" -p no:cacheprovider -o addopts= "$@")
}

suite openai-agents agents_sessions tests/memory/test_session.py tests/memory/test_session_limit.py
suite langgraph-checkpoint langgraph_stores tests/test_store.py
