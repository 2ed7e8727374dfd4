#!/bin/sh
# Ends when Azure schedules the end or a reboot of this machine (Preempt: 30 s before;
# Terminate, Redeploy, Reboot: minutes), and says which and not before when.
#
#     actorrun --notice-command=/opt/notices/azure.sh …
#
# The first answer of a machine can take two minutes, because it switches the service on.
set -eu

server=${METADATA_SERVER:-http://169.254.169.254}
pause=${POLL_SECONDS:-1}

# get PATH
get() {
  curl -sS -f -m 150 --noproxy '*' -H 'Metadata: true' "$server/metadata/$1"
}

# field NAME: its text in an event
field() {
  sed -n 's/.*"'"$1"'" *: *"\([^"]*\)".*/\1/p'
}

name=$(get 'instance/compute/name?api-version=2021-02-01&format=text')
while :; do
  answer=$(get 'scheduledevents?api-version=2020-07-01')
  # One event in each line; those of other machines of the set are there, too.
  event=$(printf '%s' "$answer" | tr -d '\n' | tr '{' '\n' | grep -F "\"$name\"" \
    | grep -E '"EventType" *: *"(Preempt|Terminate|Redeploy|Reboot)"' | head -n 1 || :)
  if [ -n "$event" ]; then
    echo "Azure: $(echo "$event" | field EventType) of $name, not before" \
      "$(echo "$event" | field NotBefore)"
    exit 0
  fi
  sleep "$pause"
done
