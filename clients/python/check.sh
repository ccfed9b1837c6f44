#!/usr/bin/env bash
# Lints and types the package, installs its wheel beside the frameworks, and runs the tests on what is installed. STRATA_BINARY
# is the server; make clients has built the wheel. Arguments are pytest's;
# without them the frameworks' own tests run, too.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
python=$(./venv.sh)
"$python" -m ruff check .
"$python" -m ruff format --check .
"$python" -m mypy
installed=$(mktemp -d)
trap 'rm -rf "$installed"' EXIT
"$python" -m pip install --quiet --disable-pip-version-check --no-deps --target "$installed" dist/*.whl
PYTHONPATH=$installed "$python" -m pytest -q "$@"
[ $# -gt 0 ] || PYTHONPATH=$installed conformance/run.sh
