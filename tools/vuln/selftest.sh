#!/usr/bin/env bash
# check.sh tells a finding, nothing and no database apart: it is asked with small databases of its own.
set -euo pipefail
cd "$(dirname "$0")"

db=$(mktemp -d)
trap 'rm -rf "$db"' EXIT
# database MODULE: one in which every version of the module is vulnerable, in all its packages and functions.
database() {
  mkdir -p "$db/index" "$db/ID"
  printf '{"modified":"2026-01-01T00:00:00Z"}' >"$db/index/db.json"
  printf '[{"path":"%s","vulns":[{"id":"GO-2026-0001","modified":"2026-01-01T00:00:00Z"}]}]' "$1" >"$db/index/modules.json"
  printf '[{"id":"GO-2026-0001","modified":"2026-01-01T00:00:00Z","aliases":[]}]' >"$db/index/vulns.json"
  printf '{"schema_version":"1.3.1","id":"GO-2026-0001","modified":"2026-01-01T00:00:00Z","published":"2026-01-01T00:00:00Z","summary":"of a test",
    "details":"of a test","affected":[{"package":{"name":"%s","ecosystem":"Go"},"ranges":[{"type":"SEMVER","events":[{"introduced":"0"}]}],
    "ecosystem_specific":{"imports":[{"path":"%s/unicode/norm"}]}}]}' "$1" "$1" >"$db/ID/GO-2026-0001.json"
  gzip -kf "$db"/index/*.json "$db"/ID/*.json
}
# wants CODE WHAT: check.sh exits with the code.
wants() {
  local rc=0
  ./check.sh ./internal/language/text >"$db/out" 2>&1 || rc=$?
  [ "$rc" = "$1" ] || { cat "$db/out"; echo "vuln: $2: exit code $rc, want $1" >&2; exit 1; }
  echo "ok  $2"
}

export VULN_DB=file://$db
database golang.org/x/text
VULN='' wants 1 "a finding fails"
VULN=optional wants 1 "a finding fails where the database is optional"
database example.org/nobody
VULN='' wants 0 "no finding"
export VULN_DB=http://127.0.0.1:1
VULN='' wants 2 "no database fails"
VULN=optional wants 0 "no database does not fail where it is optional"
