"""docs/openapi.yaml compared with a server, in both directions."""

import asyncio
import contextlib
import itertools
import json
import os
import re
from unittest import mock

import pytest
from jsonschema import Draft202012Validator

from support.api import Answer, path
from support.documents import DOCS, Document
from support.openapi import STRUCTURE, OpenAPI
from support.patience import PATIENCE, eventually
from support.raw import RawSocket
from support.redis import Redis
from support.room import Room
from support.server import Server, run

DOCUMENT = OpenAPI("openapi.yaml")
ALL = DOCUMENT.operations
ELSEWHERE = {"accounts", "messages", "notifications", "history", "console", "server", "safety"}
OPERATIONS = [operation for operation in ALL if not ELSEWHERE & set(operation.node["tags"])]
"""Other tests check the responses of these tags: test_25, test_26, test_27, test_29 to test_31, test_36 to test_43."""
DOCUMENTED = [(operation, status) for operation in OPERATIONS for status in operation.responses]
IN_PLACE = {"/v1/users/{id}": "bob", "/v1/conversations/{id}": "c1"}
"""The users in the examples."""

# The document itself


def test_it_is_openapi():
    errors = Draft202012Validator(STRUCTURE).iter_errors(DOCUMENT.root)
    faults = [f"{error.json_path}: {error.message}" for error in errors]
    assert not faults, "\n".join(faults)


def test_its_references_lead_somewhere_and_all_its_components_are_used():
    assert not list(DOCUMENT.dangling())
    used = {node["$ref"] for _, node in DOCUMENT.nodes() if isinstance(node, dict) and "$ref" in node}
    for kind in ("parameters", "schemas"):
        for name in DOCUMENT.root["components"][kind]:
            assert f"#/components/{kind}/{name}" in used, f"{kind}/{name} is not used"
    said = DOCUMENT.root["info"]["description"]
    for name in DOCUMENT.root["components"]["responses"]:
        assert f"#/components/responses/{name}" in used or f"`{name}`" in said, f"responses/{name} is not used"


def test_its_schemas_are_json_schema():
    for place, schema in DOCUMENT.schemas():
        try:
            Draft202012Validator.check_schema(schema)
        except Exception as fault:
            raise AssertionError(f"{place}: {fault}") from None


def test_its_operations_have_names_of_their_own_and_name_all_that_is_in_their_paths():
    names = [operation.name for operation in ALL]
    assert len(names) == len(set(names)), names
    tags = {tag["name"] for tag in DOCUMENT.root["tags"]}
    for operation in ALL:
        in_path = {each["name"] for each in operation.parameters if each["in"] == "path"}
        assert in_path == set(re.findall(r"\{([a-z]+)\}", operation.path)), operation
        assert set(operation.node["tags"]) <= tags, operation
        for security in operation.node.get("security", ()):
            assert security.keys() <= DOCUMENT.root["components"]["securitySchemes"].keys(), operation


@pytest.mark.parametrize("example", DOCUMENT.examples(), ids=lambda example: example[0].split("/", 2)[2])
def test_its_examples_are_what_its_schemas_describe(example):
    _, _, schema, value = example
    assert not list(DOCUMENT.faults(value, schema))


def test_it_has_the_paths_that_the_server_knows():
    """Every path in the source is in the document, which requests alone could not show."""
    files = [os.path.join(folder, name) for folder, _, names in os.walk(os.path.join(DOCS, "..", "Sources"))
             for name in names]
    texts = [open(file, encoding="utf-8").read() for file in files if file.endswith(".swift")]
    found = [route for text in texts
             for route in re.findall(r'\b(?:route|upload)\(\s*"([A-Z]+)", "([^"]+)"', text)]
    # In the document, path parameters have other names.
    routes = {(method, re.sub(r"\{[a-z]+\}", "{}", path)) for method, path in found}
    assert len(routes) > 10
    documented = {(operation.method, re.sub(r"\{[a-z]+\}", "{}", operation.path)) for operation in ALL}
    assert routes <= documented
    assert {path for _, path in documented - routes} == {"/healthz", "/readyz", "/metrics", "/v1/ws"}


