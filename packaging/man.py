#!/usr/bin/python3
"""Prints a manual page: man.py PAGE --help-of DIRECTORY --configuration FILE --version VERSION --date SECONDS

The pages of commands are made from the programs' own help (`--experimental-dump-help`, in PROGRAM.json), the page of the
configuration from the comments of config/presenced.yaml: so each explanation has one place.
"""

import argparse
import json
import os
import re
import time

FILES = [
    ("/etc/presence/presenced.yaml", "The configuration of the service: presenced.yaml(5)."),
    ("/var/lib/presence", "The secret that signs tokens, and the data of the built-in Redis. Only the user presence can read it."),
]
STATUSES = {
    "presenced.8": [
        ("0", "The command succeeded; the server stopped because of a signal."),
        ("1", "The server cannot start; doctor: something is wrong; user: the change was not made."),
        ("2", "doctor: the data could not be read."),
        ("64", "The command line is wrong."),
        ("74", "Standard output could not be written."),
        ("78", "The configuration is wrong."),
    ],
    "presence-watch.1": [
        ("0", "It ended on request."), ("64", "The command line is wrong."), ("69", "The server cannot be reached."),
        ("74", "The output cannot be written."), ("77", "The server refused the token."),
    ],
    "presence-chat.1": [
        ("0", "It ended on request."), ("1", "The server rejected the request."), ("64", "The command line is wrong."),
        ("69", "The server cannot be reached."), ("74", "There is no terminal, or it cannot be written to."), ("77", "The server refused the token."),
    ],
}
SEE_ALSO = {
    "presenced.8": "presenced.yaml(5), presence-watch(1), presence-chat(1), systemctl(1), redis-server(1)",
    "presence-watch.1": "presence-chat(1), presenced(8)",
    "presence-chat.1": "presence-watch(1), presenced(8)",
    "presenced.yaml.5": "presenced(8)",
}


def escaped(text):
    """Escapes text for roff: backslashes, hyphens (so that a copied one is a hyphen), and lines that begin like a request."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("…", "...")
    return re.sub(r"(?m)^([.'])", r"\\&\1", text)


def bold(text):
    return f"\\fB{escaped(text)}\\fR"


def italic(text):
    return f"\\fI{escaped(text)}\\fR"


def linked(text):
    """Names of manual pages in bold."""
    return re.sub(r"([\w.\\-]+)\((\d)\)", r"\\fB\1\\fR(\2)", escaped(text))


def head(page, title, options):
    name, section = page.rsplit(".", 1)
    day = time.strftime("%Y\\-%m\\-%d", time.gmtime(options.date))
    manual = {"1": "User Commands", "5": "File Formats", "8": "System Administration"}[section]
    yield f'.TH {escaped(name.upper())} {section} "{day}" "presence {escaped(options.version)}" "{manual}"'
    yield ".nh"
    yield ".SH NAME"
    yield f"{escaped(name)} \\- {escaped(title)}"


# ---- Commands ----

def sentence(text):
    """The form of a page's summary: lower case first, no full stop."""
    text = text.strip().rstrip(".")
    return text[0].lower() + text[1:]


def spelled(argument):
    """The notation of an argument: `--port PORT`, `-h`, `USER ...`."""
    value = italic(argument.get("valueName", "value"))
    if argument["kind"] == "positional":
        return value + (" ..." if argument["isRepeating"] else "")
    dashes = {"long": "--", "short": "-", "longWithSingleDash": "-"}
    names = ", ".join(bold(dashes[each["kind"]] + each["name"]) for each in argument["names"])
    return names if argument["kind"] == "flag" else f"{names} {value}"


def arguments(command):
    return [each for each in command.get("arguments", []) if each.get("shouldDisplay")
            and not {"help", "version"} & {name["name"] for name in each.get("names", [])}]


def synopsis(words, command):
    yield ".B " + escaped(" ".join(words))
    for argument in arguments(command):
        yield f"[{spelled(argument)}]" if argument["isOptional"] else spelled(argument)


def paragraphs(text):
    for number, paragraph in enumerate(re.split(r"\n\s*\n", text.strip())):
        if number:
            yield ".PP"
        yield escaped(" ".join(paragraph.split()))


def described(command):
    if command.get("discussion"):
        yield from paragraphs(command["discussion"])
    for argument in arguments(command):
        yield ".TP"
        yield spelled(argument)
        yield linked(" ".join(argument.get("abstract", "").split()))


