"""The results of a run, for people."""

from . import timing


def distribution(what, values):
    values = sorted(values)
    middle, most = values[len(values) // 2][0], values[min(len(values) - 1, int(len(values) * 0.99))][0]
    longest, name = values[-1]
    return f"{what:15} {len(values):6} {middle:6.2f} s {most:6.2f} s {longest:6.2f} s", name


def lines(run, took):
    ledger = run.ledger
    yield f"{len(run.stage.servers)} servers, {run.python} clients written from the protocol, {run.kit} of PresenceKit"
    yield ""
    yield f"{'round':32} {'lasted':>8} {'quiet after':>12}"
    for name, lasted, quiet in run.rounds:
        yield f"{name:32} {lasted:6.1f} s {quiet:10.1f} s"
    for name, reason in run.skipped.items():
        yield f"{name} was skipped: {reason}"
    yield ""
    yield f"{'who':15} {'seen':>6} {'median':>8} {'99 %':>8} {'longest':>8} {'bound':>8}"
    for what, (bound, formula) in timing.BOUNDS.items():
        if values := ledger.measured.get(what):
            text, name = distribution(what, values)
            yield f"{text} {bound:6.2f} s = {formula}; longest in {name}"
    yield "while Redis was away, or two things happened at once:"
    for what, values in sorted(ledger.unbounded.items()):
        text, name = distribution(what, values)
        yield f"{text}  longest in {name}"
    yield ""
    yield f"{ledger.came_back_in_time} times somebody was back within {timing.SAFE_ABSENCE:.1f} s of a loss: nobody saw any of it"
    yield (f"{run.changes['acknowledged']} profile changes acknowledged and kept, {run.changes['refused']} refused or lost; "
           f"{run.faults.flooded} strangers let in by the last flood")
    yield ("{} conversations: {} messages said, {} acknowledged, each kept once, in one order on all sides; {} edits, "
           "{} deletions and {} marks acknowledged, kept and shown by all").format(*run.talks.counts)
    yield ("{} accounts asked for, {} deleted; {} sign-ins, {} refreshes; {} names claimed or given up, {} refused; {} pictures; "
           "{} calls whose outcome nobody knows").format(*run.accounts.counts)
    if run.accounts.gave_up:
        yield f"whether an order explains what was told of names is not known: {run.accounts.gave_up}"
    yield (f"nothing was unfinished {run.accounts.settled:.1f} s after the last quiet; {run.accounts.swept} files of pictures "
           f"were swept; all was checked in {run.accounts.checked:.1f} s")
    yield f"{ledger.sightings} presences shown; the driver itself stood still for at most {max(run.lags):.2f} s"
    if ledger.excused:
        yield f"for {ledger.excused:.0f} s after that only the truth in the end was held: this machine is too busy for more"
    yield f"{took:.0f} s"
