"""One report of all scenarios of a directory: the targets first, then each scenario with its picture."""

import html
import re
from pathlib import Path

from report.pictures import short
from report.results import PRESENCE, Results
from report.targets import verdicts
from report.verdicts import Verdict
from scenarios import SCENARIOS
from stage.failure import Failure

HEAD = ["Target", "Measured at", "Measured", "Baseline", "Ratio", "Verdict"]
NOTE = ("Medians of the rounds of one run; the baseline is a server that only sends prepared bytes, run in turn with "
        "ours. The targets are for full sizes; the second column tells the size that was run.")


def write(directory: Path) -> list[Path]:
    results = {}
    for name in SCENARIOS:
        if (file := directory / f"{name}.json").exists():
            results[name] = Results.read(file)
    if not results:
        raise Failure(f"there is no result in {directory}: run a scenario first")
    written = [directory / "report.md", directory / "report.html"]
    written[0].write_text(markdown(results))
    written[1].write_text(page(results))
    return written


def cells(line: Verdict) -> list[str]:
    return [line.target, line.size, line.measured, line.baseline, line.ratio, line.verdict]


def origin(results: dict[str, Results]) -> str:
    """Place and time; shown once if they are the same for all."""
    heads = [found.head for found in results.values()]
    machine = heads[0]["machine"]
    commits = ", ".join(dict.fromkeys(head["commit"] for head in heads))
    return (f"{min(head['date'] for head in heads)} to {max(head['date'] for head in heads)}, commit {commits}, "
            f"{machine['processor']}, {machine['cores']} cores, {machine['memoryBytes'] / 2**30:.0f} GiB, "
            f"{machine['kernel']}")


def careful(found: Results) -> list[str]:
    """The load tester's warnings about itself, and unmet expectations; each once, with its count."""
    sentences: dict[str, list[str]] = {}
    for case in found.cases:
        for subject, reports in case.rounds.items():
            for report in reports:
                for sentence in report.get("bottlenecks", []):
                    # Figures differ between rounds; only the sentence identifies the event.
                    key = re.sub(r"[\d.,]+", "#", f"{case.name}, {subject}: {sentence}")
                    sentences.setdefault(key, []).append(f"{case.name}, {subject}: {sentence}")
    shown = [f"careful: {told[-1]}" + (f" (in {len(told)} rounds; the last)" if len(told) > 1 else "")
             for told in list(sentences.values())[:6]]
    if len(sentences) > 6:
        shown.append(f"careful: and {len(sentences) - 6} more, in the JSON")
    return shown + [f"did not hold: {failure}" for failure in found.failures[:10]]


def figures(found: Results) -> list[str]:
    """A line a case: its rounds, and the machine's part in them."""
    lines = []
    for case in found.cases:
        rounds = ", ".join(f"{len(reports)} {'round' if len(reports) == 1 else 'rounds'} of "
                           f"{'presenced' if subject == PRESENCE else 'the baseline'}"
                           for subject, reports in case.rounds.items())
        own = case.median(PRESENCE, "ownCPUShare")
        clients = f"; the clients used {short(own * 100)} % of their core" if own is not None else ""
        others = case.median(PRESENCE, "machine.otherCores")
        beside = f"; other work on {short(others)} cores" if others is not None else ""
        lines.append(f"{case.name}: {rounds}{clients}{beside}")
        lines += [f"{case.name}, round {number}: {report['full']}"
                  for number, report in enumerate(case.rounds.get(PRESENCE, []), 1) if "full" in report]
        if settings := case.settings:
            lines.append(f"{case.name}: the server's defaults but for " + ", ".join(
                f"{name}={value}" for name, value in settings.items()))
    return lines


# ---- Markdown ----

def markdown(results: dict[str, Results]) -> str:
    lines = ["# Load tests", "", origin(results), "", NOTE, ""]
    lines += ["| " + " | ".join(HEAD) + " |", "|" + "---|" * len(HEAD)]
    for title, found in verdicts(results):
        lines.append(f"| **{title}** |" + " |" * (len(HEAD) - 1))
        lines += ["| " + " | ".join(cells(line)) + " |" for line in found]
    for name, found in results.items():
        lines += ["", f"## {name}", "", SCENARIOS[name].ABOUT + ".", "", f"`{found.head['command']}`", ""]
        lines += [f"- {line}" for line in figures(found) + careful(found)]
        lines += ["", f"![{name}]({name}.png)"]
    return "\n".join(lines) + "\n"


# ---- HTML ----

STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; max-width: 76rem; margin: 2rem auto; padding: 0 1rem; color: #222 }
table { border-collapse: collapse; width: 100% } td, th { border-bottom: 1px solid #ddd; padding: .3rem .6rem }
th { text-align: left } img { max-width: 100% } .group td { font-weight: bold; background: #f4f4f4 }
.reached { color: #1d7a3c } .missed { color: #c0392b } code { background: #f4f4f4; padding: .1rem .3rem }
"""


def page(results: dict[str, Results]) -> str:
    text = html.escape
    lines = ["<!doctype html>", '<html lang="en"><meta charset="utf-8"><title>Load tests</title>',
             f"<style>{STYLE}</style>", "<h1>Load tests</h1>", f"<p>{text(origin(results))}</p><p>{text(NOTE)}</p>",
             "<table><tr>" + "".join(f"<th>{text(word)}</th>" for word in HEAD) + "</tr>"]
    for title, found in verdicts(results):
        lines.append(f'<tr class="group"><td colspan="{len(HEAD)}">{text(title)}</td></tr>')
        for line in found:
            kind = line.verdict.split(":")[0].split(" ")[0]
            *first, last = cells(line)
            lines.append("<tr>" + "".join(f"<td>{text(cell)}</td>" for cell in first)
                         + f'<td class="{text(kind)}">{text(last)}</td></tr>')
    lines.append("</table>")
    for name, found in results.items():
        lines.append(f"<h2>{text(name)}</h2><p>{text(SCENARIOS[name].ABOUT)}.</p>"
                     f"<p><code>{text(found.head['command'])}</code></p><ul>")
        lines += [f"<li>{text(line)}</li>" for line in figures(found) + careful(found)]
        lines.append(f'</ul><img src="{name}.png" alt="{text(name)}">')
    return "\n".join(lines) + "</html>\n"
