#!/usr/bin/python3
"""Checks the shape of the sources: imports between modules, the size of files, functions and folders, a comment at each unsafe
construct and each public declaration of the client, no feature in the core, manifests that agree, and plain words. It only
reads files.

Each exception is listed here with its reason or its present size, so that it can shrink and cannot grow.
"""

import re
import sys
import time
from pathlib import Path

import documentation
import english
import mails
import manifests
import subjects

BEGAN = time.monotonic()
ROOT = Path(__file__).resolve().parent.parent.parent

IMPORTS = {
    "EventLoops": set(),
    "WebSockets": {"EventLoops"},
    "Redis": {"EventLoops", "Signing"},
    "NumberedQueues": set(),
    "Workers": {"EventLoops", "NumberedQueues"},
    "OutgoingHTTP": {"EventLoops", "NumberedQueues"},
    "PresenceProtocol": set(),
    "Passwords": set(),
    "Signing": set(),
    "Installation": {"EventLoops", "Redis"},
    "Tokens": {"Installation", "PresenceProtocol", "Signing"},
    "PresenceCore": {
        "EventLoops", "Workers", "WebSockets", "Redis", "PresenceProtocol", "Installation", "Tokens"},
    "PresenceServer": {
        "PresenceCore", "EventLoops", "WebSockets", "Redis", "PresenceProtocol", "Installation", "Signing", "Tokens",
        "Passwords", "OutgoingHTTP"},
    "PresenceKit": {"PresenceProtocol", "EventLoops", "WebSockets"},
    "PresenceAccounts": {"PresenceKit"},
    "PresenceMessages": {"PresenceAccounts", "PresenceKit"},
    "PresenceTesting": {"PresenceAccounts", "PresenceKit", "PresenceMessages", "PresenceProtocol"},
    "ProcessSignals": set(),
    "presenced": {
        "PresenceCore", "PresenceServer", "PresenceProtocol", "Installation", "ProcessSignals", "Tokens", "EventLoops", "OutgoingHTTP"},
    "TerminalClients": {"PresenceKit", "ProcessSignals"},
    "Programs": set(),
    "presence-watch": {"PresenceKit", "TerminalClients"},
    "presence-chat": {"PresenceKit", "PresenceMessages", "TerminalClients"},
}
"""The modules of ours that each module may import. The order is the direction of dependencies."""

LONGEST_FILE = 300
LONGER_FILES = {
    "Sources/Redis/Connection/Link.swift": 310,
    "Tests/PresenceServerTests/PresenceSimulationTests.swift": 450,
    "Tests/PresenceServerTests/Visibility/VisibilitySimulationTests.swift": 405,
    "Tests/PresenceServerTests/LimitTests.swift": 360,
    "Tests/Simulator/Histories/HistoryRun+Steps.swift": 310,
}
"""Files to be split, with the most lines that each may have until then."""

MOST_FILES = 20
FULLER_FOLDERS = {"Tests/WebSocketsTests": 22, "loadtest/Sources/Support": 21}

PAGES = ["Sources/**/README.md", "Tests/*/README.md", "loadtest/*/README.md", "web/README.md"]
LONGEST_PAGE = 120
"""Lines of 120 columns of a folder's README.md: two screens."""

LONGEST_FUNCTION = 60
LONGER_FUNCTIONS = {
    "Tests/EndToEndTests/SameSceneTests.swift": 61, "loadtest/Sources/Storm/StormReport.swift": 74,
}

UNSAFE = re.compile(r"Unmanaged\.|@unchecked Sendable|nonisolated\(unsafe\)|unsafeBitCast|@_silgen_name")
"""Constructs that the compiler does not check: a comment above or beside each has its owner, thread or lifetime."""

CORE_WORDS = {
    "Accounts", "App", "Attachments", "Conversations", "Messages", "Presence", "Profiles", "Watching"}
"""Folders of features whose names the core uses for its own things: topics, registers, frames, the layout of keys, HTTP."""
FEATURE_WORDS = [
    re.sub("s$", "", folder.name) for folder in (ROOT / "Sources/PresenceServer/Features").iterdir()
    if folder.is_dir() and folder.name not in CORE_WORDS]
FEATURES_IN_CORE = re.compile(rf"({'|'.join(FEATURE_WORDS)}|typist|vote|poll)(?!ed)", re.IGNORECASE)
"""Names of features that exist only in their folders: the core has none of them."""

TASKS = {
    "Sources/PresenceCore/Shard/ShardTasks.swift", "Sources/PresenceCore/Shard/Shard.swift",
    # A check of the disk, and a close that may wait for it: neither returns to the shard's logic.
    "Sources/PresenceCore/Shard/Shard+Metrics.swift", "Sources/PresenceCore/HTTP/UploadedFile.swift",
}

