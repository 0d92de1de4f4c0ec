"""The configuration file of a server, from short names for the keys that the tests need.

Times are in milliseconds here; `KEYS` says what they are called in the file, and `text` how they are written.
"""

KEYS = {
    "heartbeat_interval": "heartbeat.interval",
    "heartbeat_timeout": "heartbeat.timeout",
    "linger": "linger",
    "lease": "lease",
    "sweep": "sweep",
    "typing": "typing",
    "connect_timeout": "connectTimeout",
    "write_timeout": "writeTimeout",
    "max_message_bytes": "limits.maxMessageBytes",
    "max_server_message_bytes": "limits.maxServerMessageBytes",
    "subscriptions": "limits.subscriptions",
    "subscribe_batch": "limits.subscribeBatch",
    "connections": "limits.connections",
    "participants": "limits.participants",
    "conversations": "limits.conversations",
}


def text(settings):
    """The YAML of short names and values, or of full dotted keys and values."""
    tree = {}
    for name, value in settings.items():
        *path, last = KEYS.get(name, name).split(".")
        node = tree
        for part in path:
            node = node.setdefault(part, {})
        node[last] = value
    return "\n".join(lines(tree)) + "\n"


def lines(tree, indent=""):
    for name, value in tree.items():
        if isinstance(value, dict):
            yield f"{indent}{name}:"
            yield from lines(value, indent + "  ")
        else:
            yield f"{indent}{name}: {value}"
