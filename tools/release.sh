#!/usr/bin/env bash
# The files of a release, in dist/: for each system an archive with the static binary, its licences and notices; a CycloneDX bill of
# materials of each binary; SHA256SUMS of all. The same commit, VERSION and Go give the same bytes, wherever the sources lie.
#
#   tools/release.sh          all systems; TARGETS="linux/amd64 ..." for some
#   tools/release.sh check    builds TARGETS (linux/amd64) once more from a copy of the sources, with an empty build cache, and compares
#
# VERSION is git describe's, DIST the folder (dist). All archives are .tar.gz, which Windows unpacks too (tar.exe) and of which GNU tar
# and gzip make equal bytes.
set -euo pipefail
cd "$(dirname "$0")/.."

ALL="linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64"
VERSION=${VERSION:-$(git describe --tags --always --dirty)}
DIST=${DIST:-dist}
# The time that files in archives have.
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}

case $VERSION in
*[!A-Za-z0-9._+-]* | "") echo "release: the version \"$VERSION\" is part of file names: letters, digits, dots, + and - only" >&2; exit 2 ;;
esac
tar --version 2>/dev/null | grep -q GNU || { echo "release: GNU tar is needed: others cannot sort and date what they pack" >&2; exit 2; }

# build makes the binary of a system. What the environment may say of it is said here, so that it says nothing else.
build() { # goos goarch out
  GOOS=$1 GOARCH=$2 GOAMD64=v1 GOARM64=v8.0 CGO_ENABLED=0 GOEXPERIMENT='' GOFLAGS='' GOWORK=off \
    go build -trimpath -buildvcs=false -ldflags="-s -w -X main.version=$VERSION" -o "$3" ./cmd/strata
}

release() { # folder, systems
  local dist=$1 target goos goarch name binary
  mkdir -p "$dist"
  dist=$(cd "$dist" && pwd)
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  go build -C tools/sbom -o "$work/sbom" .
  for target in $2; do
    case " $ALL " in *" $target "*) ;; *) echo "release: no such system: $target; there are $ALL" >&2; exit 2 ;; esac
    goos=${target%/*} goarch=${target#*/} binary=strata
    [ "$goos" != windows ] || binary=strata.exe
    name=strata-$VERSION-$goos-$goarch
    mkdir "$work/$name"
    build "$goos" "$goarch" "$work/$name/$binary"
    install -m 644 LICENSE NOTICE internal/program/cli/THIRD_PARTY_NOTICES "$work/$name/"
    chmod 755 "$work/$name/$binary"
    "$work/sbom" "$work/$name/$binary" "$VERSION" >"$dist/$name.cdx.json"
    tar -C "$work" --format=ustar --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --mode=u+rwX,go+rX,go-w \
      -cf - "$name" | gzip -9n >"$dist/$name.tar.gz"
    rm -r "${work:?}/$name"
    echo "$dist/$name.tar.gz"
  done
  (cd "$dist" && find . -maxdepth 1 -name "strata-$VERSION-*" -printf '%f\n' | LC_ALL=C sort | xargs sha256sum >SHA256SUMS)
  rm -rf "$work"
}

case ${1:-} in
"") release "$DIST" "${TARGETS:-$ALL}" ;;
check)
  both=$(mktemp -d)
  trap 'chmod -R u+w "$both"; rm -rf "$both"' EXIT
  TARGETS=${TARGETS:-linux/amd64}
  export VERSION TARGETS
  DIST=$both/one tools/release.sh
  mkdir -p "$both/elsewhere/sources"
  git ls-files -z | xargs -0 tar -cf - | tar -C "$both/elsewhere/sources" -xf -
  GOCACHE=$both/cache DIST=$both/two "$both/elsewhere/sources/tools/release.sh"
  diff -r "$both/one" "$both/two" || { echo "release: two builds of the same sources differ" >&2; exit 1; }
  echo "two builds give equal bytes:"
  cat "$both/one/SHA256SUMS"
  ;;
*) sed -n '2,10p' "$0" >&2; exit 2 ;;
esac