def test_its_error_is_the_websockets():
    socket = Document("asyncapi.yaml").root["components"]["messages"]["ServerError"]["payload"]
    error = DOCUMENT.root["components"]["schemas"]["Error"]
    assert set(error["required"]) == set(socket["required"])
    assert error["properties"].keys() == socket["properties"].keys() - {"id"}


# A server for all requests


class Stage:
    """A server with the users of the examples, and requests to it, each answer of which is checked."""

    def __init__(self, redis):
        # Short, because the tests wait for a lost store.
        # A small burst, because the tests exceed it.
        settings = {"COMMAND_TIMEOUT": "500ms", "STALE_AFTER": "500ms", "LEASE_RENEWAL": "200ms",
                    "LIMITS_USER_REQUEST_BURST": "60", "LIMITS_USER_REQUESTS_PER_SECOND": "20"}
        with mock.patch.dict(os.environ, {f"PRESENCE_{name}": value for name, value in settings.items()}):
            self.server = Server(redis=redis, shards=1)
        self.redis = redis
        self.room = Room(self.server)
        mint = self.server.mint
        self.backend, self.user = mint.token("shop", role="backend"), mint.token("ana")
        self.expired = mint.token("shop", role="backend", expires=-5)

    async def come(self, user, *kinds):
        clients = []
        for kind in kinds:
            client = await self.room.socket()
            clients.append(await client.connect(self.server.mint.token(user), device={"id": kind, "kind": kind}))
        return clients

    def place(self, operation, id=None):
        if id is None:
            id = next((each for start, each in IN_PLACE.items() if operation.path.startswith(start)), "")
        return operation.path.replace("{id}", id)

    def token(self, operation):
        return self.backend if operation.needs_token else None

    async def ask(self, operation, body=None, id=None, headers=None, **options):
        """Sends a request of an operation; the answer must match the document."""
        token = options.get("token", self.token(operation))
        place = self.place(operation, id)
        answer = await self.room.api.request(operation.method, place, body, token=token, headers=headers)
        return self.checked(operation, answer, f"{operation.method} {place} {body!r:.80} token {str(token)[-8:]}")

    async def ask_by_hand(self, operation, *headers, **options):
        """The same with exactly these headers in addition to the token."""
        head = [f"{operation.method} {self.place(operation)} HTTP/1.1", "Host: x", *headers]
        if token := options.get("token", self.token(operation)):
            head.append(f"Authorization: Bearer {token}")
        answer = await self.exchange(("\r\n".join(head) + "\r\n\r\n").encode())
        return self.checked(operation, answer, f"{operation} {headers}")

    async def exchange(self, request, answers=1):
        """The last of the answers to some bytes."""
        raw = await RawSocket(self.server).dial()
        try:
            await raw.write(request)
            for _ in range(answers):
                head = (await asyncio.wait_for(raw.reader.readuntil(b"\r\n\r\n"), PATIENCE)).decode("latin-1")
                first, *lines = head.rstrip("\r\n").split("\r\n")
                headers = Headers(line.split(": ", 1) for line in lines)
                length = 0 if request.startswith(b"HEAD") else int(headers.get("Content-Length", 0))
                body = await asyncio.wait_for(raw.reader.readexactly(length), PATIENCE)
            return Answer(int(first.split()[1]), headers, body.decode())
        finally:
            raw.abort()

    def checked(self, operation, answer, what):
        assert answer.status in operation.responses, f"{what}: {answer.status} is not documented: {answer}"
        DOCUMENT.check(operation.method, answer, operation.responses[answer.status], what)
        return answer

    @contextlib.contextmanager
    def without_redis(self):
        self.redis.stop()
        try:
            yield
        finally:
            self.redis.go_on()

    async def ready(self):
        return (await self.room.api.request("GET", "/readyz")).status == 200

    def close(self):
        self.server.close()
        self.redis.close()


class Headers(dict):
    """Header names do not distinguish capitals."""

    def get(self, name, default=None):
        return next((value for other, value in self.items() if other.lower() == name.lower()), default)


