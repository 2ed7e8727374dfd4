#!/usr/bin/env bash
# Shows on a machine with a GPU what cannot be shown without one, from a folder that
# pack.sh has made: without network, and with nothing installed but the driver, the
# CUDA toolkit, and a Python with torch. Takes eight minutes at most. A step that fails
# or takes too long costs the others nothing.
# usage: on_device.sh [--rehearse] [--steps=NAME,…] [--seconds=N] [KIT_DIR] [OUT]
#   KIT_DIR     the folder; default: the one that this script's is in
#   OUT         where the page and the logs go; default: gpu-out beside the kit
#   --steps     only these; --list names all
#   --seconds   for all together, but for the end of the last step; default: 465
#   --rehearse  where there is no GPU: runs what can be run on CPUs, so that the steps
#               themselves are tried. The page says of each that it is not seen
# Writes into OUT, as it comes: gpu.md, the page, to replace docs/gpu.md; log.txt, all
# that was run and what it printed. Exit code 0: nothing failed; 1: something did.
# Variables: PYTHON_EXEC, the Python that has torch. With ACTORRUN_GPU_STANDIN the
# driver is a stand-in (tests/support/gpu_standin_world.hpp), and the page says so.
set -uo pipefail

refuse() {
  echo "on_device.sh: $*" >&2
  exit 2
}

rehearse='' wanted='' seconds=465
while [[ ${1:-} = --* ]]; do
  case $1 in
    --rehearse) rehearse=yes ;;
    --steps=*) wanted=${1#*=} ;;
    --seconds=*) seconds=${1#*=} ;;
    --list) wanted=--list ;;
    *) refuse "there is no option $1; see the head of $0" ;;
  esac
  shift
done
[[ $seconds =~ ^[1-9][0-9]*$ ]] || refuse "--seconds=$seconds is not a number of seconds"
[ $# -le 2 ] || refuse "too many words: [KIT_DIR] [OUT] are all"
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd) || exit 2
kit=$(cd "${1:-$here/../..}" && pwd) || refuse "there is no folder $1"
out=${2:-$kit-out}
[ -x "$kit/bin/actorrun" ] || refuse "$kit is no kit: it has no bin/actorrun; tests/gpu/pack.sh makes one"
mkdir -p "$out" 2> /dev/null || refuse "the folder $out cannot be made"
out=$(cd "$out" && pwd)
[ -w "$out" ] || refuse "the folder $out cannot be written to"

# name, limit in seconds, what it needs, its head on the page. In order of value.
steps="
gpu_real    40  gpu   The tests of CTest that any GPU must pass
counting    60  gpu   Workers by GPUs, and what they see
readings    45  gpu   Status, top and metrics
memory      75  cuda  Memory of a worker that is killed
ddp        100  cuda  DDP with NCCL, and gloo with CUDA tensors
live       120  cuda  Workers with a CUDA context that live through a change
nccl_abort 120  cuda  NCCL's abort
hang        60  cuda  A rank that NCCL says is behind
health      75  gpu   The CUDA health check
allreduce  110  nvcc  The example cuda_allreduce
torch_cases 160 torch The cases of CTest with torch
torchrun   150  torch torchrun and actorrun in turns
"
if [ "$wanted" = --list ]; then
  echo "$steps" | grep .
  exit 0
