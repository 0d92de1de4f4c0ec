"""`loadtest/run SCENARIO`: one command for every scenario, which leaves JSON and a picture."""

import argparse
import shutil
import sys
from pathlib import Path

from checks import CHECKS
from report import document, pictures
from report.results import Results
from scenarios import SCENARIOS
from stage.binaries import REPOSITORY, Binaries
from stage.cores import Cores
from stage.failure import Failure, Interrupted
from stage.stage import Stage


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="loadtest/run",
        description="Starts everything that a scenario needs on free ports, runs it, ends everything, and writes JSON "
        "and a picture. LOADTEST_BIN=DIR takes presenced and presence-load from there instead of building them.")
    commands = parser.add_subparsers(dest="scenario", required=True, metavar="SCENARIO")
    for name, scenario in SCENARIOS.items():
        command = commands.add_parser(name, help=scenario.ABOUT, description=scenario.ABOUT)
        add_scenario_flags(command, scenario)
        add_common_flags(command, scenario)
        scenario.add_flags(command)
    report = commands.add_parser("report", help="one report of all results in a directory: the targets, then pictures")
    add_out_flag(report)
    for name, check in CHECKS.items():
        command = commands.add_parser(name, help=check.ABOUT, description=check.ABOUT)
        add_common_flags(command, check)
        check.add_flags(command)
    return parser


def add_scenario_flags(parser: argparse.ArgumentParser, scenario) -> None:
    parser.add_argument("--small", action="store_true", help="a size for all.sh: about a minute")
    parser.add_argument("--rounds", type=int, default=getattr(scenario, "ROUNDS", 5), help="rounds (%(default)s)")
    parser.add_argument("--no-baseline", dest="baseline", action="store_false", help="our server alone: no ratios")
    add_out_flag(parser)
    parser.add_argument("--keep", action="store_true", help="copy them to loadtest/results/DATE-SCENARIO too")


def add_out_flag(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", type=Path, default=REPOSITORY / "loadtest/out", metavar="DIR",
                        help="where JSON, pictures and reports are (loadtest/out)")


def add_common_flags(parser: argparse.ArgumentParser, scenario) -> None:
    apart = getattr(scenario, "REDIS_APART", False)
    parser.add_argument("--redis-apart", action=argparse.BooleanOptionalAction, default=apart,
                        help="Redis has a core of its own, and clients share the servers' unless there is a third (%(default)s)")
    parser.add_argument("--server-core", type=int, metavar="CORE", help="the servers' core (the last)")
    parser.add_argument("--client-core", type=int, metavar="CORE",
                        help="the clients' core, and without --redis-apart Redis' (the first)")
    parser.add_argument("--no-pin", dest="pin", action="store_false", default=getattr(scenario, "PINNED", True),
                        help="leave the choice of cores to the kernel")
    parser.add_argument("--set", type=setting, action="append", default=[], metavar="PRESENCE_NAME=VALUE",
                        help="a setting of the servers that differs from its default; it stands in the results")
    parser.add_argument("--time-limit", type=float, default=scenario.TIME_LIMIT, metavar="SECONDS",
                        help="the whole run ends after so long (%(default)s)")


def setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (name.startswith("PRESENCE_") and equals):
        raise argparse.ArgumentTypeError(f"{text} is not like PRESENCE_LIMITS_REQUESTS_PER_SECOND=0")
    return name, value


def stage_for(scenario, options) -> tuple[Cores, Stage]:
    cores = Cores.choose(options.server_core, options.client_core, options.pin, redis_apart=options.redis_apart)
    # A check of Redis alone builds nothing.
    binaries = Binaries.find() if getattr(scenario, "NEEDS_BINARIES", True) else None
    return cores, Stage(binaries, cores, options.time_limit, settings=dict(options.set))


def main() -> int:
    arguments = parser()
    options = arguments.parse_args()
    scenario = SCENARIOS.get(options.scenario)
    if scenario and options.small:
        # Parses again with the small sizes as defaults, so that explicit flags still count.
        command = next(action for action in arguments._actions if action.dest == "scenario").choices[options.scenario]
        command.set_defaults(**scenario.SMALL)
        options = arguments.parse_args()
    try:
        if options.scenario == "report":
            print(*document.write(options.out.resolve()), sep="\n")
            return 0
        return measure(scenario, options) if scenario else check(CHECKS[options.scenario], options)
    except Failure as failure:
        print(f"loadtest/run {options.scenario}: {failure}", file=sys.stderr)
        return 1
    except Interrupted as interrupted:
        print("interrupted; everything was ended", file=sys.stderr)
        return 128 + interrupted.signal_number


def check(check, options) -> int:
    _, stage = stage_for(check, options)
    with stage:
        return check.run(stage, options)


def measure(scenario, options) -> int:
    pictures.require_matplotlib()
    options.out = options.out.resolve()
    options.out.mkdir(parents=True, exist_ok=True)
    cores, stage = stage_for(scenario, options)
    results = Results(scenario.NAME, parameters(options) | {"cores": vars(cores)})
    with stage:
        try:
            scenario.run(stage, options, results)
        except Failure as failure:
            # The results so far are kept.
            results.failures.append(str(failure))
    files = [options.out / f"{scenario.NAME}.json"]
    results.write(files[0])
    if any(case.rounds for case in results.cases):
        files.append(options.out / f"{scenario.NAME}.png")
        pictures.save(scenario.draw(results), files[1])
    if options.keep:
        files += keep(results, files)
    for file in files:
        print(file)
    for failure in results.failures:
        print(f"failed: {failure}", file=sys.stderr)
    return 1 if results.failures else 0


def parameters(options) -> dict:
    left_out = {"scenario", "out", "keep", "server_core", "client_core", "pin", "set"}
    return {name: str(value) if isinstance(value, Path) else value
            for name, value in vars(options).items() if name not in left_out}


def keep(results: Results, files: list[Path]) -> list[Path]:
    """Copies for the repository, in a folder of their date."""
    folder = REPOSITORY / "loadtest/results" / f"{results.date[:10]}-{results.scenario}"
    folder.mkdir(parents=True, exist_ok=True)
    return [Path(shutil.copy(file, folder)) for file in files]