@pytest.fixture(scope="module")
def stage():
    stage = Stage(Redis())
    yield stage
    stage.close()


def named(name):
    return next(operation for operation in OPERATIONS if operation.name == name)


# Each function causes a status and returns the answers that must have it.


async def succeeding(stage, operation):
    return [await stage.ask(operation, body) for body in operation.requests]


NO_IDS = ["", "a%20b", "x" * 129, "jos%C3%A9", "%0A", "%00", "%zz", "%"]


async def with_bad_ids(stage, operation):
    if "{id}" in operation.path:
        return [await stage.ask(operation, operation.requests[0], id=id) for id in NO_IDS]
    return []


async def malformed(stage, operation):
    answers = await with_bad_ids(stage, operation)
    if "requestBody" in operation.node:
        member = {"updateProfile": "displayName", "getUsers": "users", "setVisibility": "presence",
                  "changeContacts": "add", "changeBlocks": "add"}.get(operation.name, "participants")
        bodies = [b"", b"[]", b"\xff", b'{"a":' * 50 + b"1" + b"}" * 50, {member: 5}, {}, {"other": 1}]
        answers += [await stage.ask(operation, body) for body in bodies]
    if 411 in operation.responses:
        answers.append(await stage.ask_by_hand(operation, "Content-Length: three"))
    return answers


async def with_bad_upgrades(stage, operation):
    wrong = [{"Connection": None}, {"Sec_WebSocket_Key": "short"}, {"Sec_WebSocket_Protocol": "chess"}]
    return [await upgrade(stage, operation, **headers) for headers in wrong]


async def upgrade(stage, operation, **headers):
    headers = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec_WebSocket_Version": "13",
               "Sec_WebSocket_Key": "MTIzNDU2Nzg5MDEyMzQ1Ng=="} | headers
    return await stage.ask_by_hand(
        operation, *[f"{name.replace('_', '-')}: {value}" for name, value in headers.items() if value])


async def upgrading(stage, operation):
    offers = [None, "presence.v1", "chess, presence.v1"]
    return [await upgrade(stage, operation, Sec_WebSocket_Protocol=offer) for offer in offers]


async def not_upgrading(stage, operation):
    answers = [await stage.ask(operation)]
    if operation.method == "GET":
        answers.append(await upgrade(stage, operation, Sec_WebSocket_Version="8"))
    return answers


async def without_a_good_token(stage, operation):
    mint = stage.server.mint
    foreign = mint.token("shop", role="backend", secret=b"x" * 32)
    tokens = [None, "garbage", stage.expired, mint.unsigned("shop"), foreign]
    return [await stage.ask(operation, operation.requests[0], token=token) for token in tokens]


async def with_a_users_token(stage, operation):
    return [await stage.ask(operation, operation.requests[0], token=stage.user)]


async def too_fast(stage, operation):
    """More requests of one user at once than allowed."""
    token = stage.server.mint.token(f"hasty-{next(HASTY)}")
    while True:
        answers = await asyncio.gather(*[stage.ask(operation, operation.requests[0], token=token) for _ in range(90)])
        if hasty := [answer for answer in answers if answer.status != 200]:
            return hasty


HASTY = itertools.count()


async def from_elsewhere(stage, operation):
    return [await upgrade(stage, operation, Origin=origin) for origin in ("https://evil.example", "null")]


async def without_length(stage, operation):
    return [await stage.ask_by_hand(operation, "Transfer-Encoding: chunked")]


async def too_long(stage, operation):
    return [await stage.ask_by_hand(operation, f"Content-Length: {1_048_577}")]


