"""How long the tests wait: generous, since machines are slow and noisy, and never a measured time."""

import asyncio
import os
import time

PATIENCE = float(os.environ.get("PATIENCE", "15"))
"""Seconds for events without a bound of their own."""

A_MOMENT = 0.35
"""Seconds in which a forbidden message would have arrived, for tests of its absence."""

SLACK = float(os.environ.get("SLACK", "1.5"))
"""Seconds that a busy machine may add to a bound of the protocol."""


async def eventually(condition, what, within=PATIENCE, every=0.02):
    """Waits until `condition()` (a plain or an async function) is true and returns its value."""
    deadline = time.monotonic() + within
    while True:
        value = condition()
        if asyncio.iscoroutine(value):
            value = await value
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {within} s: {what}")
        await asyncio.sleep(every)


def now():
    """Milliseconds since 1970, to compare with the server's clock (it runs on the same machine)."""
    return time.time() * 1000
