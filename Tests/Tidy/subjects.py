"""Checks the subjects of a checkout's last commits against the rules in CONTRIBUTING.md."""

import re
import subprocess

LONGEST = 72
LOOKED_AT = 40
NOT_IMPERATIVE = re.compile(r"(\w+(ed|ing)|adds|fixes|removes|makes|uses|moves|changes)$", re.I)
EXCEPTIONS = {"embed", "feed", "need", "seed", "speed", "shed", "bring", "string", "ping"}


def faults(root):
    log = subprocess.run(["git", "log", "--no-merges", f"-{LOOKED_AT}", "--format=%h %s", "--", "."], cwd=root,
                         capture_output=True, text=True)
    for line in log.stdout.splitlines():
        commit, subject = line.split(" ", 1)
        first = re.split(r"\W", subject.split(": ", 1)[-1], maxsplit=1)[0]
        if len(subject) > LONGEST:
            yield commit, f"a subject of {len(subject)} characters, at most {LONGEST} are allowed: {subject}"
        elif subject.endswith("."):
            yield commit, f"a subject with a full stop: {subject}"
        elif NOT_IMPERATIVE.match(first) and first.lower() not in EXCEPTIONS:
            yield commit, f"'{first}' is not the imperative: {subject}"
