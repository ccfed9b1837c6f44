#!/usr/bin/env bash
# The MCP Inspector's checks of the tools' schemas, and a call of each kind, over stdin and stdout and over HTTP, against the program
# STRATA_BINARY. Wants Node.js and npm's registry.
set -euo pipefail
strata=${STRATA_BINARY:?the program}
inspector=@modelcontextprotocol/inspector@2.12.0
"$(dirname "$0")/../again.sh" timeout 300 npx --yes --package="$inspector" -- true
folder=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server"; rm -rf "$folder"' EXIT
"$strata" serve --data "$folder/strata.db" --listen 127.0.0.1:0 --metrics-listen '' >"$folder/started" 2>"$folder/log" &
server=$!
until address=$(grep -oE '"address":"127.0.0.1:[0-9]+"' "$folder/log"); do
  kill -0 "$server" || { cat "$folder/log"; exit 1; }
  sleep 0.1
done
address=$(cut -d'"' -f4 <<<"$address")

inspect() { # what the command prints goes to a file, and is shown where it fails
  timeout 300 npx --yes "$inspector" --cli "$@" </dev/null >"$folder/out" 2>&1 || { cat "$folder/out"; exit 1; }
}
for target in "$strata mcp --user ada -e STRATA_SERVER=$address" \
  "--transport http --server-url http://$address/mcp --header Strata-User:ada"; do
  for era in legacy modern; do
    # shellcheck disable=SC2086 # words
    inspect $target --protocol-era "$era" --method initialize
    # shellcheck disable=SC2086
    inspect $target --protocol-era "$era" --method tools/list --strict
    if grep -q 'Warning: tool' "$folder/out"; then cat "$folder/out"; exit 1; fi
    # shellcheck disable=SC2086
    inspect $target --protocol-era "$era" --method tools/call --tool-name add_memory --tool-args-json '{"text":"I play the cello."}'
    # shellcheck disable=SC2086
    inspect $target --protocol-era "$era" --method tools/call --tool-name get_context --tool-args-json '{"query":"music"}'
    grep -q cello "$folder/out" || { cat "$folder/out"; exit 1; }
  done
done
echo "MCP Inspector: no error, no warning, over stdin and over HTTP"
