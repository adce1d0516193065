#!/usr/bin/env bash
# Makes the environment and fingerprints a pool. Arguments go to routejax.fingerprint.
set -euo pipefail
cd "$(dirname "$0")/.."
extra="" source launch/environment.sh
exec python -m routejax.fingerprint "$@"
