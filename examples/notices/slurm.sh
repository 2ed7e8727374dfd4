#!/bin/sh
#SBATCH --nodes=4 --ntasks-per-node=1
#SBATCH --signal=B:USR1@120
# Has the workers of all nodes save two minutes before Slurm's limit, or when an operator
# sends SIGUSR1 (scancel --batch --signal=USR1 JOB). This script runs on the first node
# only, so the file is that node's. It hosts the coordinator, and cannot leave: all
# workers save, and go on. For the limit alone --notice-before is simpler.
set -u

going=${TMPDIR:-/tmp}/going.$SLURM_JOB_ID
rm -f "$going"
trap 'echo "Slurm is about to end job $SLURM_JOB_ID" >"$going"' USR1

srun actorrun --notice-file="$going" --max-restarts=3 "$@" &
step=$!
# A signal ends a wait, and not the step.
while :; do
  wait "$step"
  code=$?
  kill -0 "$step" 2>/dev/null || break
done
rm -f "$going"
exit "$code"
