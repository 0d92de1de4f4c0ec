"""The library's package in the form of npm, the minified files that servers have, and the samples of the manual."""

import json
import os
import re
import shutil
import subprocess
import tarfile

import pytest

from support.browser import WEB
from support.library import tab
from support.line import Line

ROOT = os.path.dirname(WEB)
TYPES = os.path.join(os.path.dirname(__file__), "types")
FILES = ["presence", "presence-messages", "presence-log", "presence-history", "presence-outbox", "presence-push", "presence-people", "presence-settings"]
OPTIONS = {"strict": True, "skipDefaultLibCheck": True, "noEmit": True, "types": [], "target": "es2022", "module": "es2022", "moduleResolution": "node",
           "lib": ["es2022", "dom", "dom.iterable"]}

REACT = """
    let cells = [], effects = [], place = 0, render;
    export const useState = (first) => {
        const at = place++;
        if (!(at in cells)) cells[at] = first;
        return [cells[at], (next) => { cells[at] = typeof next === "function" ? next(cells[at]) : next; queueMicrotask(render); }];
    };
    export const useEffect = (act, inputs) => {
        const at = place++;
        const before = effects[at];
        if (before && inputs.every((input, index) => Object.is(input, before.inputs[index]))) return;
        before?.end?.();
        effects[at] = { inputs, end: act() };
    };
    export const mount = (component) => {
        render = () => { place = 0; component(); };
        render();
        return { render, unmount() { render = () => {}; for (const effect of Object.values(effects)) effect.end?.(); } };
    };"""
"""As much of React as the hooks use: state, and effects with their inputs. Vue's stand-in is the same of Vue."""

VUE = """
    export const shallowRef = (value) => ({ value });
    export const toValue = (source) => typeof source === "function" ? source() : source && typeof source === "object" && "value" in source ? source.value : source;
    const all = [];
    export const watchEffect = (act) => { let end; const run = () => { end?.(); end = undefined; act((each) => (end = each)); }; all.push({ run, end: () => end?.() }); run(); };
    export const changed = () => all.forEach(({ run }) => run());
    export const over = () => all.forEach(({ end }) => end());"""

STANDS_IN = {
    "react": "export function useState<Value>(first: Value): [Value, (next: Value | ((before: Value) => Value)) => void];\n"
             "export function useEffect(act: () => void | (() => void), inputs?: readonly unknown[]): void;\n",
    "vue": "export interface ShallowRef<Value> { value: Value }\n"
           "export type MaybeRefOrGetter<Value> = Value | { readonly value: Value } | (() => Value);\n"
           "export function shallowRef<Value>(value: Value): ShallowRef<Value>;\n"
           "export function toValue<Value>(source: MaybeRefOrGetter<Value>): Value;\n"
           "export function watchEffect(act: (onCleanup: (end: () => void) => void) => void): void;\n"}


@pytest.fixture
def package(tmp_path):
    """A project that has the package and stand-ins of React and Vue installed."""
    shutil.which("esbuild") or pytest.skip("not installed: esbuild")
    tarball = tmp_path / "package.tgz"
    subprocess.run([os.path.join(WEB, "package", "build"), tarball, "1.2.3"], check=True)
    modules = tmp_path / "node_modules"
    modules.mkdir()
    with tarfile.open(tarball) as tar:
        tar.extractall(modules)
    (modules / "package").rename(modules / "presence-client")
    for name, script in (("react", REACT), ("vue", VUE)):
        (modules / name).mkdir()
        (modules / name / "package.json").write_text(json.dumps({"name": name, "type": "module", "exports": {"types": "./index.d.ts", "default": "./index.js"}, "types": "./index.d.ts"}))
        (modules / name / "index.js").write_text(script)
        (modules / name / "index.d.ts").write_text(STANDS_IN[name])
    return tmp_path


def compile_types(folder, files, **options):
    program = shutil.which("tsc") or pytest.skip("not installed: node-typescript")
    (folder / "tsconfig.json").write_text(json.dumps({"compilerOptions": OPTIONS | options, "files": files}))
    made = subprocess.run([program, "-p", folder], capture_output=True, text=True)
    assert made.returncode == 0, made.stdout


def node(folder, script, name="script.mjs"):
    program = shutil.which("node") or pytest.skip("not installed: node")
    (folder / name).write_text(script)
    ran = subprocess.run([program, name], cwd=folder, capture_output=True, text=True, timeout=60)
    assert ran.returncode == 0, ran
    return ran.stdout


