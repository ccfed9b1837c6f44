#!/usr/bin/env bash
# Milvus 2.3.5 standalone without a container: the genuine server from its Python wheel, with etcd and storage inside.
# The container that docker-compose.yml runs is of 2.4: nothing here shows what is new or mended there.
#   milvus.sh build                   installs it, once for each machine
#   milvus.sh start|stop|kill|wipe    kill is kill -9; wipe kills it and deletes its data
# MILVUS_PORT (19530) is where it listens. The etcd inside is as far from its own 2379 and 2380, so that two servers can run side by side.
. "$(dirname "$0")/common.sh"
VERSION=2.3.5
PORT=${MILVUS_PORT:-19530}
VENV=$STATE/milvus-venv

build() {
  [ ! -x "$VENV/bin/milvus-server" ] || return 0
  need milvus python3
  say "milvus: installing the wheel of Milvus $VERSION"
  quietly "$STATE/milvus-build.log" python3 -m venv "$VENV"
  quietly "$STATE/milvus-build.log" "$HERE/../again.sh" "$VENV/bin/pip" install -q "milvus==$VERSION" setuptools
}

start() {
  etcd >"$STATE/milvus-etcd.yaml"
  serve milvus "$PORT" 300 ready env ETCD_CONFIG_PATH="$STATE/milvus-etcd.yaml" "$VENV/bin/milvus-server" --data "$STATE/milvus" --proxy-port "$PORT"
}

# The wheel finds free ports for all of Milvus but its etcd.
etcd() {
  local client=http://127.0.0.1:$((2379 + PORT - 19530)) peer=http://127.0.0.1:$((2380 + PORT - 19530))
  printf '%s\n' "listen-client-urls: $client" "advertise-client-urls: $client" "listen-peer-urls: $peer" "initial-advertise-peer-urls: $peer" \
    "initial-cluster: default=$peer"
}

# It listens before it serves. The launcher asks for its health and says when it is good; the port of that health is not always the same one.
ready() { listening "$PORT" && grep -q 'Ctrl+C to exit' "$STATE/milvus.log"; }
address() { echo "export STRATA_TEST_MILVUS_ADDR='127.0.0.1:$PORT'"; }

# On SIGTERM the launcher ends and leaves the server behind.
verb milvus INT "${1:-}"
