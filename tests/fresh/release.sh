#!/usr/bin/env bash
# Makes all that a release has, and tries each on a system with only its smallest base:
# the archive of the sources, Debian's packages, the portable archive and the wheel. The
# builds are of HEAD, in folders of their own. Prints the time of each step; the files
# are in FOLDER at the end, with their checksums.
# usage: release.sh SUITE FOLDER
#   SUITE         the release of Debian that this machine has, for its packages
#   FOLDER        a new folder, or an empty one
# Variables, all optional:
#   ACTORRUN_CAF_SOURCE  an archive of CAF 0.17.6; default: docs/install.md
#   MIRROR, FRESH_BASES, CCACHE_DIR, TMPDIR  as of fresh_debian.sh
set -euo pipefail

fail() {
  echo "release.sh: $*" >&2
  exit 2
}

usage="usage: release.sh SUITE FOLDER"
suite=${1:-} to=${2:-}
[ $# = 2 ] || fail "$usage"
[[ $suite =~ ^[a-z]+$ ]] || fail "'$suite' is not a suite of Debian; $usage"
mkdir -p "$to"
to=$(cd "$to" && pwd)
[ -z "$(ls -A "$to")" ] || fail "$to is not empty"
fresh=$(cd "$(dirname "$0")" && pwd)
checkout=$(git -C "$fresh" rev-parse --show-toplevel)
tree=$to/build/tree # HEAD, so that nothing that is not committed gets in.
mkdir "$to/build"
git clone -q "$checkout" "$tree"
cd "$tree"

step() { # NAME COMMAND...
  local start=$SECONDS log=$to/build/${1// /-}.log
  "${@:2}" >"$log" 2>&1 || {
    tail -n 20 "$log" >&2
    fail "$1: failed after $((SECONDS - start)) s; see $log"
  }
  echo "== $1: $((SECONDS - start)) s"
}

version=$(sed -n 's/^project(actorrun VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
[ -n "$version" ] || fail "CMakeLists.txt names no version"

make_sources() {
  cmake -DSOURCE="$tree" -DGIT=git -DGZIP=gzip \
    -DNAME="actorrun-$version" -DTO="$to" \
    -P runtime/cmake/packages/source_archive.cmake
}

make_packages() {
  cmake --preset release -DACTORRUN_TESTS=OFF && cmake --build --preset release \
    && cpack --config build/release/CPackConfig.cmake \
    && cp build/release/packages/*.deb "$to"
}

make_portable() {
  cmake --workflow --preset portable && cp build/portable/*.tar.gz "$to" \
    && cp build/portable/*.whl "$to"
}

step "sources made" make_sources
step "portable made" make_portable
step "packages made" make_packages
step "portable tried" "$fresh/fresh_archive.sh" "$suite" \
  "$to"/actorrun-*-linux-x86_64.tar.gz
step "wheel tried" "$fresh/fresh_wheel.sh" "$suite" "$to"/*.whl
step "packages tried" "$fresh/fresh_packages.sh" "$suite" "$tree/build/release"
step "service tried" "$fresh/fresh_service.sh" "$suite" "$tree/build/release/packages"
step "sources tried" env SOURCES="$to/actorrun-$version.tar.gz" \
  "$fresh/fresh_debian.sh" "$suite" demo
cd "$to"
sha256sum -- *.tar.gz *.whl *.deb >SHA256SUMS
cat SHA256SUMS
