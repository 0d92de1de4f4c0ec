"""The package's hooks in a page with React and Vue themselves. Tests/Hooks/run fetches both; without it, this test is skipped."""

import http.server
import os
import threading

import pytest

from support.browser import WEB
from support.patience import eventually
from support.room import Room

FRAMEWORKS = os.environ.get("FRAMEWORKS")
pytestmark = pytest.mark.skipif(not FRAMEWORKS, reason="without FRAMEWORKS, the folder of React and Vue: Tests/Hooks/run sets it")

PAGE = b"""<!doctype html><link rel="icon" href="data:,"><script src="/react-umd.js"></script><script src="/react-dom-umd.js"></script>
<script type="importmap">{"imports":{"react":"/react.js","vue":"/vue.js"}}</script><div id="react"></div><div id="vue"></div>"""
MODULE = b"export const { useEffect, useState } = globalThis.React;"


class Pages(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        kept = {"/": PAGE, "/react.js": MODULE}
        files = {"/hooks-react.js": (WEB, "package/react.js"), "/hooks-vue.js": (WEB, "package/vue.js"), "/presence.js": (WEB, "presence.js")}
        body = kept.get(self.path)
        if body is None:
            with open(os.path.join(*files.get(self.path, (FRAMEWORKS, self.path[1:]))), "rb") as file:
                body = file.read()
        self.send_response(200)
        self.send_header("Content-Type", "text/html" if self.path == "/" else "text/javascript")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


async def test_hooks_follow_and_end_in_react_and_vue(chromium, start):
    room = Room(start({}))
    bob = await room.come("bob", "web")
    pages = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Pages)
    threading.Thread(target=pages.serve_forever, daemon=True).start()
    async with chromium:
        page = await chromium.page(f"http://localhost:{pages.server_port}/")
        await page.run(f"""
            const {{ PresenceClient }} = await import("/presence.js");
            const hooks = await import("/hooks-react.js");
            const make = () => new PresenceClient({{ url: "http://{room.server.host}:{room.server.port}", token: {room.token("ana")!r}, share: false }});
            const text = (connection, person) => `${{connection?.state}} ${{person?.user}} ${{person?.presence?.status}}`;
            const Person = ({{ user }}) => {{
                const client = hooks.useClosing(make);
                return React.createElement("p", {{}}, text(hooks.useConnection(client), hooks.usePerson(client, user)));
            }};
            const root = ReactDOM.createRoot(document.getElementById("react"));
            // Its strict mode begins and ends each effect once more.
            const draw = (user) => root.render(React.createElement(React.StrictMode, {{}}, React.createElement(Person, {{ user }})));
            const vue = await import("vue"), composables = await import("/hooks-vue.js");
            const [client, user] = [make(), vue.ref()];
            const app = vue.createApp({{ setup() {{
                const [connection, person] = [composables.useConnection(client), composables.usePerson(client, user)];
                return () => vue.h("p", text(connection.value, person.value));
            }} }});
            globalThis.choose = (next) => {{ draw(next); user.value = next; }};
            globalThis.end = () => {{ root.unmount(); app.unmount(); client.close(); }};
            choose({bob.user!r});
            app.mount("#vue");""")

        async def both(text):
            await page.until(f"[...document.querySelectorAll('p')].map((each) => each.textContent).join() === '{text},{text}'")

        await both(f"live {bob.user} online")
        await bob.status("busy")
        await both(f"live {bob.user} busy")
        await page.run("choose('cy')")
        await both("live cy offline")
        await page.run("end()")

        async def gone():
            told = await room.api.request("GET", f"/v1/users/{room.name('ana')}", token=room.backend)
            return told.status == 200 and told.json["presence"]["status"] == "offline"

        await eventually(gone, "both clients have ended")
    pages.shutdown()
