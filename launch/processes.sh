#!/usr/bin/env bash
# Runs the main job on this machine in N processes, each of which sees one GPU: N, then
# arguments of routejax.train. With --dry-run before N it prints their commands. A Python
# that has jax already is used as it is (ROUTEJAX_PYTHON), else the environment is made.
# A signal goes to all; with 75 they have saved and the same command goes on.
set -euo pipefail
cd "$(dirname "$0")/.."
source launch/commands.sh
dry=""
if [ "${1:-}" = --dry-run ]; then dry=1 && shift; fi
if ! [[ "${1:-}" =~ ^[1-9][0-9]*$ ]]; then
    echo "usage: bash launch/processes.sh [--dry-run] N [arguments of routejax.train]" >&2
    exit 2
fi
total="$1"
shift
python="${ROUTEJAX_PYTHON:-python3}"
if ! "$python" -c "import flax, grain, jax, optax, orbax.checkpoint" 2>/dev/null; then
    extra="cuda" run source launch/environment.sh
    python=python
fi
if [ -n "$dry" ]; then port=PORT; else port="$("$python" -c \
    'import socket; s = socket.socket(); s.bind(("", 0)); print(s.getsockname()[1])')"; fi
of_all=("--coordinator=127.0.0.1:$port" "--processes=$total")
started=()
trap 'kill -TERM "${started[@]}" 2>/dev/null || true' TERM INT
for ((number = 0; number < total; number++)); do
    command=(env "CUDA_VISIBLE_DEVICES=$number" "$python" -m routejax.train "$@"
        "${of_all[@]}" "--process=$number")
    if [ -n "$dry" ]; then
        run "${command[@]}"
    else
        "${command[@]}" &
        started+=("$!")
    fi
done
# The first that did not end well decides.
first=0
for process in "${started[@]}"; do
    status=0
    ended "$process" || status="$?"
    if [ "$first" -eq 0 ]; then first="$status"; fi
done
exit "$first"
