#!/usr/bin/env bash
# Makes the environment and runs the main job. Arguments go to routejax.train; a
# `--config` among them takes the place of the default recipe. With --dry-run before
# them it prints the command. Asked to stop, it ends with 75: the same command goes on.
set -euo pipefail
cd "$(dirname "$0")/.."
source launch/commands.sh
dry=""
if [ "${1:-}" = --dry-run ]; then dry=1 && shift; fi
extra="" run source launch/environment.sh
recipe=(--config=configs/rlve.py)
for argument in "$@"; do
    case "$argument" in --config | -config | --config=* | -config=*) recipe=() ;; esac
done
run exec python -m routejax.train "${recipe[@]}" "$@"
