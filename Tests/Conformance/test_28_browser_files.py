"""The files of the library for browsers: small, and matching their types."""

import json
import os
import re
import shutil
import subprocess

import pytest

from support.browser import WEB
from support.library import esbuild, tab, talking
from support.line import Line


def test_it_is_small():
    assert len(esbuild("--minify", "--format=esm", os.path.join(WEB, "presence.js"))) <= 26 * 1024


def test_they_are_small_and_their_types_can_be_read():
    def size(*names):
        return sum(len(esbuild("--minify", "--format=esm", os.path.join(WEB, f"presence-{name}.js"))) for name in names)

    assert size("messages", "log", "history", "outbox") <= 22 * 1024
    assert size("push") <= 2 * 1024 and size("people") <= 2 * 1024 and size("settings") <= 2 * 1024
    for name in ("presence-messages", "presence-push", "presence-people", "presence-settings"):
        esbuild(os.path.join(WEB, f"{name}.d.ts"))


def test_its_types_and_the_scripts_of_the_app_can_be_read():
    esbuild(os.path.join(WEB, "presence.d.ts"))
    for name in os.listdir(os.path.join(WEB, "app")):
        if name.endswith(".js"):
            assert esbuild("--format=esm", os.path.join(WEB, "app", name))


def test_the_types_fit_the_scripts_and_the_apps_that_are_written_with_them(tmp_path):
    program = shutil.which("tsc") or pytest.skip("not installed: node-typescript")
    (tmp_path / "made").mkdir()
    for name in os.listdir(WEB):
        if name.endswith((".js", ".d.ts")):
            shutil.copy(os.path.join(WEB, name), tmp_path if name.endswith(".ts") else tmp_path / "made")
    for name in ("apps.ts", "push.ts", "people.ts", "settings.ts"):
        shutil.copy(os.path.join(os.path.dirname(__file__), "types", name), tmp_path)
    # Members of the scripts are inferred by the compiler, for which the scripts were not written.
    options = {"strict": True, "skipDefaultLibCheck": True, "noImplicitAny": False, "strictFunctionTypes": False, "allowJs": True, "noEmit": True, "types": [], "target": "es2022",
               "module": "es2022", "moduleResolution": "node", "lib": ["es2022", "dom", "dom.iterable"]}
    # Programs of their own: `push.ts` gives the clients of its program a member. One process reads the types of the DOM once.
    projects = []
    for name in ("apps.ts", "push.ts", "people.ts", "settings.ts"):
        projects.append(tmp_path / f"{name}.json")
        projects[-1].write_text(json.dumps({"compilerOptions": options, "files": [name]}))
    made = subprocess.run([program, "--build", *projects], capture_output=True, text=True)
    assert made.returncode == 0, made.stdout


@pytest.mark.parametrize("format", ["iife", "cjs", "esm"])
def test_it_can_be_bundled_and_imported_where_there_is_no_browser(tmp_path, format):
    node = shutil.which("node") or pytest.skip("not installed: node")
    bundle = tmp_path / f"bundle.{'mjs' if format == 'esm' else 'cjs'}"
    # A bundle that is not a module has no address of its own: esbuild warns about that.
    bundle.write_bytes(esbuild("--bundle", f"--format={format}", "--global-name=made", "--log-override:empty-import-meta=silent",
                               os.path.join(WEB, "presence-messages.js")))
    with open(os.path.join(WEB, "presence.js"), "rb") as file:
        (tmp_path / "presence.mjs").write_bytes(file.read())
    script = tmp_path / "script.mjs"
    script.write_text(f"""
        await import("./{bundle.name}");
        const {{ PresenceClient }} = await import("./presence.mjs");
        try {{ new PresenceClient({{ token: "token" }}); }} catch (error) {{ console.log(error.code, error.field); }}""")
    ran = subprocess.run([node, script], capture_output=True, text=True)
    assert ran.returncode == 0 and ran.stdout == "validation_failed url\n", ran


async def test_the_types_of_presence_js_match_it(chromium, server):
    with open(os.path.join(WEB, "presence.d.ts")) as file:
        types = file.read()
    async with Line(server) as line, chromium:
        page = await tab(chromium, line)
        members = await page.value("""Object.fromEntries(Object.entries(presence).filter(([, made]) => made.prototype)
            .map(([name, made]) => [name, Object.getOwnPropertyNames(made.prototype)]))""")
        assert len(members) == 3, members
        for name, own in members.items():
            body = re.search(rf"export class {name} extends \w+[^{{]*{{(.*?)\n}}", types, re.S).group(1)
            for each in own:
                assert re.search(rf"\b{each}\b", body), f"{name}.{each}"


async def test_the_types_of_the_other_files_match_them(chromium, server, room):
    async with Line(server) as line, chromium:
        page = await talking(chromium, line, room)
        with open(os.path.join(WEB, "presence-messages.d.ts")) as file:
            types = file.read()
        for each in await page.value("Object.getOwnPropertyNames(library.PresenceMessages.prototype)"):
            assert f"{each}(" in types, each
