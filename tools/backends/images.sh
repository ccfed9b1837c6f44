#!/usr/bin/env bash
# The container images that docker-compose.yml, the Dockerfile and the tests of integration/ name: the real ones where they can be pulled, else
# local stand-ins under the same names, each with the label strata.stand-in, which says what is inside.
#   images.sh get      has all of them, and prints of each whether it is real
#   images.sh names    prints their names
#   images.sh clean    removes the stand-ins and their containers
# STRATA_TEST_IMAGES=stand-ins asks no registry.
. "$(dirname "$0")/common.sh"
ROOT=$(cd "$HERE/../.." && pwd)
WORK=$STATE/images LOG=$STATE/images.log
DEBIAN=strata-stand-in/debian LABEL=strata.stand-in MONGOSH=2.12.0

# name PATTERN: the name of an image as the files of the repository have it, so that it is written once.
name() { sed -nE "s#^( *image:|FROM) ($1[^ ]+).*#\2#p" "$ROOT/docker-compose.yml" "$ROOT/Dockerfile" | head -n 1; }
MONGODB=$(name mongo:) MILVUS=$(name milvusdb/milvus:) ELASTICSEARCH=$(name docker.elastic.co/) GOLANG=$(name golang:)

label() { docker image inspect -f "{{ index .Config.Labels \"$1\" }}" "$2" 2>/dev/null; }
present() { docker image inspect "$1" >/dev/null 2>&1; }

# get KIND IMAGE: the real image when there is one here or it can be pulled, else its stand-in.
get() {
  local kind=$1 image=$2
  if ! present "$image" || [ -n "$(label $LABEL "$image")" ]; then
    { [ "${STRATA_TEST_IMAGES:-}" != stand-ins ] && timeout 900 docker pull -q "$image" >>"$LOG" 2>&1; } || stand_in "$kind" "$image"
  fi
  printf '%-56s %s\n' "$image" "$(label $LABEL "$image" | sed 's/^..*$/STAND-IN: &/; s/^$/real/')"
}

# stand_in KIND IMAGE: builds it from images/KIND, unless what it is made from has not changed.
stand_in() {
  local kind=$1 image=$2 made_from folder=$WORK/$1 what
  debian
  [ ! -x "$HERE/$kind.sh" ] || MONGODB_SERVER='' "$HERE/$kind.sh" build
  made_from=$({ cat "$0"; find "$HERE/images/$kind" -type f -print0 | sort -z | xargs -0 cat; "of_$kind"; label $LABEL.made-from $DEBIAN; } | sha256sum | cut -c1-16)
  [ "$(label $LABEL.made-from "$image")" != "$made_from" ] || return 0
  say "building a stand-in for $image"
  rm -rf "$folder"; mkdir -p "$WORK"; cp -a "$HERE/images/$kind" "$folder"
  "fill_$kind" "$folder"
  what=$("of_$kind" | tr '\n' ' ')
  quietly "$LOG" docker buildx build --progress plain --provenance=false --build-context "go=$(go env GOROOT)" \
    --label "$LABEL=${what% }" --label "$LABEL.made-from=$made_from" -t "$image" "$folder"
  rm -rf "$folder"
}

# Debian 12 with what the others need, and with this machine's certificate authorities, so that a build reaches what the machine reaches.
debian() {
  local made_from root=$WORK/debian
  made_from=$({ declare -f debian; cat /etc/ssl/certs/ca-certificates.crt; } | sha256sum | cut -c1-16)
  [ "$(label $LABEL.made-from $DEBIAN)" != "$made_from" ] || return 0
  command -v debootstrap >/dev/null || quietly "$LOG" apt-get -qq install -y --no-install-recommends debootstrap || die "images: no debootstrap on this machine"
  say "building $DEBIAN"
  rm -rf "$root"
  quietly "$LOG" debootstrap --variant=minbase --include=ca-certificates,curl,tini,libstdc++6,zlib1g,tzdata bookworm "$root"
  cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/ca-certificates.crt"
  tar -C "$root" --exclude='./var/cache/apt/*' --exclude='./var/lib/apt/lists/*' --exclude='./usr/share/doc/*' --exclude='./usr/share/man/*' \
    --exclude='./dev/*' --exclude=./etc/resolv.conf -c . |
    quietly "$LOG" docker import -c 'ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' -c 'CMD ["bash"]' \
      -c "LABEL $LABEL=debian-12 $LABEL.made-from=$made_from" - $DEBIAN
  rm -rf "$root"
}

# of_KIND says what is inside, with versions; fill_KIND puts into the build's folder what the repository does not hold.
of_golang() { go env GOVERSION; }
fill_golang() { :; }

of_mongodb() { echo "SecantusDB $("$STATE/rust/bin/secantusd-rs" --version 2>/dev/null | grep -oE '[0-9][0-9a-z.-]+' | head -n 1), mongosh $MONGOSH, node $(node --version)"; }
fill_mongodb() {
  local server=$STATE/rust/bin/secantusd-rs shell=$WORK/mongosh-$MONGOSH
  if [ ! -d "$shell" ]; then
    rm -rf "$shell.new"
    quietly "$LOG" npm install --prefix "$shell.new" --no-save --omit=optional --omit=dev --ignore-scripts "mongosh@$MONGOSH"
    mv "$shell.new" "$shell"
  fi
  cp "$server" "$1/secantusd-rs"
  cp -L "$(command -v node)" "$1/node"
  cp -a "$shell" "$1/mongosh"
}

of_milvus() { echo "Milvus $("$STATE/milvus-venv/bin/pip" show milvus | sed -n 's/^Version: //p') of its Python wheel"; }
fill_milvus() { "$STATE/milvus-venv/bin/python3" "$1/unpack.py" "$1/milvus"; }

of_elasticsearch() { echo "Elasticsearch core $(sed -n 's|.*<artifactId>elasticsearch</artifactId><version>\(.*\)</version>.*|\1|p' "$HERE/elasticsearch/pom.xml"), $(javac -version 2>&1)"; }
fill_elasticsearch() {
  mkdir "$1/lib" "$1/classes"
  cp "$STATE"/elasticsearch-jars/*.jar "$1/lib/"
  quietly "$LOG" javac --release 17 -cp "$1/lib/*" -d "$1/classes" "$HERE/elasticsearch/Node7.java"
  quietly "$LOG" jar --create --file "$1/lib/node7.jar" -C "$1/classes" .
  quietly "$LOG" jlink --add-modules java.se,jdk.unsupported,jdk.management,jdk.crypto.ec,jdk.zipfs --strip-java-debug-attributes --no-header-files --no-man-pages --output "$1/jdk"
}

get_all() {
  : >"$LOG"
  get golang "$GOLANG"
  get mongodb "$MONGODB"
  get milvus "$MILVUS"
  get elasticsearch "$ELASTICSEARCH"
}

clean() {
  docker ps -aq --filter "label=$LABEL" | xargs -r docker rm -f -v >/dev/null
  docker image ls -q --filter "label=$LABEL" | sort -u | xargs -r docker image rm -f >/dev/null
  rm -rf "$WORK"
}

need images docker curl
case ${1:-} in
  get) get_all ;;
  names) printf '%s\n' "$GOLANG" "$DISTROLESS" "$MONGODB" "$MILVUS" "$ELASTICSEARCH" ;;
  clean) clean ;;
  *) say "usage: $0 get|names|clean"; exit 2 ;;
esac
