"""The scenarios, a module each: its flags, what it runs, and its picture."""

from scenarios import (
    accounts, burst, changes, churn, connect, conversations, fanout, hook, http, idle, log, messages, million, opening,
    pushes, replay, slow, spread, storm, typing, workers)

SCENARIOS = {
    scenario.NAME: scenario
    for scenario in (
        idle, connect, fanout, burst, changes, churn, typing, messages, spread, opening, conversations, pushes, hook, storm, slow,
        log, workers, accounts, http, million, replay)
}
