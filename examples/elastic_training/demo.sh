#!/bin/bash
# A training job loses a worker, loses a node, gains a node, and finishes.
# Everything happens on this host, in about half a minute. The exit status is 0
# only if every act had the announced result.
#
# The terminal is that of the first node, which hosts the coordinator and keeps
# rank 0. The other nodes print to files, which the demo shows if it fails.
#
# usage: demo.sh ACTORRUN_BINARY WORKER_BINARY
set -euo pipefail
export LC_ALL=C

if [[ $# -ne 2 || ! -x $1 || ! -x $2 ]]; then
  echo "usage: demo.sh ACTORRUN_BINARY WORKER_BINARY" >&2
  exit 2
fi
actorrun=$1
worker=$2

steps=560           # Steps of the whole training.
steps_per_second=25 # Slow enough to follow.
act_ends=(110 210 310 410) # Steps; no checkpoint is saved at them.
checkpoint_every=20 # Steps; none are lost here, as always a worker is left.
story_limit=55      # Time limit for all acts, in seconds.
change_limit=15     # Time limit for a regroup, in seconds.

job=demo-$$
folder=$(mktemp -d)
progress=$folder/progress # Lines of: generation step world loss restarts.
touch "$progress"
declare -A agents=() # Name -> process id, of the agents that must be running.
event_at=0           # When the act's event happened, in milliseconds.

# -- what is printed ----------------------------------------------------------

bold='' green='' red='' plain=''
if [[ -t 1 && -z ${NO_COLOR:-} ]]; then
  bold=$'\e[1m' green=$'\e[1;32m' red=$'\e[31m' plain=$'\e[0m'
fi

act() { # "N. TITLE: DETAIL" EXPECTATION
  printf '\n%s=== %s%s\n' "$bold" "$1" "$plain"
  printf '    expected: %s\n' "$2"
}

result() { printf '%s    result: %s%s\n' "$green" "$1" "$plain"; }

wrong() {
  local file
  printf '\n%s*** demo failed: %s%s\n' "$red" "$1" "$plain"
  for file in "$folder"/*.log; do
    [[ -s $file ]] || continue
    echo "--- last lines of the $(basename "$file" .log) agent:"
    tail -n 20 "$file"
  done
  exit 1
}

# -- processes ----------------------------------------------------------------

# The process ids of all workers of the job, whatever their parent is now.
workers() {
  local file
  while read -r file; do
    echo "${file//[!0-9]/}"
  done < <(grep -lzxF "ACTORRUN_JOB_ID=$job" /proc/[0-9]*/environ 2>/dev/null)
}

workers_of() { # AGENT
  local pid
  for pid in $(workers); do
    if grep -qx "PPid:[[:space:]]*${agents[$1]}" "/proc/$pid/status" \
      2>/dev/null; then
      echo "$pid"
    fi
  done
}

# Whether a process listens at that port. Reads a table instead of connecting:
# the listener would have to reject and log a connection without a proof.
is_listening() { # PORT
  grep -qs ":$(printf %04X "$1") [0-9A-F]*:0000 0A" /proc/net/tcp \
    /proc/net/tcp6
}

free_port() {
  local port
  for _ in {1..50}; do
    port=$((20000 + RANDOM % 10000))
    if ! is_listening "$port"; then
      echo "$port"
      return
    fi
  done
  return 1
}

start_agent() { # NAME
  "$actorrun" "${agent_options[@]}" "$worker" "${worker_options[@]}" \
    </dev/null &
  agents[$1]=$!
}

# Ends the agents, and kills them and all workers after two seconds.
clean_up() {
  local pid
  for pid in $(jobs -pr); do kill -TERM "$pid" 2>/dev/null || true; done
  for _ in {1..40}; do
    [[ -z $(jobs -pr) ]] && break
    sleep 0.05
  done
  for _ in {1..40}; do
    for pid in $(jobs -pr) $(workers); do
      kill -KILL "$pid" 2>/dev/null || true
    done
    [[ -z $(jobs -pr)$(workers) ]] && break
    sleep 0.05
  done
  rm -rf "$folder"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# -- waiting: always for an event, always with a limit ------------------------

milliseconds() { echo $((${EPOCHREALTIME/./} / 1000)); }
story_end=$(($(milliseconds) + 1000 * story_limit))

# Fails if an agent has ended unexpectedly.
check_agents() {
  local name status=0
  for name in "${!agents[@]}"; do
    kill -0 "${agents[$name]}" 2>/dev/null && continue
    wait "${agents[$name]}" 2>/dev/null || status=$?
    unset "agents[$name]"
    wrong "the $name agent has ended unexpectedly, exit status $status"
  done
}

# Repeats the command until it succeeds; fails the demo if that takes too long.
wait_until() { # WHAT SECONDS COMMAND...
  local what=$1 seconds=$2 due
  shift 2
  due=$(($(milliseconds) + 1000 * seconds))
  while ! "$@"; do
    local now
    now=$(milliseconds)
    ((now < due)) || wrong "$what: not within $seconds s"
    ((now < story_end)) || wrong "$what: not within $story_limit s of the start"
    sleep 0.02
  done
}

# -- reading the progress file ------------------------------------------------

# The generation that an act starts from, and the state of the training then.
generation=0 step=0 world=0 loss=-

# Keeps the last line as the state before the next event.
remember() {
  read -r generation step world loss _ < <(tail -n 1 "$progress")
  event_at=$(milliseconds)
}

# The lines written since `remember` by a group of that size in a newer generation.
lines_of() { # WORLD
  awk -v world="$1" -v generation="$generation" '$3 == world && $1 > generation' "$progress"
}

world_runs() { # WORLD
  check_agents
  first_line=$(lines_of "$1" | head -n 1)
  [[ -n $first_line ]]
}

has_trained() { # WORLD STEP
  check_agents
  # At least eight lines, to compare the beginning and the end of the act.
  lines_of "$1" | awk -v step="$2" '$2 >= step && NR >= 8 { found = 1 }
                                    END { exit !found }'
}

# Waits for the group to run again and prints how long that took.
await_world() { # WORLD RESTARTS
  wait_until "a group of $1 workers" "$change_limit" world_runs "$1"
  local took=$(($(milliseconds) - event_at))
  read -r _ new_step _ new_loss new_restarts <<<"$first_line"
  local resumed=$((new_step - 1))
  if ((world == 0)); then
    result "world $1, first step after $took ms, loss $new_loss"
  else
    result "world $world -> $1, first step after $took ms, loss $loss -> $(
    )$new_loss, went on at step $resumed"
  fi
  ((resumed >= step)) \
    || wrong "step $step was reached, but training went on at step $resumed"
  result "$new_restarts of 3 restarts spent"
  ((new_restarts == $2)) || wrong "expected $2 restarts to be spent"
}

# Checks that these workers still run.
stayed() { # PID...
  local pid
  for pid in "$@"; do
    all_gone "$pid" && wrong "worker $pid has not stayed"
  done
  result "workers $* have stayed"
}

# Lets the new group train and checks that it learns: the mean loss of the last
# three lines of the act must be lower than that of the first three.
watch_training() { # WORLD STEP
  wait_until "training to step $2" "$story_limit" has_trained "$1" "$2"
  lines_of "$1" | awk '
    { loss[NR] = $4; step = $2 }
    END {
      first = (loss[1] + loss[2] + loss[3]) / 3
      last = (loss[NR] + loss[NR - 1] + loss[NR - 2]) / 3
      printf "loss %.3f -> %.3f at step %d\n", first, last, step
      exit !(last < first)
    }' >"$folder/learnt" \
    || wrong "the model does not learn: $(cat "$folder/learnt")"
  result "$(cat "$folder/learnt")"
}

all_gone() { # PID...
  local pid
  for pid in "$@"; do
    # A zombie has no environment.
    [[ -z $(tr -d '\0' 2>/dev/null <"/proc/$pid/environ") ]] || return 1
  done
}

# -- the acts -----------------------------------------------------------------

port=$(free_port) || wrong "found no free port"
agent_options=(--nnodes=1:4 --nproc-per-node=2 --max-restarts=3
  --rdzv-backend=c10d "--rdzv-endpoint=127.0.0.1:$port"
  "--rdzv-id=$job" --local-addr=127.0.0.1 --rdzv-conf=quiet_period=0.5
  --no-agent-store --no-python)
worker_options=("--checkpoint=$folder/checkpoint" "--progress=$progress"
  "--steps=$steps" "--steps-per-second=$steps_per_second"
  "--checkpoint-every=$checkpoint_every")

act "1. Two nodes start: four workers train one small language model." \
  "world 4, and a loss that falls from about 4.3"
echo "    each node runs:"
fold -s -w 90 <<<"actorrun ${agent_options[*]} elastic_training ..." \
  | sed 's/^/      /'
event_at=$(milliseconds)
start_agent first
# It is going to host the coordinator, so it must start first.
coordinator_listens() { check_agents && is_listening "$port"; }
wait_until "the coordinator listening at port $port" 5 coordinator_listens
start_agent second &>"$folder/second.log"
await_world 4 0
watch_training 4 "${act_ends[0]}"

remember
victim=$(workers_of first | tail -n 1)
[[ -n $victim ]] || wrong "found no worker of the first agent"
mapfile -t others < <(workers | grep -vx "$victim")
act "2. A worker dies: kill -9 $victim, on the first node." \
  "the others stay, and a new one gets their state, for one restart"
kill -KILL "$victim"
await_world 4 1
stayed "${others[@]}"
watch_training 4 "${act_ends[1]}"

remember
mapfile -t orphans < <(workers_of second)
((${#orphans[@]} == 2)) || wrong "the second agent has ${#orphans[@]} workers"
second=${agents[second]}
mapfile -t others < <(workers_of first)
act "3. A node dies: kill -9 $second, the agent of the second node." \
  "its workers ${orphans[*]} die with it; those of the first go on alone"
# Stopped workers cannot notice the death of the agent and end by themselves.
kill -STOP "${orphans[@]}"
unset 'agents[second]'
# Keeps the shell from reporting the death of its child.
{
  kill -KILL "$second"
  wait "$second" || true
} 2>/dev/null
await_world 2 1
wait_until "the end of workers ${orphans[*]}" 2 all_gone "${orphans[@]}"
result "workers ${orphans[*]} are gone"
stayed "${others[@]}"
watch_training 2 "${act_ends[2]}"

remember
act "4. A node joins: a third agent starts." \
  "a wait of one second for further nodes, then world 4 again"
start_agent third &>"$folder/third.log"
await_world 4 1
stayed "${others[@]}"
watch_training 4 "${act_ends[3]}"

act "5. The job finishes: no more incidents." \
  "training runs to step $steps, and both agents exit 0"
first=${agents[first]} third=${agents[third]}
agents=()
agent_ended() { ! kill -0 "$1" 2>/dev/null; }
wait_until "the end of the first agent" "$story_limit" agent_ended "$first"
wait_until "the end of the third agent" 5 agent_ended "$third"
for pid in "$first" "$third"; do
  status=0
  wait "$pid" || status=$?
  ((status == 0)) || wrong "agent $pid has ended with exit status $status"
done
result "both agents exit 0"
[[ -z $(workers) ]] || wrong "workers are still running: $(workers | tr '\n' ' ')"
result "no process of the job is left"
remember
((step == steps)) || wrong "the last step is $step, not $steps"
initial=$(awk '{ print $4; exit }' "$progress")
awk -v a="$initial" -v b="$loss" 'BEGIN { exit !(b < 0.7 * a) }' \
  || wrong "the loss fell only from $initial to $loss"
generations=$(awk '!seen[$1]++ { n++ } END { print n + 0 }' "$progress")
result "loss $initial -> $loss after $steps steps, $generations generations and two deaths"