OBSCURE = re.compile(r"\b(whoever|whomever|whatsoever|heretofore|thereof|whereupon)\b|\bof whom\b|\bwhat is no\b", re.IGNORECASE)
PROSE = ["README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "docs/*.md", "docs/*.yaml", "config/**/*", "packaging/*",
         "loadtest/*.md", "loadtest/notes/*.md", "loadtest/Sources/README.md", "Tests/*.md", "Tests/*/README.md",
         "Sources/PresenceKit/*.docc/*.md", "Sources/**/README.md", "web/*.md", "web/**/*.js",
         "Sources/**/*.swift", "Sources/**/*.lua", "loadtest/Sources/**/*.swift"]

REQUIREMENTS = {
    "000": (79, {6, 23, 58, 63, 64, 66, 67, 68, 77}),
    "001": (81, {9, 11, 34, 36}),
    "002": (61, {4, 5, 6, 7, 9, 10, 16, 19, 21, 22, 23, 26, 30, 32, 33, 34, 35, 36, 38, 41, 43, 44, 45, 47, 49, 50, 51, 52, 53,
                 54, 57, 58}),
    "003": (63, {1, 6, 7, 8, 10, 11, 13, 19, 20, 21, 22, 28, 30, 59}),
    "004": (120, {37, 39, 40, 41, 51, 52, 104, 112, 114, 115, 117}),
}
"""The number of points in each story, and those of them that held before the list of unmet points existed."""

faults = []


def fault(place, what):
    faults.append(f"{place}: {what}")


def swift_files(*folders):
    for folder in folders:
        yield from sorted(path for path in (ROOT / folder).rglob("*.swift") if ".build" not in path.parts)


def name(path):
    return str(path.relative_to(ROOT))


def look_at_imports():
    for module, allowed in IMPORTS.items():
        for path in swift_files(f"Sources/{module}"):
            for imported in re.findall(r"^\s*(?:@testable |public |package |internal |private |@_exported )?import (\w+)", path.read_text(), re.M):
                if imported in IMPORTS and imported not in allowed:
                    fault(name(path), f"{module} may not import {imported}")
    for path in swift_files("Sources/PresenceKit/Domain"):
        if other := set(re.findall(r"^import (\w+)", path.read_text(), re.M)) - {"Foundation"}:
            fault(name(path), f"is independent of data and screens, but imports {other}")
    known = {path.name for path in (ROOT / "Sources").iterdir() if path.is_dir()}
    for module in sorted(known - set(IMPORTS)):
        if not module.startswith("C"):
            fault(f"Sources/{module}", "is in no line of IMPORTS")


def look_at_sizes():
    counts = {}
    for path in swift_files("Sources", "Tests", "loadtest", "Examples"):
        lines = path.read_text().splitlines()
        most = LONGER_FILES.get(name(path), LONGEST_FILE)
        if len(lines) > most:
            fault(name(path), f"has {len(lines)} lines, at most {most} are allowed")
        counts[name(path.parent)] = counts.get(name(path.parent), 0) + 1
        look_at_functions(path, lines)
    for folder, count in counts.items():
        most = FULLER_FOLDERS.get(folder, MOST_FILES)
        if count > most:
            fault(folder, f"has {count} files, at most {most} are allowed")


