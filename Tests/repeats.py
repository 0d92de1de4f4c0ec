"""Which tests of a suite failed, and what runs one of them alone: for `Tests/run --repeat`."""

import re

MOST = 5
"""Failures that are repeated. More of them have one cause, and it is not a busy machine."""

TIMES = 3
"""How often each has to pass alone, in a row."""

ANY = "a test without a name"
"""An expectation that failed on a thread of the test's own: the report does not name the test, so the suite is repeated."""

NEVER = ("simulator", "tidy", "lint", "apple", "example")
"""Suites in which nothing depends on how fast the machine is: what fails there has failed."""


def failures(suite):
    """The names of the tests that failed; empty if something else went wrong, a crash for instance."""
    last = suite.said.rstrip().rpartition("\n")[2]
    if suite.name in NEVER or (suite.status or 0) < 0:
        return []
    if suite.name == "conformance":
        whole = re.search(r"\d+ passed.* in [\d.]+s", last)
        return sorted(set(re.findall(r"^(?:FAILED|ERROR) (\S+\.py::\w+)", suite.said, re.M))) if whole else []
    whole = re.search(r"^✘ Test run with \d+ tests?", last)
    named = re.findall(r'^✘ Test (?:"(.+)"|(\w+)\(.*\)).* failed after', suite.said, re.M)
    return (sorted({display or function for display, function in named}) or [ANY]) if whole else []


def alone(suite, name):
    """The command and the environment that run one of them."""
    if suite.name == "conformance":
        return [suite.command[0], name], suite.environment | {"JOBS": "0"}
    if name == ANY:
        return suite.command, suite.environment
    program, target = suite.command[0], suite.target
    literal = re.sub(r"([.*+?^${}()|\[\]\\/])", r"\\\1", name)
    return [program, "--testing-library", "swift-testing", "--filter", rf"^{target}\..*/`?{literal}[`(]"], suite.environment
