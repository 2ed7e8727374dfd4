#!/usr/bin/env bash
# Packs the kit, carries it to another place, and runs there, without network, what a
# stand-in for the driver can show. Checks that the page says that no GPU was seen.
# usage: kit_test.sh BUILD_DIR PYTHON
set -euo pipefail
build=$1 python=$2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

for tool in patchelf strip objdump; do
  command -v $tool > /dev/null || {
    echo "skipped: there is no $tool here"
    wanted=,${ACTORRUN_NO_SKIP:-},
    [[ $wanted = *,patchelf,* || $wanted = *,all,* ]] && exit 1
    exit 77
  }
done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
problems=0
wrong() {
  echo "WRONG: $*"
  problems=$((problems + 1))
}

# -- the folder ---------------------------------------------------------------

"$here/pack.sh" "$build" "$work/packed"
mv "$work/packed" "$work/elsewhere"
kit=$work/elsewhere
for program in "$kit"/bin/*; do
  if others=$(ldd "$program" | awk '$2 == "=>" {print $1, $3}' | grep -v "$kit/bin/../lib/" \
    | grep -vE '^(libc|libm|libdl|libpthread|librt|libresolv)\.so'); then
    wrong "$program takes from this system: $others"
  fi
done
# It refuses to replace what is no kit.
mkdir "$work/mine"
: > "$work/mine/file"
"$here/pack.sh" "$build" "$work/mine" 2> "$work/refused" && wrong "pack.sh has replaced a folder"
grep -q 'is no kit' "$work/refused" || wrong "pack.sh says: $(cat "$work/refused")"

# -- a machine with two GPUs, as the stand-in says ------------------------------

cat > "$work/world" << 'WORLD'
gpu uuid=GPU-11111111-aaaa name=NVIDIA_H200 pci=00000000:65:00.0 used=1073741824 total=150323855360 util=87 temp=54 pids=
gpu uuid=GPU-22222222-bbbb name=NVIDIA_H200 pci=00000000:E5:00.0 used=0 total=150323855360 util=0 temp=41 pids=
cuda 2
WORLD
# Without network: a namespace of its own has loopback alone, and that is down.
apart=()
if unshare --net true 2> /dev/null; then
  # shellcheck disable=SC2016 # Expanded by the inner shell.
  apart=(unshare --net sh -c 'ip link set lo up && exec "$@"' sh)
fi
run_kit() { # OUT OPTION...
  local out=$1
  shift
  "${apart[@]}" env -u LD_LIBRARY_PATH PYTHON_EXEC="$python" \
    "$kit/tests/gpu/on_device.sh" "$@" "$kit" "$out" || true
}
shows() { # PAGE REGULAR-EXPRESSION
  grep -qE "$2" "$1" || wrong "$1 does not say: $2"
}

export ACTORRUN_GPU_STANDIN=$work/world
# Where there is a GPU, the steps of CUDA would use it.
steps=gpu_real,counting,readings,health
[ -e /dev/nvidiactl ] || steps+=,memory,ddp,live,nccl_abort,hang,allreduce
run_kit "$work/seen" --steps=$steps
page=$work/seen/gpu.md
shows "$page" 'a stand-in for the driver'
for head in 'The tests of CTest that any GPU must pass' 'Workers by GPUs' 'Status, top'; do
  shows "$page" "^\| $head.*passed with a stand-in for the driver; not seen here: no CUDA device"
done
shows "$page" 'NVIDIA H200  1.0 of 140.0 GiB'
if [ ! -e /dev/nvidiactl ]; then
  for head in 'Memory of a worker' 'DDP with NCCL' 'Workers with a CUDA context' "NCCL's abort" \
    'The example cuda_allreduce'; do
    shows "$page" "^\| $head.*not seen here: no CUDA device"
  done
fi
shows "$page" '^## How to run the kit'
grep -q 'has not been seen on a GPU so far' "$page" && wrong "the page has the words of the one before"

# -- none at all ----------------------------------------------------------------

unset ACTORRUN_GPU_STANDIN
if [ ! -e /dev/nvidiactl ]; then
  run_kit "$work/none" --steps=gpu_real,counting,readings,memory
  [ "$(grep -c 'not seen here: no CUDA device' "$work/none/gpu.md")" = 4 ] \
    || wrong "a machine without a GPU has shown something: $(grep '^|' "$work/none/gpu.md")"
  # With the C library of the kit, as where the system's is older.
  KIT_OWN_GLIBC=1 ACTORRUN_GPU_STANDIN=$work/world run_kit "$work/own" --steps=gpu_real,readings
  shows "$work/own/gpu.md" "they run with the kit's own"
  [ "$(grep -c 'passed with a stand-in' "$work/own/gpu.md")" = 2 ] \
    || wrong "with the kit's own C library: $(grep '^|' "$work/own/gpu.md")"
fi

# -- a step that fails, and one that takes too long ------------------------------

cp "$work/world" "$work/two"
echo 'init 9' > "$work/world"
export ACTORRUN_GPU_STANDIN=$work/world
run_kit "$work/broken" --steps=counting,health
shows "$work/broken/gpu.md" '^\| Workers by GPUs.*failed'
shows "$work/broken/gpu.md" '^\| The CUDA health check'
(cat "$work/two" && echo hang) > "$work/world"
run_kit "$work/hanging" --steps=counting --seconds=12
shows "$work/hanging/gpu.md" '^\| Workers by GPUs.*(cut off after|failed)'

if [ "$problems" != 0 ]; then
  for log in "$work"/*/log.txt; do
    echo "== $log"
    cat "$log"
  done
  exit 1
fi
echo "the kit is ready: $(du -sh "$kit" | cut -f1)"