def look_at_pages():
    for path in [page for pattern in PAGES for page in sorted(ROOT.glob(pattern))]:
        lines = sum(1 + len(line) // 121 for line in path.read_text().splitlines())
        if lines > LONGEST_PAGE:
            fault(name(path), f"has {lines} lines of 120 columns, at most {LONGEST_PAGE} fit two screens")


def look_at_functions(path, lines):
    """By indentation, which `make lint` enforces: a function ends at the first brace with the indentation of its beginning."""
    began = None
    for number, line in enumerate(lines):
        match = re.match(r"( *)(?:[\w@()]+ )*(?:func \S|init[?<(])", line)
        # A function with the indentation of an unfinished one: that one has no body, as in a protocol.
        if match and not line.rstrip().endswith("}") and (began is None or began[1] == match.group(1) + "}"):
            began = (number, match.group(1) + "}")
        elif began is not None and (line.startswith(began[1]) or not line.strip() and number - began[0] < 2):
            length = number - began[0] + 1
            place = f"{name(path)}:{began[0] + 1}"
            if length > LONGER_FUNCTIONS.get(name(path), LONGEST_FUNCTION):
                fault(place, f"a function of {length} lines, at most {LONGEST_FUNCTION} fit a screen")
            began = None


def look_at_unsafe_constructs():
    for path in swift_files("Sources"):
        lines = path.read_text().splitlines()
        for number, line in enumerate(lines):
            if UNSAFE.search(line) and not line.strip().startswith("//"):
                if not any("//" in each for each in lines[max(0, number - 6):number + 1]):
                    fault(f"{name(path)}:{number + 1}", "an unsafe construct without a comment")


def look_at_the_core():
    for path in swift_files("Sources/PresenceCore"):
        for number, line in enumerate(path.read_text().splitlines()):
            if FEATURES_IN_CORE.search(line):
                fault(f"{name(path)}:{number + 1}", f"a feature in the core: {line.strip()}")


def look_at_words():
    for pattern in PROSE:
        for path in sorted(ROOT.glob(pattern)):
            if not path.is_file():
                continue
            for number, line in enumerate(path.read_text(errors="replace").splitlines()):
                if OBSCURE.search(line):
                    fault(f"{name(path)}:{number + 1}", f"obscure: {OBSCURE.search(line).group()}")


def look_at_requirements():
    """Every point of the stories has a row with its number, and its test or the reason why there is none."""
    page = "docs/client-requirements.md"
    named, story = {}, None
    for line in (ROOT / page).read_text().splitlines():
        if heading := re.match(r"## (00\d) ", line):
            story = heading.group(1)
        elif story and (row := re.match(r"\| ((?:\d+(?:–\d+)?)(?:, \d+(?:–\d+)?)*) [^|]*\| *(\S)?", line)):
            if not row.group(2):
                fault(page, f"{story}.{row.group(1)} has neither a test nor a reason")
            for part in row.group(1).split(", "):
                first, last = (part.split("–") * 2)[:2]
                named.setdefault(story, set()).update(range(int(first), int(last) + 1))
    for story, (count, held) in REQUIREMENTS.items():
        if missing := sorted(set(range(1, count + 1)) - held - named.get(story, set())):
            fault(page, f"{story} has no row for {missing}")


def look_at_named_tests():
    """Python tests named in documents exist; RequirementTests checks those of the Swift suites."""
    there = set()
    for path in (ROOT / "Tests/Conformance").glob("test_*.py"):
        there.update((path.name, path.stem), re.findall(r"^(?:async )?def (test_\w+)", path.read_text(), re.M))
    for pattern in PROSE:
        for path in sorted(each for each in ROOT.glob(pattern) if each.is_file()):
            for number, line in enumerate(path.read_text(errors="replace").splitlines()):
                for named in re.findall(r"\btest_\w+(?:\*\w*)?(?:\.py\b)?", line):
                    wanted = re.compile(re.escape(named).replace(r"\*", ".*"))
                    if not any(wanted.fullmatch(each) for each in there):
                        fault(f"{name(path)}:{number + 1}", f"there is no {named}")


def look_at_documentation():
    for place, declaration in documentation.undocumented(ROOT):
        fault(place, f"{declaration} is public and has no doc comment")


def look_at_english():
    for folder, what in english.excesses():
        fault(folder, what)


def look_at_subjects():
    for commit, what in subjects.faults(ROOT):
        fault(commit, what)


def look_at_expectations():
    """Macros with a condition took a third of the tests' build. (The code of pages, in the two files Snippets, has them.)"""
    for path in swift_files("Tests"):
        if path.name.endswith("Snippets.swift"):
            continue
        for number, line in enumerate(path.read_text().splitlines()):
            if re.search(r"#expect\((?!throws:|processExitsWith:|$)", line) and not line.strip().startswith("//"):
                fault(f"{name(path)}:{number + 1}", "#expect with a condition; expect(…) compiles faster")


def look_at_tasks():
    """Only ShardTasks starts features' async functions: another task would leave the shard's thread."""
    for path in swift_files("Sources/PresenceCore", "Sources/PresenceServer/Features", "Sources/PresenceServer/Delivery"):
        for number, line in enumerate(path.read_text().splitlines()):
            if re.search(r"\bTask( \{|\(|\.)", line) and name(path) not in TASKS:
                fault(f"{name(path)}:{number + 1}", "a task that ShardTasks does not begin")


def look_at_scripts():
    """Scripts use the names in their headers."""
    for path in sorted((ROOT / "Sources").rglob("*.lua")):
        if path.name == "lib.lua":
            continue
        for number, line in enumerate(path.read_text().splitlines()):
            if re.search(r"\b(KEYS|ARGV)\b", line):
                fault(f"{name(path)}:{number + 1}", "a key or an argument by its position")


def look_at_manifests():
    for difference in manifests.differences(ROOT):
        fault("Package@swift-6.1.swift", difference)


def look_at_mails():
    for place, what in mails.faults(ROOT):
        fault(place, what)


CHECKS = [look_at_imports, look_at_sizes, look_at_pages, look_at_unsafe_constructs, look_at_the_core, look_at_words, look_at_requirements,
          look_at_named_tests, look_at_documentation, look_at_english, look_at_subjects, look_at_tasks,
          look_at_expectations, look_at_scripts, look_at_manifests, look_at_mails]

for check in CHECKS:
    check()
for each in faults:
    print(f"FAILED {each}")
print(f"{len(CHECKS)} {'failed' if faults else 'passed'} in {time.monotonic() - BEGAN:.1f}s")
sys.exit(1 if faults else 0)
