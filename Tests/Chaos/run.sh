#!/bin/sh
# The chaos lane: three servers on one Redis and hundreds of clients, under every fault that can be caused.
#
#   PRESENCED=.build/debug/presenced Tests/Chaos/run.sh [--seconds N] [--seed N]
#
# CROWD names the program with the clients of PresenceKit (beside PRESENCED); SLACK is the seconds that a machine under
# load may add to a bound (1.5).
set -eu

if [ -z "${PRESENCED:-}" ]; then
    echo "set PRESENCED to the path of the presenced binary" >&2
    exit 2
fi
PRESENCED=$(realpath "$PRESENCED")
export PRESENCED PYTHONDONTWRITEBYTECODE=1
cd "$(dirname "$0")"

if ! /usr/bin/python3 -c 'import websockets, PIL' 2>/dev/null; then
    echo "needs the Debian packages python3-websockets and python3-pil" >&2
    exit 2
fi
# Private mounts, if permitted, so that none is left behind.
if unshare -m true 2>/dev/null; then
    exec unshare -m /usr/bin/python3 chaos.py "$@"
fi
exec /usr/bin/python3 chaos.py "$@"
