#!/usr/bin/env bash
# Makes the environment and runs the main job. Arguments go to routejax.train.
set -euo pipefail
cd "$(dirname "$0")/.."
extra="" source launch/environment.sh
exec python -m routejax.train --config=configs/rlve.py "$@"
