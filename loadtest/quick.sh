#!/usr/bin/env bash
# The quick end-to-end run, less than a minute: everything is started, loaded and checked once. For CI.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/server.sh"
start_server
load fanout --watchers 200 --people 4 --changes 100 --server-pid "$server_pid"
load fanout --watchers 100 --people 32 --pending 32 --changes 320 --change name --server-pid "$server_pid"
load fanout --watchers 100 --people 4 --changes 400 --rate 200 --server-pid "$server_pid"
load replay --trace loadtest/examples/evening.csv --graph loadtest/examples/evening-graph.txt --speed 60 --lost 25
load demo --people 12 --pace 20 --duration 5 >/dev/null
echo "All of it held."
