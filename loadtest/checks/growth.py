"""The needs of installations with millions of users, on paper."""

from report import growth

NAME = "growth"
ABOUT = "what installations of 1 to 100 million people at once need: the tables of docs/scaling.md, computed"
TIME_LIMIT = 60
NEEDS_BINARIES = False


def add_flags(parser) -> None:
    parser.add_argument("--millions", type=float, nargs="+", default=[count / growth.MILLION for count in growth.PEOPLE],
                        help="people who are connected at once")


def run(stage, options) -> int:
    print(*growth.limits(), "", *growth.needs([count * growth.MILLION for count in options.millions]), sep="\n")
    return 0
