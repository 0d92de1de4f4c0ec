"""Requirements of the administrators' documents: each code, each link, each file that they name."""

import asyncio
import importlib.util
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
GUIDES = [str(path.relative_to(ROOT)) for pattern in ("*.md", "docs/*.md", "Tests/*.md", "Tests/*/README.md", "loadtest/*.md", "loadtest/*/*.md",
                                                       "Sources/**/README.md", "web/README.md")
          for path in sorted(ROOT.glob(pattern))]


def text(name):
    return (ROOT / name).read_text()


def section(document, heading):
    """The part of a document below a heading, up to the next of its depth."""
    match = re.search(rf"(?ms)^(#+) {re.escape(heading)}$(.*?)(?=^#{{1,2}} |\Z)", text(document))
    assert match, f"{document} has no {heading!r}"
    return match[2]


def first_cells(table):
    return [line.split("|")[1] for line in table.splitlines() if line.startswith("|") and not line.startswith("|-")]


def close_codes(part):
    return {code for cell in first_cells(part) for code in re.findall(r"\b[14]\d{3}\b", cell)}


def words(part):
    return {word for cell in first_cells(part) for word in re.findall(r"`(\w+)`", cell)}


def test_troubleshooting_has_each_close_code():
    known = close_codes(section("docs/protocol.md", "11 Closing"))
    assert {"1000", "1013", "4001", "4006"} <= known
    # Libraries report 1006 without a close frame.
    assert close_codes(section("docs/troubleshooting.md", "Close codes")) == known | {"1006"}


def test_troubleshooting_has_each_error_code():
    known = words(section("docs/protocol.md", "10 Errors"))
    assert {"bad_request", "internal"} <= known
    assert words(section("docs/troubleshooting.md", "Errors")) == known


def test_troubleshooting_has_each_reason_of_accounts():
    known = words(section("docs/protocol.md", "14 Accounts"))
    assert "invalid_credentials" in known
    assert words(section("docs/troubleshooting.md", "Accounts")) - {"reason"} == known


def test_troubleshooting_has_each_status_of_the_http_api():
    known = set(re.findall(r"^ +'(4\d\d|5\d\d)':", text("docs/openapi.yaml"), re.M))
    assert {"401", "503"} <= known
    shown = set(re.findall(r"\b[45]\d\d\b", text("docs/troubleshooting.md")))
    assert known <= shown, known - shown


def slug(heading):
    return re.sub(r"[^\w\- ]", "", re.sub(r"\[(.*?)\]\(.*?\)", r"\1", heading).strip().lower()).replace(" ", "-")


def anchors(name):
    outside = re.sub(r"(?ms)^```.*?^```", "", text(name))
    return {slug(match) for match in re.findall(r"^#+ (.*)$", outside, re.M)}


@pytest.mark.parametrize("name", GUIDES)
def test_links_lead_somewhere(name):
    for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"(?ms)^```.*?^```", "", text(name))):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        place = ((ROOT / name).parent / path).resolve() if path else ROOT / name
        assert place.exists(), f"{name}: {target}"
        if anchor and place.suffix == ".md":
            assert anchor in anchors(place.relative_to(ROOT)), f"{name}: {target}"


# Commands that guides show

PROGRAMS = ("presenced", "presence-watch", "presence-chat")


def shown_commands():
    """(document, words) of each command in a block of its own or between backticks."""
    for name in [*GUIDES, *(str(path.relative_to(ROOT)) for path in ROOT.glob("config/**/*") if path.is_file()), "compose.yaml"]:
        content = text(name)
        blocks = re.findall(r"^(?:    |# +|```\w*\n)(.*)$", content, re.M) + re.findall(r"`([^`\n]+)`", content)
        for line in blocks:
            # Up to a comment, which follows some spaces, and the next command of a pipe.
            for part in re.split(r" {2,}|\||&&|;|\$\(|\)", line):
                words = part.strip().removeprefix("sudo -u presence ").split()
                while words and re.match(r"[A-Z_]+=", words[0]):
                    words.pop(0)
                if len(words) > 1:
                    yield name, [words[0].rsplit("/", 1)[-1], *words[1:]]


def test_targets_of_make_that_documents_name_exist():
    there = set(re.findall(r"^([\w-]+(?: [\w-]+)*):", text("Makefile"), re.M))
    there = {target for line in there for target in line.split()}
    suites = set(re.findall(r'^\| `(\w+)`', text("Tests/README.md"), re.M))
    named = {(name, word) for name, (program, *words) in shown_commands() if program == "make" for word in words[:1]}
    assert len(named) > 10
    for name, word in named:
        assert "=" in word or word in there or word.removeprefix("test-") in suites, f"{name}: make {word}"


def options(command):
    """The flags of a command, and of its default subcommand."""
    own = {each["name"] for argument in command.get("arguments", []) for each in argument.get("names", [])}
    return own.union(*map(options, command.get("subcommands", [])))


