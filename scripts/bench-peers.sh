#!/usr/bin/env bash
# Compares patra with dlt and Airbyte's CDK over one simulated source. They are installed
# from PyPI in a folder of their own (.cache/peers); nothing else on the machine is changed.
set -euo pipefail
cd "$(dirname "$0")/.."
PEERS=${PATRA_PEERS:-$PWD/.cache/peers}
if [ ! -x "$PEERS/bin/python" ]; then
  python3 -m venv "$PEERS"
fi
"$PEERS/bin/pip" install --quiet --disable-pip-version-check -r scripts/peers/requirements.txt
make --no-print-directory build >/dev/null
exec "$PEERS/bin/python" scripts/peers/compare.py "$PWD/bin/patra" "$PEERS/bin/python" "$@"
