#!/usr/bin/env bash
# Checks one NVIDIA GPU in less than ten minutes: bfloat16, cuDNN attention, and the
# share of its peak that a training step reaches. Arguments go to the check; `--dry`
# runs everything on a CPU with tiny sizes. A Python that has jax already, such as that
# of a container, is used as it is.
set -euo pipefail
cd "$(dirname "$0")/.."
python="${ROUTEJAX_PYTHON:-python3}"
needed="import absl, flax, jax, jaxtyping, optax, safetensors"
if ! "$python" -c "$needed" 2>/dev/null; then
    case " $* " in *" --dry "*) extra="" ;; *) extra="cuda" ;; esac
    source launch/environment.sh
    python=python
fi
exec "$python" -m tests.benchmarks.gpu_check "$@"
