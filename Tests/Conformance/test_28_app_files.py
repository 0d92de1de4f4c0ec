"""The files of the app and of the library, as served: types, tags, compression, policies, size."""

import asyncio
import gzip
import http.client
import os
import re

from support.api import API
from support.app import EVERYTHING, app, title
from support.browser import WEB
from support.line import Line


async def test_files_have_types_tags_and_are_compressed(start):
    server = start(EVERYTHING)
    api = API(server)
    for path, type in {"/presence.js": "text/javascript", "/presence.d.ts": "text/plain", "/app": "text/html",
                       "/presence-messages.js": "text/javascript", "/presence-messages.d.ts": "text/plain",
                       "/presence-log.js": "text/javascript", "/presence-outbox.js": "text/javascript",
                       "/": "text/html", "/verify": "text/html", "/reset": "text/html", "/signin": "text/html", "/app/app.css": "text/css", "/app/app.js": "text/javascript",
                       "/app/icon.svg": "image/svg+xml"}.items():
        answer = await api.request("GET", path)
        assert answer.status == 200 and answer.headers["Content-Type"].split(";")[0] == type, (path, answer)
        assert answer.headers["X-Content-Type-Options"] == "nosniff" and answer.headers["Cache-Control"] == "no-cache"
        tag = answer.headers["ETag"]
        assert (await api.request("GET", path, headers={"If-Match": tag})).status == 200
        assert (await api.request("GET", path, headers={"If-Match": '"x"'})).status == 412
        again = await api.request("GET", path, headers={"If-None-Match": tag})
        assert again.status == 304 and not again.body, path
        head = await api.request("HEAD", path)
        assert head.status == 200 and not head.body and head.headers["ETag"] == tag
        assert head.headers["Content-Length"] == answer.headers["Content-Length"]
    with open(os.path.join(WEB, "minified", "presence.js")) as file:
        minified = file.read()
    assert (await api.request("GET", "/presence.js")).body == minified
    packed = await asyncio.to_thread(raw, server, "/presence.js")
    assert packed.headers["Content-Encoding"] == "gzip" and len(packed.content) < 18_000
    assert gzip.decompress(packed.content).decode() == minified
    assert packed.headers["Access-Control-Allow-Origin"] == "*"
    # Each form has its own tag.
    plain = await api.request("GET", "/presence.js")
    assert plain.headers["Vary"] == packed.headers["Vary"] == "Accept-Encoding" and "Content-Encoding" not in plain.headers
    assert packed.headers["ETag"] != plain.headers["ETag"] and not packed.headers["ETag"].startswith("W/")
    for tag, status in {packed.headers["ETag"]: 304, plain.headers["ETag"]: 200}.items():
        again = await asyncio.to_thread(raw, server, "/presence.js", {"If-None-Match": tag})
        assert (again.status, again.headers["Vary"]) == (status, "Accept-Encoding")
    part = await asyncio.to_thread(raw, server, "/presence.js", {"Range": "bytes=0-99"})
    assert part.status == 206 and part.content == packed.content[:100] and part.headers["Content-Encoding"] == "gzip"


def raw(server, path, headers={}):
    connection = http.client.HTTPConnection(server.host, server.port, timeout=60)
    connection.request("GET", path, headers={"Accept-Encoding": "gzip"} | headers)
    answer = connection.getresponse()
    answer.content = answer.read()
    connection.close()
    return answer


async def test_a_slash_at_the_end_leads_to_the_page(start):
    api = API(start(EVERYTHING | {"console.enabled": True}))
    for page in ("/app", "/console"):
        answer = await api.request("GET", page + "/")
        assert (answer.status, answer.headers["Location"]) == (302, page)


async def test_pages_keep_foreign_scripts_out(start):
    api = API(start(EVERYTHING))
    for path in ("/", "/app", "/verify", "/reset", "/signin"):
        answer = await api.request("GET", path)
        policy = dict(part.split(" ", 1) for part in answer.headers["Content-Security-Policy"].split("; "))
        assert policy["default-src"] == "'none'" and policy["script-src"] == "'self'" and policy["style-src"] == "'self'"
        assert policy["frame-ancestors"] == "'none'" and policy["base-uri"] == "'none'", policy
        assert not re.search(r"<style|style=|onclick|<script(?! type=\"module\" src=)", answer.body)
        assert answer.headers["Referrer-Policy"] == "no-referrer"


async def test_without_its_switch_there_is_the_library_and_no_app(start):
    api = API(start({}))
    assert (await api.request("GET", "/presence.js")).status == 200
    for path in ("/", "/app", "/app/app.js", "/verify", "/reset"):
        assert (await api.request("GET", path)).status == 404


async def test_all_of_it_is_small(start):
    """The size over the wire."""
    server = start(EVERYTHING | {"console.enabled": True})
    files = [os.path.relpath(os.path.join(folder, name), WEB) for folder, _, names in os.walk(WEB) for name in names
             # Documents about them, what makes them, and the package are not served.
             if not name.endswith((".md", "minify"))]
    files = [name for name in files if not name.startswith("package") and not (name.startswith("minified") and name.endswith(".js"))]
    places = ["/" + name.removesuffix("/index.html").removeprefix("minified/") for name in files]
    answers = [await asyncio.to_thread(raw, server, place) for place in places]
    assert len(files) > 30 and {answer.status for answer in answers} == {200}, places
    # Browsers read source maps only for a developer.
    total = sum(len(answer.content) for place, answer in zip(places, answers) if not place.endswith(".map"))
    print(f"{total} bytes")
    assert total <= 200 * 1_024


async def test_little_comes_before_somebody_signs_in(chromium, start):
    server = start(EVERYTHING)
    async with Line(server) as line, chromium:
        page = await app(chromium, line, expected=())
        await title(page, "Sign in")
        await page.run("await new Promise(requestIdleCallback)")
        paths = {url.removeprefix(line.origin) for _, url in page.requests}
        assert {"/app", "/app/app.js", "/presence.js"} <= paths and not {"/app/inside.js", "/app/worker.js"} & paths, paths
        total = 0
        for path in paths:
            total += len((await asyncio.to_thread(raw, server, path)).content)
        print(f"{total} bytes in {len(paths)} files")
        assert total <= 60 * 1_024
