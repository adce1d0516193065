#!/usr/bin/env bash
# Runs the main job on TPU slices of a GKE cluster by xpk: options, then NAME, then
# arguments of routejax.train.
#
#     bash launch/gke.sh --cluster=c --type=v5p-64 --image=IMAGE --folder=/mnt/bucket \
#         run-1 --config=configs/rlve.py:qwen3_1b7 --config.needs= …
#
#     --dry-run       prints the command
#     --cluster       of xpk
#     --type          of the slices, as `v5p-64`; --slices=N of them, 1 if not said
#     --image         with this project and its extra `tpu` installed in /routejax
#     --folder        where the cluster mounts the bucket of runs in every pod, for
#                     checkpoints and compiled programs
#     --restarts=N    after a preemption or an exit of 75; 100 if not said
set -euo pipefail
# shellcheck source=launch/commands.sh
source "$(dirname "$0")/commands.sh"
dry="" cluster="" type="" slices=1 image="" folder="" restarts=100
while [ "$#" -gt 0 ]; do
    case "$1" in
        --dry-run) dry=1 ;;
        --cluster=*) cluster="${1#*=}" ;;
        --type=*) type="${1#*=}" ;;
        --slices=*) slices="${1#*=}" ;;
        --image=*) image="${1#*=}" ;;
        --folder=*) folder="${1#*=}" ;;
        --restarts=*) restarts="${1#*=}" ;;
        *) break ;;
    esac
    shift
done
if [ "$#" -lt 1 ] || [ -z "$cluster" ] || [ -z "$type" ] || [ -z "$image" ] ||
    [ -z "$folder" ]; then
    echo "usage: bash launch/gke.sh [--dry-run] --cluster=C --type=TYPE --image=IMAGE" \
         "--folder=DIR [--slices=N] [--restarts=N] NAME [arguments of" \
         "routejax.train]" >&2
    exit 2
fi
name="$1"
shift
train="cd /routejax && exec python -m routejax.train --distributed"
train+="$(printf ' %q' "--workdir=$folder/$name" "$@")"
run exec xpk workload create --cluster="$cluster" --workload="$name" \
    --tpu-type="$type" --num-slices="$slices" --docker-image="$image" \
    --max-restarts="$restarts" --restart-on-exit-codes=75 --command="$train"
