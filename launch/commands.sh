# shellcheck shell=bash
# Sourced by the other scripts: `run COMMAND…` does a command, or prints it, in a form
# that a shell takes, where the caller has set `dry`.
run() {
    if [ -n "${dry:-}" ]; then
        printf '%q ' "$@" | sed 's/ $//'
        echo
    else
        "$@"
    fi
}
