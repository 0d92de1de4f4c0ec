# Sourced by the scripts here: builds what they need and runs a server of their own, on a free port, in a directory that
# goes away with it, whatever happens.
#
#   LOADTEST_BIN   where presenced and presence-load are; without it they are built, in release mode

cd "$(dirname "${BASH_SOURCE[0]}")/.."

if [[ -z "${LOADTEST_BIN:-}" ]]; then
    swift build -c release --product presenced >&2
    swift build -c release --product presence-load >&2
    LOADTEST_BIN="$(swift build -c release --show-bin-path)"
fi

server_pid=
server_directory=

# Starts a server with these further arguments; sets server_pid, server_directory and server_url.
start_server() {
    server_directory="$(mktemp -d "${TMPDIR:-/tmp}/presence-load.XXXXXX")"
    trap stop_server EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM
    mkfifo "$server_directory/says"
    "$LOADTEST_BIN/presenced" serve --port 0 --data-dir "$server_directory/data" "$@" \
        >"$server_directory/says" 2>"$server_directory/log" &
    server_pid=$!
    local line=
    exec 9<"$server_directory/says"
    if ! read -r -t 60 line <&9 || [[ "$line" != "listening on "* ]]; then
        echo "the server did not start; its log:" >&2
        cat "$server_directory/log" >&2
        exit 1
    fi
    server_url="${line#listening on }"
}

# Ends the server as an operator would, and by force if it does not go; shows its log if the script failed.
stop_server() {
    local status=$?
    trap - EXIT
    if [[ -n "$server_pid" ]] && kill -TERM "$server_pid" 2>/dev/null; then
        if ! timeout 20 tail --pid="$server_pid" -f /dev/null; then
            echo "the server did not end within 20 s" >&2
            kill -KILL "$server_pid"
            status=1
        fi
        wait "$server_pid" 2>/dev/null || true
    fi
    if ((status != 0)) && [[ -s "$server_directory/log" ]]; then
        echo "the end of the server's log:" >&2
        tail -n 20 "$server_directory/log" >&2
    fi
    rm -rf "$server_directory"
    exit "$status"
}

# presence-load SCENARIO against that server, with these further arguments.
load() {
    local scenario="$1"
    shift
    "$LOADTEST_BIN/presence-load" "$scenario" --url "$server_url" --data-dir "$server_directory/data" "$@"
}
