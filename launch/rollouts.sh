#!/usr/bin/env bash
# Makes the environment and shows the samples of a run. Arguments go to routejax.rollouts.
set -euo pipefail
cd "$(dirname "$0")/.."
extra="" source launch/environment.sh
exec python -m routejax.rollouts "$@"
