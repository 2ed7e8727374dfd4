#!/bin/sh
# Ends when EC2 is about to take this spot instance away, two minutes before, and says
# what it does and when.
#
#     actorrun --notice-command=/opt/notices/aws-spot.sh …
#
# EC2 asks for a token first (IMDSv2). In a container the instance's metadata option
# HttpPutResponseHopLimit has to be 2.
set -eu

server=${METADATA_SERVER:-http://169.254.169.254}
pause=${POLL_SECONDS:-5}

new_token() {
  curl -sS -f -m 5 -X PUT -H 'X-aws-ec2-metadata-token-ttl-seconds: 21600' \
    "$server/latest/api/token"
}

token=$(new_token)
while :; do
  answer=$(curl -sS -m 5 -w '\n%{http_code}' -H "X-aws-ec2-metadata-token: $token" \
    "$server/latest/meta-data/spot/instance-action")
  code=$(printf '%s\n' "$answer" | tail -n 1)
  case $code in
    200)
      printf 'EC2 spot: %s\n' "$(printf '%s\n' "$answer" | sed '$d' | tr -d '\n')"
      exit 0
      ;;
    404) ;; # Nothing is planned.
    401) token=$(new_token) ;; # The last one has run out.
    *)
      echo "the metadata service answers $code" >&2
      exit 1
      ;;
  esac
  sleep "$pause"
done
