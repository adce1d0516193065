# shellcheck shell=bash
# Sourced by the other scripts: `run COMMAND…` does a command, or prints it, in a form
# that a shell takes, where the caller has set `dry`; `ended PROCESS` is its exit status.
run() {
    if [ -n "${dry:-}" ]; then
        printf '%q ' "$@" | sed 's/ $//'
        echo
    else
        "$@"
    fi
}

# A signal that the caller traps ends a `wait`, so it is repeated while the process lives.
ended() {
    local status=0
    wait "$1" || status="$?"
    while [ "$status" -gt 128 ] && kill -0 "$1" 2>/dev/null; do
        status=0
        wait "$1" || status="$?"
    done
    return "$status"
}