def test_the_package_is_the_same_each_time(package, tmp_path):
    again = tmp_path / "again.tgz"
    subprocess.run([os.path.join(WEB, "package", "build"), again, "1.2.3"], check=True)
    assert again.read_bytes() == (tmp_path / "package.tgz").read_bytes()


def test_the_package_can_be_imported_and_required_without_a_browser(package):
    manifest = json.loads((package / "node_modules/presence-client/package.json").read_text())
    assert manifest["version"] == "1.2.3"
    for paths in manifest["exports"].values():
        assert all((package / "node_modules/presence-client" / path).is_file() for path in paths.values())
    assert node(package, """
        import { PresenceClient, PresenceError } from "presence-client";
        import { PresenceMessages } from "presence-client/messages";
        try { new PresenceClient({ token: "token" }); } catch (error) { console.log(error instanceof PresenceError, error.field); }
        console.log(typeof PresenceMessages, typeof (await import("presence-client/react")).usePerson, typeof (await import("presence-client/vue")).usePerson);
        """) == "true url\nfunction function function\n"
    assert node(package, """
        const { PresenceError } = require("presence-client");
        const { PresenceMessages } = require("presence-client/messages");
        console.log(new PresenceError({ code: "x" }) instanceof Error, typeof PresenceMessages);
        """, "script.cjs") == "true function\n"


def test_the_types_of_the_hooks_fit_what_is_written_with_them_and_their_scripts(package):
    shutil.copy(os.path.join(TYPES, "hooks.tsx"), package)
    compile_types(package, ["hooks.tsx"])
    # The scripts against the stand-ins: parameters have no types in them.
    compile_types(package, ["node_modules/presence-client/react.js", "node_modules/presence-client/vue.js"],
                  allowJs=True, checkJs=True, noImplicitAny=False, maxNodeModuleJsDepth=0)


CLIENT = """
    const calls = [];
    const pause = () => new Promise((resolve) => setTimeout(resolve, 5));
    // Loops whose second value is still to come.
    let underWay = 0;
    const client = {
        async *person(user, { signal }) {
            underWay += 1;
            calls.push(`begin ${user}`);
            signal.addEventListener("abort", () => calls.push(`end ${user}`));
            yield { user, number: 1 };
            await pause();
            underWay -= 1;
            if (user === "bad") throw new Error("refused");
            yield { user, number: 2 };
        },
        close() { calls.push("closed"); },
    };
    const later = async () => { do await pause(); while (underWay > 0); await pause(); };"""


def test_the_hooks_of_react_follow_and_end(package):
    assert node(package, CLIENT + """
        const { mount } = await import("react");
        const { usePerson, useClosing } = await import("presence-client/react");
        let user = "bob", shown;
        const mounted = mount(() => (shown = usePerson(useClosing(() => client), user)));
        await later();
        console.log(shown.user, shown.number, calls.join());
        user = "cy";
        mounted.render();
        await later();
        console.log(shown.user, shown.number, calls.join());
        mounted.unmount();
        console.log(calls.join());
        """) == ("bob 2 begin bob\ncy 2 begin bob,end bob,begin cy\nbegin bob,end bob,begin cy,closed,end cy\n")


def test_the_composables_of_vue_follow_and_end(package):
    assert node(package, CLIENT + """
        const { changed, over } = await import("vue");
        const { usePerson } = await import("presence-client/vue");
        const user = { value: "bob" };
        const person = usePerson(client, user);
        await later();
        console.log(person.value.user, person.value.number, calls.join());
        user.value = "cy";
        changed();
        await later();
        console.log(person.value.user, person.value.number, calls.join());
        over();
        console.log(calls.join());
        """) == ("bob 2 begin bob\ncy 2 begin bob,end bob,begin cy\nbegin bob,end bob,begin cy,end cy\n")


# The manual


def samples():
    with open(os.path.join(ROOT, "docs", "javascript.md")) as file:
        return re.findall(r"^```js\n(.*?)^```", file.read(), re.S | re.M)


GIVEN = """
declare const client: PresenceClient, account: PresenceAccount, messages: PresenceMessages, people: PresencePeople, settings: PresenceSettings, user: string, id: string, file: File;
declare const email: string, password: string, displayName: string, tokenOfTheMail: string, newPassword: string;
declare const input: HTMLInputElement, bar: HTMLProgressElement, signal: AbortSignal, message: { id: string; seq?: number };
declare function show(people: Person[]): void;
declare function start(client: PresenceClient, user: string): void;
declare function showSignIn(): void;
declare function isInSight(message: string): boolean;
declare function getToken(messaging: unknown): Promise<string>;
declare const messaging: unknown, token: () => Promise<string>;
"""
"""What the page around a sample has."""


