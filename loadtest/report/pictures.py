"""Pictures of results. Bars begin at zero, a bar is a median, and every round is a point on it."""

import statistics
from pathlib import Path

from report.results import BASELINE, PRESENCE, Results
from stage.failure import Failure

COLOURS = {PRESENCE: "#2f6f9f", BASELINE: "#b9b9b9"}
LABELS = {PRESENCE: "presenced", BASELINE: "baseline: send() only"}
TARGET = "#c0392b"


def require_matplotlib() -> None:
    """Before anything is measured: a missing library should not be found at the end."""
    try:
        import matplotlib
    except ImportError:
        raise Failure(
            "pictures need matplotlib: make setup-loadtest installs it (Debian: python3-matplotlib)") from None
    matplotlib.use("Agg")


def figure(results: Results, columns: int, rows: int = 1, width: float = 4.2, height: float = 3.9):
    """A figure headed by what was measured, where and when; returns it and its axes, row by row."""
    from matplotlib import pyplot

    drawn, axes = pyplot.subplots(
        rows, columns, figsize=(max(7.5, width * columns), height * rows + 0.9), squeeze=False, layout="constrained")
    head = results.head
    machine = head["machine"]
    drawn.suptitle(
        f"{head['scenario']}: {', '.join(case.name for case in results.cases)}\n{head['date']}   commit {head['commit']}   {machine['processor']}, "
        f"{machine['cores']} cores, {machine['kernel']}", fontsize=9)
    return drawn, [axis for row in axes for axis in row]


def save(drawn, path: Path) -> None:
    from matplotlib import pyplot

    drawn.savefig(path, dpi=110)
    pyplot.close(drawn)


def bars(
    axis, results: Results, figure: str, title: str, unit: str, *, scale: float = 1,
    at_most_ratio: float | None = None, at_most: float | None = None, at_least: float | None = None,
    cases: list | None = None,
) -> None:
    """A group of bars a case, a bar a subject; a target is a dashed line, the ratio of the medians stands above."""
    cases = [case for case in (cases or results.cases) if case.values(PRESENCE, figure)]
    subjects = [subject for subject in (BASELINE, PRESENCE) if any(case.values(subject, figure) for case in cases)]
    width = 0.8 / max(1, len(subjects))
    highest = 0.0
    for position, case in enumerate(cases):
        for place, subject in enumerate(subjects):
            values = [value * scale for value in case.values(subject, figure)]
            if not values:
                continue
            middle = position + (place - (len(subjects) - 1) / 2) * width
            median = case.median(subject, figure) * scale
            axis.bar(middle, median, width * 0.92, color=COLOURS[subject], label=LABELS[subject])
            spread = [middle + (i - (len(values) - 1) / 2) * width * 0.12 for i in range(len(values))]
            axis.plot(spread, values, "o", color="black", markersize=2.6, zorder=3)
            axis.annotate(
                short(median), (middle, max(values)), xytext=(0, 4), textcoords="offset points", ha="center",
                fontsize=8)
            highest = max(highest, *values)
        if at_most_ratio is not None and (base := case.median(BASELINE, figure)):
            limit = base * scale * at_most_ratio
            axis.plot([position - 0.45, position + 0.45], [limit, limit], "--", color=TARGET, linewidth=1.2,
                      label=f"target: at most {at_most_ratio:g} × baseline")
            highest = max(highest, limit)
        if (ratio := case.ratio(figure)) is not None:
            axis.annotate(
                f"{ratio:.2f} ×", (position, 1), xycoords=("data", "axes fraction"), xytext=(0, -12),
                textcoords="offset points", ha="center", fontsize=9, fontweight="bold")
    finish(axis, [case.name for case in cases], highest, title, unit, at_most, at_least)


def columns(
    axis, values: list[tuple[str, list[float]]], title: str, unit: str, *,
    at_most: float | None = None, at_least: float | None = None,
) -> None:
    """A bar for each of some figures of ours that share a unit."""
    values = [(label, found) for label, found in values if found]
    for position, (_, found) in enumerate(values):
        median = statistics.median(found)
        axis.bar(position, median, 0.6, color=COLOURS[PRESENCE])
        spread = [position + (i - (len(found) - 1) / 2) * 0.08 for i in range(len(found))]
        axis.plot(spread, found, "o", color="black", markersize=2.6, zorder=3)
        axis.annotate(short(median), (position, max(found)), xytext=(0, 4), textcoords="offset points", ha="center",
                      fontsize=8)
    highest = max((max(found) for _, found in values), default=0)
    finish(axis, [label for label, _ in values], highest, title, unit, at_most, at_least)


def finish(
    axis, labels: list[str], highest: float, title: str, unit: str, at_most: float | None, at_least: float | None,
) -> None:
    """Targets, names, and an axis that begins at zero."""
    for limit, word in ((at_most, "at most"), (at_least, "at least")):
        if limit is not None:
            axis.axhline(
                limit, linestyle="--", color=TARGET, linewidth=1.2, label=f"target: {word} {short(limit)} {unit}")
            highest = max(highest, limit)
    axis.set_xticks(range(len(labels)), labels, fontsize=8)
    margin = 0.6 if len(labels) > 1 else 1
    axis.set_xlim(-margin, len(labels) - 1 + margin)
    axis.set_ylim(0, highest * 1.22 or 1)
    axis.set_title(title, fontsize=10)
    axis.set_ylabel(unit, fontsize=9)
    tidy(axis)


def tidy(axis, legend_below: bool = True) -> None:
    """A legend with each label once, below or inside; light lines to read values by."""
    axis.grid(axis="y", color="#e4e4e4", linewidth=0.8)
    axis.set_axisbelow(True)
    axis.tick_params(labelsize=8)
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)
    handles = dict(zip(*reversed(axis.get_legend_handles_labels())))
    if handles and not legend_below:
        axis.legend(handles.values(), handles.keys(), fontsize=7, frameon=False, loc="best")
    elif handles:
        axis.legend(handles.values(), handles.keys(), fontsize=7, frameon=False, loc="upper center",
                    bbox_to_anchor=(0.5, -0.1), ncol=2 if len(handles) > 2 else len(handles))


def short(value: float) -> str:
    """A number as people read it: three digits that count."""
    if value >= 1_000_000:
        return f"{value / 1e6:.2f} M"
    if value >= 10_000:
        return f"{value / 1e3:.0f} k"
    if value >= 1_000:
        return f"{value:,.0f}"
    return f"{value:.3g}"
