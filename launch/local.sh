#!/usr/bin/env bash
# Makes the environment and runs the main job. Arguments go to routejax.train; a
# `--config` among them takes the place of the default recipe.
set -euo pipefail
cd "$(dirname "$0")/.."
extra="" source launch/environment.sh
recipe=(--config=configs/rlve.py)
for argument in "$@"; do
    case "$argument" in --config | -config | --config=* | -config=*) recipe=() ;; esac
done
exec python -m routejax.train "${recipe[@]}" "$@"
