# Sourced by the other scripts: makes .venv once, renews it when pyproject.toml changes or
# an extra is asked for the first time, and activates it. The caller sets `extra`, since
# a sourced script without arguments would see the caller's. ROUTEJAX_PYTHON names the
# Python to use.
python="${ROUTEJAX_PYTHON:-python3}"
version="$("$python" --version 2>/dev/null)" || {
    echo "There is no Python called $python. Install Python 3.11 or newer, or set" \
         "ROUTEJAX_PYTHON to one." >&2
    exit 2
}
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
    echo "routejax needs Python 3.11 or newer; $python is $version." \
         "Set ROUTEJAX_PYTHON to a newer one." >&2
    exit 2
}
stamp=".venv/routejax-${extra:-base}"
wanted="$version $(cksum < pyproject.toml)"
if [ "$(cat "$stamp" 2>/dev/null || true)" != "$wanted" ]; then
    echo "Making the environment in .venv (about a minute) ..."
    if [ "$(.venv/bin/python --version 2>/dev/null || true)" != "$version" ]; then
        rm -rf .venv  # of another Python, which venv would keep
    fi
    "$python" -m venv .venv
    .venv/bin/python -m pip install --quiet --disable-pip-version-check uv
    .venv/bin/uv pip install --quiet --python .venv/bin/python -e ".${extra:+[$extra]}"
    echo "$wanted" > "$stamp"
fi
# shellcheck source=/dev/null
source .venv/bin/activate
