"""The administrators' views: the board for Grafana, the rules for Prometheus, and the documents that they link."""

import json
import re
import subprocess
import tempfile
from pathlib import Path

import pytest
import yaml

from support import alert_cases
from support.documents import Strict
from support.programs import needed, run
from support.pushes import Keys
from support.receiver import Secret

ROOT = Path(__file__).resolve().parents[2]
RULES = ROOT / "config/prometheus/presence.rules.yaml"
BOARD = ROOT / "config/grafana/presence.json"

PLACE = tempfile.TemporaryDirectory(prefix="presence-monitoring-")
SECRET = Secret(PLACE.name)
SETTINGS = {
    "accounts.enabled": True, "app.enabled": True, "attachments.enabled": True,
    # An endpoint without a server, which gets no event either.
    "webhooks": [{"url": "http://127.0.0.1:9/", "secretFile": SECRET.file, "events": ["push.due"]}],
    **Keys(PLACE.name).everything, "push.fcm.url": "http://127.0.0.1:9", "push.apns.url": "http://127.0.0.1:9"}
"""Everything that has metrics is switched on."""

ONLY_WITH_TLS = {"presence_tls_certificate_expiry_timestamp_seconds": "gauge"}

NOT_ON_THE_BOARD = {
    "presence_log_entries": "presence_log_bytes says how much memory they take",
    "presence_hook_asked_total": "few installations have a hook",
    "presence_hook_failed_total": "the log has the reason: `hook failed`",
    "presence_hook_running": "few installations have a hook",
    "presence_conversation_mutes": "each ends by itself; of too many the rest hear of it later",
    "presence_events_unwatched_total": "for sizing partitions, once",
    "presence_photos_swept_total": "housekeeping that needs nobody",
    "presence_photo_store_failures_total": "with pictures in a bucket; the log says what the storage answered",
    "presence_attachments_swept_total": "housekeeping that needs nobody",
    "presence_attachment_store_failures_total": "the log says what the disk or the storage answered",
    "presence_marks_waiting": "for conversations.markDelay at most",
    "presence_messages_expired_total": "housekeeping that needs nobody",
    "presence_workers_cancelled_total": "clients that go while they are served are seen among the closes",
}
"""Metrics that no panel has, and why."""


async def metrics(room):
    """The names and types of all metrics of a server."""
    page = (await room.api.request("GET", "/metrics")).body
    return dict(line.split(" ")[2:4] for line in page.splitlines() if line.startswith("# TYPE ")) | ONLY_WITH_TLS


def groups():
    return yaml.load(RULES.read_text(), Strict)["groups"]


def alerts():
    return [rule for group in groups() for rule in group["rules"] if "alert" in rule]


def recorded():
    return {rule["record"]: rule["expr"] for group in groups() for rule in group["rules"] if "record" in rule}


def named(expression):
    """The metrics of the server that an expression uses, including those behind recorded ones."""
    names = set(re.findall(r"(?<![:\w])presence_\w+", expression))
    for record, behind in recorded().items():
        if record in expression:
            names |= named(behind)
    return names


def family(name, kinds):
    """The metric that a series belongs to: a histogram has several."""
    base = re.sub(r"_(bucket|sum|count)$", "", name)
    return base if kinds.get(base) == "histogram" else name


def panels():
    return [panel for panel in json.loads(BOARD.read_text())["panels"] if panel["type"] != "row"]


def expressions(panel):
    return [target["expr"] for target in panel["targets"]]


