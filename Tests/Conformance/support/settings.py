"""The configuration file of a server, from short names for the keys that the tests need (times in milliseconds)."""

import json

TIMES = {
    "heartbeat_interval": "heartbeat.interval",
    "heartbeat_timeout": "heartbeat.timeout",
    "linger": "linger",
    "lease": "lease.duration",
    "renewal": "lease.renewal",
    "sweep": "lease.sweep",
    "typing": "typing.expiry",
    "connect_timeout": "connectTimeout",
    "write_timeout": "slowConsumer.timeout",
    "key_check": "auth.keyCheck",
}

OTHERS = {
    "max_message_bytes": "limits.maxMessageBytes",
    "max_server_message_bytes": "limits.maxServerMessageBytes",
    "subscriptions": "limits.subscriptions",
    "subscribe_batch": "limits.subscribeBatch",
    "connections": "limits.maxConnections",
    "participants": "limits.participants",
    "conversations": "limits.conversationsPerUser",
    "requests_per_second": "limits.requestsPerSecond",
    "request_burst": "limits.requestBurst",
    "user_requests_per_second": "limits.userRequestsPerSecond",
    "user_request_burst": "limits.userRequestBurst",
    "rate_limited": "limits.rateLimited",
    "connections_per_address": "limits.connectionsPerAddress",
    "limit_loopback": "limits.limitLoopback",
    "connections_per_user": "limits.connectionsPerUser",
    "outbox_bytes": "limits.outboxBytes",
    "inbox_bytes": "limits.inboxBytes",
    "redis_bytes": "limits.redisBytes",
    "keys": "auth.keys",
    "jwks_file": "auth.jwksFile",
    "issuer": "auth.issuer",
    "audience": "auth.audience",
    "contacts": "limits.contacts",
    "blocks": "limits.blocks",
}


def text(settings):
    """The YAML of short names and values; any other name is a key of the file itself."""
    tree = {}
    for name, value in settings.items():
        *path, last = (TIMES.get(name) or OTHERS.get(name) or name).split(".")
        node = tree
        for part in path:
            node = node.setdefault(part, {})
        node[last] = f"{value}ms" if name in TIMES else json.dumps(value)
    return "\n".join(lines(tree)) + "\n"


def lines(tree, indent=""):
    for name, value in tree.items():
        if isinstance(value, dict):
            yield f"{indent}{name}:"
            yield from lines(value, indent + "  ")
        else:
            yield f"{indent}{name}: {value}"