def leaves(words, command):
    """The commands that run something, each with its full name."""
    below = [each for each in command.get("subcommands", []) if each["commandName"] != "help" and each.get("shouldDisplay", True)]
    if not below:
        yield words, command
    for each in below:
        yield from leaves([*words, each["commandName"]], each)


def command_page(page, options):
    program = page.rsplit(".", 1)[0]
    with open(os.path.join(options.help_of, program + ".json"), encoding="utf-8") as file:
        command = json.load(file)["command"]
    yield from head(page, sentence(command["abstract"]), options)
    found = list(leaves([program], command))
    yield ".SH SYNOPSIS"
    for number, (words, leaf) in enumerate(found):
        if number:
            yield ".br"
        yield from synopsis(words, leaf)
    yield ".SH DESCRIPTION"
    if len(found) == 1:
        yield from described(command)
    else:
        yield f"Each command has {bold('--help')}."
        for words, leaf in found:
            yield ".SS " + escaped(" ".join(words[1:]))
            yield escaped(" ".join(leaf.get("abstract", "").split()))
            if leaf.get("discussion"):
                yield ".PP"
            yield from described(leaf)
    if page == "presenced.8":
        yield ".SH SIGNALS"
        yield from paragraphs(
            "SIGTERM and SIGINT end the server in order, a second one at once. SIGHUP reads the certificate and the keys of "
            "tokens anew.")
        yield ".SH FILES"
        for name, meaning in FILES:
            yield ".TP"
            yield italic(name)
            yield linked(meaning)
    yield ".SH EXIT STATUS"
    for status, meaning in STATUSES[page]:
        yield ".TP"
        yield bold(status)
        yield escaped(meaning)
    yield ".SH SEE ALSO"
    yield linked(SEE_ALSO[page])


# ---- The configuration ----

def settings(text):
    """The parts of the file: ("section", title), ("text", lines), ("key", path, default, lines)."""
    path, comment = [], []
    for line in [*text.splitlines(), ""]:
        stripped = line.strip()
        depth = (len(line) - len(line.lstrip())) // 2
        ruler = re.match(r"# -+ (.*?) -+$", stripped)
        if ruler:
            yield "section", ruler[1]
        elif stripped.startswith("#"):
            comment.append(stripped[1:].removeprefix(" "))
        elif match := re.match(r"([\w]+):(?: (.*))?$", stripped):
            path = [*path[:depth], match[1]]
            if match[2] is None:
                if comment:
                    yield "text", comment
            else:
                yield "key", ".".join(path), match[2], comment
            comment = []
        elif not stripped and comment:
            yield "text", comment
            comment = []


def prose(lines):
    """The lines of a comment: those that are indented stay as they are."""
    gathered = []

    def flow():
        if gathered:
            yield linked(" ".join(gathered))
            gathered.clear()

    shown = False
    for line in lines:
        if line.startswith("  "):
            if not shown:
                yield from flow()
                yield ".nf"
            shown = True
            yield escaped(line)
            continue
        if shown:
            yield ".fi"
            shown = False
        if line.strip():
            gathered.append(line.strip())
        else:
            yield from flow()
            yield ".IP" if gathered else ".PP"
    yield from flow()
    if shown:
        yield ".fi"


def configuration_page(page, options):
    with open(options.configuration, encoding="utf-8") as file:
        found = list(settings(file.read()))
    yield from head(page, "configuration of presenced", options)
    yield ".SH SYNOPSIS"
    yield italic("/etc/presence/presenced.yaml")
    yield ".SH DESCRIPTION"
    for kind, *rest in found:
        if kind == "section":
            yield ".SH " + escaped(rest[0].upper())
        elif kind == "text":
            yield ".PP"
            yield from prose(rest[0])
        else:
            key, default, comment = rest
            yield ".TP"
            yield f"{bold(key)}: {escaped(default)}"
            yield from prose(comment)
    yield ".SH SEE ALSO"
    yield linked(SEE_ALSO[page])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("page", choices=list(SEE_ALSO))
    parser.add_argument("--help-of", required=True)
    parser.add_argument("--configuration", required=True)
    parser.add_argument("--version", required=True)
    parser.add_argument("--date", required=True, type=int)
    options = parser.parse_args()
    made = configuration_page if options.page.endswith(".5") else command_page
    print("\n".join(made(options.page, options)))


main()
