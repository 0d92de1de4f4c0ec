import asyncio
import inspect
import shutil
from collections import Counter

import pytest

from support.browser import Browser
from support.client import BREACHES
from support.pushes import Services
from support.receiver import Receiver
from support.redis import Redis
from support.room import ROOMS, Room
from support.server import BINARY, LIVING, Server
from support.web_push import WebPushService

LONGEST_TEST = 180
"""Seconds after which a test that hangs is given up."""

LONG = ("test_23_replicas", "test_26_photos_s3", "test_31_push", "test_31_push_notifications", "test_31_push_services", "test_31_push_web",
        "test_34_rolling_upgrade", "test_42_notification_settings")
"""Files with tests that take ten seconds and more: quiet hours end with a minute of the clock."""

BROWSERS = 2
"""With one worker, these tests would take longer than all others together."""


def pytest_configure():
    if not shutil.which(BINARY):
        pytest.exit(f"no presenced at {BINARY!r}: set PRESENCED to its path", returncode=2)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Distributes the tests over the workers: those that share a fixture of their file stay together, any other may run
    anywhere. Tests with a browser are assigned to BROWSERS workers by file, each with a browser of its own.

    Deployments of many processes and browsers come first because they take longest, tests that start servers of their own
    last, those of LONG before the others: these are short, so all workers end at about the same time.
    """
    groups = browser_groups([item.path.stem for item in items if "browser" in item.fixturenames])
    for item in items:
        if "browser" in item.fixturenames:
            item.add_marker(pytest.mark.xdist_group(groups[item.path.stem]))
        elif shares(item):
            item.add_marker(pytest.mark.xdist_group(item.path.stem))
    items.sort(key=order)


def order(item):
    if {"deploy", "browser"} & set(item.fixturenames):
        return 0
    return 1 if shares(item) else 2 if item.path.stem in LONG else 3


def browser_groups(files):
    """A group for each file, given the file of each test: the files with the most tests first, each to the smallest group."""
    sizes = [0] * BROWSERS
    groups = {}
    for file, count in sorted(Counter(files).items(), key=lambda pair: (-pair[1], pair[0])):
        smallest = sizes.index(min(sizes))
        sizes[smallest] += count
        groups[file] = f"browser-{smallest}"
    return groups


def shares(item):
    """Whether a test uses a fixture of its file (scope "module")."""
    return any(each.scope == "module" for found in item._fixtureinfo.name2fixturedefs.values() for each in found)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    """Runs a coroutine test, closes its connections, and fails it for violations that its clients detected."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    arguments = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}

    async def bounded():
        try:
            await asyncio.wait_for(pyfuncitem.obj(**arguments), LONGEST_TEST)
        finally:
            while ROOMS:
                ROOMS.pop().leave()
            await asyncio.sleep(0)

    BREACHES.clear()
    asyncio.run(bounded())
    assert not BREACHES, "the server broke rules that hold always:\n" + "\n".join(BREACHES[:10])
    return True


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """Shows the servers' logs of a failed test."""
    report = (yield).get_result()
    if report.when == "call" and report.failed:
        for server in LIVING:
            report.sections.append((f"the end of the log of {server.url}", server.logged()))


@pytest.fixture(scope="module")
def server(request):
    """The server that the tests of a module share; the module's SETTINGS are its configuration."""
    server = Server(getattr(request.module, "SETTINGS", None))
    yield server
    server.close()


@pytest.fixture
def room(server):
    return Room(server)


@pytest.fixture
def start():
    """Starts servers, and Redises with `start.redis()`, that end with the test."""
    started = []

    def start_server(configuration=None, **options):
        started.append(Server(configuration, **options))
        return started[-1]

    def start_redis(**options):
        started.append(Redis(**options))
        return started[-1]

    start_server.redis = start_redis
    yield start_server
    for each in reversed(started):
        each.close()


@pytest.fixture
def receiver(tmp_path):
    """The operator's own server, which receives webhooks."""
    receiver = Receiver(tmp_path)
    yield receiver
    receiver.close()


@pytest.fixture
def services(tmp_path):
    """FCM and APNs."""
    services = Services(tmp_path)
    yield services
    services.close()


@pytest.fixture
def browsers(tmp_path):
    """The push service of browsers."""
    service = WebPushService(tmp_path)
    yield service
    service.close()


@pytest.fixture(scope="session")
def browser():
    """The Chromium of all tests."""
    browser = Browser()
    yield browser
    browser.close()


@pytest.fixture
def windows():
    """A browser that hides a page behind another one; takes twice the time of `chromium`."""
    browser = Browser(has_windows=True)
    yield browser.session()
    browser.close()


@pytest.fixture
def chromium(browser):
    """A separate profile: without cookies and storage of other tests."""
    return browser.session()
