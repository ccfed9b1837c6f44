#!/usr/bin/env bash
# Known vulnerabilities in what the program calls, by govulncheck. Exits with 0 where there are none, 1 where there are or the check
# failed, 2 where its database cannot be had; then VULN=optional says so and exits with 0. A finding fails whatever is set.
set -uo pipefail
cd "$(dirname "$0")/../.."

DB=${VULN_DB:-https://vuln.go.dev}
out=$(mktemp)
trap 'rm -f "$out"' EXIT
go tool -modfile=tools/vuln/go.mod govulncheck -db="$DB" "${@:-./cmd/strata}" >"$out" 2>&1
rc=$?
cat "$out"
case $rc in
0) exit 0 ;;
3) echo "vuln: known vulnerabilities were found: see above" >&2; exit 1 ;;
esac
# What govulncheck says when it cannot read its database; every other failure is one of the check.
if ! grep -qE 'fetching vulnerabilities|creating client' "$out"; then
  echo "vuln: govulncheck failed: see above" >&2
  exit 1
fi
echo "vuln: NOT CHECKED: the database $DB cannot be had from here. VULN_DB names another one, such as a mirror or file:///folder." >&2
[ "${VULN:-}" = optional ] || exit 2
