#!/bin/sh
# The conformance suite: an independent client (Debian's python3-websockets) that knows only the protocol.
#
#   PRESENCED=.build/debug/presenced Tests/Conformance/run.sh [pytest's arguments, e.g. -k typing]
#
# With PRESENCE_REDIS_INTERESTS=true all servers publish changes only to watching shards (not in a cluster).
#
# It starts every server itself, on free ports and in temporary directories, and ends with pytest's summary and status.
# JOBS is the number of workers (four for each core: they mostly wait); conftest.py spreads the tests over them. For a
# machine under load: SLACK, the seconds that it may add to a bound of the protocol (1.5), and PATIENCE, the seconds that
# anything else may take (15).
set -eu

if [ -z "${PRESENCED:-}" ]; then
    echo "set PRESENCED to the path of the presenced binary" >&2
    exit 2
fi
PRESENCED=$(realpath "$PRESENCED")
export PRESENCED
cd "$(dirname "$0")"
# The compiled tests, shared by all workers and runs.
PYTHONPYCACHEPREFIX=$(realpath -m ../../.build/conformance)
export PYTHONPYCACHEPREFIX
unset PYTHONDONTWRITEBYTECODE

if ! /usr/bin/python3 -c 'import pytest, websockets, yaml, jsonschema, PIL, h2, cryptography' 2>/dev/null; then
    echo "needs the Debian packages python3-pytest, python3-websockets, python3-yaml, python3-jsonschema, python3-pil, python3-h2 and python3-cryptography" >&2
    exit 2
fi
parallel=""
if /usr/bin/python3 -c 'import xdist' 2>/dev/null; then
    # pytest compiles the tests once, instead of once for each worker.
    [ "${JOBS:-}" = 0 ] || /usr/bin/python3 -m pytest --collect-only -q "$@" >/dev/null 2>&1 || true
    parallel="-n ${JOBS:-$(($(nproc) * 4))} --dist loadgroup"
fi
exec /usr/bin/python3 -m pytest $parallel "$@"