OUT_OF_LISTS = [{"add": ["a b"]}, {"add": ["a"], "remove": ["a"]}, {"remove": [f"u{number}" for number in range(1_001)]}]
OUT_OF_BOUNDS = {
    "setVisibility": [{"lastSeen": "friends"}, {"presence": ""}, {"receipts": "contacts"}, {"findable": "friends"}], "changeContacts": OUT_OF_LISTS,
    "changeBlocks": OUT_OF_LISTS,
    "getUsers": [{"users": ["not an id"]}, {"users": [""]}, {"users": [f"u{number}" for number in range(1_001)]}],
    "setParticipants": [
        {"participants": ["ana"]}, {"participants": ["ana", "ana"]}, {"participants": ["ana", "b b"]},
        {"participants": [f"u{number}" for number in range(11)]}],
    "updateProfile": [
        {"displayName": None}, {"displayName": " "}, {"displayName": "x" * 51}, {"photoURL": "ftp://example.org/"},
        {"timezone": "Nowhere/Here"}, {"locale": "pt_BR"}, {"displayName": "Rob", "locale": ""}],
}


async def out_of_bounds(stage, operation):
    return [await stage.ask(operation, body) for body in OUT_OF_BOUNDS[operation.name]]


async def without_the_store(stage, operation):
    """Called twice: before the server knows about the break, and after. The requested data is not in its memory."""
    body = {"getUsers": {"users": ["stranger"]}}.get(operation.name, operation.requests[0])
    with stage.without_redis():
        answers = [await stage.ask(operation, body, id="stranger")] if operation.needs_token else []
        await eventually(lambda: not_ready(stage), "not ready")
        answers.append(await stage.ask(operation, body, id="stranger"))
    await eventually(stage.ready, "ready again", within=2 * PATIENCE)
    return answers


async def not_ready(stage):
    return not await stage.ready()


PROVOKING = {
    101: upgrading, 200: succeeding, 204: succeeding, 400: malformed, 401: without_a_good_token, 403: with_a_users_token,
    411: without_length, 413: too_long, 422: out_of_bounds, 429: too_fast, 426: not_upgrading, 503: without_the_store,
}


UPGRADING = {("socket", 400): with_bad_upgrades, ("socket", 403): from_elsewhere}


@pytest.mark.parametrize("operation,status", DOCUMENTED, ids=str)
async def test_every_documented_status_is_answered_as_documented(stage, operation, status):
    provoke = UPGRADING.get((operation.name, status)) or PROVOKING[status]
    answers = await provoke(stage, operation)
    assert answers, "nothing was asked"
    for answer in answers:
        assert answer.status == status, f"{answer} instead of {status}"


async def test_a_users_token_is_accepted_where_no_backend_is_required(stage):
    for operation in OPERATIONS:
        if operation.needs_token and not operation.needs_backend:
            answer = await stage.ask(operation, operation.requests[0], token=stage.user)
            assert answer.status == 200
        assert (403 in operation.responses) == (operation.needs_backend or operation.name == "socket"), operation
        assert (401 in operation.responses) == operation.needs_token, operation


IDS = ["bob", "a%2Fb", "a%25b", "x%2F..%2Fbob", "..", "%2E%2E", "", "%zz", "%00",
       "get", "%7E", "a%20b", "a+b", "%C3%A9", "x" * 128, "x" * 129, "profile"]
BODIES = [None, b"", b"{}", b"null", b"{", b'"x"', b'{"users":["a"]}', b'{"users":{}}', b'{"participants":["a","b"]}',
          b'{"participants":[]}', b'{"participants":["a",null]}', b'{"displayName":"Ann"}', b'{"displayName":""}',
          b'{"photoURL":7}', b'{"locale":"\\ud800"}', b'{"x":1}', b"\x00", b"[" * 40]


@pytest.mark.parametrize("operation", OPERATIONS, ids=str)
async def test_nothing_undocumented_is_ever_answered(stage, operation):
    ids = IDS if "{id}" in operation.path else [None]
    tokens = [stage.backend, stage.user, "garbage", None]
    for number, (id, body) in enumerate(itertools.product(ids, BODIES)):
        await stage.ask(operation, body, id=id, token=tokens[number % 3 if number % 5 else 3])


# Common to all paths


async def refused_by_hand(stage, method, place, component, *headers, rest=b""):
    request = "\r\n".join([f"{method} {place} HTTP/1.1", "Host: x", *headers]) + "\r\n\r\n"
    answer = await stage.exchange(request.encode() + rest)
    DOCUMENT.check(method, answer, DOCUMENT.component(component), f"{method} {place} {headers}")
    return answer


