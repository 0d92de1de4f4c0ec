"""A master with a replica and three sentinels, and a cluster of masters with replicas."""

import os
import shutil
import signal
import subprocess
import tempfile
import time

from . import processes
from .ports import free_port
from .redis_client import ask

BINARY = shutil.which("redis-server") or "/usr/bin/redis-server"


class Node:
    """One `redis-server`, in whatever role its settings give it."""

    def __init__(self, directory, name, settings, *arguments, password=None):
        self.port = free_port()
        self.password = password
        if password:
            settings = [*settings, f"requirepass {password}"]
        self.place = os.path.join(directory, name)
        os.mkdir(self.place)
        self.file = os.path.join(self.place, "redis.conf")
        with open(self.file, "w") as file:
            file.write(f"port {self.port}\nbind 127.0.0.1\ndir {self.place}\n" + "".join(f"{line}\n" for line in settings))
        self.arguments = arguments
        self.start()

    def start(self):
        with open(os.path.join(self.place, "log"), "ab") as log:
            self.process = subprocess.Popen(
                [*processes.WITH_PARENT, BINARY, self.file, *self.arguments], stdout=log, stderr=log, cwd=self.place,
                start_new_session=True)
        wait_until(lambda: self.command("PING") == "PONG", f"{self.place} answers")

    def command(self, *words):
        """The answer to one command, as plain lines."""
        return ask(self.port, words, self.password)

    @property
    def address(self):
        return f"127.0.0.1:{self.port}"

    def stop(self):
        """Suspends it: connections stay open, and no command is answered."""
        os.kill(self.process.pid, signal.SIGSTOP)

    def go_on(self):
        os.kill(self.process.pid, signal.SIGCONT)

    def kill(self):
        self.process.kill()
        self.process.wait()


class Deployment:
    """Nodes in one directory; all of them end with it."""

    def __init__(self):
        self.directory = tempfile.mkdtemp(prefix="presence-redis-")
        self.nodes = []

    def node(self, name, settings, *arguments, password=None):
        self.nodes.append(Node(self.directory, name, settings, *arguments, password=password))
        return self.nodes[-1]

    def close(self):
        for node in self.nodes:
            if node.process.poll() is None:
                node.kill()
        processes.sweep(self.directory)


class Sentinels(Deployment):
    """Fails over after a second of silence. With a password, the sentinels have a separate one."""

    def __init__(self, password=None):
        super().__init__()
        settings = ["save \"\""] + [f"masterauth {password}"] * bool(password)
        own = password and f"{password}-of-sentinels"
        self.master = self.node("master", settings, password=password)
        self.replica = self.node("replica", [*settings, f"replicaof 127.0.0.1 {self.master.port}"], password=password)
        wait_until(lambda: "master_link_status:up" in self.replica.command("INFO", "replication"), "the replica is in step")
        self.sentinels = [
            self.node(
                f"sentinel{number}",
                [f"sentinel monitor people 127.0.0.1 {self.master.port} 2",
                 "sentinel down-after-milliseconds people 1000", "sentinel failover-timeout people 5000"]
                + [f"sentinel auth-pass people {password}", f"sentinel sentinel-pass {own}"] * bool(password),
                "--sentinel", password=own)
            for number in range(3)
        ]
        for sentinel in self.sentinels:
            wait_until(lambda: self.knows(sentinel), "the sentinels know each other and the replica")
        self.url = (
            "redis+sentinel://" + (f":{password}@" if password else "")
            + ",".join(node.address for node in self.sentinels) + "/people"
            + (f"?sentinel_password={own}" if password else ""))

    def knows(self, sentinel):
        words = sentinel.command("SENTINEL", "MASTER", "people").split("\n")
        values = dict(zip(words[::2], words[1::2]))
        return values.get("num-other-sentinels") == "2" and values.get("num-slaves") == "1"


