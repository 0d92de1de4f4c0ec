"""How the crowd grew, what it took, and how long a change was on its way."""

from report import pictures
from report.results import PRESENCE

KINDS = {"servers": "#2f6f9f", "clients": "#b9b9b9", "redis": "#c77d3a"}
GIB = 2**30


def draw(results):
    drawn, axes = pictures.figure(results, columns=2, rows=2, width=5.2)
    report = results.cases[0].rounds[PRESENCE][-1]
    timeline = report["timeline"]
    seconds = [sample["seconds"] for sample in timeline]
    people = [sample["open"] / 1e3 for sample in timeline]

    axes[0].plot(seconds, people, color=KINDS["servers"], label="connected, authenticated and watching")
    label(axes[0], "People", "s since the first connect", "thousand")

    first = timeline[0]
    growth = {kind: [(sample["userBytes"][kind] - first["userBytes"][kind]) / GIB for sample in timeline]
              for kind in KINDS}
    gone = [(first["kernel"]["MemAvailable"] - sample["kernel"]["MemAvailable"]) / GIB for sample in timeline]
    kernel = [max(0, all_of_it - sum(values[i] for values in growth.values())) for i, all_of_it in enumerate(gone)]
    layers = {**growth, "kernel, both ends": kernel}
    axes[1].stackplot(people, *layers.values(), labels=list(layers), colors=[*KINDS.values(), "#7d9c6c"])
    label(axes[1], "Memory beyond that of the start", "thousand people", "GiB")

    for kind, colour in KINDS.items():
        cores = [(after["cpuSeconds"][kind] - before["cpuSeconds"][kind]) / (after["seconds"] - before["seconds"])
                 for before, after in zip(timeline, timeline[1:]) if after["seconds"] - before["seconds"] > 0.5]
        times = [after["seconds"] for before, after in zip(timeline, timeline[1:])
                 if after["seconds"] - before["seconds"] > 0.5]
        axes[2].plot(times, [max(0, value) for value in cores], color=colour, label=kind)
    label(axes[2], "Processor", "s since the first connect", "cores")

    latencies = sorted(report["changes"]["latencies"])
    if latencies:
        shares = [100 * (i + 1) / len(latencies) for i in range(len(latencies))]
        axes[3].step(latencies, shares, where="post", color=KINDS["servers"], label=f"{len(latencies):,} receipts")
    label(axes[3], "Change to receipt, one change at a time", "ms", "% received by then")
    return drawn


def label(axis, title: str, across: str, up: str) -> None:
    axis.set_title(title, fontsize=10)
    axis.set_xlabel(across, fontsize=9)
    axis.set_ylabel(up, fontsize=9)
    axis.set_xlim(left=0)
    axis.set_ylim(bottom=0)
    pictures.tidy(axis, legend_below=False)
