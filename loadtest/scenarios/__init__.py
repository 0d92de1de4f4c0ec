"""The scenarios, a module each: its flags, what it runs, and its picture."""

from scenarios import burst, connect, fanout, million, replay, storm

SCENARIOS = {scenario.NAME: scenario for scenario in (connect, fanout, burst, storm, million, replay)}
