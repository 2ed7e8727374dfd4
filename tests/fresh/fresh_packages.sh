#!/usr/bin/env bash
# Installs our packages as a user would, on a Debian with only its smallest base
# system, and runs there: the demo of README.md, the name torchrun, and, as the
# Dockerfile of examples/kubernetes says, the steps of the image, its size, and the
# manifests' pods in it. Prints the time of each step. Removes the system at the
# end, also after Ctrl-C.
# usage: fresh_packages.sh SUITE BUILD
#   SUITE         the one that the packages were made on: bookworm, trixie, ...
#   BUILD         a build folder, with packages that cpack has made in it, and the
#                 program of the demo
# Variables, all optional:
#   MIRROR        the Debian mirror; default: the one this machine's apt uses
#   FRESH_BASES   a folder that keeps bare systems, for a quicker start
#   TMPDIR        where the system is made; default: /var/tmp; takes 1 GB
set -euo pipefail

fail() { # Until the other is there.
  echo "fresh_packages.sh: $*" >&2
  exit 2
}

usage="usage: fresh_packages.sh SUITE BUILD"
suite=${1:-} build=${2:-}
[ $# = 2 ] || fail "$usage"
[[ $suite =~ ^[a-z]+$ ]] || fail "'$suite' is not a suite of Debian; $usage"
packages=("$build"/packages/actorrun_*.deb "$build"/packages/actorrun-worker_*.deb)
demo=$build/bin/elastic_training
for file in "${packages[@]}" "$demo"; do
  [ -f "$file" ] || fail "there is no $file; build all, and then run" \
    "cpack --config $build/CPackConfig.cmake"
done
bare_packages='' bare_name=-small
checkout=$(git -C "$(dirname "$0")" rev-parse --show-toplevel)
# shellcheck source=tests/fresh/bare_system.bash disable=SC2154,SC2034
source "$(dirname "$0")/bare_system.bash"

enter() { # ROOT COMMAND
  set -e
  enter_root "$1"
  exec env -i HOME=/root PATH="$fresh_path" DEBIAN_FRONTEND=noninteractive \
    bash -c "$(declare -f step); cd; $2"
}
export -f enter
inside() { # COMMAND
  apart bash -c 'enter "$@"' bash "$root" "$1"
}

# Debian's slim images lack what dpkg is told there to leave out.
make_slim() {
  mkdir -p "$root/etc/dpkg/dpkg.cfg.d"
  printf '%s\n' path-exclude=/usr/share/{doc,info,locale,man,lintian}/'*' \
    'path-include=/usr/share/doc/*/copyright' >"$root/etc/dpkg/dpkg.cfg.d/docker"
  rm -rf "$root"/usr/share/{info,locale,man,lintian}/* "$root"/var/cache/apt/* \
    "$root"/var/lib/apt/lists/*
  find "$root/usr/share/doc" -type f ! -name copyright -delete
}

image_size_max=120 # MB, as issue and README of the image say.

echo "== packages of $build on $suite"
step "bare system" bare_system || fail "there is no bare system to try it on"
settings
mkdir "$root/packages"
cp "${packages[@]}" "$root/packages"
cp "$demo" "$checkout/examples/elastic_training/demo.sh" "$root/root"

# -- the image, first, while the system is bare ----------------------------------

make_slim
# The Dockerfile's own step. What it mounts lies there already.
mapfile -t steps < <(sed -e '/^#/d' -e ':a;/\\$/{N;s/\\\n//;ba}' \
  "$checkout/examples/kubernetes/Dockerfile" \
  | sed -n 's/^RUN  *--mount=[^ ]*  *//p')
[ "${#steps[@]}" = 1 ] || fail "the Dockerfile has ${#steps[@]} steps with a mount"
size() { # MB
  (cd "$root" && du -sxm --exclude=./packages --exclude=./root . | cut -f1)
}
before=$(size)
step "the Dockerfile's RUN" inside "${steps[0]}"
after=$(size)
echo "== the image: $before MB before, $after MB after"
((after <= image_size_max)) \
  || fail "the image has $after MB, more than $image_size_max"
if /usr/bin/python3 -c 'import yaml' 2>/dev/null; then
  step "pods in the image" /usr/bin/python3 "$checkout/tests/kubernetes/pods_test.py" \
    "$checkout/examples/kubernetes" --image "$root"
else
  echo "skipped: pods in the image; there is no python3-yaml here"
fi

# -- the packages ------------------------------------------------------------------

step "apt-get install" inside \
  "apt-get -qq update && apt-get -qq install -y --no-install-recommends \
     /packages/*.deb >/dev/null \
     && ! dpkg --verify actorrun actorrun-worker | grep -v ' /usr/share/'"
step "two workers" inside \
  "actorrun --standalone --nproc-per-node=2 --no-python sh -c 'echo rank \$RANK' \
     | sort | tr '\n' ' ' | grep -x 'rank 0 rank 1 '"
step "the name torchrun" inside \
  "PATH=/usr/lib/actorrun/bin:\$PATH torchrun --standalone --nproc_per_node=2 \
     --no-python true"
step demo inside "bash demo.sh /usr/bin/actorrun /root/elastic_training"
step "removal" inside "apt-get -qq purge -y actorrun actorrun-worker >/dev/null \
  && ! command -v actorrun"
