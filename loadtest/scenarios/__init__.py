"""The scenarios, a module each: its flags, what it runs, and its picture."""

from scenarios import (
    accounts, burst, changes, churn, connect, fanout, idle, messages, million, replay, slow, storm, typing)

SCENARIOS = {
    scenario.NAME: scenario
    for scenario in (
        idle, connect, fanout, burst, changes, churn, typing, messages, storm, slow, accounts, million, replay)
}
