"""What is checked rather than measured: a module each, which prints what it found and returns a status."""

from checks import guard, instructions, publishing, quick

CHECKS = {check.NAME: check for check in (quick, guard, instructions, publishing)}
