#!/usr/bin/env bash
# Runs a command of README.md as a new user would: on a Debian with only its
# smallest base system and git, entered like a container (pivot_root, own mounts
# and processes). Prints the time of each step; the exit code is that of the
# command. Removes the system at the end, also after Ctrl-C.
# usage: fresh_debian.sh SUITE [test|demo|packages [COMPILER]]
#   packages      makes Debian's packages there, and tries them on another bare
#                 system with fresh_packages.sh
#   SUITE         bookworm, trixie, sid, ...
#   COMPILER      gcc (the default), or a package of Clang: clang-14, clang-19, ...
# Variables, all optional:
#   MIRROR        the Debian mirror; default: the one this machine's apt uses
#   FRESH_BASES   a folder that keeps bare systems, for a quicker start
#   CCACHE_DIR    a compiler cache that the build reads and extends
#   SOURCES       an archive of the sources; default: HEAD of this checkout
#   TMPDIR        where the system is made; default: /var/tmp; takes 5 GB
set -euo pipefail

fail() { # Until the other is there.
  echo "fresh_debian.sh: $*" >&2
  exit 2
}

usage="usage: fresh_debian.sh SUITE [test|demo|packages [COMPILER]]"
suite=${1:-} preset=${2:-test} compiler=${3:-gcc}
[[ $# =~ ^[123]$ ]] || fail "$usage"
[[ $suite =~ ^[a-z]+$ ]] || fail "'$suite' is not a suite of Debian; $usage"
[[ $preset =~ ^(test|demo|packages)$ ]] \
  || fail "'$preset' is neither test nor demo nor packages"
[[ $compiler =~ ^(gcc|clang-[0-9]+)$ ]] \
  || fail "'$compiler' is neither gcc nor a Clang like clang-19"
[ -z "${SOURCES:-}" ] || [ -f "$SOURCES" ] || fail "there is no $SOURCES"

bare_packages=git bare_name=
checkout=$(git -C "$(dirname "$0")" rev-parse --show-toplevel)
# shellcheck source=tests/fresh/bare_system.bash disable=SC2154,SC2034
source "$(dirname "$0")/bare_system.bash"

enter() { # ROOT PRESET COMPILER
  set -e
  enter_root "$1"
  local more=true choice=()
  if [ "$3" != gcc ]; then
    more="step $3 apt-get -qq install -y --no-install-recommends $3"
    choice=(CC="$3" CXX="${3/clang/clang++}")
  fi
  local command="step $2 cmake --workflow --preset $2"
  if [ "$2" = packages ]; then
    command="cmake --preset release -DACTORRUN_TESTS=OFF \
      && step build cmake --build --preset release \
      && step cpack cpack --config build/release/CPackConfig.cmake"
  fi
  exec env -i HOME=/root PATH="$fresh_path" \
    "${choice[@]}" bash -c "$(declare -f step)
      cd ~/actorrun
      step install-dependencies ./install-dependencies.sh && $more && $command"
}
export -f enter

echo "== actorrun ${SOURCES:-$(git -C "$checkout" describe --always --dirty)} on $suite, $compiler"
step "bare system" bare_system || fail "there is no bare system to try it on"
settings
if [ -n "${SOURCES:-}" ]; then
  mkdir "$root/root/actorrun"
  tar -C "$root/root/actorrun" --strip-components=1 -xzf "$SOURCES"
else
  git clone -q "$checkout" "$root/root/actorrun"
fi
apart bash -c 'enter "$@"' bash "$root" "$preset" "$compiler"
if [ "$preset" = packages ]; then
  made=$work/made
  mkdir -p "$made/bin"
  mv "$root/root/actorrun/build/release/packages" "$made"
  mv "$root/root/actorrun/build/release/bin/elastic_training" "$made/bin"
  rm -rf --one-file-system "$root"
  "$(dirname "$0")/fresh_packages.sh" "$suite" "$made"
fi
