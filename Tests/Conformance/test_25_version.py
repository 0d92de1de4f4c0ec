"""The server's version, and what it says about itself."""

import os
import subprocess

from support.accounts import refused
from support.api import API
from support.openapi import OpenAPI
from support.room import Room

DOCUMENT = OpenAPI("openapi.yaml")
[OPERATION] = [each for each in DOCUMENT.operations if each.path == "/v1/server"]


async def test_the_version_is_told_by_the_command_and_by_a_metric(server):
    said = subprocess.run([os.environ["PRESENCED"], "--version"], capture_output=True, text=True, check=True).stdout
    name, version = said.split()
    assert name == "presenced" and version[0].isdigit()
    page = (await API(server).request("GET", "/metrics")).body
    assert f'presence_build_info{{version="{version}"}} 1\n' in page


async def described(server):
    """The answer to anyone."""
    answer = await API(server).request("GET", "/v1/server")
    assert answer.status == 200, answer
    DOCUMENT.check("GET", answer, OPERATION.responses[200], "GET /v1/server")
    return answer.json


async def test_a_server_describes_what_it_has(server):
    room = Room(server)
    found = await described(server)
    version = (await room.api.request("GET", "/metrics")).body.split('presence_build_info{version="')[1].split('"')[0]
    assert found["version"] == version
    assert found["features"] == ["typing", "messages", "notifications", "contactRequests", "reports"]
    assert found["signIn"] == {"password": False} and found["push"] == {"platforms": []}
    ana = await room.come("ana")
    assert found["limits"] == ana.connected["limits"]
    # A token changes nothing, a wrong one neither.
    for token in (room.token("ana"), room.backend, "none"):
        assert (await room.api.request("GET", "/v1/server", token=token)).json == found


EVERYTHING = {"notifications.kinds": [{"kind": "order", "name": "Orders"}], "accounts.enabled": True, "attachments.enabled": True, "history.enabled": True, "app.enabled": True}


async def test_a_server_with_everything_describes_it_as_in_the_document(start):
    [example] = [value for place, _, _, value in DOCUMENT.examples() if "v1~1server/" in place]
    assert await described(start(EVERYTHING)) == example


async def test_limits_are_those_of_the_configuration(start):
    server = start(EVERYTHING | {"attachments.maxBytes": 4_096, "limits.subscriptions": 7_777})
    limits = (await described(server))["limits"]
    assert limits["attachmentBytes"] == 4_096 and limits["subscriptions"] == 7_777


async def test_features_that_are_switched_off_are_not_described(start):
    found = await described(start({"disabledFeatures": ["typing", "messages", "attachments"], "attachments.enabled": True}))
    assert found["features"] == ["notifications", "contactRequests", "reports"] and "attachmentBytes" not in found["limits"]


async def test_an_address_may_not_ask_too_often(start):
    api = API(start({"limit_loopback": True, "user_requests_per_second": 1, "user_request_burst": 5}, shards=1))
    answers = [await api.request("GET", "/v1/server") for _ in range(10)]
    slowed = next(answer for answer in answers if answer.status == 429)
    DOCUMENT.check("GET", slowed, OPERATION.responses[429], "GET /v1/server")
    assert refused(slowed, 429, "rate_limited") and int(slowed.headers["Retry-After"]) >= 1
