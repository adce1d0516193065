#!/usr/bin/env bash
# The job that `launch/slurm.sh` submits, from the clone: "gpu" or "node", GPUs of each
# node, then arguments of routejax.train. jax finds the other processes by itself, and
# takes one device for each of them; where there is one on a node it is told of all.
set -euo pipefail
dry=""
if [ "${1:-}" = --dry-run ]; then dry=1 && shift; fi
source launch/commands.sh
per="$1" gpus="$2"
shift 2
if [ "$per" = node ]; then
    JAX_LOCAL_DEVICE_IDS="$(seq -s, 0 $((gpus - 1)))"
    export JAX_LOCAL_DEVICE_IDS
    if [ -n "$dry" ]; then echo "export JAX_LOCAL_DEVICE_IDS=$JAX_LOCAL_DEVICE_IDS"; fi
fi
command=(srun --kill-on-bad-exit=0 .venv/bin/python -m routejax.train --distributed "$@")
if [ -n "$dry" ]; then
    run "${command[@]}"
    # shellcheck disable=SC2016
    echo 'scontrol requeue "$SLURM_JOB_ID"  # after an exit of 75'
    exit 0
fi
"${command[@]}" &
step="$!"
# srun hands a signal on to its processes.
trap 'kill -TERM "$step" 2>/dev/null || true' TERM
status=0
ended "$step" || status="$?"
if [ "$status" -eq 75 ]; then
    echo "routejax: saved; into the queue again" >&2
    scontrol requeue "$SLURM_JOB_ID"
fi
exit "$status"
