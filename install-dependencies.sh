#!/bin/sh
# Installs what actorrun needs to build, test and measure, from the packages of
# Debian 12 or newer or Ubuntu 24.04 or newer. Can be run again: what is there
# already stays as it is. Needs root, or sudo.
# usage: install-dependencies.sh [--build | --with-torch]
#   --build       only what a build needs: no servers, nor what else tests run
#   --with-torch  also PyTorch, for the tests of its jobs
set -eu

build="g++ mold cmake ninja-build ccache git pkg-config
       libcaf-dev libprotobuf-dev protobuf-compiler libspdlog-dev
       nlohmann-json3-dev libcli11-dev libssl-dev libhwloc-dev
       libcurl4-openssl-dev libncurses-dev libjemalloc-dev catch2 python3"
tests="patch curl iproute2 nftables etcd-server openssl zsh fish tcsh
       tmux openssh-client openssh-server slurmctld slurmd slurm-client munge
       lintian patchelf"
bench="mpich"
torch="" # For the tests with the label `torch` and examples/pytorch_ddp.

for option in "$@"; do
  case "$option" in
    --build) tests="" bench="" ;;
    --with-torch) torch="python3-torch" ;;
    *)
      echo "install-dependencies.sh: there is no option $option;" \
        "usage: install-dependencies.sh [--build | --with-torch]" >&2
      exit 2
      ;;
  esac
done

command -v apt-get >/dev/null || {
  echo "install-dependencies.sh: there is no apt-get here; install by hand:" \
    $build $tests $bench $torch >&2
  exit 1
}

missing=""
for package in $build $tests $bench $torch; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null \
    | grep -q 'install ok installed' || missing="$missing $package"
done
if [ -z "$missing" ]; then
  echo "install-dependencies.sh: everything is installed"
  exit 0
fi

sudo=""
if [ "$(id -u)" != 0 ]; then
  sudo="sudo"
  command -v sudo >/dev/null || {
    echo "install-dependencies.sh: only root can install packages, and there is" \
      "no sudo here; let root run: apt-get install$missing" >&2
    exit 1
  }
fi
echo "install-dependencies.sh: installing$missing"
apt="$sudo env DEBIAN_FRONTEND=noninteractive apt-get -qq"
$apt update
$apt install -y --no-install-recommends $missing
echo "install-dependencies.sh: done"
