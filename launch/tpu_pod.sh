#!/usr/bin/env bash
# Runs the main job on every host of a TPU pod slice: options, then NAME ZONE FOLDER,
# then arguments of routejax.train. FOLDER is a clone of this project on a file system
# that all hosts share, such as Filestore.
#
#     bash launch/tpu_pod.sh --type=v5p-64 --version=v2-alpha-tpuv5 --spot \
#         --bucket=my-runs pod-1 us-east5-a /mnt/shared/routejax --config.needs= \
#         --config=configs/rlve.py:qwen3_1b7 --config.student.weights=DIR
#
#     --dry-run          prints every command
#     --type, --version  accelerator and runtime of a queued resource, which is asked for
#                        and, when it was preempted, asked for again; without them the
#                        slice must exist already
#     --spot             of the queued resource
#     --bucket=NAME      a bucket for the run, its checkpoints and its compiled programs,
#                        mounted by gcsfuse on all hosts; it must have a hierarchical
#                        namespace, in which a rename is one step. Without it they are in
#                        FOLDER/runs
#
# A preempted run goes on from its last checkpoint, here while this script waits, else
# with the same command.
set -euo pipefail
# shellcheck source=launch/commands.sh
source "$(dirname "$0")/commands.sh"
dry="" type="" version="" spot=() bucket=""
while [ "$#" -gt 0 ]; do
    case "$1" in
        --dry-run) dry=1 ;;
        --type=*) type="${1#*=}" ;;
        --version=*) version="${1#*=}" ;;
        --spot) spot=(--spot) ;;
        --bucket=*) bucket="${1#*=}" && bucket="${bucket#gs://}" ;;
        *) break ;;
    esac
    shift
done
if [ "$#" -lt 3 ] || { [ -n "$type" ] && [ -z "$version" ]; }; then
    echo "usage: bash launch/tpu_pod.sh [--dry-run] [--type=TYPE --version=RUNTIME" \
         "[--spot]] [--bucket=NAME] NAME ZONE FOLDER [arguments of routejax.train]" >&2
    exit 2
fi
name="$1" zone="$2" folder="$3"
shift 3
queue=(gcloud compute tpus queued-resources)
poll_s="${ROUTEJAX_POLL_S:-60}"

state() {
    "${queue[@]}" describe "$name" --zone="$zone" --format='value(state.state)' \
        2>/dev/null || echo NONE
}

# Until the queued resource is there; one that failed or was taken away is made anew.
obtain() {
    if [ -n "$dry" ]; then
        run "${queue[@]}" create "$name" --node-id="$name" --zone="$zone" \
            --accelerator-type="$type" --runtime-version="$version" "${spot[@]}"
        run "${queue[@]}" describe "$name" --zone="$zone" --format='value(state.state)'
        return
    fi
    local found
    while found="$(state)" && [ "$found" != ACTIVE ]; do
        case "$found" in
            FAILED | SUSPENDED)
                run "${queue[@]}" delete "$name" --zone="$zone" --force --quiet ;;
            NONE)
                run "${queue[@]}" create "$name" --node-id="$name" --zone="$zone" \
                    --accelerator-type="$type" --runtime-version="$version" "${spot[@]}" ;;
        esac
        sleep "$poll_s"
    done
}

# What each host does. `~` and `$HOME` are the host's own, so they are not expanded here.
# The environment is each host's own: the shared folder must not be written by all.
steps="cd $(printf '%q' "$folder")"
# shellcheck disable=SC2088
steps+=' && { test -x ~/routejax-env/bin/python || python3 -m venv ~/routejax-env; }'
steps+=' && ~/routejax-env/bin/pip install --quiet -e ".[tpu]"'
workdir=""
if [ -n "$bucket" ]; then
    # shellcheck disable=SC2016
    mounted='"$HOME"/routejax-bucket'
    steps+=" && mkdir -p $mounted && { mountpoint -q $mounted ||"
    steps+=" gcsfuse --implicit-dirs $(printf '%q' "$bucket") $mounted; }"
    workdir=" --workdir=$mounted/$(printf '%q' "$name")"
fi
steps+=" && exec ~/routejax-env/bin/python -m routejax.train --distributed$workdir"
if [ "$#" -gt 0 ]; then steps+="$(printf ' %q' "$@")"; fi

trap 'exit 130' INT
while true; do
    if [ -n "$type" ]; then obtain; fi
    status=0
    run gcloud compute tpus tpu-vm ssh "$name" --zone="$zone" --worker=all \
        --command="$steps" || status="$?"
    # 75 has saved and wants to go on. Hosts that are gone cannot say anything.
    if [ "$status" -eq 75 ] || { [ "$status" -ne 0 ] && [ -n "$type" ] &&
        [ "$(state)" != ACTIVE ]; }; then
        echo "routejax: $name was stopped; going on" >&2
        continue
    fi
    exit "$status"
done
