"""Another version of the server, made from the one under test: its scripts for Redis behave differently.

The program contains the scripts verbatim (Sources/PresenceCore/Store/README.md). The other version's additions replace
part of a comment above them, so everything else stays where it is.
"""

import mmap
import os
import shutil
import subprocess

from .server import BINARY

MEMBER = "edition"
"""The member that the other version's scripts add to each presence and profile that they write, as a later version may."""

FIELD = "sentByOther"
"""In a conversation's record: the number of messages that the other version's scripts have stored."""

EDITS = (
    # The comment to shorten, the present text, and its replacement.
    ("-- Recomputes from all sessions what others see. If it has changed, it gets a new version and is published as",
     """user.since .. body .. '}')""",
     f"""user.since .. body .. ',"{MEMBER}":2}}')"""),
    ("-- The client may send back the address that it has received for the uploaded picture. Only the end of it is stored.",
     """'"updatedAt":' .. int(now)\n""",
     f"""'"updatedAt":' .. int(now) .. ',"{MEMBER}":2'\n"""),
    ("-- A conversation that was idle for long loses the rest with the next messages, or with the next sweep.",
     "sender.own = c.last -- mutation: own-is-read\n",
     f"sender.own = c.last setField(c, '{FIELD}', int((c.raw.{FIELD} or 0) + 1)) -- mutation: own-is-read\n"),
)

IN_ALL = ("if given ~= 0 then return given end", "if 0 ~= given then return given end")
"""A text of every script, and an equivalent one: this gives all of them other names."""


def version_of(binary):
    """Its own version."""
    said = subprocess.run([binary, "--version"], capture_output=True, text=True, check=True).stdout
    return said.split()[1]


def edit(program, comment, there, instead):
    """Replaces a text in one of the program's scripts at the same total length: the comment above it is shortened."""
    comment, there, instead = (text.encode() for text in (comment, there, instead))
    first = program.find(comment)
    assert first >= 0 and program.find(comment, first + 1) < 0, f"not in one script: {comment}"
    last = program.find(there, first) + len(there)
    more = len(instead) - len(there)
    assert 0 <= more <= len(comment) - len("--"), "the comment is too short"
    text = comment[:len(comment) - more] + program[first + len(comment):last - len(there)] + instead
    assert b"\0" not in text, f"not in the script of {comment}: {there}"
    program[first:last] = text


def replace(program, there, instead):
    place = program.find(there)
    while place >= 0:
        program[place:place + len(there)] = instead
        place = program.find(there, place)


def other_version(directory):
    """The path of a copy of the program, in a directory, with another version and changed scripts. All scripts have
    other names, too."""
    path = os.path.join(directory, "presenced-of-another-version")
    shutil.copy(BINARY if os.path.sep in BINARY else shutil.which(BINARY), path)
    own = version_of(BINARY)
    major, minor, rest = own.split(".", 2)
    others = f"{major}.{(int(minor) + 1) % 10}.{rest}"
    with open(path, "r+b") as file, mmap.mmap(file.fileno(), 0) as program:
        for words in EDITS:
            edit(program, *words)
        there, instead = (text.encode() for text in IN_ALL)
        assert program.find(there) >= 0, "the scripts have changed"
        replace(program, there, instead)
        # A program stores short strings in pieces of eight bytes.
        replace(program, own[:8].encode(), others[:8].encode())
    return path
