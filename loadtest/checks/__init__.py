"""Checks, as opposed to measurements: a module each, which prints its findings and returns a status."""

from checks import account_memory, batches, costs, functions, growth, guard, instructions, predictions, publishing, quick

CHECKS = {check.NAME: check for check in (
    quick, guard, costs, instructions, publishing, batches, functions, predictions, growth, account_memory)}
