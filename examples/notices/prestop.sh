#!/bin/sh
# Says to the agent of this container that its pod is deleted, as a preStop hook:
#
#     args: ["--notice-file=/tmp/going", …]
#     lifecycle:
#       preStop:
#         exec:
#           command: ["/opt/notices/prestop.sh", "/tmp/going", "45"]
#
# SIGTERM comes when the hook ends. So it stays until the node has left, which ends the
# container and this hook with it, or for so many seconds:
# terminationGracePeriodSeconds, less --shutdown-timeout and 5.
set -eu

echo "the pod ${HOSTNAME:-} is deleted" >"$1"
exec sleep "$2"
