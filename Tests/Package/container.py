"""Dockerfile and compose.yaml: read, and carried out in a Debian of its own, since there may be no container engine."""

import glob
import json
import re
import shlex
import shutil

import yaml

from chroot import Root, bootstrap
from service import Running

INSTRUCTIONS = {"FROM", "COPY", "RUN", "USER", "VOLUME", "ENV", "EXPOSE", "HEALTHCHECK", "ENTRYPOINT", "CMD"}
SERVICE_KEYS = {"build", "ports", "volumes", "restart", "stop_grace_period", "read_only", "tmpfs", "cap_drop", "security_opt",
                "ulimits"}


def read(path):
    """The instructions of a Dockerfile: (name, text)."""
    text = re.sub(r"\\\n", " ", path.read_text())
    return [tuple(line.split(None, 1)) for line in text.splitlines() if line.strip() and not line.startswith("#")]


class Container:
    def __init__(self, root, case, binds):
        self.project, self.case = root, case
        self.binds = binds
        self.steps = read(root / "Dockerfile")
        self.said = dict(self.steps)
        self.variables = dict(word.split("=", 1) for name, text in self.steps if name == "ENV" for word in shlex.split(text))

    def check(self):
        assert {name for name, _ in self.steps} <= INSTRUCTIONS, self.steps
        assert self.said["FROM"] == "debian:12-slim"
        root = Root(bootstrap(self.project / ".build-package"), self.case.scratch / "container", self.binds)
        user = None
        for name, text in self.steps:
            if name == "COPY":
                source, target = text.split()
                found = glob.glob(str(self.project / source))
                assert len(found) == 1, f"COPY {source}: {found}"
                self.is_sent(source)
                shutil.copy(found[0], root / target)
            elif name == "RUN":
                root.run("sh", "-c", text, user=user)
            elif name == "USER":
                user = text
        self.serves(root, user)
        self.compose()

    def is_sent(self, source):
        """.dockerignore leaves it in."""
        lines = (self.project / ".dockerignore").read_text().splitlines()
        assert lines[0] == "*" and "!" + source in lines, lines

    def serves(self, root, user):
        command = json.loads(self.said["ENTRYPOINT"]) + json.loads(self.said["CMD"])
        # A free port, since other servers may run on this machine: where a container has one of its own.
        variables = self.variables | {"PRESENCE_PORT": "0"}
        assert user == "presence" and f"EXPOSE {4040}" in map(" ".join, self.steps)
        with Running(root, command=command, environment=variables) as server:
            assert "0.0.0.0" in server.url, server.url
            port = re.search(r":(\d+)/", server.url)[1]
            server.url = server.url.replace("0.0.0.0", "127.0.0.1")
            # As `docker compose exec presence presenced token ana` does.
            token = root.run("presenced", "token", "ana", user=user, environment=self.variables).strip()
            server.converse(token)
            check = json.loads(self.said["HEALTHCHECK"].split("CMD", 1)[1])
            root.run(*check, user=user, environment={"PRESENCE_PORT": port})
        try:
            root.run(*check, user=user, environment={"PRESENCE_PORT": port})
        except AssertionError:
            return
        raise AssertionError("the health check succeeds without a server")

    def compose(self):
        document = yaml.safe_load((self.project / "compose.yaml").read_text())
        assert list(document["services"]) == ["presence"]
        service = document["services"]["presence"]
        assert set(service) <= SERVICE_KEYS, service
        assert service["build"] == "."
        # Published to this machine only, at the port that the image exposes.
        assert service["ports"] == [f"127.0.0.1:4040:{self.said['EXPOSE']}"], service["ports"]
        volumes = [volume.split(":") for volume in service["volumes"]]
        assert volumes == [[next(iter(document["volumes"])), self.said["VOLUME"]]], volumes
        assert self.variables["PRESENCE_DATA_DIRECTORY"] == self.said["VOLUME"]
        # As long as the unit of systemd.
        timeout = re.search(r"TimeoutStopSec=(\d+)", (self.project / "config/presenced.service").read_text())[1]
        assert service["stop_grace_period"] == timeout + "s"
