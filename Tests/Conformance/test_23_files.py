"""Full or closed outputs, invalid files, and files that have disappeared."""

import asyncio
import json
import os
import shutil
import signal
import subprocess

import pytest

from support.patience import eventually
from support.room import Room
from support.server import BINARY, run
from test_17_tokens import Key, is_let_in, replace


def status_of(*arguments, output):
    """The exit status of a command whose standard output is a full disk, or closed."""
    command = [BINARY, *arguments]
    shell = " ".join(f"'{word}'" for word in command) + (" >/dev/full" if output == "full" else " >&-")
    made = subprocess.run(["sh", "-c", shell], capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
    return made.returncode, made.stderr


@pytest.mark.parametrize("output", ["full", "closed"])
async def test_an_output_that_is_lost_is_no_success(start, output):
    server = start({"linger": 500, "lease": 1000, "renewal": 100, "sweep": 50})
    for arguments in (["token", "ana", "--data-dir", server.directory],
                      ["doctor", "--data-dir", server.directory], ["doctor", "--data-dir", server.directory, "--json"],
                      ["--help"], ["token", "--help"], ["serve", "--help"]):
        status, errors = status_of(*arguments, output=output)
        assert status == 74, (arguments, status, errors)
    assert "standard output" in status_of("token", "ana", "--data-dir", server.directory, output=output)[1]
    assert run("--help").returncode == 0 and run("token", "--help").stdout


async def test_keys_that_are_a_pipe_are_refused_at_the_start(tmp_path):
    pipe = str(tmp_path / "keys.json")
    os.mkfifo(pipe)
    with_pipe = subprocess.run(
        [BINARY, "serve", "--port", "0", "--data-dir", str(tmp_path / "data")], capture_output=True, text=True,
        timeout=30, env=os.environ | {"PRESENCE_AUTH_JWKS_FILE": pipe})
    assert with_pipe.returncode == 78 and "no regular file" in with_pipe.stderr


async def test_a_reload_of_a_pipe_changes_nothing_and_does_not_block_the_server(start, tmp_path):
    key = Key(str(tmp_path), "one")
    file = os.path.join(tmp_path, "jwks.json")
    replace(file, json.dumps({"keys": [key.jwk]}))
    server = start({"jwks_file": file, "key_check": 0})
    room = Room(server)
    os.remove(file)
    os.mkfifo(file)
    for times in (1, 2, 3):
        server.send_signal(signal.SIGHUP)
        await eventually(lambda: server.logged().count("keys not read anew") >= times, "told")
    assert "no regular file" in server.logged()
    assert await is_let_in(room, key.token("ana"))
    assert server.stop(within=10) == 0


async def test_a_set_with_keys_for_other_purposes_verifies_nothing_by_them(start, tmp_path):
    good, other, encrypting = (Key(str(tmp_path), kid) for kid in ("good", "other", "enc"))
    file = os.path.join(tmp_path, "jwks.json")
    without_use = {name: value for name, value in other.jwk.items() if name != "use"}
    replace(file, json.dumps({"keys": [
        good.jwk | {"key_ops": ["verify"]}, without_use | {"key_ops": ["encrypt"]},
        encrypting.jwk | {"use": "enc"}]}))
    room = Room(start({"jwks_file": file}))
    assert await is_let_in(room, good.token("ana"))
    assert not await is_let_in(room, other.token("ana"))
    assert not await is_let_in(room, encrypting.token("ana"))


async def test_a_server_that_is_stopped_while_it_reads_keys_starts_no_redis(tmp_path):
    # Enough keys for a noticeable reading time.
    jwk = Key(str(tmp_path), "one").jwk
    replace(str(tmp_path / "jwks.json"), json.dumps({"keys": [jwk | {"kid": f"k{n}"} for n in range(8_000)]}))
    data = str(tmp_path / "data")
    process = subprocess.Popen(
        [BINARY, "serve", "--port", "0", "--data-dir", data], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=os.environ | {"PRESENCE_AUTH_JWKS_FILE": str(tmp_path / "jwks.json")})
    # The secret is made right before the keys are read.
    await eventually(lambda: os.path.exists(os.path.join(data, "secret")), "a secret")
    process.send_signal(signal.SIGTERM)
    output, errors = await asyncio.to_thread(process.communicate, None, 30)
    assert process.returncode == 0 and output == "", errors
    assert not os.path.exists(os.path.join(data, "redis.log")), errors


async def test_a_missing_data_directory_is_named_and_readiness_fails(start):
    server = start({})
    room = Room(server)
    assert (await room.api.request("GET", "/readyz")).status == 200
    child = server.redis_child
    moved = server.directory + "-moved"
    shutil.move(server.directory, moved)
    try:
        os.kill(child, signal.SIGKILL)

        async def unready():
            return (await room.api.request("GET", "/readyz")).status == 503
        await eventually(unready, "503")
        log = os.path.join(moved, "server.log")
        await eventually(lambda: f"the data directory {server.directory} does not exist" in open(log).read(), "its name")
        assert "setpriv cannot be started" not in open(log).read()
    finally:
        shutil.move(moved, server.directory)
    # The directory exists again, and so does Redis.

    async def ready():
        return (await room.api.request("GET", "/readyz")).status == 200
    await eventually(ready, "200")
    assert server.stop() == 0
