#!/usr/bin/env bash
# Makes the environment and selects from a pool. Arguments go to routejax.select.
set -euo pipefail
cd "$(dirname "$0")/.."
extra="" source launch/environment.sh
exec python -m routejax.select "$@"
