"""The command: its output, its errors, and that it leaves nothing behind."""

import asyncio
import json
import os
import signal
import socket
import stat
import subprocess
import threading
import time

import pytest

from support import settings
from support.api import API
from support.deployments import wait_until
from support.processes import find, gone, sweep
from support.room import Room
from support.server import BINARY, run
from support.tokens import decode


@pytest.fixture
def directory(tmp_path):
    yield str(tmp_path)
    sweep(str(tmp_path))


def test_it_prints_one_line_and_nothing_else(server):
    assert server.lines == [f"listening on {server.url}"]
    assert server.url.endswith("/v1/ws")


def test_a_token_is_all_that_the_token_command_prints(server):
    made = run("token", "ana", "--data-dir", server.directory, "--expires", "3s")
    assert made.returncode == 0 and made.stdout.count("\n") == 1 and made.stdout.count(".") == 2


def test_a_token_has_what_was_asked_for(server):
    def claims(*arguments):
        return json.loads(decode(server.cli_token(*arguments).split(".")[1]))
    made = claims("ana", "--expires", "3s")
    assert made["sub"] == "ana" and 0 < made["exp"] - time.time() <= 4
    assert claims("push", "--role", "backend")["role"] == "backend"
    assert claims("ana", "--expires", "24h")["exp"] - time.time() > 86_000


@pytest.mark.parametrize("user", ["", "a b", "jos\u00e9", "x" * 129, "a\nb"], ids=ascii)
def test_a_token_for_an_id_that_is_not_printable_ascii_is_refused(server, user):
    made = run("token", "--data-dir", server.directory, "--", user)
    assert made.returncode != 0 and made.stdout == "" and made.stderr


def test_the_secret_is_readable_by_its_owner_alone(server):
    assert stat.S_IMODE(os.stat(server.mint.secret_path).st_mode) == 0o600


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_no_process_is_left_behind_after_a_signal(number, start):
    server = start({}, shards=2)
    assert find(server.directory) and server.redis_child
    assert server.stop(number) == 0
    assert gone(server.directory, within=5) == []


def test_ctrl_c_does_not_reach_the_redis_first(start):
    """The child has a process group of its own."""
    server = start({})
    assert os.getpgid(server.redis_child) != os.getpgid(server.process.pid)
    os.killpg(server.process.pid, signal.SIGINT)
    assert server.process.wait(timeout=20) == 0
    assert gone(server.directory, within=5) == []


def test_two_signals_are_no_worse_than_one(start):
    server = start({})
    server.send_signal(signal.SIGTERM)
    server.send_signal(signal.SIGINT)
    server.process.wait(timeout=20)
    assert gone(server.directory, within=5) == []


def test_no_process_is_left_behind_after_a_kill_and_a_restart(start):
    server = start({})
    server.kill()
    server.start()
    assert len([process for process in find(server.directory) if process != server.process.pid]) == 1
    assert server.stop() == 0
    assert gone(server.directory, within=5) == []


def test_no_process_is_left_behind_by_a_start_that_fails(directory):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        failed = run("serve", "--host", "127.0.0.1", "--port", str(taken.getsockname()[1]), "--data-dir", directory)
    assert failed.returncode != 0 and failed.stdout == ""
    assert gone(directory, within=5) == []


def test_the_port_is_refused_when_another_server_holds_it(server, directory):
    failed = run("serve", "--port", str(server.port), "--data-dir", directory)
    assert failed.returncode != 0 and str(server.port) in failed.stderr, failed.stderr
    assert gone(directory, within=5) == []


def test_a_second_server_on_a_directory_with_a_redis_of_its_own_is_refused(server):
    failed = run("serve", "--port", "0", "--data-dir", server.directory)
    assert failed.returncode != 0 and server.directory in failed.stderr, failed.stderr
    assert server.process.poll() is None and server.redis_child


@pytest.mark.parametrize("arguments", [
    ["--prot", "0"], ["--port", "many"], ["--port", "70000"], ["--shards", "0"], ["--shards", "x"], ["nonsense"],
    ["--redis", "http://localhost"], ["--config", "/nowhere/at-all.yaml"]], ids=" ".join)
def test_a_misspelled_flag_or_a_bad_value_is_an_error_that_names_it(arguments, directory):
    failed = run("serve", "--data-dir", directory, *arguments)
    assert failed.returncode != 0 and failed.stdout == ""
    assert arguments[-1] in failed.stderr or arguments[0] in failed.stderr, failed.stderr
    assert gone(directory, within=5) == []


