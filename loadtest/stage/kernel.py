"""The kernel's data about processes and about itself. Everything is only read."""

import os
import time
from pathlib import Path


def cpu_seconds(pid: int) -> float:
    """The processor time of a process' threads together, by its own clock: exact, not sampled."""
    # CLOCK_PROCESS_CPUTIME_ID of another process, by the formula of clock_getcpuclockid(3).
    return time.clock_gettime((~pid << 3) | 2)


def user_memory(pid: int) -> int:
    """Bytes of memory that are a process' own: anonymous pages in memory or swapped out."""
    fields = _fields(f"/proc/{pid}/status")
    return (fields["RssAnon"] + fields["VmSwap"]) * 1024


def open_files(pid: int) -> int:
    return len(os.listdir(f"/proc/{pid}/fd"))


def busy_seconds() -> dict[int, float]:
    """The time that each core has spent on work, without idling and waiting for disks, since the machine's start."""
    tick = os.sysconf("SC_CLK_TCK")
    found = {}
    for line in Path("/proc/stat").read_text().splitlines():
        name, *counts = line.split()
        if name.startswith("cpu") and name != "cpu":
            # user, nice, system, idle, iowait, irq, softirq; time stolen by a hypervisor is not counted.
            user, nice, system, _, _, irq, soft = map(int, counts[:7])
            found[int(name[3:])] = (user + nice + system + irq + soft) / tick
    return found


def memory() -> dict[str, int]:
    """Bytes on the whole machine: what is left, and what the kernel uses for itself."""
    fields = _fields("/proc/meminfo")
    names = ["MemTotal", "MemFree", "MemAvailable", "Slab", "SReclaimable", "SUnreclaim", "KernelStack", "PageTables"]
    return {name: fields[name] * 1024 for name in names if name in fields}


def sockets() -> dict[str, int]:
    """TCP sockets in use and the memory of their buffers in bytes."""
    for line in Path("/proc/net/sockstat").read_text().splitlines():
        words = line.split()
        if words[0] == "TCP:":
            numbers = {name: int(value) for name, value in zip(words[1::2], words[2::2])}
            page = os.sysconf("SC_PAGE_SIZE")
            return {"inUse": numbers["inuse"], "timeWait": numbers["tw"], "bufferBytes": numbers["mem"] * page}
    return {}


def queued(port: int) -> int:
    """Bytes in the TCP queues of the connection of this local port on loopback: not taken by its reader, at both ends."""
    number = f":{port:04X}"
    total = 0
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        _, local, remote, _, queues, *_ = line.split()
        if local.endswith(number) or remote.endswith(number):
            total += sum(int(length, 16) for length in queues.split(":"))
    return total


def settings() -> dict[str, str]:
    """The kernel's settings that bound how many connections there can be, as they are."""
    names = [
        "fs.file-max", "fs.nr_open", "net.core.somaxconn", "net.ipv4.ip_local_port_range", "net.ipv4.tcp_max_orphans",
        "net.ipv4.tcp_max_tw_buckets", "net.ipv4.tcp_mem", "net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem",
        "net.netfilter.nf_conntrack_count", "net.netfilter.nf_conntrack_max", "vm.overcommit_memory",
    ]
    found = {}
    for name in names:
        try:
            found[name] = " ".join(Path("/proc/sys", name.replace(".", "/")).read_text().split())
        except OSError:
            pass  # This kernel does not have it.
    return found


def _fields(path: str) -> dict[str, int]:
    fields = {}
    for line in Path(path).read_text().splitlines():
        name, _, value = line.partition(":")
        words = value.split()
        if words and words[0].isdigit():
            fields[name] = int(words[0])
    return fields
