"""What a scenario found: every round of it, the medians, and the ratios of medians of one run.

    {"scenario", "date", "commit", "command", "machine", "parameters", "cases": [CASE], "failures": [text], "succeeded"}
    CASE: {"name", "parameters", "rounds": {SUBJECT: [report]}, "medians": {SUBJECT: {figure: number}},
           "ratios": {figure: presence ÷ baseline}}

A figure is named by its path in the report of the load tester, with dots: `latency.p50`. Beside what that reports, each
round has `machine` (what else ran meanwhile), and each of our server `settings` (all that differed from the product's
defaults) and `limitsMet` (nothing, or the run has failed).
"""

import json
import shlex
import statistics
import sys
from pathlib import Path

from stage import machine

PRESENCE = "presence"
BASELINE = "baseline"


def without_places(value):
    """Replaces files by their names: their folders on this machine mean nothing to others."""
    match value:
        case str() if value.startswith(("/", "../")):
            return Path(value).name
        case dict():
            return {key: without_places(inner) for key, inner in value.items()}
        case list():
            return [without_places(inner) for inner in value]
    return value


class Case:
    """One size or kind of a scenario, measured on our server and perhaps on the baseline, round by round."""

    def __init__(self, name: str, parameters: dict):
        self.name = name
        self.parameters = parameters
        self.rounds: dict[str, list[dict]] = {}

    def add(self, subject: str, report: dict) -> None:
        self.rounds.setdefault(subject, []).append(report)

    def values(self, subject: str, figure: str) -> list[float]:
        """A figure in each round that has it."""
        found = (figures(report).get(figure) for report in self.rounds.get(subject, []))
        return [value for value in found if value is not None]

    def median(self, subject: str, figure: str) -> float | None:
        values = self.values(subject, figure)
        return statistics.median(values) if values else None

    def ratio(self, figure: str) -> float | None:
        ours, theirs = self.median(PRESENCE, figure), self.median(BASELINE, figure)
        return ours / theirs if ours is not None and theirs else None

    @property
    def settings(self) -> dict[str, str]:
        """In what our server's settings differed from the defaults."""
        reports = self.rounds.get(PRESENCE, [])
        return reports[-1].get("settings", {}) if reports else {}

    def encoded(self) -> dict:
        names = {subject: sorted({name for report in reports for name in figures(report)})
                 for subject, reports in self.rounds.items()}
        shared = set(names.get(PRESENCE, [])) & set(names.get(BASELINE, []))
        ratios = {name: self.ratio(name) for name in sorted(shared)}
        return {
            "name": self.name,
            "parameters": self.parameters,
            "rounds": self.rounds,
            "medians": {subject: {name: self.median(subject, name) for name in names[subject]} for subject in names},
            "ratios": {name: ratio for name, ratio in ratios.items() if ratio is not None},
        }

    @staticmethod
    def decoded(value: dict) -> "Case":
        case = Case(value["name"], value["parameters"])
        case.rounds = value["rounds"]
        return case


class Results:
    def __init__(self, scenario: str, parameters: dict):
        self.head = {
            "scenario": scenario,
            "date": machine.now(),
            "commit": machine.commit(),
            "command": shlex.join(["loadtest/run", *map(without_places, sys.argv[1:])]),
            "machine": machine.describe(),
            "parameters": parameters,
        }
        self.cases: list[Case] = []
        # Unmet expectations, a sentence each.
        self.failures: list[str] = []

    @property
    def scenario(self) -> str:
        return self.head["scenario"]

    @property
    def date(self) -> str:
        return self.head["date"]

    def case(self, name: str, **parameters) -> Case:
        """The case of that name, made when it is first asked for."""
        for case in self.cases:
            if case.name == name:
                return case
        self.cases.append(Case(name, parameters))
        return self.cases[-1]

    def add(self, case: Case, subject: str, report: dict) -> None:
        """Adds a round's report and its failures."""
        case.add(subject, report)
        number = len(case.rounds[subject])
        for failure in report.get("failures", []):
            self.failures.append(f"{case.name}, {subject}, round {number}: {failure}")

    def write(self, path: Path) -> None:
        value = self.head | {
            "cases": [case.encoded() for case in self.cases],
            "failures": self.failures,
            "succeeded": not self.failures,
        }
        path.write_text(json.dumps(without_places(value), indent=1, ensure_ascii=False) + "\n")

    @staticmethod
    def read(path: Path) -> "Results":
        value = json.loads(path.read_text())
        results = Results.__new__(Results)
        results.cases = [Case.decoded(case) for case in value.pop("cases")]
        results.failures = value.pop("failures")
        results.head = value
        return results


def figures(report: dict, prefix: str = "") -> dict[str, float]:
    """All numbers of a report by their paths; those in lists are no figures but series."""
    found = {}
    for name, value in report.items():
        if isinstance(value, dict):
            found |= figures(value, f"{prefix}{name}.")
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            found[prefix + name] = value
    return found
