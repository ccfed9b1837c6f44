#!/usr/bin/env bash
# The three servers that the tests of the distributed tiers want, on this machine and without containers. What each is: mongodb.sh, milvus.sh, elasticsearch.sh.
#   backends.sh up      starts those that do not run, and writes their addresses to the file that `make test-integration` reads
#   backends.sh down    stops them; their data stays
#   backends.sh wipe    kills them and deletes their data
#   backends.sh file    prints the name of that file
. "$(dirname "$0")/common.sh"
ADDRESSES=$STATE/addresses.sh

up() {
  local name
  for name in mongodb milvus elasticsearch; do
    "$HERE/$name.sh" start || die "backends: $name did not start"
  done | tee "$ADDRESSES.new"
  mv "$ADDRESSES.new" "$ADDRESSES"
  say "written to $ADDRESSES, which make test-integration reads"
}

# each VERB: of all three, in the reverse order of their start.
each() {
  local name
  rm -f "$ADDRESSES"
  for name in elasticsearch milvus mongodb; do "$HERE/$name.sh" "$1"; done
}

case ${1:-} in
  up) up ;;
  down) each stop ;;
  wipe) each wipe ;;
  file) echo "$ADDRESSES" ;;
  *) say "usage: $0 up|down|wipe|file"; exit 2 ;;
esac
