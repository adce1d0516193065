#!/usr/bin/env bash
# Makes the environment and passes the tests. Arguments go to pytest.
set -euo pipefail
cd "$(dirname "$0")/.."
extra="test" source launch/environment.sh
ruff check . && ruff format --check . && pyright
exec python -m pytest "$@"
