#!/usr/bin/env bash
# A server of the MongoDB wire protocol without a container: SecantusDB (GPL-2.0), over MongoDB's own storage engine, WiredTiger.
# It is not MongoDB: one node, no elections, no rollback, no sharding. It stands in for mongod in tests, and is no part of the product.
#   mongodb.sh build                   installs the server, once for each machine
#   mongodb.sh start|stop|kill|wipe    kill is kill -9; wipe kills it and deletes its data
# MONGODB_PORT (27017) is where it listens. MONGODB_SERVER=wheel takes the Python wheel, which installs in seconds and serves a tenth to a
# twentieth as fast, instead of the Rust server, which takes about ten minutes to compile on two cores.
. "$(dirname "$0")/common.sh"
RUST_VERSION=0.5.3-beta.193 WHEEL_VERSION=0.7.0b3
PORT=${MONGODB_PORT:-27017}
RUST=$STATE/rust/bin/secantusd-rs WHEEL=$STATE/secantus-venv

build() {
  [ ! -x "$RUST" ] || return 0
  if [ "${MONGODB_SERVER:-}" != wheel ]; then
    if command -v cargo >/dev/null; then build_rust && return 0; else say "mongodb: no cargo here"; fi
    say "NOTICE: mongodb: the Rust server is not to be had; the wheel serves a tenth to a twentieth as fast"
  fi
  [ ! -x "$WHEEL/bin/secantusd-py" ] || return 0
  need mongodb python3
  say "mongodb: installing SecantusDB $WHEEL_VERSION from its wheel"
  quietly "$STATE/mongodb-build.log" python3 -m venv "$WHEEL"
  quietly "$STATE/mongodb-build.log" "$HERE/../again.sh" "$WHEEL/bin/pip" install -q "SecantusDB==$WHEEL_VERSION"
}

build_rust() {
  say "mongodb: compiling SecantusDB $RUST_VERSION: about ten minutes, once for each machine (MONGODB_SERVER=wheel does without)"
  quietly "$STATE/mongodb-build.log" env CARGO_NET_RETRY=10 cargo install secantus-mdb --version "$RUST_VERSION" --root "$STATE/rust" --ignore-rust-version --quiet
}

start() {
  local server=$RUST
  [ -x "$server" ] || server=$WHEEL/bin/secantusd-py
  # Every commit reaches the disk before it is acknowledged, as with the driver's write concern of majority and journal.
  serve mongodb "$PORT" 300 ready "$server" --port "$PORT" --storage-path "$STATE/mongodb" --cache-size 512M --sync-on-commit
}
ready() { listening "$PORT"; }
address() { echo "export STRATA_TEST_MONGODB_URI='mongodb://127.0.0.1:$PORT/?directConnection=true'"; }

verb mongodb TERM "${1:-}"
