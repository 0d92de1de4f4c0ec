"""A crowd of a million over many servers on one Redis: its size, its cost, and its limits."""

import statistics

from report.results import PRESENCE
from scenarios.million import picture
from scenarios.million.changing import Changing
from scenarios.million.crowd import Crowd
from stage import kernel
from stage.failure import Failure

NAME = "million"
ABOUT = "1,000,000 connected people over 56 servers on one Redis; changes of some of them reach their watchers"
ROUNDS = 1
SMALL = {"connections": 24_000, "servers": 4, "changes": 100, "change_seconds": 10}
TIME_LIMIT = 9_000

# With a limit of 20,000 open files: the rest is for handshakes and calls over HTTP, Redis, and the server's own files.
CONNECTIONS_A_SERVER = 18_800


def add_flags(parser) -> None:
    parser.add_argument("--connections", type=int, default=1_000_000, help="how many people (%(default)s)")
    parser.add_argument("--servers", type=int, default=56, help="server processes (%(default)s)")
    parser.add_argument("--watch", type=int, default=5, help="people that each watches (%(default)s)")
    parser.add_argument("--rate", type=float, default=1_000,
                        help="connects a second, of all together; each is told to every server (%(default)s)")
    parser.add_argument("--heartbeat", default="60s", metavar="DURATION",
                        help="the servers' heartbeat.interval; at 20s a million pings and their answers are 100,000 "
                        "messages a second, a core of their own (%(default)s)")
    parser.add_argument("--reserve", type=float, default=1.0, metavar="GIB",
                        help="stop when less memory than this is left (%(default)s)")
    parser.add_argument("--changes", type=int, default=500, help="changes made one by one at the end (%(default)s)")
    parser.add_argument("--change-rate", type=float, default=50, help="changes a second after that (%(default)s)")
    parser.add_argument("--change-seconds", type=float, default=20, help="for so long (%(default)s)")


def run(stage, options, results) -> None:
    if options.connections > options.servers * CONNECTIONS_A_SERVER:
        raise Failure(f"{options.servers} servers hold {options.servers * CONNECTIONS_A_SERVER:,} connections: "
                      "say --servers")
    case = results.case(f"{options.connections:,} people, {options.servers} servers", servers=options.servers,
                        connections=options.connections, heartbeat=options.heartbeat)
    stage.clear()
    crowd = Crowd(stage, options)
    try:
        crowd.start_servers()
        crowd.connect()
        report = crowd.report()
        report["idle"] = crowd.watch_idle(seconds=10)
        report["changes"] = Changing(crowd, options).run()
    finally:
        # Closing a million connections would take longer than the test.
        stage.processes.kill_all()
    report["kernelSettings"] = kernel.settings()
    report["failures"] = report["changes"].pop("failures")
    if report["limitsMet"]:
        report["failures"].append(f"limits of the servers were met: {report['limitsMet']}")
    results.add(case, PRESENCE, report)
    tell(report, options)


def tell(report: dict, options) -> None:
    print(f"{report['open']:,} of {options.connections:,} open; what ended it: {report['stoppedBy']}")
    per = report["perConnection"]
    print(f"per connection: servers {per['serverUserBytes']:,.0f} B, clients {per['clientUserBytes']:,.0f} B, "
          f"Redis {per['redisUserBytes']:,.0f} B, kernel {per['kernelBytes']:,.0f} B (both ends)")
    latencies = report["changes"]["latencies"]
    if latencies:
        print(f"{report['changes']['received']:,} of {report['changes']['expected']:,} receipts, "
              f"p50 {statistics.median(latencies):.2f} ms, the slowest {max(latencies):.2f} ms")


draw = picture.draw