@pytest.mark.parametrize("line,named", [
    ("lingre: 1000", "lingre"), ("heartbeat:\n  intervall: 1000", "intervall"), ("linger: soon", "linger"),
    ("linger: -1", "linger"), ("heartbeat: 7", "heartbeat"), ("linger: [1]", "linger"), (": :", "")])
def test_an_unknown_key_or_a_bad_value_is_an_error_that_names_it(line, named, directory):
    config = os.path.join(directory, "presenced.yaml")
    with open(config, "w") as file:
        file.write(line + "\n")
    failed = run("serve", "--port", "0", "--data-dir", directory, "--config", config)
    assert failed.returncode != 0 and failed.stdout == ""
    assert named in failed.stderr, failed.stderr
    assert gone(directory, within=5) == []


def test_a_lease_is_never_shorter_than_linger(directory):
    config = os.path.join(directory, "presenced.yaml")
    with open(config, "w") as file:
        file.write(settings.text({"linger": 5_000, "lease": 4_000, "renewal": 500}))
    failed = run("serve", "--port", "0", "--data-dir", directory, "--config", config)
    assert failed.returncode != 0 and "lease" in failed.stderr


def test_a_redis_that_is_not_there_is_a_clear_error_or_waited_for(directory):
    process = subprocess.Popen([BINARY, "serve", "--port", "0", "--data-dir", directory, "--redis",
                                "redis://127.0.0.1:1"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        _, complaint = process.communicate(timeout=3)
        assert process.returncode != 0 and complaint
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=10)
    finally:
        process.kill()
    assert gone(directory, within=5) == []


def test_a_waiting_start_logs_its_reason_again(directory):
    process = subprocess.Popen([BINARY, "serve", "--port", "0", "--shards", "1", "--data-dir", directory, "--redis",
                                "redis://127.0.0.1:1"], stderr=subprocess.PIPE, text=True)
    killer = threading.Timer(60, process.kill)
    killer.start()
    try:
        said = {}
        for line in process.stderr:
            if "waiting for Redis" in line:
                reason = line.partition("reason=")[2]
                said[reason] = said.get(reason, 0) + 1
                if max(said.values()) == 2:
                    break
        assert max(said.values(), default=0) == 2, said
    finally:
        killer.cancel()
        process.kill()
        process.communicate()


def test_settings_that_cannot_be_used_are_said_at_the_start(start):
    server = start({"app.enabled": True})
    assert "app.enabled is on and accounts.enabled is off" in server.whole_log()
    missing = server.directory + "/missing/files"
    other = start({"accounts.enabled": True, "attachments.enabled": True, "app.enabled": True, "photos.folder": missing,
                   "attachments.folder": "/dev/null"})
    for line in (f"pictures cannot be kept reason=the folder {os.path.dirname(missing)} cannot be used: No such file or directory",
                 "attachments cannot be kept reason=the folder /dev/null cannot be used: Not a directory"):
        wait_until(lambda: line in other.whole_log().replace('"', "").replace(" count=1", ""), line)
    assert "app.enabled" not in other.whole_log()
    usual = start({"accounts.enabled": True, "attachments.enabled": True})
    usual.stop()
    assert "cannot be kept" not in usual.whole_log()


def test_invalid_lifetimes_and_paths_are_errors(directory):
    for lifetime in ("0s", "999999999d", "99999999999999999999d", "soon"):
        failed = run("token", "ana", "--data-dir", directory, "--expires", lifetime)
        assert failed.returncode == 64 and "from 1ms to 36500d" in failed.stderr, failed
    assert run("token", "ana", "--data-dir", directory, "--expires", "36500d").returncode == 0
    assert run("mail", "--data-dir", directory).returncode == 0
    failed = run("mail", "--data-dir", directory + "/nowhere")
    assert (failed.returncode, failed.stdout) == (1, "") and "nowhere" in failed.stderr and "No such file" in failed.stderr


def test_a_kept_secret_makes_tokens_hold_over_a_restart(start):
    server = start({})
    token = server.mint.token("ana")
    server.stop()
    server.start()
    answer = asyncio.run(API(server).request("GET", "/v1/users/ana", token=token))
    assert answer.status == 200


def test_no_token_is_ever_logged(server):
    async def be_seen():
        room = Room(server)
        token = room.token("ana")
        client = await room.socket(extra_headers={"Authorization": f"Bearer {token}"})
        await client.connect()
        await client.ask("refresh", token="bad.bad.bad")
        await room.api.request("GET", "/v1/users/ana", token=token)
        await room.api.request("GET", f"/v1/users/ana?token={token}")
        room.leave()
        return token
    token = asyncio.run(be_seen())
    assert token.split(".")[2] not in server.logged()
