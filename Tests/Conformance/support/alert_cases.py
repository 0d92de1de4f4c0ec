"""The conditions under which each alert fires or stays quiet: the series that Prometheus would have, in promtool's
notation.

`7x20` is twenty-one samples of 7, one a minute; `0+60x20` a counter that grows by 60 a minute. All are evaluated after
twenty minutes.
"""

ONE = 'job="presence",instance="one:4040"'


def series(name, labels=""):
    return f"presence_{name}{{{ONE}{',' if labels else ''}{labels}}}"


def buckets(name, slow, fast):
    """A histogram with one part between two bounds, and the rest below the first."""
    low, high = {"loop_turn_seconds": ("0.001", "0.25"), "change_to_write_seconds": ("0.01", "5")}[name]
    return {series(f"{name}_bucket", f'le="{low}"'): f"0+{fast}x20",
            series(f"{name}_bucket", f'le="{high}"'): f"0+{fast + slow}x20",
            series(f"{name}_bucket", 'le="+Inf"'): f"0+{fast + slow}x20"}


def gauge(name, firing, quiet, labels=""):
    return {series(name, labels): f"{firing}x20"}, {series(name, labels): f"{quiet}x20"}


def counter(name, firing, quiet, labels=""):
    """Growth per minute."""
    return {series(name, labels): f"0+{firing}x20"}, {series(name, labels): f"0+{quiet}x20"}


CASES = {
    # A series of another name, so that Prometheus has data.
    "PresenceNoServer": ({"up{job=\"other\"}": "1x20"}, {series("live"): "2x20"}),
    "PresenceStale": gauge("live", 0, 1),
    "PresencePartlyStale": ({series("live"): "2x9 1x10"}, {series("live"): "2x9 1 2x9"}),
    "PresenceOftenStale": counter("stale_total", 1, "0.1"),
    "PresenceInternalErrors": counter("errors_total", 1, 0, 'code="internal"'),
    "PresenceLimitsMet": counter("limit_met_total", 3060, 2940, 'limit="requests"'),
    "PresenceServerFull": counter("closes_total", 1, 0, 'code="1013"'),
    "PresenceSlowClients": counter("closes_total", 66, 54, 'code="4005"'),
    "PresenceOutboxesFull": gauge("outbox_bytes", 214748365, 214748364),
    "PresenceInboxFull": gauge("inbox_bytes", 107374183, 107374182),
    "PresenceDiskLow": (
        {series("disk_free_bytes"): "99x20", series("disk_reserve_bytes"): "100x20"},
        {series("disk_free_bytes"): "100x20", series("disk_reserve_bytes"): "100x20"}),
    "PresenceHandshakes": counter("handshakes_displaced_total", 66, 54),
    "PresenceLoopOverloaded": (buckets("loop_turn_seconds", 50, 50), buckets("loop_turn_seconds", 1, 99)),
    "PresenceDeliveriesSlow": (buckets("change_to_write_seconds", 5, 95), buckets("change_to_write_seconds", 0, 100)),
    "PresenceRedisSlow": gauge("redis_commands_pending", 1001, 1000),
    "PresenceRedisClock": gauge("redis_clock_offset_seconds", -2.001, -2),
    "PresenceSessionsUntold": gauge("sessions_untold", 1, 0),
    "PresenceIntentsPending": gauge("intents_pending", 1, 0),
    "PresenceDamagedRecords": counter("damaged_records_total", 1, 0),
    "PresenceCatchUpsPending": ({series("log_catch_ups_pending"): "1x20"}, {series("log_catch_ups_pending"): "9x17 0 9 9"}),
    "PresenceCertificateExpires": gauge("tls_certificate_expiry_timestamp_seconds", 1209600, 1210801),
    "PresenceTLSFailures": counter("tls_failures_total", 66, 54),
    "PresenceTokensRefused": counter("tokens_refused_total", 606, 594),
    "PresenceOriginsRefused": counter("origins_refused_total", 1, 0),
    "PresenceTransfersRefused": counter("limit_met_total", 1, 0, 'limit="uploads"'),
    "PresenceTransfersTooSlow": counter("http_transfers_too_slow_total", 66, 54),
    "PresenceAnswersLate": counter("http_answers_late_total", 1, 0),
    "PresenceWorkRefused": counter("workers_refused_total", 1, 0, 'pool="passwords"'),
    "PresenceMailsFail": counter("mails_failed_total", 1, 0),
    "PresenceWebhooksFail": (
        {series("webhooks_queued"): "3x20", series("webhook_failures_total"): "0+1x20"},
        {series("webhooks_queued"): "3x18 0 3", series("webhook_failures_total"): "0+1x20"}),
    "PresenceWebhooksLost": (
        {series("webhooks_dropped_total"): "0+1x20", series("webhooks_given_up_total"): "0x20"},
        {series("webhooks_dropped_total"): "5x20", series("webhooks_given_up_total"): "0x20"}),
    "PresenceWebhookOff": gauge("webhooks_off", 1, 0),
    "PresencePushesFail": (
        {series("pushes_queued"): "3x20", series("push_failures_total"): "0+1x20"},
        {series("pushes_queued"): "3x18 0 3", series("push_failures_total"): "0+1x20"}),
    "PresencePushesLost": (
        {series("pushes_dropped_total"): "0+1x20", series("pushes_given_up_total"): "0x20"},
        {series("pushes_dropped_total"): "5x20", series("pushes_given_up_total"): "0x20"}),
    "PresenceNotificationsRefused": counter("notifications_refused_total", 1, 0),
    "PresenceRefreshReused": counter("refresh_reuse_total", 1, "0.1"),
    "PresencePhotosKilled": counter("photos_killed_total", 1, 0),
}


def document(rules):
    """A file for `promtool test rules`: for each alert one case that fires and one that does not."""
    tests = []
    for alert, cases in CASES.items():
        for fires, case in zip((True, False), cases):
            tests.append({
                "name": f"{alert} {'fires' if fires else 'is quiet'}", "interval": "1m",
                "input_series": [{"series": name, "values": values} for name, values in case.items()],
                "promql_expr_test": [{
                    # The number of firing alerts, whatever their labels and texts.
                    "expr": f'count(ALERTS{{alertname="{alert}",alertstate="firing"}}) or vector(0)',
                    "eval_time": "20m", "exp_samples": [{"labels": "{}", "value": 1 if fires else 0}]}]})
    return {"rule_files": [rules], "evaluation_interval": "1m", "tests": tests}
