#!/usr/bin/env bash
# Every scenario at a size that fits ten minutes together, then one report: loadtest/all.sh [DIR] (loadtest/out).
#
#   LOADTEST_BIN     the folder of presenced and presence-load; without it they are built, in release mode
#   LOADTEST_GRAPH   an acquaintance graph, for churn and replay; LOADTEST_TRACE  a chat of them; LOADTEST_SPEED  its speed
#
# A failed scenario does not stop the others; the exit status reports it.
set -uo pipefail
out="$(realpath -m "${1:-"$(dirname "${BASH_SOURCE[0]}")/out"}")"
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if [[ -z "${LOADTEST_BIN:-}" ]]; then
    make build >&2 && swift build -c release -debug-info-format none --product presence-log >&2 || exit 1
    LOADTEST_BIN="$(swift build -c release --show-bin-path)"
fi
export LOADTEST_BIN

# The graph of examples/ has thirty people.
churn=(--rate 5)
chat=()
if [[ -n "${LOADTEST_GRAPH:-}" ]]; then
    churn=(--graph "$LOADTEST_GRAPH" --people 2000)
    chat+=(--graph "$LOADTEST_GRAPH")
fi
if [[ -n "${LOADTEST_TRACE:-}" ]]; then chat+=(--trace "$LOADTEST_TRACE"); fi
if [[ -n "${LOADTEST_SPEED:-}" ]]; then chat+=(--speed "$LOADTEST_SPEED"); fi

status=0
# Ctrl-C ends the running scenario and this script.
run() {
    loadtest/run "$1" --small --out "$out" "${@:2}" >&2
    local ended=$?
    ((ended < 128)) || exit "$ended"
    ((ended == 0)) || { status=1 && echo "$1 did not succeed; going on" >&2; }
    echo "---- $1 done after $SECONDS s" >&2
}
for scenario in idle connect fanout burst changes; do run "$scenario"; done
run churn "${churn[@]}"
for scenario in typing messages spread opening conversations pushes hook storm slow log workers accounts http million; do run "$scenario"; done
run replay "${chat[@]}"
loadtest/run report --out "$out" || status=1
exit "$status"
