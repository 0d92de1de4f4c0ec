"""The chaos lane: see README.md beside it.

    PRESENCED=.build/debug/presenced Tests/Chaos/run.sh [--seconds N] [--seed N] [--keep DIR]

Without --seconds each fault comes once. A failure prints the seed, which gives the same schedule of people and faults;
what the machine makes of it is its own.
"""

import argparse
import asyncio
import os
import resource
import secrets
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "Conformance"))

from lane import report  # noqa: E402
from lane.run import Run  # noqa: E402


async def play(seed, seconds, keep, python, kit):
    began = time.monotonic()
    # Connections break all the time here, and a task that waited for one has ended by then.
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: None)
    run = Run(seed, python, kit)
    try:
        await run.start()
        await run.play(seconds)
        for line in report.lines(run, time.monotonic() - began):
            print(line)
        if run.ledger.breaches:
            if keep:
                run.stage.keep(keep)
            for name, last in run.stage.logs():
                print(f"\nthe end of {name}:")
                for line in last:
                    print("  " + line)
            # Last, where it is found in a long report.
            print(f"\nFAILED with {len(run.ledger.breaches)} breaches, the first of them:")
            for breach in run.ledger.breaches[:20]:
                print("  " + breach)
    finally:
        await run.end()
    return not run.ledger.breaches


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--python", type=int, default=120, help="clients written from the protocol alone")
    parser.add_argument("--kit", type=int, default=100, help="clients of PresenceKit")
    parser.add_argument("--keep", help="a directory for the logs of a failed run")
    arguments = parser.parse_args()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 65_536), hard))
    seed = arguments.seed if arguments.seed is not None else secrets.randbelow(1_000_000)
    print(f"seed {seed}", flush=True)
    is_well = asyncio.run(play(seed, arguments.seconds, arguments.keep, arguments.python, arguments.kit))
    print("chaos: all promises kept" if is_well else f"chaos: FAILED; again with SEED={seed}", flush=True)
    sys.exit(0 if is_well else 1)


if __name__ == "__main__":
    main()
