"""The servers' times, short so that a run is short, and their promises: seconds, from the same names."""

import os

SLACK = float(os.environ.get("SLACK", "1.5"))
"""Seconds that a busy machine may add to a bound."""

INTERVAL, TIMEOUT, LINGER = 0.8, 0.8, 1.2
LEASE, RENEWAL, SWEEP = 1.6, 0.25, 0.2
STALE_AFTER = 0.8

SETTINGS = f"""\
heartbeat:
  interval: {INTERVAL * 1000:.0f}ms
  timeout: {TIMEOUT * 1000:.0f}ms
linger: {LINGER * 1000:.0f}ms
lease:
  duration: {LEASE * 1000:.0f}ms
  renewal: {RENEWAL * 1000:.0f}ms
  sweep: {SWEEP * 1000:.0f}ms
staleAfter: {STALE_AFTER * 1000:.0f}ms
commandTimeout: 2s
accounts:
  enabled: true
photos:
  sweep: 4s
"""

BOUNDS = {
    "said good-bye": (0, "0"),
    "line broke": (LINGER, "linger"),
    "vanished": (INTERVAL + TIMEOUT + LINGER, "heartbeat.interval + heartbeat.timeout + linger"),
    "server killed": (LEASE + 2 * SWEEP, "lease.duration + 2 × lease.sweep + reaping"),
    "told stale": (RENEWAL + STALE_AFTER, "lease.renewal + staleAfter"),
}
"""The longest time until everyone sees each change, and the formula in the configuration's own names."""

SAFE_ABSENCE = min(LINGER, LEASE - RENEWAL)
"""A person who is back within this time was never shown offline, whatever broke. After a crash it counts from the last
renewal."""