def test_commands_that_documents_show_exist_with_their_options():
    folder = Path(os.environ["PRESENCED"]).parent
    seen = set()
    for program in PROGRAMS:
        if not (folder / program).exists():
            pytest.skip(f"not built: {program}")
        said = subprocess.run([folder / program, "--experimental-dump-help"], capture_output=True, text=True, check=True)
        whole = json.loads(said.stdout)["command"]
        for name, (called, *words) in shown_commands():
            if called != program:
                continue
            command, rest = whole, [word.strip("[]") for word in words]
            while rest and (found := [each for each in command.get("subcommands", []) if each["commandName"] == rest[0]]):
                command, rest = found[0], rest[1:]
            if program == "presenced" and command is whole and re.match(r"[a-z]", words[0]):
                # Commands that the server starts for itself are not in the help.
                assert words[0] in ("photo-worker", "doctor:"), f"{name}: there is no {program} {words[0]}"
            for word in rest:
                if match := re.match(r"--([a-z][a-z-]*)", word):
                    assert match[1] in options(command), f"{name}: {program} {' '.join(words)} has no --{match[1]}"
                    seen.add(match[1])
    assert {"role", "expires", "token-file", "repair"} <= seen, seen


def growth():
    spec = importlib.util.spec_from_file_location("growth", ROOT / "loadtest/report/growth.py")
    module = sys.modules["growth"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_calls_of_javascript_beside_those_of_firebase_exist():
    types = "".join((ROOT / "web" / f"{name}.d.ts").read_text() for name in ("presence", "presence-messages"))
    rows = [line.strip("|").split(" | ") for line in (ROOT / "docs/coming-from-firebase.md").read_text().splitlines()]
    named = {name for row in rows if len(row) == 3
             for name in re.findall(r"\b(?:account|client|messages)\.(\w+)", row[2])}
    assert len(named) > 30, named
    assert {name for name in named if not re.search(rf"\b{name}\b[?(<:]", types)} == set()


def test_growth_is_computed_from_what_was_measured():
    computed = growth()
    for name, (phrase, factor) in computed.SOURCES.items():
        assert phrase in text("docs/performance.md"), f"{name}: {phrase}"
        found = [float(each) for each in re.findall(r"\d+(?:\.\d+)?", phrase.replace(",", ""))]
        assert statistics.mean(found) * factor == getattr(computed.COSTS, name), name


def test_scaling_has_the_tables_that_are_computed():
    computed = growth()
    for table in (computed.limits(), computed.needs()):
        assert "\n\n" + "\n".join(table) + "\n\n" in text("docs/scaling.md"), "loadtest/run growth prints them anew"


def test_the_example_of_a_feature_is_what_its_page_shows():
    def lines(text):
        return "\n".join(line.strip() for line in text.strip().splitlines())

    code = "\n".join(lines(path.read_text()) for path in sorted((ROOT / "Tests/PollsTests").glob("*.swift")))
    blocks = re.findall(r"```(?:swift|lua)\n(.*?)```", text("docs/adding-a-feature.md"), re.S)
    assert len(blocks) >= 4
    for block in blocks:
        assert lines(block) in code, block


def test_the_readme_links_the_guides():
    for guide in ("behind-a-proxy", "troubleshooting", "upgrading", "operations"):
        assert f"(docs/{guide}.md)" in text("README.md"), guide
    assert all(f"(../config/proxies/{path.name})" in text("docs/behind-a-proxy.md")
               for path in (ROOT / "config/proxies").iterdir())


async def test_the_readmes_first_account_is_shown_by_the_watcher(start, tmp_path):
    folder = Path(os.environ["PRESENCED"]).parent
    if not (folder / "presence-watch").exists() or not shutil.which("curl"):
        pytest.skip("presence-watch is not built, or there is no curl")
    server = start({"accounts.enabled": True})
    block = re.search(r"\*\*Accounts\*\*.*?\n\n((?:    .*\n)+)", text("README.md"))[1]
    assert "http://127.0.0.1:4040" in block and "\n    presence-watch " in block
    script = block.replace("http://127.0.0.1:4040", f"http://{server.host}:{server.port}")
    # Once, because it would run forever.
    script = script.replace("\n    presence-watch ", "\n    presence-watch --once ")
    environment = os.environ | {"PATH": f"{folder}:{os.environ['PATH']}", "NO_COLOR": "1",
                                "PRESENCE_URL": f"ws://{server.host}:{server.port}/v1/ws"}
    ended = await asyncio.to_thread(subprocess.run, ["sh", "-e", "-c", script], capture_output=True, text=True, timeout=60,
                                    env=environment, cwd=tmp_path)
    assert ended.returncode == 0 and re.search(r"\bana\b", ended.stdout), ended
