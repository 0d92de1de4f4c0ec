"""The configuration file of a server, from short names for the keys that the tests need (times in milliseconds)."""

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
}

NUMBERS = {
    "max_message_bytes": "limits.maxMessageBytes",
    "max_server_message_bytes": "limits.maxServerMessageBytes",
    "subscriptions": "limits.subscriptions",
    "subscribe_batch": "limits.subscribeBatch",
    "connections": "limits.maxConnections",
    "participants": "limits.participants",
    "conversations": "limits.conversationsPerUser",
    "contacts": "limits.contacts",
    "blocks": "limits.blocks",
}


def text(settings):
    """The YAML of short names and values."""
    tree = {}
    for name, value in settings.items():
        *path, last = TIMES[name].split(".") if name in TIMES else NUMBERS[name].split(".")
        node = tree
        for part in path:
            node = node.setdefault(part, {})
        node[last] = f"{value}ms" if name in TIMES else value
    return "\n".join(lines(tree)) + "\n"


def lines(tree, indent=""):
    for name, value in tree.items():
        if isinstance(value, dict):
            yield f"{indent}{name}:"
            yield from lines(value, indent + "  ")
        else:
            yield f"{indent}{name}: {value}"
