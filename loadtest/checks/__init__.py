"""What is checked rather than measured: a module each, which prints what it found and returns a status."""

from checks import account_memory, batches, costs, functions, growth, guard, instructions, predictions, publishing, quick

CHECKS = {check.NAME: check for check in (
    quick, guard, costs, instructions, publishing, batches, functions, predictions, growth, account_memory)}
