"""Finds public declarations of the client's products without a doc comment.

A declaration is documented by the `///` lines above it, by one of our protocols whose requirement it meets, or by the
standard library whose requirement it meets (INHERITED). Another comment between these lines and the declaration separates
them from it.
"""

import re

MODULES = ["PresenceKit", "PresenceAccounts", "PresenceMessages", "PresenceTesting"]

INHERITED = {
    # Values
    "init(from:)", "encode(to:)", "hash(into:)", "==", "<", "description", "init(rawValue:)", "rawValue",
    "init(nilLiteral:)", "init(stringLiteral:)",
    # Errors for people
    "errorDescription", "recoverySuggestion",
    # Collections and sequences
    "startIndex", "endIndex", "subscript(_:)", "Element", "Failure", "makeAsyncIterator()",
    # Clocks
    "now", "minimumResolution", "sleep(until:tolerance:)", "advanced(by:)", "duration(to:)",
}
"""Requirements of the standard library's protocols, which document them."""

ATTRIBUTES = r"(?:@[\w.]+(?:\([^)]*\))? +)*"
MODIFIERS = r"(?:(?:static|final|convenience|nonisolated|mutating|indirect|override|(?:private|internal|package|fileprivate)\(set\)) +)*"
KINDS = r"(func|var|let|init|struct|class|actor|enum|protocol|typealias|subscript|case|associatedtype)\b"
DECLARATION = re.compile(rf"^( *){ATTRIBUTES}(public +)?{MODIFIERS}{KINDS}(.*)$")
CONTAINER = re.compile(rf"^( *){ATTRIBUTES}((?:public|package|private|fileprivate|internal) +)?{MODIFIERS}"
                       r"(struct|class|actor|enum|protocol|extension)\b(.*)$")


def signature(lines, number, kind, rest):
    """The name of a declaration, with its labels: `send(_:in:)`."""
    text = rest.strip()
    if kind in ("func", "init", "subscript"):
        position = number
        while text.count("(") > text.count(")") and position + 1 < len(lines):
            position += 1
            text += " " + lines[position].strip()
    if kind not in ("func", "init", "subscript"):
        return re.match(r"`?(\w+)", text)[1]
    if kind == "func":
        operator = re.match(r"(==|<) *\(", text)
        if operator:
            return operator[1]
    base = re.match(r"`?(\w+)", text)[1] if kind == "func" else kind
    begin = text.find("(")
    depth, end = 0, begin
    for end in range(begin, len(text)):
        depth += {"(": 1, ")": -1}.get(text[end], 0)
        if depth == 0:
            break
    labels, depth, part = [], 0, ""
    for character in text[begin + 1:end] + ",":
        depth += {"(": 1, "[": 1, "<": 1, ")": -1, "]": -1, ">": -1}.get(character, 0)
        if character == "," and depth <= 0:
            if part.strip():
                label = part.strip().split()[0].rstrip(":")
                labels.append("_" if kind == "subscript" else label)
            part, depth = "", 0
        else:
            part += character
    return f"{base}({''.join(label + ':' for label in labels)})"


def declarations(lines):
    """Each public declaration: its line, its name, whether it is documented, and whether a protocol requires it."""
    containers = []
    body = None
    for number, line in enumerate(lines):
        if not line.strip() or line.strip().startswith(("//", "#", "@")) and not DECLARATION.match(line):
            continue
        indentation = len(line) - len(line.lstrip())
        while containers and indentation <= containers[-1][0]:
            containers.pop()
        if body is not None:
            if indentation > body:
                continue
            body = None
            if line.strip().startswith("}"):
                continue
        opened = CONTAINER.match(line)
        found = DECLARATION.match(line)
        inner = containers[-1] if containers else None
        if found and (found[2] or inner and inner[3] and inner[2] == "protocol" or
                      inner and inner[3] and inner[2] == "enum" and found[3] == "case"):
            above = number - 1
            while above >= 0 and lines[above].strip().startswith(("@", "#")):
                above -= 1
            called = signature(lines, number, found[3], found[4])
            yield (number + 1, called, above >= 0 and lines[above].strip().startswith("///"),
                   bool(inner and inner[2] == "protocol"))
        if opened and line.rstrip().endswith("{"):
            containers.append((indentation, number, opened[3], (opened[2] or "").strip() == "public",
                               re.match(r"\W*(\w*)", opened[4])[1]))
        elif opened and not line.rstrip().endswith("}"):
            containers.append((indentation, number, opened[3], (opened[2] or "").strip() == "public",
                               re.match(r"\W*(\w*)", opened[4])[1]))
        elif line.rstrip().endswith("{"):
            body = indentation


def undocumented(root):
    """Each public declaration without a doc comment, as its file, line and name."""
    files = [path for module in MODULES for path in sorted((root / "Sources" / module).rglob("*.swift"))]
    found = [(path, *each) for path in files for each in declarations(path.read_text().splitlines())]
    required = {name for _, _, name, isDocumented, isRequired in found if isRequired and isDocumented}
    for path, number, name, isDocumented, isRequired in found:
        if not isDocumented and name not in INHERITED and (isRequired or name not in required):
            yield f"{path.relative_to(root)}:{number}", name