def test_all_samples_of_the_manual_compile(tmp_path):
    for name in ("presence.d.ts", "presence-messages.d.ts", "presence-push.d.ts", "presence-people.d.ts", "presence-settings.d.ts"):
        shutil.copy(os.path.join(WEB, name), tmp_path)
    found = samples()
    assert len(found) >= 10
    files = []
    for number, sample in enumerate(found):
        imports = re.findall(r"^import .*$", sample, re.M)
        own = set(re.findall(r"\w+", " ".join(re.findall(r"\{(.*?)\}", " ".join(imports)))))
        body = re.sub(r"^import .*$", "", sample, flags=re.M)
        # An ellipsis stands for what a page does.
        body = re.sub(r"…(?=;|$|\s*//)", "void 0", body, flags=re.M).replace("(share) => void 0", "(share) => {}").replace("(share) => …", "(share) => {}")
        types = {"PresenceClient", "PresenceAccount", "PresenceMessages", "PresencePeople", "PresenceSettings", "Person"} - own
        lines = [re.sub(r'"(https://presence.example.org)?/(presence(-messages|-push|-people|-settings)?)\.js"', r'"./\2.js"', each) for each in imports]
        for name in sorted(types):
            file = {"PresenceMessages": "presence-messages", "PresencePeople": "presence-people", "PresenceSettings": "presence-settings"}.get(name, "presence")
            lines.append(f'import type {{ {name} }} from "./{file}.js";')
        (tmp_path / f"sample{number}.ts").write_text("\n".join(lines) + GIVEN + "export async function sample() {\n" + body + "\n}\n")
        files.append(f"sample{number}.ts")
    compile_types(tmp_path, files)


# What servers have


def test_the_minified_files_are_those_of_the_sources(tmp_path):
    shutil.which("esbuild") or pytest.skip("not installed: esbuild")
    subprocess.run([os.path.join(WEB, "minify"), tmp_path], check=True)
    for name in FILES:
        for file in (f"{name}.js", f"{name}.js.map"):
            with open(os.path.join(WEB, "minified", file)) as made:
                assert made.read() == (tmp_path / file).read_text(), f"{file} is old: make minified"


async def test_servers_have_minified_files_with_their_source_maps(room):
    sizes = {}
    for name in FILES:
        answer = await room.api.request("GET", f"/{name}.js")
        sizes[name] = len(answer.body.encode())
        assert answer.body.endswith(f"//# sourceMappingURL=/{name}.js.map\n") and answer.body.count("\n") < 40
        source = await room.api.request("GET", f"/{name}.js.map")
        assert source.headers["Access-Control-Allow-Origin"] == "*" and source.headers["Content-Type"] == "application/json"
        with open(os.path.join(WEB, f"{name}.js")) as file:
            assert json.loads(source.body)["sourcesContent"] == [file.read()]
    with open(os.path.join(ROOT, "docs", "javascript.md")) as file:
        said = re.search(r"\(`/presence.js` has (\d+) KB", file.read())
    assert int(said[1]) == round(sizes["presence"] / 1024)


async def test_an_answer_that_is_no_token_is_named_once(chromium, server):
    async with Line(server) as line, chromium:
        for answer, kind in (("<!doctype html>", "HTML"), ('{"token":"eyJhbGciOi"}', "JSON"), ("not found", "a text with white space")):
            page = await tab(chromium, line, expected=("Presence: ",))
            await page.run(f"""
                globalThis.warned = [];
                console.warn = (text) => warned.push(text);
                globalThis.asked = 0;
                open(async () => (asked++, {json.dumps(answer)}));""")
            await page.until("asked > 1", "it is asked again")
            warned = await page.value("warned")
            assert len(warned) == 1 and f"gave {kind}" in warned[0] and answer not in warned[0], warned
            assert set(await page.value("states")) <= {"connecting", "waiting"}
        for text in ("<html>", "two words", '"quoted"'):
            failed = await page.value(f"(() => {{ try {{ new presence.PresenceClient({{ token: {json.dumps(text)} }}); }} catch (error) {{ return [error.code, error.field]; }} }})()")
            assert failed == ["validation_failed", "token"]