class Cluster(Deployment):
    """Three masters, optionally with a replica each; a node counts as failed after a second."""

    def __init__(self, replicas=0, password=None):
        super().__init__()
        count = 3 * (1 + replicas)
        for number in range(count):
            self.node(
                f"node{number}",
                ["save \"\"", "cluster-enabled yes", "cluster-node-timeout 1000", f"cluster-port {free_port()}",
                 "cluster-replica-validity-factor 0", "repl-ping-replica-period 1"], password=password)
        self.masters = self.nodes[:3]
        for first, node in zip((0, 5461, 10923), self.masters):
            last = {0: 5460, 5461: 10922, 10923: 16383}[first]
            node.command("CLUSTER", "ADDSLOTSRANGE", first, last)
        for number, node in enumerate(self.nodes):
            node.command("CONFIG", "SET", "cluster-announce-ip", "127.0.0.1")
            node.command("CLUSTER", "SET-CONFIG-EPOCH", number + 1)
        for node in self.nodes[1:]:
            bus = int(self.setting(self.nodes[0], "cluster-port"))
            node.command("CLUSTER", "MEET", "127.0.0.1", self.nodes[0].port, bus)
        for node in self.nodes:
            wait_until(lambda: f"cluster_known_nodes:{count}" in node.command("CLUSTER", "INFO"), "all nodes have met")
        for number, node in enumerate(self.nodes[3:]):
            master = self.masters[number % 3]
            wait_until(lambda: node.command("CLUSTER", "REPLICATE", self.id(master)) == "OK", "it replicates")
        for node in self.nodes:
            wait_until(lambda: "cluster_state:ok" in node.command("CLUSTER", "INFO"), "the cluster serves")
        for node in self.nodes[3:]:
            wait_until(lambda: "master_link_status:up" in node.command("INFO", "replication"), "the replica is in step")
        self.url = (
            "redis+cluster://" + (f":{password}@" if password else "")
            + ",".join(node.address for node in self.nodes[:2]))

    @staticmethod
    def setting(node, name):
        return node.command("CONFIG", "GET", name).split("\n")[1]

    @staticmethod
    def id(node):
        return node.command("CLUSTER", "MYID")

    def replica_of(self, master):
        return self.nodes[3 + self.masters.index(master)]

    def owner(self, key):
        """The master of a key's slot, and the slot."""
        slot = int(self.masters[0].command("CLUSTER", "KEYSLOT", key))
        for node in self.nodes:
            if node.process.poll() is None and self.serves(node, slot):
                return node, slot
        raise AssertionError(f"nobody serves slot {slot}")

    def serves(self, node, slot):
        for line in node.command("CLUSTER", "NODES").split("\n"):
            words = line.split(" ")
            if "myself" in words[2] and "master" in words[2]:
                for part in words[8:]:
                    first, _, last = part.partition("-")
                    if not part.startswith("[") and int(first) <= slot <= int(last or first):
                        return True
        return False

    def move(self, slot, source, target, pause=0.0):
        """Moves a slot with all its keys, some keys at a time, as `redis-cli --cluster reshard` does."""
        target.command("CLUSTER", "SETSLOT", slot, "IMPORTING", self.id(source))
        source.command("CLUSTER", "SETSLOT", slot, "MIGRATING", self.id(target))
        while keys := source.command("CLUSTER", "GETKEYSINSLOT", slot, 3).split():
            answer = source.command("MIGRATE", "127.0.0.1", target.port, "", 0, 5000, "KEYS", *keys)
            assert answer in ("OK", "NOKEY"), answer
            time.sleep(pause)
        for node in (target, source, *(each for each in self.masters if each not in (target, source))):
            assert node.command("CLUSTER", "SETSLOT", slot, "NODE", self.id(target)) == "OK"


def wait_until(condition, what, within=30):
    deadline = time.monotonic() + within
    while not condition():
        assert time.monotonic() < deadline, f"not within {within} s: {what}"
        time.sleep(0.02)
