#!/usr/bin/env bash
# Writes the messages and services of proto/ into src/gen, and compiles and packs the package into dist. The generator's version is
# that of package-lock.json.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
./modules.sh
rm -rf src/gen
PATH="$PWD/node_modules/.bin:$PATH" go tool -modfile=../../tools/buf/go.mod buf generate --template buf.gen.yaml
rm -rf lib dist
node_modules/.bin/tsc -p .
cp ../../LICENSE .
mkdir dist
npm pack --silent --ignore-scripts --pack-destination dist >/dev/null
