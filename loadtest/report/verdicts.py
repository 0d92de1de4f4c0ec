"""A target beside what was measured: reached, or by how much not."""

from dataclasses import dataclass, replace

from report.pictures import short
from report.results import BASELINE, PRESENCE, Case, Results


@dataclass(frozen=True)
class Verdict:
    target: str
    """The target, in words."""
    size: str
    """At which size it was measured: the targets are for full sizes."""
    measured: str
    baseline: str
    ratio: str
    verdict: str

    @staticmethod
    def missing(target: str) -> "Verdict":
        return Verdict(target, "", "not measured", "", "", "unknown")

    @staticmethod
    def of_ratio(target: str, case: Case | None, figure: str, limit: float, unit: str) -> "Verdict":
        """At most so many times the baseline."""
        ratio = case.ratio(figure) if case else None
        if ratio is None:
            return Verdict.missing(target)
        return Verdict(
            target, case.name, f"{short(case.median(PRESENCE, figure))} {unit}",
            f"{short(case.median(BASELINE, figure))} {unit}", f"{ratio:.2f}", judged(ratio, at_most=limit))

    @staticmethod
    def of_value(
        target: str, case: Case | None, figure: str, unit: str, *, at_most: float | None = None,
        at_least: float | None = None, scale: float = 1,
    ) -> "Verdict":
        """An absolute bound; the baseline's figure stands beside it where there is one."""
        median = case.median(PRESENCE, figure) if case else None
        if median is None:
            return Verdict.missing(target)
        base, ratio = case.median(BASELINE, figure), case.ratio(figure)
        return Verdict(
            target, case.name, f"{short(median * scale)} {unit}",
            f"{short(base * scale)} {unit}" if base is not None else "",
            f"{ratio:.2f}" if ratio is not None else "",
            judged(median * scale, at_most=at_most, at_least=at_least))

    def at_full_size(self, case: Case | None, **full: float) -> "Verdict":
        """A target that is met with fewer people than it requires is not met yet."""
        smaller = case and any(case.parameters.get(name, 0) < least for name, least in full.items())
        if not (smaller and self.size and self.verdict):
            return self
        return replace(self, verdict=self.verdict + ", at this size")

    @staticmethod
    def told(target: str, case: Case | None, figure: str, unit: str) -> "Verdict":
        """A figure without a bound, that belongs beside the others."""
        median = case.median(PRESENCE, figure) if case else None
        if median is None:
            return Verdict.missing(target)
        base, ratio = case.median(BASELINE, figure), case.ratio(figure)
        return Verdict(
            target, case.name, f"{short(median)} {unit}", f"{short(base)} {unit}" if base is not None else "",
            f"{ratio:.2f}" if ratio is not None else "", "")


def judged(value: float, at_most: float | None = None, at_least: float | None = None) -> str:
    if at_most is not None:
        if value <= at_most:
            return "reached"
        return f"missed: {value / at_most:.2f} × the bound" if at_most else f"missed by {short(value)}"
    if value >= at_least:
        return "reached"
    return f"missed: {value / at_least:.2f} of the bound"


def case(results: dict[str, Results], scenario: str, **parameters) -> Case | None:
    """A scenario's case with these parameters; without any, its first."""
    if scenario not in results:
        return None
    for case in results[scenario].cases:
        if all(case.parameters.get(name) == value for name, value in parameters.items()):
            return case
    return None