async def test_other_methods_are_refused_with_those_that_there_are(stage):
    for place in sorted({operation.path for operation in OPERATIONS}):
        place = place.replace("{id}", "a%2Fb")
        there = DOCUMENT.methods_at(place)
        there |= {"HEAD"} if "GET" in there else set()
        for method in ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"):
            if method in there:
                continue
            answer = await refused_by_hand(stage, method, place, "MethodNotAllowed", "Content-Length: 0")
            assert answer.status == 405, f"{method} {place}: {answer}"
            allowed = set(answer.headers.get("Allow").split(", "))
            assert allowed == there, f"{method} {place}: {allowed} instead of {there}"


@pytest.mark.parametrize("place", [
    "/", "/v1", "/v1/users", "/v1/conversations", "/v1/users/bob/nothing", "/v1/users/x/../bob",
    "//healthz", "/healthz/", "/metrics/x", "/v1/ws/x", "/v2/users/bob",
    "/openapi.yaml"])
async def test_other_paths_are_not_found(stage, place):
    assert not DOCUMENT.methods_at(place)
    for method in ("GET", "POST", "DELETE"):
        answer = await refused_by_hand(stage, method, place, "NotFound", "Content-Length: 0")
        assert answer.status == 404, f"{method} {place}: {answer}"


async def test_bodies_that_cannot_be_taken_are_refused_at_every_path(stage):
    for place in [*{stage.place(operation) for operation in OPERATIONS}, "/nowhere"]:
        for method in ("GET", "POST", "PATCH"):
            for header in ("Transfer-Encoding: gzip, chunked", "Transfer-Encoding: chunked\r\nContent-Length: 2"):
                answer = await refused_by_hand(stage, method, place, "BodyNotTaken", header)
                assert answer.status == 400
        for method in ("GET", "POST", "DELETE"):
            answer = await refused_by_hand(stage, method, place, "TooLarge", "Content-Length: 1048577")
            assert answer.status == 413
            answer = await refused_by_hand(stage, method, place, "BodyNotTaken", "Content-Length: -1")
            assert answer.status == 400


def test_operations_that_may_have_a_body_say_how_it_is_refused():
    for operation in OPERATIONS:
        may = operation.method in ("POST", "PUT", "PATCH")
        assert (413 in operation.responses) == may, operation
        # The size of an upload must be known in advance.
        assert (411 in operation.responses) == operation.is_upload, operation
        if may:
            assert may_be_said(operation, "BodyNotTaken"), operation


def test_operations_with_ids_say_how_a_bad_path_is_refused():
    for operation in OPERATIONS:
        if "{id}" in operation.path:
            assert may_be_said(operation, "BadPath") and may_be_said(operation, "BadID"), operation


def may_be_said(operation, component):
    """Whether a component's content is allowed by the operation's 400."""
    kind = "application/json"
    schema = operation.responses[400]["content"][kind]["schema"]
    examples = DOCUMENT.component(component)["content"][kind]["examples"].values()
    return not any(list(DOCUMENT.faults(example["value"], schema)) for example in examples)


@pytest.mark.parametrize("place", ["/%", "/%zz", "/v1/%2", "/v1/users/%zz", "/healthz%"])
async def test_a_percent_that_encodes_nothing_is_refused_at_every_path(stage, place):
    for method in ("GET", "POST", "DELETE"):
        answer = await refused_by_hand(stage, method, place, "BadPath", "Content-Length: 0")
        assert answer.status == 400, f"{method} {place}: {answer}"


async def test_a_body_sent_ahead_is_answered_in_its_turn(stage):
    assert (await sent_ahead(stage)).status == 401


async def sent_ahead(stage):
    """The answer to the second of two requests, both sent at once."""
    first = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
    second = b"POST /v1/users/get HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}"
    answer = await stage.exchange(first + second, answers=2)
    DOCUMENT.check("POST", answer, DOCUMENT.component("Unauthorized"), "sent ahead")
    return answer


