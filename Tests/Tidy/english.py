#!/usr/bin/env python3
"""Counts sentences in comments and documents that are hard to read: they begin with a relative clause or have vague words.

Each folder has an allowance (english.txt), which may only fall; a new folder has none. `english.py` prints the counts, and
`english.py --lower` lowers the allowances to them. A count shows where to look: make the subject of the sentence explicit."""

import re
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ALLOWANCES = Path(__file__).with_suffix(".txt")
FOLDERS = ["Sources", "Tests", "loadtest", "docs", "web", "config", "Examples", "packaging"]
COMMENTS = {".swift": r"^\s*///?\s?", ".js": r"^\s*(//|/?\*+)\s?", ".c": r"^\s*(//|/?\*+)\s?", ".h": r"^\s*(//|/?\*+)\s?",
            ".lua": r"^\s*--\s?", ".py": r"^\s*#\s?", ".yaml": r"^\s*#\s?"}
FOUND = {
    "starts": re.compile(r"(Who|What|Whose|Whom|Whoever|Of|So many|As what|To what|For what)\b"),
    "tell": re.compile(r".*\b(tell|tells|told|telling)\b", re.I | re.S), "say": re.compile(r".*\b(say|says|said)\b", re.I | re.S),
    "body": re.compile(r".*\b(nobody|somebody|anybody|whoever)\b", re.I | re.S),
    "go": re.compile(r".*\b(goes|gone)\b", re.I | re.S), "hear": re.compile(r".*\b(hear|hears|heard)\b", re.I | re.S),
}


def sentences(path):
    text = path.read_text(errors="replace")
    if path.suffix == ".md":
        lines = re.sub(r"```.*?```", "", text, flags=re.S).split("\n")
    else:
        mark = re.compile(COMMENTS[path.suffix])
        lines = [mark.sub("", line) for line in text.split("\n") if mark.match(line)]
    joined = re.sub(r"\n(?=[a-z(`0-9])", " ", "\n".join(lines))
    for sentence in re.split(r"(?<=[.!?])\s+|\n|\s\|\s", joined):
        sentence = re.sub(r"^[-*|>#\d.: ]+", "", sentence.strip())
        if len(sentence.split()) >= 4:
            yield sentence


def group(path):
    parts = path.relative_to(ROOT).parts
    return "/".join(parts[:2]) if parts[0] in ("Sources", "Tests") and len(parts) > 2 else parts[0]


def counted():
    """For each folder, or file at the top: the number of sentences with each fault, and of all sentences."""
    files = [*ROOT.glob("*.md"), *ROOT.glob("*.swift")]
    files += [path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.is_file()]
    counts = {}
    for path in files:
        if path.suffix != ".md" and path.suffix not in COMMENTS or any(part.startswith((".build", "results")) for part in path.parts):
            continue
        count = counts.setdefault(group(path), Counter())
        for sentence in sentences(path):
            count["sentences"] += 1
            count.update(fault for fault, pattern in FOUND.items() if pattern.match(sentence))
    return counts


def allowed():
    return {line.split()[0]: Counter(dict(zip(FOUND, map(int, line.split()[1:])))) for line in ALLOWANCES.read_text().splitlines()
            if line and not line.startswith("#")}


def excesses():
    allowances = allowed()
    for folder, count in sorted(counted().items()):
        for fault in FOUND:
            most = allowances.get(folder, Counter())[fault]
            if count[fault] > most:
                yield folder, f"{count[fault]} sentences with '{fault}', {most} are allowed (Tests/Tidy/english.py)"


def lower():
    allowances = allowed() if ALLOWANCES.exists() else None
    lines = [f"# folder {' '.join(FOUND)}: sentences with each, at most"]
    for folder, count in sorted(counted().items()):
        most = [min(count[fault], allowances[folder][fault] if folder in allowances else 0) if allowances is not None else count[fault]
                for fault in FOUND]
        if any(most):
            lines.append(f"{folder} {' '.join(map(str, most))}")
    ALLOWANCES.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    if sys.argv[1:] == ["--lower"]:
        lower()
    for folder, count in sorted(counted().items(), key=lambda item: -item[1]["starts"] / max(1, item[1]["sentences"])):
        rates = [f"{1000 * count[fault] / max(1, count['sentences']):6.0f}" for fault in FOUND]
        print(f"{folder:34}{count['sentences']:6}{''.join(rates)}")
