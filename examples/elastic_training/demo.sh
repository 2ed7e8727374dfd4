#!/bin/bash
# A training job loses a worker, loses a node, gains a node, and finishes.
# Everything happens on this host, in about half a minute; the exit status is 0
# only if every act went as announced.
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

steps=560           # Of the whole training.
steps_per_second=25 # So that a person can follow.
act_ends=(110 210 310 410) # Steps; not those at which a checkpoint is saved.
checkpoint_every=20 # Steps; what an incident may cost.
story_limit=55      # Seconds, for all acts.
change_limit=15     # Seconds, for the group to be running again.

job=demo-$$
folder=$(mktemp -d)
progress=$folder/progress # Lines of: epoch step world loss restarts.
touch "$progress"
declare -A agents=() # Name -> process id, of those that ought to be running.
event_at=0           # When the act's event happened, in milliseconds.

# -- what the reader sees -----------------------------------------------------

bold='' red='' plain=''
if [[ -t 1 && -z ${NO_COLOR:-} ]]; then
  bold=$'\e[1m' red=$'\e[31m' plain=$'\e[0m'
fi

act() {
  printf '\n%s=== %s%s\n' "$bold" "$1" "$plain"
  printf '    expect: %s\n' "$2"
}

seen() { printf '%s    seen: %s%s\n' "$bold" "$1" "$plain"; }

wrong() {
  printf '\n%s*** demo failed: %s%s\n' "$red" "$1" "$plain"
  exit 1
}

# -- processes ----------------------------------------------------------------

# The ids of all workers of the job, whoever is their parent by now.
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

# Somebody listens at that port. Looked up, not tried: a connection out of
# nowhere would have to be refused and logged by whom it reaches.
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

# Asks the agents to end, and after two seconds makes them and every worker.
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

# -- waiting: always for an event, never for ever -----------------------------

milliseconds() { echo $((${EPOCHREALTIME/./} / 1000)); }
story_end=$(($(milliseconds) + 1000 * story_limit))

# No agent has ended that nobody told to.
check_agents() {
  local name status=0
  for name in "${!agents[@]}"; do
    kill -0 "${agents[$name]}" 2>/dev/null && continue
    wait "${agents[$name]}" 2>/dev/null || status=$?
    unset "agents[$name]"
    wrong "the $name agent has ended unasked, exit status $status"
  done
}

# Fails the demo, saying what did not happen, unless the command succeeds in
# time.
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

# -- what the progress file says ----------------------------------------------

# The epoch that an act starts from, and where training stood then.
epoch=0 step=0 world=0 loss=-

# Takes the last line as the state before the next event.
remember() {
  read -r epoch step world loss _ < <(tail -n 1 "$progress")
  event_at=$(milliseconds)
}

# The lines written since `remember` by a world of that size in a newer epoch.
lines_of() { # WORLD
  awk -v world="$1" -v epoch="$epoch" '$3 == world && $1 > epoch' "$progress"
}

world_runs() { # WORLD
  check_agents
  first_line=$(lines_of "$1" | head -n 1)
  [[ -n $first_line ]]
}

has_trained() { # WORLD STEP
  check_agents
  # Eight lines at least, so that beginning and end of the act can be compared.
  lines_of "$1" | awk -v step="$2" '$2 >= step && NR >= 8 { found = 1 }
                                    END { exit !found }'
}

# Waits for the group to be running again and tells how that went.
await_world() { # WORLD RESTARTS
  wait_until "a group of $1 workers" "$change_limit" world_runs "$1"
  local took=$(($(milliseconds) - event_at))
  read -r _ new_step _ new_loss new_restarts <<<"$first_line"
  local resumed=$((new_step - 1))
  if ((world == 0)); then
    seen "world $1 after $took ms, loss $new_loss"
  else
    seen "world $world -> $1 after $took ms, loss $loss -> $new_loss, $(
    )resumed at step $resumed"
  fi
  ((resumed >= step - checkpoint_every)) \
    || wrong "step $step was reached, but training went on from step $resumed"
  seen "restarts spent: $new_restarts of 3"
  ((new_restarts == $2)) || wrong "expected $2 restarts to be spent"
}

# Lets the new group train and checks that it learns: the loss at the end of
# the act must be lower than at its beginning, three lines each.
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
  seen "$(cat "$folder/learnt")"
}

all_gone() { # PID...
  local pid
  for pid in "$@"; do
    # A process that only waits to be reaped has no environment any more.
    [[ -z $(tr -d '\0' 2>/dev/null <"/proc/$pid/environ") ]] || return 1
  done
}

# -- the story ----------------------------------------------------------------

port=$(free_port) || wrong "found no free port"
agent_options=(--nnodes=1:4 --nproc-per-node=2 --max-restarts=3
  --rdzv-backend=c10d "--rdzv-endpoint=127.0.0.1:$port"
  "--rdzv-id=$job" --local-addr=127.0.0.1 --rdzv-conf=quiet_period=0.5
  --no-agent-store --no-python)
worker_options=("--checkpoint=$folder/checkpoint" "--progress=$progress"
  "--steps=$steps" "--steps-per-second=$steps_per_second"
  "--checkpoint-every=$checkpoint_every")

act "1. Two nodes of two workers start to learn English from a licence text." \
  "world 4, and a loss that falls from about 4.3"
echo "    each node runs: actorrun ${agent_options[*]} elastic_training ..."
event_at=$(milliseconds)
start_agent first
# It hosts the coordinator, so it must be the one to come first.
coordinator_listens() { check_agents && is_listening "$port"; }
wait_until "the coordinator listening at port $port" 5 coordinator_listens
start_agent second
await_world 4 0
watch_training 4 "${act_ends[0]}"

remember
victim=$(workers_of first | tail -n 1)
[[ -n $victim ]] || wrong "found no worker of the first agent"
act "2. kill -9 $victim: one worker of the first node dies." \
  "all four start again from the last checkpoint; one restart is spent"
kill -KILL "$victim"
await_world 4 1
watch_training 4 "${act_ends[1]}"

remember
mapfile -t orphans < <(workers_of second)
((${#orphans[@]} == 2)) || wrong "the second agent has ${#orphans[@]} workers"
second=${agents[second]}
act "3. kill -9 $second: the second node's agent dies." \
  "its workers ${orphans[*]} die with it; the first node goes on alone"
# Frozen workers cannot notice and end by themselves.
kill -STOP "${orphans[@]}"
unset 'agents[second]'
# The shell would report the death of its child, too.
{
  kill -KILL "$second"
  wait "$second" || true
} 2>/dev/null
await_world 2 1
wait_until "the end of workers ${orphans[*]}" 2 all_gone "${orphans[@]}"
seen "workers ${orphans[*]} are gone"
watch_training 2 "${act_ends[2]}"

remember
act "4. A third node joins." \
  "a short wait for others who may be joining, then world 4 again"
start_agent third
await_world 4 1
watch_training 4 "${act_ends[3]}"

act "5. Nothing more happens." \
  "training runs to step $steps and both agents report success"
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
seen "both agents exit 0"
[[ -z $(workers) ]] || wrong "workers are left: $(workers | tr '\n' ' ')"
seen "no process of the job is left"
remember
((step == steps)) || wrong "the last step is $step, not $steps"
initial=$(awk '{ print $4; exit }' "$progress")
awk -v a="$initial" -v b="$loss" 'BEGIN { exit !(b < 0.7 * a) }' \
  || wrong "the loss went from $initial only to $loss"
seen "loss $initial -> $loss after $steps steps, $epoch epochs and two deaths"