@pytest.mark.parametrize("line", ["FOO /healthz HTTP/1.1", "hello", "\0"], ids=ascii)
async def test_malformed_http_ends_the_connection(stage, line):
    raw = await RawSocket(stage.server).dial()
    await raw.write(f"{line}\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
    said = await asyncio.wait_for(raw.reader.read(), PATIENCE)
    raw.abort()
    assert not said or 400 <= int(said.split(b" ")[1]) < 500, said


# The examples are accurate


def timeless(value):
    """The same without variable parts: times, versions derived from them, and the delays of rate limits."""
    if isinstance(value, dict):
        if value.get("code") == "rate_limited":
            value = value | {"retryAfter": "a while"}
        return {name: timeless(member) for name, member in value.items()}
    if isinstance(value, list):
        return [timeless(member) for member in value]
    return "a time" if type(value) is int and value > 1_000_000_000 else value


async def test_every_example_of_an_answer_is_what_the_server_answers(start):
    stage = Stage(start.redis())
    try:
        DOCUMENT.answered.clear()
        await tell_the_story(stage)
    finally:
        stage.server.close()
    answered = {json.dumps([kind, timeless(body)], sort_keys=True) for kind, body in DOCUMENT.answered}
    untrue = [place for place, kind, _, value in DOCUMENT.examples() if "/responses/" in place and not DOCUMENT.is_of(place, *ELSEWHERE)
              and json.dumps([kind, timeless(value)], sort_keys=True) not in answered]
    assert not untrue, "not answered so:\n" + "\n".join(untrue)


async def tell_the_story(stage):
    """The users in the examples: bob with two devices, cy who was online before, zed who is unknown."""
    bob, _ = await stage.come("bob", "desktop", "phone")
    cy, = await stage.come("cy", "web")
    await bob.status("busy", text="In a meeting")
    await cy.close()
    read, change, disconnect = named("getUser"), named("updateProfile"), named("disconnect")
    await stage.ask(change, {"displayName": "Bob Ray", "photoURL": "https://example.org/bob.jpg"})
    await eventually(lambda: has_status(stage, "cy", "offline"), "cy gone")
    for id in ("bob", "cy", "zed"):
        await stage.ask(read, id=id)
    place = ("--data-dir", stage.server.directory, "--redis", stage.redis.url)
    key = run("key", "create", "--name", "reader", "--scopes", "users:read", *place).stdout.strip()
    await stage.ask(change, {"displayName": "Bob"}, token=key)
    for operation in OPERATIONS:
        if operation.needs_token and operation.name not in ("getUser", "disconnect", "revokeTokens"):
            await succeeding(stage, operation)
        for status in operation.responses.keys() - {101, 200, 204, 503}:
            provoke = UPGRADING.get((operation.name, status)) or PROVOKING[status]
            await provoke(stage, operation)
    await stage.come("dan", "web")
    for id in ("dan", "zed"):
        await stage.ask(named("revokeTokens"), id=id)
    await stage.ask(disconnect)
    await stage.ask(disconnect, id="zed")
    await stage.ask(named("health"))
    await stage.ask(named("readiness"))
    await refused_by_hand(stage, "GET", "/nowhere", "NotFound")
    await refused_by_hand(stage, "GET", "/v1/users/zed/disconnect", "MethodNotAllowed")
    await refused_by_hand(stage, "GET", "/v1/users/%zz", "BadPath")
    await refused_by_hand(stage, "GET", "/v1/conversations/c1/participants", "MethodNotAllowed")
    await refused_by_hand(stage, "GET", "/healthz", "BodyNotTaken", "Content-Length: x")
    await sent_ahead(stage)
    with stage.without_redis():
        await stage.ask(change, {"displayName": "Bob"}, id="stranger")
        await eventually(lambda: not_ready(stage), "not ready")
        await stage.ask(named("readiness"))
        await stage.ask(change, {"displayName": "Bob"}, id="stranger")
        await stage.ask(read, id="stranger")


async def has_status(stage, user, status):
    answer = await stage.room.api.request("GET", path("users", user), token=stage.backend)
    return answer.json["presence"]["status"] == status
