#!/usr/bin/env bash
# Starts a server and measures its fan-out: loadtest/fanout.sh [--watchers 10000] [any flag of presence-load fanout].
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/server.sh"
start_server
load fanout --server-pid "$server_pid" "$@"