def slug(heading):
    """The anchor that a heading of Markdown has."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def anchors(document):
    return {slug(line.lstrip("#")) for line in (ROOT / document).read_text().splitlines() if line.startswith("#")}


async def test_all_names_begin_with_presence_once(room):
    for name in await metrics(room):
        assert re.fullmatch(r"presence_(?!presence_)[a-z0-9_]+", name), name


async def test_times_and_sizes_have_base_units(room):
    for name, type in (await metrics(room)).items():
        units = re.findall("(?:^|_)(ms|us|[a-z]*seconds|minutes|hours|days|[a-z]*bytes|percent)(?:_|$)", name)
        assert set(units) <= {"seconds", "bytes"}, name
        assert name.endswith("_total") == (type == "counter"), name


async def test_promtool_accepts_the_metrics(room):
    promtool = needed("promtool")
    page = (await room.api.request("GET", "/metrics")).body
    found = subprocess.run([promtool, "check", "metrics"], input=page, capture_output=True, text=True, timeout=30)
    assert found.returncode == 0, found.stdout + found.stderr


async def test_rules_and_board_name_metrics_that_there_are(room):
    kinds = await metrics(room)
    places = [(rule.get("alert") or rule["record"], rule["expr"]) for group in groups() for rule in group["rules"]]
    places += [(panel["title"], expression) for panel in panels() for expression in expressions(panel)]
    for place, expression in places:
        names = named(expression)
        assert names, f"{place}: {expression}"
        for name in names:
            kind = kinds.get(family(name, kinds))
            assert kind, f"{place} names {name}, which no server has"
            assert (kind == "histogram") == name.endswith("_bucket"), f"{place}: {name} is a {kind}"
            if name in expression:
                # Counters are shown by their rate, gauges are not.
                grows = bool(re.search(rf"(rate|increase)\({name}\b", expression))
                assert grows == (kind != "gauge"), f"{place}: {expression}"


async def test_each_metric_is_on_the_board_or_left_out_for_a_reason(room):
    kinds = await metrics(room)
    shown = {family(name, kinds) for panel in panels() for expression in expressions(panel) for name in named(expression)}
    assert set(kinds) - shown == set(NOT_ON_THE_BOARD)


async def test_documents_name_metrics_that_there_are(room):
    kinds = await metrics(room)
    for document in sorted([*ROOT.glob("docs/*.md"), ROOT / "README.md"]):
        for name in re.findall(r"`(presence_\w+)", document.read_text()):
            # presence_log_… means several; the names of features that examples add are their own.
            if name.startswith("presence_key_"):
                continue  # the text of a backend's key
            begun = name.endswith("_") and any(each.startswith(name) for each in kinds)
            assert begun or family(name, kinds) in kinds or document.name == "adding-a-feature.md", f"{document.name}: {name}"


def test_each_alert_leads_to_its_paragraph():
    rules = alerts()
    assert len({rule["alert"] for rule in rules}) == len(rules)
    found = anchors("docs/operations.md")
    for rule in rules:
        assert set(rule["annotations"]) == {"summary", "description", "runbook_url"}, rule
        assert rule["labels"]["severity"] in ("page", "ticket"), rule
        address, _, anchor = rule["annotations"]["runbook_url"].partition("#")
        # The path in the package (packaging/build).
        assert address == "file:///usr/share/doc/presenced/operations.md" and anchor == slug(rule["alert"]), rule
        assert anchor in found, f"docs/operations.md has no heading for {rule['alert']}"
    # No heading describes an alert that was removed.
    text = (ROOT / "docs/operations.md").read_text()
    assert set(re.findall(r"^#+ (Presence[A-Z]\w+)$", text, re.M)) == {rule["alert"] for rule in rules}


def test_the_board_can_be_imported():
    board = json.loads(BOARD.read_text())
    assert board["uid"] == "presence-servers" and board["schemaVersion"] == 39 and "id" not in board
    assert [each["name"] for each in board["templating"]["list"]] == ["datasource", "job", "instance"]
    everything = board["panels"]
    assert len({panel["id"] for panel in everything}) == len(everything)
    places = [panel["gridPos"] for panel in everything]
    assert all(place["x"] + place["w"] <= 24 for place in places)
    taken = [(x, y) for place in places for x in range(place["x"], place["x"] + place["w"])
             for y in range(place["y"], place["y"] + place["h"])]
    assert len(taken) == len(set(taken)), "panels lie over each other"
    for panel in panels():
        assert panel["description"] and panel["fieldConfig"]["defaults"]["unit"], panel["title"]
        assert panel["datasource"]["uid"] == "${datasource}"
        for expression in expressions(panel):
            assert expression.count("{job=~\"$job\",instance=~\"$instance\"") == len(re.findall(r"presence_\w+", expression)), expression
            assert "[5m]" not in expression, expression
    # The documents that a description links exist.
    for document in re.findall(r"docs/[\w-]+\.md", BOARD.read_text()):
        assert (ROOT / document).exists(), document


def test_promtool_accepts_the_rules_and_the_board(tmp_path):
    promtool = needed("promtool")
    run(promtool, "check", "rules", str(RULES))
    # Each expression of the board as a rule, with values for Grafana's variables.
    spoken = [expression.replace("$__rate_interval", "1m").replace("$job", ".*").replace("$instance", ".*")
              for panel in panels() for expression in expressions(panel)]
    rules = [{"record": f"board:{number}", "expr": expression} for number, expression in enumerate(spoken)]
    file = tmp_path / "board.yaml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "board", "rules": rules}]}))
    run(promtool, "check", "rules", str(file))


def test_each_alert_fires_when_it_should_and_not_before(tmp_path):
    assert set(alert_cases.CASES) == {rule["alert"] for rule in alerts()}
    promtool = needed("promtool")
    file = tmp_path / "tests.yaml"
    file.write_text(yaml.safe_dump(alert_cases.document(str(RULES))))
    run(promtool, "test", "rules", str(file))


def test_a_wrong_case_would_be_noticed(tmp_path):
    promtool = needed("promtool")
    document = alert_cases.document(str(RULES))
    document["tests"] = [each for each in document["tests"] if each["name"] == "PresenceStale fires"]
    document["tests"][0]["promql_expr_test"][0]["exp_samples"][0]["value"] = 0
    file = tmp_path / "tests.yaml"
    file.write_text(yaml.safe_dump(document))
    with pytest.raises(AssertionError):
        run(promtool, "test", "rules", str(file))
