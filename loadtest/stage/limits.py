"""How many files a process may have open: every connection is one."""

import resource


def raise_open_files() -> int:
    """Raises our limit, which our children inherit, as far as possible, and returns it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard
