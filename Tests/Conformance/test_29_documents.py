"""What the documents for administrators have to have: each code, each link, each file that they name."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
GUIDES = ["README.md", *sorted(str(path.relative_to(ROOT)) for path in ROOT.glob("docs/*.md"))]


def text(name):
    return (ROOT / name).read_text()


def section(document, heading):
    """The part of a document below a heading, up to the next of its depth."""
    match = re.search(rf"(?ms)^(#+) {re.escape(heading)}$(.*?)(?=^#{{1,2}} |\Z)", text(document))
    assert match, f"{document} has no {heading!r}"
    return match[2]


def first_cells(table):
    return [line.split("|")[1] for line in table.splitlines() if line.startswith("|") and not line.startswith("|-")]


def close_codes(part):
    return {code for cell in first_cells(part) for code in re.findall(r"\b[14]\d{3}\b", cell)}


def words(part):
    return {word for cell in first_cells(part) for word in re.findall(r"`(\w+)`", cell)}


def test_troubleshooting_has_each_close_code():
    known = close_codes(section("docs/protocol.md", "11 Closing"))
    assert {"1000", "1013", "4001", "4006"} <= known
    # 1006 is what libraries say without a close frame.
    assert close_codes(section("docs/troubleshooting.md", "Close codes")) == known | {"1006"}


def test_troubleshooting_has_each_error_code():
    known = words(section("docs/protocol.md", "10 Errors"))
    assert {"bad_request", "internal"} <= known
    assert words(section("docs/troubleshooting.md", "Errors")) == known


def test_troubleshooting_has_each_reason_of_accounts():
    known = words(section("docs/protocol.md", "14 Accounts"))
    assert "invalid_credentials" in known
    assert words(section("docs/troubleshooting.md", "Accounts")) - {"reason"} == known


def test_troubleshooting_has_each_status_of_the_http_api():
    known = set(re.findall(r"^ +'(4\d\d|5\d\d)':", text("docs/openapi.yaml"), re.M))
    assert {"401", "503"} <= known
    shown = set(re.findall(r"\b[45]\d\d\b", text("docs/troubleshooting.md")))
    assert known <= shown, known - shown


def slug(heading):
    return re.sub(r"[^\w\- ]", "", re.sub(r"\[(.*?)\]\(.*?\)", r"\1", heading).strip().lower()).replace(" ", "-")


def anchors(name):
    outside = re.sub(r"(?ms)^```.*?^```", "", text(name))
    return {slug(match) for match in re.findall(r"^#+ (.*)$", outside, re.M)}


@pytest.mark.parametrize("name", GUIDES)
def test_links_lead_somewhere(name):
    for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"(?ms)^```.*?^```", "", text(name))):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        place = ((ROOT / name).parent / path).resolve() if path else ROOT / name
        assert place.exists(), f"{name}: {target}"
        if anchor and place.suffix == ".md":
            assert anchor in anchors(place.relative_to(ROOT)), f"{name}: {target}"


def test_the_readme_links_the_guides():
    for guide in ("behind-a-proxy", "troubleshooting", "upgrading", "operations"):
        assert f"(docs/{guide}.md)" in text("README.md"), guide
    assert all(f"(../config/proxies/{path.name})" in text("docs/behind-a-proxy.md")
               for path in (ROOT / "config/proxies").iterdir())
