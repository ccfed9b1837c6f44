#!/usr/bin/env bash
# Lints the package, and runs the tests on what is packed, beside the frameworks. STRATA_BINARY is the server; make clients has made
# the package. Arguments are names of tests to run alone.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
./modules.sh
node_modules/.bin/biome ci --colors=off --error-on-warnings .
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir -p "$folder/node_modules/@stratamem/client"
for package in "$PWD"/node_modules/*; do
  ln -s "$(realpath "$package")" "$folder/node_modules/"
done
tar -xzf dist/*.tgz -C "$folder/node_modules/@stratamem/client" --strip-components=1
cp test/* "$folder"
node_modules/.bin/tsc -p "$folder"
names=()
for name in "$@"; do names+=(--test-name-pattern="$name"); done
node --test --test-reporter=spec "${names[@]}" "$folder"/*.test.js
