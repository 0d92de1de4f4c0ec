#!/usr/bin/env bash
# Starts a server and replays a chat on it: loadtest/replay.sh TRACE GRAPH [SPEED [any flag of presence-load replay]].
set -euo pipefail
if (($# < 2)); then
    echo "usage: loadtest/replay.sh TRACE GRAPH [SPEED [flags of presence-load replay]]" >&2
    exit 2
fi
# Before server.sh changes the directory.
trace="$(realpath "$1")"
graph="$(realpath "$2")"
speed="${3:-240}"
shift $(($# < 3 ? $# : 3))
source "$(dirname "${BASH_SOURCE[0]}")/server.sh"
start_server
load replay --trace "$trace" --graph "$graph" --speed "$speed" "$@"
