#!/usr/bin/env bash
# Runs a command that fetches packages and, where it fails, again after 5, 20 and 60 seconds (AGAIN_PAUSES): a registry may refuse a
# request that it grants a moment later. Another failure ends with the command's own words and exit code, after the last attempt.
set -uo pipefail
[ $# -gt 0 ] || { echo "usage: $0 COMMAND..." >&2; exit 2; }
for pause in ${AGAIN_PAUSES-5 20 60}; do
  "$@" && exit
  echo "failed with $?, and is tried again in $pause s: $*" >&2
  sleep "$pause"
done
"$@"
