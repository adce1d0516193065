#!/usr/bin/env bash
# Runs the main job on nodes of a Slurm cluster: options, then arguments of
# routejax.train. The clone must be on a file system that all nodes share; runs, with
# checkpoints and compiled programs, are written into it, or into --workdir.
#
#     bash launch/slurm.sh --nodes=2 --gpus=8 --config=configs/rlve.py:qwen3_1b7 …
#
#     --dry-run          prints the command of sbatch and that of every node
#     --nodes, --gpus    how many nodes, and GPUs of each
#     --per=gpu          one process for each GPU, or --per=node for each node
#     --sbatch=ARGUMENT  of sbatch, such as --sbatch=--partition=p; as often as wanted
#
# Two minutes before its time is over, or when it is preempted, the job saves and is put
# into the queue again; it goes on from there.
set -euo pipefail
cd "$(dirname "$0")/.."
source launch/commands.sh
dry="" nodes=1 gpus=1 per=gpu more=()
while [ "$#" -gt 0 ]; do
    case "$1" in
        --dry-run) dry=1 ;;
        --nodes=*) nodes="${1#*=}" ;;
        --gpus=*) gpus="${1#*=}" ;;
        --per=*) per="${1#*=}" ;;
        --sbatch=*) more+=("${1#*=}") ;;
        *) break ;;
    esac
    shift
done
case "$per" in
    gpu) tasks="$gpus" ;;
    node) tasks=1 ;;
    *) echo "--per must be gpu or node, got $per" >&2 && exit 2 ;;
esac
submitted=(--nodes="$nodes" --ntasks-per-node="$tasks" --gpus-per-node="$gpus"
    --requeue --open-mode=append --signal=B:TERM@120 "${more[@]}")
if [ -n "$dry" ]; then
    run sbatch "${submitted[@]}" launch/slurm_job.sh "$@"
    exec bash launch/slurm_job.sh --dry-run "$per" "$gpus" "$@"
fi
extra="cuda" source launch/environment.sh
exec sbatch "${submitted[@]}" launch/slurm_job.sh "$per" "$gpus" "$@"