fi
for name in ${wanted//,/ }; do
  grep -q "^$name " <<< "$steps" || refuse "there is no step '$name'; --list names them"
done

start=$SECONDS
page=$out/gpu.md log=$out/log.txt
work=$(mktemp -d "${TMPDIR:-/tmp}/actorrun-kit-XXXXXX") || exit 2
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
: > "$log"
parts=$work/parts
mkdir "$parts"

say() { echo "on_device.sh: $*" | tee -a "$log" >&2; }

# THE PROGRAMS: with the C library of this machine, or with that of the kit if ours is
# older than what they need.

newest_of() { sort -V | tail -1; }
has_glibc=$(getconf GNU_LIBC_VERSION 2> /dev/null | cut -d' ' -f2)
needs_glibc=$(cut -d' ' -f2 "$kit/needs/glibc")
glibc="${has_glibc:-none}, the programs need $needs_glibc"
if [ "$(printf '%s\n' "${has_glibc:-0}" "$needs_glibc" | newest_of)" != "${has_glibc:-0}" ] \
  || [ -n "${KIT_OWN_GLIBC:-}" ]; then
  # A path is in each program: so they are copies, with the one of here.
  cp -r "$kit" "$work/kit" || refuse "there is no room for a copy of the kit in $work"
  kit=$work/kit
  own=$kit/glibc loader=$kit/glibc/ld-linux-x86-64.so.2
  for file in "$kit"/bin/*; do
    "$loader" --library-path "$own:$kit/lib" "$kit/tools/patchelf" --force-rpath \
      --set-interpreter "$loader" --set-rpath "$own:$kit/lib" "$file" >> "$log" 2>&1
  done
  glibc+=": they run with the kit's own"
fi
"$kit/bin/actorrun" --version > "$work/version" 2>> "$log" \
  || refuse "actorrun does not run here: $(tail -1 "$log")"

# THE MACHINE

export KIT=$kit ACTORRUN_RUN_DIR=$work/run XDG_STATE_HOME=$work/state
export PYTHONPATH=$kit/runtime/worker/python${PYTHONPATH:+:$PYTHONPATH}
export PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1 PYTHONUTF8=1 OMP_NUM_THREADS=1
export GLOO_SOCKET_IFNAME=${GLOO_SOCKET_IFNAME:-lo} NCCL_SOCKET_IFNAME=${NCCL_SOCKET_IFNAME:-lo}
unset NCCL_HOSTID
python=${PYTHON_EXEC:-python3}
command -v "$python" > /dev/null || python=
export PYTHON_EXEC=$python

KIT_GPU=none
if [ -n "${ACTORRUN_GPU_STANDIN:-}" ]; then
  KIT_GPU=stand-in
  for library in NVML CUDA ZE; do
    export "ACTORRUN_${library}_LIBRARY=$kit/lib/libgpu_standin.so"
  done
elif [ -e /dev/nvidiactl ] || timeout 15 nvidia-smi -L > /dev/null 2>&1; then
  KIT_GPU=real
fi
export KIT_GPU
# A driver that the loader does not find would cost all steps: the page says it, and
# they look where it is.
nvml="found by the loader"
loads_nvml() { "$python" -c 'import ctypes; ctypes.CDLL("libnvidia-ml.so.1")' 2> /dev/null; }
if [ $KIT_GPU = real ] && [ -n "$python" ] && ! loads_nvml; then
  nvml="**not found by the loader, nor elsewhere**"
  for folder in /usr/local/nvidia/lib64 /usr/local/nvidia/lib /usr/lib64 /usr/lib/wsl/lib; do
    [ -e $folder/libnvidia-ml.so.1 ] || continue
    export LD_LIBRARY_PATH=$folder${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    nvml="**not found by the loader**; tried with LD_LIBRARY_PATH=$folder"
    break
  done
fi

# A first import reads all of torch from a disk, so it has a limit of its own.
torch='' cuda=''
[ -n "$python" ] && torch=$(timeout 90 "$python" -c '
import torch, torch.distributed as d
cuda = torch.cuda.is_available()
print("yes" if cuda else "no", torch.__version__, "CUDA", torch.version.cuda,
      "NCCL", ".".join(map(str, torch.cuda.nccl.version())) if cuda else "none",
      "gloo" if getattr(d, "is_gloo_available", d.is_available)() else "no gloo")
' 2>> "$log")
case $torch in
  yes*) cuda=yes ;;
esac
export KIT_DEVICE=${cuda:+cuda}
KIT_DEVICE=${KIT_DEVICE:-cpu}
gpu=$(timeout 15 nvidia-smi --query-gpu=name,memory.total,driver_version --format=csv,noheader 2> /dev/null)
nvcc=$(command -v nvcc || command -v /usr/local/cuda/bin/nvcc)
row() { echo "| $1 | ${2:-none} |"; }
{
  echo "| | |"
  echo "|---|---|"
  row "when" "$(date -u '+%Y-%m-%d %H:%M UTC')"
  row "actorrun" "$(cat "$work/version"), commit $(cat "$kit/commit")"
  case $KIT_GPU in
    real)
      row "GPU, memory, driver" "${gpu:-no answer from nvidia-smi}"
      row "libnvidia-ml.so.1" "$nvml"
      ;;
    stand-in) row "GPU" "**none: a stand-in for the driver**" ;;
    *) row "GPU" "**none: no NVIDIA driver**" ;;
  esac
  row "CUDA toolkit" "$([ -n "$nvcc" ] && "$nvcc" --version | sed -n 's/.*release //p')"
  row "torch" "${torch#* }"
  row "Python" "$([ -n "$python" ] && "$python" --version 2>&1)"
  row "system" "$(sed -n 's/^PRETTY_NAME="\(.*\)"/\1/p' /etc/os-release), Linux $(uname -r)"
  row "glibc" "$glibc"
  row "CPUs, memory" "$(env -u OMP_NUM_THREADS nproc), $(awk '/^MemTotal/ {printf "%.0f GiB", $2 / 1048576}' /proc/meminfo)"
} > "$parts/facts"
cat "$parts/facts" >> "$log"
timeout 15 nvidia-smi >> "$log" 2>&1

# THE PAGE: docs/gpu.md with what was seen in its place.

assemble() {
  local mark='<!-- seen -->' end='<!-- end of what was seen -->'
  {
    sed "/^$mark\$/,\$d" "$kit/docs/gpu.md"
    echo "$mark"
    cat "$parts/facts"
    echo
    [ -z "$rehearse" ] || printf '%s\n\n' "**A rehearsal: without a GPU, to try the steps. Nothing below was seen on one.**"
    echo "| step | | seconds |"
    echo "|---|---|---|"
    cat "$parts/results" 2> /dev/null
    cat "$parts"/[0-9]* 2> /dev/null
    echo "$end"
    sed "1,/^$end\$/d" "$kit/docs/gpu.md"
  } | cat -s > "$page.new"
  mv "$page.new" "$page"
}

# Whatever a step has left: it has the step's mark in its environment. A guard may
# still be about to end, with the worker that it has killed.
marked() { grep -lzxF "KIT_MARK=$1" /proc/[0-9]*/environ 2> /dev/null; }
sweep() { # MARK
  local file left=0
  for _ in {1..20}; do
    [ -n "$(marked "$1")" ] || return 0
    sleep 0.1
  done
  while read -r file; do
    file=${file#/proc/} file=${file%/environ}
    echo "left: $file $(tr '\0' ' ' 2> /dev/null < "/proc/$file/cmdline")" >> "$log"
    kill -KILL "$file" 2> /dev/null && left=$((left + 1))
  done < <(marked "$1")
  [ "$left" = 0 ] || say "step $name has left $left processes, which were killed"
}

lack() { # what a step needs that is not here
  local needs=$1
  case $needs in
    gpu) [ "$KIT_GPU" != none ] || { echo "no CUDA device"; return; } ;;
    cuda) [ -n "$cuda$rehearse" ] || { echo "no CUDA device"; return; } ;;
    nvcc) [ -n "$cuda$rehearse" ] || { echo "no CUDA device"; return; }
      [ -n "$nvcc" ] || { echo "no nvcc"; return; } ;;
  esac
  [ "$name" = gpu_real ] || [ -n "$python" ] || { echo "no python3"; return; }
  case $needs in
    cuda | torch) [ -n "$torch" ] || echo "no torch" ;;
  esac
}

