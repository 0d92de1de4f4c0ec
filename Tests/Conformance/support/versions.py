"""Another version of the server, made of the one under test."""

import os
import shutil
import subprocess

from .server import BINARY

WORD, OTHER_WORD = b"\n-- KEYS: ", b"\n-- Keys: "
"""The comment that each script for Redis has at its top (docs/architecture.md): a script's name is the hash of its text."""


def version_of(binary):
    """What it says of itself."""
    said = subprocess.run([binary, "--version"], capture_output=True, text=True, check=True).stdout
    return said.split()[1]


def other_version(directory):
    """The path of a copy of the program, in a directory, whose scripts for Redis all have other names, and the version
    that it says it is."""
    with open(BINARY if os.path.sep in BINARY else shutil.which(BINARY), "rb") as file:
        program = file.read()
    assert program.count(WORD) > 50, "the scripts are not in the program as they are"
    program = program.replace(WORD, OTHER_WORD)
    own = version_of(BINARY)
    major, minor, rest = own.split(".", 2)
    # Short strings lie in a program in pieces of eight bytes.
    others = f"{major}.{(int(minor) + 1) % 10}.{rest}"
    program = program.replace(own[:8].encode(), others[:8].encode())
    path = os.path.join(directory, "presenced-of-another-version")
    with open(path, "wb") as file:
        file.write(program)
    os.chmod(path, 0o755)
    return path, version_of(path)
