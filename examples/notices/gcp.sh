#!/bin/sh
# Ends when Compute Engine preempts this machine (30 s before) or is about to stop it for
# maintenance (60 s before, or an hour with GPUs), and says which.
#
#     actorrun --notice-command=/opt/notices/gcp.sh …
#
# A preemption is told at once, as the server answers when the value changes. Of
# maintenance that migrates the machine live nothing is said.
set -eu

server=${METADATA_SERVER:-http://metadata.google.internal}
wait=${POLL_SECONDS:-10}

# get PATH: an answer with its headers
get() {
  curl -sS -f -i -m "$((wait + 20))" -H 'Metadata-Flavor: Google' \
    "$server/computeMetadata/v1/instance/$1"
}

value_of() {
  printf '%s\n' "$1" | tr -d '\r' | tail -n 1
}

tag=NONE # At first the server answers at once.
while :; do
  answer=$(get "preempted?wait_for_change=true&timeout_sec=$wait&last_etag=$tag")
  if [ "$(value_of "$answer")" = TRUE ]; then
    echo "Compute Engine: this machine is preempted"
    exit 0
  fi
  tag=$(printf '%s\n' "$answer" | tr -d '\r' | sed -n 's/^[Ee][Tt][Aa][Gg]: *//p')
  event=$(value_of "$(get maintenance-event)")
  case $event in
    TERMINATE*)
      echo "Compute Engine: maintenance-event $event"
      exit 0
      ;;
  esac
done