run_step() { # NAME LIMIT NEEDS HEAD
  local name=$1 limit=$2 needs=$3 head=$4 left missing status from part result
  number=$((number + 1))
  part=$parts/$(printf %02d "$number")
  missing=$(lack "$needs")
  left=$((seconds - (SECONDS - start)))
  if [ -n "$missing" ]; then
    result="not seen here: $missing"
    status=77 from=$SECONDS
  elif [ "$left" -lt 5 ]; then
    result="not run: the ${seconds} s were over"
    status=1 from=$SECONDS
  else
    [ "$left" -gt "$limit" ] || limit=$left
    echo "== $name, at most $limit s" >> "$log"
    printf '\n### %s\n\n' "$head" > "$part"
    from=$SECONDS
    KIT_WORK=$work/$name
    mkdir "$KIT_WORK"
    export KIT_WORK KIT_MARK=$name.$$.$number
    if [ "$name" = gpu_real ]; then
      ACTORRUN_TEST_GPUS=$([ $KIT_GPU = real ] && echo real) timeout --kill-after=5 \
        "$limit" "$kit/bin/gpu_tests" "[anygpu]" --reporter compact --success > "$work/tests" 2>&1
      status=$?
      cat "$work/tests" >> "$log"
      { grep . "$work/tests" | tail -1 | grep . || echo "no output"; } >> "$part"
    else
      timeout --kill-after=4 "$limit" "$python" "$kit/tests/gpu/steps.py" "$name" \
        >> "$part" 2>> "$log"
      status=$?
    fi
    sweep "$KIT_MARK"
    unset KIT_MARK
    case $status in
      0) result=passed ;;
      77) result=$(tail -1 "$part") ;;
      124 | 137) result="**cut off after $limit s**" ;;
      *) result="**failed, exit code $status**" ;;
    esac
    if [ "$needs" != torch ] && [ "$KIT_GPU" = stand-in ] && [ $status = 0 ]; then
      result+=" with a stand-in for the driver; not seen here: no CUDA device"
    elif [ -n "$rehearse" ] && [ -z "$cuda" ] && [ "$needs" != torch ] && [ $status = 0 ]; then
      result="rehearsed on the CPU; not seen here: no CUDA device"
    fi
  fi
  case $status in 0 | 77) ;; *) failed=$((failed + 1)) ;; esac
  echo "| $head | $result | $((SECONDS - from)) |" >> "$parts/results"
  say "$name: $result, $((SECONDS - from)) s"
  assemble
}

number=0 failed=0
assemble
while read -r name limit needs head; do
  [ -n "$name" ] || continue
  if [ -n "$wanted" ] && [[ ",$wanted," != *",$name,"* ]]; then continue; fi
  # Its input is not ours: a step that reads would eat the list.
  run_step "$name" "$limit" "$needs" "$head" < /dev/null
done <<< "$steps"
say "done in $((SECONDS - start)) s: $page"
[ "$failed" = 0 ]
