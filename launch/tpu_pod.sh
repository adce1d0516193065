#!/usr/bin/env bash
# Runs the main job on every host of a TPU pod slice that exists already: NAME ZONE
# FOLDER, then arguments of routejax.train. FOLDER is a clone of this project on a file
# system that all hosts share, such as Filestore; runs are written into it.
#
#     bash launch/tpu_pod.sh pod-1 us-east5-a /mnt/shared/routejax --config.needs= \
#         --config=configs/rlve.py:qwen3_1b7 --config.student.weights=DIR
#
# A preempted run goes on with the same command.
set -euo pipefail
if [ "$#" -lt 3 ]; then
    echo "usage: bash launch/tpu_pod.sh NAME ZONE FOLDER [arguments of routejax.train]" >&2
    exit 2
fi
name="$1" zone="$2" folder="$3"
shift 3
arguments="$(printf ' %q' --distributed "$@")"
folder="$(printf '%q' "$folder")"
# The environment is each host's own: the shared folder must not be written by all.
setup='test -x ~/routejax-env/bin/python || python3 -m venv ~/routejax-env'
install='~/routejax-env/bin/pip install --quiet -e ".[tpu]"'
train="exec ~/routejax-env/bin/python -m routejax.train$arguments"
exec gcloud compute tpus tpu-vm ssh "$name" --zone="$zone" --worker=all \
    --command="cd $folder && { $setup; } && $install && $train"
